"""What commands answer: plain values that the output shows, each with the exit status it means."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from publisher.core.decide import Decision
from publisher.core.digests import Digest
from publisher.core.faults import Fault
from publisher.core.identity import Identity
from publisher.core.plan import Plan
from publisher.core.pointers_swap import Swapped
from publisher.core.refusals import Refusal
from publisher.core.share import Share
from publisher.core.status import ReleaseStatus
from publisher.errors import Exit


@dataclass(frozen=True, slots=True)
class Refused:
    """Why nothing was written. `finished` names live promotions that were brought to their end first.

    `waivable` tells that the command which was refused takes waivers.
    """

    refusals: tuple[Refusal, ...]
    finished: tuple[str, ...] = ()
    waivable: bool = True
    status: Exit = Exit.REFUSED


@dataclass(frozen=True, slots=True)
class Declined:
    """The question was answered with no; nothing was written. `finished` as in `Refused`."""

    finished: tuple[str, ...] = ()
    status: Exit = Exit.FAILED


@dataclass(frozen=True, slots=True)
class Promoted:
    """What a promotion did; `plan` is None if there was nothing to do. `finished` as in `Refused`.

    `swapped` says how each of the plan's sets of mutable files ended.
    """

    plan: Plan | None
    finished: tuple[str, ...]
    already_public: int
    streamed: int
    status: Exit = Exit.DONE
    swapped: tuple[Swapped, ...] = ()


@dataclass(frozen=True, slots=True)
class Planned:
    """What a dry run of promoting `releases` would do; `command` does it.

    `unfinished` names live promotions that would be finished first. `options` are words that the real run
    needs besides.
    """

    decision: Decision | None
    unfinished: tuple[str, ...]
    releases: tuple[str, ...]
    command: str = "promote"
    options: tuple[str, ...] = ()
    status: Exit = Exit.DONE


@dataclass(frozen=True, slots=True)
class Opened:
    """A release is open at a commit and attempt; `changed` tells whether this run made it so."""

    release: str
    commit: str | None
    attempt: int
    changed: bool
    status: Exit = Exit.DONE


@dataclass(frozen=True, slots=True)
class Uploaded:
    """What an upload did. `missing` names what the profile requires of the role and nobody staged."""

    release: str
    role: str
    uploaded: tuple[str, ...]
    skipped: tuple[str, ...]
    pruned: tuple[str, ...]
    missing: tuple[str, ...]
    size: int
    handed_over: bool
    stale: bool
    stands: bool
    status: Exit = Exit.DONE


@dataclass(frozen=True, slots=True)
class Held:
    """A role's hold: its reason, or None once it is lifted."""

    release: str
    role: str
    reason: str | None
    status: Exit = Exit.DONE


@dataclass(frozen=True, slots=True)
class Fetched:
    """What was fetched into `folder`, by public key; `skipped` was there already, with the right digest.

    `pending` names the roles that have not handed over yet, `unlisted` the files that their role's hand-over
    does not list, `unverified` those of which neither store nor hand-over tells a digest.
    """

    release: str
    folder: str
    fetched: tuple[str, ...]
    skipped: tuple[str, ...]
    pending: tuple[str, ...]
    unlisted: tuple[str, ...]
    unverified: tuple[str, ...]
    size: int
    status: Exit = Exit.DONE


@dataclass(frozen=True, slots=True)
class Shared:
    """A link for somebody outside, which is shown once and kept nowhere; `record` is the key of what is."""

    share: Share
    record: str
    url: str = field(repr=False)
    status: Exit = Exit.DONE


@dataclass(frozen=True, slots=True)
class Waited:
    """How waiting ended: with nothing left, or with what was still `waiting` (a role or URL, and why)."""

    release: str
    live: bool
    arrived: tuple[str, ...]
    waiting: Mapping[str, str]
    seconds: int
    status: Exit = Exit.DONE


@dataclass(frozen=True, slots=True)
class SignedRelease:
    """What of one release was signed now or had a signature, and what is `waiting` for its hand-over."""

    release: str
    signed: tuple[str, ...]
    already: tuple[str, ...]
    waiting: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SignedReleases:
    """What signing did, release by release."""

    releases: tuple[SignedRelease, ...]
    status: Exit = Exit.DONE


@dataclass(frozen=True, slots=True)
class VerifiedFile:
    """A file that is good: a sidecar (of `artifact`, signed `by`), or a public file by its record."""

    key: str
    artifact: str | None
    by: str | None


