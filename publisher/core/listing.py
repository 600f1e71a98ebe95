"""The listing: the release database's rows as values, and what a release wants them to be."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from publisher.core.digests import Digest
from publisher.core.listing_rules import ListingRules as ListingRules
from publisher.core.plan import PlannedFile
from publisher.core.profile import Release, Row
from publisher.core.refusals import Refusal

SUFFIXES = (".asc", ".sig", ".crt", ".sigstore", ".spdx.json")
"""The sidecars that a row has a place for."""

_FINAL = re.compile(r"\D*(\d+(?:\.\d+)*)")


@dataclass(frozen=True, slots=True)
class ReleaseRow:
    """A release in the database. `release_date` has a zone; the page's text is not the publisher's."""

    name: str
    slug: str
    version: int
    is_published: bool
    is_latest: bool
    pre_release: bool
    release_date: datetime
    release_notes_url: str
    show_on_download_page: bool


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file in the database. `os` is a slug, `size` in bytes; `sidecars` are URLs by suffix.

    `sha256` is plain text, since what is found there may be anything.
    """

    name: str
    slug: str
    os: str
    url: str
    description: str
    is_source: bool
    sha256: str
    size: int
    button: bool
    sidecars: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FoundRelease:
    """A release row that is there, and its id."""

    id: int
    row: ReleaseRow


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file row that is there, its id, and the id of the release it belongs to."""

    id: int
    release: int
    row: FileRow


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A public artifact with a row, whoever knows of it: a plan, or the public bucket."""

    key: str
    digest: Digest
    size: int
    row: Row


def list_planned(files: Iterable[PlannedFile], release: str) -> tuple[ListedFile, ...]:
    """Give the planned files of `release` that have a row."""
    return tuple(
        ListedFile(file.key, file.digest, file.size, file.row)
        for file in files
        if file.row is not None and file.release == release
    )


def compute_rows(
    files: Iterable[ListedFile], public: Collection[str], url: Callable[[str], str], rules: ListingRules
) -> tuple[FileRow, ...]:
    """Compute the rows of `files`; a sidecar is named if its key is `public`."""
    return tuple(_compute_row(file, public, url, rules) for file in files)


def _compute_row(
    file: ListedFile, public: Collection[str], url: Callable[[str], str], rules: ListingRules
) -> FileRow:
    row = file.row
    return FileRow(
        # The server drops blanks at both ends; with them, every look would find a difference.
        name=row.name.strip(),
        slug=row.slug.strip(),
        os=row.os,
        url=url(file.key),
        description=row.description.strip(),
        is_source=row.os == rules.source,
        sha256=file.digest,
        size=file.size,
        button=row.button,
        sidecars={suffix: url(file.key + suffix) for suffix in SUFFIXES if file.key + suffix in public},
    )


def compute_release(
    release: Release, rules: ListingRules, others: Iterable[FoundRelease], when: datetime
) -> ReleaseRow:
    """Compute what the row of `release` is to become, as public since `when`.

    `others` are the releases of the same family that the database holds; this one may be among them.
    """
    names = {**release.groups, "release": release.name}
    row = ReleaseRow(
        name=rules.release_name.format_map(names).strip(),
        # Versions have dots, slugs may not.
        slug=rules.release_slug.format_map(names).strip().replace(".", "-"),
        version=rules.version,
        is_published=True,
        is_latest=False,
        pre_release=release.kind in rules.pre_kinds,
        release_date=when,
        release_notes_url=rules.notes.get(release.kind, "").format_map(names),
        show_on_download_page=True,
    )
    return replace(row, is_latest=is_highest(row, (other.row for other in others)))


def is_highest(row: ReleaseRow, others: Iterable[ReleaseRow]) -> bool:
    """Tell whether `row` is a final release, and none of its family's published ones is higher."""
    mine = _parse_final(row)
    if mine is None:
        return False
    theirs = (
        _parse_final(other)
        for other in others
        if other.is_published and other.version == row.version and other.slug != row.slug
    )
    return all(mine > other for other in theirs if other is not None)


def _parse_final(row: ReleaseRow) -> tuple[int, ...] | None:
    match = None if row.pre_release else _FINAL.fullmatch(row.name.strip())
    return tuple(int(part) for part in match[1].split(".")) if match else None


def refuse_release(wanted: ReleaseRow, found: FoundRelease | None, *, create: bool) -> tuple[Refusal, ...]:
    """Refuse to list in a release row that is not there (unless it is to be created) or is another's."""
    if found is None and not create:
        return (
            Refusal(
                "listing",
                wanted.slug,
                "no such release in the database",
                f"{wanted.name!r} with this slug",
                "create it on the site, or run again with --create-release",
            ),
        )
    # 3.1.42 and 3.14.2 have one slug; a doubled blank is only a slip, and corrected.
    if found is not None and found.row.name.split() != wanted.name.split():
        return (
            Refusal(
                "listing",
                wanted.slug,
                f"this slug at {found.row.name!r}",
                f"it at {wanted.name!r}",
                "correct name or slug on the site",
            ),
        )
    return ()


def refuse_systems(rows: Iterable[FileRow], systems: Collection[str]) -> tuple[Refusal, ...]:
    """Refuse rows for operating systems that the database does not have; none is ever created."""
    missing = sorted({row.os for row in rows} - set(systems))
    return tuple(
        Refusal(
            "listing",
            slug,
            "no such operating system in the database",
            f"one of {', '.join(sorted(systems))}",
            "correct os in the profile, or let an administrator of the site add it",
        )
        for slug in missing
    )


def refuse_taken(owners: Iterable[FoundFile], release: int) -> tuple[Refusal, ...]:
    """Refuse slugs whose rows (`owners`) belong to another release than `release`."""
    return tuple(
        Refusal(
            "listing",
            owner.row.slug,
            f"this slug at the row of {owner.row.url}, of another release",
            "a slug of this release's own",
            "correct slug in [listing] of the profile, or that row on the site",
        )
        for owner in owners
        if owner.release != release
    )
