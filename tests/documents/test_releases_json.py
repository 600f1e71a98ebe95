"""releases.json: rows are read back as they were written, and nothing else is taken for them."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.core.listing import FileRow, FoundFile, FoundRelease, ReleaseRow
from publisher.documents.releases_json import ReleasesFile
from publisher.documents.state import decode, encode
from publisher.errors import StoreError

KEY = "tool/releases.json"
WHEN = datetime(2030, 6, 15, 12, tzinfo=UTC)
RELEASE = FoundRelease(3, ReleaseRow("Tool 1.2.0", "tool-1.2.0", 1, True, True, False, WHEN, "", True))
FILE = FoundFile(
    7,
    3,
    FileRow(
        name="Installer",
        slug="1.2.0-Installer",
        os="windows",
        url="https://dl.example.org/1.2.0/setup.exe",
        description="Recommended",
        is_source=False,
        sha256="a" * 64,
        size=10,
        button=True,
        sidecars={".sigstore": "https://dl.example.org/1.2.0/setup.exe.sigstore"},
    ),
)
WHOLE = ReleasesFile(1, (RELEASE,), (FILE,))

TEXT = st.text(max_size=12)
NUMBER = st.integers(0, 2**45)
FLAG = st.booleans()
TIME = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
RELEASE_ROW = st.builds(ReleaseRow, TEXT, TEXT, NUMBER, FLAG, FLAG, FLAG, TIME, TEXT, FLAG)
SIDECARS = st.dictionaries(TEXT, TEXT, max_size=3)
FILE_ROW = st.builds(FileRow, TEXT, TEXT, TEXT, TEXT, TEXT, FLAG, TEXT, NUMBER, FLAG, SIDECARS)


def edited(edit: Callable[[dict[str, Any]], object]) -> bytes:
    """Give the file after somebody edited it by hand."""
    fields: dict[str, Any] = json.loads(encode(WHOLE))
    edit(fields)
    return json.dumps(fields).encode()


@given(
    st.builds(
        ReleasesFile,
        st.just(1),
        st.lists(st.builds(FoundRelease, NUMBER, RELEASE_ROW), max_size=3).map(tuple),
        st.lists(st.builds(FoundFile, NUMBER, NUMBER, FILE_ROW), max_size=3).map(tuple),
    )
)
def test_any_rows_are_read_back_as_they_were_written(whole: ReleasesFile) -> None:
    assert decode(ReleasesFile, encode(whole), KEY) == whole


def test_who_reads_the_file_finds_every_field_by_its_name() -> None:
    found = json.loads(encode(WHOLE))

    assert (found["schema"], found["releases"][0]["id"]) == (1, 3)
    assert found["releases"][0]["row"]["release_date"] == "2030-06-15T12:00:00Z"
    assert (found["files"][0]["id"], found["files"][0]["release"]) == (7, 3)
    assert found["files"][0]["row"]["sha256"] == "a" * 64
    assert encode(WHOLE).endswith(b"}\n")


EDITS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "another schema": (lambda fields: fields.update(schema=2), "schema"),
    "an unknown field": (lambda fields: fields.update(extra=[]), "extra"),
    "no files": (lambda fields: fields.pop("files"), "files"),
    "an id that is none": (lambda fields: fields["files"][0].update(id="x"), r"files\.0\.id"),
    "a row without its slug": (lambda fields: fields["releases"][0]["row"].pop("slug"), r"releases\.0\.row"),
}


@pytest.mark.parametrize(("edit", "where"), EDITS.values(), ids=EDITS)
def test_a_file_that_was_edited_into_something_else_is_an_error_that_says_where(
    edit: Callable[[dict[str, Any]], object], where: str
) -> None:
    assert decode(ReleasesFile, edited(lambda _: None), KEY) == WHOLE
    with pytest.raises(StoreError, match=rf"^tool/releases\.json is not a valid releasesfile: {where}"):
        decode(ReleasesFile, edited(edit), KEY)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"<html>"])
def test_what_is_no_such_json_is_an_error(data: bytes) -> None:
    with pytest.raises(StoreError, match=r"^tool/releases\.json is not a valid releasesfile"):
        decode(ReleasesFile, data, KEY)
