"""The cache and its origin when answers cross: with an origin that answers when the test says so."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from sandbox.edge.fetching import CachedOrigin
from sandbox.edge.origin import Fetched
from sandbox.edge.values import Deployed, ErrorRule, Matching

ERRORS = {403: ErrorRule(0.05, 404, "/page"), 500: ErrorRule(5)}
DEPLOYED = Deployed("E1", "d.cloudfront.net", "", 0, 60, 1000, ERRORS, ())
MISSING = Fetched(403, (("x", "y"),), b"AccessDenied")
PAGE = Fetched(200, (("ETag", '"p"'), ("Content-Type", "text/html")), b"page")


class Origin:
    """Answers with what it held when it was asked: at once, or when its gate opens."""

    def __init__(self, **objects: Fetched) -> None:
        self.objects = {f"/{name}": fetched for name, fetched in objects.items()}
        self.asked: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def fetch(self, path: str) -> Fetched:
        self.asked.append(path)
        answer = self.objects.get(path, MISSING)
        await self.gate.wait()
        return answer

    def cached(self) -> CachedOrigin:
        return CachedOrigin(self.fetch, DEPLOYED, Matching.EITHER)


def text(body: bytes, cache_control: str = "max-age=100") -> Fetched:
    return Fetched(200, (("Cache-Control", cache_control),), body)


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


async def get(cached: CachedOrigin, path: str) -> tuple[int, bytes]:
    entry, _ = await cached.get(path, path)
    return entry.status, entry.body


async def start(cached: CachedOrigin, path: str) -> asyncio.Task[tuple[int, bytes]]:
    task = asyncio.create_task(get(cached, path))
    await asyncio.sleep(0.01)
    return task


def test_what_is_on_its_way_when_it_is_invalidated_is_not_kept() -> None:
    async def test() -> None:
        origin = Origin(a=text(b"old"))
        cached = origin.cached()
        origin.gate.clear()
        before = await start(cached, "/a")
        origin.objects["/a"] = text(b"new")
        cached.invalidate(("/a",))
        after = await start(cached, "/a")
        origin.gate.set()
        assert (await before, await after) == ((200, b"old"), (200, b"new"))
        assert await get(cached, "/a") == (200, b"new")
        assert origin.asked == ["/a", "/a"]

    run(test())


def test_who_waits_for_what_is_not_to_be_kept_asks_again() -> None:
    async def test() -> None:
        origin = Origin(a=text(b"first", "no-store"))
        cached = origin.cached()
        origin.gate.clear()
        one, two = await start(cached, "/a"), await start(cached, "/a")
        origin.objects["/a"] = text(b"second", "no-store")
        origin.gate.set()
        assert (await one, await two) == ((200, b"first"), (200, b"second"))

    run(test())


def test_a_viewer_that_leaves_takes_nothing_from_the_others() -> None:
    async def test() -> None:
        origin = Origin(a=text(b"x"))
        cached = origin.cached()
        origin.gate.clear()
        one, two = await start(cached, "/a"), await start(cached, "/a")
        one.cancel()
        origin.gate.set()
        assert await two == (200, b"x")

    run(test())


def test_an_origin_in_trouble_leaves_what_was_fresh_once() -> None:
    async def test() -> None:
        origin = Origin(a=text(b"x", "max-age=0, s-maxage=1"))
        cached = origin.cached()
        assert await get(cached, "/a") == (200, b"x")
        await asyncio.sleep(1.05)
        origin.objects["/a"] = Fetched(500, (), b"trouble")
        assert await get(cached, "/a") == (200, b"x")
        assert await get(cached, "/b") == (403, b"AccessDenied")
        origin.objects["/c"] = Fetched(500, (), b"trouble")
        assert await get(cached, "/c") == (500, b"trouble")

    run(test())


def test_the_page_is_fetched_once_for_all_errors() -> None:
    async def test() -> None:
        origin = Origin(page=PAGE)
        cached = origin.cached()
        for path in ("/a", "/b", "/a"):
            entry, _ = await cached.get(path, path)
            assert (entry.status, entry.body) == (404, b"page")
            assert entry.headers == (("Content-Type", "text/html"),)
        assert origin.asked == ["/a", "/page", "/b"]
        await asyncio.sleep(0.06)
        origin.objects["/a"] = text(b"placed")
        assert await get(cached, "/a") == (200, b"placed")

    run(test())


def test_a_page_that_is_missing_itself_leaves_its_own_status() -> None:
    async def test() -> None:
        assert await get(Origin().cached(), "/a") == (403, b"AccessDenied")

    run(test())
