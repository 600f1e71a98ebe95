"""The gate's store: which entries mean what, and which changes a promotion makes to them."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

BATCH = 50
"""The most entries that the store changes in one update, all of them or none."""

MAX_KEY_BYTES = 512
MAX_VALUE_BYTES = 1024

OWNER = "owner"
LIVE = "live"
WITHDRAWN = "withdrawn"

_PATH = "p:"
_PROMOTION = "s:"
_FOLDER = "d:"


@dataclass(frozen=True, slots=True)
class Times:
    """How long the world takes to follow, in seconds.

    `lag`: until every edge has an update of the store. `error_ttl`: for how long an edge remembers a miss.
    `settle`: from the last placement until the gate lets go, at least twice `error_ttl`.
    """

    lag: int
    settle: int
    error_ttl: int


@dataclass(frozen=True, slots=True)
class Change:
    """An update of the store."""

    puts: Mapping[str, str] = field(default_factory=dict[str, str])
    deletes: Collection[str] = ()

    def batch(self) -> "Change":
        """Give the first part of this change that fits into one update."""
        puts = dict(islice(self.puts.items(), BATCH))
        return Change(puts, tuple(islice(self.deletes, BATCH - len(puts))))

    def apply(self, entries: Mapping[str, str]) -> dict[str, str]:
        """Give what `entries` are after this change."""
        kept = {key: value for key, value in entries.items() if key not in self.deletes}
        return {**kept, **self.puts}

    def __bool__(self) -> bool:
        """Tell whether there is anything to change."""
        return bool(self.puts or self.deletes)


def path_entry(key: str) -> str:
    """Give the entry that lists a public key; its value is the id of the promotion that brings it."""
    return _PATH + key


def promotion_entry(promotion: str) -> str:
    """Give the entry whose value says that a promotion is live, or withdrawn."""
    return _PROMOTION + promotion


def find_gated(entries: Mapping[str, str]) -> frozenset[str]:
    """Name the promotions that the gate shows or has withdrawn: these went live, whatever else is said."""
    return frozenset(key.removeprefix(_PROMOTION) for key in entries if key.startswith(_PROMOTION))


def find_taken(entries: Mapping[str, str], keys: Iterable[str], promotion: str) -> tuple[str, ...]:
    """Name those of `keys` that another promotion, live or withdrawn, has in the gate."""
    gated = find_gated(entries) - {promotion}
    return tuple(key for key in keys if entries.get(path_entry(key)) in gated)


def list_paths(entries: Mapping[str, str], keys: Iterable[str], promotion: str) -> Change:
    """List `keys` as those of `promotion`; hidden until its own entry says that it is live."""
    wanted = {path_entry(key): promotion for key in keys}
    return Change({key: value for key, value in wanted.items() if entries.get(key) != value})


def show(entries: Mapping[str, str], promotion: str) -> Change:
    """Make `promotion` live: the one entry that makes all of its listed keys public."""
    key = promotion_entry(promotion)
    return Change() if key in entries else Change({key: LIVE})


def list_folders(entries: Mapping[str, str], folders: Iterable[str]) -> Change:
    """Say that `folders` have an index page, so that their URLs lead to it."""
    wanted = {_FOLDER + folder: "index" for folder in folders}
    return Change({key: value for key, value in wanted.items() if key not in entries})


def drop_paths(entries: Mapping[str, str], promotion: str) -> Change:
    """Drop the listed keys of `promotion`, once they are placed and every edge has forgotten its misses."""
    return Change(deletes=[k for k, value in entries.items() if k.startswith(_PATH) and value == promotion])


def drop_keys(entries: Mapping[str, str], keys: Iterable[str], promotion: str) -> Change:
    """Drop only `keys` of the listed keys of `promotion`."""
    listed = [path_entry(key) for key in keys]
    return Change(deletes=[entry for entry in listed if entries.get(entry) == promotion])


def drop_promotion(entries: Mapping[str, str], promotion: str) -> Change:
    """Drop the entry of `promotion`, which no listed key names any more."""
    key = promotion_entry(promotion)
    return Change(deletes=[key]) if key in entries else Change()
