"""Pointers: sets are whole or refused, go forward only, and two runs never mix theirs without a word."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from publisher.core.digests import Digest, of_bytes
from publisher.core.pointers import (
    RULE,
    Claim,
    PointerFacts,
    PointerPlan,
    PointerRule,
    PointerStaging,
    Run,
    find_rule,
)
from publisher.core.pointers_links import MAX_BYTES, Site, find_dangling, find_links
from publisher.core.pointers_order import Built, order_sets
from publisher.core.pointers_plan import plan_pointers
from publisher.core.pointers_swap import (
    History,
    Member,
    Swap,
    Verdict,
    extend_history,
    history_key,
    judge_set,
    judge_swap,
)
from publisher.core.profile import Delivery, Release
from publisher.core.refusals import Refusal
from publisher.core.snapshot import StoredObject
from tests.support.builders import a_stored

BASE = "https://www.python.org/ftp/python/"
SITE = Site((BASE, "https://cdn.example.org/python/"), "python/")
INDEX = "python/index-windows.json"
CATALOG = "python/index-windows.json.cat"
OTHER = "python/latest.txt"
RULES = (
    PointerRule(
        "windows-index",
        "pymanager",
        {
            CATALOG: Delivery("application/vnd.ms-pki.seccat", "pointer", "public, max-age=60"),
            INDEX: Delivery("application/json", "pointer", "public, max-age=60"),
        },
        required=frozenset({"final"}),
    ),
    PointerRule("latest", "source", {OTHER: Delivery("text/plain", "pointer", "public, max-age=60")}),
)
ZIP = "python/3.14.0/python-3.14.0-amd64.zip"


def of_text(text: str) -> Digest:
    return of_bytes(text.encode())


def a_release(name: str = "3.14.0", kind: str = "final") -> Release:
    return Release(name, {}, None, kind)


def an_index(version: str, *urls: str) -> str:
    return json.dumps({"version": version, "versions": [{"url": url} for url in urls]})


def files_of(version: str, *urls: str) -> dict[str, str]:
    """Give the texts of the Windows index and its catalog as of one version."""
    return {CATALOG: f"catalog of {version}", INDEX: an_index(version, *urls)}


def digests_of(version: str) -> dict[str, Digest]:
    return {key: of_text(text) for key, text in files_of(version).items()}


def a_staging(
    files: Mapping[str, str],
    base: Mapping[str, Digest | None] | None = None,
    *,
    release: str = "3.14.0",
    requires: Sequence[str] = (),
    name: str = "windows-index",
    role: str = "pymanager",
) -> PointerStaging:
    """Stage one set; without `base`, it is built from nothing."""
    claim = Claim(dict.fromkeys(files) if base is None else base, tuple(requires))
    return PointerStaging(
        a_release(release),
        role,
        {name: claim},
        {key: a_stored(text, f"{role}/{release}/{key}") for key, text in files.items()},
        {key: text.encode() for key, text in files.items()},
    )


def a_set(
    new: str, base: str | None, *urls: str, release: str = "3.14.0", requires: Sequence[str] = ()
) -> PointerStaging:
    """Stage a Windows index of version `new`, built from version `base`."""
    return a_staging(
        files_of(new, *urls), digests_of(base) if base else None, release=release, requires=requires
    )


def some_facts(
    current: Mapping[str, Digest] | None = None,
    *,
    past: Iterable[Mapping[str, Digest]] = (),
    owed: Mapping[str, tuple[str, ...]] | None = None,
    promoted: Iterable[str] = (),
    linked: Iterable[str] = (),
) -> PointerFacts:
    """Tell the world's side; `past` is what the Windows index was before."""
    digests = {key: tuple(each[key] for each in past) for key in (INDEX, CATALOG)}
    return PointerFacts(
        current={} if current is None else current,
        histories={"windows-index": History(1, "windows-index", digests)},
        owed=owed or {},
        promoted=frozenset(promoted),
        linked=frozenset(linked),
        site=SITE,
    )


def plan(*staged: PointerStaging, facts: PointerFacts | None = None, keys: Iterable[str] = ()) -> PointerPlan:
    """Plan with a run of all the releases that staged anything."""
    run = Run(frozenset(each.release.name for each in staged), frozenset(keys))
    return plan_pointers(staged, RULES, facts or some_facts(), run)


def list_found(refusals: Iterable[Refusal]) -> list[str]:
    return [f"{refusal.subject}: {refusal.found}" for refusal in refusals]


