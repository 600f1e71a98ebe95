"""Waits until public URLs answer with the status that they should, letting caches forget in between."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from publisher.core.urls import make_path
from publisher.errors import EdgeError
from publisher.workflow.edge import wait
from publisher.workflow.purging import purge
from publisher.workflow.world import World

GONE = 410
OK = 200

_PAUSE = 1.0
"""Seconds between two looks at URLs that did not answer as they should."""

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class _Fault:
    key: str
    url: str
    found: str


def see(world: World, check_lease: Callable[[], None], keys: Iterable[str], status: int) -> None:
    """Make sure that each key answers with `status`, at the CDN and where users download.

    Each key is asked for as the publisher spells it and as people type it. Caches in front of the CDN are
    told to forget as often as it takes, within the gate's lag and twice the edges' memory of misses: an
    answer that was on its way while they were told is kept all the same.

    Args:
        world: The ports.
        check_lease: Checks the lease, between the looks.
        keys: Public keys.
        status: What all of them are to answer.

    Raises:
        EdgeError: Some URL still answers something else.
    """
    keys = sorted(keys)
    for base in dict.fromkeys([world.site.cdn_url, world.site.public_base_url]):
        is_outside = base == world.site.public_base_url
        if is_outside:
            purge(world, check_lease, keys)
        faults = _look(world, base, keys, status)
        left = world.times.lag + 2.0 * world.times.error_ttl
        while faults and left > 0:
            pause = min(_PAUSE, left)
            wait(world, check_lease, pause)
            left -= pause
            wrong = list(dict.fromkeys(fault.key for fault in faults))
            if is_outside:
                purge(world, check_lease, wrong)
            faults = _look(world, base, wrong, status)
        if faults:
            lines = [f"{fault.url}: {fault.found}" for fault in faults[:_SHOWN]]
            raise EdgeError(
                "\n  ".join([f"{len(faults)} URLs do not answer {status} yet:", *lines]),
                "see what answers there, the CDN or a cache before it; then run the same command again",
            )


def _look(world: World, base: str, keys: Iterable[str], status: int) -> list[_Fault]:
    spellings = [(key, path) for key in keys for path in dict.fromkeys([make_path(key), key])]

    def ask(spelling: tuple[str, str]) -> _Fault | None:
        key, path = spelling
        try:
            found = world.web.head(base + path).status
        except EdgeError as error:
            return _Fault(key, base + path, str(error))
        return None if found == status else _Fault(key, base + path, f"status {found}")

    return [fault for fault in world.parallel.map(ask, spellings) if fault]
