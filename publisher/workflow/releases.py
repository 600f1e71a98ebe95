"""Turns the names that a person typed into releases, roles and commits."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

from publisher.core.profile import Profile, Release, Role
from publisher.errors import UsageError

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