def is_waivable_together(made: PointerPlan, subject: str) -> bool:
    """Tell whether all reasons against a set have its subject, which is what one waiver covers."""
    return all((refusal.rule, refusal.subject) == (RULE, subject) for refusal in made.refusals)


# --- From staging to a swap ---------------------------------------------------------------------------------


def test_a_set_built_from_what_is_public_is_swapped_from_its_staged_versions() -> None:
    staging = a_set("v2", "v1")

    made = plan(staging, facts=some_facts(digests_of("v1")))

    old, new = digests_of("v1"), digests_of("v2")
    assert made.refusals == ()
    assert made.swaps == (
        Swap(
            "windows-index",
            ("3.14.0",),
            (Member(CATALOG, old[CATALOG], new[CATALOG]), Member(INDEX, old[INDEX], new[INDEX])),
        ),
    )
    assert [(file.key, file.digest, file.delivery) for file in made.files] == [
        (key, new[key], RULES[0].files[key]) for key in (CATALOG, INDEX)
    ]
    assert all(file.source == staging.objects[file.key].version for file in made.files)
    assert {(file.release, file.role) for file in made.files} == {("3.14.0", "pymanager")}


def test_the_first_set_there_ever_was_is_built_from_nothing() -> None:
    made = plan(a_set("v1", None))

    assert made.refusals == ()
    assert [member.base for member in made.swaps[0].members] == [None, None]


@pytest.mark.parametrize(
    ("base", "current", "found"),
    [
        ("v1", digests_of("v2"), f"built from sha256:{digests_of('v1')[INDEX]}"),
        ("v1", {}, f"built from sha256:{digests_of('v1')[INDEX]}"),
        (None, digests_of("v2"), "built from absent"),
    ],
)
def test_a_stale_base_is_refused_and_says_to_rebuild(
    base: str | None, current: Mapping[str, Digest], found: str
) -> None:
    made = plan(a_set("v3", base), facts=some_facts(current))

    assert made.swaps == ()
    assert made.files == ()
    assert [refusal.found.partition(" ")[0] for refusal in made.refusals] == [CATALOG, INDEX]
    last = made.refusals[-1]
    assert last.found == f"{INDEX} {found}"
    now = current.get(INDEX)
    assert f"built from {f'sha256:{now}' if now else 'absent'}" in last.expected
    assert "rebuilds windows-index" in last.cure
    assert is_waivable_together(made, "windows-index/3.14.0")


def test_only_the_file_that_moved_on_is_named() -> None:
    current = {**digests_of("v1"), INDEX: of_text("foreign")}

    made = plan(a_set("v2", "v1"), facts=some_facts(current))

    assert [refusal.found.partition(" ")[0] for refusal in made.refusals] == [INDEX]


def test_a_set_that_was_given_up_half_way_is_finished() -> None:
    current = {**digests_of("v1"), CATALOG: digests_of("v2")[CATALOG]}

    made = plan(a_set("v2", "v1"), facts=some_facts(current))

    assert made.refusals == ()
    assert judge_set(made.swaps[0], current).due == made.swaps[0].members[1]


def test_what_is_public_already_is_settled() -> None:
    made = plan(a_set("v2", "v1"), facts=some_facts(digests_of("v2"), past=[digests_of("v1")]))

    assert (made.swaps, made.refusals, made.settled) == ((), (), ("windows-index/3.14.0",))


def test_what_was_public_and_built_on_since_is_settled_too() -> None:
    facts = some_facts(digests_of("v3"), past=[digests_of("v1"), digests_of("v2")])

    made = plan(a_set("v2", "v1"), facts=facts)

    assert (made.swaps, made.refusals, made.settled) == ((), (), ("windows-index/3.14.0",))


def test_a_pointer_never_goes_back() -> None:
    facts = some_facts(digests_of("v2"), past=[digests_of("v1")])

    made = plan(a_set("v1", "v2"), facts=facts)

    assert made.settled == ()
    assert [refusal.found.partition(" ")[0] for refusal in made.refusals] == [CATALOG, INDEX]
    assert "as it was before" in made.refusals[0].found
    assert is_waivable_together(made, "windows-index/3.14.0")


def test_a_file_that_stays_as_it_is_does_not_go_back() -> None:
    facts = some_facts(digests_of("v2"), past=[digests_of("v1"), digests_of("v2")])
    staging = a_staging({**files_of("v2"), CATALOG: "signed again"}, digests_of("v2"))

    made = plan(staging, facts=facts)

    assert made.refusals == ()
    assert [member.base == member.new for member in made.swaps[0].members] == [False, True]


