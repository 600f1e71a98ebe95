"""The gate's entries: what each change makes of them, and that any number of them goes through in updates."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.core.gate import (
    BATCH,
    LIVE,
    MAX_KEY_BYTES,
    MAX_VALUE_BYTES,
    OWNER,
    WITHDRAWN,
    Change,
    drop_keys,
    drop_paths,
    drop_promotion,
    find_gated,
    find_taken,
    list_folders,
    list_paths,
    path_entry,
    promotion_entry,
    show,
)
from publisher.core.keys import MAX_BYTES

# Few names, so that promotions meet at the same keys.
KEYS = st.sampled_from([f"tool/{name}" for name in "abcdefgh"])
PROMOTIONS = st.sampled_from(["p1", "p2", "p3"])
PATHS = st.dictionaries(KEYS, PROMOTIONS)
STATES = st.dictionaries(PROMOTIONS, st.sampled_from([LIVE, WITHDRAWN]))
OTHERS: st.SearchStrategy[dict[str, str]] = st.sampled_from(
    [{}, {OWNER: "t"}, {OWNER: "p1", "d:tool": "", "a:old/": "tool/"}]
)


def combine(paths: dict[str, str], states: dict[str, str], others: dict[str, str]) -> dict[str, str]:
    listed = {path_entry(key): promotion for key, promotion in paths.items()}
    return {**listed, **{promotion_entry(name): state for name, state in states.items()}, **others}


ENTRIES = st.builds(combine, PATHS, STATES, OTHERS)
NAMES = st.integers(0, 200).map(str)


def split(change: Change) -> list[Change]:
    """Take a change apart as whoever makes it does, one update after the other."""
    batches: list[Change] = []
    puts, deletes = dict(change.puts), list(change.deletes)
    while rest := Change(puts, deletes):
        batch = rest.batch()
        batches.append(batch)
        puts = {key: value for key, value in puts.items() if key not in batch.puts}
        deletes = [key for key in deletes if key not in batch.deletes]
    return batches


@pytest.mark.parametrize(
    ("puts", "deletes", "sizes"),
    [
        (0, 0, []),
        (1, 0, [1]),
        (0, 1, [1]),
        (50, 0, [50]),
        (51, 0, [50, 1]),
        (0, 111, [50, 50, 11]),
        (49, 1, [50]),
        (49, 2, [50, 1]),
        (75, 75, [50, 50, 50]),
    ],
)
def test_a_change_is_split_into_as_few_updates_as_fit(puts: int, deletes: int, sizes: list[int]) -> None:
    change = Change(
        {f"+{number}": "x" for number in range(puts)}, [f"-{number}" for number in range(deletes)]
    )

    assert [len(batch.puts) + len(batch.deletes) for batch in split(change)] == sizes
    assert bool(change) is bool(sizes)


@given(st.dictionaries(NAMES, NAMES), st.sets(NAMES), st.dictionaries(NAMES, NAMES))
def test_updates_are_small_and_together_are_exactly_the_change(
    puts: dict[str, str], deletes: set[str], entries: dict[str, str]
) -> None:
    change = Change(puts, sorted(deletes - puts.keys()))
    found = entries
    batches = split(change)
    for batch in batches:
        assert 1 <= len(batch.puts) + len(batch.deletes) <= BATCH
        found = batch.apply(found)

    assert {key: value for batch in batches for key, value in batch.puts.items()} == puts
    assert [key for batch in batches for key in batch.deletes] == list(change.deletes)
    assert sum(len(batch.puts) for batch in batches) == len(puts)
    assert found == change.apply(entries)


@given(st.dictionaries(NAMES, NAMES), st.sets(NAMES), st.dictionaries(NAMES, NAMES))
def test_a_change_touches_only_what_it_names(
    puts: dict[str, str], deletes: set[str], entries: dict[str, str]
) -> None:
    found = Change(puts, deletes - puts.keys()).apply(entries)

    for key in entries.keys() | puts.keys() | deletes:
        expected = puts.get(key) if key in puts or key in deletes else entries.get(key)
        assert found.get(key) == expected


def test_every_key_that_may_be_public_fits_the_store_with_its_prefix() -> None:
    assert len(path_entry("k" * MAX_BYTES).encode()) <= MAX_KEY_BYTES
    assert len(promotion_entry("0" * 32).encode()) <= MAX_KEY_BYTES
    assert max(len(value) for value in (LIVE, WITHDRAWN, "0" * 32)) <= MAX_VALUE_BYTES


def test_live_and_withdrawn_promotions_are_gated_and_listed_ones_are_not() -> None:
    entries = {"owner": "t", "p:a": "p1", "s:p2": "live", "s:p3": "withdrawn", "d:s:": ""}

    assert find_gated(entries) == {"p2", "p3"}
    assert find_gated({}) == frozenset()


@pytest.mark.parametrize(
    ("entries", "taken"),
    [
        ({}, ()),
        ({"p:a": "p1", "s:p1": "live"}, ()),
        ({"p:a": "p2"}, ()),
        ({"p:a": "p2", "s:p2": "live"}, ("a",)),
        ({"p:a": "p2", "s:p2": "withdrawn"}, ("a",)),
        ({"p:a": "p2", "s:p3": "live"}, ()),
        ({"p:b": "p2", "p:a": "p2", "s:p2": "live"}, ("a", "b")),
        ({"p:c": "p2", "s:p2": "live"}, ()),
    ],
)
def test_a_key_is_taken_where_another_promotion_shows_or_has_withdrawn_it(
    entries: Mapping[str, str], taken: tuple[str, ...]
) -> None:
    assert find_taken(entries, ["a", "b"], "p1") == taken


@given(ENTRIES, st.lists(KEYS, unique=True), PROMOTIONS)
def test_keys_are_taken_exactly_if_listing_them_would_hide_or_show_what_another_promotion_has(
    entries: dict[str, str], keys: list[str], promotion: str
) -> None:
    taken = find_taken(entries, keys, promotion)
    listed = list_paths(entries, keys, promotion).apply(entries)

    assert set(taken) <= set(keys)
    lost = {
        key
        for key in keys
        for before in [entries.get(path_entry(key))]
        if before is not None and before != listed[path_entry(key)] and promotion_entry(before) in entries
    }
    assert set(taken) == lost


@given(ENTRIES, st.lists(KEYS), PROMOTIONS)
def test_listing_lists_exactly_the_keys_and_again_changes_nothing(
    entries: dict[str, str], keys: list[str], promotion: str
) -> None:
    found = list_paths(entries, keys, promotion).apply(entries)

    assert found == {**entries, **{f"p:{key}": promotion for key in keys}}
    assert not list_paths(found, keys, promotion)


@given(ENTRIES, PROMOTIONS)
def test_one_entry_shows_a_promotion_and_a_withdrawn_one_stays_withdrawn(
    entries: dict[str, str], promotion: str
) -> None:
    change = show(entries, promotion)
    found = change.apply(entries)

    assert len(change.puts) + len(change.deletes) <= 1
    assert found == {f"s:{promotion}": LIVE, **entries}
    assert not show(found, promotion)


@given(ENTRIES, PROMOTIONS)
def test_dropping_the_keys_of_a_promotion_touches_no_other_entry(
    entries: dict[str, str], promotion: str
) -> None:
    found = drop_paths(entries, promotion).apply(entries)

    assert found == {
        key: value for key, value in entries.items() if not (key.startswith("p:") and value == promotion)
    }
    assert not drop_paths(found, promotion)


@given(ENTRIES, st.lists(KEYS, unique=True), PROMOTIONS)
def test_dropping_some_keys_of_a_promotion_touches_no_others(
    entries: dict[str, str], keys: list[str], promotion: str
) -> None:
    found = drop_keys(entries, keys, promotion).apply(entries)

    gone = {f"p:{key}" for key in keys if entries.get(f"p:{key}") == promotion}
    assert found == {key: value for key, value in entries.items() if key not in gone}
    assert not drop_keys(found, keys, promotion)


@given(ENTRIES, PROMOTIONS)
def test_dropping_a_promotion_drops_its_own_entry_alone(entries: dict[str, str], promotion: str) -> None:
    found = drop_promotion(entries, promotion).apply(entries)

    assert found == {key: value for key, value in entries.items() if key != f"s:{promotion}"}
    assert not drop_promotion(found, promotion)


@given(ENTRIES, st.lists(KEYS), PROMOTIONS)
def test_a_promotion_that_came_and_went_leaves_nothing_of_its_own(
    entries: dict[str, str], keys: list[str], promotion: str
) -> None:
    found = list_paths(entries, keys, promotion).apply(entries)
    found = show(found, promotion).apply(found)
    found = drop_paths(found, promotion).apply(found)
    found = drop_promotion(found, promotion).apply(found)

    listed = {f"p:{key}" for key in keys}
    assert promotion not in find_gated(found)
    assert promotion not in {value for key, value in found.items() if key.startswith("p:")}
    assert found.items() <= entries.items()
    assert all(
        key in found
        for key, value in entries.items()
        if key not in {*listed, f"s:{promotion}"} and not (key.startswith("p:") and value == promotion)
    )


def test_folders_with_a_page_are_listed_once() -> None:
    entries = {"d:python": "index"}

    change = list_folders(entries, ["python", "python/3.14.0", ""])

    assert change.puts == {"d:python/3.14.0": "index", "d:": "index"}
    assert not list_folders(change.apply(entries), ["python", "python/3.14.0", ""])
