"""The audit of records and of what they say should be public: there, true, verified and served."""

from collections.abc import Iterator

from publisher.core.audit_evidence import Evidence, FoundRecord
from publisher.core.digests import display
from publisher.core.faults import Fault
from publisher.core.withdrawals import Course


def _list_owed(evidence: Evidence) -> set[tuple[str, int]]:
    """List the records that something unfinished is still to write, by release and number."""
    owed = {(name, number) for item in evidence.unfinished for name, number in item.numbers.items()}
    for case in evidence.cases:
        if case.course is not Course.WITHDRAWN:
            found = case.restoration or case.withdrawal
            owed.add((found.release, found.number))
    return owed


def judge_records(evidence: Evidence) -> Iterator[Fault]:
    """Find the records that are not good, not public as they are stored, or not there."""
    owed = _list_owed(evidence)
    for record in evidence.records:
        yield from _judge_record(record, is_owed=(record.release, record.number) in owed)
    for release, number in find_lost(evidence):
        yield Fault(
            "record",
            f"_state/records/{release}/{number}.json",
            "no record",
            "one for each finished promotion, amendment and withdrawal",
            "ops restores it from the bucket's versions",
        )


def find_lost(evidence: Evidence) -> Iterator[tuple[str, int]]:
    """Find the records that must have been written, and are not there."""
    owed = _list_owed(evidence)
    stored: dict[str, set[int]] = {}
    for record in evidence.records:
        stored.setdefault(record.release, set()).add(record.number)
    done = {name: set(numbers) for name, numbers in evidence.done.items()}
    for case in evidence.cases:
        if case.course is Course.WITHDRAWN:
            done.setdefault(case.withdrawal.release, set()).add(case.withdrawal.number)
    for release in sorted({*stored, *done}):
        last = max(stored.get(release, set()) | done.get(release, set()))
        for number in range(1, last + 1):
            if number not in stored.get(release, ()) and (release, number) not in owed:
                yield release, number


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


def judge_files(evidence: Evidence) -> Iterator[Fault]:
    """Find the public files that are gone or others, and the ones whose URLs serve something else."""
    gone = {key for case in evidence.cases if not case.withdrawal.unlist for key in case.withdrawal.keys}
    for key, wanted in sorted(evidence.wanted.items()):
        if key not in evidence.found:
            # What was withdrawn before it was placed never came to its public key.
            if key in gone:
                continue
            found = "no such public object"
            cure = "ops restores it from the bucket's versions"
            yield Fault("missing", key, found, f"{display(wanted.digest)} {wanted.by}", cure)
        elif evidence.found[key] != wanted.digest:
            found = display(evidence.found[key])
            cure = "ops looks into the bucket's versions who wrote it, and restores the right one"
            yield Fault("drift", key, found, f"{display(wanted.digest)} {wanted.by}", cure)
        elif key in evidence.problems:
            found = evidence.problems[key]
            cure = "see what answers there: the CDN, a cache before it, the gate; then invalidate it"
            yield Fault("url", key, found, "what the bucket has, at every public URL", cure)