def test_a_set_without_a_history_may_be_anything_new() -> None:
    facts = replace(some_facts(digests_of("v1")), histories={})

    assert plan(a_set("v2", "v1"), facts=facts).refusals == ()


def test_a_set_that_a_live_promotion_has_yet_to_swap_is_refused() -> None:
    facts = some_facts(digests_of("v1"), owed={"windows-index": ("3.13.8", "3.12.9")})

    made = plan(a_set("v2", "v1"), facts=facts)

    assert made.swaps == ()
    assert "live promotion of 3.13.8 3.12.9" in made.refusals[0].found
    assert made.refusals[0].cure.startswith("run: publisher promote 3.13.8 3.12.9; then pymanager")


# --- Whole or refused ---------------------------------------------------------------------------------------


NOT_WHOLE: Mapping[str, tuple[PointerStaging, str]] = {
    "one file": (
        replace(a_set("v1", None), objects={INDEX: a_stored(files_of("v1")[INDEX])}),
        f"no {CATALOG} staged",
    ),
    "no file": (replace(a_set("v1", None), objects={}), f"no {CATALOG} staged"),
    "one base": (
        replace(a_set("v1", None), claims={"windows-index": Claim({CATALOG: None})}),
        f"no base of {INDEX} in POINTERS.json",
    ),
    "a base too many": (
        replace(a_set("v1", None), claims={"windows-index": Claim(dict.fromkeys([CATALOG, INDEX, OTHER]))}),
        f"{OTHER}, which is not of this set, in POINTERS.json",
    ),
    "no claims": (
        replace(a_set("v1", None), claims=None),
        "files of it, but nothing about it in POINTERS.json",
    ),
    "no claim": (
        replace(a_set("v1", None), claims={}),
        "files of it, but nothing about it in POINTERS.json",
    ),
    "bad claims": (replace(a_set("v1", None), claims=("line 1", "line 2")), "line 1"),
}


@pytest.mark.parametrize("case", NOT_WHOLE)
def test_a_set_is_whole_or_refused(case: str) -> None:
    staging, found = NOT_WHOLE[case]

    made = plan(staging)

    assert made.swaps == ()
    assert found in [refusal.found for refusal in made.refusals]
    assert is_waivable_together(made, "windows-index/3.14.0")
    assert plan(a_set("v1", None)).refusals == ()


def test_every_problem_of_the_file_is_reported() -> None:
    made = plan(replace(a_set("v1", None), claims=("line 1", "line 2")))

    assert [refusal.found for refusal in made.refusals] == ["line 1", "line 2"]


def test_a_set_that_is_none_of_the_roles_is_refused() -> None:
    staging = a_set("v1", None)
    claims = {"windows-index": Claim({CATALOG: None, INDEX: None}), "latest": Claim({})}

    made = plan(replace(staging, claims=claims))

    assert list_found(made.refusals) == ["latest/3.14.0: a set in POINTERS.json that is none of pymanager's"]
    assert made.refusals[0].expected == "one of windows-index"
    assert len(made.swaps) == 1


def test_a_role_without_sets_has_nothing_to_claim() -> None:
    made = plan(PointerStaging(a_release(), "macos", {"latest": Claim({})}))

    assert made.refusals[0].expected == "one of none: the profile has no set for this role"
    assert plan(PointerStaging(a_release(), "macos")).refusals == ()


def test_a_release_of_a_kind_that_brings_a_new_set_has_to() -> None:
    nothing = PointerStaging(a_release(), "pymanager")

    assert list_found(plan(nothing).refusals) == ["windows-index/3.14.0: nothing of it from pymanager"]
    assert plan(replace(nothing, release=a_release(kind="security"))).refusals == ()
    # It brought one when it was promoted; what comes late need not bring another.
    assert plan(nothing, facts=some_facts(promoted=["3.14.0"])).refusals == ()


def test_the_set_of_a_key_is_found() -> None:
    assert find_rule(RULES, OTHER) == RULES[1]
    assert find_rule(RULES, ZIP) is None


# --- Waiting for releases -----------------------------------------------------------------------------------


def test_a_set_waits_for_its_own_release_and_those_it_requires() -> None:
    staging = a_set("v1", None, requires=["3.13.8", "3.12.9"])

    made = plan_pointers([staging], RULES, some_facts(promoted=["3.13.8"]), Run(frozenset(), frozenset()))

    assert [refusal.found for refusal in made.refusals] == [
        "it waits for 3.14.0, which is not public",
        "it waits for 3.12.9, which is not public",
    ]


