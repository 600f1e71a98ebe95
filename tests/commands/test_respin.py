"""Starting the next attempt of a release."""

import pytest

from publisher.commands.open import run_respin
from publisher.errors import UsageError
from publisher.outcomes import Opened, Promoted, Refused
from tests.support.site import COMMIT, OTHER_COMMIT, PROFILE, RELEASE, Site, expected_public


def an_open_site() -> Site:
    site = Site()
    site.open()
    site.stage_all()
    return site


def rules(outcome: object) -> list[str]:
    assert isinstance(outcome, Refused)
    assert all(r.found and r.expected and r.cure for r in outcome.refusals)
    return sorted({refusal.rule for refusal in outcome.refusals})


def test_a_respin_starts_the_next_attempt_and_keeps_its_reason() -> None:
    site = an_open_site()

    assert run_respin(site.world(), RELEASE, OTHER_COMMIT, " it hangs ") == Opened(
        RELEASE, OTHER_COMMIT, 2, changed=True
    )

    stored = site.world().state.read_release(RELEASE)
    assert stored is not None
    assert stored.value.reason == "it hangs"
    assert set(stored.value.void) == {"linux", "mac"}


def test_hand_overs_from_before_a_respin_do_not_count() -> None:
    site = an_open_site()
    site.respin()

    assert rules(site.promote()) == ["commit"]
    site.stage_all(b"second", commit=OTHER_COMMIT)
    assert isinstance(site.promote(), Promoted)
    assert site.public() == expected_public(b"second")


def test_hand_overs_from_before_a_respin_at_the_same_commit_do_not_count() -> None:
    site = an_open_site()
    site.respin(COMMIT)

    assert rules(site.promote()) == ["attempt"]
    site.hand_over("linux")
    site.hand_over("mac")
    assert isinstance(site.promote(), Promoted)


def test_a_hand_over_that_was_built_from_the_new_commit_already_counts() -> None:
    site = an_open_site()
    site.hand_over("linux", commit=OTHER_COMMIT)

    site.respin()

    refused = site.promote()
    assert isinstance(refused, Refused)
    assert [r.subject for r in refused.refusals] == [f"mac/{RELEASE}"]


def test_a_respin_of_a_project_without_commits_sets_hand_overs_aside() -> None:
    site = Site(profile_text=PROFILE.replace(b"commit = true", b"commit = false"))
    site.open()
    site.stage_all()

    assert isinstance(run_respin(site.world(), RELEASE, None, "a fault"), Opened)
    assert rules(site.promote()) == ["attempt"]


def test_a_release_that_was_never_opened_cannot_be_respun() -> None:
    outcome = Site().respin()

    assert rules(outcome) == ["not-open"]
    assert isinstance(outcome, Refused)
    assert f"publisher open {RELEASE}" in outcome.refusals[0].cure


def test_a_release_that_was_promoted_cannot_be_respun() -> None:
    site = an_open_site()
    site.promote()

    assert rules(site.respin()) == ["public"]


@pytest.mark.parametrize(
    ("commit", "reason", "said"),
    [
        (None, "a fault", "ties hand-overs to a commit"),
        ("abc", "a fault", "expected all 40"),
        (OTHER_COMMIT, " ", "empty reason"),
    ],
)
def test_a_wrong_commit_or_no_reason_is_a_misuse(commit: str | None, reason: str, said: str) -> None:
    site = an_open_site()
    site.s3.writes.clear()

    with pytest.raises(UsageError, match=said) as caught:
        run_respin(site.world(), RELEASE, commit, reason)
    assert caught.value.next_step
    assert site.s3.writes == []


def test_a_name_that_is_no_release_is_a_misuse() -> None:
    with pytest.raises(UsageError, match="expected a version"):
        run_respin(Site().world(), "1.x", COMMIT, "a fault")
