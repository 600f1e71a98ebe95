"""An edge's copy of the KeyValueStore, and when each change reaches it; knows no clock of its own."""

import heapq
import zlib
from collections.abc import Mapping

from sandbox.edge.values import Change, StoreMode, Tuning


class Replica:
    """Holds the entries that have arrived, and the changes that are still on their way.

    Each key's own history stays in order. Between keys there is no order where `disorder` is on: then a
    change takes some share of the lag that depends on `seed`, key and value alone.
    """

    def __init__(self, *, seed: int, lag_seconds: float, disorder: bool) -> None:
        self.entries: dict[str, str] = {}
        self.mode = StoreMode.NORMAL
        self.fed = False
        self._seed = seed
        self._lag = lag_seconds
        self._lags: Mapping[str, float] = {}
        self._disorder = disorder
        self._waiting: list[tuple[float, int, str, str | None]] = []
        self._last: dict[str, float] = {}
        self._count = 0

    @property
    def waiting(self) -> int:
        """How many changes are on their way."""
        return len(self._waiting)

    def tune(self, tuning: Tuning) -> None:
        """Change how the changes that come from now on are handled; what is on its way stays as it is."""
        self.mode = tuning.mode or self.mode
        self._lag = self._lag if tuning.lag_seconds is None else tuning.lag_seconds
        self._lags = self._lags if tuning.lags is None else tuning.lags
        self._disorder = self._disorder if tuning.disorder is None else tuning.disorder

    def receive(self, change: Change) -> None:
        """Take note of a change; `advance` applies it when it is due."""
        self.fed = True
        for key, value in change.values.items():
            due = 0.0 if change.at is None else change.at + self._choose_lag(key, value)
            due = max(due, self._last.get(key, 0.0))
            self._last[key] = due
            heapq.heappush(self._waiting, (due, self._count, key, value))
            self._count += 1

    def advance(self, now: float) -> dict[str, str | None]:
        """Apply what is due at `now`, unless the replica is stale, and answer it."""
        applied: dict[str, str | None] = {}
        while self.mode is not StoreMode.STALE and self._waiting and self._waiting[0][0] <= now:
            _, _, key, value = heapq.heappop(self._waiting)
            applied[key] = value
            if value is None:
                self.entries.pop(key, None)
            else:
                self.entries[key] = value
        return applied

    def _choose_lag(self, key: str, value: str | None) -> float:
        fixed = [lag for prefix, lag in self._lags.items() if key.startswith(prefix)]
        if fixed:
            return max(fixed)
        if not self._disorder:
            return self._lag
        share = zlib.crc32(f"{self._seed}:{key}:{value}".encode()) / 2**32
        return self._lag * share