@pytest.mark.parametrize(
    ("promoted", "run"),
    [
        (["3.14.0", "3.13.8"], []),
        (["3.14.0"], ["3.13.8"]),
        ([], ["3.14.0", "3.13.8"]),
    ],
)
def test_what_it_waits_for_is_public_or_in_the_run(promoted: list[str], run: list[str]) -> None:
    staging = a_set("v1", None, requires=["3.13.8", "3.14.0"])

    made = plan_pointers([staging], RULES, some_facts(promoted=promoted), Run(frozenset(run), frozenset()))

    assert made.refusals == ()
    assert len(made.swaps) == 1


# --- Sets built on each other -------------------------------------------------------------------------------


def test_sets_that_were_built_on_each_other_become_one_swap() -> None:
    second, first = a_set("v3", "v2", release="3.14.0"), a_set("v2", "v1", release="3.15.0")

    made = plan(second, first, facts=some_facts(digests_of("v1")))

    v1, v2, v3 = (digests_of(version) for version in ("v1", "v2", "v3"))
    assert made.refusals == ()
    assert made.swaps == (
        Swap(
            "windows-index",
            ("3.15.0", "3.14.0"),
            tuple(Member(key, v1[key], v3[key], (v2[key],)) for key in (CATALOG, INDEX)),
        ),
    )
    assert [file.source for file in made.files] == [second.objects[key].version for key in (CATALOG, INDEX)]


def test_what_was_passed_over_is_settled_afterwards() -> None:
    staged = a_set("v3", "v2", release="3.14.0"), a_set("v2", "v1", release="3.15.0")
    [swap] = plan(*staged, facts=some_facts(digests_of("v1"))).swaps
    after = replace(some_facts(digests_of("v3")), histories={"windows-index": extend_history(None, swap)})

    made = plan(*staged, facts=after)

    assert (made.swaps, made.refusals) == ((), ())
    assert made.settled == ("windows-index/3.14.0", "windows-index/3.15.0")


def test_what_is_built_on_a_refused_set_is_refused_too() -> None:
    first = a_set("v2", "v1", BASE + "3.15.0/gone.zip", release="3.15.0")
    base = {key: stored.digest for key, stored in first.objects.items()}
    second = a_staging(files_of("v3"), base, release="3.14.0")
    third = a_set("v4", "v3", release="3.16.0")

    made = plan(first, second, third, facts=some_facts(digests_of("v1")))

    assert made.swaps == ()
    assert list_found(made.refusals) == [
        f"windows-index/3.15.0: a link in {INDEX} to python/3.15.0/gone.zip, where nothing is",
        "windows-index/3.14.0: it built on windows-index/3.15.0, which is refused",
        "windows-index/3.16.0: it built on windows-index/3.14.0, which is refused",
    ]


def test_the_beginning_of_an_order_is_swapped_if_only_its_end_is_refused() -> None:
    first, second = a_set("v2", "v1", release="3.15.0"), a_set("v3", "v2", BASE + "gone", release="3.14.0")

    made = plan(first, second, facts=some_facts(digests_of("v1")))

    assert {refusal.subject for refusal in made.refusals} == {"windows-index/3.14.0"}
    assert [swap.releases for swap in made.swaps] == [("3.15.0",)]
    assert [member.new for member in made.swaps[0].members] == list(digests_of("v2").values())


def test_two_sets_built_from_the_same_are_refused() -> None:
    made = plan(
        a_set("v2", "v1", release="3.15.0"),
        a_set("v3", "v1", release="3.14.0"),
        a_set("v4", "v3", release="3.16.0"),
        facts=some_facts(digests_of("v1")),
    )

    assert made.swaps == ()
    assert list_found(made.refusals) == [
        "windows-index/3.15.0: it built from the same as windows-index/3.14.0",
        "windows-index/3.14.0: it built from the same as windows-index/3.15.0",
        "windows-index/3.16.0: it built on windows-index/3.14.0, which is refused",
    ]


def test_a_circle_is_refused() -> None:
    made = plan(
        a_set("v2", "v3", release="3.15.0"),
        a_set("v3", "v2", release="3.14.0"),
        a_set("v4", "v3", release="3.16.0"),
        facts=some_facts(digests_of("v1")),
    )

    assert made.swaps == ()
    assert all("in a circle" in refusal.found for refusal in made.refusals)
    assert len(made.refusals) == 3


