"""An edge's cache in front of the origin: collapses misses, maps errors, forgets what is invalidated."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus

from sandbox.edge.cache import Cache, Entry, Headers, choose_ttl
from sandbox.edge.origin import Fetched
from sandbox.edge.values import Deployed, ErrorRule, Matching

# Of the page that stands in for an error: it cannot be compared, nor taken in parts.
_PAGE_ONLY = {"etag", "last-modified", "accept-ranges"}


@dataclass(slots=True)
class _Flight:
    """A request to the origin that others may wait for; one that was invalidated meanwhile is not kept."""

    task: asyncio.Task[Entry]
    viewers: set[str] = field(default_factory=set[str])


class CachedOrigin:
    """Answers by rewritten path, from the cache while an entry is fresh; else `fetch` asks the origin."""

    def __init__(
        self, fetch: Callable[[str], Awaitable[Fetched]], deployed: Deployed, matching: Matching
    ) -> None:
        self._fetch = fetch
        self._deployed = deployed
        self._cache = Cache(matching)
        self._flights: dict[str, _Flight] = {}

    async def get(self, key: str, viewer_path: str) -> tuple[Entry, bool]:
        """Give the answer for `key`, and whether it came from the cache."""
        found = self._cache.find(key, time.monotonic())
        if found is not None:
            found.viewers.add(viewer_path)
            return found, True
        flight = self._flights.get(key)
        if flight is not None:
            flight.viewers.add(viewer_path)
            entry = await asyncio.shield(flight.task)
            if entry.is_kept:
                return entry, True
            # Asked before this viewer did, and not to be kept: it is not an answer to this request.
        return await self._ask(key, viewer_path), False

    def invalidate(self, patterns: tuple[str, ...]) -> None:
        """Forget what matches, also what the origin is answering at this moment."""
        self._cache.invalidate(patterns)
        for key, flight in list(self._flights.items()):
            if self._cache.matches(patterns, key, flight.viewers):
                del self._flights[key]

    def forget(self) -> None:
        """Forget everything, as if nobody had ever asked."""
        self._cache.clear()
        self._flights.clear()

    def list_keys(self) -> tuple[str, ...]:
        """Give the keys of what is cached and fresh."""
        return self._cache.list_keys(time.monotonic())

    async def _ask(self, key: str, viewer_path: str) -> Entry:
        flight = _Flight(asyncio.get_running_loop().create_task(self._make(key)), {viewer_path})
        self._flights[key] = flight
        try:
            # A viewer that goes away does not take the answer from those who wait with it.
            entry = await asyncio.shield(flight.task)
        finally:
            is_current = self._flights.get(key) is flight
            if is_current:
                del self._flights[key]
        if is_current:
            entry.viewers |= flight.viewers
            self._cache.keep(key, entry)
        return entry

    async def _make(self, key: str) -> Entry:
        fetched = await self._fetch(key)
        old = self._cache.find_expired(key)
        rule = self._deployed.errors.get(fetched.status)
        if fetched.status >= HTTPStatus.INTERNAL_SERVER_ERROR and old and old.status == HTTPStatus.OK:
            # An origin in trouble: what was fresh once is better than that.
            ttl = choose_ttl(fetched.status, (), self._deployed)
            return _make_entry(old.status, old.headers, old.body, ttl)
        if rule is not None and rule.page is not None:
            return await self._map_error(rule, rule.page)
        return _take_as_it_is(fetched, self._deployed)

    async def _map_error(self, rule: ErrorRule, page: str) -> Entry:
        found = self._cache.find(page, time.monotonic())
        if found is None:
            found = _take_as_it_is(await self._fetch(page), self._deployed)
            self._cache.keep(page, found)
        if found.status != HTTPStatus.OK:
            return _make_entry(found.status, found.headers, found.body, rule.ttl_seconds)
        headers = tuple(pair for pair in found.headers if pair[0].lower() not in _PAGE_ONLY)
        return _make_entry(rule.response_code or found.status, headers, found.body, rule.ttl_seconds)


def _take_as_it_is(fetched: Fetched, deployed: Deployed) -> Entry:
    ttl = choose_ttl(fetched.status, fetched.headers, deployed)
    return _make_entry(fetched.status, fetched.headers, fetched.body, ttl)


def _make_entry(status: int, headers: Headers, body: bytes, ttl: float) -> Entry:
    now = time.monotonic()
    return Entry(status, headers, body, now, now + ttl)
