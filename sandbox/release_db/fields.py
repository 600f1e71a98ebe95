"""The second version's checks of what is sent, with the words that it has for each mistake."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from sandbox.release_db.tables import URL_FIELDS, Tables
from sandbox.release_db.values import Row

PREFIX = "https://www.python.org/"
PREFIX_RULE = f"Release file URLs must begin with '{PREFIX}'."
V2 = "/api/v2/downloads/"

_DATE = (
    "Datetime has wrong format. Use one of these formats instead: "
    "YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z]."
)
_SLUG = 'Enter a valid "slug" consisting of letters, numbers, underscores or hyphens.'
_TRUE = {True, "true", "True", "t", "yes", "on", "1"}
_FALSE = {False, "false", "False", "f", "no", "off", "0"}
_LONGEST = 200
_MAX, _MIN = 2**31 - 1, -(2**31)

Check = Callable[[Any], Any]


class InvalidError(Exception):
    """What was sent is refused; `problems` is the answer."""

    def __init__(self, problems: Mapping[str, list[str]]) -> None:
        super().__init__(problems)
        self.problems = problems


def _refuse(message: str) -> ValueError:
    return ValueError(message)


def read_text(value: Any, *, blank: bool = True, longest: int | None = _LONGEST) -> str:
    """Read a text, without the blanks at its ends."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _refuse("Not a valid string.")
    text = str(value).strip()
    if not text and not blank:
        raise _refuse("This field may not be blank.")
    if "\0" in text:
        raise _refuse("Null characters are not allowed.")
    if longest is not None and len(text) > longest:
        raise _refuse(f"Ensure this field has no more than {longest} characters.")
    return text


def read_slug(value: Any) -> str:
    """Read a slug."""
    text = read_text(value, blank=False)
    if not re.fullmatch(r"[-a-zA-Z0-9_]+", text):
        raise _refuse(_SLUG)
    return text


def read_url(value: Any, *, blank: bool = True) -> str:
    """Read a URL of any host."""
    text = read_text(value, blank=blank)
    parts = urlsplit(text)
    if text and (parts.scheme.lower() not in {"http", "https"} or not parts.netloc or re.search(r"\s", text)):
        raise _refuse("Enter a valid URL.")
    return text


def read_bool(value: Any) -> bool:
    """Read a truth value, spelled in one of many ways."""
    if isinstance(value, bool | str | int) and value in _TRUE | _FALSE:
        return value in _TRUE
    raise _refuse("Must be a valid boolean.")


def read_integer(value: Any) -> int:
    """Read a whole number of 32 bits; its sign is not looked at."""
    text = str(value)
    if isinstance(value, bool) or not re.fullmatch(r"-?\d+(\.0*)?", text):
        raise _refuse("A valid integer is required.")
    number = int(text.partition(".")[0])
    if number > _MAX:
        raise _refuse(f"Ensure this value is less than or equal to {_MAX}.")
    if number < _MIN:
        raise _refuse(f"Ensure this value is greater than or equal to {_MIN}.")
    return number


def read_version(value: Any) -> int:
    """Read a family's number."""
    if str(value) not in {"1", "2", "3", "100"}:
        raise _refuse(f'"{value}" is not a valid choice.')
    return int(value)


def read_date(value: Any) -> str:
    """Read a time, and give it as it is shown; without a zone it is UTC's."""
    try:
        when = datetime.fromisoformat(value)
        if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
            when = datetime.combine(date.fromisoformat(value), time())
    except (TypeError, ValueError):
        raise _refuse(_DATE) from None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return when.astimezone(UTC).isoformat().replace("+00:00", "Z")


