"""Aliases: moved to the highest release only, and read as the gate reads them."""

import re
from collections.abc import Iterable, Iterator, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py_mini_racer import mini_racer

from publisher.core.aliases import (
    MAX_SEGMENTS,
    AliasChange,
    AliasKept,
    AliasRule,
    alias_entry,
    find_affected,
    find_rule_problems,
    follow,
    judge_moves,
    move,
    plan_aliases,
    rank,
    refuse_shadowed,
)
from publisher.core.gate import Change
from publisher.core.keys import find_problem
from publisher.core.pointers_swap import Verdict
from publisher.core.profile import Release
from publisher.core.urls import make_path
from tests.infra.gate_engine import Gate, Store

FINAL = frozenset({"final", "security"})
CURRENT = AliasRule("python/doc/current", "python/doc/{release}", FINAL)
OF_SERIES = AliasRule("python/doc/{series}", "python/doc/{release}", FINAL)
ENTRY = "a:python/doc/current"
_VERSION = re.compile(r"(?P<series>\d+\.\d+)\.\d+(?P<pre>(a|b|rc)\d+)?")


def parse(name: str) -> Release | None:
    match = _VERSION.fullmatch(name)
    if match is None:
        return None
    return Release(name, {"series": match["series"]}, match["series"], "rc" if match["pre"] else "final")


def a_release(name: str) -> Release:
    release = parse(name)
    assert release is not None
    return release


def plan(
    *releases: str,
    rules: Iterable[AliasRule] = (CURRENT,),
    entries: Mapping[str, str] | None = None,
    public: Iterable[str] | None = None,
) -> tuple[tuple[AliasChange, ...], tuple[AliasKept, ...]]:
    keys = [f"python/doc/{name}/x.zip" for name in releases] if public is None else public
    return plan_aliases(
        rules, [a_release(name) for name in releases], entries or {}, parse=parse, public=list(keys)
    )


def test_a_new_final_release_moves_the_alias_to_it() -> None:
    changes, kept = plan("3.14.2", entries={ENTRY: "python/doc/3.14.1"})

    assert changes == (AliasChange("python/doc/current", "python/doc/3.14.1", "python/doc/3.14.2", "3.14.2"),)
    assert kept == ()


def test_an_alias_that_was_never_set_is_set() -> None:
    changes, _ = plan("3.14.2")

    assert changes == (AliasChange("python/doc/current", None, "python/doc/3.14.2", "3.14.2"),)
    assert move({}, changes) == Change({ENTRY: "python/doc/3.14.2"})


@pytest.mark.parametrize("holder", ["3.14.3", "3.14.10", "3.15.0", "3.15.0rc1"])
def test_an_alias_never_moves_to_a_lower_release(holder: str) -> None:
    changes, kept = plan("3.14.2", entries={ENTRY: f"python/doc/{holder}"})

    assert changes == ()
    assert kept == (AliasKept("python/doc/current", "3.14.2", f"it leads to {holder}, which is higher"),)


def test_an_alias_that_is_there_already_needs_nothing() -> None:
    assert plan("3.14.2", entries={ENTRY: "python/doc/3.14.2"}) == ((), ())


def test_no_release_of_another_kind_or_series_moves_it() -> None:
    assert plan("3.15.0rc1") == ((), ())
    only = AliasRule(CURRENT.name, CURRENT.to, FINAL, frozenset({"3.13"}))
    assert plan("3.14.2", rules=[only]) == ((), ())
    assert len(plan("3.13.9", rules=[only])[0]) == 1


def test_the_highest_of_a_run_gets_it_whatever_their_order() -> None:
    for names in (("3.14.10", "3.14.9", "3.13.11"), ("3.13.11", "3.14.9", "3.14.10")):
        changes, _ = plan(*names, entries={ENTRY: "python/doc/3.14.8"})
        assert [(change.base, change.release) for change in changes] == [("python/doc/3.14.8", "3.14.10")]


