"""Swaps sets of mutable public files, member by member, each only over the bytes that it was built from."""

import hashlib
from collections.abc import Callable, Mapping
from functools import partial

from publisher.core.digests import Digest
from publisher.core.plan import Plan, PlannedFile
from publisher.core.pointers_swap import Progress, Swap, Swapped, Verdict, is_recorded, judge_set
from publisher.core.snapshot import Described
from publisher.core.urls import make_path
from publisher.errors import ConflictError, StoreError
from publisher.workflow.edge import look, wait
from publisher.workflow.purging import invalidate
from publisher.workflow.world import World

_SPARE = 3
"""Rounds besides one for each member, for writes whose answers were lost."""

Found = Mapping[str, Described | None]


class Swapper:
    """Swaps the sets of one plan. `fetch` gives the bytes of a member as they were staged.

    What is left to be done is judged by what is public alone, before each write, so a second run goes on
    where the first one ended.
    """

    def __init__(
        self,
        world: World,
        check_lease: Callable[[], None],
        plan: Plan,
        fetch: Callable[[PlannedFile], bytes],
    ) -> None:
        self._world = world
        self._check_lease = check_lease
        self._plan = plan
        self._files = {file.key: file for file in plan.swap_files}
        self._fetch = fetch

    def swap_all(self) -> tuple[Swapped, ...]:
        """Swap every set, in the plan's order, and say how each of them ended.

        Raises:
            StoreError: The store keeps answering conflict.
            EdgeError: An edge does not serve what was written.
        """
        return tuple(self._swap(swap) for swap in self._plan.swaps)

    def _swap(self, swap: Swap) -> Swapped:
        stored = self._world.state.read_history(swap.name)
        if is_recorded(stored.value if stored else None, swap):
            # Whatever others have made of it since.
            return Swapped(swap, Verdict.DONE)
        found, progress = self._write_members(swap)
        if progress.state is Verdict.SUPERSEDED:
            return Swapped(swap, Verdict.SUPERSEDED, progress.superseded, progress.left_behind)
        self._show(swap, found)
        # Last, since it says that nothing is left to be done.
        self._check_lease()
        self._world.state.extend_history(swap)
        return Swapped(swap, Verdict.DONE)

    def _write_members(self, swap: Swap) -> tuple[Found, Progress]:
        """Write what is due until nothing is; whoever lost the first member leaves the others alone."""
        for _ in range(len(swap.members) + _SPARE):
            self._check_lease()
            found = {member.key: self._world.public.describe(member.key) for member in swap.members}
            progress = judge_set(swap, self._read_digests(found))
            if progress.due is None:
                return found, progress
            self._write(self._files[progress.due.key], found[progress.due.key])
        raise StoreError(f"{swap.name} could not be swapped: the store keeps answering conflict", "run again")

    def _read_digests(self, found: Found) -> Mapping[str, Digest]:
        return {
            key: each.digest or self._world.public.compute_digest(each.version)
            for key, each in found.items()
            if each is not None
        }

    def _write(self, file: PlannedFile, found: Described | None) -> None:
        data = self._fetch(file)
        self._check_lease()
        try:
            if found is None:
                self._world.public.create(file.key, data, file.delivery)
            else:
                self._world.public.replace(file.key, data, file.delivery, found.version.etag)
        except ConflictError:
            # Somebody else's write, or a first try of this very request: judged anew by what is there.
            return

    def _show(self, swap: Swap, found: Found) -> None:
        """Let all caches forget the set, and see that each of its URLs serves what was written."""
        paths = sorted(f"/{make_path(member.key)}" for member in swap.members)
        digests = "".join(member.new for member in swap.members)
        stamp = hashlib.sha256(f"{swap.name} {digests}".encode()).hexdigest()
        pause = partial(wait, self._world, self._check_lease)
        invalidate(self._world, self._check_lease, pause, paths, self._plan.id, stamp)
        files = {self._files[key]: each.version for key, each in found.items() if each is not None}
        look(self._world, self._check_lease, files, promotion=self._plan.id, deep=False)


def describe_end(ended: Swapped) -> tuple[str, ...]:
    """Say what a person has to know of a set that somebody else has moved on meanwhile."""
    if ended.state is not Verdict.SUPERSEDED:
        return ()
    name, releases = ended.swap.name, " ".join(ended.swap.releases)
    cure = f"rebuild it from what is public, hand over, and run: publisher pointers {releases}"
    moved = f"{name} was superseded: somebody else has changed {', '.join(ended.superseded)}; {cure}"
    if not ended.left_behind:
        return (moved,)
    mixed = f"{name} is NOT WHOLE: {', '.join(ended.left_behind)} came from this promotion, the rest did not"
    return (moved, mixed)
