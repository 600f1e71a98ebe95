"""The audit: what records, buckets, CDN, gate, pages and listing say, judged against each other."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from publisher.core.audit_gate import Gated, judge_gate
from publisher.core.digests import Digest, display
from publisher.core.faults import FEW, Fault, Weight
from publisher.core.identity import Rejected
from publisher.core.promotions import Amendment, AnyRecord
from publisher.core.withdrawals import Case, Course

PATIENCE: Final = timedelta(days=1)
"""How old a promotion may become before somebody should finish or forget it."""


class Looked(StrEnum):
    """What came of looking at something outside: it was as it should be, is not, or nobody could look."""

    DIFFERS = "differs"
    BLIND = "blind"


@dataclass(frozen=True, slots=True)
class Progress:
    """A promotion that has not ended. `since` is when it went live, or was planned.

    `owed` are the keys of a live one that are not placed; `numbers` those that its records are to have.
    """

    id: str
    releases: tuple[str, ...]
    live: bool
    since: datetime
    owed: tuple[str, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """A stored record: what verifying it said, its digest, and that of its public copy.

    `public_key` is None where records stay in the staging bucket, `public` where there is no copy. `readable`
    tells whether it says anything at all.
    """

    release: str
    number: int
    problem: Rejected | None
    digest: Digest
    public_key: str | None
    public: Digest | None
    readable: bool = True


@dataclass(frozen=True, slots=True)
class Wanted:
    """What should be at a public key: by the records of `release`, or (None) since it was adopted.

    `version_id` names the adopted version.
    """

    digest: Digest
    size: int
    release: str | None
    version_id: str | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """What came of comparing the listing of a release; `given_up` tells that its record says so."""

    release: str
    state: Looked
    found: str
    given_up: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that was looked at, as it was found.

    `busy` tells that somebody holds the lease. `done` gives the numbers of the records that finished
    promotions wrote. `wanted` and `found` are what should be and is in the public bucket, `problems` what is
    wrong with URLs, by key; all but the first as far as was looked. `names` are the other keys that were
    seen, `expected` gives the release whose files some of them are by the profile. `cases` are withdrawals,
    and `served` what withdrawn keys answer instead of 410. `stale` are index pages, `pending` counts waiting
    copies by promotion. `whole` tells that all of the site was looked at.
    """

    now: datetime
    busy: bool
    gated: Gated
    unfinished: tuple[Progress, ...]
    done: Mapping[str, frozenset[int]]
    records: tuple[FoundRecord, ...]
    wanted: Mapping[str, Wanted]
    found: Mapping[str, Digest]
    problems: Mapping[str, str]
    names: frozenset[str]
    expected: Mapping[str, str]
    cases: tuple[Case, ...] = ()
    served: Mapping[str, str] = field(default_factory=dict[str, str])
    listings: tuple[Listing, ...] = ()
    stale: tuple[str, ...] = ()
    pending: Mapping[str, int] = field(default_factory=dict[str, int])
    whole: bool = True


def find_faults(evidence: Evidence) -> tuple[Fault, ...]:
    """Find everything that is not as it should be, the worst first; none means a healthy site."""
    found = (
        *_judge_promotions(evidence),
        *_judge_cases(evidence),
        *judge_gate(evidence.gated, whole=evidence.whole),
        *_judge_records(evidence),
        *_judge_files(evidence),
        *_judge_names(evidence),
        *_judge_withdrawn(evidence),
        *_judge_listings(evidence.listings),
        *(_make_stale(key) for key in evidence.stale),
        *_judge_pending(evidence),
    )
    order = list(Weight)
    return tuple(sorted(found, key=lambda fault: (order.index(fault.weight), fault.rule, fault.subject)))


