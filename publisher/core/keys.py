"""Public keys: which names may become URLs, and which sets of names may stand side by side."""

import re
from collections.abc import Iterable
from itertools import accumulate

MAX_BYTES = 480
"""A key has to fit a CDN store's 512 bytes together with the prefix that the gate puts before it."""

PENDING = "_pending"
"""The folder of the public bucket where files wait for their promotion; no key can lie in it."""

RESERVED = "_"
"""What the names of the gate's own top folders begin with."""

_SEGMENT = re.compile(r"[A-Za-z0-9._+-]+")


def find_problem(key: str) -> str | None:
    """Say why `key` may not be public, or answer None if it may."""
    size = len(key.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        return f"it has {size} bytes, {MAX_BYTES} are allowed"
    if key.startswith(RESERVED):
        return f"top folders that begin with {RESERVED} are the gate's own, such as {PENDING}/"
    for segment in key.split("/"):
        if segment == "":
            return "it has an empty segment (a leading, trailing or double slash)"
        if segment in {".", ".."}:
            return f"it has a {segment!r} segment"
        if not _SEGMENT.fullmatch(segment):
            bad = "".join(sorted(set(re.sub(_SEGMENT, "", segment))))
            return f"it has {bad!r}; letters, digits and . _ + - are allowed in a segment"
    return None


def parents(key: str) -> tuple[str, ...]:
    """List the folders above `key`, outermost first, without trailing slashes."""
    return tuple(accumulate(key.split("/")[:-1], lambda above, segment: f"{above}/{segment}"))


def find_conflicts(wanted: Iterable[str], present: Iterable[str]) -> tuple[tuple[str, str, str], ...]:
    """Find `wanted` keys that cannot stand beside the other ones.

    Two keys that differ only in case collide on the disks of people who mirror the site; a key that is
    another's folder cannot be mirrored at all. Which of the two is there already makes no difference.

    Args:
        wanted: Keys about to become public.
        present: Keys that are public already; they may overlap with `wanted`.

    Returns:
        Triples of a wanted key, the key it conflicts with, and why.
    """
    wanted = sorted(set(wanted))
    everything = sorted({*wanted, *present})
    spellings: dict[str, list[str]] = {}
    for key in everything:
        spellings.setdefault(key.casefold(), []).append(key)
    folders = {folder.casefold(): key for key in reversed(everything) for folder in parents(key)}
    found: list[tuple[str, str, str]] = []
    for key in wanted:
        found += [
            (key, other, "they differ only in the case of letters")
            for other in spellings[key.casefold()]
            if other != key
        ]
        if key.casefold() in folders:
            found.append((key, folders[key.casefold()], "one is a folder of the other"))
        found += [
            (key, other, "one is a folder of the other")
            for folder in parents(key)
            for other in spellings.get(folder.casefold(), ())
        ]
    return tuple(dict.fromkeys(found))
