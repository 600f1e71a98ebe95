"""The audit's judgement, on values alone: what each rule finds, and beside it what it lets pass."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from publisher.core.audit import PATIENCE, find_faults
from publisher.core.audit_evidence import (
    Evidence,
    FoundRecord,
    Listing,
    Looked,
    Progress,
    Wanted,
    fold_files,
)
from publisher.core.audit_gate import Gated
from publisher.core.digests import of_bytes
from publisher.core.faults import Weight
from publisher.core.identity import Rejected
from publisher.core.plan import Version
from publisher.core.promotions import Amendment, Record, make_records
from publisher.core.withdrawals import Case, Course, Restoration, Withdrawal, WithdrawnFile
from tests.support.builders import RELEASE, SBOM, TGZ, a_file, a_plan

NOW = datetime(2030, 6, 15, 12, tzinfo=UTC)
GOOD, OTHER = of_bytes(b"good"), of_bytes(b"other")
WANTED = Wanted(GOOD, 4, "by its record", RELEASE)
RECORD = FoundRecord(RELEASE, 1, None, GOOD, "record-1.json", GOOD)
NAME = f"_state/records/{RELEASE}/1.json"
OWNED = Gated({"owner": "x"})


def some(**what: Any) -> Evidence:
    """Make what was found at a healthy site with one release of one file, but for what a test states."""
    healthy = Evidence(
        now=NOW,
        busy=False,
        gated=OWNED,
        unfinished=(),
        done={RELEASE: frozenset({1})},
        records=(RECORD,),
        wanted={TGZ: WANTED},
        found={TGZ: GOOD},
        problems={},
        names=frozenset(),
        expected={TGZ: RELEASE, SBOM: RELEASE},
    )
    return replace(healthy, **what)


def judge(**what: Any) -> list[tuple[Weight, str, str]]:
    return [(fault.weight, fault.rule, fault.subject) for fault in find_faults(some(**what))]


def a_promotion(*, live: bool, hours: float, **what: Any) -> Progress:
    return Progress("p1", (RELEASE,), live, NOW - timedelta(hours=hours), **what)


def a_case(course: Course, *, hours: float = 1, unlist: bool = False, number: int = 2) -> Case:
    when = NOW - timedelta(hours=hours)
    files = (WithdrawnFile(TGZ, GOOD, 4),)
    withdrawal = Withdrawal(1, "w1", RELEASE, number, files, (), (), unlist, "bad", "an ARN", when)
    restored = Restoration(1, "w1", RELEASE, number + 1, files, unlist, "good", "an ARN", when)
    return Case(withdrawal, course, restored if course is Course.RESTORING else None)


def test_a_healthy_site_has_no_fault() -> None:
    assert judge() == []


def test_the_worst_comes_first() -> None:
    found = judge(
        gated=Gated({"owner": "x", "s:x": "live"}),
        listings=(Listing(RELEASE, Looked.BLIND, "no answer"),),
        pending={"old": 2},
        found={},
    )

    assert [weight for weight, _, _ in found] == [Weight.FAULT, Weight.FAULT, Weight.WARNING, Weight.NOTE]
    assert [rule for _, rule, _ in found] == ["gate", "missing", "listing", "pending"]


# --- Promotions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("promotion", "busy", "expected"),
    [
        (a_promotion(live=False, hours=24), False, []),
        (a_promotion(live=False, hours=24.1), False, [(Weight.WARNING, "planned", "p1")]),
        (a_promotion(live=True, hours=1), True, []),
        (a_promotion(live=True, hours=1), False, [(Weight.WARNING, "unfinished", "p1")]),
        (a_promotion(live=True, hours=24.1), True, [(Weight.FAULT, "unfinished", "p1")]),
        (a_promotion(live=True, hours=1, owed=(TGZ,)), True, []),
        (a_promotion(live=True, hours=1, owed=(TGZ,)), False, [(Weight.FAULT, "unplaced", "p1")]),
        (a_promotion(live=True, hours=25, owed=(TGZ,)), True, [(Weight.FAULT, "unfinished", "p1")]),
    ],
)
def test_an_unfinished_promotion_is_judged_by_its_age_and_by_whether_anybody_works(
    promotion: Progress, busy: bool, expected: list[tuple[Weight, str, str]]
) -> None:
    assert judge(unfinished=(promotion,), busy=busy) == expected


def test_what_a_live_promotion_places_is_nobody_elses() -> None:
    live = a_promotion(live=True, hours=1, keys=(SBOM,))

    assert judge(unfinished=(live,), names=frozenset({SBOM}), busy=True) == []
    assert judge(names=frozenset({SBOM})) == [(Weight.FAULT, "unrecorded", SBOM)]


@pytest.mark.parametrize("course", [Course.WITHDRAWING, Course.RESTORING])
def test_a_withdrawal_that_broke_off_is_judged_alike(course: Course) -> None:
    young, old = a_case(course), a_case(course, hours=25)

    assert judge(cases=(young,), busy=True) == []
    assert judge(cases=(young,)) == [(Weight.WARNING, "unfinished", "w1")]
    assert judge(cases=(old,), busy=True) == [(Weight.FAULT, "unfinished", "w1")]
    [fault] = find_faults(some(cases=(old,)))
    assert ("restore" in fault.cure) == (course is Course.RESTORING)


def test_patience_is_a_day() -> None:
    assert timedelta(hours=24) == PATIENCE


# --- Records ---------------------------------------------------------------------------------------------


def test_a_record_that_does_not_verify_is_found_with_what_is_the_matter() -> None:
    problem = Rejected("a forged log entry", "one by a log that is trusted", "trust root too old?")
    [fault] = find_faults(some(records=(replace(RECORD, problem=problem),)))

    assert (fault.rule, fault.subject) == ("record", NAME)
    assert (fault.found, fault.expected, fault.cure) == (problem.found, problem.expected, problem.hint)
    [fault] = find_faults(some(records=(replace(RECORD, problem=replace(problem, hint="")),)))
    assert fault.cure


@pytest.mark.parametrize("public", [None, OTHER])
def test_a_public_copy_that_is_not_the_record_is_found(public: str | None) -> None:
    assert judge(records=(replace(RECORD, public=public),)) == [
        (Weight.FAULT, "record-copy", "record-1.json")
    ]


def test_records_that_are_not_public_have_no_copy_to_miss() -> None:
    assert judge(records=(replace(RECORD, public_key=None, public=None),)) == []


def test_between_its_two_writes_a_record_has_no_copy_yet() -> None:
    live = a_promotion(live=True, hours=1, numbers={RELEASE: 1})

    assert judge(records=(replace(RECORD, public=None),), unfinished=(live,), busy=True) == []
    assert judge(records=(replace(RECORD, public=OTHER),), unfinished=(live,), busy=True) == [
        (Weight.FAULT, "record-copy", "record-1.json")
    ]


def test_a_record_that_is_missing_is_found_by_those_after_it_and_by_what_is_done() -> None:
    assert judge(done={RELEASE: frozenset({1, 2})}) == [
        (Weight.FAULT, "record", f"_state/records/{RELEASE}/2.json")
    ]
    assert judge(records=(replace(RECORD, number=2),)) == [(Weight.FAULT, "record", NAME)]
    assert judge(cases=(a_case(Course.WITHDRAWN),)) == [
        (Weight.FAULT, "record", f"_state/records/{RELEASE}/2.json")
    ]


@pytest.mark.parametrize("course", [Course.WITHDRAWING, Course.RESTORING])
def test_a_record_that_is_still_to_be_written_is_not_missing(course: Course) -> None:
    live = a_promotion(live=True, hours=1, numbers={RELEASE: 2})
    records = (RECORD, replace(RECORD, number=3))

    assert judge(records=records, unfinished=(live,), busy=True) == []
    number = 1 if course is Course.RESTORING else 2
    assert judge(records=records, cases=(a_case(course, number=number),), busy=True) == []


@pytest.mark.parametrize(
    "what", [{"records": (replace(RECORD, readable=False),)}, {"records": (), "wanted": {}, "found": {}}]
)
def test_where_a_record_cannot_be_read_nothing_is_said_of_what_it_might_name(
    what: Mapping[str, Any],
) -> None:
    found = judge(**what, names=frozenset({TGZ, SBOM}))

    assert [rule for _, rule, _ in found] == (["record"] if not what["records"] else [])


# --- Files -----------------------------------------------------------------------------------------------


def test_a_file_that_is_gone_other_or_not_served_is_found_once() -> None:
    problems = {TGZ: "status 404"}

    assert judge(found={}, problems=problems) == [(Weight.FAULT, "missing", TGZ)]
    assert judge(found={TGZ: OTHER}, problems=problems) == [(Weight.FAULT, "drift", TGZ)]
    assert judge(problems=problems) == [(Weight.FAULT, "url", TGZ)]


def test_it_is_told_what_says_what_a_file_should_be() -> None:
    adopted = Wanted(GOOD, 4, "as it was adopted", version_id="v1")
    [fault] = find_faults(some(wanted={TGZ: adopted}, found={TGZ: OTHER}))

    assert fault.expected == f"sha256:{GOOD} as it was adopted"
    assert fault.found == f"sha256:{OTHER}"


def test_what_is_withdrawn_need_not_be_there_but_may_not_be_served() -> None:
    case = a_case(Course.WITHDRAWN, number=1)

    assert judge(cases=(case,), found={}) == []
    assert judge(cases=(case,), served={TGZ: "status 200"}) == [(Weight.FAULT, "withdrawn", TGZ)]
    unlisted = a_case(Course.WITHDRAWN, number=1, unlist=True)
    assert judge(cases=(unlisted,), found={}) == [(Weight.FAULT, "missing", TGZ)]


def test_what_no_record_names_is_a_fault_only_at_a_key_of_a_recorded_release() -> None:
    names = frozenset({SBOM, "0.9/a", "0.9/b", "0.9/c", "0.9/d"})
    [fault, note] = find_faults(some(names=names))

    assert (fault.rule, fault.subject) == ("unrecorded", SBOM)
    assert (note.weight, note.rule) == (Weight.NOTE, "older")
    assert note.found == "4 that no record names: 0.9/a, 0.9/b, 0.9/c"
    # Beside a release that was named lies what nobody asked about.
    assert judge(names=names, whole=False) == [(Weight.FAULT, "unrecorded", SBOM)]


def test_records_are_folded_in_their_order() -> None:
    [record] = make_records(a_plan(a_file()), "an ARN", NOW, {})
    assert isinstance(record, Record)
    source = Version("x", "v", "e")
    repaired = Amendment(1, RELEASE, 2, TGZ, TGZ, GOOD, OTHER, 5, source, "why", "an ARN", NOW)

    folded = fold_files([record, repaired])

    assert folded == {TGZ: Wanted(OTHER, 5, "by its record", RELEASE)}
    # What is withdrawn stays in the bucket.
    withdrawn = replace(a_case(Course.WITHDRAWN).withdrawal, files=(WithdrawnFile(TGZ, OTHER, 5),))
    assert fold_files([record, repaired, withdrawn]) == folded


# --- The gate --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "value", "explained", "otherwise"),
    [
        ("p:a", "x", {"live": {"x"}}, {"live": {"y"}}),
        ("p:a", "x", {"planned": {"x"}}, {"aliases": {"x"}}),
        ("p:a", "x", {"withdrawals": {"x"}}, {}),
        ("s:x", "live", {"live": {"x"}}, {"planned": {"x"}}),
        ("s:x", "live", {"live": {"x"}}, {"withdrawals": {"x"}}),
        ("s:x", "withdrawn", {"withdrawals": {"x"}}, {"live": {"x"}}),
        ("a:b", "c", {"aliases": {"b"}, "public": {"c"}}, {"aliases": {"b"}}),
        ("a:b", "c", {"aliases": {"b"}, "public": {"c"}}, {"public": {"c"}}),
        ("d:b", "index", {"indexed": {"b"}}, {}),
        ("d:", "index", {"indexed": {""}}, {"indexed": {"b"}}),
    ],
)
def test_an_entry_that_something_explains_is_good_and_any_other_is_left_behind(
    entry: str, value: str, explained: Mapping[str, Any], otherwise: Mapping[str, Any]
) -> None:
    entries = {"owner": "x", entry: value}

    assert judge(gated=Gated(entries, **explained)) == []
    assert judge(gated=Gated(entries, **otherwise)) == [(Weight.FAULT, "gate", entry)]
    assert judge(gated=Gated(entries, **otherwise), whole=False) == []


@pytest.mark.parametrize(("entry", "value"), [("s:x", "soon"), ("x", "y"), ("pp:x", "y"), ("", "")])
def test_an_entry_of_no_known_kind_is_left_behind(entry: str, value: str) -> None:
    gated = Gated({"owner": "x", entry: value}, live={"x", "y"})

    assert judge(gated=gated) == [(Weight.FAULT, "gate", entry)]


def test_a_lost_gate_is_found_for_whatever_is_audited_and_says_all() -> None:
    gated = Gated({"s:x": "live"}, pages={"a"}, lost=True)

    assert judge(gated=gated) == [(Weight.FAULT, "gate-lost", "owner")]
    assert judge(gated=gated, whole=False) == [(Weight.FAULT, "gate-lost", "owner")]


def test_a_page_or_an_adopted_alias_without_its_entry_is_found() -> None:
    good = Gated(
        {"d:b": "index", "a:c": "b"}, pages={"b"}, indexed={"b"}, adopted={"c"}, aliases={"c"}, public={"b"}
    )

    assert judge(gated=good) == []
    assert judge(gated=replace(good, entries={"a:c": "b"})) == [(Weight.FAULT, "index", "b/")]
    assert judge(gated=replace(good, entries={"d:b": "index"})) == [(Weight.FAULT, "alias", "c/")]


# --- Listing, pages, copies ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("listing", "weight"),
    [
        (Listing(RELEASE, Looked.DIFFERS, "2 to be created"), Weight.FAULT),
        (Listing(RELEASE, Looked.DIFFERS, "2 to be created", given_up=True), Weight.WARNING),
        (Listing(RELEASE, Looked.BLIND, "no token"), Weight.WARNING),
    ],
)
def test_a_listing_that_differs_is_a_fault_unless_nobody_could_look_or_it_was_given_up(
    listing: Listing, weight: Weight
) -> None:
    [fault] = find_faults(some(listings=(listing,)))

    assert (fault.weight, fault.rule, fault.subject, fault.found) == (
        weight,
        "listing",
        RELEASE,
        listing.found,
    )
    assert ("publisher list" in fault.cure) == (listing.state is Looked.DIFFERS)


def test_a_page_that_is_not_true_is_a_fault() -> None:
    assert judge(stale=("index.html", "index.json")) == [
        (Weight.FAULT, "index", "index.html"),
        (Weight.FAULT, "index", "index.json"),
    ]


def test_waiting_copies_of_an_unfinished_promotion_are_nothing_to_tell() -> None:
    live = a_promotion(live=True, hours=1)

    assert judge(unfinished=(live,), busy=True, pending={"p1": 2}) == []
    assert judge(pending={"p1": 2}) == [(Weight.NOTE, "pending", "_pending/")]
