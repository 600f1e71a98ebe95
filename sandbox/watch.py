"""Watches edges through pollers, and judges what they saw: nothing early, one step, no blink."""

import json
import subprocess
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

HIT = 200
GONE = 410


@dataclass(frozen=True, slots=True)
class Poll:
    """One answer of an edge; times in seconds of the machine's monotonic clock."""

    path: str
    status: int
    start: float
    end: float
    etag: str


@dataclass
class Watch:
    """What the pollers of each edge saw, by the edge's URL; complete once the watch has ended.

    They rest between sweeps while there is the file `idle`.
    """

    polls: dict[str, list[Poll]] = field(default_factory=dict[str, list[Poll]])
    idle: Path = Path("idle")

    @contextmanager
    def rest(self) -> Generator[None]:
        """Let the pollers rest between their sweeps until the block ends: little can happen meanwhile."""
        self.idle.touch()
        try:
            yield
        finally:
            self.idle.unlink()

    def count(self) -> int:
        """Count all answers."""
        return sum(len(polls) for polls in self.polls.values())


@contextmanager
def watch(urls: Iterable[str], sets: Sequence[Sequence[str]], folder: Path) -> Generator[Watch]:
    """Poll every edge, by one process for each set of paths, until the block ends.

    Args:
        urls: The edges.
        sets: Request paths, as they are to be sent; one poller for each set and edge.
        folder: Where the pollers' notes go.
    """
    result = Watch(idle=folder / "idle")
    with ExitStack() as stack:
        notes: list[tuple[str, Path]] = []
        for url, (number, paths) in ((url, item) for url in urls for item in enumerate(sets)):
            out = folder / f"polls-{urlsplit(url).port}-{number}"
            stack.enter_context(_run_poller(url, paths, out, result.idle))
            notes.append((url, out))
        yield result
    for url, out in notes:
        result.polls.setdefault(url, []).extend(_read(out))


def find_early(polls: Iterable[Poll], sent: float) -> list[Poll]:
    """Find hits whose answer had ended before the request that makes everything public was sent."""
    return [poll for poll in polls if poll.status == HIT and poll.end < sent]


def find_stragglers(polls: Iterable[Poll], paths: Iterable[str]) -> list[Poll]:
    """Find misses asked for after any of `paths` had been seen public at this edge: not one step."""
    wanted = set(paths)
    mine = [poll for poll in polls if poll.path in wanted]
    first = min((poll.end for poll in mine if poll.status == HIT), default=float("inf"))
    return [poll for poll in mine if poll.start > first and poll.status != HIT]


def find_blinks(polls: Iterable[Poll]) -> list[Poll]:
    """Find answers that differ from a hit of the same path that had ended before they were asked for."""
    first: dict[str, Poll] = {}
    polls = list(polls)
    for poll in polls:
        if poll.status == HIT and (poll.path not in first or poll.end < first[poll.path].end):
            first[poll.path] = poll
    return [
        poll
        for poll in polls
        if poll.path in first
        and poll.start > first[poll.path].end
        and (poll.status, poll.etag) != (HIT, first[poll.path].etag)
    ]


def find_exposure(polls: Iterable[Poll], paths: Iterable[str]) -> Mapping[str, float]:
    """Give, for each of `paths` that was seen public, when the first hit had ended."""
    wanted = set(paths)
    first: dict[str, float] = {}
    for poll in polls:
        if poll.path in wanted and poll.status == HIT:
            first[poll.path] = min(poll.end, first.get(poll.path, poll.end))
    return first


_NUMBERS = count()


@contextmanager
def _run_poller(url: str, paths: Sequence[str], out: Path, idle: Path) -> Generator[None]:
    """Run one poller; when the block ends it finishes its sweep, so that nothing seen is lost."""
    parts = urlsplit(url)
    listed = out.with_name(f"paths-{next(_NUMBERS)}")
    listed.write_text(json.dumps(list(paths)), "utf-8")
    where = [parts.hostname or "", str(parts.port), listed, out, idle]
    command = [sys.executable, "-m", "sandbox.poller", *where]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[1], text=True
    ) as process:
        try:
            if process.stdout and process.stdout.readline() != "polling\n":
                raise RuntimeError("a poller did not start")
            yield
        finally:
            if process.stdin:
                process.stdin.close()


def _read(out: Path) -> list[Poll]:
    lines = out.read_text("utf-8").splitlines()
    return [Poll(*note) for line in lines for note in json.loads(line)]
