"""What an edge keeps, for how long, and what an invalidation takes away; knows no clock and no network."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from sandbox.edge.values import Deployed, Matching

Headers = tuple[tuple[str, str], ...]

MAX_BYTES = 256 * 1024 * 1024
"""More than this in bodies, and what was not asked for longest goes."""


@dataclass(slots=True)
class Entry:
    """A cached answer of the origin; `viewers` are the paths, as sent, that led to it."""

    status: int
    headers: Headers
    body: bytes
    stored: float
    expires: float
    viewers: set[str] = field(default_factory=set[str])

    @property
    def is_kept(self) -> bool:
        """Whether it may answer anybody but those who waited for it."""
        return self.expires > self.stored

    def find(self, name: str) -> str | None:
        """Give the value of a header, named in lower case."""
        return next((value for known, value in self.headers if known.lower() == name), None)


class Cache:
    """Entries by rewritten path alone: no method, query string, cookie or header makes a second copy."""

    def __init__(self, matching: Matching) -> None:
        self._matching = matching
        self._entries: dict[str, Entry] = {}
        self._size = 0

    def find(self, key: str, now: float) -> Entry | None:
        """Give the entry that is still fresh at `now`."""
        entry = self._entries.get(key)
        if entry is None or entry.expires <= now:
            return None
        # The order of the dictionary is the order of use.
        self._entries[key] = self._entries.pop(key)
        return entry

    def find_expired(self, key: str) -> Entry | None:
        """Give the entry, fresh or not."""
        return self._entries.get(key)

    def keep(self, key: str, entry: Entry) -> None:
        """Keep an entry, or forget the one there was when it is not to be kept."""
        self._drop(key)
        if entry.is_kept:
            self._entries[key] = entry
            self._size += len(entry.body)
        while self._size > MAX_BYTES:
            self._drop(next(iter(self._entries)))

    def invalidate(self, patterns: Sequence[str]) -> None:
        """Forget every entry that one of the patterns matches."""
        matches = make_matcher(patterns)
        for key in [key for key, entry in self._entries.items() if matches(self._name(key, entry.viewers))]:
            self._drop(key)

    def matches(self, patterns: Sequence[str], key: str, viewers: Iterable[str]) -> bool:
        """Tell whether the patterns reach an answer with this key, asked for by these paths."""
        return make_matcher(patterns)(self._name(key, viewers))

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self._size = 0

    def list_keys(self, now: float) -> tuple[str, ...]:
        """Give the keys of the entries that are fresh at `now`."""
        return tuple(sorted(key for key, entry in self._entries.items() if entry.expires > now))

    def _drop(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        self._size -= len(entry.body) if entry else 0

    def _name(self, key: str, viewers: Iterable[str]) -> Iterable[str]:
        match self._matching:
            case Matching.REWRITTEN:
                return (key,)
            case Matching.VIEWER:
                return viewers
            case Matching.EITHER:
                return (key, *viewers)


def make_matcher(patterns: Sequence[str]) -> Callable[[Iterable[str]], bool]:
    """Compare paths with an invalidation's: letter by letter, with `*` as a wildcard at the very end only."""
    exact = {pattern for pattern in patterns if not pattern.endswith("*")}
    prefixes = tuple(
        pattern[:-1] for pattern in patterns if pattern.endswith("*") and pattern.startswith("/")
    )
    return lambda paths: any(path in exact or path.startswith(prefixes) for path in paths)


def choose_ttl(status: int, headers: Headers, deployed: Deployed) -> float:
    """Say how long the cache policy and the origin's Cache-Control keep an answer that is no error.

    An error's Cache-Control is not looked at: S3 sends none, and what the emulator sends is the page's.
    """
    if status >= 400:
        rule = deployed.errors.get(status)
        return 10.0 if rule is None else rule.ttl_seconds
    directives = _read_directives(headers)
    if not directives.keys().isdisjoint({"no-store", "no-cache", "private"}):
        return deployed.min_ttl
    for name in ("s-maxage", "max-age"):
        if directives.get(name, "").isdigit():
            return min(max(float(directives[name]), deployed.min_ttl), deployed.max_ttl)
    return max(deployed.min_ttl, deployed.default_ttl)


def _read_directives(headers: Headers) -> dict[str, str]:
    parts = [part for name, value in headers if name.lower() == "cache-control" for part in value.split(",")]
    pairs = [part.strip().partition("=") for part in parts]
    return {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs if name}
