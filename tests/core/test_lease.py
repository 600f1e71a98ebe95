"""The lease: how long it is held, by the store's clock."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.core.lease import RENEW_AFTER, SECONDS, Lease, can_be_taken_over, seconds_left
from tests.support.builders import NOON


def a_lease(token: str | None = "t") -> Lease:
    return Lease(1, token, "an ARN", "promote 1.2.0", SECONDS)


@pytest.mark.parametrize(
    ("age", "left"),
    [(0, 120), (119, 1), (119.5, 1), (119.999, 1), (120, 0), (120.5, 0), (9999, 0), (-5, 125)],
)
def test_a_lease_is_held_until_its_seconds_have_passed(age: float, left: int) -> None:
    assert seconds_left(a_lease(), NOON, NOON + timedelta(seconds=age)) == left


def test_a_lease_without_a_token_is_free_at_once() -> None:
    assert seconds_left(a_lease(None), NOON, NOON) == 0


@given(st.floats(-1000, 1000))
def test_a_lease_is_free_exactly_when_its_time_is_over(age: float) -> None:
    now = NOON + timedelta(seconds=age)

    assert (seconds_left(a_lease(), NOON, now) == 0) == (now >= NOON + timedelta(seconds=SECONDS))


def test_a_lease_is_renewed_long_before_it_ends() -> None:
    assert 2 * RENEW_AFTER < SECONDS


@given(st.integers(0, 120), st.floats(-1000, 1000))
def test_a_lease_is_held_for_the_seconds_that_it_says_itself(seconds: int, age: float) -> None:
    lease = replace(a_lease(), seconds=seconds)
    left = seconds_left(lease, NOON, NOON + timedelta(seconds=age))

    assert max(0.0, seconds - age) <= left + 1e-5
    assert left < max(0.0, seconds - age) + 1.00001


@pytest.mark.parametrize(
    ("purpose", "taken"), [("promote 1.2.0", True), ("sign 1.2.0", True), ("withdraw 1.2.0", False)]
)
def test_a_withdrawal_takes_over_from_all_but_another_withdrawal(purpose: str, taken: bool) -> None:
    assert can_be_taken_over(replace(a_lease(), purpose=purpose)) is taken