def fold_files(records: Iterable[AnyRecord]) -> dict[str, Wanted]:
    """Give what each public key of a release should hold, by its records in their order.

    What is withdrawn stays in the bucket.
    """
    wanted: dict[str, Wanted] = {}
    for record in records:
        files = (record,) if isinstance(record, Amendment) else record.files
        wanted.update((file.key, Wanted(file.digest, file.size, record.release)) for file in files)
    return wanted


def _judge_promotions(evidence: Evidence) -> Iterator[Fault]:
    for promotion in evidence.unfinished:
        age = evidence.now - promotion.since
        names = " ".join(promotion.releases)
        if not promotion.live:
            if age > PATIENCE:
                yield Fault(
                    "planned",
                    promotion.id,
                    f"a plan for {names} of {promotion.since:%Y-%m-%d %H:%M} UTC that never went live",
                    "plans that are carried out, or replaced by the next one",
                    f"nothing of it is public; go on when it is time: publisher promote {names}",
                    Weight.WARNING,
                )
            continue
        yield from _judge_live(promotion, names, busy=evidence.busy, old=age > PATIENCE)


def _judge_live(promotion: Progress, names: str, *, busy: bool, old: bool) -> Iterator[Fault]:
    cure = f"run: publisher promote {names}"
    if promotion.owed and not busy:
        count = len(promotion.owed)
        some = ", ".join(promotion.owed[:FEW])
        found = f"{count} files of {names} that are not at their public keys: {some}"
        yield Fault("unplaced", promotion.id, found, "every file of a live promotion placed", cure)
    elif old or not busy:
        yield Fault(
            "unfinished",
            promotion.id,
            f"a promotion of {names} that is live since {promotion.since:%Y-%m-%d %H:%M} UTC",
            "its record, and the gate without it",
            cure,
            Weight.FAULT if old else Weight.WARNING,
        )


def _judge_cases(evidence: Evidence) -> Iterator[Fault]:
    for case in evidence.cases:
        found = case.restoration or case.withdrawal
        old = evidence.now - found.when > PATIENCE
        if case.course is Course.WITHDRAWN or (evidence.busy and not old):
            continue
        verb = "restore" if case.restoration else "withdraw"
        yield Fault(
            "unfinished",
            found.id,
            f"a run of publisher {verb} {found.release}, begun {found.when:%Y-%m-%d %H:%M} UTC",
            "its record",
            f"run it again: publisher {verb} {found.release} --reason '…'",
            Weight.FAULT if old else Weight.WARNING,
        )


def _list_owed(evidence: Evidence) -> set[tuple[str, int]]:
    """List the records that something unfinished is still to write, by release and number."""
    owed = {(name, number) for item in evidence.unfinished for name, number in item.numbers.items()}
    for case in evidence.cases:
        if case.course is not Course.WITHDRAWN:
            found = case.restoration or case.withdrawal
            owed.add((found.release, found.number))
    return owed


def _judge_records(evidence: Evidence) -> Iterator[Fault]:
    owed = _list_owed(evidence)
    for record in evidence.records:
        yield from _judge_record(record, is_owed=(record.release, record.number) in owed)
    stored: dict[str, set[int]] = {}
    for record in evidence.records:
        stored.setdefault(record.release, set()).add(record.number)
    for release in sorted({*stored, *evidence.done}):
        numbers = stored.get(release, set()) | evidence.done.get(release, frozenset())
        for number in range(1, max(numbers) + 1):
            if number not in stored.get(release, ()) and (release, number) not in owed:
                yield Fault(
                    "record",
                    f"_state/records/{release}/{number}.json",
                    "no record",
                    "one for each finished promotion and amendment",
                    "ops restores it from the bucket's versions",
                )


