"""Takes public files out of sight: what is owed first, then the gate, then caches, listing and pages.

Each act is safe to repeat, and none asks whether it ran before: a run that died is finished by the next.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from publisher.core import withdrawals_gate as gate
from publisher.core.contents import list_contents
from publisher.core.plan import Plan, PlannedFile
from publisher.core.profile import Release
from publisher.core.promotions import Record
from publisher.core.withdrawals import (
    Case,
    CaseMark,
    Course,
    Restoration,
    Withdrawal,
    WithdrawnFile,
    find_next_number,
    find_uncovered,
)
from publisher.errors import StoreError, UnfinishedError
from publisher.ports import Signer
from publisher.workflow.edge import forget, wait
from publisher.workflow.finishing import Held, read_live
from publisher.workflow.gather import list_folders
from publisher.workflow.listing import Lister, count_changes, read_public
from publisher.workflow.pages import PageWriter
from publisher.workflow.records import write_record
from publisher.workflow.seeing import GONE, see
from publisher.workflow.steps import (
    CAN_BE_GIVEN_UP,
    RESUME,
    Run,
    find_owed,
    mark_live,
    record,
    settle,
)
from publisher.workflow.world import World


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person asks for: the names of files (none: all), and whether only lists are to hide them."""

    names: tuple[str, ...]
    unlist: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Work:
    """A withdrawal or restoration under way. `signer` is None until somebody is logged in to record it."""

    world: World
    held: Held
    release: Release
    signer: Signer | None = None

    def check(self) -> None:
        """Check the lease."""
        self.held[0].check()

    def wait(self) -> None:
        """Wait until every edge has what was last written into the gate."""
        wait(self.world, self.check, self.world.times.lag)


def find_public(world: World, release: Release) -> Mapping[str, WithdrawnFile]:
    """Find every public file of a release: by its records, its profile and its live promotions."""
    name = release.name
    records = world.state.read_records(name, world.state.list_numbers(name))
    known = {file.key: file.artifact for each in records if isinstance(each, Record) for file in each.files}
    expected = {key: item.artifact for key, item in world.profile.expect(release).items()}
    planned = {
        file.key: _describe(file)
        for promotion in read_live(world, [name])
        for file in promotion.plan.files
        if file.release == name
    }
    artifacts = {**known, **expected}
    present = list_folders(world.public, artifacts) & artifacts.keys()

    def describe(key: str) -> WithdrawnFile | None:
        found = world.public.describe(key)
        if found is None:
            return None
        digest = found.digest or world.public.compute_digest(found.version)
        return WithdrawnFile(key, digest, found.size, artifacts[key])

    public = {file.key: file for file in world.parallel.map(describe, sorted(present)) if file}
    return {**public, **planned}


def begin(work: Work, chosen: Iterable[WithdrawnFile], wish: Wish) -> Withdrawal | None:
    """Place what live promotions of the release owe, end them, and write the withdrawal down.

    Without a file that is not withdrawn yet there is nothing to begin.
    """
    world, name = work.world, work.release.name
    cases = world.state.read_cases(name)
    files = {file.key: file for file in find_uncovered(chosen, cases, unlist=wish.unlist)}
    if not files:
        return None
    live = [promotion.plan for promotion in read_live(world, [name])]
    numbers = [release.number for plan in live for release in plan.releases if release.name == name]
    whole = [plan.id for plan in live if _release_files(work, plan, files, wish)]
    withdrawal = Withdrawal(
        schema=1,
        id=world.new_id(),
        release=name,
        number=find_next_number([*world.state.list_numbers(name), *numbers], cases),
        files=tuple(files[key] for key in sorted(files)),
        promotions=tuple(plan.id for plan in live),
        whole=tuple(whole),
        unlist=wish.unlist,
        reason=wish.reason,
        who=world.caller.who(),
        when=world.staging.now(),
    )
    work.check()
    world.state.write_withdrawal(withdrawal)
    return withdrawal


def _release_files(work: Work, plan: Plan, files: dict[str, WithdrawnFile], wish: Wish) -> bool:
    """Place what `plan` owes, and tell whether it is to be withdrawn by its own entry of the gate.

    It is, if the gate lists nothing of it but what is withdrawn: that is one step, and the soonest one. So
    is all of it, added to `files`, if something cannot be placed, for only the gate serves that. Else it is
    taken out of the gate.
    """
    run = _make_run(work, plan, wish.reason)
    work.world.observer.step("place", f"what promotion {plan.id} owes, which ends by this")
    error = _place(run)
    listed = gate.find_listed(work.world.gate.read_entries(), plan.id)
    if error and wish.unlist:
        raise error
    if error:
        work.world.observer.warn(f"promotion {plan.id} cannot be placed and is withdrawn whole: {error}")
        files.update((file.key, _describe(file)) for file in plan.files if file.key in listed)
    if listed and listed <= files.keys() and not wish.unlist:
        return True
    settle(run)
    return False


