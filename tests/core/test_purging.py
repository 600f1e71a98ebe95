"""Which URLs a cache has to forget for a key: each spelling that leads there, once, in a stable order."""

from dataclasses import replace
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.core.profile import PageRule
from publisher.core.purging import list_invalidations, list_purges
from publisher.core.urls import make_path
from tests.support.builders import a_file, a_plan

SITE = "https://www.example.org/ftp/"
MIRROR = "https://dl.example.org/"
KEYS = st.from_regex(
    r"([A-Za-z0-9.+-][A-Za-z0-9._+-]{0,8}/){0,3}(index\.html|[A-Za-z0-9+-]{1,8})", fullmatch=True
)


def list_paths(*keys: str) -> list[str]:
    return [url.removeprefix(SITE) for url in list_purges(keys, [SITE])]


@pytest.mark.parametrize(
    ("key", "paths"),
    [
        ("tool/1.2.0/tool-1.2.0.tgz", ["tool/1.2.0/tool-1.2.0.tgz"]),
        ("README", ["README"]),
        ("tool/index.json", ["tool/index.json"]),
        ("tool/1.0+local.tgz", ["tool/1.0%2Blocal.tgz", "tool/1.0+local.tgz"]),
        ("c++/a+b", ["c%2B%2B/a%2Bb", "c++/a+b"]),
    ],
)
def test_a_file_has_one_url_and_a_second_one_only_for_a_plus(key: str, paths: list[str]) -> None:
    assert list_paths(key) == paths


@pytest.mark.parametrize(
    ("key", "paths"),
    [
        ("tool/1.2.0/index.html", ["tool/1.2.0/index.html", "tool/1.2.0/", "tool/1.2.0"]),
        ("index.html", ["index.html", ""]),
        (
            "c++/index.html",
            ["c%2B%2B/index.html", "c++/index.html", "c%2B%2B/", "c++/", "c%2B%2B", "c++"],
        ),
    ],
)
def test_a_page_is_forgotten_as_its_folder_too_with_and_without_the_slash(key: str, paths: list[str]) -> None:
    assert list_paths(key) == paths


@pytest.mark.parametrize("key", ["tool/my-index.html", "tool/index.html.sig", "index.html/file"])
def test_what_only_looks_like_a_page_is_a_file(key: str) -> None:
    assert list_paths(key) == [key]


def test_each_cache_is_purged_of_everything_in_the_order_of_the_configuration() -> None:
    assert list_purges(["b", "a"], [SITE, MIRROR]) == (
        f"{SITE}b",
        f"{SITE}a",
        f"{MIRROR}b",
        f"{MIRROR}a",
    )


def test_nothing_is_purged_twice() -> None:
    # A pointer may be a page that the promotion made anyway, and a cache may be named twice.
    assert list_purges(["a/index.html", "a/b", "a/index.html"], [SITE, SITE]) == (
        f"{SITE}a/index.html",
        f"{SITE}a/",
        f"{SITE}a",
        f"{SITE}a/b",
    )


@pytest.mark.parametrize(("keys", "prefixes"), [([], [SITE]), (["a"], []), ([], [])])
def test_without_keys_or_caches_there_is_nothing_to_do(keys: list[str], prefixes: list[str]) -> None:
    assert list_purges(keys, prefixes) == ()


def test_keys_and_prefixes_may_be_read_once_only() -> None:
    assert list_purges(iter(["a", "b"]), iter([SITE, MIRROR])) == list_purges(["a", "b"], [SITE, MIRROR])


@given(st.lists(KEYS, max_size=5))
def test_every_url_leads_to_a_key_and_every_key_has_the_url_that_the_publisher_looks_at(
    keys: list[str],
) -> None:
    urls = list_purges(keys, [SITE, MIRROR])

    assert len(set(urls)) == len(urls)
    for prefix in (SITE, MIRROR):
        found = [url.removeprefix(prefix) for url in urls if url.startswith(prefix)]
        assert {make_path(key) for key in keys} <= set(found)
        for path in found:
            key = unquote(path)
            assert {key, f"{key}index.html", f"{key}/index.html"} & set(keys)
            assert "?" not in path


def test_a_plan_says_which_paths_the_cdn_is_to_forget() -> None:
    bare = a_plan(a_file("python/3.14.0/a+b.tgz"))
    with_pages = replace(bare, pages=PageRule("python", "Tool", None))

    assert list_invalidations(bare) == ()
    assert list_invalidations(with_pages) == (
        "/python/3.14.0/index.html",
        "/python/3.14.0/",
        "/python/3.14.0",
        "/python/3.14.0/index.json",
        "/python/index.html",
        "/python/",
        "/python",
        "/python/index.json",
    )
    assert list_invalidations(replace(bare, swap_files=(a_file("python/c++.json"),))) == (
        "/python/c%2B%2B.json",
    )