def _judge_record(record: FoundRecord, *, is_owed: bool) -> Iterator[Fault]:
    name = f"_state/records/{record.release}/{record.number}.json"
    if record.problem:
        cure = record.problem.hint or "ops looks who wrote it, in the bucket's versions"
        yield Fault("record", name, record.problem.found, record.problem.expected, cure)
    # Between the two writes of a promotion that is still to be finished, there is only the first.
    if record.public_key is None or record.public == record.digest or (is_owed and not record.public):
        return
    found = display(record.public) if record.public else "no public copy"
    yield Fault(
        "record-copy",
        record.public_key,
        found,
        f"{display(record.digest)}, as {name} has",
        "an amendment is published by amending again, all else is for ops: copy the stored one there",
    )


def _judge_files(evidence: Evidence) -> Iterator[Fault]:
    gone = {key for case in evidence.cases if not case.withdrawal.unlist for key in case.withdrawal.keys}
    for key, wanted in sorted(evidence.wanted.items()):
        by = "by its record" if wanted.release else "as it was adopted"
        if key not in evidence.found:
            # What was withdrawn before it was placed never came to its public key.
            if key in gone:
                continue
            found = "no such public object"
            cure = "ops restores it from the bucket's versions"
            yield Fault("missing", key, found, f"{display(wanted.digest)} {by}", cure)
        elif evidence.found[key] != wanted.digest:
            found = display(evidence.found[key])
            cure = "ops looks into the bucket's versions who wrote it, and restores the right one"
            yield Fault("drift", key, found, f"{display(wanted.digest)} {by}", cure)
        elif key in evidence.problems:
            found = evidence.problems[key]
            cure = "see what answers there: the CDN, a cache before it, the gate; then invalidate it"
            yield Fault("url", key, found, "what the bucket has, at every public URL", cure)


def _judge_names(evidence: Evidence) -> Iterator[Fault]:
    owed = {key for item in evidence.unfinished for key in item.owed}
    blind = {record.release for record in evidence.records if not record.readable}
    recorded = {record.release for record in evidence.records} - blind
    older: list[str] = []
    for key in sorted(evidence.names - evidence.wanted.keys() - owed):
        release = evidence.expected.get(key)
        if release in recorded:
            yield Fault(
                "unrecorded",
                key,
                f"an object at a key of {release} that no record of it names",
                "what was promoted, and nothing else",
                "ops looks who wrote it, and removes it; then promote it as a late file",
            )
        elif release not in blind:
            older.append(key)
    if older:
        some = ", ".join(older[:FEW])
        yield Fault(
            "older",
            "objects older than the gate",
            f"{len(older)} that no record names: {some}",
            "nothing: what becomes of them is not watched",
            "to have them watched: publisher adopt PREFIX",
            Weight.NOTE,
        )


def _judge_withdrawn(evidence: Evidence) -> Iterator[Fault]:
    for key, found in sorted(evidence.served.items()):
        cure = "see: publisher withdraw, which purges the outer caches again; then ops looks at the gate"
        yield Fault("withdrawn", key, found, "status 410, since it was withdrawn", cure)


def _judge_listings(listings: Iterable[Listing]) -> Iterator[Fault]:
    for listing in listings:
        blind = listing.state is Looked.BLIND
        yield Fault(
            "listing",
            listing.release,
            listing.found,
            "rows that could be read" if blind else "rows of what is public, and no others",
            "see docs/ops.md, Audit" if blind else f"run: publisher list {listing.release}",
            Weight.WARNING if blind or listing.given_up else Weight.FAULT,
        )


def _make_stale(key: str) -> Fault:
    cure = "run: publisher index --all"
    return Fault("index", key, "no page, or an old one", "a page of what is public", cure)


def _judge_pending(evidence: Evidence) -> Iterator[Fault]:
    known = {promotion.id for promotion in evidence.unfinished}
    ended = {name: count for name, count in evidence.pending.items() if name not in known}
    if ended:
        yield Fault(
            "pending",
            "_pending/",
            f"{sum(ended.values())} waiting copies of {len(ended)} promotions that have ended",
            "nothing: nobody can reach them",
            "they expire by themselves",
            Weight.NOTE,
        )
