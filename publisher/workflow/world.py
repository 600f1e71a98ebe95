"""Everything a command needs from the outside, wired once."""

from collections.abc import Callable
from dataclasses import dataclass

from publisher.core.profile import Profile
from publisher.ports import Identity, Parallel, Public, Staging
from publisher.workflow.observer import Observer
from publisher.workflow.state import StateStore


@dataclass(frozen=True, slots=True)
class World:
    """The ports, the project's rules and the names of the roles that have credentials.

    `new_id` makes 128 unguessable bits in hex.
    """

    profile: Profile
    provisioned: frozenset[str]
    staging: Staging
    public: Public
    identity: Identity
    parallel: Parallel
    new_id: Callable[[], str]
    observer: Observer

    @property
    def state(self) -> StateStore:
        """Give the typed view of `_state/`."""
        return StateStore(self.staging)
