"""Mutable files in the decision: which sets are swapped, which aliases move, what is settled."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from publisher.core.aliases import AliasChange, AliasMoved, restore
from publisher.core.assess import assess_release
from publisher.core.decide import Decision, NothingToDo, Refused, plan_pointers_alone, plan_promotion
from publisher.core.digests import Digest, of_bytes
from publisher.core.mutable import is_all_settled, list_handed_over, plan_together
from publisher.core.plan import Look, Plan
from publisher.core.pointers import NAME
from publisher.core.pointers_facts import NOTHING_KNOWN, Claim, PointerFacts
from publisher.core.pointers_links import Site
from publisher.core.pointers_swap import (
    History,
    Member,
    Swap,
    Swapped,
    Verdict,
    extend_history,
    is_recorded,
    list_swapped,
)
from publisher.core.profile import PointerRule, Profile
from publisher.core.promotions import make_records
from publisher.core.snapshot import (
    ReleaseSnapshot,
    RoleStaging,
    SmallObject,
    Snapshot,
    StagedPointers,
)
from publisher.core.status import ReleaseStatus, Stage, report_status
from tests.support.builders import (
    AN_AUTHOR,
    ARTIFACTS,
    EXE,
    NOON,
    PDF,
    RELEASE,
    SBOM,
    SIG,
    TGZ,
    a_candidate,
    a_file,
    a_plan,
    a_profile,
    a_snapshot,
    a_waiver,
    handed_over,
)

INDEX = "index.json"
CATALOG = "index.json.cat"
PROFILE = a_profile(
    ARTIFACTS
    + """
[classes]
immutable = "public, max-age=31536000, immutable"
pointer = "public, max-age=60"

[[pointer]]
name = "index"
role = "source"
files = ["index.json.cat", "index.json"]
class = "pointer"

[[alias]]
name = "current/"
to = "{release}/"
kinds = "final"
"""
)
SUBJECT = f"index/{RELEASE}"
PUBLIC = {TGZ: "tool", SIG: "sig", EXE: "setup", SBOM: "sbom"}


def make_set(version: str, *urls: str) -> dict[str, str]:
    return {CATALOG: f"catalog of {version}", INDEX: json.dumps([version, *urls])}


def digest_set(version: str | None) -> dict[str, Digest | None]:
    if version is None:
        return {CATALOG: None, INDEX: None}
    return {key: of_bytes(text.encode()) for key, text in make_set(version).items()}


def known(version: str | None) -> dict[str, Digest]:
    return {key: digest for key, digest in digest_set(version).items() if digest}


def a_staging(
    new: str | None = "v1",
    base: str | None = None,
    *urls: str,
    claims: Mapping[str, Claim] | None = None,
    name: str = RELEASE,
    said: bool = True,
) -> RoleStaging:
    """Hand over the source's files with a set; `said` puts a POINTERS.json beside it."""
    mutable = make_set(new, *urls) if new else {}
    files = {f"{name}/tool.tgz": "tool", **mutable}
    text = "what it was built from"
    listed = {**files, **({NAME: text} if said else {})}
    claim = {"index": Claim(digest_set(base))} if claims is None else claims
    return replace(
        handed_over("source", files, listed=listed),
        pointers=StagedPointers(
            SmallObject("pointers-1", text.encode()) if said else None,
            claim if said else None,
            {key: data.encode() for key, data in mutable.items()},
        ),
    )


def a_set_candidate(
    staging: RoleStaging | None = None, *, name: str = RELEASE, numbers: tuple[int, ...] = ()
) -> ReleaseSnapshot:
    return a_candidate(name, source=staging or a_staging(name=name), numbers=numbers, profile=PROFILE)


def some_facts(
    current: str | None = None, *, past: tuple[str, ...] = (), promoted: tuple[str, ...] = ()
) -> PointerFacts:
    digests = {key: tuple(known(version)[key] for version in past) for key in (CATALOG, INDEX)}
    return PointerFacts(
        known(current),
        {"index": History(1, "index", digests)} if past else {},
        {},
        frozenset(promoted),
        frozenset(),
        Site(("https://dl.example.org/",)),
    )