def test_a_file_that_returns_within_a_run_does_not_hide_what_a_set_was_built_on() -> None:
    first = {**digests_of("v1"), CATALOG: of_text("between")}
    staged = [
        a_staging({**files_of("v1"), CATALOG: "between"}, digests_of("v1"), release="3.15.0"),
        a_staging({**files_of("v2"), CATALOG: files_of("v1")[CATALOG]}, first, release="3.14.0"),
    ]

    made = plan(*staged, facts=some_facts(digests_of("v1")))

    assert made.refusals == ()
    assert made.swaps[0].releases == ("3.15.0", "3.14.0")
    assert made.swaps[0].members[0] == Member(
        CATALOG, digests_of("v1")[CATALOG], digests_of("v1")[CATALOG], (of_text("between"),)
    )


def some_state(name: str) -> tuple[Digest, ...]:
    return (of_text(name),)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=6))
def test_every_set_has_one_place_in_the_order_or_one_reason_against_it(edges: list[tuple[str, str]]) -> None:
    sets = {str(i): Built(some_state(base), some_state(new)) for i, (base, new) in enumerate(edges)}

    chain = order_sets(sets, some_state("a"))

    placed = [*chain.order, *chain.forks, *chain.circle, *chain.stale, *chain.after]
    assert sorted(placed) == sorted(sets)
    at = some_state("a")
    for name in chain.order:
        assert sets[name].base == at
        at = sets[name].new
    for name, maker in chain.after.items():
        assert sets[maker].new == sets[name].base
        assert maker not in chain.order
    assert len(chain.forks) != 1


versions = st.sampled_from(["v1", "v2", "v3", "v4", None])


@given(st.data())
def test_every_staged_set_is_swapped_refused_or_settled(data: st.DataObject) -> None:
    staged = [
        a_set(data.draw(versions.filter(bool)) or "", data.draw(versions), release=f"3.{minor}.0")
        for minor in range(data.draw(st.integers(0, 4)))
    ]
    mixed = {key: digests_of(data.draw(versions.filter(bool)) or "")[key] for key in (INDEX, CATALOG)}
    current = data.draw(st.sampled_from([{}, digests_of("v1"), mixed]))
    past = data.draw(st.lists(st.sampled_from([digests_of(v) for v in ("v1", "v2", "v3")])))

    made = plan(*staged, facts=some_facts(current, past=past))

    swapped = [f"{swap.name}/{release}" for swap in made.swaps for release in swap.releases]
    refused = {refusal.subject for refusal in made.refusals}
    subjects = sorted(f"windows-index/{each.release.name}" for each in staged)
    assert sorted([*swapped, *refused, *made.settled]) == subjects
    for swap in made.swaps:
        # What is planned can be done now, and takes no file back.
        assert judge_set(swap, current).state is Verdict.SWAP
        for member in swap.members:
            known = {each[member.key] for each in past}
            assert member.new == current.get(member.key) or member.new not in known
    # Whoever waives all that is refused gets the plan that was answered.
    left = [each for each in staged if f"windows-index/{each.release.name}" not in refused]
    again = plan(*left, facts=some_facts(current, past=past))
    assert (again.swaps, again.refusals) == (made.swaps, ())


# --- Links --------------------------------------------------------------------------------------------------


def test_a_link_to_nothing_is_refused_and_each_is_named() -> None:
    urls = [BASE + "3.14.0/a.zip", BASE + "3.14.0/b%2Bc.zip?x=1#y", BASE + "3.14.0/public.zip"]

    made = plan(a_set("v1", None, *urls), facts=some_facts(linked=["python/3.14.0/public.zip"]), keys=[ZIP])

    assert [refusal.found for refusal in made.refusals] == [
        f"a link in {INDEX} to python/3.14.0/a.zip, where nothing is",
        f"a link in {INDEX} to python/3.14.0/b+c.zip, where nothing is",
    ]
    assert is_waivable_together(made, "windows-index/3.14.0")


def test_links_may_lead_to_what_the_run_brings() -> None:
    staging = a_set("v1", None, f"{BASE}3.14.0/python-3.14.0-amd64.zip", f"{BASE}index-windows.json")

    assert plan(staging, keys=[ZIP]).refusals == ()
    assert len(plan(staging).refusals) == 1


def test_a_link_may_lead_to_a_set_that_is_swapped_before_but_not_after() -> None:
    latest = a_staging({OTHER: f"see {BASE}index-windows.json"}, name="latest", role="source")
    index = a_set("v1", None, f"{BASE}latest.txt")
    plain = a_set("v1", None)

    assert plan(latest, plain).refusals == ()
    assert [swap.name for swap in plan(latest, plain).swaps] == ["windows-index", "latest"]
    found = plan(replace(latest, data={}, objects={}, claims={}), index).refusals
    assert [refusal.subject for refusal in found] == ["windows-index/3.14.0"]
    assert {refusal.subject for refusal in plan(latest, index).refusals} == {
        "windows-index/3.14.0",
        "latest/3.14.0",
    }


