"""The stand-in for a forum, asked without the publisher: its rules are Discourse's, not the adapter's."""

import hashlib
import hmac
import http.client
import json
from collections.abc import Generator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

import pytest

from sandbox.discourse import DiscourseServer, Fault, Forum, Receiver, run_discourse, run_receiver

KEY = "key"
USER = "release-bot"
TOPIC = {"title": "A title that is long enough", "raw": "A body that is long enough.", "category": 1}
CREDENTIALS = {"Api-Key": KEY, "Api-Username": USER}


@dataclass(frozen=True)
class Got:
    """An answer, its JSON read."""

    status: int
    data: dict[str, object]
    text: str
    headers: Mapping[str, str]


@pytest.fixture
def forum() -> Generator[DiscourseServer]:
    with run_discourse(key=KEY, user=USER) as server:
        yield server


def ask(
    base: str, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> Got:
    with closing(http.client.HTTPConnection(urlsplit(base).netloc, timeout=5)) as connection:
        connection.request(method, path, body or None, dict(headers or {}))
        answer = connection.getresponse()
        text = answer.read().decode()
        data: dict[str, object] = {}
        with suppress(ValueError):
            data = json.loads(text)
        return Got(answer.status, data, text, dict(answer.headers))


def post(forum: DiscourseServer, **changes: object) -> Got:
    body = json.dumps({**TOPIC, **changes}).encode()
    return ask(forum.base, "POST", "/posts.json", body, {**CREDENTIALS, "Content-Type": "application/json"})


def look(forum: DiscourseServer, external_id: str, **headers: str) -> Got:
    return ask(forum.base, "GET", f"/t/external_id/{external_id}.json", b"", headers or CREDENTIALS)


def test_a_new_topic_is_the_whole_answer_and_is_led_to(forum: DiscourseServer) -> None:
    got = post(forum, external_id="abc", tags=["release"])

    assert got.status == 200
    assert (got.data["topic_id"], got.data["topic_slug"]) == (1, "a-title-that-is-long-enough")
    led = look(forum, "abc")
    assert led.status == 301
    assert led.headers["Location"] == f"{forum.base}/t/a-title-that-is-long-enough/1.json?page="
    there = ask(forum.base, "GET", urlsplit(led.headers["Location"]).path)
    assert (there.status, there.data["id"]) == (200, 1)
    assert forum.forum.topics[0].tags == ("release",)


def test_a_form_is_as_good_as_json(forum: DiscourseServer) -> None:
    got = ask(forum.base, "POST", "/posts.json", urlencode(TOPIC).encode(), CREDENTIALS)

    assert got.status == 200


def test_what_is_not_there_is_404_in_json(forum: DiscourseServer) -> None:
    for got in (
        look(forum, "abc"),
        ask(forum.base, "GET", "/t/x/9.json"),
        ask(forum.base, "GET", "/nothing"),
    ):
        assert (got.status, got.data["error_type"]) == (404, "not_found")


def test_anybody_may_look_and_nobody_may_post(forum: DiscourseServer) -> None:
    post(forum, external_id="abc")

    assert look(forum, "abc", Accept="application/json").status == 301
    got = ask(forum.base, "POST", "/posts.json", json.dumps(TOPIC).encode())
    assert (got.status, got.data["error_type"]) == (403, "not_logged_in")


@pytest.mark.parametrize("wrong", [{"Api-Key": "other"}, {"Api-Username": "other"}])
def test_a_wrong_key_is_refused_for_reads_too(forum: DiscourseServer, wrong: dict[str, str]) -> None:
    post(forum, external_id="abc")

    got = look(forum, "abc", **{**CREDENTIALS, **wrong})

    assert (got.status, got.data["error_type"]) == (403, "invalid_access")
    assert look(forum, "abc", **{**CREDENTIALS, "Api-Username": USER.upper()}).status == 301


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"title": "Short"}, "Title is too short (minimum is 15 characters)"),
        ({"title": "T" * 256}, "Title is too long (maximum is 255 characters)"),
        ({"title": TOPIC["title"]}, "Title has already been used"),
        ({"raw": "Short"}, "Body is too short (minimum is 20 characters)"),
        ({"raw": "x" * 32001}, "Body is too long (maximum is 32000 characters)"),
        ({"external_id": "FIRST"}, "External has already been taken"),
        ({"external_id": "x" * 51}, "External is too long (maximum is 50 characters)"),
        ({"external_id": "3.14"}, "External is invalid"),
    ],
)
def test_the_rules_for_new_topics(forum: DiscourseServer, changes: dict[str, object], reason: str) -> None:
    assert post(forum, external_id="first").status == 200

    got = post(forum, **{"title": "Another title for another", "external_id": "second", **changes})

    assert (got.status, got.data) == (422, {"action": "create_post", "errors": [reason]})
    assert post(forum, title="Another title for another", external_id="second").status == 200


def test_a_deleted_topic_is_not_seen_and_keeps_its_external_id(forum: DiscourseServer) -> None:
    post(forum, external_id="abc")
    forum.forum.delete("abc")

    assert look(forum, "abc").status == 404
    got = post(forum, title="Another title for another", external_id="abc")
    assert got.data["errors"] == ["External has already been taken"]


