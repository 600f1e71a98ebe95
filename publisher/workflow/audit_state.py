"""Reads what the state and the gate say, for an audit: promotions, records, withdrawals, entries."""

from collections.abc import Mapping
from dataclasses import dataclass

from publisher.core.adoption import Adopted
from publisher.core.audit_evidence import Progress
from publisher.core.gate import OWNER, find_gated
from publisher.core.lease import seconds_left
from publisher.core.promotions import Phase
from publisher.core.snapshot import Unfinished
from publisher.core.withdrawals import Case, Course, Withdrawal
from publisher.workflow.audit_files import Scope
from publisher.workflow.audit_records import Stored, read_adopted, read_stored
from publisher.workflow.steps import find_owed
from publisher.workflow.world import World


@dataclass(frozen=True, slots=True)
class Said:
    """What the state and the gate say; `unfinished`, `cases` and `done` only of what the audit is of.

    `done` gives the numbers of the records that finished promotions must have written, by release. `lost`
    tells that the gate has no owner although there were promotions.
    """

    entries: Mapping[str, str]
    unfinished: tuple[Unfinished, ...]
    cases: tuple[Case, ...]
    stored: tuple[Stored, ...]
    adopted: Adopted
    done: Mapping[str, frozenset[int]]
    lost: bool

    @property
    def recorded(self) -> frozenset[tuple[str, int]]:
        """Name the records, by release and number, that there are or must have been."""
        pairs = {(name, number) for name, numbers in self.done.items() for number in numbers}
        pairs.update((item.release, item.number) for item in self.stored)
        pairs.update((case.withdrawal.release, case.withdrawal.number) for case in self.cases)
        return frozenset(pairs)

    @property
    def live(self) -> tuple[Unfinished, ...]:
        """List the promotions that are live."""
        return tuple(item for item in self.unfinished if item.live)

    @property
    def moving(self) -> tuple[Withdrawal, ...]:
        """List what is being withdrawn or restored."""
        return tuple(case.withdrawal for case in self.cases if case.course is not Course.WITHDRAWN)

    @property
    def moving_keys(self) -> frozenset[str]:
        """List the public keys whose pages are still to be written."""
        keys = {file.key for item in self.live for file in item.plan.files}
        return frozenset(keys.union(*(withdrawal.keys for withdrawal in self.moving)))

    @property
    def moving_releases(self) -> frozenset[str]:
        """Name the releases whose rows are still to be written."""
        names = {name for item in self.live for name in item.plan.names()}
        return frozenset(names | {withdrawal.release for withdrawal in self.moving})

    @property
    def swapping(self) -> frozenset[str]:
        """List the mutable files that are still to be swapped."""
        swaps = (swap for item in self.live for swap in item.plan.swaps)
        return frozenset(member.key for swap in swaps for member in swap.members)


def read_said(world: World, scope: Scope) -> Said:
    """Read all of it."""
    world.observer.step("state", "promotions, records and the gate")
    entries = world.gate.read_entries()
    marks = world.state.read_marks()
    unfinished = world.state.read_unfinished(find_gated(entries))
    return Said(
        entries=entries,
        unfinished=tuple(item for item in unfinished if scope.has_any(item.plan.names())),
        cases=tuple(case for case in world.state.read_cases() if scope.has(case.withdrawal.release)),
        stored=read_stored(world),
        adopted=read_adopted(world),
        done=_read_done(world, marks, scope),
        lost=OWNER not in entries and bool(marks),
    )


def describe_progress(world: World, item: Unfinished) -> Progress:
    """Say how far an unfinished promotion has come."""
    mark = world.state.read_mark(item.plan.id, Phase.LIVE) if item.live else None
    return Progress(
        id=item.plan.id,
        releases=tuple(release.name for release in item.plan.releases),
        live=item.live,
        since=mark.when if mark else item.plan.when,
        keys=tuple(file.key for file in item.plan.files) if item.live else (),
        owed=tuple(file.key for file in find_owed(world, item.plan)) if item.live else (),
        numbers={release.name: release.number for release in item.plan.releases},
    )


def is_busy(world: World) -> bool:
    """Tell whether somebody holds the lease."""
    stored = world.state.read_lease()
    return stored is not None and bool(seconds_left(stored.value, stored.modified, stored.now))


def _read_done(
    world: World, marks: Mapping[str, frozenset[str]], scope: Scope
) -> Mapping[str, frozenset[int]]:
    done = [promotion for promotion, found in sorted(marks.items()) if {"plan", Phase.DONE} <= found]
    numbers: dict[str, frozenset[int]] = {}
    for plan in world.parallel.map(world.state.read_plan, done):
        for release in plan.releases:
            if scope.has(release.name):
                numbers[release.name] = numbers.get(release.name, frozenset()) | {release.number}
    return numbers
