"""Writes to the gate's store, every write fenced: the store's ETag, then the lease, then the write."""

from collections.abc import Callable, Mapping

from publisher.core.gate import OWNER, Change
from publisher.errors import ConflictError, GateLostError, StoreError
from publisher.ports import Gate
from publisher.workflow.world import World

_TRIES = 20


class GateKeeper:
    """Changes entries of the gate for whoever holds the lease.

    A promoter who lost the lease cannot write any more: the next holder's claim has changed the ETag.
    """

    def __init__(self, gate: Gate, check_lease: Callable[[], None]) -> None:
        self._gate = gate
        self._check_lease = check_lease
        self._etag = ""
        self._entries: dict[str, str] | None = None

    def write(self, make_change: Callable[[Mapping[str, str]], Change]) -> bool:
        """Make a change, in as many updates as it takes, and tell whether there was any.

        Args:
            make_change: Says what is still to be changed, from the entries as they are; called again after
                each update and each conflict, with the lease checked just before.

        Raises:
            LeaseError: The lease was lost; the gate stays as it is.
        """
        conflicts = 0
        written = False
        while conflicts < _TRIES:
            if self._entries is None:
                # In this order: entries that are newer than the ETag make the update fail, not go wrong.
                self._etag = self._gate.read_etag()
                self._entries = dict(self._gate.read_entries())
            self._check_lease()
            batch = make_change(self._entries).batch()
            if not batch:
                return written
            try:
                self._etag = self._gate.update(batch, self._etag)
            except ConflictError:
                conflicts += 1
                self._entries = None
            else:
                self._entries = batch.apply(self._entries)
                written = True
        raise StoreError("the gate's store keeps answering conflict", "see who else writes to it; run again")


def claim_gate(world: World, keeper: GateKeeper, token: str) -> None:
    """Write a fresh owner key, so that a write that a former holder still has under way fails.

    Raises:
        GateLostError: The store has no owner key, yet there were promotions: it was lost or replaced.
    """

    def claim(entries: Mapping[str, str]) -> Change:
        if OWNER not in entries and world.state.has_promotions():
            raise GateLostError(
                "the gate's store is empty, though there were promotions", "publisher gate rebuild"
            )
        return Change({OWNER: token}) if entries.get(OWNER) != token else Change()

    keeper.write(claim)


def claim_lost_gate(world: World, keeper: GateKeeper, token: str) -> None:
    """Write a fresh owner key into a store that may have been lost."""
    _ = world
    keeper.write(lambda entries: Change({OWNER: token}) if entries.get(OWNER) != token else Change())
