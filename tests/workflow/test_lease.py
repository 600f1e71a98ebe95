"""The lease: won by one, checked by fresh reads, freed on every exit."""

from dataclasses import replace

import pytest

from publisher.core.gate import Change
from publisher.core.lease import RENEW_AFTER, SECONDS, Lease
from publisher.errors import Exit, LeaseError, StoreError
from publisher.workflow.lease import hold_lease
from publisher.workflow.state import LEASE_KEY
from tests.support.site import Site


def the_lease(site: Site) -> Lease:
    stored = site.world().state.read_lease()
    assert stored is not None
    return stored.value


def test_a_lease_says_who_holds_it_for_what_and_how_long() -> None:
    site = Site()

    with hold_lease(site.world("anna"), "promote 1.2.3") as (lease, _):
        found = the_lease(site)
        assert (found.holder, found.purpose, found.seconds) == (
            "arn:aws:iam::123456789012:user/anna",
            "promote 1.2.3",
            SECONDS,
        )
        assert found.token == lease.token

    assert the_lease(site).token is None


def test_a_lease_is_freed_when_the_work_fails() -> None:
    site = Site()
    with pytest.raises(StoreError, match="no luck"), hold_lease(site.world(), "promote"):
        raise StoreError("no luck")

    assert the_lease(site).token is None


def test_a_lease_that_is_held_is_refused_with_holder_purpose_and_time_and_nothing_is_written() -> None:
    site = Site()
    with hold_lease(site.world("anna"), "promote 1.2.3"):
        site.s3.tick(20)
        site.s3.writes.clear()
        with (
            pytest.raises(LeaseError, match=r"user/anna for promote 1\.2\.3; it expires in 100 s") as caught,
            hold_lease(site.world("ben"), "open 1.3.0"),
        ):
            pytest.fail("two hold the lease")

        assert caught.value.exit_status is Exit.REFUSED
        assert caught.value.next_step
        assert site.s3.writes == []


def test_of_two_that_take_it_at_the_same_moment_one_wins() -> None:
    site = Site()
    bens = Lease(schema=1, token="ben's", holder="Ben", purpose="promote", seconds=SECONDS)

    def race(request: str, key: str) -> None:
        # Ben takes it between Anna's look and her write.
        if request == "create" and key == LEASE_KEY:
            site.s3.before = lambda request, key: None
            site.world().state.write_lease(bens, None)

    site.s3.before = race
    with (
        pytest.raises(LeaseError, match="Ben took the lease at the same moment") as caught,
        hold_lease(site.world("anna"), "promote"),
    ):
        pytest.fail("two hold the lease")
    assert caught.value.next_step == "run again"
    assert the_lease(site) == bens


def test_an_expired_lease_is_taken_over_and_its_holder_finds_out() -> None:
    site = Site()
    with hold_lease(site.world("anna"), "promote 1.2.3") as (anna, _):
        site.s3.tick(SECONDS)
        with hold_lease(site.world("ben"), "open 1.3.0") as (ben, _):
            with pytest.raises(LeaseError) as caught:
                anna.check()
            assert str(caught.value) == (
                "the lease was lost to arn:aws:iam::123456789012:user/ben for open 1.3.0"
            )
            assert caught.value.next_step == "wait until that run has ended, then run again"
            ben.check()
        with pytest.raises(LeaseError) as caught:
            anna.check()
        assert str(caught.value) == "the lease was lost to a run that has ended since"
        assert caught.value.next_step == "run again"

    assert len(site.observer.warnings) == 1
    assert the_lease(site).holder.endswith("user/ben")


def test_a_lease_that_is_not_there_any_more_is_lost() -> None:
    site = Site()
    with hold_lease(site.world(), "promote") as (lease, _):
        site.s3.staging.expire(LEASE_KEY)
        site.s3.writes.clear()

        with pytest.raises(LeaseError, match=r"^the lease was lost to a run that has ended since$"):
            lease.check()
        assert site.s3.writes == []


@pytest.mark.parametrize(("seconds", "writes"), [(RENEW_AFTER - 1, 0), (RENEW_AFTER, 1)])
def test_a_check_renews_a_lease_that_grows_old(seconds: int, writes: int) -> None:
    site = Site()
    with hold_lease(site.world(), "promote") as (lease, _):
        site.s3.tick(seconds)
        site.s3.writes.clear()

        lease.check()

        assert len(site.s3.writes) == writes
        site.s3.tick(SECONDS - 1)
        if writes:
            with pytest.raises(LeaseError), hold_lease(site.world("ben"), "promote"):
                pytest.fail("two hold the lease")