def test_what_is_no_json_is_refused() -> None:
    made = plan(a_staging({CATALOG: "x", INDEX: "{'a': 1}"}))

    assert made.refusals[0].found.startswith(f"{INDEX}, which is no JSON: ")
    assert made.refusals[0].expected == "valid JSON"


@pytest.mark.parametrize("text", ['{"a": NaN}', "[" * 100_000, "", "\x00", '{"a": "\x1b"}'])
def test_only_what_is_json_is_read_as_json(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        find_links(INDEX, text.encode(), SITE)


def test_a_pointer_that_is_too_large_is_refused_without_being_read() -> None:
    staging = a_set("v1", None)
    large = replace(staging.objects[INDEX], size=MAX_BYTES + 1)
    just = replace(staging.objects[INDEX], size=MAX_BYTES)

    def grow(stored: StoredObject) -> PointerStaging:
        return replace(staging, objects={**staging.objects, INDEX: stored})

    [refusal] = plan(grow(large)).refusals
    assert (refusal.found, refusal.expected) == (f"{INDEX}: 8,388,609 bytes", "at most 8,388,608")
    assert plan(grow(just)).refusals == ()
    assert len(plan(replace(staging, data={})).refusals) == 2


def test_bytes_that_changed_while_they_were_read_are_refused() -> None:
    staging = a_set("v1", None)

    [refusal] = plan(replace(staging, data={**staging.data, INDEX: b"{}"})).refusals

    assert refusal.found == f"{INDEX}: other bytes than a moment before"
    assert refusal.cure == "run again"


def test_what_a_builder_wrote_cannot_play_with_the_terminal() -> None:
    made = plan(a_set("v1", None, BASE + "\x1b[31m" + "x" * 400))

    found = made.refusals[0].found
    assert found.isprintable()
    assert "python/?[31mxxx" in found
    assert len(found) < 400


LINKS: Sequence[tuple[str, Sequence[str]]] = [
    (f"{BASE}3.14.0/a.zip", ["python/3.14.0/a.zip"]),
    (f"See {BASE}3.14.0/a.zip.", ["python/3.14.0/a.zip"]),
    (f"<{BASE}a> ({BASE}b), [x]({BASE}c)!", ["python/a", "python/b", "python/c"]),
    (f"{BASE}3.14.0/", ["python/3.14.0/"]),
    (BASE, ["python/"]),
    (BASE.removesuffix("/"), ["python/"]),
    (BASE.replace("https", "http") + "a", ["python/a"]),
    (BASE.replace("www.python.org", "WWW.Python.ORG:443") + "a", ["python/a"]),
    (BASE.replace("www.python.org", "me@www.python.org") + "a", ["python/a"]),
    ("HTTPS://cdn.example.org/python/a", ["python/a"]),
    (f"{BASE}../a", ["python/../a"]),
    (BASE.replace("www.python.org", "www.python.org:8443") + "a", ()),
    ("https://www.python.org/downloads/a https://example.org/ftp/python/a", ()),
    ("https://www.python.org/ftp/pythonic/a", ()),
    ("https://[oops/a https://www.python.org:99999/ftp/python/a", ()),
    ("nothing at all", ()),
]


@pytest.mark.parametrize(("text", "keys"), LINKS)
def test_links_are_found_in_text(text: str, keys: Sequence[str]) -> None:
    assert find_links("latest.txt", text.encode(), SITE) == set(keys)


def test_links_are_found_in_every_string_of_json() -> None:
    text = (
        '{"a": [1, 2.5, null, true, {"\\u0068ttps:\\/\\/www.python.org/ftp/python/k": "BASEv"}],'
        ' "x": "BASE1", "x": "BASE2"}'
    )

    found = find_links(INDEX, text.replace("BASE", BASE).encode("utf-8-sig"), SITE)

    assert found == {"python/k", "python/v", "python/1", "python/2"}


@pytest.mark.parametrize(
    "data", [b"\xff\xfe" + BASE.encode(), BASE.encode("utf-16-le"), BASE.encode() + b"\0"]
)
def test_a_catalog_is_not_searched(data: bytes) -> None:
    assert find_links(CATALOG, data, SITE) == set()


def test_folders_are_there_if_anything_is_in_them() -> None:
    links = [
        "",
        "python/",
        "python/3.14.0/",
        "python/3.14.0",
        "python/3.15.0/",
        ZIP,
        ZIP + "/",
        "python/old/",
    ]

    assert find_dangling(links, ["python/old/"], [ZIP]) == (ZIP + "/", "python/3.15.0/")


# --- Swapping -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("current", "verdict"),
    [("old", Verdict.SWAP), ("new", Verdict.DONE), ("other", Verdict.SUPERSEDED), (None, Verdict.SUPERSEDED)],
)
def test_a_member_is_judged_by_what_it_is_now(current: str | None, verdict: Verdict) -> None:
    assert judge_swap(current, "old", "new") is verdict