def _place(run: Run) -> StoreError | UnfinishedError | None:
    """Place what can be placed, and answer what went wrong if something is still owed."""
    mark_live(run)
    failed: StoreError | UnfinishedError | None = None
    for step in RESUME:
        if step.name in {"list", "place"}:
            try:
                step.act(run)
            except (StoreError, UnfinishedError) as error:
                failed = error
    return failed if failed and find_owed(run.world, run.plan) else None


def hide(work: Work, withdrawal: Withdrawal) -> None:
    """Let every spelling of every key answer 410, in one step, and see that; then take them off all lists."""
    if not withdrawal.unlist:
        _close(work, withdrawal)
        work.world.observer.step("look", f"all caches forget; every URL answers {GONE}")
        forget(work.world, work.check, withdrawal.keys, withdrawal.id)
        see(work.world, work.check, withdrawal.keys, GONE)
    unlist(work)
    refresh_pages(work, withdrawal.keys, withdrawal.id)
    _report_pointers(work, withdrawal)


def look_again(world: World, cases: Iterable[Case]) -> None:
    """Look whether what is withdrawn is gone, and purge caches that still have it; it writes nothing."""
    keys = [key for case in cases if not case.withdrawal.unlist for key in case.withdrawal.keys]
    see(world, lambda: None, keys, GONE)


def _close(work: Work, withdrawal: Withdrawal) -> None:
    keeper = work.held[1]
    entries = work.world.gate.read_entries()
    if not gate.is_closed(entries, withdrawal):
        work.world.observer.step("gate", "the keys listed, still served; waiting until every edge knows")
        keeper.write(partial(gate.list_keys, withdrawal=withdrawal))
        work.wait()
    work.world.observer.step("withdraw", "one key takes all of it out of sight")
    keeper.write(partial(gate.close, withdrawal=withdrawal))
    work.wait()
    if keeper.write(partial(gate.list_rest, withdrawal=withdrawal)):
        work.wait()
    keeper.write(partial(gate.drop_whole, withdrawal=withdrawal))


def unlist(work: Work) -> None:
    """Bring the listing of the release to what of it is public and not withdrawn."""
    world, rules = work.world, work.world.profile.listing
    if world.database is None or rules is None:
        return
    world.observer.step("listing", "rows of what is withdrawn are taken out")
    contents = list_contents(world.profile, work.release)
    lister = Lister(world, world.database(), contents, rules, when=world.staging.now())
    changes, lost = lister.unlist(read_public(world, contents), work.check)
    world.observer.note(", ".join(f"{n} {kind}" for kind, n in count_changes(changes).items()) or "no change")
    if lost:
        world.observer.warn(
            f"{work.release.name} was the latest release; to name another: publisher list RELEASE"
        )


def refresh_pages(work: Work, keys: Iterable[str], purpose: str) -> None:
    """Bring the index pages of the folders of `keys` to what is public and not withdrawn."""
    rule = work.world.profile.pages
    if rule is not None:
        work.world.observer.step("pages", "index pages of the folders that it touches")
        PageWriter(work.world, work.held[1], work.check, rule).refresh(keys, purpose)


def _report_pointers(work: Work, withdrawal: Withdrawal) -> None:
    """Tell of mutable files that still name what is withdrawn: only their builders can make new ones."""
    world = work.world
    names = [key.rpartition("/")[2].encode() for key in withdrawal.keys]
    for rule in world.profile.pointers:
        for key in rule.files:
            found = world.public.read(key)
            if found and any(name in found.data for name in names):
                world.observer.warn(f"{key} still names withdrawn files; {rule.role} stages a new one")


def record_withdrawal(work: Work, withdrawal: Withdrawal) -> None:
    """Record the promotions that ended, then the withdrawal, and mark it done."""
    world = work.world
    for promotion in withdrawal.promotions:
        record(_make_run(work, world.state.read_plan(promotion), withdrawal.reason))
    write_case(work, withdrawal)
    work.check()
    mark = CaseMark(1, withdrawal.id, world.caller.who(), world.staging.now())
    world.state.mark_case(withdrawal, mark)


def write_case(work: Work, case: Withdrawal | Restoration) -> None:
    """Record a withdrawal or its restoration, signed and beside the files that it is about."""
    write_record(
        work.world,
        work.check,
        case,
        signer=work.signer,
        recorders=work.world.profile.find_recorders(work.release),
        public=work.world.profile.place_record(work.release, case.number),
    )


def find_unfinished(cases: Iterable[Case]) -> tuple[Withdrawal, ...]:
    """Find the withdrawals that are begun and not recorded."""
    return tuple(case.withdrawal for case in cases if case.course is Course.WITHDRAWING)


def _make_run(work: Work, plan: Plan, reason: str) -> Run:
    given_up = dict.fromkeys(sorted(CAN_BE_GIVEN_UP), f"withdrawn: {reason}")
    return Run(work.world, *work.held, plan, work.world.caller.who(), work.signer, given_up, resumed=True)


def _describe(file: PlannedFile) -> WithdrawnFile:
    return WithdrawnFile(file.key, file.digest, file.size, file.artifact)
