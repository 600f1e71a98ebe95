"""`publisher open` and `publisher respin`: which commit counts, and from when older hand-overs do not."""

from collections.abc import Iterator
from dataclasses import replace

from publisher.core import sums
from publisher.core.assess import refuse_unopened
from publisher.core.gate import find_gated
from publisher.core.profile import Release
from publisher.core.refusals import Refusal
from publisher.core.snapshot import ReleaseState, select_live
from publisher.errors import UsageError
from publisher.outcomes import Opened, Outcome, Refused
from publisher.workflow.lease import LeaseHolder, hold_lease
from publisher.workflow.releases import (
    check_commit,
    find_withdrawn,
    parse_release,
    suggest_opened,
    suggest_release,
)
from publisher.workflow.state import Stored
from publisher.workflow.world import World


def run_open(world: World, name: str, commit: str | None) -> Outcome:
    """Open a release, so that it can be promoted; opening it again at the same commit changes nothing.

    Raises:
        UsageError: The name is no release, or the commit is not a full one.
        LeaseError: A promotion is under way.
    """
    release = parse_release(world.profile, name)
    commit = check_commit(world.profile, commit)
    refusals = (
        *world.profile.refuse_series(release, world.staging.now().date()),
        *find_withdrawn(world, [name]),
    )
    if refusals:
        return Refused(refusals)
    with hold_lease(world, f"open {name}") as (lease, _):
        stored = world.state.read_release(name)
        if stored is None:
            return _write(
                world, lease, ReleaseState(1, name, commit, 1, "", "", world.staging.now(), {}), None
            )
        if stored.value.commit != commit:
            return Refused((_refuse_open(stored.value, commit),))
        return Opened(name, commit, stored.value.attempt, changed=False)


def run_respin(world: World, name: str, commit: str | None, reason: str) -> Outcome:
    """Start the next attempt of a release: what was handed over for the last one stops counting.

    Raises:
        UsageError: The name is no release, the commit is not a full one, or the reason is empty.
        LeaseError: A promotion is under way.
    """
    with suggest_release(world, name):
        release = parse_release(world.profile, name)
    commit = check_commit(world.profile, commit)
    if not reason.strip():
        raise UsageError("found an empty reason, expected why this attempt is over", "say it: --reason '…'")
    with hold_lease(world, f"respin {name}") as (lease, _):
        stored = world.state.read_release(name)
        refusals = tuple(_refuse_respin(world, release, stored))
        if stored is None or refusals:
            suggest_opened(world, refusals)
            return Refused(refusals)
        state = replace(
            stored.value,
            commit=commit,
            attempt=stored.value.attempt + 1,
            reason=reason.strip(),
            when=world.staging.now(),
            void=dict(_find_void(world, stored.value, commit)),
        )
        return _write(world, lease, state, stored.etag)


def _write(world: World, lease: LeaseHolder, state: ReleaseState, etag: str | None) -> Opened:
    lease.check()
    world.state.write_release(replace(state, who=world.caller.who()), etag)
    return Opened(state.release, state.commit, state.attempt, changed=True)


def _find_void(world: World, state: ReleaseState, commit: str | None) -> Iterator[tuple[str, str]]:
    """Find the hand-overs that the re-spin sets aside: all but those already built from its new commit."""
    for role in world.profile.deliverers():
        prefix = f"{role}/{state.release}/"
        found = world.staging.describe(prefix + sums.NAME)
        if found is None:
            continue
        claim = world.staging.read(prefix + sums.COMMIT_NAME)
        built = sums.parse_commit(claim.data) if claim else None
        version = found.version.version_id
        # What an earlier re-spin has set aside stays so, whatever commit is the next.
        if commit == state.commit or built != commit or state.void.get(role) == version:
            yield role, version


def _refuse_open(state: ReleaseState, commit: str | None) -> Refusal:
    option = f" --commit {commit}" if commit else ""
    return Refusal(
        "open",
        state.release,
        f"it open at {state.commit or 'no commit'} (attempt {state.attempt})",
        f"it not open yet, or open at {commit or 'no commit'}",
        f"run: publisher respin {state.release}{option} --reason …",
    )


def _refuse_respin(world: World, release: Release, stored: Stored[ReleaseState] | None) -> Iterator[Refusal]:
    name = release.name
    yield from find_withdrawn(world, [name])
    if stored is None:
        yield refuse_unopened(name, commit=world.profile.commit_required)
    if world.state.list_numbers(name) or select_live(
        world.state.read_unfinished(find_gated(world.gate.read_entries())), [name]
    ):
        yield Refusal(
            "public",
            name,
            "files of it public",
            "a release that nobody has seen",
            "public files never change: make a new release",
        )
