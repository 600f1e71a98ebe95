"""Status: the stage of a release, and how each role stands."""

from dataclasses import replace

import pytest

from publisher.core.delivery import Standing
from publisher.core.profile import RM
from publisher.core.signing import Checked
from publisher.core.snapshot import ReleaseSnapshot, RoleStaging, SmallObject, Snapshot, Unfinished
from publisher.core.status import ReleaseStatus, RoleStatus, Stage, report_status
from tests.support.builders import (
    COMMIT,
    EXE,
    GOOD,
    NOON,
    RELEASE,
    SBOM,
    SIG,
    SIGNER,
    TGZ,
    a_candidate,
    a_plan,
    a_profile,
    a_snapshot,
    a_stored,
    handed_over,
    staged,
)

BOTH = {TGZ: "tool", EXE: "setup", SBOM: "sbom"}
PUBLIC = {**BOTH, SIG: "sig"}
PLANNED = Unfinished(a_plan(), live=False)
LIVE = Unfinished(a_plan(name="p2"), live=True)


def report(snapshot: Snapshot) -> ReleaseStatus:
    (status,) = report_status(snapshot, a_profile())
    return status


@pytest.mark.parametrize(
    ("candidate", "stage"),
    [
        (a_candidate(state=None), Stage.NOT_OPEN),
        (a_candidate(source=RoleStaging({}), windows=RoleStaging({})), Stage.OPEN),
        (a_candidate(windows=staged("windows", {EXE: "setup"})), Stage.OPEN),
        (a_candidate(windows=handed_over("windows", {EXE: "setup"})), Stage.OPEN),
        (a_candidate(windows=handed_over("windows", {EXE: "1", SBOM: "2"}, commit="d")), Stage.HANDED_OVER),
        (a_candidate(qa=staged("qa", {}, hold=b"no")), Stage.HELD),
        (a_candidate(qa=staged("qa", {}, hold=b"no"), windows=RoleStaging({})), Stage.HELD),
        (a_candidate(), Stage.READY),
    ],
)
def test_a_release_passes_through_its_stages(candidate: ReleaseSnapshot, stage: Stage) -> None:
    status = report(a_snapshot(candidate))

    assert status.stage is stage
    assert (status.refusals == ()) is (stage is Stage.READY)


def test_a_promotion_that_is_only_planned_is_shown() -> None:
    status = report(a_snapshot(a_candidate(), unfinished=(PLANNED,)))

    assert (status.stage, status.promotion) == (Stage.PLANNED, "p1")


def test_a_planned_promotion_does_not_hide_what_stands_in_the_way_now() -> None:
    held = a_candidate(qa=staged("qa", {}, hold=b"no"))
    status = report(a_snapshot(held, unfinished=(PLANNED,)))

    assert (status.stage, status.promotion) == (Stage.HELD, "p1")


def test_a_live_promotion_goes_before_everything_else() -> None:
    held = a_candidate(qa=staged("qa", {}, hold=b"no"))
    status = report(a_snapshot(held, unfinished=(PLANNED, LIVE)))

    assert (status.stage, status.promotion) == (Stage.LIVE, "p2")


def test_promotions_of_other_releases_are_not_shown() -> None:
    other = Unfinished(a_plan(releases=("1.2.1",)), live=True)
    status = report(a_snapshot(a_candidate(), unfinished=(other,)))

    assert (status.stage, status.promotion) == (Stage.READY, None)


def test_a_settled_release_is_done_whatever_is_held_by_now() -> None:
    candidate = a_candidate(numbers=(1, 2), qa=staged("qa", {}, hold=b"too late"), windows=RoleStaging({}))
    status = report(a_snapshot(candidate, public=PUBLIC))

    assert (status.stage, status.promotions, status.refusals) == (Stage.DONE, 2, ())


@pytest.mark.parametrize(("amendments", "promotions"), [(0, 3), (1, 2), (2, 1)])
def test_an_amendment_is_no_promotion(amendments: int, promotions: int) -> None:
    candidate = replace(a_candidate(numbers=(1, 2, 3)), amendments=amendments)

    assert report(a_snapshot(candidate, public=PUBLIC)).promotions == promotions


def test_late_files_make_a_release_ready_again() -> None:
    status = report(a_snapshot(a_candidate(numbers=(1,), rm={SIG: "signature"}), public=BOTH))

    assert status.stage is Stage.READY


def test_a_status_tells_commit_and_attempt() -> None:
    opened, unopened = a_candidate(), a_candidate(state=None)

    assert (report(a_snapshot(opened)).commit, report(a_snapshot(opened)).attempt) == (COMMIT, 1)
    assert (report(a_snapshot(unopened)).commit, report(a_snapshot(unopened)).attempt) == (None, 0)
    assert report(a_snapshot(opened)).kind == "final"


def test_a_status_tells_who_may_sign() -> None:
    unknown = a_snapshot(a_candidate("1.3.0"))

    assert report(a_snapshot(a_candidate())).identities == (SIGNER,)
    assert report(unknown).identities == ()
    assert ("identity", "1.3.0") in [(r.rule, r.subject) for r in report(unknown).refusals]


def test_refusals_of_series_and_roles_are_reported_too() -> None:
    status = report(a_snapshot(a_candidate(), provisioned=["source", "windows"]))

    assert status.stage is Stage.HANDED_OVER
    assert [(refusal.rule, refusal.subject) for refusal in status.refusals] == [("provision", "qa")]


