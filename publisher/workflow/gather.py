"""Gathers the world into a snapshot of plain values; it reads, and decides nothing."""

from collections.abc import Iterable

from publisher.core import sums
from publisher.core.decide import hold_key
from publisher.core.digests import Digest
from publisher.core.keys import parents
from publisher.core.plan import Look
from publisher.core.profile import RM, Release
from publisher.core.snapshot import (
    ReleaseSnapshot,
    RoleStaging,
    SmallObject,
    Snapshot,
    StoredObject,
)
from publisher.ports import Bucket
from publisher.workflow.world import World

_SIGNATURE = sums.NAME + "."


def gather(world: World, releases: Iterable[Release]) -> Snapshot:
    """Read everything that a decision about `releases` depends on.

    Files whose store holds no digest of the whole file are streamed once, here.
    """
    releases = tuple(releases)
    lease = world.state.read_lease()
    snapshots = tuple(_gather_release(world, release) for release in releases)
    public, names = _gather_public(world, releases)
    return Snapshot(
        today=world.staging.now().date(),
        releases=snapshots,
        public=public,
        public_names=names,
        unfinished=world.state.read_unfinished(lease.value.going_live if lease else None),
        provisioned=world.provisioned,
    )


def find_moved(world: World, looks: Iterable[Look]) -> tuple[str, ...]:
    """Look once more at what the plan rests on, and name what has changed since."""

    def check(look: Look) -> str | None:
        found = world.staging.describe(look.key)
        return None if (found.version.version_id if found else None) == look.version_id else look.key

    return tuple(key for key in world.parallel.map(check, looks) if key)


def _gather_release(world: World, release: Release) -> ReleaseSnapshot:
    state = world.state.read_release(release.name)
    return ReleaseSnapshot(
        release=release,
        state=state.value if state else None,
        state_version=state.version_id if state else None,
        roles={role: _gather_role(world, role, release.name) for role in world.profile.roles},
        rm=_gather_files(world, f"{RM}/{release.name}/", ()),
        numbers=world.state.list_numbers(release.name),
    )


def _gather_role(world: World, role: str, release: str) -> RoleStaging:
    prefix = f"{role}/{release}/"
    # The hand-over is read before the files: what is uploaded meanwhile shows as a difference.
    hand_over = {name: _read_small(world, prefix + name) for name in (sums.NAME, sums.COMMIT_NAME)}
    return RoleStaging(
        objects=_gather_files(world, prefix, hand_over),
        sums=hand_over[sums.NAME],
        commit=hand_over[sums.COMMIT_NAME],
        hold=_read_small(world, hold_key(role, release)),
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


def _read_small(world: World, key: str) -> SmallObject | None:
    found = world.staging.read(key)
    return SmallObject(found.version_id, found.data) if found else None


def _gather_public(world: World, releases: Iterable[Release]) -> tuple[dict[str, Digest], frozenset[str]]:
    expected = {key for release in releases for key in world.profile.expect(release)}
    folders = {parents(key)[-1] if parents(key) else key for key in expected}
    # Folders inside other listed folders come with these; no trailing slash, so that a file in the place
    # of a folder is found too.
    tops = {folder for folder in folders if not folders.intersection(parents(folder))}
    names = {name for top in sorted(tops) for name in world.public.list_keys(top)}
    present = sorted(names & expected)
    found = world.parallel.map(lambda key: _read_stored(world.public, key), present)
    return {stored.version.key: stored.digest for stored in found if stored}, frozenset(names)
