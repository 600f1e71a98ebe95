"""Reporting how releases stand."""

import pytest

from publisher.commands import status
from publisher.commands.hold import run_hold
from publisher.commands.withdraw import WithdrawRequest, run_withdraw
from publisher.core.status import ReleaseStatus, Stage
from publisher.errors import Exit, StoreError, UnfinishedError, UsageError
from publisher.outcomes import Reported
from tests.support.site import PKG, RELEASE, TGZ, Site


class CrashError(BaseException):
    """The process is gone."""


def report(site: Site, *names: str, check: bool = False) -> Reported:
    return status.run(site.world(), names, check=check)


def the_status(site: Site) -> ReleaseStatus:
    (release,) = report(site, RELEASE).releases
    return release


def crash_at(site: Site, wanted: str, *, ago: float = 121) -> None:
    """Promote, and die before the first request of that kind, some seconds ago."""
    dead = False

    def die(request: str, key: str) -> None:
        nonlocal dead
        dead = dead or request == wanted
        if dead:
            raise CrashError

    site.s3.before = die
    with pytest.raises(CrashError):
        site.promote()
    site.s3.before = lambda request, key: None
    site.s3.tick(ago)


def a_site_at(stage: Stage) -> Site:
    site = Site()
    if stage is Stage.NOT_OPEN:
        return site
    site.open()
    if stage is Stage.OPEN:
        site.stage("linux", {TGZ: b"x"})
        return site
    site.stage_all()
    if stage is Stage.HANDED_OVER:
        site.stage("linux", {TGZ: b"changed after the hand-over"})
    elif stage is Stage.HELD:
        run_hold(site.world("qa"), RELEASE, "qa", "wait")
    elif stage is Stage.PLANNED:
        crash_at(site, "copy")
    elif stage is Stage.LIVE:
        crash_at(site, "place")
    elif stage in {Stage.DONE, Stage.WITHDRAWN}:
        promote_and_withdraw(site, (TGZ,) if stage is Stage.WITHDRAWN else ())
    return site


def promote_and_withdraw(site: Site, keys: tuple[str, ...]) -> None:
    site.promote()
    for key in keys:
        run_withdraw(site.world(), WithdrawRequest(RELEASE, (key,), "a fault"), lambda preview: True)


@pytest.mark.parametrize("stage", Stage)
def test_each_stage_is_told(stage: Stage) -> None:
    assert the_status(a_site_at(stage)).stage is stage


@pytest.mark.parametrize("stage", Stage)
def test_check_is_content_with_what_is_ready_planned_or_done(stage: Stage) -> None:
    site = a_site_at(stage)
    settled = stage in {Stage.READY, Stage.PLANNED, Stage.DONE}

    assert report(site, RELEASE, check=True).status is (Exit.DONE if settled else Exit.REFUSED)
    assert report(site, RELEASE).status is Exit.DONE


def test_check_wants_every_named_release_to_be_ready() -> None:
    site = a_site_at(Stage.READY)
    site.open("1.3.0")

    assert report(site, RELEASE, "1.3.0", check=True).status is Exit.REFUSED


@pytest.mark.parametrize("stage", Stage)
def test_a_report_writes_nothing(stage: Stage) -> None:
    site = a_site_at(stage)
    site.s3.writes.clear()

    report(site, RELEASE, check=True)

    assert site.s3.writes == []


def test_every_role_and_every_refusal_is_told() -> None:
    site = a_site_at(Stage.OPEN)

    found = the_status(site)

    roles = {role.role: role for role in found.roles}
    assert set(roles) == {"linux", "mac", "qa", "_rm"}
    assert roles["linux"].standing == {TGZ: "staged"}
    assert roles["mac"].standing == {PKG: "missing"}
    assert {r.subject for r in found.refusals} == {f"linux/{RELEASE}", f"mac/{RELEASE}"}


def test_without_a_name_all_that_is_in_progress_is_told() -> None:
    site = a_site_at(Stage.DONE)
    site.open("1.3.0")
    site.open("1.4.0")

    assert [release.release for release in report(site).releases] == ["1.3.0", "1.4.0"]


