"""Takes withdrawals back: the gate first, in one step, then caches, listing and pages; safe to repeat."""

from collections.abc import Iterable
from functools import partial

from publisher.core import withdrawals_gate as gate
from publisher.core.digests import Digest
from publisher.core.refusals import Refusal
from publisher.core.withdrawals import (
    Case,
    CaseMark,
    Course,
    Restoration,
    find_next_number,
    make_restoration,
    refuse_changed,
)
from publisher.workflow.edge import forget
from publisher.workflow.seeing import OK, see
from publisher.workflow.withdrawing import Work, record_withdrawal, refresh_pages, unlist, write_case
from publisher.workflow.world import World


def find_changed(world: World, cases: Iterable[Case]) -> tuple[Refusal, ...]:
    """Refuse files that are no longer in the public bucket as they were withdrawn."""
    cases = tuple(cases)
    keys = sorted({key for case in cases for key in case.withdrawal.keys})

    def describe(key: str) -> Digest | None:
        found = world.public.describe(key)
        return found and (found.digest or world.public.compute_digest(found.version))

    found = zip(keys, world.parallel.map(describe, keys), strict=True)
    digests = {key: digest for key, digest in found if digest}
    return tuple(refusal for case in cases for refusal in refuse_changed(case, digests))


def begin(work: Work, cases: Iterable[Case], reason: str) -> tuple[tuple[Case, Restoration], ...]:
    """Write down that the withdrawals are taken back; what an earlier run wrote down stays."""
    world, name = work.world, work.release.name
    cases = tuple(cases)
    number = find_next_number(world.state.list_numbers(name), cases)
    begun: list[tuple[Case, Restoration]] = []
    for case in cases:
        restoration = make_restoration(case, number, reason, world.caller.who(), world.staging.now())
        if case.restoration is None:
            number += 1
            work.check()
            restoration = world.state.write_restoration(restoration)
        begun.append((case, restoration))
    return tuple(begun)


def show(work: Work, cases: Iterable[Case]) -> None:
    """Let every file be served again, in one step, and see that; then put them back on all lists."""
    keeper = work.held[1]
    gated = [case.withdrawal for case in cases if not case.withdrawal.unlist]
    if gated:
        work.world.observer.step("restore", "all caches forget, then one update shows all of it again")
        for withdrawal in gated:
            # While nothing is served, so that no edge remembers a miss of a key that was placed just before.
            forget(work.world, work.check, withdrawal.keys, withdrawal.id)
        keeper.write(partial(gate.reopen, withdrawals=gated))
        work.wait()
        keeper.write(partial(gate.drop_listed, withdrawals=gated))
        work.world.observer.step("look", f"every URL answers {OK}")
        see(work.world, work.check, [key for withdrawal in gated for key in withdrawal.keys], OK)
    unlist(work)
    refresh_pages(work, [key for case in cases for key in case.withdrawal.keys], "restore")


def record_restoration(work: Work, case: Case, restoration: Restoration) -> None:
    """Record a withdrawal, unless it was done, and its restoration; then it is over."""
    if case.course is not Course.WITHDRAWN:
        record_withdrawal(work, case.withdrawal)
    write_case(work, restoration)
    work.check()
    mark = CaseMark(1, case.withdrawal.id, work.world.caller.who(), work.world.staging.now())
    work.world.state.mark_case(restoration, mark)
