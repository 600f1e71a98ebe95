"""Downloads staged files: under a temporary name, hashed while written, continued after an interruption."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from publisher.core.digests import Digest, display
from publisher.errors import AccessDeniedError, GoneError, StoppedError, StoreError, UsageError
from publisher.ports import Staging
from publisher.workflow.files import hash_file
from publisher.workflow.staged import StagedFile

_CHUNK = 1024**2


@dataclass(frozen=True, slots=True)
class Watch:
    """Who is to hear of bytes that came, and who knows whether to go on."""

    move: Callable[[int], None]
    stopping: Callable[[], bool]


def has_file(path: Path, file: StagedFile) -> bool:
    """Tell whether the file at `path` has the bytes of `file`; without a digest nobody can."""
    if file.digest is None or not path.is_file() or path.stat().st_size != file.stored.size:
        return False
    return hash_file(path) == file.digest


def name_part(path: Path, file: StagedFile) -> Path:
    """Name the temporary file of a download: another one for another version, so that none is mixed."""
    version = file.stored.version
    mark = hashlib.sha256(f"{version.version_id} {version.etag}".encode()).hexdigest()[:16]
    return path.with_name(f".{path.name}.{mark}.part")


def download(staging: Staging, file: StagedFile, path: Path, watch: Watch) -> None:
    """Download `file` to `path`, which has its old content, or none, until the new one is whole and checked.

    Raises:
        StoreError: The bytes have another digest, or the store failed; what came is kept for the next run.
        StoppedError: The work was given up.
        UsageError: This machine does not let it be written.
    """
    part = name_part(path, file)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        resumed = part.exists()
        found = _fill(staging, file, part, watch)
        if file.digest not in {None, found} and resumed:
            # What an earlier run left may have been damaged: once more, from the start.
            part.unlink()
            found = _fill(staging, file, part, watch)
        if file.digest not in {None, found}:
            part.unlink()
            raise StoreError(
                f"{file.key} arrived with {display(found)}, expected {display(file.digest or '')}",
                f"run again; if it stays so, {file.role} uploads it again",
            )
        part.replace(path)
        for other in path.parent.glob(f".{path.name}.{'?' * 16}.part"):
            other.unlink(missing_ok=True)
    except OSError as error:
        cure = "choose another folder: --to DIR"
        raise UsageError(f"cannot write {path}: {error.strerror}", cure) from error


def _fill(staging: Staging, file: StagedFile, part: Path, watch: Watch) -> Digest:
    """Bring the temporary file to its full size, and compute the digest of all of it."""
    digest = hashlib.sha256()
    with part.open("a+b") as target:
        target.seek(0)
        while chunk := target.read(_CHUNK):
            digest.update(chunk)
        if target.tell() > file.stored.size:
            target.truncate(0)
            target.seek(0)
            digest = hashlib.sha256()
        offset = target.tell()
        target.seek(offset)
        watch.move(offset)

        def keep(chunk: bytes) -> None:
            target.write(chunk)
            digest.update(chunk)
            watch.move(len(chunk))

        _receive(staging, file, target, keep, watch)
    return Digest(digest.hexdigest())


def _receive(
    staging: Staging, file: StagedFile, target: BinaryIO, keep: Callable[[bytes], None], watch: Watch
) -> None:
    """Receive the rest; a line that breaks is taken up again, as long as each try brings something."""
    while (begun := target.tell()) < file.stored.size:
        try:
            for chunk in staging.stream(file.stored.version, begun):
                if watch.stopping():
                    raise StoppedError("given up")
                keep(chunk)
        except (AccessDeniedError, GoneError):
            raise
        except StoreError:
            if target.tell() == begun:
                raise
        if target.tell() == begun:
            raise StoreError(f"{file.key} ended after {begun:,} of {file.stored.size:,} bytes", "run again")