def test_a_lease_that_cannot_be_freed_is_only_a_warning() -> None:
    site = Site()

    def fail(request: str, key: str) -> None:
        raise StoreError("the line is dead")

    with hold_lease(site.world(), "promote"):
        site.s3.before = fail

    (warning,) = site.observer.warnings
    assert warning == "the lease was not freed (the line is dead); it expires by itself"


@pytest.mark.parametrize("number", [0, 2, 3])
def test_a_write_of_the_lease_whose_answer_was_lost_counts_as_written(number: int) -> None:
    """Its first write, its renewal and its end; the one between is the gate's."""
    site = Site()
    site.s3.lose_answer_of = number

    with hold_lease(site.world(), "promote") as (lease, _):
        site.s3.tick(RENEW_AFTER)
        lease.check()
        lease.check()

    assert site.observer.warnings == []
    assert the_lease(site).token is None


# --- Taken over by a withdrawal ----------------------------------------------------------------------------


def test_a_withdrawal_takes_over_a_lease_that_is_held_and_its_holder_finds_out() -> None:
    site = Site()
    with hold_lease(site.world("anna"), "promote 1.2.3") as (anna, keeper):
        with hold_lease(site.world("ben"), "withdraw 1.2.3", take_over=True) as (ben, _):
            ben.check()
            with pytest.raises(LeaseError, match=r"the lease was lost to .*user/ben for withdraw"):
                anna.check()
            with pytest.raises(LeaseError):
                keeper.write(lambda entries: Change({"p:x": "1"}))
        assert "p:x" not in site.s3.gate.entries
        (warning,) = site.observer.warnings
        assert "taken over from arn:aws:iam::123456789012:user/anna, who had it for promote 1.2.3" in warning


@pytest.mark.parametrize("before", [None, "promote 1.2.3", "withdraw 1.2.3"])
def test_a_lease_that_nobody_holds_is_won_without_a_warning(before: str | None) -> None:
    site = Site()
    if before:
        with hold_lease(site.world("anna"), before):
            pass

    with hold_lease(site.world("ben"), "withdraw 1.2.3", take_over=True) as (ben, _):
        ben.check()

    assert site.observer.warnings == []


def test_the_lease_of_another_withdrawal_is_not_taken_over_before_it_has_expired() -> None:
    site = Site()
    with hold_lease(site.world("anna"), "withdraw 1.3.0") as (anna, _):
        with (
            pytest.raises(LeaseError, match=r"user/anna for withdraw 1\.3\.0"),
            hold_lease(site.world("ben"), "withdraw 1.2.3", take_over=True),
        ):
            pytest.fail("two withdraw")
        anna.check()
        site.s3.tick(SECONDS)
        with hold_lease(site.world("ben"), "withdraw 1.2.3", take_over=True) as (ben, _):
            ben.check()


def take_over_while_others_race(site: Site, races: int) -> None:
    """Take a lease over that changes hands just before it is written over, some times."""
    left = races
    with hold_lease(site.world("anna"), "promote 1.2.3"):

        def race(request: str, key: str) -> None:
            nonlocal left
            if request == "replace" and key == LEASE_KEY and left:
                left -= 1
                site.s3.before = lambda request, key: None
                state = site.world().state
                stored = state.read_lease()
                assert stored is not None
                state.write_lease(replace(stored.value, token=f"{left}", holder="Ben"), stored.etag)
                site.s3.before = race

        site.s3.before = race
        with hold_lease(site.world("cleo"), "withdraw 1.2.3", take_over=True) as (cleo, _):
            cleo.check()
            assert the_lease(site).token == cleo.token


def test_a_lease_that_changes_hands_just_then_is_taken_over_all_the_same() -> None:
    site = Site()

    take_over_while_others_race(site, 2)

    assert "the lease is taken over from Ben, who had it for promote 1.2.3: that run stops" in (
        site.observer.warnings
    )


def test_a_lease_that_changes_hands_all_the_time_is_not_taken_over() -> None:
    with pytest.raises(LeaseError, match="Ben took the lease at the same moment"):
        take_over_while_others_race(Site(), 99)


def test_a_lost_answer_to_taking_over_counts_as_taken() -> None:
    site = Site()
    with hold_lease(site.world("anna"), "promote 1.2.3"):
        site.s3.lose_answer_of = len(site.s3.writes)
        with hold_lease(site.world("ben"), "withdraw 1.2.3", take_over=True) as (ben, _):
            ben.check()
