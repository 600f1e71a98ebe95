"""Checks of rows before anything is sent: the database stores much that it should not."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from publisher.core.listing import SUFFIXES, FileRow, ListingRules, ReleaseRow
from publisher.core.refusals import Refusal

MAX_TEXT = 200
MAX_URL = MAX_TEXT - max(map(len, SUFFIXES))
"""What leaves room for the longest suffix."""

MAX_SIZE = 2**31 - 1
"""The largest size, in bytes, that the database can hold."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_SLUG = re.compile(r"[A-Za-z0-9_-]+")
_URL = re.compile(r"https?://[!-~]+")
_CURE = "correct it in the profile"


def validate_rows(rows: Iterable[FileRow], rules: ListingRules) -> tuple[Refusal, ...]:
    """Refuse wanted rows that the database would reject, or should have."""
    rows = tuple(rows)
    if not rows:
        # Listing nothing would delete whatever is there.
        found, cure = "no file with a row", "add row = {…} to an artifact of the profile"
        return (Refusal("listing", "rows", found, "one at least", cure),)
    each = (refusal for row in rows for refusal in validate_row(row, rules))
    return (*each, *_refuse_doubles(rows))


def validate_row(row: FileRow, rules: ListingRules) -> tuple[Refusal, ...]:
    """Refuse a row that the database would reject, or should have."""
    return tuple(
        Refusal("listing", row.url, found, expected, cure)
        for found, expected, cure in (
            *_check_text("name", row.name),
            *_check_slug(row.slug),
            *_check_description(row.description),
            *_check_system(row.os, rules),
            *_check_url(row.url, rules.url_prefix),
            *_check_sidecars(row),
            *_check_content(row),
        )
    )


def validate_release(row: ReleaseRow) -> tuple[Refusal, ...]:
    """Refuse a release row that the database would reject, or should have."""
    notes = row.release_notes_url
    bad_notes = bool(notes) and (len(notes) > MAX_TEXT or not _URL.fullmatch(notes))
    problems = [*_check_text("name", row.name), *_check_slug(row.slug)]
    if bad_notes:
        problems.append((f"release notes at {notes!r}", f"a URL of {MAX_TEXT} characters at most", _CURE))
    if row.release_date.utcoffset() is None:
        problems.append((f"release date {row.release_date}", "one with its zone", "give the zone"))
    return tuple(Refusal("listing", row.slug, *problem) for problem in problems)


_Problem = tuple[str, str, str]


def _check_text(field: str, text: str) -> Iterator[_Problem]:
    if text != text.strip() or "\0" in text or not 0 < len(text) <= MAX_TEXT:
        yield f"{field} {text!r}", f"1 to {MAX_TEXT} characters without blanks around them", _CURE


def _check_slug(slug: str) -> Iterator[_Problem]:
    if len(slug) > MAX_TEXT or not _SLUG.fullmatch(slug):
        yield f"slug {slug!r}", f"1 to {MAX_TEXT} letters, digits, _ and -", _CURE


def _check_description(text: str) -> Iterator[_Problem]:
    if text != text.strip() or "\0" in text:
        yield f"description {text!r}", "no blanks around it and no NUL", _CURE


def _check_system(slug: str, rules: ListingRules) -> Iterator[_Problem]:
    if slug not in rules.systems:
        yield f"os {slug!r}", f"one of {', '.join(rules.systems)}", _CURE


def _check_url(url: str, prefix: str) -> Iterator[_Problem]:
    if not url.startswith(prefix) or not _URL.fullmatch(url):
        yield (
            f"URL {url}",
            f"one that begins with {prefix}, without blanks",
            "correct base_url in the profile",
        )
    if len(url) > MAX_URL:
        expected = f"{MAX_URL} at most, so that every suffix fits"
        yield f"a URL of {len(url)} characters", expected, "shorten the file's name"


def _check_sidecars(row: FileRow) -> Iterator[_Problem]:
    for suffix, url in row.sidecars.items():
        if suffix not in SUFFIXES or url != row.url + suffix:
            expected = f"the file's URL and one of {', '.join(SUFFIXES)}"
            yield f"sidecar {suffix} at {url}", expected, "correct the sidecars in the profile"


def _check_content(row: FileRow) -> Iterator[_Problem]:
    if not _DIGEST.fullmatch(row.sha256):
        yield f"digest {row.sha256!r}", "64 lower-case hex digits of a SHA-256", "hand the file over again"
    if not 0 < row.size <= MAX_SIZE:
        yield f"{row.size} bytes", f"1 to {MAX_SIZE} bytes: the database holds no more", "list it by hand"


def _refuse_doubles(rows: tuple[FileRow, ...]) -> Iterator[Refusal]:
    for field, values in (("slug", [row.slug for row in rows]), ("URL", [row.url for row in rows])):
        for value, count in Counter(values).items():
            if count > 1:
                yield Refusal("listing", value, f"{count} rows with this {field}", "one", _CURE)
    for system, count in Counter(row.os for row in rows if row.button).items():
        if count > 1:
            yield Refusal("listing", system, f"{count} rows with its download button", "one at most", _CURE)
