"""Everything a command needs from the outside, wired once."""

from collections.abc import Callable
from dataclasses import dataclass, field

from publisher.core.gate import Times
from publisher.core.identity import Rejected, Signed
from publisher.core.profile import Profile
from publisher.core.signing import Checked
from publisher.ports import (
    Announcer,
    Caller,
    Cdn,
    Gate,
    Hook,
    OpenPgp,
    Parallel,
    Public,
    Purger,
    ReleaseDatabase,
    SigningService,
    Staging,
    Verifier,
    Web,
)
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
    verifier: Callable[[], Verifier]
    parallel: Parallel
    sleep: Callable[[float], None]
    monotonic: Callable[[], float]
    observer: Observer
    site: Site
    signed_records: bool = True


@dataclass(frozen=True, slots=True)
class World:
    """The ports, the project's rules and the names of the roles that have credentials.

    `new_id` makes 128 unguessable bits in hex; `sleep` waits some seconds, `monotonic` counts them. What is
    needed for signatures is made when it is first asked for, since it takes a second. `signed_records` of
    False lets records be written that nobody signed. `database`, `forum`, `hook` and `purger` are None where
    the site has none; `outer_caches` are how the URLs of caches in front of the CDN begin,
    `listing_key` is the public key of a listing that is a file. `verdicts`
    remembers what was verified, by content.
    """

    profile: Profile
    provisioned: frozenset[str]
    staging: Staging
    public: Public
    caller: Caller
    gate: Gate
    cdn: Cdn
    web: Web
    verifier: Callable[[], Verifier]
    signing: Callable[[], SigningService]
    openpgp: Callable[[], OpenPgp]
    parallel: Parallel
    new_id: Callable[[], str]
    sleep: Callable[[float], None]
    monotonic: Callable[[], float]
    observer: Observer
    site: Site
    times: Times
    signed_records: bool = True
    database: Callable[[], ReleaseDatabase] | None = None
    forum: Callable[[], Announcer] | None = None
    hook: Callable[[], Hook] | None = None
    outer_caches: tuple[str, ...] = ()
    purger: Callable[[], Purger] | None = None
    listing_key: str | None = None
    verdicts: dict[tuple[str, ...], Signed | Rejected | Checked] = field(
        default_factory=dict[tuple[str, ...], Signed | Rejected | Checked]
    )

    @property
    def state(self) -> StateStore:
        """Give the typed view of `_state/`."""
        return StateStore(self.staging)

    @property
    def visitor(self) -> Visitor:
        """Give the part of it that needs no credentials."""
        return Visitor(
            profile=self.profile,
            web=self.web,
            verifier=self.verifier,
            parallel=self.parallel,
            sleep=self.sleep,
            monotonic=self.monotonic,
            observer=self.observer,
            site=self.site,
            signed_records=self.signed_records,
        )
