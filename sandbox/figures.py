"""What a demo has measured, and what must hold of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from sandbox.watch import GONE, HIT, Poll, Watch, find_blinks, find_early, find_exposure, find_stragglers


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a demo; times in the unit that their name ends with.

    `early_hits` are answers of 200 that had ended before go-live was sent. `exposure_ms` is the time from the
    first to the last canonical URL seen public, at the edge where that took longest; pollers that sweep in
    `exposure_floor_ms` cannot see less. `stale_after_live_ms` is how long after go-live an edge still
    answered a miss. `to_public_s` is the time from the command to go-live. `signed` counts signature files,
    `verify_cpu_s` is what verifying all bundles took of the processor. `announced` counts posts, though the
    promotion ran twice.
    """

    release: str
    objects: int
    bytes: int
    polls: int
    early_hits: int
    refused_first: int
    exposure_ms: float
    exposure_floor_ms: float
    stale_after_live_ms: float
    promote_s: float
    to_public_s: float
    artifact_bytes_through_publisher: int
    second_run_writes: int
    digests_verified: int
    signed: int
    verify_cpu_s: float
    record_verified: bool
    rows_listed: int
    rows_before_live: int
    announced: int
    pages: int
    withdrawn_ms: float
    pointer_swapped: bool

    def find_faults(self, delivered: int, signatures: int, rows: int, folders: int) -> list[str]:
        """Name the figures that break an invariant: so many were delivered, signed, listed, in folders."""
        wanted = {
            "objects": delivered + signatures,
            "digests_verified": delivered,
            "signed": signatures,
            "record_verified": True,
            "rows_listed": rows,
            "rows_before_live": 0,
            "announced": 1,
            "pages": folders,
            "pointer_swapped": True,
            "early_hits": 0,
            "artifact_bytes_through_publisher": 0,
            "second_run_writes": 0,
        }
        found = asdict(self)
        faults = [
            f"{name}: found {found[name]}, expected {value}"
            for name, value in wanted.items()
            if found[name] != value
        ]
        return faults + ([] if self.refused_first else ["the incomplete release was not refused"])


def measure_going(polls: Sequence[Poll]) -> float:
    """Give the seconds from the first file seen gone to the last one still seen, at one edge.

    Raises:
        ValueError: Nothing was seen to go.
    """
    gone = [poll.start for poll in polls if poll.status == GONE]
    there = [poll.end for poll in polls if poll.status == HIT]
    if not gone:
        raise ValueError("no file was seen to go")
    return max(0.0, max(there, default=0.0) - min(gone))


def find_faults(seen: Watch, paths: Sequence[str], sent: float) -> list[str]:
    """Name what edges showed that they must not: too early, not in one step, or only for a while."""
    faults: list[str] = []
    for url, polls in seen.polls.items():
        # A directory or an odd spelling may come and go with what it means; files may not.
        files = [poll for poll in polls if poll.path in set(paths)]
        found: Mapping[str, Iterable[Poll]] = {
            "early": find_early(polls, sent),
            "not in one step": find_stragglers(files, paths),
            "not steady": find_blinks(files),
        }
        faults += [f"{url}: {what}: {poll}" for what, bad in found.items() for poll in bad]
        missing = set(paths) - set(find_exposure(files, paths))
        faults += [f"{url}: never seen public: {path}" for path in sorted(missing)]
    return faults


def count_early(seen: Watch, sent: float) -> int:
    """Count hits that had ended before go-live was sent, of any path that was polled."""
    return sum(len(find_early(polls, sent)) for polls in seen.polls.values())


def measure_exposure(seen: Watch, paths: Sequence[str]) -> float:
    """Measure the seconds from the first to the last of `paths` seen public, at the slowest edge."""
    firsts = [find_exposure(polls, paths).values() for polls in seen.polls.values()]
    return max((max(times) - min(times) for times in firsts if times), default=0.0)


def measure_floor(seen: Watch, paths: Sequence[str]) -> float:
    """Measure the seconds in which all the pollers of an edge together ask for each of `paths` once."""
    wanted = set(paths)
    floors: list[float] = []
    for polls in seen.polls.values():
        mine = [poll for poll in polls if poll.path in wanted]
        span = max(poll.end for poll in mine) - min(poll.start for poll in mine)
        floors.append(span * len(wanted) / len(mine))
    return max(floors)


def measure_stale(seen: Watch, paths: Sequence[str], live: float) -> float:
    """Measure the seconds after `live` (go-live was answered) for which an edge still answered a miss."""
    wanted = set(paths)
    misses = [
        poll.start
        for polls in seen.polls.values()
        for poll in polls
        if poll.path in wanted and poll.status != HIT
    ]
    return max(0.0, max(misses, default=live) - live)
