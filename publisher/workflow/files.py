"""The builder's local files: found, named and hashed."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from publisher.core.digests import Digest
from publisher.errors import UsageError


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file on this machine, and its size in bytes."""

    path: Path
    size: int


def find_files(paths: Iterable[str]) -> dict[str, LocalFile]:
    """Find the files that `paths` mean, by name: its own for a file, the path below it for a folder's.

    Raises:
        UsageError: A path does not exist, two files have one name, or there is no file at all.
    """
    found: dict[str, LocalFile] = {}
    for given in map(Path, paths):
        if not given.exists():
            raise UsageError(f"{given} does not exist", "check the path")
        inside = sorted(path for path in given.rglob("*") if path.is_file()) if given.is_dir() else [given]
        for path in inside:
            name = path.relative_to(given).as_posix() if given.is_dir() else path.name
            if name in found:
                twin = found[name].path
                raise UsageError(f"{path} and {twin} have the same name", "upload one folder at a time")
            found[name] = LocalFile(path, path.stat().st_size)
    if not found:
        raise UsageError("found no file in the paths given, expected at least one", "check the paths")
    return found


def hash_file(path: Path) -> Digest:
    """Compute the digest of a file.

    Raises:
        UsageError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            return Digest(hashlib.file_digest(file, "sha256").hexdigest())
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "see who may read it") from error
