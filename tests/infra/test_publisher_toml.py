"""The text that the program hands to the publisher."""

import tomllib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from program import PROJECT, make_config

from config import StackConfig
from settings import Made, choose_base_url, write_settings

MADE = Made(
    distribution_id="E1", kvs_arn="arn:aws:cloudfront::1:key-value-store/x", cdn_url="https://d1.example/"
)


NOTIFY = [{"protocol": "email", "endpoint": "people@example.org"}]
NOTHING_AROUND: dict[str, Any] = {"listing": {}, "announce": {}, "outerCaches": [], "notify": []}


def a_config(around: dict[str, Any] | None = None, **changes: Any) -> StackConfig:
    config = make_config({**NOTHING_AROUND, **(around or {})})
    loaded = StackConfig.read(lambda key: config.get(f"{PROJECT}:{key}"), region=config["aws:region"])
    return replace(loaded, **changes)


def test_it_has_the_pinned_keys_and_no_others() -> None:
    assert tomllib.loads(write_settings(a_config(), MADE)) == {
        "schema": 1,
        "profile": "profiles/cpython.toml",
        "roles": ["source", "windows", "pymanager", "macos", "testers"],
        "aws": {
            "region": "eu-west-1",
            "staging_bucket": "example-downloads-staging",
            "public_bucket": "example-downloads-public",
            "distribution_id": "E1",
            "kvs_arn": "arn:aws:cloudfront::1:key-value-store/x",
        },
        "site": {"public_base_url": "https://downloads.example.org/", "cdn_url": "https://d1.example/"},
        "gate": {"lag_seconds": 60, "settle_seconds": 120, "error_ttl_seconds": 10},
    }


@pytest.mark.parametrize(
    ("around", "title", "table"),
    [
        ({"sigstoreTrustConfig": "trust/own.json"}, "sigstore", {"trust_config": "trust/own.json"}),
        ({"records": "unsigned"}, "sigstore", {"records": "unsigned"}),
        (
            {"listing": {"kind": "database", "url": "https://www.example.org/"}},
            "listing",
            {"kind": "database", "url": "https://www.example.org/"},
        ),
        ({"listing": {"kind": "releases.json"}}, "listing", {"kind": "releases.json"}),
        (
            {"announce": {"discourseUrl": "https://d.example.org/", "discourseCategory": 23}},
            "announce",
            {"discourse_url": "https://d.example.org/", "discourse_category": 23},
        ),
        (
            {"announce": {"webhookUrl": "https://w.example.org/x"}},
            "announce",
            {"webhook_url": "https://w.example.org/x"},
        ),
        (
            {"outerCaches": ["https://www.example.org/", "https://b.example.org/ftp/"]},
            "outer_cache",
            [{"url_prefix": "https://www.example.org/"}, {"url_prefix": "https://b.example.org/ftp/"}],
        ),
    ],
)
def test_what_a_stack_says_about_its_surroundings_is_added(
    around: dict[str, Any], title: str, table: object
) -> None:
    without = tomllib.loads(write_settings(a_config(), MADE))
    assert title not in without
    assert tomllib.loads(write_settings(a_config(around), MADE)) == {**without, title: table}


@pytest.mark.parametrize("around", [{"records": "signed"}, {"notify": NOTIFY}])
def test_what_the_publisher_need_not_know_is_not_in_it(around: dict[str, Any]) -> None:
    assert write_settings(a_config(around), MADE) == write_settings(a_config(), MADE)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives(text: str) -> None:
    assert tomllib.loads(write_settings(a_config(profile=text), MADE))["profile"] == text


@pytest.mark.parametrize("text", ['a"b', "a\\b", "a\nb = 1", "\x7f", "\x00", "é\U0001f40d", '"""', "#"])
def test_text_that_means_something_in_toml_is_only_text(text: str) -> None:
    settings = tomllib.loads(write_settings(a_config(profile=text), replace(MADE, distribution_id=text)))
    assert (settings["profile"], settings["aws"]["distribution_id"]) == (text, text)


@pytest.mark.parametrize(
    ("changes", "url"),
    [
        ({"public_base_url": "https://www.example.org/ftp/"}, "https://www.example.org/ftp/"),
        ({"domain_names": ("a.example.org", "b.example.org")}, "https://a.example.org/"),
        ({"domain_names": ("*.example.org", "b.example.org")}, "https://b.example.org/"),
        ({"domain_names": ("*.example.org",)}, "https://d1.example/"),
        ({"domain_names": ()}, "https://d1.example/"),
    ],
)
def test_users_download_where_the_stack_says(changes: dict[str, Any], url: str) -> None:
    assert choose_base_url(a_config(**changes), MADE.cdn_url) == url
