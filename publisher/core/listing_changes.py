"""Changes of the listing as values: each is one write, and says what was there before."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from publisher.core.listing import FileRow, FoundRelease, ReleaseRow


@dataclass(frozen=True, slots=True)
class CreateRelease:
    """Create a release row, unpublished."""

    row: ReleaseRow


@dataclass(frozen=True, slots=True)
class CreateFile:
    """Create a file row; `beside_button` if its operating system has a download button already."""

    release: int
    row: FileRow
    beside_button: bool


@dataclass(frozen=True, slots=True)
class UpdateFile:
    """Change a file row from `before` to `after`; `id` is None for a row that the same plan creates."""

    release: int
    id: int | None
    before: FileRow
    after: FileRow


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """Delete a file row."""

    release: int
    id: int
    row: FileRow


@dataclass(frozen=True, slots=True)
class UpdateRelease:
    """Change a release row from `before` to `after`."""

    id: int
    before: ReleaseRow
    after: ReleaseRow


FileChange = CreateFile | UpdateFile | DeleteFile
Change = CreateRelease | FileChange | UpdateRelease


def create_release(row: ReleaseRow) -> CreateRelease:
    """Create `row` without its flags: a draft's flags would act on other releases at once."""
    return CreateRelease(replace(row, is_published=False, is_latest=False))


def renew_release(release: FoundRelease) -> UpdateRelease:
    """Change nothing, so that the site makes its pages anew: to follow a write whose answer was lost."""
    return UpdateRelease(release.id, release.row, release.row)


def apply_change(rows: Mapping[int, FileRow], change: FileChange) -> dict[int, FileRow]:
    """Give what a release's rows, by id, are after `change`; a row that it creates gets a negative id."""
    after = dict(rows)
    if isinstance(change, CreateFile):
        after[min(0, *after, 0) - 1] = change.row
    elif isinstance(change, DeleteFile):
        del after[change.id]
    else:
        # Slugs are unique, and a row that the plan created has no other name yet.
        after[change.id or _find_slug(rows, change.before.slug)] = change.after
    return after


def _find_slug(rows: Mapping[int, FileRow], slug: str) -> int:
    return next(number for number, row in rows.items() if row.slug == slug)
