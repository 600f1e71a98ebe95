"""The tables behind both versions of the API: their constraints, and what a saved row sets off."""

import itertools
import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sandbox.release_db.values import Row

SYSTEMS = ("windows", "macos", "source", "android", "ios")
URL_FIELDS = {
    "url": "",
    "gpg_signature_file": ".asc",
    "sigstore_signature_file": ".sig",
    "sigstore_cert_file": ".crt",
    "sigstore_bundle_file": ".sigstore",
    "sbom_spdx2_file": ".spdx.json",
}
_BOXES = ("/box/supernav-python-downloads/", "/box/homepage-downloads/", "/box/download-sources/")
_START = datetime(2025, 1, 1, tzinfo=UTC)


class IntegrityError(Exception):
    """A constraint of the database refused a row."""


class PurgeError(Exception):
    """The call that tells the CDN to forget a page failed."""


class Tables:
    """Three tables. Each statement is its own, as there: no request is a transaction, but for deletions."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.systems: dict[int, Row] = {
            number: {"id": number, "name": f"{slug.capitalize()} release", "slug": slug}
            for number, slug in enumerate(SYSTEMS, start=1)
        }
        self.releases: dict[int, Row] = {}
        self.files: dict[int, Row] = {}
        self.purges: list[str] = []
        self.purges_fail = False
        self.before_save: Callable[[], None] | None = None
        """Called once, between the reading of a row and its writing: what another request does meanwhile."""
        self._ids = itertools.count(1)
        self._ticks = itertools.count(1)

    def now(self) -> str:
        """Give a time that is a second later at each call, as the API writes it."""
        when = _START + timedelta(seconds=next(self._ticks))
        return when.isoformat().replace("+00:00", "Z")

    def new_id(self) -> int:
        """Give an id that no row of any table has had."""
        return next(self._ids)

    def save_release(self, row: Row) -> None:
        """Write all of a release's columns; then demote others, and purge if it is published."""
        _meet(self)
        with self.lock:
            if any(row["slug"] == other["slug"] for other in self._others(self.releases, row)):
                raise IntegrityError("slug")
            self.releases[row["id"]] = dict(row)
            if row["is_latest"]:
                for other in self._others(self.releases, row):
                    if other["version"] == row["version"]:
                        other["is_latest"] = False
        if row["is_published"]:
            folder = re.match(r"Python (\d+\.\d+\.\d+)", row["name"])
            folders = [f"/ftp/python/{folder[1]}/"] if folder else []
            self._purge("downloads", "/ftp/python/", *folders, *_BOXES)

    def save_file(self, row: Row) -> None:
        """Write all of a file's columns, whether or not they are there; then purge if it is public."""
        _meet(self)
        with self.lock:
            release = self.releases.get(row["release"])
            others = list(self._others(self.files, row))
            if release is None or any(self._clash(row, other) for other in others):
                raise IntegrityError("slug, url, button or release")
            self.files[row["id"]] = dict(row)
        if release["is_published"]:
            self._purge(*_BOXES)

    def delete_files(self, numbers: list[int]) -> None:
        """Delete rows in one transaction, purges included: if one of these fails, nothing is deleted."""
        with self.lock:
            for number in numbers:
                if self.releases[self.files[number]["release"]]["is_published"]:
                    self._purge(*_BOXES)
            for number in numbers:
                del self.files[number]

    def delete_release(self, number: int) -> None:
        """Delete a release and its files in one transaction."""
        with self.lock:
            self.delete_files([n for n, row in self.files.items() if row["release"] == number])
            del self.releases[number]

    def has_button(self, system: int, release: int, *, but: int = 0) -> bool:
        """Tell whether a row other than `but` is the download button of a system in a release."""
        return any(
            row["download_button"] and (row["os"], row["release"]) == (system, release)
            for number, row in self.files.items()
            if number != but
        )

    @staticmethod
    def _others(table: dict[int, Row], row: Row) -> list[Row]:
        return [other for number, other in table.items() if number != row["id"]]

    @staticmethod
    def _clash(row: Row, other: Row) -> bool:
        if row["slug"] == other["slug"] or row["url"] == other["url"]:
            return True
        place = (row["os"], row["release"]) == (other["os"], other["release"])
        return bool(place and row["download_button"] and other["download_button"])

    def _purge(self, *paths: str) -> None:
        if self.purges_fail:
            raise PurgeError("timeout")
        self.purges.extend(paths)


def _meet(tables: Tables) -> None:
    meanwhile, tables.before_save = tables.before_save, None
    if meanwhile:
        meanwhile()
