"""`publisher fetch`: staged files for those who may read them, verified while they are written."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from publisher.core.profile import RM, Release
from publisher.core.refusals import Refusal
from publisher.core.selecting import Selection, list_readable, select
from publisher.errors import StoppedError
from publisher.outcomes import Fetched, Outcome, Refused
from publisher.workflow.downloads import Watch, download, has_file
from publisher.workflow.releases import check_role, parse_release
from publisher.workflow.staged import Staged, StagedFile, find_staged
from publisher.workflow.world import World


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """What is asked for. `names` are roles, keys or ends of keys; a `role` of None is the release manager."""

    release: str
    names: tuple[str, ...] = ()
    role: str | None = None
    folder: str = "."


@dataclass(slots=True)
class _Tally:
    fetched: list[str] = field(default_factory=list[str])
    skipped: list[str] = field(default_factory=list[str])


def run(world: World, request: FetchRequest) -> Outcome:
    """Fetch staged files to `<folder>/<public key>`.

    What is there already with the right digest is left alone, and a download that broke off is continued, so
    running it again after an interruption costs only what is left. Nothing is asked for outside of the
    folders of the roles that may be read.

    Raises:
        UsageError: Release, role or a name cannot be meant.
        StoppedError: A person stopped it; what was fetched stays.
    """
    release = parse_release(world.profile, request.release)
    if request.role is not None:
        check_role(world.profile, request.role)
    readable = list_readable(world.profile, request.role)
    selection = select(world.profile, release, request.names, readable)
    if not isinstance(selection, Selection):
        return Refused(selection, waivable=False)
    found = find_staged(world, release, selection)
    refusals = found.refusals or (() if found.files else (_refuse_nothing(release, selection),))
    if refusals:
        return Refused(refusals, waivable=False)
    tally = _Tally()
    try:
        _fetch(world, found.files, Path(request.folder), tally)
    except KeyboardInterrupt:
        done = len(tally.fetched) + len(tally.skipped)
        raise StoppedError(
            f"interrupted: {done} of {len(found.files)} files are in {request.folder}, "
            "and what came of the others is kept"
        ) from None
    return _tell(request, found.files, found.staged, tally)


def _fetch(world: World, files: tuple[StagedFile, ...], folder: Path, tally: _Tally) -> None:
    world.observer.step("fetch", f"{len(files)} files into {folder}")
    world.observer.expect(len(files), sum(file.stored.size for file in files))
    watch = Watch(world.observer.move, world.parallel.stopping)

    def fetch(file: StagedFile) -> None:
        path = folder / file.key
        if has_file(path, file):
            tally.skipped.append(file.key)
            world.observer.advance(file.key, file.stored.size)
            return
        download(world.staging, file, path, watch)
        tally.fetched.append(file.key)
        world.observer.advance(file.key, 0)

    try:
        world.parallel.map(fetch, files)
    finally:
        world.observer.finish()


def _tell(
    request: FetchRequest, files: Iterable[StagedFile], staged: Iterable[Staged], tally: _Tally
) -> Fetched:
    handed_over = {found.role for found in staged if found.listed is not None}
    fetched = set(tally.fetched)
    return Fetched(
        release=request.release,
        folder=request.folder,
        fetched=tuple(sorted(fetched)),
        skipped=tuple(sorted(tally.skipped)),
        # The release manager's sidecars are part of no hand-over.
        pending=tuple(sorted({file.role for file in files} - handed_over - {RM})),
        unlisted=tuple(file.key for file in files if file.role in handed_over and file.listed is None),
        unverified=tuple(file.key for file in files if file.digest is None),
        size=sum(file.stored.size for file in files if file.key in fetched),
    )


def _refuse_nothing(release: Release, selection: Selection) -> Refusal:
    roles = ", ".join(role for role in selection.roles if role != RM)
    cure = f"wait for it: publisher wait {release.name}"
    return Refusal("missing", release.name, f"nothing staged by {roles}", "files to fetch", cure)