def a_world(
    *releases: ReleaseSnapshot,
    facts: PointerFacts = NOTHING_KNOWN,
    public: Mapping[str, str] | None = None,
    entries: Mapping[str, str] | None = None,
) -> Snapshot:
    snapshot = a_snapshot(*(releases or (a_set_candidate(),)), public=public)
    return replace(snapshot, pointers=facts, entries=entries or {})


def a_public_world(
    staging: RoleStaging | None = None, facts: PointerFacts | None = None, **more: Mapping[str, str]
) -> Snapshot:
    """Make a world in which the release's files are public, and perhaps a set is staged late."""
    release = a_set_candidate(staging, numbers=(1,))
    return a_world(release, facts=facts or some_facts(promoted=(RELEASE,)), public=PUBLIC, **more)


def decide(snapshot: Snapshot, *waivers: str) -> Decision | NothingToDo | Refused:
    return plan_promotion(snapshot, PROFILE, tuple(map(a_waiver, waivers)), AN_AUTHOR)


def decide_alone(snapshot: Snapshot, *waivers: str) -> Decision | NothingToDo | Refused:
    return plan_pointers_alone(snapshot, PROFILE, tuple(map(a_waiver, waivers)), AN_AUTHOR)


def plan_of(decision: Decision | NothingToDo | Refused) -> Plan:
    assert isinstance(decision, Decision), decision
    return decision.plan


def refusals_of(decision: Decision | NothingToDo | Refused) -> set[tuple[str, str]]:
    assert isinstance(decision, Refused), decision
    return {(refusal.rule, refusal.subject) for refusal in decision.refusals}


# --- The plan -----------------------------------------------------------------------------------------------


def test_a_set_is_planned_beside_its_release_and_is_none_of_its_files() -> None:
    plan = plan_of(decide(a_world()))

    assert {file.key for file in plan.files} == {TGZ, SIG, EXE, SBOM}
    assert [swap.name for swap in plan.swaps] == ["index"]
    assert [(file.key, file.delivery.cache_control) for file in plan.swap_files] == [
        (CATALOG, "public, max-age=60"),
        (INDEX, "public, max-age=60"),
    ]
    assert plan.aliases == (AliasChange("current", None, RELEASE, RELEASE),)
    assert Look(f"source/{RELEASE}/{NAME}", "pointers-1") in plan.looks
    assert Look(f"windows/{RELEASE}/{NAME}", None) not in plan.looks


def test_a_role_that_says_nothing_of_its_sets_is_looked_at_again_too() -> None:
    plan = plan_of(decide(a_world(a_set_candidate(a_staging(None, said=False)))))

    assert plan.swaps == ()
    assert Look(f"source/{RELEASE}/{NAME}", None) in plan.looks


def test_a_late_set_makes_a_plan_without_files_that_lists_and_announces_nothing() -> None:
    decision = decide(a_public_world())

    plan = plan_of(decision)
    assert plan.files == ()
    assert len(plan.swaps) == 1
    (release,) = plan.releases
    assert (release.number, release.contents, release.listing, release.signals) == (2, None, None, ())
    assert isinstance(decision, Decision)
    assert decision.skipped == len(PUBLIC)


def test_a_release_without_files_or_sets_in_a_plan_has_no_part_in_it() -> None:
    other = a_candidate("1.2.1", windows=RoleStaging({}), rm={}, profile=PROFILE)
    nothing = replace(
        other, roles={**other.roles, "source": RoleStaging({}, pointers=StagedPointers())}, state=None
    )
    snapshot = a_world(a_set_candidate(), nothing)

    refusals = refusals_of(decide(snapshot))

    assert {subject for rule, subject in refusals if rule == "missing"} == {"source/1.2.1", "windows/1.2.1"}


def without_swaps(plan: Plan) -> Plan:
    return replace(plan, swaps=())


def without_bytes(plan: Plan) -> Plan:
    return replace(plan, swap_files=())


def without_aliases(plan: Plan) -> Plan:
    return replace(plan, aliases=())


