"""`publisher upload`: a builder stages what it built and, when it is complete, says so."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from publisher.core import sums
from publisher.core.delivery import MAX_COPY_BYTES, find_missing
from publisher.core.digests import Digest, of_bytes
from publisher.core.mapping import map_names
from publisher.core.pointers import NAME as POINTERS_NAME
from publisher.core.profile import Duty, Expected, Need
from publisher.core.refusals import Refusal
from publisher.core.signatures import refuse_identity
from publisher.errors import StoppedError, UsageError
from publisher.outcomes import Outcome, Refused, Uploaded
from publisher.ports import Signer
from publisher.workflow.files import LocalFile, find_files, hash_file
from publisher.workflow.releases import check_commit, check_role, parse_release
from publisher.workflow.staged import is_hand_over
from publisher.workflow.world import World


@dataclass(frozen=True, slots=True)
class UploadRequest:
    """What a builder asks for. `paths` are files, or folders whose whole content is meant."""

    release: str
    role: str
    paths: tuple[str, ...]
    commit: str | None = None
    complete: bool = False
    prune: bool = False


@dataclass(frozen=True, slots=True)
class _Item:
    key: str
    file: LocalFile
    digest: Digest


def run(world: World, request: UploadRequest) -> Outcome:
    """Stage files at the keys that the profile gives them; with `complete`, hand over last.

    What is staged already with the same digest is left alone, so a broken upload is continued by running it
    again. A hand-over covers exactly the files given here: an older one that nobody meant to keep blocks.

    Raises:
        UsageError: Release, role, paths or commit cannot be meant; nothing was written.
        LoginError: The profile asks for a signed hand-over, and nobody is logged in; nothing was written.
    """
    release = parse_release(world.profile, request.release)
    if check_role(world.profile, request.role).duty is Duty.TESTS:
        raise UsageError(f"{request.role} tests and delivers nothing", "use the role that built the files")
    pointers = world.profile.list_pointers(request.role)
    files, own = _split(find_files(request.paths), POINTERS_NAME if pointers else None)
    commit = _find_commit(world, request, own)
    signers = world.profile.roles[request.role].signers if request.complete else ()
    mutable = {
        key: Expected(key, request.role, Need.OPTIONAL, delivery) for key, delivery in pointers.items()
    }
    expected = {**mutable, **world.profile.expect(release)}
    mapped = map_names(files, request.role, expected, {name: str(file.path) for name, file in files.items()})
    prefix = f"{request.role}/{request.release}/"
    present = {key.removeprefix(prefix) for key in world.staging.list_keys(prefix)}
    staged = {key for key in present if not is_hand_over(key)}
    leftover = sorted((staged | present & {POINTERS_NAME}) - {*mapped.keys.values(), *own})
    refusals = [
        *mapped.refusals,
        *_refuse_sizes(files),
        *_refuse_old(request, prefix, leftover, present, commit),
    ]
    if refusals:
        return Refused(tuple(refusals), waivable=False)
    # Before anything is uploaded: without a login there would be no hand-over in the end.
    signer = world.signing().log_in() if signers else None
    strangers = tuple(refuse_identity(signers, request.release, signer.identity)) if signer else ()
    if strangers:
        return Refused(strangers, waivable=False)
    world.observer.step("hash", f"{len(files)} files")
    items = world.parallel.map(lambda name: _read(mapped.keys[name], files[name]), files)
    pruned = leftover if request.prune else []
    there: list[str] = []
    try:
        uploaded = _upload(world, prefix, items, staged, there)
        for key in pruned:
            world.staging.mark_deleted(prefix + key)
        if request.complete:
            _hand_over(world, prefix, items, _read_own(commit, own), signer)
    except KeyboardInterrupt:
        raise StoppedError(
            f"interrupted: {len(there)} of {len(items)} files are staged, and not handed over by this run"
        ) from None
    mine = {key: item for key, item in expected.items() if item.role == request.role}
    complete = (staged | {item.key for item in items}) - set(pruned)
    return Uploaded(
        release=request.release,
        role=request.role,
        uploaded=tuple(uploaded),
        skipped=tuple(item.key for item in items if item.key not in uploaded),
        pruned=tuple(pruned),
        missing=tuple(find_missing(mine, complete)),
        size=sum(item.file.size for item in items if item.key in uploaded),
        handed_over=request.complete,
        stands=sums.NAME in present and not (request.complete or uploaded or pruned),
        stale=sums.NAME in present and not request.complete and bool(uploaded or pruned),
    )


def _split(
    found: Mapping[str, LocalFile], besides: str | None
) -> tuple[dict[str, LocalFile], dict[str, LocalFile]]:
    """Part the hand-over's own files, which are no artifacts, from the rest."""
    names = {sums.NAME, sums.COMMIT_NAME, besides}
    files = {name: file for name, file in found.items() if name not in names}
    if not files:
        raise UsageError("found only the hand-over's own files, expected artifacts", "check the paths")
    return files, {name: file for name, file in found.items() if name in names}


