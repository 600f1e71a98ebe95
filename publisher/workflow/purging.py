"""Lets caches forget: the CDN's edges by invalidation, caches in front of it URL by URL."""

import hashlib
from collections.abc import Callable, Iterable, Sequence

from publisher.core.purging import list_purges
from publisher.errors import EdgeError
from publisher.workflow.world import World

_SLICE = 200
"""URLs that are purged between two looks at the lease."""

_MOST_PATHS = 2000
"""Paths invalidated at once: a distribution has 3,000 of them under way at most."""

_INVALIDATION_PAUSE = 5.0
_MOST_WAITS = 120


def make_reference(purpose: str, stamp: str, paths: Iterable[str]) -> str:
    """Name an invalidation by what it is for: the same purpose, stamp and paths give the same, made once."""
    digest = hashlib.sha256("\n".join([purpose, stamp, *paths]).encode()).hexdigest()
    return f"{purpose}-{digest[:32]}"


def invalidate(
    world: World,
    check_lease: Callable[[], None],
    wait: Callable[[float], None],
    paths: Sequence[str],
    purpose: str,
    stamp: str,
) -> None:
    """Let every edge forget these URL paths, and wait until that is done, for some minutes at most.

    `purpose` and `stamp` name it, so that a retry is no second one; another stamp is another invalidation.

    Raises:
        EdgeError: It is not complete in time.
    """
    for start in range(0, len(paths), _MOST_PATHS):
        part = paths[start : start + _MOST_PATHS]
        made = world.cdn.invalidate(part, make_reference(purpose, stamp, part))
        for attempt in range(_MOST_WAITS):
            check_lease()
            if world.cdn.is_invalidated(made):
                break
            if attempt + 1 == _MOST_WAITS:
                raise EdgeError(f"invalidation {made} is not complete", "run the same command again")
            wait(_INVALIDATION_PAUSE)


def purge(world: World, check_lease: Callable[[], None], keys: Iterable[str]) -> None:
    """Let the caches in front of the CDN forget every URL of these public keys, if there are such caches.

    Raises:
        EdgeError: A cache refuses, or does not answer.
    """
    if world.purger is None or not world.outer_caches:
        return
    purger = world.purger()
    urls = list_purges(keys, world.outer_caches)
    for start in range(0, len(urls), _SLICE):
        check_lease()
        world.parallel.map(purger.purge, urls[start : start + _SLICE])
