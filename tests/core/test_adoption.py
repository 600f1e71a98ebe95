"""What of a tree is adopted, and why the rest is not: on values alone."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from publisher.core import adoption
from publisher.core.adoption import (
    Adoption,
    adopt_object,
    find_type,
    fold_adoptions,
    judge_again,
    judge_type,
    read_original,
    select_objects,
    split_parts,
)
from publisher.core.digests import of_bytes
from publisher.core.faults import Weight
from publisher.core.plan import Version
from publisher.core.snapshot import Described, Listed

NOON = datetime(2030, 6, 15, 12, tzinfo=UTC)
GOOD, OTHER = of_bytes(b"good"), of_bytes(b"other")
FOUND = Described(Version("a/x", "v1", '"e"'), 4, NOON, None, "text/plain", "max-age=60", {"mtime": "0"})
FILE = adopt_object(FOUND, GOOD)


def listed(key: str = "a/x", size: int = 4, modified: datetime = NOON) -> Listed:
    return Listed(key, size, modified)


def an_adoption(name: str, hours: int, *files: adoption.AdoptedFile, **aliases: str) -> Adoption:
    return Adoption(1, name, "a", files, aliases, "an ARN", NOON + timedelta(hours=hours))


def select(*objects: Listed, known: frozenset[str] = frozenset()) -> tuple[list[str], list[tuple[str, str]]]:
    found, faults = select_objects(objects, {FILE.key: FILE}, known)
    return [item.key for item in found], [(fault.rule, fault.subject) for fault in faults]


def test_an_object_is_taken_down_as_it_was_found() -> None:
    assert (FILE.key, FILE.digest, FILE.size, FILE.version_id) == ("a/x", GOOD, 4, "v1")
    assert (FILE.content_type, FILE.cache_control, FILE.modified) == ("text/plain", "max-age=60", NOON)
    assert FILE.original == datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("metadata", "when"),
    [
        ({"original-date": "2003-05-01T10:00:00+02:00", "mtime": "0"}, datetime(2003, 5, 1, 8, tzinfo=UTC)),
        ({"mtime": "1030000000.75"}, datetime(2002, 8, 22, 7, 6, 40, tzinfo=UTC)),
        ({"original-date": "in May"}, None),
        ({"mtime": "1e99"}, None),
        ({}, None),
    ],
)
def test_the_date_of_the_file_itself_is_what_its_object_says(
    metadata: dict[str, str], when: datetime | None
) -> None:
    assert read_original(metadata) == when


def test_the_later_of_two_adoptions_counts() -> None:
    again = replace(FILE, version_id="v2")

    found = fold_adoptions([an_adoption("2", 2, again, x="b"), an_adoption("1", 1, FILE, x="a", y="c")])

    assert found.files == {"a/x": again}
    assert found.aliases == {"x": "b", "y": "c"}


@pytest.mark.parametrize("modified", [NOON, NOON + timedelta(milliseconds=900)])
def test_what_was_adopted_and_not_written_since_is_not_adopted_again(modified: datetime) -> None:
    assert select(listed(modified=modified)) == ([], [])


@pytest.mark.parametrize(
    "item", [listed(size=5), listed(modified=NOON + timedelta(seconds=1)), listed(key="a/y")]
)
def test_what_is_new_or_was_written_since_is_adopted(item: Listed) -> None:
    assert select(item) == ([item.key], [])


def test_what_something_else_looks_after_and_the_gates_own_folders_are_passed_over() -> None:
    objects = (listed("a/y"), listed("_pending/1/a/y"), listed("_site/404.html"))

    assert select(*objects, known=frozenset({"a/y"})) == ([], [])


def test_keys_that_may_not_be_public_or_not_beside_each_other_are_told_and_left_out() -> None:
    objects = (
        listed("a/b c"),
        listed("a/Y"),
        listed("a/y"),
        listed("a/z"),
        listed("a/z/1"),
        listed("a/good"),
    )

    keys, faults = select(*objects)

    assert keys == ["a/good"]
    assert set(faults) == {("key", key) for key in ("a/b c", "a/Y", "a/y", "a/z", "a/z/1")}


def test_only_other_bytes_are_refused_the_second_time() -> None:
    assert judge_again(FILE, None) is None
    assert judge_again(replace(FILE, version_id="v2"), FILE) is None
    fault = judge_again(replace(FILE, digest=OTHER), FILE)
    assert fault
    assert (fault.rule, fault.subject, fault.weight) == ("drift", "a/x", Weight.FAULT)


def test_a_media_type_is_compared_with_that_of_the_longest_suffix() -> None:
    types = {".gz": "application/gzip", ".tar.gz": "application/x-tar"}

    assert find_type("a/x.tar.gz", types) == "application/x-tar"
    assert find_type("a/x.gz", types) == "application/gzip"
    assert find_type("a/x", types) == "application/octet-stream"
    assert judge_type(FOUND, "text/plain") is None
    fault = judge_type(replace(FOUND, content_type=""), "text/plain")
    assert fault
    assert (fault.found, fault.weight) == ("none", Weight.WARNING)


def test_a_part_has_few_enough_files_and_bytes_to_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adoption, "MAX_FILES", 3)
    monkeypatch.setattr(adoption, "MAX_STREAMED", 10)
    unknown, known = replace(FOUND, size=6), replace(FOUND, size=100, digest=GOOD)

    parts = [[found.size for found in part] for part in split_parts([unknown, unknown, known, known, known])]

    assert parts == [[6], [6, 100, 100], [100]]
    assert list(split_parts([])) == []
    # One that is larger than a part may be has its own.
    assert [len(part) for part in split_parts([replace(FOUND, size=11), unknown])] == [1, 1]