def with_another_alias(plan: Plan) -> Plan:
    return replace(plan, aliases=(AliasChange("current", "1.1.0", RELEASE, RELEASE),))


def with_another_release(plan: Plan) -> Plan:
    return replace(plan, swaps=(replace(plan.swaps[0], releases=("1.1.9", RELEASE)),))


@pytest.mark.parametrize(
    "change", [without_swaps, without_bytes, without_aliases, with_another_alias, with_another_release]
)
def test_the_digest_of_a_plan_covers_what_is_mutable(change: Callable[[Plan], Plan]) -> None:
    plan = plan_of(decide(a_world()))

    assert change(plan).digest != plan.digest


def test_a_plan_without_anything_mutable_has_a_digest_without_it() -> None:
    assert a_plan().digest == "sha256:d1c1d9c86667d4532824df44b053ab0f2893f6d16c1cea0c25ab791262b8cdac"


# --- What stands in the way ---------------------------------------------------------------------------------


def test_a_stale_set_refuses_and_a_waiver_leaves_it_out() -> None:
    snapshot = a_world(facts=some_facts("v9"))

    assert refusals_of(decide(snapshot)) == {("pointer", SUBJECT)}
    plan = plan_of(decide(snapshot, f"pointer:{SUBJECT}"))
    assert plan.swaps == plan.swap_files == ()
    assert {refusal.subject for refusal in plan.waived} == {SUBJECT}


def test_a_link_to_a_file_or_record_of_the_run_is_good() -> None:
    staging = a_staging("v1", None, f"https://dl.example.org/{TGZ}")
    facts = some_facts()

    assert plan_of(decide(a_world(a_set_candidate(staging), facts=facts))).swaps != ()
    dangling = a_staging("v1", None, f"https://dl.example.org/{PDF}")
    assert refusals_of(decide(a_world(a_set_candidate(dangling), facts=facts))) == {("pointer", SUBJECT)}


def test_a_waived_role_brings_no_set_either() -> None:
    staging = replace(a_staging(), sums=None)

    plan = plan_of(decide(a_world(a_set_candidate(staging), facts=some_facts()), "missing:*"))

    assert plan.swaps == ()
    assert {file.role for file in plan.files} == {"windows"}


def test_a_file_below_an_alias_is_refused() -> None:
    assert ("alias", TGZ) in refusals_of(decide(a_world(entries={f"a:{RELEASE}": "elsewhere"})))


def test_an_alias_that_stays_is_told() -> None:
    decision = decide(a_world(entries={"a:current": "1.2.9"}))

    assert isinstance(decision, Decision)
    assert decision.plan.aliases == ()
    assert [kept.reason for kept in decision.kept] == ["it leads to 1.2.9, which is higher"]


def test_an_unlisted_word_about_sets_is_refused() -> None:
    staging = a_staging()
    files = {TGZ: "tool", **make_set("v1")}
    unlisted = replace(staging, sums=handed_over("source", files).sums)

    assert refusals_of(decide(a_world(a_set_candidate(unlisted)))) == {("hand-over", NAME)}


def test_a_set_of_another_role_is_a_stray_file() -> None:
    windows = handed_over("windows", {EXE: "setup", SBOM: "sbom", INDEX: "x"})

    snapshot = a_world(replace(a_set_candidate(), roles={**a_set_candidate().roles, "windows": windows}))

    assert refusals_of(decide(snapshot)) == {("extra", INDEX)}


# --- Settled ------------------------------------------------------------------------------------------------


def settled(staging: RoleStaging, facts: PointerFacts) -> bool:
    snapshot = a_public_world(staging, facts)
    return is_all_settled(snapshot.releases[0], snapshot, PROFILE)