def test_the_same_request_gets_the_same_answer_for_two_minutes(forum: DiscourseServer) -> None:
    now = [0.0]
    forum.forum.clock = lambda: now[0]
    assert post(forum, external_id="abc") == post(forum, external_id="abc")
    assert len(forum.forum.topics) == 1

    now[0] = 121.0
    assert post(forum, external_id="abc").status == 422


def test_a_category_that_is_not_there_is_a_bad_request(forum: DiscourseServer) -> None:
    got = post(forum, category=9)

    assert (got.status, got.data["error_type"]) == (400, "invalid_parameters")


def test_a_moderated_forum_queues(forum: DiscourseServer) -> None:
    forum.forum.moderated = True

    got = post(forum, external_id="abc")

    assert (got.status, got.data["action"], got.data["success"]) == (200, "enqueued", True)
    assert (forum.forum.topics, len(forum.forum.queue)) == ([], 1)
    assert look(forum, "abc").status == 404


def test_a_forum_in_a_folder_is_nowhere_else() -> None:
    with run_discourse(key=KEY, folder="/forum", forum=Forum(categories=(3,))) as forum:
        assert forum.url == f"{forum.base}/forum"
        assert (look(forum, "abc").status, look(forum, "abc").data) == (404, {})
        assert ask(forum.base, "GET", "/forum/t/external_id/abc.json").data["error_type"] == "not_found"


@pytest.mark.parametrize(
    ("fault", "status", "topics"),
    [
        (Fault.FAIL_BEFORE, 500, 0),
        (Fault.FAIL_AFTER, 500, 1),
        (Fault.READ_ONLY, 503, 0),
        (Fault.THROTTLE, 429, 0),
        (Fault.THROTTLE_IN_BODY, 429, 0),
        (Fault.THROTTLE_MUTE, 429, 0),
    ],
)
def test_a_fault_is_for_one_request(forum: DiscourseServer, fault: Fault, status: int, topics: int) -> None:
    forum.inject(fault)

    assert post(forum, external_id="abc").status == status
    assert len(forum.forum.topics) == topics
    assert post(forum, external_id="abc").status == 200
    assert len(forum.forum.topics) == 1


def test_a_throttled_request_is_told_for_how_long(forum: DiscourseServer) -> None:
    forum.wait_seconds = 3
    forum.inject(Fault.THROTTLE, Fault.THROTTLE_IN_BODY, Fault.THROTTLE_MUTE)

    of_all, of_one, mute = post(forum), post(forum), post(forum)

    assert (of_all.headers["Retry-After"], of_all.data) == ("3", {})
    assert "Retry-After" not in of_one.headers
    assert (of_one.data["error_type"], of_one.data["extras"]) == ("rate_limit", {"wait_seconds": 3})
    assert "extras" not in mute.data


@pytest.mark.parametrize(("fault", "topics"), [(Fault.DROP_BEFORE, 0), (Fault.DROP_AFTER, 1)])
def test_a_dropped_request_has_no_answer(forum: DiscourseServer, fault: Fault, topics: int) -> None:
    forum.inject(None, fault)
    assert post(forum, title="This one is let through").status == 200

    with pytest.raises(http.client.RemoteDisconnected):
        post(forum)

    assert len(forum.forum.topics) == 1 + topics


@pytest.mark.parametrize(("fault", "topics"), [(Fault.SILENCE_BEFORE, 0), (Fault.SILENCE_AFTER, 1)])
def test_silence_ends_with_the_forum(fault: Fault, topics: int) -> None:
    with run_discourse(key=KEY, user=USER) as forum:
        forum.inject(fault)
        connection = http.client.HTTPConnection(urlsplit(forum.base).netloc, timeout=0.2)
        with closing(connection):
            connection.request(
                "POST", "/posts.json", json.dumps(TOPIC), {**CREDENTIALS, "Content-Type": "application/json"}
            )
            with pytest.raises(TimeoutError):
                connection.getresponse()
        assert len(forum.forum.topics) == topics


def test_requests_are_noted(forum: DiscourseServer) -> None:
    post(forum)
    look(forum, "abc")

    assert [(seen.method, seen.path) for seen in forum.log] == [
        ("POST", "/posts.json"),
        ("GET", "/t/external_id/abc.json"),
    ]
    assert json.loads(forum.log[0].body) == TOPIC
    assert KEY not in repr(forum.log).replace("Key", "")


def send(receiver: Receiver, body: bytes, **headers: str) -> int:
    spelled = {name.replace("_", "-"): value for name, value in headers.items()}
    return ask(receiver.base, "POST", "/hook", body, spelled).status


def test_a_receiver_takes_what_is_signed_and_each_id_once() -> None:
    body = b'{"id":"a"}'
    good, bad = (f"sha256={hmac.new(key, body, hashlib.sha256).hexdigest()}" for key in (b"secret", b"other"))
    with run_receiver(secret=b"secret") as receiver:
        assert send(receiver, body, X_Signature_256=bad, Idempotency_Key="a") == 403
        assert send(receiver, body, X_Signature_256=good, Idempotency_Key="b") == 400
        assert receiver.events == {}
        assert send(receiver, body, X_Signature_256=good, Idempotency_Key="a") == 202
        assert send(receiver, body, X_Signature_256=good, Idempotency_Key="a") == 202
        assert receiver.events == {"a": {"id": "a"}}
        receiver.gone = 410
        assert send(receiver, body, X_Signature_256=good, Idempotency_Key="a") == 410
