"""The lease: at most one promoter per site, judged by the store's clock alone."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

SECONDS = 120
RENEW_AFTER = 40
"""Seconds after which a holder writes its lease again, leaving it 80 for the request it is in."""


WITHDRAW = "withdraw "
"""How the purpose of a lease begins that is never taken over."""


@dataclass(frozen=True, slots=True)
class Lease:
    """`_state/lease.json`. A `token` of None means that nobody holds it."""

    schema: Literal[1]
    token: str | None
    holder: str
    purpose: str
    seconds: int


def seconds_left(lease: Lease, written: datetime, now: datetime) -> int:
    """Give the seconds, rounded up, for which the lease is still held; 0 means free for the taking.

    Args:
        lease: What the store holds.
        written: When the store wrote it, by the store's clock.
        now: The store's present time.
    """
    if lease.token is None:
        return 0
    left = written + timedelta(seconds=lease.seconds) - now
    return max(0, math.ceil(left.total_seconds()))


def can_be_taken_over(lease: Lease) -> bool:
    """Tell whether a withdrawal may take a lease over that is still held: from all but another withdrawal."""
    return not lease.purpose.startswith(WITHDRAW)
