"""Looks at public URLs as a user does, and waits without letting go of the lease."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from publisher.core.digests import display
from publisher.core.plan import PlannedFile, Version
from publisher.core.urls import describe_fault, make_path
from publisher.errors import EdgeError
from publisher.workflow.world import World

_SLICE = 30
"""Seconds of waiting after which the lease is looked at, well within its life."""

_PAUSE = 1.0
"""Seconds between two looks at URLs that did not answer as they should."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A URL that does not serve what it should."""

    file: PlannedFile
    url: str
    found: str


def wait(world: World, check_lease: Callable[[], None], seconds: float) -> None:
    """Wait, checking the lease (and renewing it) on the way."""
    left = seconds
    while left > 0:
        world.sleep(min(left, _SLICE))
        left -= _SLICE
        check_lease()


def look(
    world: World,
    check_lease: Callable[[], None],
    files: Mapping[PlannedFile, Version],
    *,
    promotion: str,
    deep: bool,
) -> None:
    """Make sure that every file is served by the CDN and at the URL where users download.

    An edge may still follow, so each URL has the gate's lag and twice the edges' memory of misses to come
    right; what is not right then is invalidated once, and looked at for as long again.

    Args:
        world: The ports.
        check_lease: Checks the lease, between the looks.
        files: Each file with the version that lies at its public key.
        promotion: The promotion's id, which names the invalidation.
        deep: Download every file and compare its digest, instead of asking for its headers.

    Raises:
        EdgeError: Some URL still does not serve what it should; each is named.
    """
    bases = dict.fromkeys([world.site.cdn_url, world.site.public_base_url])
    for base in bases:
        faults = _look_until_right(world, check_lease, base, files, deep=deep)
        if faults:
            paths = sorted(f"/{make_path(fault.file.key)}" for fault in faults)
            # Another one each time: the CDN takes the same again for a retry, and forgets nothing more.
            reference = f"{promotion}-{world.new_id()}"
            world.observer.warn(f"{len(paths)} URLs are invalidated: {faults[0].url}: {faults[0].found}")
            world.cdn.wait_invalidated(world.cdn.invalidate(paths, reference))
            faults = _look_until_right(
                world, check_lease, base, {fault.file: files[fault.file] for fault in faults}, deep=deep
            )
        if faults:
            lines = [f"{fault.url}: {fault.found}" for fault in faults]
            raise EdgeError(
                "\n  ".join([f"{len(lines)} URLs do not serve what was placed:", *lines]),
                "see what answers there; then run the same command again",
            )


def _look_until_right(
    world: World,
    check_lease: Callable[[], None],
    base: str,
    files: Mapping[PlannedFile, Version],
    *,
    deep: bool,
) -> list[Fault]:
    patience = world.times.lag + 2 * world.times.error_ttl
    faults = _look_once(world, base, files.items(), deep=deep)
    while faults and patience > 0:
        wait(world, check_lease, min(_PAUSE, patience))
        patience -= _PAUSE
        faults = _look_once(world, base, [(fault.file, files[fault.file]) for fault in faults], deep=deep)
    return faults


def _look_once(
    world: World, base: str, files: Iterable[tuple[PlannedFile, Version]], *, deep: bool
) -> list[Fault]:
    def check(item: tuple[PlannedFile, Version]) -> Fault | None:
        file, version = item
        url = base + make_path(file.key)
        found = _find_fault(world, url, file, version, deep=deep)
        return Fault(file, url, found) if found else None

    return [fault for fault in world.parallel.map(check, files) if fault]


def _find_fault(world: World, url: str, file: PlannedFile, version: Version, *, deep: bool) -> str | None:
    try:
        seen = world.web.head(url)
        found = describe_fault(
            status=seen.status,
            size=seen.size,
            etag=seen.etag,
            expected_size=file.size,
            expected_etag=version.etag,
        )
        if found or not deep:
            return found
        digest = world.web.compute_digest(url)
    except EdgeError as error:
        return str(error)
    return None if digest == file.digest else f"{display(digest)} instead of {display(file.digest)}"
