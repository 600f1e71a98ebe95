"""What a stack may say about what stands around its site: addresses, never keys."""

from typing import Any

import pytest
from test_stack_config import load, problems

from surroundings import Announce, Listing, Subscription

SQS = "arn:aws:sqs:eu-west-1:123456789012:release-events"
DISCOURSE: dict[str, Any] = {"discourseUrl": "https://discuss.example.org/", "discourseCategory": 23}


def test_a_stack_may_say_nothing_about_it() -> None:
    around = load(listing=None, announce=None, outerCaches=None, notify=None).surroundings
    assert (around.trust_config, around.records) == ("", "signed")
    assert (around.listing, around.announce, around.outer_caches, around.notify) == (None, None, (), ())


def test_the_example_shows_each_of_them() -> None:
    around = load().surroundings
    assert around.listing == Listing("database", "https://www.example.org/")
    assert around.announce == Announce("https://discuss.example.org/", 23, "")
    assert around.outer_caches == ("https://downloads.example.org/",)
    assert around.notify == (Subscription("email", "release-managers@example.org"),)


@pytest.mark.parametrize(
    "changes",
    [
        {"sigstoreTrustConfig": "trust/own root.json"},
        {"records": "unsigned"},
        {"listing": {"kind": "releases.json"}},
        {"listing": {"kind": "database", "url": "https://www.example.org/sub/"}},
        {"announce": DISCOURSE},
        {"announce": {"webhookUrl": "https://relay.example.org/announce"}},
        {"announce": {**DISCOURSE, "webhookUrl": "https://relay.example.org"}},
        {"outerCaches": ["https://www.example.org/", "https://www.example.com/ftp/"]},
        {"notify": [{"protocol": "email", "endpoint": "a+b@example.org"}]},
        {"notify": [{"protocol": "https", "endpoint": "https://relay.example.org:8443/events"}]},
        {"notify": [{"protocol": "sqs", "endpoint": SQS}, {"protocol": "email", "endpoint": "a@b.example"}]},
    ],
)
def test_what_it_may_say(changes: dict[str, Any]) -> None:
    assert load(**changes)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"sigstoreTrustConfig": "/etc/trust.json"}, "sigstoreTrustConfig"),
        ({"sigstoreTrustConfig": " "}, "sigstoreTrustConfig"),
        ({"records": "none"}, "records"),
        ({"records": ""}, "records"),
        ({"listing": []}, "listing"),
        ({"listing": {"url": "https://www.example.org/"}}, "listing.kind"),
        ({"listing": {"kind": "pypi", "url": "https://www.example.org/"}}, "listing.kind"),
        ({"listing": {"kind": "database"}}, "listing.url"),
        ({"listing": {"kind": "database", "url": "https://www.example.org"}}, "listing.url"),
        ({"listing": {"kind": "database", "url": "http://www.example.org/"}}, "listing.url"),
        ({"listing": {"kind": "releases.json", "url": "https://www.example.org/"}}, "listing.url"),
        ({"listing": {"kind": "releases.json", "token": "x"}}, "listing.token"),
        ({"announce": "https://discuss.example.org/"}, "announce"),
        ({"announce": {"discourseUrl": "https://discuss.example.org/"}}, "announce.discourseUrl"),
        ({"announce": {"discourseCategory": 23}}, "announce.discourseUrl"),
        ({"announce": {**DISCOURSE, "discourseCategory": "news"}}, "announce.discourseCategory"),
        ({"announce": {**DISCOURSE, "discourseCategory": 0}}, "announce.discourseCategory"),
        ({"announce": {**DISCOURSE, "discourseCategory": True}}, "announce.discourseCategory"),
        ({"announce": {**DISCOURSE, "discourseKey": "x"}}, "announce.discourseKey"),
        ({"announce": {"webhookUrl": "http://relay.example.org/"}}, "announce.webhookUrl"),
        ({"announce": {"webhookUrl": "https://relay.example.org/?key=x"}}, "announce.webhookUrl"),
        ({"announce": {"webhookUrl": "https://me:secret@relay.example.org/"}}, "announce.webhookUrl"),
        ({"outerCaches": "https://www.example.org/"}, "outerCaches"),
        ({"outerCaches": ["https://www.example.org"]}, "outerCaches"),
        ({"outerCaches": ["www.example.org"]}, "outerCaches"),
        ({"outerCaches": ["https://www.example.org/"] * 2}, "outerCaches"),
        ({"outerCaches": ["https://me:secret@www.example.org/"]}, "outerCaches"),
        ({"publicBaseUrl": "https://me:secret@www.example.org/"}, "publicBaseUrl"),
        ({"notify": {"protocol": "email", "endpoint": "a@b.example"}}, "notify"),
        ({"notify": [{"endpoint": "a@b.example"}]}, "notify[0].protocol"),
        ({"notify": [{"protocol": "sms", "endpoint": "+49123456"}]}, "notify[0].protocol"),
        ({"notify": [{"protocol": "email"}]}, "notify[0].endpoint"),
        ({"notify": [{"protocol": "email", "endpoint": "somebody"}]}, "notify[0].endpoint"),
        ({"notify": [{"protocol": "email", "endpoint": SQS}]}, "notify[0].endpoint"),
        ({"notify": [{"protocol": "https", "endpoint": "http://relay.example.org/"}]}, "notify[0].endpoint"),
        ({"notify": [{"protocol": "https", "endpoint": "https://a:b@c.example/"}]}, "notify[0].endpoint"),
        ({"notify": [{"protocol": "sqs", "endpoint": SQS.replace("sqs", "sns")}]}, "notify[0].endpoint"),
        ({"notify": [{"protocol": "email", "endpoint": "a@b.example", "name": "x"}]}, "notify[0].name"),
        ({"notify": [{"protocol": "email", "endpoint": "a@b.example"}] * 2}, "notify"),
    ],
)
def test_what_it_may_not_say(changes: dict[str, Any], named: str) -> None:
    assert [problem.split(": ")[0] for problem in problems(**changes)] == [named]


def test_who_is_told_is_a_table_and_not_only_an_address() -> None:
    assert problems(notify=["a@b.example"])[0] == (
        'notify: found "a@b.example", expected a table of named values'
    )
