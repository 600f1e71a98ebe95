"""What a release may contain, as far as listing and announcing need it: complete, without the profile."""

from collections.abc import Mapping
from dataclasses import dataclass

from publisher.core.digests import Digest
from publisher.core.profile import Need, Profile, Release, Row
from publisher.core.signing import Format


@dataclass(frozen=True, slots=True)
class Entry:
    """One public key that a release may have; `artifact` is what a sidecar is about."""

    key: str
    artifact: str | None
    row: Row | None
    format: Format


@dataclass(frozen=True, slots=True)
class Contents:
    """Everything that a release may contain, where it is served, and what the project calls itself."""

    project: str
    release: Release
    entries: tuple[Entry, ...]
    base_url: str
    key_prefix: str

    def url(self, key: str) -> str:
        """Give the canonical URL of a public key."""
        return self.base_url + key.removeprefix(self.key_prefix)

    def find_key(self, url: str) -> str | None:
        """Give the public key that `url` leads to, or None if it is not of this project."""
        return self.key_prefix + url.removeprefix(self.base_url) if url.startswith(self.base_url) else None

    @property
    def rows(self) -> Mapping[str, Row]:
        """Give the rows of the artifacts that are listed, by key."""
        return {entry.key: entry.row for entry in self.entries if entry.row is not None}


@dataclass(frozen=True, slots=True)
class PublicFile:
    """One public file as the store describes it; `size` in bytes."""

    entry: Entry
    size: int
    digest: Digest


def list_contents(profile: Profile, release: Release) -> Contents:
    """List what `release` may contain by the rules of `profile`."""
    return Contents(
        project=profile.name,
        release=release,
        entries=tuple(
            Entry(item.key, item.artifact, item.row, item.format)
            for item in profile.expect(release).values()
            if item.need is not Need.FORBIDDEN
        ),
        base_url=profile.base_url,
        key_prefix=profile.key_prefix,
    )
