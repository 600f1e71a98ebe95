"""Withdrawals as values: how far one has come, what it is about, what it refuses, and what the gate gets."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from publisher.core import withdrawals_gate as gate
from publisher.core.decide import Decision, NothingToDo, Refused, plan_pointers_alone, plan_promotion
from publisher.core.digests import Digest, display
from publisher.core.listing import FoundFile, FoundRelease
from publisher.core.listing_changes import DeleteFile, UpdateRelease
from publisher.core.listing_plan import plan_unlisting
from publisher.core.promotions import Phase, find_withdrawn, fold, judge_phase
from publisher.core.refusals import WAIVABLE
from publisher.core.snapshot import RoleStaging
from publisher.core.status import Stage, report_status
from publisher.core.withdrawals import (
    Case,
    Course,
    Restoration,
    Withdrawal,
    WithdrawnFile,
    choose_files,
    find_ended,
    find_next_number,
    find_uncovered,
    find_unlisted,
    judge_course,
    make_restoration,
    refuse_changed,
    refuse_restoring,
    refuse_withdrawn,
)
from tests.support.builders import AN_AUTHOR, a_candidate, a_profile, a_snapshot, a_waiver, staged
from tests.support.release_db import make_release, make_rows

WHEN = datetime(2026, 6, 1, tzinfo=UTC)
ONE, TWO = Digest("1" * 64), Digest("2" * 64)
EXE = WithdrawnFile("tool/1.2/tool.exe", ONE, 3)
BUNDLE = WithdrawnFile("tool/1.2/tool.exe.sigstore", TWO, 4, EXE.key)
TGZ = WithdrawnFile("tool/1.2/tool.tgz", TWO, 5)
FILES = {file.key: file for file in (TGZ, EXE, BUNDLE)}


def a_withdrawal(
    *files: WithdrawnFile,
    id: str = "w1",  # noqa: A002 - the field's name
    number: int = 2,
    promotions: tuple[str, ...] = (),
    whole: tuple[str, ...] = (),
    unlist: bool = False,
) -> Withdrawal:
    return Withdrawal(1, id, "1.2", number, files or (EXE,), promotions, whole, unlist, "bad", "ann", WHEN)


def a_case(withdrawal: Withdrawal | None = None, course: Course = Course.WITHDRAWN) -> Case:
    found = withdrawal or a_withdrawal()
    restoring = course is Course.RESTORING
    restoration = make_restoration(Case(found, course), 3, "good", "bob", WHEN) if restoring else None
    return Case(found, course, restoration)


# --- How far it has come ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("marks", "course"),
    [
        ({"withdrawal"}, Course.WITHDRAWING),
        ({"withdrawal", "done"}, Course.WITHDRAWN),
        ({"withdrawal", "restored"}, Course.RESTORING),
        ({"withdrawal", "done", "restored"}, Course.RESTORING),
        ({"withdrawal", "done", "restored", "over"}, Course.OVER),
        ({"withdrawal", "restored", "over"}, Course.OVER),
    ],
)
def test_the_last_marker_says_how_far_a_withdrawal_has_come(marks: set[str], course: Course) -> None:
    assert judge_course(marks) is course


@pytest.mark.parametrize(
    ("marks", "gated", "ended", "phase"),
    [
        ({"plan", "live"}, True, True, Phase.ENDED),
        ({"plan"}, True, True, Phase.ENDED),
        ({"plan", "live", "done"}, True, True, Phase.DONE),
        ({"plan", "live"}, True, False, Phase.LIVE),
        ({"plan", "abandoned"}, False, False, Phase.ABANDONED),
    ],
)
def test_done_beats_ended_and_ended_beats_live(
    marks: set[str], gated: bool, ended: bool, phase: Phase
) -> None:
    assert judge_phase(marks, gated=gated, ended=ended) is phase


def test_the_promotions_that_withdrawals_ended_are_named() -> None:
    cases = [a_case(a_withdrawal(promotions=("a", "b"))), a_case(a_withdrawal(promotions=("c",)))]

    assert find_ended(cases) == {"a", "b", "c"}


# --- What it is about ------------------------------------------------------------------------------------


def test_without_a_name_all_files_are_meant() -> None:
    assert choose_files((), FILES).files == (EXE, BUNDLE, TGZ)


@pytest.mark.parametrize("name", ["tool.exe", "1.2/tool.exe", EXE.key])
def test_a_key_or_the_end_of_one_means_the_artifact_and_its_sidecars(name: str) -> None:
    chosen = choose_files((name, name), FILES)

    assert chosen.files == (EXE, BUNDLE)
    assert not chosen.unknown
    assert not chosen.several


def test_a_sidecar_alone_can_be_meant() -> None:
    assert choose_files(("tool.exe.sigstore",), FILES).files == (BUNDLE,)


def test_a_name_that_fits_nothing_is_unknown_with_what_it_may_have_meant() -> None:
    chosen = choose_files(("tool.exf", "zzz", "ool.exe"), FILES)

    assert chosen.files == ()
    assert chosen.unknown == {"tool.exf": "tool.exe", "zzz": None, "ool.exe": "tool.exe"}


def test_a_name_that_fits_several_is_said_to_and_a_whole_key_beats_ends() -> None:
    twin = WithdrawnFile("tool.exe", TWO, 1)
    other = WithdrawnFile("tool/1.3/tool.exe", TWO, 1)
    several = choose_files(("tool.exe",), {**FILES, other.key: other})

    assert several.several == {"tool.exe": (EXE.key, other.key)}
    assert several.files == ()
    assert choose_files(("tool.exe",), {**FILES, twin.key: twin}).files == (twin,)


def test_what_a_withdrawal_covers_is_not_withdrawn_again_but_what_is_only_hidden_from_lists_is() -> None:
    gone, hidden = a_case(a_withdrawal(EXE)), a_case(a_withdrawal(TGZ, unlist=True))

    assert find_uncovered([EXE, TGZ, BUNDLE], [gone, hidden], unlist=False) == (TGZ, BUNDLE)
    assert find_uncovered([EXE, TGZ, BUNDLE], [gone, hidden], unlist=True) == (BUNDLE,)
    assert find_uncovered([EXE], [], unlist=False) == (EXE,)


def test_lists_leave_out_what_is_withdrawn_until_it_is_being_restored() -> None:
    cases = [
        a_case(a_withdrawal(EXE), Course.WITHDRAWING),
        a_case(a_withdrawal(TGZ, unlist=True)),
        a_case(a_withdrawal(BUNDLE), Course.RESTORING),
    ]

    assert find_unlisted(cases) == {EXE.key, TGZ.key}


def test_the_next_number_follows_those_in_use_and_those_that_are_promised() -> None:
    assert find_next_number([], []) == 1
    assert find_next_number([1, 2], []) == 3
    assert find_next_number([1], [a_case(a_withdrawal(number=4))]) == 5
    assert find_next_number([1], [a_case(course=Course.RESTORING)]) == 4


def test_a_restoration_names_the_files_of_its_withdrawal_and_one_that_was_begun_stays() -> None:
    case = a_case(a_withdrawal(EXE, TGZ))
    made = make_restoration(case, 3, "good", "bob", WHEN)

    assert made == Restoration(1, "w1", "1.2", 3, (EXE, TGZ), False, "good", "bob", WHEN)
    begun = Case(case.withdrawal, Course.RESTORING, made)
    assert make_restoration(begun, 9, "other", "eve", WHEN) is made


# --- What it refuses -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "found"),
    [
        (a_case(), "1 file of it withdrawn by ann: bad"),
        (a_case(a_withdrawal(EXE, TGZ)), "2 files of it withdrawn by ann: bad"),
        (a_case(a_withdrawal(unlist=True)), "1 file of it hidden from lists by ann: bad"),
        (a_case(course=Course.WITHDRAWING), "1 file of it withdrawn by ann: bad (not finished)"),
        (a_case(course=Course.RESTORING), "1 file of it being restored, which is not finished"),
    ],
)
def test_a_release_with_a_withdrawal_is_refused_and_told_how_to_take_it_back(case: Case, found: str) -> None:
    (refusal,) = refuse_withdrawn("1.2", [case])

    assert (refusal.rule, refusal.subject, refusal.found) == ("withdrawn", "1.2", found)
    assert "publisher restore 1.2" in refusal.cure
    assert refuse_withdrawn("1.2", []) == ()


def test_what_is_being_restored_is_finished_before_more_is_withdrawn() -> None:
    (refusal,) = refuse_restoring("1.2", [a_case(), a_case(course=Course.RESTORING)])

    assert refusal.cure.startswith("finish that first: publisher restore")
    assert refuse_restoring("1.2", [a_case(), a_case(course=Course.WITHDRAWING)]) == ()


def test_files_that_are_not_there_as_they_were_are_not_shown_again() -> None:
    case = a_case(a_withdrawal(EXE, BUNDLE, TGZ))

    refusals = refuse_changed(case, {EXE.key: ONE, BUNDLE.key: ONE})

    assert [(refusal.rule, refusal.subject, refusal.found) for refusal in refusals] == [
        ("drift", BUNDLE.key, display(ONE)),
        ("drift", TGZ.key, "no such public object"),
    ]
    assert refuse_changed(case, {EXE.key: ONE, BUNDLE.key: TWO, TGZ.key: TWO}) == ()


# --- The records -----------------------------------------------------------------------------------------


def a_restoration(withdrawal: Withdrawal) -> Restoration:
    return make_restoration(a_case(withdrawal), 3, "good", "bob", WHEN)


def test_records_say_what_is_gone_until_it_is_restored() -> None:
    gone, hidden = a_withdrawal(EXE), a_withdrawal(TGZ, unlist=True)
    shown = [a_restoration(a_withdrawal(EXE, TGZ))]

    assert find_withdrawn([gone, hidden]) == {EXE.key}
    assert find_withdrawn([gone, hidden, a_restoration(gone)]) == frozenset()
    assert find_withdrawn([gone, a_restoration(a_withdrawal(EXE, unlist=True))]) == {EXE.key}
    assert find_withdrawn([a_restoration(gone), gone]) == {EXE.key}
    assert fold(shown) == {EXE.key: ONE, TGZ.key: TWO}
    assert fold([*shown, gone, hidden]) == {TGZ.key: TWO}
    assert fold([*shown, gone, a_restoration(gone)]) == {EXE.key: ONE, TGZ.key: TWO}
    assert fold([*shown, gone, a_restoration(a_withdrawal(EXE, unlist=True))]) == {TGZ.key: TWO}


# --- The gate --------------------------------------------------------------------------------------------

WHOLE = a_withdrawal(EXE, TGZ, promotions=("p1", "p2"), whole=("p1",))


def test_its_keys_are_listed_but_for_those_that_only_the_gate_may_serve() -> None:
    entries = {f"p:{EXE.key}": "p1", "s:p1": "live", "owner": "x"}

    assert gate.list_keys(entries, WHOLE).puts == {f"p:{TGZ.key}": "w1"}
    assert gate.find_listed(entries, "p1") == {EXE.key}
    assert gate.find_listed(entries, "w1") == frozenset()


def test_one_update_closes_it_and_the_promotions_that_are_withdrawn_whole() -> None:
    entries = {f"p:{EXE.key}": "p1", "s:p1": "live", f"p:{TGZ.key}": "w1"}
    assert not gate.is_closed(entries, WHOLE)

    change = gate.close(entries, WHOLE)

    assert change.puts == {"s:w1": "withdrawn", "s:p1": "withdrawn"}
    closed = change.apply(entries)
    assert gate.is_closed(closed, WHOLE)
    assert not gate.close(closed, WHOLE)
    assert gate.list_rest(closed, WHOLE).puts == {f"p:{EXE.key}": "w1"}
    assert gate.drop_whole(closed, WHOLE).deletes == ["s:p1"]
    assert not gate.drop_whole({"s:w1": "withdrawn"}, WHOLE)


def test_one_update_opens_all_of_several_and_their_keys_go_after_it() -> None:
    other = a_withdrawal(BUNDLE, id="w2")
    entries = {
        f"p:{EXE.key}": "p1",
        f"p:{TGZ.key}": "w1",
        f"p:{BUNDLE.key}": "w2",
        "p:other": "p9",
        "s:p1": "withdrawn",
        "s:w1": "withdrawn",
        "s:w2": "withdrawn",
        "s:p9": "live",
    }

    opened = gate.reopen(entries, [WHOLE, other])

    assert sorted(opened.deletes) == ["s:p1", "s:w1", "s:w2"]
    left = opened.apply(entries)
    assert sorted(gate.drop_listed(left, [WHOLE, other]).deletes) == sorted(
        f"p:{file.key}" for file in (EXE, TGZ, BUNDLE)
    )
    assert not gate.reopen(left, [WHOLE, other])


# --- What is decided, told and listed --------------------------------------------------------------------


@pytest.mark.parametrize("decide", [plan_promotion, plan_pointers_alone])
@pytest.mark.parametrize("course", [Course.WITHDRAWING, Course.WITHDRAWN, Course.RESTORING])
def test_a_release_with_a_withdrawal_is_refused_alone_whatever_is_waived(
    course: Course, decide: Callable[..., Decision | NothingToDo | Refused]
) -> None:
    held = a_candidate(qa=staged("qa", {}, hold=b"no"), windows=RoleStaging({}))
    withdrawn = replace(held, withdrawn=(a_case(course=course),))
    waivers = tuple(a_waiver(rule) for rule in sorted(WAIVABLE))

    outcome = decide(a_snapshot(withdrawn), a_profile(), waivers, AN_AUTHOR)

    assert isinstance(outcome, Refused)
    assert [refusal.rule for refusal in outcome.refusals] == ["withdrawn"]
    assert isinstance(plan_promotion(a_snapshot(a_candidate()), a_profile(), (), AN_AUTHOR), Decision)


def test_status_says_withdrawn_before_all_else_and_gives_nobody_advice() -> None:
    withdrawn = replace(a_candidate(windows=RoleStaging({})), withdrawn=(a_case(),))

    (status,) = report_status(a_snapshot(withdrawn), a_profile())

    assert status.stage is Stage.WITHDRAWN
    assert [refusal.rule for refusal in status.refusals] == ["withdrawn"]
    assert all(role.advice is None for role in status.roles)


ROWS = make_rows("3.14.0")[:2]
FILES_FOUND = tuple(FoundFile(number, 7, row) for number, row in enumerate(ROWS, 1))


@pytest.mark.parametrize(
    ("published", "latest"), [(True, True), (True, False), (False, True), (False, False)]
)
def test_a_release_goes_off_the_site_rows_first_and_is_saved_once_more_while_it_is_published(
    published: bool, latest: bool
) -> None:
    row = replace(make_release("3.14.0"), is_published=published, is_latest=latest)
    release = FoundRelease(7, row)

    changes = plan_unlisting(FILES_FOUND, release)

    rows, rest = changes[: len(FILES_FOUND)], changes[len(FILES_FOUND) :]
    assert rows == tuple(DeleteFile(7, file.id, file.row) for file in FILES_FOUND)
    if published or latest:
        hidden = replace(row, is_published=False, is_latest=False)
        assert rest == (UpdateRelease(7, row, row), UpdateRelease(7, row, hidden))
    else:
        assert rest == ()
