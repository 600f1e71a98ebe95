"""Digests: what may be read as one, and how it is written."""

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.core.digests import display, of_bytes, parse_base64, parse_hex, to_base64


@given(st.binary())
def test_a_digest_survives_every_way_of_writing_it(data: bytes) -> None:
    digest = of_bytes(data)

    assert digest == hashlib.sha256(data).hexdigest()
    assert parse_hex(digest) == digest
    assert parse_base64(to_base64(digest)) == digest


def test_hex_digits_are_read_in_any_case_and_kept_in_lower_case() -> None:
    assert parse_hex("AB" * 32) == "ab" * 32


@pytest.mark.parametrize(
    "text", ["", "ab" * 31, "ab" * 33, "xy" * 32, "ab" * 32 + "\n", " " + "ab" * 32, "sha256:" + "ab" * 32]
)
def test_anything_but_64_hex_digits_is_no_digest(text: str) -> None:
    with pytest.raises(ValueError, match="expected 64 hex digits"):
        parse_hex(text)


@pytest.mark.parametrize(
    "text",
    [
        to_base64(of_bytes(b"parts")) + "-12",
        base64.b64encode(b"short").decode(),
        base64.b64encode(bytes(33)).decode(),
        "AAA",
        "-",
        "",
        "für immer",
    ],
)
def test_a_value_that_is_no_whole_files_digest_is_none(text: str) -> None:
    assert parse_base64(text) is None


def test_a_digest_is_shown_with_its_algorithm() -> None:
    assert display(of_bytes(b"")).startswith("sha256:e3b0c442")