@dataclass(frozen=True, slots=True)
class Verified:
    """What was verified: signatures of what is staged, or (`public`) public files against `records` of them.

    `identities` are whose signatures count. `gone` are withdrawn files that answer 410, as they should.
    """

    release: str
    public: bool
    files: tuple[VerifiedFile, ...]
    identities: tuple[Identity, ...]
    records: int
    refusals: tuple[Refusal, ...]
    status: Exit
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attached:
    """A sidecar is staged; `changed` tells whether this run put it there."""

    release: str
    key: str
    digest: Digest
    changed: bool
    status: Exit = Exit.DONE


@dataclass(frozen=True, slots=True)
class Amended:
    """A public sidecar is what it should be; `changed` tells whether this run made it so."""

    release: str
    key: str
    digest: Digest
    changed: bool
    status: Exit = Exit.DONE


@dataclass(frozen=True, slots=True)
class ListedRelease:
    """The rows of a release are what is public; `changes` counts by kind what was changed, or would be."""

    release: str
    rows: int
    changes: Mapping[str, int]
    dry_run: bool
    status: Exit = Exit.DONE


@dataclass(frozen=True, slots=True)
class AnnouncedReleases:
    """Releases are announced, at `urls`; `changed` tells whether this run did it."""

    releases: tuple[str, ...]
    urls: tuple[str, ...]
    changed: bool
    status: Exit = Exit.DONE


@dataclass(frozen=True, slots=True)
class Drafted:
    """The text of an announcement, and the path that a blog wants it at."""

    releases: tuple[str, ...]
    path: str | None
    text: str
    status: Exit = Exit.DONE


@dataclass(frozen=True, slots=True)
class Indexed:
    """The index pages of `releases` (none: of the whole tree) are true; these were `written`."""

    releases: tuple[str, ...]
    written: tuple[str, ...]
    status: Exit = Exit.DONE


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """`keys` of a release are withdrawn, or (`unlist`) hidden from pages and listing, by `withdrawals`.

    `ended` names the live promotions that ended by it; `changed` tells whether this run did anything.
    """

    release: str
    withdrawals: tuple[str, ...]
    keys: tuple[str, ...]
    ended: tuple[str, ...]
    unlist: bool
    changed: bool
    status: Exit = Exit.DONE


@dataclass(frozen=True, slots=True)
class Restored:
    """`keys` of a release are public and listed again; `changed` tells whether this run did anything."""

    release: str
    withdrawals: tuple[str, ...]
    keys: tuple[str, ...]
    changed: bool
    status: Exit = Exit.DONE


@dataclass(frozen=True, slots=True)
class Reported:
    """The status of releases, and who holds the lease.

    `unknown` names what was opened once and is no release by the present profile.
    """

    releases: tuple[ReleaseStatus, ...]
    lease: Mapping[str, str | int] | None
    unknown: tuple[str, ...] = ()
    status: Exit = Exit.DONE


@dataclass(frozen=True, slots=True)
class Audited:
    """What an audit of `releases` (none: of the whole site) found; how many records and files it read."""

    releases: tuple[str, ...]
    faults: tuple[Fault, ...]
    records: int
    files: int
    deep: bool
    status: Exit


@dataclass(frozen=True, slots=True)
class AdoptedTree:
    """What of a tree was adopted, or (`dry_run`) would be: keys, their bytes, those that had to be read.

    `already` counts what was adopted before, `aliases` names the new ones, `faults` tells what was left out
    and what is served otherwise than the profile would.
    """

    prefix: str
    files: tuple[str, ...]
    size: int
    streamed: int
    already: int
    aliases: tuple[str, ...]
    faults: tuple[Fault, ...]
    dry_run: bool
    status: Exit


@dataclass(frozen=True, slots=True)
class Script:
    """A text for a program, printed as it is."""

    text: str
    status: Exit = Exit.DONE


@dataclass(frozen=True, slots=True)
class GateRebuilt:
    """The gate says again what the state says: which promotions are live or planned, and of what.

    `withdrawn` names the withdrawals that it hides files for.
    """

    live: tuple[str, ...]
    planned: tuple[str, ...]
    releases: tuple[str, ...]
    withdrawn: tuple[str, ...] = ()
    status: Exit = Exit.DONE


Outcome = (
    Refused
    | Declined
    | Promoted
    | Planned
    | Opened
    | Uploaded
    | Held
    | Fetched
    | Shared
    | Waited
    | SignedReleases
    | Verified
    | Attached
    | Amended
    | ListedRelease
    | AnnouncedReleases
    | Drafted
    | Indexed
    | Withdrawn
    | Restored
    | Reported
    | GateRebuilt
    | Audited
    | AdoptedTree
    | Script
)
