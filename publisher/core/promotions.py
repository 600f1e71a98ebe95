"""How far a promotion has come, judged by its markers and by nothing else."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal

from publisher.core.aliases import AliasMoved
from publisher.core.digests import Digest
from publisher.core.identity import Identity
from publisher.core.plan import Plan, PlannedFile, Version
from publisher.core.pointers_swap import Swapped, list_swapped
from publisher.core.refusals import Refusal, Waiver
from publisher.core.withdrawals import Restoration, Withdrawal


class Phase(StrEnum):
    """The phases of a promotion: live becomes done, abandoned is the end of one never live.

    One that a withdrawal has ended is `ENDED` until its record is written, which makes it done as well.
    """

    PLANNED = "planned"
    LIVE = "live"
    ENDED = "ended"
    DONE = "done"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True)
class Mark:
    """live.json, done.json or abandoned.json: who did it, when, and why if there is more to say.

    `given_up` gives the reasons for steps that were left out, by the step's name.
    """

    schema: Literal[1]
    promotion: str
    who: str
    when: datetime
    reason: str
    given_up: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Record:
    """What one promotion made public of one release; `releases` names all of that promotion.

    `swaps` says how the sets of mutable files ended that are this release's, perhaps among others.

    Stored as a signed statement in `_state/records/<release>/<n>.json`.
    """

    schema: Literal[1]
    promotion: str
    release: str
    number: int
    releases: tuple[str, ...]
    commit: str | None
    attempt: int
    identities: tuple[Identity, ...]
    files: tuple[PlannedFile, ...]
    waivers: tuple[Waiver, ...]
    waived: tuple[Refusal, ...]
    profile: str
    profile_digest: str
    plan_digest: str
    promoter: str
    planned: datetime
    finisher: str
    recorded: datetime
    given_up: Mapping[str, str] = field(default_factory=dict[str, str])
    swaps: tuple[Swapped, ...] = ()
    aliases: tuple[AliasMoved, ...] = ()


@dataclass(frozen=True, slots=True)
class Amendment:
    """How one public sidecar was repaired: it had the digest `replaces`. Stored among the records."""

    schema: Literal[1]
    release: str
    number: int
    key: str
    artifact: str
    replaces: Digest
    digest: Digest
    size: int
    source: Version
    reason: str
    who: str
    when: datetime


AnyRecord = Record | Amendment | Withdrawal | Restoration
"""What stands among the records of a release."""


def fold(records: Iterable[AnyRecord]) -> Mapping[str, Digest]:
    """Give the digest that each public key should have, by the records of its release in their order."""
    digests: dict[str, Digest] = {}
    for record in records:
        if isinstance(record, Amendment):
            digests[record.key] = record.digest
        elif isinstance(record, Record):
            digests.update((file.key, file.digest) for file in record.files)
        elif isinstance(record, Restoration):
            digests.update((file.key, file.digest) for file in record.files if not record.unlist)
        elif not record.unlist:
            digests = {key: digest for key, digest in digests.items() if key not in record.keys}
    return digests


def find_withdrawn(records: Iterable[AnyRecord]) -> frozenset[str]:
    """Name the keys that should be gone (410), by the records of a release in their order."""
    gone: frozenset[str] = frozenset()
    for record in records:
        if isinstance(record, Withdrawal) and not record.unlist:
            gone |= frozenset(record.keys)
        elif isinstance(record, Restoration) and not record.unlist:
            gone -= {file.key for file in record.files}
    return gone


def find_amended(records: Iterable[AnyRecord]) -> Mapping[str, frozenset[Digest]]:
    """Give, of each sidecar that was amended, the digests that it had before."""
    before: dict[str, frozenset[Digest]] = {}
    for record in records:
        if isinstance(record, Amendment):
            before[record.key] = before.get(record.key, frozenset()) | {record.replaces}
    return before


def judge_phase(marks: Collection[str], *, gated: bool, ended: bool = False) -> Phase:
    """Judge a promotion with a plan by the names of its markers, by the gate and by withdrawals.

    Done beats ended, ended beats live, live beats abandoned. `gated` tells that the gate shows or has
    withdrawn it, `ended` that a withdrawal which stands has ended it.
    """
    if Phase.DONE in marks:
        return Phase.DONE
    if ended:
        return Phase.ENDED
    if Phase.LIVE in marks or gated:
        return Phase.LIVE
    return Phase.ABANDONED if Phase.ABANDONED in marks else Phase.PLANNED


def make_records(
    plan: Plan,
    finisher: str,
    when: datetime,
    given_up: Mapping[str, str],
    swapped: Iterable[Swapped] = (),
    moved: Iterable[AliasMoved] = (),
) -> tuple[Record, ...]:
    """Make the record of each release of a plan whose files are all public.

    Swaps that are not among `swapped` were given up.
    """
    moved = tuple(moved)
    swaps = list_swapped(plan.swaps, swapped)
    return tuple(
        Record(
            schema=plan.schema,
            promotion=plan.id,
            release=release.name,
            number=release.number,
            releases=tuple(planned.name for planned in plan.releases),
            commit=release.commit,
            attempt=release.attempt,
            identities=release.identities,
            files=tuple(file for file in plan.files if file.release == release.name),
            waivers=plan.waivers,
            waived=plan.waived,
            profile=plan.profile,
            profile_digest=plan.profile_digest,
            plan_digest=plan.digest,
            promoter=plan.who,
            planned=plan.when,
            finisher=finisher,
            recorded=when,
            given_up=given_up,
            swaps=tuple(each for each in swaps if release.name in each.swap.releases),
            aliases=tuple(each for each in moved if each.change.release == release.name),
        )
        for release in plan.releases
    )
