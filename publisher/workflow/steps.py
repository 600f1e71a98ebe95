"""The steps of a promotion, in order; each is safe to repeat, and none asks whether it ran before.

The list is open: a step is a name and a function, and what it needs is in the `Run`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from publisher.core.digests import Digest, display
from publisher.core.keys import parents
from publisher.core.plan import Plan, PlannedFile, Version
from publisher.core.promotions import Mark, Phase, make_records
from publisher.core.snapshot import Copied
from publisher.errors import ConflictError, GoneError, StoreError, UnfinishedError
from publisher.workflow.lease import LeaseHolder
from publisher.workflow.world import World

MAX_PENDING_AGE = timedelta(days=1)
"""A pending copy older than this is made again, long before the bucket's rules would expire it."""

_TRIES = 3


@dataclass
class Run:
    """One promotion under way. `streamed` counts the bytes that had to pass through this machine."""

    world: World
    lease: LeaseHolder
    plan: Plan
    who: str
    pending: dict[str, Version] = field(default_factory=dict[str, Version])
    streamed: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One act of a promotion."""

    name: str
    act: Callable[[Run], None]


def pending_key(promotion: str, key: str) -> str:
    """Give the unguessable key at which a file waits until it is placed."""
    return f"_pending/{promotion}/{key}"


def copy_files(run: Run) -> None:
    """Copy every file from its pinned staged version to its pending key, and check the copy's digest."""
    present = set(run.world.public.list_keys(pending_key(run.plan.id, "")))
    now = run.world.public.now()

    def copy(file: PlannedFile) -> int:
        key = pending_key(run.plan.id, file.key)
        found = run.world.public.describe(key) if key in present else None
        if found and found.digest == file.digest and now - found.modified <= MAX_PENDING_AGE:
            run.pending[file.key] = found.version
            return 0
        run.lease.check()
        copied = run.world.public.copy_staged(file.source, key, file.delivery)
        run.pending[file.key] = copied.version
        streamed, digest = _settle(run, copied, file.size)
        if digest != file.digest:
            raise StoreError(
                f"the copy of {file.key} has {display(digest)}, expected {display(file.digest)}",
                "nothing is public; run again",
            )
        return streamed

    _run_files(run, copy)


def place_files(run: Run) -> None:
    """Copy every pending file to its public key, which is created and never overwritten.

    A foreign object in the way does not keep the others from being placed.
    """
    folders = {parents(file.key)[-1] + "/" if parents(file.key) else file.key for file in run.plan.files}
    tops = {folder for folder in folders if not folders.intersection(f"{up}/" for up in parents(folder))}
    present = {key for top in sorted(tops) for key in run.world.public.list_keys(top)}
    foreign: list[str] = []

    def place(file: PlannedFile) -> int:
        if file.key in present:
            streamed, found = _read_back(run, file.key)
        else:
            run.lease.check()
            streamed, found = _place(run, file)
        if found != file.digest:
            foreign.append(f"{file.key}: found {display(found or '')}, expected {display(file.digest)}")
        return streamed

    _run_files(run, place)
    if foreign:
        raise UnfinishedError(
            "an object that is not of this promotion lies at a public key:\n  "
            + "\n  ".join(sorted(foreign)),
            "ops removes it; then run again",
        )


def record(run: Run) -> None:
    """Record what was made public, for each release, and mark the promotion done."""
    now = run.world.staging.now()
    for entry in make_records(run.plan, run.who, now):
        run.lease.check()
        run.world.state.write_record(entry)
    run.lease.check()
    run.world.state.mark(Phase.DONE, Mark(1, run.plan.id, run.who, now, ""))


BEFORE_LIVE = (Step("copy", copy_files),)
AFTER_LIVE = (Step("place", place_files), Step("record", record))


def run_steps(run: Run, steps: Iterable[Step]) -> None:
    """Do `steps` in order."""
    for step in steps:
        run.world.observer.step(step.name, f"promotion {run.plan.id}")
        step.act(run)


def _run_files(run: Run, work: Callable[[PlannedFile], int]) -> None:
    observer = run.world.observer
    observer.expect(len(run.plan.files), run.plan.size)

    def watched(file: PlannedFile) -> int:
        streamed = work(file)
        observer.advance(file.key, file.size)
        return streamed

    try:
        run.streamed += sum(run.world.parallel.map(watched, run.plan.files))
    finally:
        observer.finish()


def _settle(run: Run, copied: Copied, size: int) -> tuple[int, Digest]:
    """Give the bytes streamed to learn a copy's digest (none, if the store tells it), and the digest."""
    if copied.digest:
        return 0, copied.digest
    return size, run.world.public.compute_digest(copied.version)


def _place(run: Run, file: PlannedFile) -> tuple[int, Digest | None]:
    """Place one file and answer the bytes streamed and the digest that is now at its public key."""
    for _ in range(_TRIES):
        try:
            return _settle(run, _create(run, file), file.size)
        except ConflictError:
            streamed, found = _read_back(run, file.key)
            if found is not None:
                return streamed, found
    raise StoreError(
        f"{file.key} could not be created: the store keeps answering with conflicts", "run again"
    )


def _create(run: Run, file: PlannedFile) -> Copied:
    pending = run.pending.get(file.key) or _find_pending(run, file.key)
    if pending is not None:
        try:
            return run.world.public.place_pending(pending, file.key, file.delivery)
        except GoneError:
            run.pending.pop(file.key, None)
    # The pending copy expired: the staged version that it was made from has the same bytes.
    return run.world.public.place_staged(file.source, file.key, file.delivery)


def _find_pending(run: Run, key: str) -> Version | None:
    found = run.world.public.describe(pending_key(run.plan.id, key))
    return found.version if found else None


def _read_back(run: Run, key: str) -> tuple[int, Digest | None]:
    found = run.world.public.describe(key)
    if found is None:
        return 0, None
    return _settle(run, Copied(found.version, found.digest), found.size)
