"""The audit: what records, buckets, CDN, gate, pages and listing say, judged against each other."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Final

from publisher.core.audit_evidence import Evidence, Listing, Looked, Progress
from publisher.core.audit_gate import judge_gate
from publisher.core.audit_records import find_lost, judge_files, judge_records
from publisher.core.faults import FEW, Fault, Weight
from publisher.core.withdrawals import Course

PATIENCE: Final = timedelta(days=1)
"""How old a promotion may become before somebody should finish or forget it."""


def find_faults(evidence: Evidence) -> tuple[Fault, ...]:
    """Find everything that is not as it should be, the worst first; none means a healthy site."""
    found = (
        *_judge_promotions(evidence),
        *_judge_cases(evidence),
        *judge_gate(evidence.gated, whole=evidence.whole),
        *judge_records(evidence),
        *judge_files(evidence),
        *_judge_names(evidence),
        *_judge_withdrawn(evidence),
        *_judge_listings(evidence.listings),
        *(_make_stale(key) for key in evidence.stale),
        *_judge_pending(evidence),
    )
    order = list(Weight)
    return tuple(sorted(found, key=lambda fault: (order.index(fault.weight), fault.rule, fault.subject)))


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


def _judge_names(evidence: Evidence) -> Iterator[Fault]:
    owed = {key for item in evidence.unfinished for key in item.keys}
    blind = {record.release for record in evidence.records if not record.readable}
    blind.update(release for release, _ in find_lost(evidence))
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
                "ops looks who wrote it and removes it; if it is older than the gate: publisher adopt PREFIX",
            )
        elif release not in blind:
            older.append(key)
    if older and evidence.whole:
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
            f"copies that waited for promotions which have ended: {sum(ended.values())}",
            "nothing: nobody can reach them",
            "they expire by themselves",
            Weight.NOTE,
        )
