"""Looks at public URLs as a user does, and waits without letting go of the lease."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from publisher.core.digests import display
from publisher.core.keys import PENDING
from publisher.core.plan import PlannedFile, Version
from publisher.core.urls import describe_fault, is_same_etag, make_path
from publisher.errors import EdgeError
from publisher.workflow.purging import invalidate, purge
from publisher.workflow.world import World

_SLICE = 30
"""Seconds of waiting after which the lease is looked at, well within its life."""

_MOST_KEYS = 1000
"""Keys invalidated at once, two paths each."""

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
) -> int:
    """Make sure that every file is served by the CDN and at the URL where users download.

    An edge may still follow, so each URL has the gate's lag and twice the edges' memory of misses to come
    right; what is not right then is invalidated once, and looked at for as long again.

    Args:
        world: The ports.
        check_lease: Checks the lease, between the looks.
        files: Each file with the version that lies at its public key.
        promotion: The promotion's id, which names the invalidation.
        deep: Download every file and compare its digest, instead of asking for its headers.

    Returns:
        The bytes that were downloaded, because of `deep` or because an ETag left no other way.

    Raises:
        EdgeError: Some URL still does not serve what it should; each is named.
    """
    looker = _Looker(world, check_lease, files, deep=deep)
    for base in dict.fromkeys([world.site.cdn_url, world.site.public_base_url]):
        if base == world.site.public_base_url:
            # What they remember of the time before go-live; the CDN itself is right by now.
            purge(world, check_lease, [file.key for file in files])
        faults = looker.look_until_right(base, files)
        if faults:
            world.observer.warn(f"{len(faults)} URLs are invalidated: {faults[0].url}: {faults[0].found}")
            forget(world, check_lease, [fault.file.key for fault in faults], promotion)
            faults = looker.look_until_right(base, [fault.file for fault in faults])
        if faults:
            lines = [f"{fault.url}: {fault.found}" for fault in faults]
            raise EdgeError(
                "\n  ".join([f"{len(lines)} URLs do not serve what was placed:", *lines]),
                "see what answers there; then run the same command again",
            )
    return sum(looker.downloaded)


class _Looker:
    """Looks at URLs, and keeps account of what it had to download."""

    def __init__(
        self,
        world: World,
        check_lease: Callable[[], None],
        files: Mapping[PlannedFile, Version],
        *,
        deep: bool,
    ) -> None:
        self.downloaded: list[int] = []
        self._world = world
        self._check_lease = check_lease
        self._files = files
        self._deep = deep

    def look_until_right(self, base: str, files: Iterable[PlannedFile]) -> list[Fault]:
        times = self._world.times
        patience = times.lag + 2 * times.error_ttl
        faults = self._look_once(base, files)
        while faults and patience > 0:
            wait(self._world, self._check_lease, min(_PAUSE, patience))
            patience -= _PAUSE
            if base == self._world.site.public_base_url:
                # An answer that was on its way while it was purged is kept all the same.
                purge(self._world, self._check_lease, [fault.file.key for fault in faults])
            faults = self._look_once(base, [fault.file for fault in faults])
        return faults

    def _look_once(self, base: str, files: Iterable[PlannedFile]) -> list[Fault]:
        def check(file: PlannedFile) -> Fault | None:
            url = base + make_path(file.key)
            try:
                found = self._find_fault(url, file, self._files[file])
            except EdgeError as error:
                found = str(error)
            return Fault(file, url, found) if found else None

        return [fault for fault in self._world.parallel.map(check, files) if fault]

    def _find_fault(self, url: str, file: PlannedFile, version: Version) -> str | None:
        seen = self._world.web.head(url)
        fault = describe_fault(status=seen.status, size=seen.size, expected_size=file.size)
        # An ETag that differs says nothing of the bytes: some stores and caches make their own.
        if fault or (not self._deep and is_same_etag(seen.etag, version.etag)):
            return fault
        self._check_lease()
        digest = self._world.web.compute_digest(url)
        self.downloaded.append(file.size)
        return None if digest == file.digest else f"{display(digest)} instead of {display(file.digest)}"


def forget(world: World, check_lease: Callable[[], None], keys: Sequence[str], promotion: str) -> None:
    """Let every edge forget these keys: as users ask for them, and as the gate does while it lists them."""
    pause = partial(wait, world, check_lease)
    for start in range(0, len(keys), _MOST_KEYS):
        part = map(make_path, keys[start : start + _MOST_KEYS])
        paths = sorted(path for key in part for path in (f"/{key}", f"/{PENDING}/{promotion}/{key}"))
        # Another stamp each time: the CDN takes the same again for a retry, and forgets nothing more.
        invalidate(world, check_lease, pause, paths, promotion, world.new_id())
