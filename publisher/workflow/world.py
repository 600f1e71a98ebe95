"""Everything a command needs from the outside, wired once."""

from collections.abc import Callable
from dataclasses import dataclass

from publisher.core.gate import Times
from publisher.core.profile import Profile
from publisher.ports import Caller, Cdn, Gate, Parallel, Public, Staging, Web
from publisher.workflow.observer import Observer
from publisher.workflow.state import StateStore


@dataclass(frozen=True, slots=True)
class Site:
    """Where the public site is: at the CDN, and where users download. Both end with a slash."""

    cdn_url: str
    public_base_url: str


@dataclass(frozen=True, slots=True)
class Visitor:
    """What anybody has who looks at the public site: no credentials at all. `monotonic` counts seconds."""

    profile: Profile
    web: Web
    parallel: Parallel
    sleep: Callable[[float], None]
    monotonic: Callable[[], float]
    observer: Observer
    site: Site


@dataclass(frozen=True, slots=True)
class World:
    """The ports, the project's rules and the names of the roles that have credentials.

    `new_id` makes 128 unguessable bits in hex; `sleep` waits some seconds, `monotonic` counts them.
    """

    profile: Profile
    provisioned: frozenset[str]
    staging: Staging
    public: Public
    caller: Caller
    gate: Gate
    cdn: Cdn
    web: Web
    parallel: Parallel
    new_id: Callable[[], str]
    sleep: Callable[[float], None]
    monotonic: Callable[[], float]
    observer: Observer
    site: Site
    times: Times

    @property
    def state(self) -> StateStore:
        """Give the typed view of `_state/`."""
        return StateStore(self.staging)

    @property
    def visitor(self) -> Visitor:
        """Give the part of it that needs no credentials."""
        return Visitor(
            self.profile, self.web, self.parallel, self.sleep, self.monotonic, self.observer, self.site
        )
