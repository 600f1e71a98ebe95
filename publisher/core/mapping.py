"""Maps local file names to the public keys that the profile expects from a role."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import takewhile
from posixpath import basename

from publisher.core.profile import RM, Expected, Need
from publisher.core.refusals import Refusal


@dataclass(frozen=True, slots=True)
class Mapped:
    """Public keys by local name, and why the other names have none."""

    keys: Mapping[str, str]
    refusals: tuple[Refusal, ...]


def map_names(
    names: Iterable[str],
    role: str,
    expected: Mapping[str, Expected],
    paths: Mapping[str, str] | None = None,
) -> Mapped:
    """Find the one key of `role` that each name can mean.

    A name is a path relative to what was given: a whole key, or the end of one, such as a bare file name.

    Args:
        names: Local names, with `/` between folders.
        role: The role that uploads.
        expected: What the profile expects of the release, by key, for every role.
        paths: Where the names lie; the folders above tell which of several keys a name means.
    """
    keys: dict[str, str] = {}
    refusals: list[Refusal] = []
    for name in names:
        key = _map_name(name, role, expected, (paths or {}).get(name, name))
        if isinstance(key, Refusal):
            refusals.append(key)
        elif key in keys.values():
            twin = next(other for other, taken in keys.items() if taken == key)
            found = f"a second file for {key}, after {twin}"
            refusals.append(Refusal("key", name, found, "one file for a key", "upload one of them"))
        else:
            keys[name] = key
    return Mapped(keys, tuple(refusals))


def _map_name(name: str, role: str, expected: Mapping[str, Expected], path: str) -> str | Refusal:
    fitting = [item for key, item in expected.items() if key == name or key.endswith(f"/{name}")]
    mine = [item.key for item in fitting if _is_wanted(item, role)]
    most = max((_count_common(key, path) for key in mine), default=0)
    mine = [key for key in mine if _count_common(key, path) == most]
    if len(mine) == 1:
        return mine[0]
    if mine:
        several = f"a name for {', '.join(mine)}"
        return Refusal("key", name, several, "a name for one key", "give it with the folders above it")
    return _refuse_name(name, role, expected, fitting)


def _count_common(key: str, path: str) -> int:
    """Count the parts in which a key and a local path agree, from their ends."""
    parts = zip(reversed(key.split("/")), reversed(path.split("/")), strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], parts)))


def _refuse_name(name: str, role: str, expected: Mapping[str, Expected], fitting: list[Expected]) -> Refusal:
    if not fitting:
        own = {basename(item.key) for item in expected.values() if _is_wanted(item, role)}
        close = get_close_matches(basename(name), own, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        return Refusal(
            "extra",
            name,
            "a name that the profile does not know for this release",
            f"one of {len(own)} names of {role}",
            f"{hint}correct the name, or leave the file out",
        )
    other = fitting[0]
    if not other.is_from(role):
        owner = "the release manager" if other.role == RM else other.role
        theirs = f"{other.key}, which {owner} delivers"
        return Refusal("role", name, theirs, f"files of {role}", "leave it out")
    return Refusal("extra", name, other.key, "no such file in a release of this kind", "leave it out")


def _is_wanted(item: Expected, role: str) -> bool:
    return item.is_from(role) and item.need is not Need.FORBIDDEN