def test_each_role_stands_for_itself() -> None:
    candidate = a_candidate(
        source=handed_over("source", {TGZ: "tool", "x": "x"}),
        windows=staged("windows", {EXE: "setup", SBOM: "sbom"}, hold=b"wait\n"),
        rm={SIG: "signature"},
    )
    status = report(a_snapshot(candidate))
    source, windows, qa, rm = status.roles

    assert (source.role, source.owner, source.delivers, source.hold) == ("source", "CI", True, None)
    assert (source.handed_over, source.commit) == (True, COMMIT)
    assert source.counts == {"ready": 1, "extra": 1}
    assert source.standing == {TGZ: Standing.READY, "x": Standing.EXTRA}
    assert [refusal.rule for refusal in source.refusals] == ["extra"]
    assert (windows.handed_over, windows.commit, windows.hold) == (False, None, "wait")
    assert windows.counts == {"staged": 2}
    assert (qa.role, qa.delivers, qa.handed_over, qa.counts) == ("qa", False, False, {})
    assert (rm.role, rm.owner, rm.delivers) == (RM, "release manager's sidecars", True)
    assert rm.counts == {"ready": 1}


def test_a_release_that_waits_for_signatures_alone_is_handed_over_and_says_how_to_sign() -> None:
    status = report(a_snapshot(a_candidate(rm={})))
    rm = role_of(status, RM)

    assert status.stage is Stage.HANDED_OVER
    assert [(refusal.rule, refusal.subject) for refusal in status.refusals] == [("signature", SIG)]
    assert (rm.missing, rm.advice) == ((SIG,), f"run: publisher sign {RELEASE}")
    assert role_of(status, "source").advice is None


def test_a_hold_without_a_reason_is_shown_as_one() -> None:
    status = report(a_snapshot(a_candidate(qa=staged("qa", {}, hold=b"\n"))))

    assert status.stage is Stage.HELD
    assert [role.hold for role in status.roles if role.role == "qa"] == ["(no reason given)"]


def test_files_that_had_to_be_read_are_named() -> None:
    streamed = {TGZ: a_stored("tool", streamed=True)}
    source = replace(handed_over("source", {TGZ: "tool"}), objects=streamed)
    candidate = replace(a_candidate(source=source), rm={SIG: a_stored("signature", streamed=True)})

    assert report(a_snapshot(candidate)).streamed == (TGZ, SIG)
    assert report(a_snapshot(a_candidate(checked={SIG: Checked(streamed=4)}))).streamed == (TGZ,)
    assert report(a_snapshot(a_candidate(checked={SBOM: GOOD}))).streamed == ()
    assert report(a_snapshot(a_candidate())).streamed == ()


def test_releases_are_reported_in_the_order_asked_for() -> None:
    snapshot = a_snapshot(a_candidate("1.2.1"), a_candidate("1.2.0"))

    assert [status.release for status in report_status(snapshot, a_profile())] == ["1.2.1", "1.2.0"]


def role_of(status: ReleaseStatus, name: str) -> RoleStatus:
    return next(role for role in status.roles if role.role == name)


def test_the_stores_time_of_a_hand_over_is_told() -> None:
    source = handed_over("source", {TGZ: "tool"})
    assert source.sums is not None
    timed = replace(source, sums=SmallObject("sums-1", source.sums.data, NOON))
    status = report(a_snapshot(a_candidate(source=timed, windows=staged("windows", {EXE: "setup"}))))

    assert [role.handed_over_at for role in status.roles] == [NOON, None, None, None]


def test_what_is_missing_and_what_differs_is_named() -> None:
    source = handed_over("source", {"x": "x"})
    status = report(a_snapshot(a_candidate(source=source), public={EXE: "another"}))

    assert role_of(status, "source").missing == (TGZ,)
    assert role_of(status, "source").list_keys(Standing.EXTRA) == ("x",)
    assert role_of(status, "windows").list_keys(Standing.DIFFERS) == (EXE,)


@pytest.mark.parametrize(
    ("windows", "advice"),
    [
        (handed_over("windows", {EXE: "setup", SBOM: "sbom"}), None),
        (RoleStaging({}), f"windows runs: publisher upload {RELEASE} … --complete"),
        (handed_over("windows", {EXE: "setup"}), "windows uploads it and hands over again"),
        (
            handed_over("windows", {EXE: "setup", SBOM: "sbom"}, hold=b"wait"),
            f"once it is cured, windows runs: publisher unhold {RELEASE} --role windows",
        ),
        (
            handed_over("windows", {EXE: "setup"}, hold=b"wait"),
            "windows uploads it and hands over again (and 1 more, see below)",
        ),
    ],
)
def test_each_role_is_told_in_one_line_what_to_do(windows: RoleStaging, advice: str | None) -> None:
    assert role_of(report(a_snapshot(a_candidate(windows=windows))), "windows").advice == advice


def test_a_tester_that_holds_is_told_how_to_lift_it_and_another_has_nothing_to_do() -> None:
    status = report(a_snapshot(a_candidate(qa=staged("qa", {}, hold=b"no"))))

    assert role_of(status, "qa").advice == f"once it is cured, qa runs: publisher unhold {RELEASE} --role qa"
    assert role_of(report(a_snapshot(a_candidate())), "qa").advice is None


@pytest.mark.parametrize("stage", [Stage.DONE, Stage.LIVE])
def test_nobody_has_anything_to_do_for_what_is_public_or_will_be(stage: Stage) -> None:
    done = stage is Stage.DONE
    candidate = a_candidate(
        qa=staged("qa", {}, hold=b"late"), windows=RoleStaging({}), numbers=(1,) if done else ()
    )
    status = report(a_snapshot(candidate, public=PUBLIC, unfinished=() if done else (LIVE,)))

    assert status.stage is stage
    assert [role.advice for role in status.roles] == [None] * 4