def test_without_a_name_nothing_is_told_where_nothing_is_in_progress() -> None:
    assert report(Site()).releases == ()
    assert report(a_site_at(Stage.DONE), check=True).status is Exit.DONE


def test_without_a_name_a_promoted_release_is_told_whose_second_promotion_is_not_finished() -> None:
    site = a_site_at(Stage.DONE)
    site.stage("linux", {f"{TGZ}.spdx.json": b"{}"})
    site.hand_over("linux")
    crash_at(site, "place")

    (release,) = report(site).releases

    assert (release.release, release.stage) == (RELEASE, Stage.LIVE)


def test_what_the_profile_no_longer_knows_is_named_as_unknown() -> None:
    site = a_site_at(Stage.READY)
    site.s3.staging.store("_state/releases/2.x.json", b"of an older profile")

    found = report(site)

    assert [release.release for release in found.releases] == [RELEASE]
    assert found.unknown == ("2.x",)
    assert report(site, RELEASE).unknown == ()


def test_when_a_role_handed_over_is_told() -> None:
    site = a_site_at(Stage.READY)
    handed_over_at = site.s3.clock
    site.s3.tick(60)

    roles = {role.role: role.handed_over_at for role in the_status(site).roles}

    assert roles == {"linux": handed_over_at, "mac": handed_over_at, "qa": None, "_rm": None}


def test_a_misspelt_name_suggests_a_release_that_was_opened() -> None:
    site = a_site_at(Stage.READY)

    with pytest.raises(UsageError) as caught:
        report(site, "1.2.3rc1")
    assert caught.value.next_step == f"did you mean {RELEASE}?"
    with pytest.raises(UsageError, match="expected a version of Tool") as caught:
        report(site, "something else")
    assert "spelling" in caught.value.next_step


def test_a_name_that_could_be_one_but_is_not_open_suggests_too() -> None:
    site = a_site_at(Stage.READY)

    report(site, "1.2.33")

    assert site.observer.warnings == [f"1.2.33 is not open; did you mean {RELEASE}?"]


def test_a_suggestion_is_not_worth_an_error() -> None:
    site = a_site_at(Stage.READY)
    site.s3.before = lambda request, key: crash() if request == "list" else None

    with pytest.raises(UsageError, match=r"found '1\.2\.3rc1'"):
        report(site, "1.2.3rc1")


def test_a_name_given_twice_is_told_once_and_a_wrong_one_is_a_misuse() -> None:
    assert len(report(Site(), RELEASE, RELEASE).releases) == 1
    with pytest.raises(UsageError, match=r"found '1\.x'"):
        report(Site(), "1.x")


def test_the_holder_of_the_lease_is_told_until_it_expires() -> None:
    site = a_site_at(Stage.READY)
    assert report(site, RELEASE).lease is None

    crash_at(site, "copy", ago=20)

    assert report(site, RELEASE).lease == {
        "holder": "arn:aws:iam::123456789012:user/rm",
        "purpose": f"promote {RELEASE}",
        "expires_in_s": 100,
    }
    site.s3.tick(100)
    assert report(site, RELEASE).lease is None


def test_files_that_have_to_be_streamed_are_named() -> None:
    site = a_site_at(Stage.READY)
    assert the_status(site).streamed == ()
    stored = site.s3.staging.current(f"linux/{RELEASE}/{TGZ}")
    assert stored is not None
    site.s3.staging.store(stored.key, stored.data, whole=False)

    found = the_status(site)

    assert found.streamed == (TGZ,)
    assert found.stage is Stage.READY


def test_an_unfinished_promotion_is_named() -> None:
    site = a_site_at(Stage.LIVE)

    found = the_status(site)

    assert found.promotion is not None
    assert site.live() == {found.promotion}
    assert found.promotions == 0


def test_a_promotion_stopped_by_the_store_after_go_live_shows_as_live() -> None:
    site = a_site_at(Stage.READY)
    site.s3.before = lambda request, key: crash() if request == "place" else None
    with pytest.raises(UnfinishedError):
        site.promote()
    site.s3.before = lambda request, key: None

    assert the_status(site).stage is Stage.LIVE


def crash() -> None:
    raise StoreError("the line is dead")