def test_a_new_member_is_created_where_there_is_none() -> None:
    assert judge_swap(None, None, "new") is Verdict.SWAP
    assert judge_swap("other", None, "new") is Verdict.SUPERSEDED


def a_swap(*members: tuple[str | None, str], name: str = "set") -> Swap:
    """Make a swap of files a, b, c … from and to these texts."""
    return Swap(
        name,
        ("3.14.0",),
        tuple(
            Member(key, of_text(old) if old else None, of_text(new))
            for key, (old, new) in zip("abcd", members, strict=False)
        ),
    )


def now(**texts: str) -> dict[str, Digest]:
    return {key: of_text(text) for key, text in texts.items()}


SWAP = a_swap(("a1", "a2"), ("b1", "b2"), ("c1", "c1"))


@pytest.mark.parametrize(
    ("current", "state", "due", "superseded", "left_behind"),
    [
        (now(a="a1", b="b1", c="c1"), Verdict.SWAP, "a", (), ()),
        (now(a="a2", b="b1", c="c1"), Verdict.SWAP, "b", (), ()),
        (now(a="a2", b="b2", c="c1"), Verdict.DONE, None, (), ()),
        (now(a="a9", b="b9", c="c9"), Verdict.SUPERSEDED, None, ("a", "b", "c"), ()),
        (now(a="a9", b="b1", c="c1"), Verdict.SUPERSEDED, None, ("a",), ()),
        (now(a="a2", b="b9", c="c1"), Verdict.SUPERSEDED, None, ("b",), ("a",)),
        (now(a="a2", c="c1"), Verdict.SUPERSEDED, None, ("b",), ("a",)),
    ],
)
def test_a_set_is_written_in_order_and_not_at_all_once_it_is_superseded(
    current: Mapping[str, Digest],
    state: Verdict,
    due: str | None,
    superseded: tuple[str, ...],
    left_behind: tuple[str, ...],
) -> None:
    progress = judge_set(SWAP, current)

    assert progress.state is state
    assert (progress.due.key if progress.due else None) == due
    assert progress.superseded == superseded
    assert progress.left_behind == left_behind


def test_a_history_keeps_whatever_was_public_or_passed_over_once() -> None:
    first = Swap("set", ("3.14.0",), (Member("a", None, of_text("2"), (of_text("1"),)),))
    second = Swap("set", ("3.14.1",), (Member("a", of_text("2"), of_text("3")),))

    history = extend_history(extend_history(None, first), second)

    assert history == History(1, "set", {"a": (of_text("1"), of_text("2"), of_text("3"))})
    assert extend_history(history, second) == history
    assert history_key("set") == "_state/pointers/set.json"


# --- Any two runs, cut off anywhere -------------------------------------------------------------------------


class Bucket:
    """What two runs write to: single requests, each whole, writes on condition of what is there."""

    def __init__(self, swap: Swap) -> None:
        self.files = {member.key: member.base for member in swap.members if member.base}

    def replace(self, key: str, seen: Digest | None, new: Digest) -> bool:
        if self.files.get(key) != seen:
            return False
        self.files[key] = new
        return True


def run_swap(bucket: Bucket, swap: Swap) -> Iterator[None]:
    """Do what the step does, pausing before each request; a conflict is judged again."""
    while True:
        seen: dict[str, Digest] = {}
        for member in swap.members:
            yield
            found = bucket.files.get(member.key)
            if found:
                seen[member.key] = found
        due = judge_set(swap, seen).due
        if due is None:
            return
        yield
        bucket.replace(due.key, seen.get(due.key), due.new)


def drive(bucket: Bucket, swaps: Sequence[Swap], schedule: Iterable[tuple[int, bool]]) -> None:
    """Let runs take turns by `schedule` (which run; whether it dies there and begins anew), then finish."""
    begin = [partial(run_swap, bucket, swap) for swap in swaps]
    running = [start() for start in begin]
    for index, dies in schedule:
        if dies:
            running[index] = begin[index]()
        next(running[index], None)
    for each in (*running, *(start() for start in begin)):
        list(each)


