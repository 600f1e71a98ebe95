"""How an index page is written: as programs know it from nginx's autoindex, as people like it, and as JSON.

Programs read one `<pre>`, in it `../` and then one link a line with its date and exact size, and find no
other link in the page. The size for people follows where programs do not look: as an attribute that the style
shows, so that the text of a line stays what nginx writes. Names are never cut short.
"""

import html
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

from publisher.core.pages import JSON_NAME, Entry
from publisher.core.pages_style import STYLE, make_policy

HTML_TYPE: Final = "text/html; charset=utf-8"
JSON_TYPE: Final = "application/json"

# nginx begins the date after 51 characters. Columns are wider where names are, up to a point.
_MIN_COLUMN, _MAX_COLUMN, _SIZE_COLUMN, _READABLE_COLUMN = 51, 73, 19, 12
# Not by strftime, which would speak the language of whoever runs it.
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_UNITS = ("kB", "MB", "GB", "TB", "PB")

_HTML_HEAD = "<!DOCTYPE html>\n<!-- publish-gate index, generation {} -->\n"
_JSON_HEAD = '{{\n"schema": 1,\n"generator": "publish-gate index",\n"generation": {},\n'
_HEADS = tuple(
    re.compile(re.escape(head.format("@")).replace("@", "([0-9]{1,18})").encode())
    for head in (_HTML_HEAD, _JSON_HEAD)
)


def render_html(folder: str, entries: Sequence[Entry], *, generation: int, title: str) -> bytes:
    """Write the page of a folder; the same arguments always give the same bytes.

    Args:
        folder: The folder, without a leading or trailing slash.
        entries: What it shows, in this order.
        generation: The page's number, not negative, for whoever swaps it for the next.
        title: The site's name; may be empty.
    """
    heading = html.escape(f"Index of {_make_path(folder)}")
    name = html.escape(title)
    width = min(max((len(_label(entry)) + 1 for entry in entries), default=0), _MAX_COLUMN)
    lines = "".join(_write_line(entry, max(width, _MIN_COLUMN)) for entry in entries)
    return (
        f"{_HTML_HEAD.format(generation)}"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{make_policy()}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{heading}{' - ' if name else ''}{name}</title>\n"
        f"<style>{STYLE}</style>\n</head>\n<body>\n<h1>{heading}</h1>\n"
        f"<p>{_describe(entries)}. Times are UTC. For programs: {JSON_NAME}.</p>\n"
        f'<pre><a href="../">../</a>\n{lines}</pre>\n</body>\n</html>\n'
    ).encode()


def render_json(folder: str, entries: Sequence[Entry], *, generation: int) -> bytes:
    """Write what the page of a folder shows as JSON, one entry a line, with the page's `generation`."""
    lines = ",\n".join(json.dumps(_make_object(entry)) for entry in entries)
    return (
        f"{_JSON_HEAD.format(generation)}"
        f'"folder": {json.dumps(_make_path(folder))},\n"entries": [\n{lines}\n]\n}}\n'
    ).encode()


def read_generation(page: bytes) -> int | None:
    """Read the generation of a page or of an `index.json`; None if it is no page of ours."""
    for head in _HEADS:
        if match := head.match(page):
            return int(match[1])
    return None


def is_ours(page: bytes) -> bool:
    """Tell whether a page or an `index.json` was written here, so that it may be replaced."""
    return read_generation(page) is not None


def _make_path(folder: str) -> str:
    return f"/{folder}/" if folder else "/"


def _label(entry: Entry) -> str:
    return f"{entry.name}/" if entry.folder else entry.name


def _make_reference(entry: Entry) -> str:
    """Give the relative URL, spelled as the gate spells keys."""
    return quote(entry.name, safe="") + ("/" if entry.folder else "")


def _write_line(entry: Entry, width: int) -> str:
    """Write one line. Blanks part the exact size from the tag, for programs that cut lines at blanks."""
    label = _label(entry)
    link = f'<a href="{_make_reference(entry)}">{html.escape(label)}</a>'
    gap = " " * max(width - len(label), 1)
    date = f"{'-':>17}" if entry.modified is None else _format_date(entry.modified)
    if entry.size is None:
        return f"{link}{gap}{date} {'-':>{_SIZE_COLUMN}}\n"
    size = _format_size(entry.size)
    shown = " " * max(_READABLE_COLUMN - len(size), 1) + f'<span data-size="{size}"></span>'
    return f"{link}{gap}{date} {entry.size:>{_SIZE_COLUMN}}{shown}\n"


def _make_object(entry: Entry) -> dict[str, str | int | None]:
    modified = entry.modified and _format_moment(entry.modified)
    start: dict[str, str | int | None] = {"name": entry.name, "href": _make_reference(entry)}
    if entry.folder:
        return {**start, "type": "folder", "modified": modified}
    return {**start, "type": "file", "size": entry.size, "modified": modified}


def _describe(entries: Sequence[Entry]) -> str:
    folders = sum(entry.folder for entry in entries)
    files = len(entries) - folders
    parts = [_count(folders, "folder")] if folders else []
    if files or not folders:
        parts.append(_count(files, "file"))
    size = sum(entry.size or 0 for entry in entries)
    return " and ".join(parts) + (f", {_format_size(size)}" if files else "")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _format_date(moment: datetime) -> str:
    moment = moment.astimezone(UTC)
    return f"{moment:%d}-{_MONTHS[moment.month - 1]}-{moment.year:04} {moment:%H:%M}"


def _format_moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _format_size(size: int) -> str:
    """Write a number of bytes in decimal units, as the publisher does elsewhere."""
    if size < 1000:
        return _count(size, "byte")
    # Rounded first, so that 999,960 bytes are 1.0 MB and not 1000.0 kB.
    power = next(
        (power for power in range(1, len(_UNITS)) if round(size / 1000**power, 1) < 1000), len(_UNITS)
    )
    return f"{size / 1000**power:.1f} {_UNITS[power - 1]}"