def _find_commit(world: World, request: UploadRequest, own: Mapping[str, LocalFile]) -> str | None:
    """Find what the builder says it built: `--commit`, or a COMMIT file among the paths."""
    if not request.complete:
        return None
    commit = request.commit
    if sums.COMMIT_NAME in own:
        written = sums.parse_commit(own[sums.COMMIT_NAME].path.read_bytes())
        if written is None or commit not in {None, written}:
            raise UsageError(
                f"found a COMMIT file with {written or 'no single line'}, "
                f"expected one line with {commit or 'the full commit'}",
                "correct the file or --commit",
            )
        commit = written
    return check_commit(world.profile, commit)


def _read(key: str, file: LocalFile) -> _Item:
    return _Item(key, file, hash_file(file.path))


def _upload(world: World, prefix: str, items: list[_Item], staged: set[str], there: list[str]) -> list[str]:
    """Upload what is not staged yet, and answer what that was; `there` gets each file once it is staged."""
    world.observer.step("upload", prefix)
    world.observer.expect(len(items), sum(item.file.size for item in items))

    def upload(item: _Item) -> str | None:
        # Only what the listing shows is looked at: to a builder, an absent key answers "forbidden".
        found = world.staging.describe(prefix + item.key) if item.key in staged else None
        fresh = found is None or found.digest != item.digest
        if fresh:
            world.staging.upload(prefix + item.key, item.file.path, item.digest)
        there.append(item.key)
        world.observer.advance(item.key, item.file.size)
        return item.key if fresh else None

    try:
        return [key for key in world.parallel.map(upload, items) if key]
    finally:
        world.observer.finish()


def _read_own(commit: str | None, own: Mapping[str, LocalFile]) -> dict[str, bytes]:
    """Give what is handed over besides the files: the commit, and what mutable files were built from."""
    texts = {name: own[name].path.read_bytes() for name in own if name == POINTERS_NAME}
    return {**texts, **({sums.COMMIT_NAME: f"{commit}\n".encode()} if commit else {})}


def _hand_over(
    world: World, prefix: str, items: list[_Item], besides: Mapping[str, bytes], signer: Signer | None
) -> None:
    """Write what says that these are all the files: SHA256SUMS last, after its signature if there is one."""
    digests = {item.key: item.digest for item in items}
    for name, data in besides.items():
        world.staging.put(prefix + name, data)
        digests[name] = of_bytes(data)
    listed = sums.format_sums(digests)
    if signer:
        world.staging.put(prefix + sums.SIGNATURE_NAME, signer.sign(of_bytes(listed)))
    world.staging.put(prefix + sums.NAME, listed)


def _refuse_sizes(files: Mapping[str, LocalFile]) -> Iterable[Refusal]:
    return (
        Refusal("size", name, f"{file.size:,} bytes", f"at most {MAX_COPY_BYTES:,}", "split the file")
        for name, file in files.items()
        if file.size > MAX_COPY_BYTES
    )


def _refuse_old(
    request: UploadRequest, prefix: str, leftover: Iterable[str], present: set[str], commit: str | None
) -> Iterator[Refusal]:
    """Refuse to hand over beside what an earlier upload left."""
    if request.complete and not request.prune:
        yield from map(_refuse_leftover, leftover)
    if request.complete and commit is None and sums.COMMIT_NAME in present:
        yield _refuse_commit(prefix)


def _refuse_commit(prefix: str) -> Refusal:
    return Refusal(
        "commit",
        prefix + sums.COMMIT_NAME,
        "it staged by an earlier upload, and no commit given",
        "a hand-over that lists the COMMIT beside it",
        "give the commit that was built: --commit SHA",
    )


def _refuse_leftover(key: str) -> Refusal:
    return Refusal(
        "extra",
        key,
        "it staged by an earlier upload, and not among the files given",
        "a hand-over of exactly the files given",
        "give it too, or remove it with --prune",
    )
