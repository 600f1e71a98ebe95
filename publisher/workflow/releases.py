"""Turns the release names that a person typed into releases of the project."""

from collections.abc import Iterable

from publisher.core.profile import Profile, Release
from publisher.errors import UsageError


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