def test_each_series_has_an_alias_of_its_own() -> None:
    entries = {"a:python/doc/3.13": "python/doc/3.13.10", "a:python/doc/3.14": "python/doc/3.14.3"}

    changes, kept = plan("3.13.11", "3.14.2", rules=[CURRENT, OF_SERIES], entries=entries)

    assert {change.name: change.target for change in changes} == {
        "python/doc/current": "python/doc/3.14.2",
        "python/doc/3.13": "python/doc/3.13.11",
    }
    assert [each.name for each in kept] == ["python/doc/3.14"]


def test_an_alias_of_a_release_without_files_stays() -> None:
    _, kept = plan("3.14.2", public=["python/doc/3.14.20/x.zip", "python/3.14.2/x.zip"])

    assert kept == (AliasKept("python/doc/current", "3.14.2", "nothing of 3.14.2 is in python/doc/3.14.2/"),)


@pytest.mark.parametrize("target", ["python/doc/nightly", "python/3.14.1", "python/doc/3.14.1/more", ""])
def test_an_alias_that_leads_elsewhere_is_left_to_who_set_it(target: str) -> None:
    changes, kept = plan("3.14.2", entries={ENTRY: target})

    assert changes == ()
    assert kept[0].reason == f"it leads to {target}/, which is no release's folder"


def test_an_alias_of_one_series_that_leads_into_another_is_left_alone() -> None:
    changes, kept = plan("3.14.2", rules=[OF_SERIES], entries={"a:python/doc/3.14": "python/doc/3.13.1"})

    assert changes == ()
    assert "no release's folder" in kept[0].reason


def test_a_folder_made_of_several_groups_is_read_back() -> None:
    rule = AliasRule("tool/stable", "tool/{series}/v{release}", FINAL)

    changes, _ = plan(
        "3.14.2", rules=[rule], entries={"a:tool/stable": "tool/3.14/v3.14.1"}, public=["tool/3.14/v3.14.2/f"]
    )

    assert changes[0].target == "tool/3.14/v3.14.2"


ORDERED = [
    "3.9.20",
    "3.14.0a7",
    "3.14.0b1",
    "3.14.0b10",
    "3.14.0rc1",
    "3.14.0",
    "3.14.1",
    "3.14.10",
    "3.15.0a1",
]


def test_releases_rank_as_people_expect() -> None:
    ranks = [rank(Release(name, {}, None, "")) for name in ORDERED]

    assert ranks == sorted(ranks)
    assert len(set(ranks)) == len(ranks)


@given(st.permutations(ORDERED).map(lambda names: [name for name in names if parse(name)]))
def test_whatever_the_order_of_promotions_the_highest_final_ends_up_with_it(names: list[str]) -> None:
    entries: dict[str, str] = {}
    seen: list[str] = []
    for name in names:
        changes, _ = plan(name, entries=entries)
        entries = move(entries, changes).apply(entries)
        seen += [name] * (a_release(name).kind == "final")
        highest = max(seen, key=ORDERED.index, default=None)
        assert entries.get(ENTRY) == (f"python/doc/{highest}" if highest else None)


# --- In the gate --------------------------------------------------------------------------------------------


def test_an_alias_moves_only_from_where_it_was_and_only_once() -> None:
    change = AliasChange("python/doc/current", "python/doc/3.14.1", "python/doc/3.14.2", "3.14.2")
    at = {version: {ENTRY: f"python/doc/{version}"} for version in ("3.14.1", "3.14.2", "3.14.3")}

    assert move(at["3.14.1"], [change]) == Change({ENTRY: "python/doc/3.14.2"})
    assert not move(at["3.14.2"], [change])
    assert not move(at["3.14.3"], [change])
    assert judge_moves(at["3.14.1"], [change]) == {change: Verdict.SWAP}
    assert judge_moves(at["3.14.2"], [change]) == {change: Verdict.DONE}
    assert judge_moves(at["3.14.3"], [change]) == {change: Verdict.SUPERSEDED}
    assert judge_moves({}, [change]) == {change: Verdict.SUPERSEDED}


