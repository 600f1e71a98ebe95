"""Gathers the world into a snapshot of plain values; it reads, and decides nothing."""

from collections.abc import Iterable
from dataclasses import replace

from publisher.core import sums
from publisher.core.decide import hold_key
from publisher.core.digests import Digest
from publisher.core.gate import OWNER, find_gated
from publisher.core.keys import parents
from publisher.core.plan import Look
from publisher.core.pointers import NAME as POINTERS_NAME
from publisher.core.profile import RM, Release
from publisher.core.promotions import Record, find_amended
from publisher.core.snapshot import (
    ReleaseSnapshot,
    RoleStaging,
    SmallObject,
    Snapshot,
    StoredObject,
)
from publisher.ports import Bucket
from publisher.workflow.pointers import gather_pointers, read_staged_pointers
from publisher.workflow.proofs import check_hand_over, check_sidecars
from publisher.workflow.world import World

_SIGNATURE = sums.NAME + "."


def gather(world: World, releases: Iterable[Release]) -> Snapshot:
    """Read everything that a decision about `releases` depends on.

    Files whose store holds no digest of the whole file are streamed once, here.
    """
    releases = tuple(releases)
    entries = world.gate.read_entries()
    snapshots = tuple(_gather_release(world, release) for release in releases)
    public, names = _gather_public(world, releases)
    snapshot = Snapshot(
        today=world.staging.now().date(),
        releases=snapshots,
        public=public,
        public_names=names,
        unfinished=world.state.read_unfinished(find_gated(entries)),
        provisioned=world.provisioned,
        gate_lost=OWNER not in entries and world.state.has_promotions(),
        signed_records=world.signed_records,
        entries=entries,
    )
    published = snapshot.published()
    pointers = gather_pointers(world, snapshot)
    checked = (replace(found, checked=check_sidecars(world, found, published)) for found in snapshots)
    return replace(snapshot, releases=tuple(checked), pointers=pointers)


def find_moved(world: World, looks: Iterable[Look]) -> tuple[str, ...]:
    """Look once more at what the plan rests on, and name what has changed since."""

    def check(look: Look) -> str | None:
        found = world.staging.describe(look.key)
        return None if (found.version.version_id if found else None) == look.version_id else look.key

    return tuple(key for key in world.parallel.map(check, looks) if key)


def _gather_release(world: World, release: Release) -> ReleaseSnapshot:
    state = world.state.read_release(release.name)
    numbers = world.state.list_numbers(release.name)
    records = world.state.read_records(release.name, numbers)
    return ReleaseSnapshot(
        release=release,
        state=state.value if state else None,
        state_version=state.version_id if state else None,
        roles={role: _gather_role(world, role, release.name) for role in world.profile.roles},
        rm=_gather_files(world, f"{RM}/{release.name}/", ()),
        numbers=numbers,
        amended=find_amended(records),
        amendments=sum(not isinstance(record, Record) for record in records),
        withdrawn=world.state.read_cases(release.name),
    )


def _gather_role(world: World, role: str, release: str) -> RoleStaging:
    prefix = f"{role}/{release}/"
    mine = world.profile.list_pointers(role)
    names = (sums.NAME, sums.COMMIT_NAME, *((POINTERS_NAME,) if mine else ()))
    # The hand-over is read before the files: what is uploaded meanwhile shows as a difference.
    hand_over = {name: read_small(world, prefix + name) for name in names}
    objects = _gather_files(world, prefix, hand_over)
    said = hand_over.get(POINTERS_NAME)
    return RoleStaging(
        objects=objects,
        sums=hand_over[sums.NAME],
        commit=hand_over[sums.COMMIT_NAME],
        hold=read_small(world, hold_key(role, release)),
        signed=check_hand_over(world, role, prefix, hand_over[sums.NAME]),
        pointers=read_staged_pointers(world, prefix, said, objects, mine) if mine else None,
    )


def _gather_files(world: World, prefix: str, besides: Iterable[str]) -> dict[str, StoredObject]:
    besides = set(besides)
    keys = [
        key
        for key in world.staging.list_keys(prefix)
        if key.removeprefix(prefix) not in besides and not key.startswith(prefix + _SIGNATURE)
    ]
    found = world.parallel.map(lambda key: _read_stored(world.staging, key), keys)
    return {stored.version.key.removeprefix(prefix): stored for stored in found if stored}


def _read_stored(bucket: Bucket, key: str) -> StoredObject | None:
    found = bucket.describe(key)
    if found is None:
        return None
    digest = found.digest or bucket.compute_digest(found.version)
    return StoredObject(found.version, found.size, digest, streamed=found.digest is None)


def read_small(world: World, key: str) -> SmallObject | None:
    """Read a small staged object whole, or answer None if there is none."""
    found = world.staging.read(key)
    return SmallObject(found.version_id, found.data, found.modified) if found else None


def _gather_public(world: World, releases: Iterable[Release]) -> tuple[dict[str, Digest], frozenset[str]]:
    expected = {key for release in releases for key in world.profile.expect(release)}
    names = {*list_folders(world.public, expected), *_find_above(world, expected)}
    present = sorted(names & expected)
    found = world.parallel.map(lambda key: _read_stored(world.public, key), present)
    return {stored.version.key: stored.digest for stored in found if stored}, frozenset(names)


def list_folders(bucket: Bucket, keys: Iterable[str]) -> set[str]:
    """List everything in the folders that `keys` lie in, and the keys in no folder that are there."""
    folders = {(parents(key) or (key,))[-1] for key in keys}
    # What lies in a folder below another listed one comes with that.
    tops = {folder for folder in folders if not folders.intersection(parents(folder))}
    wanted = tuple(f"{folder}/" for folder in tops)
    found = {name for top in sorted(tops) for name in bucket.list_keys(top)}
    return {name for name in found if name in tops or name.startswith(wanted)}


def _find_above(world: World, keys: Iterable[str]) -> set[str]:
    """Find objects that are in the place of a folder: their name is all of a key's beginning."""
    above = sorted({folder for key in keys for folder in parents(key)})
    found = world.parallel.map(world.public.describe, above)
    return {folder for folder, there in zip(above, found, strict=True) if there}