def read_link(value: Any, *, resource: str, table: Mapping[int, Row]) -> int:
    """Read the URI of another row; whose host it names is not looked at."""
    if not isinstance(value, str):
        raise _refuse(f"Incorrect type. Expected URL string, received {type(value).__name__}.")
    path = urlsplit(value).path
    if not path.startswith("/api/") or not path.endswith("/"):
        raise _refuse("Invalid hyperlink - No URL match.")
    match = re.fullmatch(rf"{V2}{resource}/(\d+)/", path)
    if not match:
        raise _refuse("Invalid hyperlink - Incorrect URL match.")
    if int(match[1]) not in table:
        raise _refuse("Invalid hyperlink - Object does not exist.")
    return int(match[1])


def _read_page(value: Any) -> None:
    # No page of the old kind exists here.
    if value is not None:
        raise _refuse("Invalid hyperlink - Object does not exist.")


def release_checks(tables: Tables, number: int) -> dict[str, Check]:
    """Give the check of each field of a release with this id (0: a new one)."""
    return {
        "name": partial(read_text, blank=False),
        "slug": _unique(read_slug, "slug", "Release", "slug", tables.releases, number),
        "version": read_version,
        "is_published": read_bool,
        "is_latest": read_bool,
        "release_date": read_date,
        "pre_release": read_bool,
        "release_page": _read_page,
        "release_notes_url": read_url,
        "show_on_download_page": read_bool,
    }


def file_checks(tables: Tables, number: int) -> dict[str, Check]:
    """Give the check of each field of a file with this id (0: a new one)."""
    return {
        "name": partial(read_text, blank=False),
        "slug": _unique(read_slug, "slug", "Release File", "slug", tables.files, number),
        "os": partial(read_link, resource="os", table=tables.systems),
        "release": partial(read_link, resource="release", table=tables.releases),
        "description": partial(read_text, longest=None),
        "is_source": read_bool,
        "url": _unique(_read_file_url, "url", "Release File", "URL", tables.files, number),
        **dict.fromkeys((field for field, suffix in URL_FIELDS.items() if suffix), read_url),
        "md5_sum": read_text,
        "sha256_sum": read_text,
        "filesize": read_integer,
        "download_button": read_bool,
    }


def _read_file_url(value: Any) -> str:
    text = read_url(value, blank=False)
    if not text.startswith(PREFIX):
        raise _refuse(PREFIX_RULE)
    return text


def _unique(check: Check, field: str, kind: str, noun: str, table: Mapping[int, Row], number: int) -> Check:
    def read(value: Any) -> str:
        text = check(value)
        if any(row[field] == text for other, row in table.items() if other != number):
            raise _refuse(f"{kind} with this {noun} already exists.")
        return text

    return read


def read_fields(sent: Any, checks: Mapping[str, Check], required: tuple[str, ...]) -> Row:
    """Read what was sent, each field for itself; unknown ones are dropped.

    Raises:
        InvalidError: Some fields are wrong or missing; all of them are named.
    """
    if not isinstance(sent, dict):
        kind = type(sent).__name__
        raise InvalidError({"non_field_errors": [f"Invalid data. Expected a dictionary, but got {kind}."]})
    problems: dict[str, list[str]] = {}
    row: Row = {}
    for field, check in checks.items():
        if field not in sent:
            if field in required:
                problems[field] = ["This field is required."]
        elif sent[field] is None and field != "release_page":
            problems[field] = ["This field may not be null."]
        else:
            try:
                row[field] = check(sent[field])
            except ValueError as error:
                problems[field] = [str(error)]
    if problems:
        raise InvalidError(problems)
    return row


def check_sidecars(row: Row, prefix: str = PREFIX) -> dict[str, list[str]]:
    """Say what is wrong with the sidecars of a row; each is the file's URL with its suffix."""
    problems: dict[str, list[str]] = {}
    for field, suffix in URL_FIELDS.items():
        if not suffix or not row[field]:
            continue
        found = [] if row[field].startswith(prefix) else [PREFIX_RULE]
        if row[field] != row["url"] + suffix:
            found.append(f"Sidecar URL must match the artifact URL plus '{suffix}'.")
        if found:
            problems[field] = found
    return problems
