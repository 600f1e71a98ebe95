"""Holds the lease: one promoter per site, checked before every write, freed on every exit."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock

from publisher.core.lease import RENEW_AFTER, SECONDS, Lease, can_be_taken_over, seconds_left
from publisher.errors import ConflictError, LeaseError, StoreError
from publisher.workflow.gate import GateKeeper, claim_gate
from publisher.workflow.state import StateStore, Stored
from publisher.workflow.world import World

_TRIES = 5
"""How often a lease is asked for that its holder may just be renewing."""


class LeaseHolder:
    """A lease that was won. Safe to use from several threads."""

    def __init__(self, state: StateStore, lease: Lease, etag: str) -> None:
        self._state = state
        self._lease = lease
        self._etag = etag
        self._lock = Lock()

    @property
    def token(self) -> str:
        """Give the random token by which the holder knows its lease."""
        return self._lease.token or ""

    def check(self) -> None:
        """Make sure by a fresh read that the lease is still held, and renew it when it grows old.

        Not a timer: a laptop sleeps, the store's answer does not.

        Raises:
            LeaseError: Another has it.
        """
        with self._lock:
            stored = self._read_mine()
            if (stored.now - stored.modified).total_seconds() >= RENEW_AFTER:
                self._write(self._lease)

    def free(self) -> None:
        """Give the lease back, if it is still held."""
        with self._lock:
            self._write(replace(self._lease, token=None))

    def _read_mine(self) -> Stored[Lease]:
        stored = self._state.read_lease()
        if stored is None or stored.value.token is None:
            raise LeaseError("the lease was lost to a run that has ended since", "run again")
        if stored.value.token != self._lease.token:
            raise LeaseError(
                f"the lease was lost to {stored.value.holder} for {stored.value.purpose}",
                "wait until that run has ended, then run again",
            )
        self._etag = stored.etag
        return stored

    def _write(self, lease: Lease) -> None:
        try:
            self._etag = self._state.write_lease(lease, self._etag)
        except ConflictError:
            # The first try of this very request may have been applied without an answer.
            stored = self._state.read_lease()
            if stored is None or stored.value != lease:
                self._etag = self._state.write_lease(lease, self._read_mine().etag)
            else:
                self._etag = stored.etag
        self._lease = lease


@contextmanager
def hold_lease(
    world: World,
    purpose: str,
    claim: Callable[[World, GateKeeper, str], None] = claim_gate,
    *,
    take_over: bool = False,
) -> Generator[tuple[LeaseHolder, GateKeeper]]:
    """Win the lease, hold it for the body of the `with`, free it on the way out, whatever that is.

    Once it is won, `claim` takes the gate over from whoever wrote to it before. With `take_over` it is won
    from a run that still holds it, but for a withdrawal; that run stops at its next look at the lease.

    Raises:
        LeaseError: Another holds it; nothing was written.
    """
    holder = _take_over(world, purpose) if take_over else _acquire(world, purpose)
    try:
        keeper = GateKeeper(world.gate, holder.check)
        claim(world, keeper, holder.token)
        yield holder, keeper
    finally:
        try:
            holder.free()
        except (StoreError, LeaseError) as error:
            world.observer.warn(f"the lease was not freed ({error}); it expires by itself")


def _acquire(world: World, purpose: str) -> LeaseHolder:
    stored = world.state.read_lease()
    _refuse_held(stored)
    return _win(world, purpose, stored)


def _take_over(world: World, purpose: str) -> LeaseHolder:
    lost = LeaseError("the lease is written all the time", "run again")
    for _ in range(_TRIES):
        stored = world.state.read_lease()
        if stored is None or not can_be_taken_over(stored.value):
            _refuse_held(stored)
        try:
            holder = _win(world, purpose, stored)
        except LeaseError as error:
            # Its holder has renewed it just now, or was about to end.
            lost = error
            continue
        if _count_left(stored):
            who = f"{stored.value.holder}, who had it for {stored.value.purpose}" if stored else ""
            world.observer.warn(f"the lease is taken over from {who}: that run stops")
        return holder
    raise lost


def _count_left(stored: Stored[Lease] | None) -> int:
    return seconds_left(stored.value, stored.modified, stored.now) if stored else 0


def _refuse_held(stored: Stored[Lease] | None) -> None:
    left = _count_left(stored)
    if stored and left:
        raise LeaseError(
            f"the lease is held by {stored.value.holder} for {stored.value.purpose}; "
            f"it expires in {left} s unless renewed",
            "wait until that run has ended, then run again",
        )


def _win(world: World, purpose: str, stored: Stored[Lease] | None) -> LeaseHolder:
    """Write a lease of one's own over the one that was read, or over none.

    Raises:
        LeaseError: Somebody else wrote it meanwhile.
    """
    lease = Lease(schema=1, token=world.new_id(), holder=world.caller.who(), purpose=purpose, seconds=SECONDS)
    try:
        etag = world.state.write_lease(lease, stored.etag if stored else None)
    except ConflictError as error:
        now = world.state.read_lease()
        if now is None or now.value.token != lease.token:
            holder = now.value.holder if now else "another"
            raise LeaseError(f"{holder} took the lease at the same moment", "run again") from error
        etag = now.etag
    return LeaseHolder(world.state, lease, etag)
