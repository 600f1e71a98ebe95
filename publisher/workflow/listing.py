"""Brings the release database to what is public: only differences are written, and read back."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from publisher.core.contents import Contents, PublicFile
from publisher.core.digests import Digest
from publisher.core.listing import (
    FileRow,
    FoundFile,
    FoundRelease,
    ListedFile,
    ReleaseRow,
    compute_release,
    compute_rows,
    refuse_release,
    refuse_systems,
    refuse_taken,
)
from publisher.core.listing_changes import (
    Change,
    CreateFile,
    CreateRelease,
    DeleteFile,
    UpdateFile,
    UpdateRelease,
    create_release,
    renew_release,
)
from publisher.core.listing_checks import validate_release, validate_rows
from publisher.core.listing_plan import plan_listing, plan_unlisting
from publisher.core.listing_rules import ListingRules
from publisher.core.refusals import Refusal
from publisher.core.urls import make_path
from publisher.errors import ListingError, ListingUnknownError
from publisher.ports import ReleaseDatabase
from publisher.workflow.edge import wait
from publisher.workflow.gather import list_folders
from publisher.workflow.purging import invalidate, purge
from publisher.workflow.world import World

_ROUNDS = 8
"""How often the rows are read and planned again, after writes whose answers were lost."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the rows of one release are to be."""

    rules: ListingRules
    release: ReleaseRow
    rows: tuple[FileRow, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """How the listing of one release stands: what was changed, or is to be."""

    release: str
    rows: int
    changes: tuple[Change, ...]


def read_public(world: World, contents: Contents) -> tuple[PublicFile, ...]:
    """Describe what of a release is public and not withdrawn.

    A file whose store holds no digest is streamed once.
    """
    unlisted = world.state.list_unlisted()

    def describe(key: str) -> tuple[int, Digest] | None:
        found = world.public.describe(key)
        if found is None:
            return None
        return found.size, found.digest or world.public.compute_digest(found.version)

    # One listing for each folder tells which of them there are to be asked about.
    present = list_folders(world.public, [entry.key for entry in contents.entries]) - unlisted
    entries = [entry for entry in contents.entries if entry.key in present]
    found = world.parallel.map(describe, [entry.key for entry in entries])
    return tuple(
        PublicFile(entry, size, digest)
        for entry, described in zip(entries, found, strict=True)
        if described
        for size, digest in (described,)
    )


class Lister:
    """Lists one release. `touched` tells whether it has written to the database, or may have."""

    def __init__(
        self,
        world: World,
        database: ReleaseDatabase,
        contents: Contents,
        rules: ListingRules,
        *,
        when: datetime,
    ) -> None:
        self._world = world
        self._database = database
        self._contents = contents
        self._rules = rules
        self._when = when
        self.touched = False

    def find_refusals(self, files: Iterable[PublicFile], *, create: bool) -> tuple[Refusal, ...]:
        """Find what would keep `files` from being listed; nothing is written."""
        self._database.check_access()
        wanted = self._want(files)
        found = self._database.find_release(wanted.release.slug)
        refusals = (
            *refuse_release(wanted.release, found, create=create),
            *validate_release(wanted.release),
            *validate_rows(wanted.rows, self._rules),
            *refuse_systems(wanted.rows, self._database.read_systems()),
        )
        if refusals:
            return refusals
        mine = self._database.read_files(found.id) if found else ()
        return self._refuse_taken(wanted.rows, mine, found) + self._refuse_unknown(wanted.rows, mine)

    def plan(self, files: Iterable[PublicFile]) -> Listed:
        """Plan what listing `files` would change; nothing is written."""
        wanted = self._want(files)
        found = self._database.find_release(wanted.release.slug)
        changes = self._plan(wanted, found)
        if found is None:
            # What follows from the creation; the id is nobody's.
            created = FoundRelease(0, create_release(wanted.release).row)
            changes += plan_listing(wanted.rows, (), created, wanted.release)
        return Listed(self._contents.release.name, len(wanted.rows), changes)

    def list_files(
        self,
        files: Iterable[PublicFile],
        check_lease: Callable[[], None],
        *,
        create: bool,
        renew: bool = False,
    ) -> Listed:
        """Change the rows to what `files` want, and read them back.

        `renew` tells that an earlier run may have died between a write and what the site makes of it.

        Raises:
            ListingError: The database refused something, or does not hold what was written to it.
        """
        files = tuple(files)
        refusals = self.find_refusals(files, create=create)
        if refusals:
            first = refusals[0]
            raise ListingError(f"{first.subject}: found {first.found}, expected {first.expected}", first.cure)
        made: list[Change] = []
        doubt = renew
        for _ in range(_ROUNDS):
            # Anew each time: which release is the latest may have changed meanwhile.
            wanted = self._want(files)
            found = self._database.find_release(wanted.release.slug)
            changes = self._plan(wanted, found)
            if not changes and doubt and found is not None:
                doubt = self._apply([renew_release(found)], check_lease, [])
            elif not changes:
                if made or renew or self.touched:
                    forget_listing(self._world, check_lease)
                return Listed(self._contents.release.name, len(wanted.rows), tuple(made))
            else:
                doubt = self._apply(changes, check_lease, made) or doubt
        raise ListingError(
            f"the rows of {self._contents.release.name} are not what was written to them",
            "see whether somebody else changes them; then run again",
        )

    def unlist(
        self, files: Iterable[PublicFile], check_lease: Callable[[], None]
    ) -> tuple[tuple[Change, ...], bool]:
        """Take out of the listing all but `files`; without any row, the release is no longer published.

        Returns:
            The changes that were made, and whether the family has lost its latest release by them.

        Raises:
            ListingError: The database refused something, or does not hold what was written to it.
        """
        files = tuple(files)
        slug = self._want(files).release.slug
        found = self._database.find_release(slug)
        if found is None:
            return (), False
        if any(file.entry.key in self._contents.rows for file in files):
            return self.list_files(files, check_lease, create=False, renew=True).changes, False
        made: list[Change] = []
        for _ in range(_ROUNDS):
            changes = plan_unlisting(self._read_known(found), found)
            if not changes:
                forget_listing(self._world, check_lease)
                lost = any(isinstance(each, UpdateRelease) and each.before.is_latest for each in made)
                return tuple(made), lost
            self._apply(changes, check_lease, made)
            found = self._database.find_release(slug) or found
        raise ListingError(f"the rows of {slug} are still there", "see whether somebody else writes them")

    def compare(self, files: Iterable[PublicFile]) -> tuple[Change, ...]:
        """Say what would have to change for `files`, and no others, to be listed; nothing is written."""
        files = tuple(files)
        if any(file.entry.key in self._contents.rows for file in files):
            return self.plan(files).changes
        found = self._database.find_release(self._want(files).release.slug)
        return plan_unlisting(self._read_known(found), found) if found else ()

    def _apply(self, changes: Iterable[Change], check_lease: Callable[[], None], made: list[Change]) -> bool:
        """Make changes, and tell whether the answer to one was lost, so that it has to be looked at."""
        for change in changes:
            check_lease()
            try:
                self._write(change)
            except ListingUnknownError as error:
                self._world.observer.warn(f"{error}; looking whether it was done")
                return True
            made.append(change)
        return False

    def _write(self, change: Change) -> None:
        try:
            self._database.apply(change)
        except ListingUnknownError:
            self.touched = True
            raise
        self.touched = True

    def _want(self, files: Iterable[PublicFile]) -> Wanted:
        files = tuple(files)
        rows = self._contents.rows
        listed = (
            ListedFile(file.entry.key, file.digest, file.size, rows[file.entry.key])
            for file in files
            if file.entry.key in rows
        )
        public = {file.entry.key for file in files}
        others = self._database.list_releases(self._rules.version)
        release = compute_release(self._contents.release, self._rules, others, self._when)
        return Wanted(self._rules, release, compute_rows(listed, public, self._contents.url, self._rules))

    def _plan(self, wanted: Wanted, found: FoundRelease | None) -> tuple[Change, ...]:
        if found is None:
            return (create_release(wanted.release),)
        return plan_listing(wanted.rows, self._database.read_files(found.id), found, wanted.release)

    def _refuse_taken(
        self, rows: Iterable[FileRow], mine: Iterable[FoundFile], found: FoundRelease | None
    ) -> tuple[Refusal, ...]:
        known = {file.row.slug for file in mine}
        owners = (self._database.find_file(row.slug) for row in rows if row.slug not in known)
        return refuse_taken([owner for owner in owners if owner], found.id if found else 0)

    def _read_known(self, found: FoundRelease) -> tuple[FoundFile, ...]:
        """Read the rows of a release, but for those that nothing could bring back."""
        mine = self._database.read_files(found.id)
        unknown = {refusal.subject for refusal in self._refuse_unknown((), mine)}
        for url in sorted(unknown):
            self._world.observer.warn(f"{url} is public and not in the profile: it and its row stay")
        return tuple(file for file in mine if file.row.url not in unknown)

    def _refuse_unknown(self, rows: Iterable[FileRow], mine: Iterable[FoundFile]) -> tuple[Refusal, ...]:
        """Refuse to delete rows of files that are public, and that the profile has never heard of.

        Releases from before the gate have them; the database keeps no history to bring a row back from.
        """
        known = {self._contents.url(entry.key) for entry in self._contents.entries}
        known.update(row.url for row in rows)
        stale = [file.row.url for file in mine if file.row.url not in known]
        keys = {url: self._contents.find_key(url) for url in stale}
        return tuple(
            Refusal(
                "listing",
                url,
                "a row of a public file that the profile does not know",
                "rows of files in the profile",
                "add the file to the profile, or delete the row on the site",
            )
            for url, key in keys.items()
            if key and self._world.public.describe(key)
        )


_KINDS: Mapping[type[Change], str] = {
    CreateRelease: "release created",
    CreateFile: "created",
    UpdateFile: "updated",
    DeleteFile: "deleted",
    UpdateRelease: "release updated",
}


def forget_listing(world: World, check_lease: Callable[[], None]) -> None:
    """Let every cache forget a listing that is a file of the site."""
    key = world.listing_key
    if key is not None:
        pause = partial(wait, world, check_lease)
        invalidate(world, check_lease, pause, [f"/{make_path(key)}"], "listing", world.new_id())
        purge(world, check_lease, [key])


def count_changes(changes: Iterable[Change]) -> Mapping[str, int]:
    """Count changes by their kind, for people."""
    return Counter(_KINDS[type(change)] for change in changes)
