"""Turns the names that a person typed into releases, roles and commits."""

import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from difflib import get_close_matches

from publisher.core.profile import Profile, Release, Role
from publisher.core.refusals import Refusal
from publisher.core.withdrawals import refuse_withdrawn
from publisher.errors import StoreError, UsageError
from publisher.workflow.world import World

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


def parse_release(profile: Profile, name: str) -> Release:
    """Take one release name apart.

    Raises:
        UsageError: It is no version of this project.
    """
    release = profile.parse_release(name)
    if release is None:
        raise UsageError(
            f"found {name!r}, expected a version of {profile.name}: {profile.version.pattern}",
            "correct the spelling; the whole name has to match",
        )
    return release


def parse_releases(profile: Profile, names: Iterable[str]) -> tuple[Release, ...]:
    """Take several release names apart, each counted once.

    Raises:
        UsageError: One of them is no version of this project.
    """
    return tuple(parse_release(profile, name) for name in dict.fromkeys(names))


@contextmanager
def suggest_release(world: World, *names: str) -> Generator[None]:
    """Let the misuse of a name that is no release suggest one that is open, and close to it.

    For those who may read `_state/`: to others, or without a network, nothing is suggested.
    """
    try:
        yield
    except UsageError as error:
        wrong = [name for name in names if world.profile.parse_release(name) is None]
        close = find_close_release(world, wrong[0]) if wrong else None
        if close is None:
            raise
        raise UsageError(str(error), f"did you mean {close}?") from error


def suggest_opened(world: World, refusals: Iterable[Refusal]) -> None:
    """Tell of a release, opened before, that is close to one that was refused because it is not open."""
    for refusal in refusals:
        close = find_close_release(world, refusal.subject) if refusal.rule == "not-open" else None
        if close is not None:
            world.observer.warn(f"{refusal.subject} is not open; did you mean {close}?")


def find_close_release(world: World, name: str) -> str | None:
    """Find the release, among those that were opened, that a misspelt name is closest to."""
    try:
        opened = world.state.list_releases()
    except StoreError:
        return None
    close = get_close_matches(name, [other for other in opened if other != name], n=1)
    return close[0] if close else None


def find_withdrawn(world: World, names: Iterable[str]) -> tuple[Refusal, ...]:
    """Refuse releases of which something is withdrawn."""
    found = (refuse_withdrawn(name, world.state.read_cases(name)) for name in names)
    return tuple(refusal for refusals in found for refusal in refusals)


def check_role(profile: Profile, role: str) -> Role:
    """Give the role of that name.

    Raises:
        UsageError: The profile has no such role.
    """
    if role not in profile.roles:
        close = get_close_matches(role, profile.roles, n=1)
        raise UsageError(
            f"found role {role!r}, expected one of {', '.join(profile.roles)}",
            f"did you mean {close[0]!r}?" if close else "name your own role: --role NAME",
        )
    return profile.roles[role]


def check_commit(profile: Profile, commit: str | None) -> str | None:
    """Check that `commit` is a whole one, and that there is one where the profile asks for it.

    Raises:
        UsageError: It is not.
    """
    if commit is None:
        if profile.commit_required:
            raise UsageError(f"{profile.name} ties hand-overs to a commit", "give the full one: --commit SHA")
        return None
    if not _COMMIT.fullmatch(commit.lower()):
        raise UsageError(
            f"found commit {commit!r}, expected all 40 (or 64) hex digits",
            "git rev-parse 'TAG^{commit}' prints them",
        )
    return commit.lower()
