"""Reads and writes releases.json, the listing of projects without a release database."""

from dataclasses import dataclass
from typing import Literal

from publisher.core.listing import FoundFile, FoundRelease


@dataclass(frozen=True, slots=True)
class ReleasesFile:
    """The whole file: rows as the database of a site would hold them, each with an id that never changes."""

    schema: Literal[1]
    releases: tuple[FoundRelease, ...]
    files: tuple[FoundFile, ...]
