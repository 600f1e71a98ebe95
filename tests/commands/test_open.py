"""Opening a release at a commit."""

import pytest

from publisher.commands.open import run_open
from publisher.core.snapshot import ReleaseState
from publisher.errors import Exit, LeaseError, StoreError, UsageError
from publisher.outcomes import Opened, Refused
from publisher.workflow.state import LEASE_KEY
from tests.support.site import COMMIT, OTHER_COMMIT, PROFILE, RELEASE, Site

EVERYWHERE = b'accepted = [{ name = "rm@example.org", issuer = "https://accounts.example.org" }]'
SERIES = b"""
[series."1.2"]
status = "bugfix"

[series."1.1"]
status = "end-of-life"

[series."1.0"]
status = "bugfix"
until = 2026-05-31
"""
# Where there are series, so are identities.
BY_SERIES = PROFILE.replace(EVERYWHERE, b"") + SERIES


def read_state(site: Site) -> ReleaseState:
    stored = site.world().state.read_release(RELEASE)
    assert stored is not None
    return stored.value


def test_a_release_is_opened_at_the_first_attempt_with_who_and_when() -> None:
    site = Site()

    outcome = site.open()

    assert outcome == Opened(RELEASE, COMMIT, 1, changed=True)
    state = read_state(site)
    assert (state.commit, state.attempt, state.who) == (
        COMMIT,
        1,
        "arn:aws:iam::123456789012:user/rm",
    )
    assert state.when == site.s3.clock
    assert state.void == {}


def test_a_commit_in_capitals_is_the_same_commit() -> None:
    site = Site()
    site.open()

    assert site.open(commit=COMMIT.upper()) == Opened(RELEASE, COMMIT, 1, changed=False)


def test_opening_again_at_the_same_commit_changes_nothing() -> None:
    site = Site()
    site.open()
    before = len(site.s3.staging.versions[f"_state/releases/{RELEASE}.json"])

    assert site.open() == Opened(RELEASE, COMMIT, 1, changed=False)
    assert len(site.s3.staging.versions[f"_state/releases/{RELEASE}.json"]) == before


def test_opening_at_another_commit_is_refused_and_respin_is_suggested() -> None:
    site = Site()
    site.open()

    outcome = site.open(commit=OTHER_COMMIT)

    assert isinstance(outcome, Refused)
    (refusal,) = outcome.refusals
    assert (refusal.rule, refusal.subject) == ("open", RELEASE)
    assert COMMIT in refusal.found
    assert OTHER_COMMIT in refusal.expected
    assert refusal.cure == f"run: publisher respin {RELEASE} --commit {OTHER_COMMIT} --reason …"
    assert read_state(site).commit == COMMIT


def test_no_word_is_said_of_a_commit_that_is_none() -> None:
    site = Site(profile_text=PROFILE.replace(b"commit = true", b"commit = false"))
    site.open()

    outcome = run_open(site.world(), RELEASE, None)

    assert isinstance(outcome, Refused)
    (refusal,) = outcome.refusals
    assert "open at no commit" in refusal.expected
    assert refusal.cure == f"run: publisher respin {RELEASE} --reason …"


def test_no_commit_is_needed_where_the_profile_asks_for_none() -> None:
    site = Site(profile_text=PROFILE.replace(b"commit = true", b"commit = false"))

    assert run_open(site.world(), RELEASE, None) == Opened(RELEASE, None, 1, changed=True)


@pytest.mark.parametrize(
    ("release", "commit", "said"),
    [
        (RELEASE, None, "ties hand-overs to a commit"),
        (RELEASE, "abc123", "expected all 40"),
        (RELEASE, "g" * 40, "expected all 40"),
        (f"v{RELEASE}", COMMIT, f"found 'v{RELEASE}', expected a version of Tool"),
    ],
)
def test_a_wrong_release_or_commit_is_a_misuse(release: str, commit: str | None, said: str) -> None:
    site = Site()
    with pytest.raises(UsageError, match=said) as caught:
        run_open(site.world(), release, commit)
    assert caught.value.next_step
    assert site.s3.writes == []


@pytest.mark.parametrize(
    ("release", "said"),
    [("1.1.9", "end-of-life"), ("1.0.9", "to 2026-05-31"), ("9.9.9", "series 9.9")],
)
def test_a_release_of_a_series_that_gets_none_is_refused(release: str, said: str) -> None:
    site = Site(profile_text=BY_SERIES)

    outcome = site.open(release)

    assert isinstance(outcome, Refused)
    assert [r.rule for r in outcome.refusals] == ["series"]
    assert said in outcome.refusals[0].found
    assert site.s3.writes == []


def test_a_release_of_a_living_series_is_opened() -> None:
    assert isinstance(Site(profile_text=BY_SERIES).open(), Opened)


def test_opening_waits_for_the_lease_of_another() -> None:
    site = Site()
    site.s3.before = lambda request, key: stop() if site.s3.staging.current(LEASE_KEY) else None
    with pytest.raises(StoppedError):
        site.open()
    site.s3.before = lambda request, key: None

    with pytest.raises(LeaseError, match=f"held by .*user/rm for open {RELEASE}") as caught:
        site.open()
    assert caught.value.exit_status is Exit.REFUSED
    site.s3.tick(121)
    assert isinstance(site.open(), Opened)


@pytest.mark.parametrize("command", ["open", "respin"])
def test_a_write_whose_answer_was_lost_counts_as_written(command: str) -> None:
    site = Site()
    if command == "respin":
        site.open()

    def lose(request: str, key: str) -> None:
        if key.endswith(f"{RELEASE}.json") and request in {"create", "replace"}:
            site.s3.lose_answer_of = len(site.s3.writes)

    site.s3.before = lose
    outcome = site.respin() if command == "respin" else site.open()

    assert isinstance(outcome, Opened)
    assert outcome.changed


def test_a_state_that_another_wrote_meanwhile_is_not_overwritten() -> None:
    site = Site()

    def meddle(request: str, key: str) -> None:
        if request == "create" and key.endswith(f"{RELEASE}.json"):
            other = Site()
            other.open(commit=OTHER_COMMIT)
            site.s3.staging.store(key, other.s3.staging.versions[key][-1].data)

    site.s3.before = meddle
    with pytest.raises(StoreError):
        site.open()
    assert read_state(site).commit == OTHER_COMMIT


class StoppedError(BaseException):
    """The process is gone."""


def stop() -> None:
    raise StoppedError