contents = st.sampled_from(["1", "2", "3", None])
schedules = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 7).map(lambda number: number == 0)), max_size=40
)


@st.composite
def rivals(draw: st.DrawFn, *, same_head: bool) -> tuple[Swap, Swap]:
    """Make two swaps from one base; unless `same_head`, both change the first file, to different ones."""
    bases = draw(st.lists(contents, min_size=1, max_size=4))

    def make(mark: str) -> Swap:
        members = [(base, draw(st.sampled_from([base or "0", f"{mark}{i}"]))) for i, base in enumerate(bases)]
        if not same_head:
            members[0] = (bases[0], f"{mark}-head")
        return a_swap(*members)

    return make("x"), make("y")


def list_new(swap: Swap) -> dict[str, Digest]:
    return {member.key: member.new for member in swap.members}


@settings(max_examples=400)
@given(rivals(same_head=False), schedules)
def test_two_runs_end_as_the_whole_set_of_one_and_the_other_is_told(
    swaps: tuple[Swap, Swap], schedule: list[tuple[int, bool]]
) -> None:
    bucket = Bucket(swaps[0])

    drive(bucket, swaps, schedule)

    ended = {key: digest for key, digest in bucket.files.items() if digest}
    assert ended in [list_new(swap) for swap in swaps]
    states = sorted(judge_set(swap, ended).state for swap in swaps)
    assert states == [Verdict.DONE, Verdict.SUPERSEDED]
    assert [judge_set(swap, ended).left_behind for swap in swaps].count(()) >= 1


@settings(max_examples=400)
@given(rivals(same_head=True), schedules)
def test_whatever_two_runs_do_each_ends_whole_or_is_told_that_it_is_superseded(
    swaps: tuple[Swap, Swap], schedule: list[tuple[int, bool]]
) -> None:
    bucket = Bucket(swaps[0])

    drive(bucket, swaps, schedule)

    ended = {key: digest for key, digest in bucket.files.items() if digest}
    found = [judge_set(swap, ended) for swap in swaps]
    assert all(each.due is None for each in found)
    for swap, each in zip(swaps, found, strict=True):
        assert (each.state is Verdict.DONE) == (ended == list_new(swap))
    if ended not in [list_new(swap) for swap in swaps]:
        # Files of both: somebody is told which.
        assert any(each.left_behind for each in found)


@given(rivals(same_head=False), st.lists(st.booleans(), max_size=40))
def test_one_run_alone_always_ends_as_its_set(swaps: tuple[Swap, Swap], crashes: list[bool]) -> None:
    bucket = Bucket(swaps[0])

    drive(bucket, swaps[:1], [(0, dies) for dies in crashes])

    assert bucket.files == list_new(swaps[0])


@given(rivals(same_head=False), schedules)
def test_a_set_built_on_the_winner_is_never_undone_by_a_sleeper(
    swaps: tuple[Swap, Swap], schedule: list[tuple[int, bool]]
) -> None:
    bucket = Bucket(swaps[0])
    sleeper = run_swap(bucket, swaps[0])
    for _ in schedule:
        next(sleeper, None)
    drive(bucket, swaps[:1], [])
    later = a_swap(*((None, f"z{i}") for i, _ in enumerate(swaps[0].members)))
    later = replace(later, members=tuple(replace(m, base=bucket.files[m.key]) for m in later.members))
    drive(bucket, [later], [])

    list(sleeper)

    assert bucket.files == list_new(later)
    assert judge_set(swaps[0], list_new(later)).state is Verdict.SUPERSEDED


def test_a_set_that_an_earlier_run_left_half_written_is_swapped_on() -> None:
    """A catalog is at what a set in between brings, the index still at the first base."""
    between = a_set("v4", "v2", release="3.2.0")
    last = a_set("v1", "v4", release="3.0.0")
    current = {INDEX: digests_of("v2")[INDEX], CATALOG: digests_of("v4")[CATALOG]}

    made = plan(between, last, facts=some_facts(current))

    assert made.refusals == ()
    (swap,) = made.swaps
    progress = judge_set(swap, current)
    assert progress.state is Verdict.SWAP
    assert progress.superseded == ()
    # What somebody else made of it is still superseded.
    assert judge_set(swap, {**current, CATALOG: digests_of("v3")[CATALOG]}).superseded != ()