def test_keys_below_an_alias_are_refused_since_nobody_could_reach_them() -> None:
    changes = [AliasChange("python/doc/3.14", None, "python/doc/3.14.2", "3.14.2")]
    keys = ["python/doc/current/x", "python/doc/3.14/y", "python/doc/3.14.2/z", "python/doc/current"]

    found = refuse_shadowed(keys, {ENTRY: "python/doc/3.14.1", "p:python/doc": "x"}, changes)

    assert [(each.rule, each.subject) for each in found] == [
        ("alias", "python/doc/3.14/y"),
        ("alias", "python/doc/current/x"),
    ]
    assert found[1].found == "it in python/doc/current/, which is an alias of python/doc/3.14.1/"


def test_an_alias_too_deep_for_the_gate_hides_nothing() -> None:
    deep = "/".join("abcd")
    assert refuse_shadowed([f"{deep}/x"], {alias_entry(deep): "y"}, []) == ()
    assert follow({alias_entry(deep): "y"}, f"{deep}/x") == f"{deep}/x"


def test_outer_caches_hear_of_all_that_an_alias_led_to_or_leads_to() -> None:
    change = AliasChange("python/doc/current", "python/doc/3.14.1", "python/doc/3.14.2", "3.14.2")
    keys = [
        "python/doc/3.14.1/old.zip",
        "python/doc/3.14.2/new/a.zip",
        "python/3.14.2/x",
        "python/doc/3.14.2",
    ]

    assert find_affected(change, keys) == (
        "python/doc/current/",
        "python/doc/current/new/a.zip",
        "python/doc/current/old.zip",
    )
    first = AliasChange("python/doc/current", None, "python/doc/3.14.2", "3.14.2")
    assert find_affected(first, keys) == ("python/doc/current/", "python/doc/current/new/a.zip")


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (AliasRule("doc/{release}", "x/{release}", FINAL), "never move"),
        (AliasRule("doc/current", "x/{series}", FINAL), "nobody can tell"),
        (AliasRule("doc//current", "x/{release}", FINAL), "empty segment"),
        (AliasRule("doc/current", "_pending/{release}", FINAL), "the gate's own"),
        (AliasRule("a/b/c/d", "x/{release}", FINAL), "more than 3 segments"),
        (AliasRule("doc", "doc/{release}", FINAL), "below itself"),
    ],
)
def test_a_rule_that_cannot_work_is_found(rule: AliasRule, problem: str) -> None:
    found = find_rule_problems(rule)

    assert len(found) == 1
    assert problem in found[0]


@pytest.mark.parametrize("rule", [CURRENT, OF_SERIES, AliasRule("doc/x", "doc/x-{release}", FINAL)])
def test_a_rule_that_works_has_no_problem(rule: AliasRule) -> None:
    assert find_rule_problems(rule) == ()


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    with mini_racer() as engine:
        yield Gate(engine)


segments = st.lists(st.sampled_from(["a", "b", "c+", "d.e"]), min_size=1, max_size=5).map("/".join)
targets = st.one_of(
    segments, segments.map("/{}/".format), st.sampled_from(["", "..", "a//b", "a b", "x" * 500])
)


@settings(deadline=None, max_examples=150)
@given(
    key=segments,
    folder=st.booleans(),
    aliases=st.dictionaries(segments, targets, max_size=4),
)
def test_the_gate_itself_follows_aliases_in_this_way(
    gate: Gate, key: str, folder: bool, aliases: dict[str, str]
) -> None:
    entries = {alias_entry(name): target for name, target in aliases.items()}
    asked = key + "/" * folder

    found = follow(entries, asked)

    if found in {"", "/"}:
        # The top itself has no key; the gate asks for the folder, or for what was asked.
        return
    assert gate.ask(f"/{make_path(asked)}", Store(entries)).uri == f"/{make_path(found)}"
    assert find_problem(found.removesuffix("/")) is None


def test_the_gate_looks_at_as_many_segments() -> None:
    assert MAX_SEGMENTS == 3
    assert follow({"a:a/b/c": "x"}, "a/b/c/d") == "x/d"
    assert follow({"a:a/b/c": "x", "a:a": "y"}, "a/b/z") == "y/b/z"
    assert follow({"a:a": "b", "a:b": "c"}, "a/f") == "b/f"
    assert follow({"a:a": "_pending/1"}, "a/f") == "a/f"
    assert follow({"a:a": "/"}, "a/") == "/"
    assert follow({"a:a": "/"}, "a/f") == "f"
