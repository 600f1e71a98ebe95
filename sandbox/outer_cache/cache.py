"""What the cache keeps and for how long; knows neither clock nor network."""

from dataclasses import dataclass
from http import HTTPStatus
from threading import Lock

Headers = tuple[tuple[str, str], ...]

HIT_SECONDS = 157_680_000.0
"""Five years: what python.org's files say to its cache, and its redirects with them."""

MISS_SECONDS = 3600.0
"""An hour: what a cache of Fastly's gives an answer that says nothing of its own."""

MAX_BYTES = 256 * 1024 * 1024
"""More than this in bodies, and what was not asked for longest goes."""

# What a cache of Fastly's keeps if nobody says otherwise. 403 is not among them.
_KEPT = frozenset(
    {
        HTTPStatus.OK,
        HTTPStatus.NON_AUTHORITATIVE_INFORMATION,
        HTTPStatus.MULTIPLE_CHOICES,
        HTTPStatus.MOVED_PERMANENTLY,
        HTTPStatus.FOUND,
        HTTPStatus.NOT_FOUND,
        HTTPStatus.GONE,
    }
)


@dataclass(frozen=True, slots=True)
class Entry:
    """An answer of the origin, kept from `stored` until `expires`."""

    status: int
    headers: Headers
    body: bytes
    stored: float
    expires: float

    @property
    def is_kept(self) -> bool:
        """Whether it may answer anybody but those who waited for it."""
        return self.expires > self.stored


class Cache:
    """Entries by request target, letter by letter; safe to share by threads."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._size = 0
        self._lock = Lock()

    def find(self, target: str, now: float) -> Entry | None:
        """Give the entry that is still fresh at `now`."""
        with self._lock:
            entry = self._entries.get(target)
            if entry is None or entry.expires <= now:
                return None
            # The order of the dictionary is the order of use.
            self._entries[target] = self._entries.pop(target)
            return entry

    def keep(self, target: str, entry: Entry) -> None:
        """Keep an entry, or forget the one there was when it is not to be kept."""
        with self._lock:
            self._drop(target)
            if entry.is_kept:
                self._entries[target] = entry
                self._size += len(entry.body)
            while self._size > MAX_BYTES:
                self._drop(next(iter(self._entries)))

    def forget(self, target: str) -> None:
        """Forget one target."""
        with self._lock:
            self._drop(target)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
            self._size = 0

    def list_targets(self, now: float) -> tuple[str, ...]:
        """Give the targets whose entries are fresh at `now`."""
        with self._lock:
            return tuple(sorted(target for target, entry in self._entries.items() if entry.expires > now))

    def _drop(self, target: str) -> None:
        entry = self._entries.pop(target, None)
        self._size -= len(entry.body) if entry else 0


def choose_seconds(status: int, miss_seconds: float) -> float:
    """Say how long an answer is kept, whatever its Cache-Control says."""
    if status not in _KEPT:
        return 0.0
    return miss_seconds if status >= HTTPStatus.BAD_REQUEST else HIT_SECONDS