@pytest.mark.parametrize(
    ("staging", "facts", "expected"),
    [
        (a_staging("v1"), some_facts("v1"), True),
        (a_staging("v1"), some_facts("v2", past=("v1", "v2")), True),
        (a_staging("v1"), some_facts(), False),
        (a_staging("v1", "v2"), some_facts("v2", past=("v1", "v2")), False),
        (a_staging("v1", said=False), some_facts("v1"), True),
        (a_staging("v1", said=False), some_facts("v2", past=("v1", "v2")), True),
        (a_staging("v1", said=False), some_facts(), False),
        (a_staging(None, said=False), some_facts(), True),
        (a_staging(None, claims={}), some_facts(), True),
        (a_staging(None, claims={"other": Claim({})}), some_facts(), False),
        (a_staging("v1", claims={}), some_facts("v1"), False),
        (a_staging(None), some_facts("v1"), False),
    ],
)
def test_a_release_is_settled_once_its_sets_are_public_or_were(
    staging: RoleStaging, facts: PointerFacts, *, expected: bool
) -> None:
    assert settled(staging, facts) is expected


def test_a_settled_release_leaves_nothing_to_do() -> None:
    assert isinstance(decide(a_public_world(facts=some_facts("v1"))), NothingToDo)
    assert decide_alone(a_public_world(facts=some_facts("v1"))) == NothingToDo(0)


def test_a_release_that_nobody_gathered_pointers_of_has_none() -> None:
    release = a_candidate(profile=PROFILE)
    (found,) = [assess_release(release, PROFILE, {})]

    assert list_handed_over(found, PROFILE) == ()
    assert plan_together(a_world(release), PROFILE, [found]).swaps == ()


# --- Sets alone ---------------------------------------------------------------------------------------------


def test_sets_alone_place_no_file() -> None:
    plan = plan_of(decide_alone(a_public_world()))

    assert (plan.files, plan.aliases) == ((), ())
    assert [swap.name for swap in plan.swaps] == ["index"]
    assert [release.name for release in plan.releases] == [RELEASE]


def test_sets_alone_do_not_ask_for_what_other_roles_owe() -> None:
    release = a_set_candidate(numbers=(1,))
    roles = {**release.roles, "windows": handed_over("windows", {f"{RELEASE}/unknown": "x"})}
    snapshot = a_world(replace(release, roles=roles), facts=some_facts(promoted=(RELEASE,)), public=PUBLIC)

    assert ("extra", f"{RELEASE}/unknown") in refusals_of(decide(snapshot))
    assert plan_of(decide_alone(snapshot)).swaps != ()


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({"state": None}, ("not-open", RELEASE)),
        ({"numbers": ()}, ("pointer", SUBJECT)),
        ({"roles": {"source": replace(a_staging(), sums=None)}}, ("missing", f"source/{RELEASE}")),
        (
            {"roles": {"source": replace(a_staging(), commit=SmallObject("commit-1", b"d" * 40))}},
            ("commit", f"source/{RELEASE}"),
        ),
        (
            {
                "roles": {
                    "source": a_staging(),
                    "qa": RoleStaging({}, hold=SmallObject("hold-1", b"it crashes")),
                }
            },
            ("hold", f"qa/{RELEASE}"),
        ),
    ],
)
def test_sets_alone_are_refused_for_what_is_wrong_with_release_or_role(
    change: dict[str, object], refusal: tuple[str, str]
) -> None:
    release = replace(a_set_candidate(numbers=(1,)), **change)
    promoted = (RELEASE,) if release.numbers else ()
    snapshot = a_world(release, facts=some_facts(promoted=promoted), public=PUBLIC)

    assert refusal in refusals_of(decide_alone(snapshot))


def test_sets_alone_leave_nothing_to_do_when_all_of_them_are_waived() -> None:
    snapshot = a_public_world(facts=some_facts("v9", promoted=(RELEASE,)))

    assert refusals_of(decide_alone(snapshot)) == {("pointer", SUBJECT)}
    assert decide_alone(snapshot, f"pointer:{SUBJECT}") == NothingToDo(0)


# --- Status -------------------------------------------------------------------------------------------------


def report(snapshot: Snapshot, profile: Profile = PROFILE) -> ReleaseStatus:
    return report_status(snapshot, profile)[0]


