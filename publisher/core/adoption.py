"""Adoption: what of a tree that was there before the gate is taken in, and why the rest is not."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal

from publisher.core.digests import Digest, display
from publisher.core.faults import Fault, Weight
from publisher.core.keys import RESERVED, find_conflicts, find_problem
from publisher.core.snapshot import Described, Listed

MAX_FILES: Final = 1000
MAX_STREAMED: Final = 10_000_000_000
"""An adoption is written down after so many files, or bytes that had to be read: a re-run repeats no more."""

DEFAULT_TYPE: Final = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class AdoptedFile:
    """A public object as it was found: exactly which version, and how it was served.

    `modified` is the store's time; `original` the time of the file on the disk that it came from, where the
    tool that uploaded it kept that.
    """

    key: str
    digest: Digest
    size: int
    version_id: str
    modified: datetime
    content_type: str
    cache_control: str
    original: datetime | None


@dataclass(frozen=True, slots=True)
class Adoption:
    """`_state/adopted/<id>.json`: a part of a tree that was taken in. `aliases` are folders of the gate's."""

    schema: Literal[1]
    id: str
    prefix: str
    files: tuple[AdoptedFile, ...]
    aliases: Mapping[str, str]
    who: str
    when: datetime


@dataclass(frozen=True, slots=True)
class Adopted:
    """Everything that was taken in so far, by key and by the alias's name."""

    files: Mapping[str, AdoptedFile] = field(default_factory=dict[str, AdoptedFile])
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])


def fold_adoptions(adoptions: Iterable[Adoption]) -> Adopted:
    """Put adoptions together: of a key that was adopted twice, the later one counts."""
    files: dict[str, AdoptedFile] = {}
    aliases: dict[str, str] = {}
    for adoption in sorted(adoptions, key=lambda adoption: (adoption.when, adoption.id)):
        files.update((file.key, file) for file in adoption.files)
        aliases.update(adoption.aliases)
    return Adopted(files, aliases)


def select_objects(
    objects: Iterable[Listed], adopted: Mapping[str, AdoptedFile], known: Collection[str]
) -> tuple[tuple[Listed, ...], tuple[Fault, ...]]:
    """Select what is still to be adopted, and say which of the rest never can be.

    Args:
        objects: What lies in the tree.
        adopted: What was adopted before; left alone as long as it has not been written again.
        known: Keys that something else looks after: records, pages, what is being promoted.
    """
    objects = tuple(item for item in objects if not item.key.startswith(RESERVED) and item.key not in known)
    faults = [fault for item in objects if (fault := _judge_key(item))]
    bad = {fault.subject for fault in faults}
    good = {item.key for item in objects} - bad
    conflicts = find_conflicts(good, ())
    for key, other, why in conflicts:
        cure = "ops removes one of them, or renames it"
        faults.append(Fault("key", key, f"{other} beside it: {why}", "keys that can be mirrored", cure))
    bad.update(key for key, _, _ in conflicts)
    return tuple(
        item for item in objects if item.key not in bad and not _is_adopted(item, adopted.get(item.key))
    ), tuple(faults)


def judge_again(file: AdoptedFile, before: AdoptedFile | None) -> Fault | None:
    """Refuse to adopt a key once more whose bytes are others now."""
    if before is None or before.digest == file.digest:
        return None
    return Fault(
        "drift",
        file.key,
        display(file.digest),
        f"{display(before.digest)}, as it was adopted",
        "ops looks into the bucket's versions who wrote it, and restores the right one",
    )


def judge_type(found: Described, wanted: str) -> Fault | None:
    """Tell of a media type other than the `wanted` one; it is adopted and served as it is all the same."""
    if found.content_type == wanted:
        return None
    return Fault(
        "content-type",
        found.version.key,
        found.content_type or "none",
        f"{wanted}, by the profile",
        "ops copies the object onto itself with it, and runs this again: docs/ops.md, Adopt an existing tree",
        Weight.WARNING,
    )


def find_type(key: str, types: Mapping[str, str]) -> str:
    """Find the media type of a key by its longest known suffix."""
    return types.get(max((end for end in types if key.endswith(end)), key=len, default=""), DEFAULT_TYPE)


def split_parts(objects: Iterable[Described]) -> Iterator[tuple[Described, ...]]:
    """Split what is to be adopted into parts, each of few enough files and bytes that have to be read."""
    part: list[Described] = []
    streamed = 0
    for found in objects:
        size = 0 if found.digest else found.size
        if part and (len(part) == MAX_FILES or streamed + size > MAX_STREAMED):
            yield tuple(part)
            part, streamed = [], 0
        part.append(found)
        streamed += size
    if part:
        yield tuple(part)


def adopt_object(found: Described, digest: Digest) -> AdoptedFile:
    """Take down what was found at a key."""
    return AdoptedFile(
        key=found.version.key,
        digest=digest,
        size=found.size,
        version_id=found.version.version_id,
        modified=found.modified,
        content_type=found.content_type,
        cache_control=found.cache_control,
        original=read_original(found.metadata),
    )


def read_original(metadata: Mapping[str, str]) -> datetime | None:
    """Read when a file was written that an object was made from: `original-date`, or rclone's `mtime`."""
    try:
        if "original-date" in metadata:
            return datetime.fromisoformat(metadata["original-date"]).astimezone(UTC)
        return datetime.fromtimestamp(int(float(metadata["mtime"])), UTC)
    except (KeyError, ValueError, OverflowError, OSError):
        return None


def _judge_key(item: Listed) -> Fault | None:
    problem = find_problem(item.key)
    if problem is None:
        return None
    cure = "it is served on as it is, and not watched; ops renames it"
    return Fault("key", item.key, problem, "a key that may be public", cure)


def _is_adopted(item: Listed, before: AdoptedFile | None) -> bool:
    if before is None or before.size != item.size:
        return False
    # Some stores tell more of a second in lists than of a single object.
    return before.modified.replace(microsecond=0) == item.modified.replace(microsecond=0)
