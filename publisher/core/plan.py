"""The plan of a promotion: complete, so that finishing it needs neither staging nor profile."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal

from publisher.core.aliases import AliasChange
from publisher.core.contents import Contents
from publisher.core.digests import Digest, display
from publisher.core.identity import Identity
from publisher.core.listing_rules import ListingRules
from publisher.core.pointers_swap import Swap
from publisher.core.profile import Delivery, PageRule, PublicRecord, Row, Signal
from publisher.core.refusals import Refusal, Waiver

SCHEMA: Final = 1


@dataclass(frozen=True, slots=True)
class Version:
    """Exactly one version of one object; `etag` pins its bytes once more."""

    key: str
    version_id: str
    etag: str


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One public key to be created. `artifact` is the key that a sidecar is about."""

    key: str
    release: str
    role: str
    digest: Digest
    size: int
    source: Version
    delivery: Delivery
    sign: bool
    artifact: str | None
    row: Row | None


@dataclass(frozen=True, slots=True)
class PlannedRelease:
    """A release in a plan; `number` counts its records from 1.

    `identities` are whose signatures of its files count, `recorders` who may sign its record. `record` is
    None where records stay in the staging bucket. `contents` is what it may contain, `listing` how it is
    listed (None: nowhere), `signals` what others have to show before.
    """

    name: str
    commit: str | None
    attempt: int
    number: int
    identities: tuple[Identity, ...] = ()
    recorders: tuple[Identity, ...] = ()
    record: PublicRecord | None = None
    contents: Contents | None = None
    listing: ListingRules | None = None
    signals: tuple[Signal, ...] = ()


@dataclass(frozen=True, slots=True)
class Look:
    """An object of staging that must still be at `version_id` (None: absent) when the promotion goes live."""

    key: str
    version_id: str | None


@dataclass(frozen=True, slots=True)
class Extras:
    """What the promoter asked for besides the files.

    `prose` is the announcement's text, None for a drafted one; `create_release` lets a missing row of the
    release database be created.
    """

    prose: str | None = None
    create_release: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What one promotion will do.

    `waived` keeps the refusals that `waivers` set aside. `id` is unguessable; `who` is the ARN of the
    promoter and `when` the store's time of planning. `extras` says what else is to be done once it is public.
    `swap_files` are what `swaps` write over mutable files, and are not placed; `aliases` are moved.
    """

    schema: Literal[1]
    id: str
    releases: tuple[PlannedRelease, ...]
    files: tuple[PlannedFile, ...]
    looks: tuple[Look, ...]
    waivers: tuple[Waiver, ...]
    waived: tuple[Refusal, ...]
    profile: str
    profile_digest: str
    who: str
    when: datetime
    extras: Extras = field(default_factory=Extras)
    pages: PageRule | None = None
    swaps: tuple[Swap, ...] = ()
    swap_files: tuple[PlannedFile, ...] = ()
    aliases: tuple[AliasChange, ...] = ()

    @property
    def digest(self) -> str:
        """Give the digest of the intent: what is published from where, for whom, against which refusals.

        It says nothing of ids, people, times or steps done, so it stays the same from review to the end.
        """
        intent = {
            "files": _list_intent(self.files),
            "releases": sorted([r.name, r.commit or "", r.attempt] for r in self.releases),
            # What is waived, not only the pattern that does it: another hold is another decision.
            "waived": sorted([r.rule, r.subject, r.found] for r in self.waived),
            "waivers": sorted([w.rule, w.subject, w.reason] for w in self.waivers),
            # Whose signatures count, what is listed and where records go is all said there.
            "profile": self.profile_digest,
        }
        mutable = {
            "swaps": [
                [swap.name, *swap.releases, *([m.key, m.base or "", m.new] for m in swap.members)]
                for swap in self.swaps
            ],
            "swap_files": _list_intent(self.swap_files),
            "aliases": sorted([a.name, a.base or "", a.target] for a in self.aliases),
            "prose": self.extras.prose,
            "create_release": self.extras.create_release,
        }
        # Left out where there are none: plans made before there were any keep their digest.
        intent |= {name: wanted for name, wanted in mutable.items() if wanted}
        text = json.dumps(intent, separators=(",", ":"), sort_keys=True)
        return display(hashlib.sha256(text.encode()).hexdigest())

    @property
    def size(self) -> int:
        """Give the bytes to be published."""
        return sum(file.size for file in self.files)

    def find_moved(self, other: "Plan") -> tuple[str, ...]:
        """Name the objects that `other` rests on in another version, or not at all."""
        theirs = {look.key: look.version_id for look in other.looks}
        return tuple(look.key for look in self.looks if theirs.get(look.key) != look.version_id)

    def names(self) -> frozenset[str]:
        """Name the releases of this plan."""
        return frozenset(release.name for release in self.releases)

    def continues(self, other: "Plan") -> bool:
        """Tell whether going on with `other` does exactly what this plan would."""
        return replace(other, id=self.id, who=self.who, when=self.when) == self


def _list_intent(files: Iterable[PlannedFile]) -> list[list[str | int]]:
    return [
        [
            file.key,
            file.digest,
            file.size,
            file.source.key,
            file.source.version_id,
            file.delivery.content_type,
            file.delivery.cache_control,
        ]
        for file in sorted(files, key=lambda file: file.key)
    ]


def find_plan(plan: Plan, others: Iterable[Plan]) -> Plan | None:
    """Find the earlier plan, if any, that `plan` can go on with."""
    return next((other for other in others if plan.continues(other)), None)
