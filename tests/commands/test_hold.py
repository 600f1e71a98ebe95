"""Holding a release, and letting it go."""

import pytest

from publisher.commands.hold import run_hold, run_unhold
from publisher.errors import AccessDeniedError, UsageError
from publisher.outcomes import Held, Promoted, Refused
from tests.support.site import RELEASE, Site

HOLD = f"_hold/qa/{RELEASE}"


def a_ready_site() -> Site:
    site = Site()
    site.open()
    site.stage_all()
    return site


def test_a_hold_stops_the_promotion_and_gives_its_reason() -> None:
    site = a_ready_site()

    outcome = run_hold(site.world("qa"), RELEASE, "qa", " the installer hangs\n")

    assert outcome == Held(RELEASE, "qa", "the installer hangs")
    refused = site.promote()
    assert isinstance(refused, Refused)
    assert [(r.rule, r.subject) for r in refused.refusals] == [("hold", f"qa/{RELEASE}")]
    assert "the installer hangs" in refused.refusals[0].found


def test_a_lifted_hold_lets_the_release_go_and_the_versions_keep_what_was_said() -> None:
    site = a_ready_site()
    run_hold(site.world("qa"), RELEASE, "qa", "the installer hangs")

    assert run_unhold(site.world("qa"), RELEASE, "qa") == Held(RELEASE, "qa", None)

    assert [version.data for version in site.s3.staging.versions[HOLD]] == [b"the installer hangs\n", b""]
    assert isinstance(site.promote(), Promoted)


def test_one_role_cannot_lift_the_hold_of_another() -> None:
    site = a_ready_site()
    run_hold(site.world("qa"), RELEASE, "qa", "the installer hangs")

    run_unhold(site.world("mac"), RELEASE, "mac")

    assert isinstance(site.promote(), Refused)


def test_a_role_writes_its_own_hold_and_asks_for_nothing_else() -> None:
    site = Site()
    seen: list[tuple[str, str]] = []
    site.s3.before = lambda request, key: seen.append((request, key))

    run_hold(site.world("qa"), RELEASE, "qa", "wait")
    run_unhold(site.world("qa"), RELEASE, "qa")

    reads = [("list", f"linux/{RELEASE}/"), ("list", f"mac/{RELEASE}/")]
    assert seen == [("put", HOLD), *reads, ("put", HOLD)]


def test_a_hold_on_a_release_of_which_nothing_is_staged_is_put_and_doubted() -> None:
    site = Site()

    run_hold(site.world("qa"), RELEASE, "qa", "wait")

    assert site.s3.staging.current(HOLD)
    assert site.observer.warnings == [
        f"nothing that qa may see is staged for {RELEASE}: is that the release you mean?"
    ]


def test_a_hold_on_a_release_of_which_something_is_staged_is_not_doubted() -> None:
    site = Site()
    site.stage("mac", {"x": b"1"})

    run_hold(site.world("qa"), RELEASE, "qa", "wait")

    assert site.observer.warnings == []


def test_a_hold_is_put_though_its_role_may_not_look_at_what_is_staged() -> None:
    site = Site()

    def refuse(request: str, key: str) -> None:
        if request == "list":
            raise AccessDeniedError("cannot list")

    site.s3.before = refuse
    run_hold(site.world("qa"), RELEASE, "qa", "wait")

    assert site.s3.staging.current(HOLD)
    assert site.observer.warnings == []


@pytest.mark.parametrize("reason", ["", "  \n"])
def test_a_hold_without_a_reason_is_a_misuse(reason: str) -> None:
    site = Site()
    with pytest.raises(UsageError, match="empty reason") as caught:
        run_hold(site.world(), RELEASE, "qa", reason)
    assert "--reason" in caught.value.next_step
    assert site.s3.writes == []


@pytest.mark.parametrize(
    ("release", "role", "said"), [("1.x", "qa", "expected a version of Tool"), (RELEASE, "q", "role 'q'")]
)
def test_a_wrong_release_or_role_is_a_misuse(release: str, role: str, said: str) -> None:
    site = Site()
    with pytest.raises(UsageError, match=said):
        run_hold(site.world(), release, role, "wait")
    with pytest.raises(UsageError, match=said):
        run_unhold(site.world(), release, role)
    assert site.s3.writes == []
