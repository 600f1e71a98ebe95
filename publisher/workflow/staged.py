"""Finds staged files with the rights of a builder or tester: nothing is read but what a listing shows."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from publisher.core import sums
from publisher.core.digests import Digest, display
from publisher.core.keys import find_problem
from publisher.core.plan import Version
from publisher.core.pointers import NAME as POINTERS_NAME
from publisher.core.profile import RM, Release
from publisher.core.refusals import Refusal
from publisher.core.selecting import Selection, Unknown, pick
from publisher.core.snapshot import Described, RoleStaging, StagedPointers, StoredObject
from publisher.errors import UsageError
from publisher.workflow.gather import read_small
from publisher.workflow.proofs import check_hand_over
from publisher.workflow.world import World


@dataclass(frozen=True, slots=True)
class Staged:
    """What one role has staged: its files' keys, and the digests of its hand-over (None: there is none)."""

    role: str
    keys: tuple[str, ...]
    listed: Mapping[str, Digest] | None


@dataclass(frozen=True, slots=True)
class StagedFile:
    """One staged file under its public key. `listed` is its digest by the role's SHA256SUMS, if any."""

    key: str
    role: str
    stored: Described
    listed: Digest | None

    @property
    def digest(self) -> Digest | None:
        """Give the digest that its bytes have to have, if the store or the hand-over tells one."""
        return self.stored.digest or self.listed


@dataclass(frozen=True, slots=True)
class Found:
    """The files that are meant, what the roles looked at have staged, or why it cannot be given."""

    files: tuple[StagedFile, ...]
    staged: tuple[Staged, ...]
    refusals: tuple[Refusal, ...]


def is_hand_over(key: str) -> bool:
    """Tell whether `key` is of the hand-over itself, and no artifact."""
    return key in {sums.NAME, sums.COMMIT_NAME, POINTERS_NAME} or key.startswith(f"{sums.NAME}.")


def find_staged(world: World, release: Release, selection: Selection) -> Found:
    """Find the files that `selection` means, and what was staged by the roles it looks at.

    Refused are a file that is not there, two of one name, and a digest that the hand-over contradicts.

    Raises:
        UsageError: A name is neither a role's nor a file's; it is told what was perhaps meant.
    """
    staged = tuple(_list_staged(world, release, role) for role in selection.roles)
    picked = pick(world.profile, release, selection, {found.role: found.keys for found in staged})
    if picked.unknown:
        raise _explain(picked.unknown, release, selection)
    if picked.refusals:
        return Found((), staged, picked.refusals)
    listed = {found.role: found.listed or {} for found in staged}
    described = world.parallel.map(
        lambda item: world.staging.describe(f"{item[0]}/{release.name}/{item[1]}"), picked.keys
    )
    files = tuple(
        StagedFile(key, role, stored, listed[role].get(key))
        for (role, key), stored in zip(picked.keys, described, strict=True)
        if stored
    )
    there = {(file.role, file.key) for file in files}
    gone = (_refuse_vanished(key, role) for role, key in picked.keys if (role, key) not in there)
    return Found(files, staged, (*gone, *_refuse_doubts(files, release)))


def gather_staged(world: World, role: str, release: str, digests: dict[Version, Digest]) -> RoleStaging:
    """Read what one role has staged, as far as its own rights go: of its hold nothing is known.

    Args:
        world: The ports.
        role: Whose files.
        release: Of which release.
        digests: What was computed before of files whose store holds no digest; what is now, is added.
    """
    prefix = f"{role}/{release}/"
    present = [key.removeprefix(prefix) for key in world.staging.list_keys(prefix)]
    # To a builder, what is not listed answers "forbidden", not "absent".
    signed = sums.SIGNATURE_NAME in present
    names = (sums.NAME, sums.COMMIT_NAME, POINTERS_NAME)
    hand_over = {name: read_small(world, prefix + name) for name in names if name in present}

    def read(key: str) -> tuple[str, StoredObject | None]:
        found = world.staging.describe(prefix + key)
        return key, _store(world, found, digests) if found else None

    mine = world.profile.list_pointers(role)
    # Of a role without any sets it is a stray file like any other.
    files = [key for key in present if not is_hand_over(key) or (key == POINTERS_NAME and not mine)]
    objects = world.parallel.map(read, files)
    return RoleStaging(
        objects={key: stored for key, stored in objects if stored},
        sums=hand_over.get(sums.NAME),
        commit=hand_over.get(sums.COMMIT_NAME),
        signed=check_hand_over(world, role, prefix, hand_over.get(sums.NAME)) if signed else None,
        pointers=StagedPointers(hand_over.get(POINTERS_NAME)) if mine else None,
    )


def _store(world: World, found: Described, digests: dict[Version, Digest]) -> StoredObject:
    digest = found.digest or digests.get(found.version)
    if digest is None:
        # Not by its version, which a builder may not read.
        digest = digests[found.version] = _hash(world.staging.stream(found.version, 0))
    return StoredObject(found.version, found.size, digest, streamed=found.digest is None)


def _hash(chunks: Iterable[bytes]) -> Digest:
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return Digest(digest.hexdigest())


def _list_staged(world: World, release: Release, role: str) -> Staged:
    prefix = f"{role}/{release.name}/"
    present = {key.removeprefix(prefix) for key in world.staging.list_keys(prefix)}
    files = (key for key in present if role == RM or not is_hand_over(key))
    return Staged(role, tuple(_keep_safe(world, prefix, files)), _read_sums(world, prefix, present))


def _keep_safe(world: World, prefix: str, keys: Iterable[str]) -> Iterator[str]:
    """Leave out names that could lead a file out of the folder it is fetched into, or to nowhere."""
    for key in sorted(keys):
        problem = find_problem(key)
        if problem:
            world.observer.warn(f"left out: {prefix}{key}: {problem}")
        else:
            yield key


def _read_sums(world: World, prefix: str, present: Iterable[str]) -> Mapping[str, Digest] | None:
    found = world.staging.read(prefix + sums.NAME) if sums.NAME in present else None
    parsed = sums.parse_sums(found.data) if found else None
    if isinstance(parsed, tuple):
        first = parsed[0]
        world.observer.warn(
            f"{prefix}{sums.NAME}:{first.line} cannot be read: found {first.found}, expected {first.expected}"
        )
        return None
    return parsed


def _explain(unknown: Iterable[Unknown], release: Release, selection: Selection) -> UsageError:
    first = next(iter(unknown))
    roles = ", ".join(role for role in selection.roles if role != RM)
    return UsageError(
        f"found {first.name!r}, expected a role, or a file of {release.name} that is staged by {roles}",
        f"did you mean {first.close!r}?" if first.close else "without a name everything is meant",
    )


def _refuse_vanished(key: str, role: str) -> Refusal:
    return Refusal("missing", key, f"it removed by {role} just now", "it in staging", "run again")


def _refuse_doubts(files: Iterable[StagedFile], release: Release) -> Iterator[Refusal]:
    for file in files:
        if file.listed and file.stored.digest and file.listed != file.stored.digest:
            yield Refusal(
                "digest",
                file.key,
                f"{display(file.stored.digest)} staged",
                f"{display(file.listed)} as in {file.role}/{release.name}/{sums.NAME}",
                f"{file.role} uploads the file again, or hands over again",
            )
