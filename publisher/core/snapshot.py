"""What the world looks like at one moment: the values from which everything is decided."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal

from publisher.core.digests import Digest
from publisher.core.identity import Rejected, Signed
from publisher.core.plan import Plan, Version
from publisher.core.pointers_facts import NOTHING_KNOWN, Claim, PointerFacts
from publisher.core.profile import Release
from publisher.core.signing import Checked
from publisher.core.withdrawals import Case


@dataclass(frozen=True, slots=True)
class Described:
    """What the store tells of an object's current version.

    `digest` is None where it holds none of the whole file; `modified` is by the store's clock. `content_type`
    and `cache_control` are as it is served, `metadata` is what whoever wrote it said of it.
    """

    version: Version
    size: int
    modified: datetime
    digest: Digest | None
    content_type: str = ""
    cache_control: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Listed:
    """What a listing tells of an object; `modified` is by the store's clock."""

    key: str
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class Copied:
    """A copy the store has made; `digest` is None where it computed none of the whole file."""

    version: Version
    digest: Digest | None


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One version of an object, with the digest of its bytes.

    `streamed` tells that the store holds no digest of the whole file, so that its bytes were read once.
    """

    version: Version
    size: int
    digest: Digest
    streamed: bool = False


@dataclass(frozen=True, slots=True)
class SmallObject:
    """One version of a small object, read whole. `modified` is by the store's clock, where it was asked."""

    version_id: str
    data: bytes
    modified: datetime | None = None


@dataclass(frozen=True, slots=True)
class StagedPointers:
    """What a role says of its mutable files in POINTERS.json (`file`), and what is in them.

    `claims` is that file read: what is said of each set; or what is wrong with it; or None where there is
    none. `data` are the bytes of those that are not too large to be checked, by public key.
    """

    file: SmallObject | None = None
    claims: Mapping[str, Claim] | tuple[str, ...] | None = None
    data: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


@dataclass(frozen=True, slots=True)
class RoleStaging:
    """What one role has staged for one release; `objects` by public key, without the hand-over itself.

    `signed` is what checking SHA256SUMS.sigstore said, if there is one and the profile asks for it.
    `pointers` is None for a role that delivers no mutable files; if it does, they are among the `objects`.
    """

    objects: Mapping[str, StoredObject]
    sums: SmallObject | None = None
    commit: SmallObject | None = None
    hold: SmallObject | None = None
    signed: Signed | Rejected | None = None
    pointers: StagedPointers | None = None


@dataclass(frozen=True, slots=True)
class ReleaseState:
    """`_state/releases/<release>.json`: the attempt that counts, and since when.

    `void` names the hand-overs (role to version of SHA256SUMS) that the last re-spin set aside, so that a
    re-spin at the same commit, or of a project without COMMIT files, does not mix attempts either.
    """

    schema: Literal[1]
    release: str
    commit: str | None
    attempt: int
    reason: str
    who: str
    when: datetime
    void: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ReleaseSnapshot:
    """Everything about one release except what is public.

    `state_version` is the version of the state's object. `numbers` are those of its records. `checked` tells,
    by public key, of each staged sidecar that is checked against an artifact. `amended` gives, of each public
    sidecar that was amended, the digests that it had before; `amendments` counts the records that are of no
    promotion. `withdrawn` are the withdrawals that stand.
    """

    release: Release
    state: ReleaseState | None
    state_version: str | None
    roles: Mapping[str, RoleStaging]
    rm: Mapping[str, StoredObject]
    numbers: tuple[int, ...]
    checked: Mapping[str, Checked] = field(default_factory=dict[str, Checked])
    amended: Mapping[str, frozenset[Digest]] = field(default_factory=dict[str, frozenset[Digest]])
    amendments: int = 0
    withdrawn: tuple[Case, ...] = ()

    def has_staged(self, role: str, key: str) -> bool:
        """Tell whether `role` has staged `key`."""
        return role in self.roles and key in self.roles[role].objects

    def is_public(self, key: str, digest: Digest, published: Mapping[str, Digest]) -> bool:
        """Tell whether `digest` is what is public under `key`, or was until it was amended."""
        return key in published and (published[key] == digest or digest in self.amended.get(key, ()))


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A promotion that is neither done nor abandoned. `live` means: from here on it can only be finished."""

    plan: Plan
    live: bool


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The world, as far as these releases go.

    `today` is the store's date. `public` gives digests of the expected keys that are public, `public_names`
    every name found in the folders they lie in. `provisioned` names the roles that have credentials.
    `gate_lost` tells that the gate's store is not the one that promotions were made with, `signed_records`
    that records count only with a signature. `entries` are the gate's, `pointers` what is known of mutable
    files.
    """

    today: date
    releases: tuple[ReleaseSnapshot, ...]
    public: Mapping[str, Digest]
    public_names: frozenset[str]
    unfinished: tuple[Unfinished, ...]
    provisioned: frozenset[str]
    gate_lost: bool = False
    signed_records: bool = True
    entries: Mapping[str, str] = field(default_factory=dict[str, str])
    pointers: PointerFacts = NOTHING_KNOWN

    def published(self) -> Mapping[str, Digest]:
        """Give the digest of each key that is public, or will be as soon as a live promotion is finished."""
        owed = {file.key: file.digest for promotion in self.live() for file in promotion.plan.files}
        return {**owed, **self.public}

    def live(self) -> tuple[Unfinished, ...]:
        """List the promotions that went live and are not finished."""
        return tuple(promotion for promotion in self.unfinished if promotion.live)


def select_live(unfinished: Iterable[Unfinished], releases: Iterable[str]) -> list[Unfinished]:
    """Pick the live promotions that contain any of `releases`."""
    names = frozenset(releases)
    return [promotion for promotion in unfinished if promotion.live and promotion.plan.names() & names]
