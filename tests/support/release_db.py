"""CPython's rows, and the listing as the publisher does it: read, plan, write, until nothing is left."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from publisher.adapters.http import Http, Limits
from publisher.adapters.release_db import ReleaseDb
from publisher.core.digests import of_bytes
from publisher.core.listing import (
    FileRow,
    FoundRelease,
    ListedFile,
    ListingRules,
    ReleaseRow,
    compute_release,
    compute_rows,
)
from publisher.core.listing_changes import create_release, renew_release
from publisher.core.listing_plan import plan_listing
from publisher.core.profile import Need, Profile, Release
from publisher.documents.profile import load_profile
from publisher.errors import ListingUnknownError
from sandbox.release_db import ReleaseDbServer

TOKEN = "0123456789abcdef0123456789abcdef01234567"
KEY = "a-key-that-nobody-sees"
WHEN = datetime(2025, 10, 7, 12, 0, tzinfo=UTC)
LIMITS = Limits(connect=10.0, read=30.0, patience=5.0)
RULES = ListingRules(
    release_name="Python {release}",
    release_slug="python-{major}{minor}{micro}{pre}",
    version=3,
    pre_kinds=frozenset({"alpha", "beta", "rc"}),
    notes={
        "beta": "https://docs.python.org/{series}/whatsnew/{series}.html",
        "rc": "https://docs.python.org/{series}/whatsnew/{series}.html",
        "final": "https://docs.python.org/release/{release}/whatsnew/changelog.html",
    },
    systems={
        "source": "Source release",
        "windows": "Windows",
        "macos": "macOS",
        "android": "Android",
        "ios": "iOS",
    },
    source="source",
    url_prefix="https://www.python.org/",
)


@cache
def load_cpython() -> Profile:
    """Load the profile that the repository ships."""
    return load_profile(Path(__file__).parents[2] / "profiles" / "cpython.toml")


def parse(name: str) -> Release:
    """Take a CPython version apart."""
    release = load_cpython().parse_release(name)
    assert release is not None
    return release


def make_rows(name: str, *, build: int = 1) -> tuple[FileRow, ...]:
    """Compute the rows of a CPython release with every file and sidecar that it may have."""
    profile = load_cpython()
    expected = profile.expect(parse(name))
    files = [
        ListedFile(item.key, of_bytes(f"{item.key} {build}".encode()), 1000 + number, item.row)
        for number, item in enumerate(expected.values())
        if item.row is not None and item.need is not Need.FORBIDDEN
    ]
    return compute_rows(files, expected.keys(), profile.url, RULES)


def make_release(name: str, others: Iterable[FoundRelease] = ()) -> ReleaseRow:
    """Compute the row of a CPython release."""
    return compute_release(parse(name), RULES, others, WHEN)


def open_db(
    server: ReleaseDbServer,
    *,
    token: str = TOKEN,
    api_key: str | None = None,
    sleep: Callable[[float], None] | None = None,
    http: Http | None = None,
) -> ReleaseDb:
    """Make a client of the stand-in; `sleep` has to be given where a wait is to be expected."""
    http = http or Http("publisher-tests", limits=LIMITS, sleep=sleep or _refuse_to_sleep)
    return ReleaseDb(http, server.url, token, api_key=api_key)


def list_release(db: ReleaseDb, wanted: tuple[FileRow, ...], row: ReleaseRow) -> FoundRelease:
    """List a release as the publisher does, and give its row as it is read back."""
    in_doubt = False
    for _ in range(9):
        try:
            found = db.find_release(row.slug)
            if found is None:
                db.apply(create_release(row))
                continue
            changes = plan_listing(wanted, db.read_files(found.id), found, row)
            for change in changes:
                db.apply(change)
            if not changes and in_doubt:
                # A page may be an old one where an answer was lost.
                db.apply(renew_release(found))
            if not changes:
                return found
        except ListingUnknownError:
            in_doubt = True
    raise AssertionError("the listing does not come to an end")


def read_rows(server: ReleaseDbServer, slug: str) -> dict[str, Mapping[str, object]]:
    """Give what the stand-in's table holds for a release, by file URL."""
    tables = server.tables
    numbers = [number for number, row in tables.releases.items() if row["slug"] == slug]
    return {row["url"]: row for row in tables.files.values() if row["release"] in numbers}


def _refuse_to_sleep(seconds: float) -> None:
    raise AssertionError(f"waited {seconds} seconds")
