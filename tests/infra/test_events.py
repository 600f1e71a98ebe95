"""Which objects people are told of, and that S3 would take the filters: it refuses those that overlap."""

from collections.abc import Iterable
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from program import load_example

from checks import NAME
from events import EventFilter, list_filters

BUILDERS = ("source", "windows", "pymanager", "macos")


def overlap(one: EventFilter, other: EventFilter) -> bool:
    """Judge as S3 does, by its documented rule; all filters here are about the same events."""
    prefixes, suffixes = (
        sorted([one.prefix, other.prefix], key=len),
        sorted([one.suffix, other.suffix], key=len),
    )
    return prefixes[1].startswith(prefixes[0]) and suffixes[1].endswith(suffixes[0])


def find_overlaps(filters: Iterable[EventFilter]) -> list[tuple[str, str]]:
    return [(one.name, other.name) for one, other in combinations(filters, 2) if overlap(one, other)]


def tell(key: str) -> list[str]:
    """List the filters that a key matches."""
    return [
        each.name
        for each in list_filters(BUILDERS)
        if key.startswith(each.prefix) and key.endswith(each.suffix)
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # The examples of S3's own documentation.
        (EventFilter("all", ""), EventFilter("images", "images")),
        (EventFilter("image", "image"), EventFilter("images", "images")),
        (EventFilter("jpg", "", "jpg"), EventFilter("pg", "", "pg")),
        (EventFilter("images", "images", ".jpg"), EventFilter("vacation", "images/vacation", ".jpg")),
        # What would be the obvious way to tell of hand-overs and holds.
        (EventFilter("hand-over", "", "SHA256SUMS"), EventFilter("hold", "_hold/")),
    ],
)
def test_the_rule_finds_filters_that_overlap(one: EventFilter, other: EventFilter) -> None:
    assert overlap(one, other)
    assert overlap(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (EventFilter("images", "images", ".jpg"), EventFilter("images", "images", ".png")),
        (EventFilter("images", "images/", ".jpg"), EventFilter("vacation", "vacation/", ".jpg")),
        (EventFilter("images", "images/"), EventFilter("logs", "logs/")),
    ],
)
def test_the_rule_lets_filters_pass_that_do_not(one: EventFilter, other: EventFilter) -> None:
    assert not overlap(one, other)
    assert not overlap(other, one)


def test_the_filters_of_the_example_do_not_overlap() -> None:
    filters = list_filters([role["name"] for role in load_example()["roles"] if role["duty"] == "delivers"])
    assert len(filters) == 9
    assert find_overlaps(filters) == []


@given(st.lists(st.from_regex(f"(?a:{NAME})", fullmatch=True), max_size=6, unique=True))
def test_no_names_of_roles_make_the_filters_overlap(names: list[str]) -> None:
    assert find_overlaps(list_filters(names)) == []


def test_a_role_that_came_twice_would_make_them_overlap() -> None:
    # Which is why the stack's configuration is refused then.
    assert find_overlaps(list_filters(["windows", "windows"])) == [("hand-over-windows", "hand-over-windows")]


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("windows/3.14.0b3/SHA256SUMS", ["hand-over-windows"]),
        ("macos/3.14.0b3/SHA256SUMS", ["hand-over-macos"]),
        ("_hold/windows/3.14.0b3", ["hold"]),
        ("_hold/qa/3.14.0b3", ["hold"]),
        ("_state/promotions/0f5c/live.json", ["promotion-live"]),
        ("_state/promotions/0f5c/done.json", ["promotion-done"]),
        ("_state/records/3.14.0b3/1.json", ["record"]),
        ("_state/withdrawals/0f5c.json", ["withdrawal"]),
    ],
)
def test_what_people_are_told_of(key: str, names: list[str]) -> None:
    assert tell(key) == names


@pytest.mark.parametrize(
    "key",
    [
        "windows/3.14.0b3/python/3.14.0/python-3.14.0b3-amd64.exe",
        "windows/3.14.0b3/COMMIT",
        "windows/3.14.0b3/SHA256SUMS.sigstore",
        "windows/3.14.0b3/MY-SHA256SUMS",
        "qa/3.14.0b3/SHA256SUMS",
        "_rm/3.14.0b3/python/3.14.0/SHA256SUMS",
        "_state/lease.json",
        "_state/releases/3.14.0b3.json",
        "_state/promotions/0f5c/plan.json",
        "_state/promotions/0f5c/abandoned.json",
    ],
)
def test_what_people_are_not_told_of(key: str) -> None:
    assert tell(key) == []


def test_a_deeper_file_of_that_name_is_told_too() -> None:
    # As the docstring says: no filter of S3 can tell it from a hand-over.
    assert tell("source/3.14.0b3/python/3.14.0/SHA256SUMS") == ["hand-over-source"]
