"""A release database in one public file, releases.json: each change swaps it, if nobody else did."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from publisher.core.listing import FileRow, FoundFile, FoundRelease
from publisher.core.listing_changes import (
    Change,
    CreateFile,
    CreateRelease,
    DeleteFile,
    UpdateRelease,
)
from publisher.core.profile import Delivery, Profile
from publisher.documents.releases_json import ReleasesFile
from publisher.documents.state import decode, encode
from publisher.errors import ConflictError, ListingError, ListingUnknownError
from publisher.ports import Public

NAME = "releases.json"
_DELIVERY = Delivery("application/json", "listing", "public, max-age=60")
_EMPTY = ReleasesFile(1, (), ())


class ReleasesJson:
    """The rows of a project's releases, in the public bucket beside them."""

    def __init__(self, public: Public, profile: Profile) -> None:
        self._public = public
        self._key = profile.key_prefix + NAME
        self._systems: Collection[str] = profile.listing.systems if profile.listing else ()

    def check_access(self) -> None:
        """Do nothing: the bucket itself refuses whoever may not write."""

    def read_systems(self) -> Collection[str]:
        """Give the operating systems of the profile; there are no others."""
        return self._systems

    def find_release(self, slug: str) -> FoundRelease | None:
        """Find a release, published or not."""
        return next((found for found in self._read()[0].releases if found.row.slug == slug), None)

    def list_releases(self, version: int) -> tuple[FoundRelease, ...]:
        """List every release of a family, published or not."""
        return tuple(found for found in self._read()[0].releases if found.row.version == version)

    def read_files(self, release: int) -> tuple[FoundFile, ...]:
        """Read every file row of a release, by its id."""
        return tuple(found for found in self._read()[0].files if found.release == release)

    def find_file(self, slug: str) -> FoundFile | None:
        """Find the file row with a slug, whichever release it belongs to."""
        return next((found for found in self._read()[0].files if found.row.slug == slug), None)

    def apply(self, change: Change) -> None:
        """Make one change with one write.

        Raises:
            ListingUnknownError: Somebody else wrote it, or a first try of this very request did.
        """
        current, etag = self._read()
        data = encode(_change(current, change))
        try:
            if etag is None:
                self._public.create(self._key, data, _DELIVERY)
            else:
                self._public.replace(self._key, data, _DELIVERY, etag)
        except ConflictError as error:
            raise ListingUnknownError(f"{self._key} was written meanwhile", "run again") from error

    def _read(self) -> tuple[ReleasesFile, str | None]:
        found = self._public.read(self._key)
        return (decode(ReleasesFile, found.data, self._key), found.etag) if found else (_EMPTY, None)


def _change(current: ReleasesFile, change: Change) -> ReleasesFile:
    if isinstance(change, CreateRelease):
        _refuse_second(change.row.slug, (found.row.slug for found in current.releases))
        made = FoundRelease(1 + max((found.id for found in current.releases), default=0), change.row)
        return replace(current, releases=(*current.releases, made))
    if isinstance(change, UpdateRelease):
        return replace(current, releases=tuple(_update(found, change) for found in current.releases))
    if isinstance(change, CreateFile):
        _refuse_second(change.row.slug, (found.row.slug for found in current.files))
        number = 1 + max((found.id for found in current.files), default=0)
        return replace(current, files=(*current.files, FoundFile(number, change.release, change.row)))
    if isinstance(change, DeleteFile):
        return replace(current, files=tuple(found for found in current.files if found.id != change.id))
    number = change.id or _find(current, change.release, change.before).id
    files = (replace(found, row=change.after) if found.id == number else found for found in current.files)
    return replace(current, files=tuple(files))


def _refuse_second(slug: str, taken: Iterable[str]) -> None:
    """Refuse a second row with `slug`, which another promoter may have created since the plan was made."""
    if slug in taken:
        raise ListingUnknownError(f"a row {slug} was created meanwhile", "run again")


def _update(found: FoundRelease, change: UpdateRelease) -> FoundRelease:
    """Update one release; of a family, one at most is the latest, as in the database of a site."""
    if found.id == change.id:
        return replace(found, row=change.after)
    demoted = change.after.is_latest and found.row.version == change.after.version
    return replace(found, row=replace(found.row, is_latest=False)) if demoted else found


def _find(current: ReleasesFile, release: int, row: FileRow) -> FoundFile:
    for found in current.files:
        if found.release == release and found.row.slug == row.slug:
            return found
    raise ListingError(f"the row {row.slug} is gone", "run again")
