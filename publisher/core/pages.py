"""Index pages: what each folder's page shows of the public keys, and which pages a change touches."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from publisher.core.keys import RESERVED, parents
from publisher.core.pages_order import make_order_key

HTML_NAME: Final = "index.html"
JSON_NAME: Final = "index.json"
ROOT: Final = ""
"""The bucket's top folder. No folder is written with a leading or trailing slash."""

_UNLISTED_NAMES = frozenset({HTML_NAME, JSON_NAME})


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """What a page tells of a public file: bytes, and when it changed last (with a time zone)."""

    size: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a page.

    A folder has no size; its `modified` is that of the newest file below it, None where nobody looked. Times
    have a time zone.
    """

    name: str
    size: int | None
    modified: datetime | None
    folder: bool = False


def list_folder(
    folder: str, objects: Mapping[str, ObjectFacts], *, is_hidden: Callable[[str], bool]
) -> tuple[Entry, ...]:
    """List what the page of `folder` shows, folders first, each part in the order people expect.

    Args:
        folder: A folder, or `ROOT`.
        objects: Every object whose key lies in `folder` or below; others are passed over.
        is_hidden: Tells the public keys that no page shows, such as withdrawn and unlisted ones and records.

    Returns:
        The entries; none if nothing in `folder` may be shown. Then no page above it shows it either.
    """
    prefix = folder and f"{folder}/"
    inside = {key: facts for key, facts in objects.items() if key.startswith(prefix)}
    return _sort(_group(inside, is_hidden).get(folder, ()))


def list_tree(
    objects: Mapping[str, ObjectFacts], *, is_hidden: Callable[[str], bool]
) -> Mapping[str, tuple[Entry, ...]]:
    """List what the page of every folder shows, `ROOT` included, as `list_folder` does for one."""
    grouped = _group(objects, is_hidden)
    return {folder: _sort(grouped[folder]) for folder in sorted(grouped)}


def affected_folders(keys: Iterable[str], *, root: str = ROOT) -> tuple[str, ...]:
    """Name the folders whose pages change when `keys` appear or go, up to `root`.

    The deepest come first: pages made in this order never link to a folder whose page is not there yet.
    """
    folders = {
        folder for key in keys if _is_listed(key) for folder in _chain(key) if _lies_within(folder, root)
    }
    return tuple(sorted(folders, key=lambda folder: (-len(_split(folder)), folder)))


def make_page_keys(folder: str) -> tuple[str, str]:
    """Give the public keys of a folder's page and of its `index.json`."""
    prefix = folder and f"{folder}/"
    return prefix + HTML_NAME, prefix + JSON_NAME


def _is_listed(key: str) -> bool:
    """Tell whether a page may show `key`; what consoles put down as a folder ends with a slash."""
    *_, name = segments = key.split("/")
    return (
        not key.startswith(RESERVED)
        and name not in _UNLISTED_NAMES
        and not any(segment in {"", ".", ".."} for segment in segments)
    )


def _group(
    objects: Mapping[str, ObjectFacts], is_hidden: Callable[[str], bool]
) -> Mapping[str, tuple[Entry, ...]]:
    """Put what is shown into its folders, in no order."""
    files: dict[str, list[Entry]] = {}
    newest: dict[str, datetime] = {}
    for key, facts in objects.items():
        if not _is_listed(key) or is_hidden(key):
            continue
        chain = _chain(key)
        files.setdefault(chain[-1], []).append(Entry(key.rpartition("/")[2], facts.size, facts.modified))
        for folder in chain:
            newest[folder] = max(facts.modified, newest.get(folder, facts.modified))
    grouped = {folder: files.get(folder, []) for folder in newest}
    for folder, modified in newest.items():
        if folder != ROOT:
            above, _, name = folder.rpartition("/")
            grouped[above].append(Entry(name, None, modified, folder=True))
    return {folder: tuple(entries) for folder, entries in grouped.items()}


def _sort(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    return tuple(sorted(entries, key=lambda entry: (not entry.folder, make_order_key(entry.name))))


def _chain(key: str) -> tuple[str, ...]:
    return (ROOT, *parents(key))


def _split(folder: str) -> list[str]:
    return folder.split("/") if folder else []


def _lies_within(folder: str, root: str) -> bool:
    return root == ROOT or folder == root or folder.startswith(f"{root}/")
