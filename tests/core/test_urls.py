"""URLs of keys, and whether an answer is the file's."""

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.core.keys import find_problem
from publisher.core.urls import describe_fault, make_path


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


def fault(
    *, status: int = 200, size: int | None = 4, etag: str | None = '"aa"', expected_etag: str = '"aa"'
) -> str | None:
    return describe_fault(status=status, size=size, etag=etag, expected_size=4, expected_etag=expected_etag)


@pytest.mark.parametrize("etag", ['"aa"', 'W/"aa"', "aa"])
@pytest.mark.parametrize("expected", ['"aa"', "aa"])
def test_an_answer_with_status_size_and_etag_of_the_file_has_no_fault(etag: str, expected: str) -> None:
    assert fault(etag=etag, expected_etag=expected) is None


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (fault(status=404, size=0, etag=None), "status 404"),
        (fault(status=301), "status 301"),
        (fault(status=206), "status 206"),
        (fault(size=5), "5 bytes instead of 4 bytes"),
        (fault(size=0), "0 bytes instead of 4 bytes"),
        (fault(size=None), "no size instead of 4 bytes"),
        (fault(etag='"bb"'), "ETag bb instead of aa"),
        (fault(etag='W/"bb"'), "ETag bb instead of aa"),
        (fault(etag='"AA"'), "ETag AA instead of aa"),
        (fault(etag='"aa-2"'), "ETag aa-2 instead of aa"),
        (fault(etag=None), "ETag none instead of aa"),
        (fault(etag=""), "ETag none instead of aa"),
    ],
)
def test_the_first_difference_is_named(found: str | None, expected: str) -> None:
    assert found == expected
