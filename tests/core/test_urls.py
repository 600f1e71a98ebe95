"""URLs of keys, whether an answer is the file's, and whether two ETags are one."""

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.core.keys import find_problem
from publisher.core.urls import describe_fault, is_same_etag, list_page_paths, make_path


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("python/3.14.0/Python-3.14.0b3.tgz", "python/3.14.0/Python-3.14.0b3.tgz"),
        ("a/b_c-d.e", "a/b_c-d.e"),
        ("a/c++/x+1", "a/c%2B%2B/x%2B1"),
    ],
)
def test_only_a_plus_is_encoded_for_s3_would_read_a_blank(key: str, path: str) -> None:
    assert make_path(key) == path


@given(st.from_regex(r"([A-Za-z0-9.+-][A-Za-z0-9._+-]{0,20}/){0,4}[A-Za-z0-9+-]{1,20}", fullmatch=True))
def test_a_path_leads_back_to_its_key(key: str) -> None:
    if find_problem(key) is None:
        path = make_path(key)

        assert "+" not in path
        assert unquote(path) == key
        assert urlsplit(f"https://dl.example.org/{path}").path == f"/{path}"


@pytest.mark.parametrize("size", [0, 4])
def test_an_answer_with_status_and_size_of_the_file_has_no_fault(size: int) -> None:
    assert describe_fault(status=200, size=size, expected_size=size) is None


@pytest.mark.parametrize(
    ("status", "size", "fault"),
    [
        (404, 0, "status 404"),
        (404, 4, "status 404"),
        (301, 4, "status 301"),
        (206, 4, "status 206"),
        (503, None, "status 503"),
        (200, 5, "5 bytes instead of 4 bytes"),
        (200, 0, "0 bytes instead of 4 bytes"),
        (200, None, "no size instead of 4 bytes"),
    ],
)
def test_the_first_difference_is_named(status: int, size: int | None, fault: str) -> None:
    assert describe_fault(status=status, size=size, expected_size=4) == fault


def test_no_size_is_not_the_size_of_an_empty_file() -> None:
    assert describe_fault(status=200, size=None, expected_size=0) == "no size instead of 0 bytes"


@pytest.mark.parametrize("found", ['"aa"', 'W/"aa"', "aa"])
@pytest.mark.parametrize("expected", ['"aa"', "aa"])
def test_an_etag_is_the_same_quoted_or_not_and_weak_or_not(found: str, expected: str) -> None:
    assert is_same_etag(found, expected)


@pytest.mark.parametrize("found", ['"bb"', 'W/"bb"', '"AA"', '"aa-2"', '"a"', '""', "", None])
@pytest.mark.parametrize("expected", ['"aa"', "aa"])
def test_any_other_etag_and_none_at_all_is_another(found: str | None, expected: str) -> None:
    assert not is_same_etag(found, expected)


@pytest.mark.parametrize(
    ("key", "paths"),
    [
        ("index.html", ("/index.html", "/")),
        ("python/3.14.0/index.html", ("/python/3.14.0/index.html", "/python/3.14.0/", "/python/3.14.0")),
        ("c++/index.html", ("/c%2B%2B/index.html", "/c%2B%2B/", "/c%2B%2B")),
        ("python/index.json", ("/python/index.json",)),
        ("python/my-index.html", ("/python/my-index.html",)),
    ],
)
def test_a_page_is_asked_for_by_its_own_path_and_by_its_folders(key: str, paths: tuple[str, ...]) -> None:
    assert list_page_paths(key) == paths
