"""Symbolic links of an existing tree: which of them the gate can serve as aliases, and why the rest not."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from publisher.core.faults import Fault
from publisher.core.keys import find_problem, parents

MAX_SEGMENTS: Final = 3
"""The gate looks for an alias in this many of the first segments of a path."""

_ARROW: Final = " -> "
# What `rsync --links --list-only` writes before the name.
_RSYNC = re.compile(r"l[rwx-]{9}\s+[\d,.]+\s+\d{4}/\d\d/\d\d\s+\d\d:\d\d:\d\d\s+")
_HOPS: Final = 40
"""As many links one after the other as Linux follows."""


@dataclass(frozen=True, slots=True)
class Links:
    """Aliases by their names, with what they stand for; and the links that can be none."""

    aliases: Mapping[str, str]
    faults: tuple[Fault, ...]


def parse_links(text: str, prefix: str) -> tuple[Mapping[str, str], tuple[Fault, ...]]:
    """Read the links of the tree that lies below `prefix`: one `link -> target` a line, by public key.

    Args:
        text: What find or `rsync --links --list-only` prints; lines without an arrow are passed over.
        prefix: The folder that links are relative to; empty for the top.
    """
    links: dict[str, str] = {}
    faults: list[Fault] = []
    for line in text.splitlines():
        name, arrow, target = _RSYNC.sub("", line, count=1).strip().partition(_ARROW)
        if not arrow:
            continue
        name = "/".join(part for part in (prefix, name.removeprefix("./")) if part)
        problem = find_problem(name)
        if problem:
            faults.append(_refuse(name, problem))
        else:
            links[name] = target
    return links, tuple(faults)


def resolve_links(links: Mapping[str, str], public: Collection[str], entries: Mapping[str, str]) -> Links:
    """Resolve links to what they finally lead to, for the gate follows an alias only once.

    Args:
        links: Their targets as they were on the disk, by public key.
        public: Every public key.
        entries: The gate's, as they are now.
    """
    folders = {folder for key in public for folder in parents(key)}
    aliases: dict[str, str] = {}
    faults: list[Fault] = []
    for name in sorted(links):
        target = _follow(name, links)
        problem = _judge(name, target, public, folders) or _judge_entry(name, target, entries)
        if problem or target is None:
            faults.append(_refuse(name, problem or "a link that leads out of the tree, or in a circle"))
        else:
            aliases[name] = target
    return Links(aliases, tuple(faults))


def _judge(name: str, target: str | None, public: Collection[str], folders: Collection[str]) -> str | None:
    if target is None:
        return None
    if name in public or name in folders:
        return "objects at this key: the tree was uploaded with its links followed, so no alias is needed"
    if name.count("/") >= MAX_SEGMENTS:
        return f"more than {MAX_SEGMENTS} segments, which the gate does not look at"
    if target not in public and target not in folders:
        return f"a link to {target}, where nothing is public"
    return None


def _judge_entry(name: str, target: str | None, entries: Mapping[str, str]) -> str | None:
    current = entries.get(f"a:{name}")
    return None if current in {None, target} else f"an alias of {current} in the gate already"


def _follow(name: str, links: Mapping[str, str]) -> str | None:
    """Follow a link, and all links on the way; None for one that leads out, to the top or in a circle."""
    path: str | None = name
    for _ in range(_HOPS):
        above = next((part for part in (*parents(path), path) if part in links), None)
        if above is None:
            return path
        step = _join(above, links[above])
        if step is None:
            return None
        path = step + path.removeprefix(above)
    return None


def _join(link: str, target: str) -> str | None:
    """Give the key that a link's target means; None for an absolute one, or one outside of the bucket."""
    if target.startswith("/"):
        return None
    segments = link.split("/")[:-1]
    for segment in target.split("/"):
        if segment == "..":
            if not segments:
                return None
            segments.pop()
        elif segment not in {"", "."}:
            segments.append(segment)
    return "/".join(segments) or None


def _refuse(name: str, found: str) -> Fault:
    expected = f"a link within {MAX_SEGMENTS} segments, to something public"
    return Fault("link", name, found, expected, "see docs/ops.md, Adopt an existing tree")