@pytest.mark.parametrize(
    ("snapshot", "stage", "pointers"),
    [
        (a_world(), Stage.READY, {"index": "ready"}),
        (a_world(facts=some_facts("v9")), Stage.HANDED_OVER, {"index": "refused"}),
        (a_public_world(facts=some_facts("v1")), Stage.DONE, {"index": "public"}),
        (a_public_world(), Stage.READY, {"index": "ready"}),
        (a_world(a_set_candidate(a_staging(None, said=False))), Stage.READY, {}),
    ],
)
def test_the_status_tells_how_sets_stand(
    snapshot: Snapshot, stage: Stage, pointers: Mapping[str, str]
) -> None:
    status = report(snapshot)

    assert (status.stage, status.pointers) == (stage, pointers)


def test_sets_built_on_each_other_are_ready_together() -> None:
    later = a_set_candidate(a_staging("v2", "v1", name="1.2.1"), name="1.2.1")

    first, second = report_status(a_world(a_set_candidate(), later), PROFILE)
    assert (first.pointers, second.pointers) == ({"index": "ready"}, {"index": "ready"})
    (alone,) = report_status(a_world(later), PROFILE)
    assert alone.pointers == {"index": "refused"}
    assert {refusal.subject for refusal in alone.refusals} == {"index/1.2.1"}


def test_the_status_tells_of_files_that_an_alias_would_hide() -> None:
    status = report(a_world(entries={f"a:{RELEASE}": "elsewhere"}))

    assert {refusal.rule for refusal in status.refusals} == {"alias"}


# --- Values -------------------------------------------------------------------------------------------------


SWAP = Swap("index", (RELEASE,), (Member(INDEX, None, of_bytes(b"new")),))


def test_a_swap_is_recorded_once_its_history_has_all_of_it() -> None:
    history = extend_history(None, SWAP)

    assert not is_recorded(None, SWAP)
    assert is_recorded(history, SWAP)
    later = Swap("index", ("1.2.1",), (Member(INDEX, of_bytes(b"new"), of_bytes(b"newer")),))
    assert not is_recorded(history, later)
    assert is_recorded(extend_history(history, later), SWAP)


def test_a_swap_that_nothing_is_known_of_is_still_to_be_made() -> None:
    done = Swapped(SWAP, Verdict.DONE)

    assert list_swapped([SWAP], [done]) == (done,)
    assert list_swapped([SWAP], []) == (Swapped(SWAP, Verdict.SWAP),)


def test_a_record_has_the_swaps_and_aliases_of_its_own_release() -> None:
    other = replace(SWAP, name="other", releases=("1.2.1", RELEASE))
    changes = [AliasChange("current", None, name, name) for name in (RELEASE, "1.2.1")]
    plan = replace(a_plan(a_file(), releases=(RELEASE, "1.2.1")), swaps=(SWAP, other), aliases=tuple(changes))
    moved = [AliasMoved(change, Verdict.DONE) for change in changes]

    first, second = make_records(plan, "an ARN", NOON, {}, [Swapped(SWAP, Verdict.DONE)], moved)

    assert first.swaps == (Swapped(SWAP, Verdict.DONE), Swapped(other, Verdict.SWAP))
    assert second.swaps == (Swapped(other, Verdict.SWAP),)
    assert (first.aliases, second.aliases) == ((moved[0],), (moved[1],))


def test_restored_aliases_are_the_last_ones_and_none_that_is_there() -> None:
    changes = [
        AliasChange("current", None, "1.2.0", "1.2.0"),
        AliasChange("current", "1.2.0", "1.2.1", "1.2.1"),
        AliasChange("1.2", None, "1.2.1", "1.2.1"),
    ]

    assert restore({}, changes).puts == {"a:current": "1.2.1", "a:1.2": "1.2.1"}
    assert restore({"a:current": "1.2.2"}, changes).puts == {"a:1.2": "1.2.1"}


def test_only_roles_with_sets_have_mutable_files() -> None:
    assert set(PROFILE.list_pointers("source")) == {CATALOG, INDEX}
    assert PROFILE.list_pointers("windows") == {}
    rule = PROFILE.pointers[0]
    assert isinstance(rule, PointerRule)
    assert list(rule.files) == [CATALOG, INDEX]
