"""A caching proxy on loopback in front of one edge: of the kind that makes publishing hard.

It behaves as a cache of Fastly's does, of the files' part of www.python.org, where that is known:

* An answer is kept whatever its Cache-Control says: five years for a file or a redirect, an hour
  (`miss_seconds`) for 404 and 410. Anything else, such as 403 and 503, is passed on.
* It is kept by its exact target, query included (python.org's leaves the query of a file away).
* HEAD and GET share an entry: a HEAD that is not cached is asked for by GET. So a bot's HEAD hides a file.
* One request at a time goes to the edge for a target; whoever asks meanwhile waits for its answer.
* `PURGE` forgets one target, and is answered with 200 and JSON whether it was cached or not. As in Varnish,
  an answer that is on its way from the edge at that moment is kept all the same: who purges has to look, and
  to purge again.

It knows no ranges and no conditions: both get the whole file. Other methods get 405.
"""

import asyncio
import json
import socket
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from http import HTTPStatus
from threading import Thread
from typing import cast

from sandbox.edge.wire import Answer, write_answer
from sandbox.ministack import LOOPBACK
from sandbox.outer_cache.cache import MISS_SECONDS, Cache, Entry, choose_seconds
from sandbox.outer_cache.origin import Origin
from sandbox.outer_cache.wire import MAX_HEAD, BadRequestError, Request, read_request

_DROPPED = frozenset(
    {
        "connection",
        "keep-alive",
        "transfer-encoding",
        "content-length",
        "date",
        "age",
        "x-cache",
        "accept-ranges",
    }
)
_SILENCE_SECONDS = 60.0
_BACKLOG = 512


class Fault(StrEnum):
    """What goes wrong with a PURGE."""

    REFUSE = "403, nothing forgotten"
    THROTTLE = "429 with Retry-After, nothing forgotten"
    FAIL = "503, nothing forgotten"
    DROP = "connection closed, nothing forgotten"
    DROP_AFTER = "forgotten, then connection closed"
    SILENCE = "no answer, nothing forgotten"
    LIE = "200, nothing forgotten"


@dataclass(frozen=True, slots=True)
class Counts:
    """Requests so far: answered from the cache, sent to the edge; PURGEs obeyed, and gone wrong."""

    hits: int = 0
    fetches: int = 0
    purges: int = 0
    faults: int = 0


class OuterCache:
    """A running cache at `url`, which ends with a slash. `miss_seconds` may be set at any time."""

    def __init__(self, url: str, origin: Origin, *, miss_seconds: float, clock: Callable[[], float]) -> None:
        self.url = url
        self.miss_seconds = miss_seconds
        self.wait_seconds = 2
        """What a PURGE that is throttled is told to wait."""
        self.counts = Counts()
        self._origin = origin
        self._clock = clock
        self._cache = Cache()
        self._flights: dict[str, asyncio.Task[Entry]] = {}
        self._purged: list[str] = []
        self._faults: deque[Fault | None] = deque()
        self._conversations: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._ended = asyncio.Event()

    @property
    def purged(self) -> tuple[str, ...]:
        """Give the targets of the PURGEs that were obeyed, in order."""
        return tuple(self._purged)

    @property
    def cached(self) -> tuple[str, ...]:
        """Give the targets that would be answered without asking the edge."""
        return self._cache.list_targets(self._clock())

    def inject(self, *faults: Fault | None) -> None:
        """Let the next PURGEs go wrong, one for each fault; None lets one pass."""
        self._faults.extend(faults)

    def forget(self) -> None:
        """Forget everything, as if nobody had ever asked."""
        self._cache.clear()

    async def serve(self, listener: socket.socket, stop: asyncio.Event) -> None:
        """Serve until told to stop, and end every connection then, whatever it waits for."""
        server = await asyncio.start_server(self._converse, sock=listener, limit=MAX_HEAD)
        await stop.wait()
        server.close()
        self._ended.set()
        for writer in self._conversations.values():
            writer.transport.abort()
        await asyncio.gather(*self._conversations)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        self._conversations[task] = writer
        try:
            with suppress(ConnectionError):
                while await self._serve_next(reader, writer):
                    pass
        finally:
            del self._conversations[task]
            writer.close()

    async def _serve_next(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request, and tell whether the connection goes on."""
        try:
            request = await read_request(reader)
        except BadRequestError as error:
            writer.write(write_answer(Answer(error.status), with_body=True, keeps_alive=False))
            return False
        answer = await self._answer(request) if request else None
        if request is None or answer is None:
            return False
        writer.write(
            write_answer(answer, with_body=request.method != "HEAD", keeps_alive=request.keeps_alive)
        )
        await writer.drain()
        return request.keeps_alive

    async def _answer(self, request: Request) -> Answer | None:
        """Answer a request, or let its connection end without an answer."""
        if request.method in {"GET", "HEAD"}:
            return self._render(*await self._get(request.target))
        if request.method != "PURGE":
            return _say(HTTPStatus.METHOD_NOT_ALLOWED, "method not allowed", ("Allow", "GET, HEAD, PURGE"))
        fault = self._faults.popleft() if self._faults else None
        if fault in {None, Fault.DROP_AFTER}:
            self._cache.forget(request.target)
            self._purged.append(request.target)
            self.counts = replace(self.counts, purges=self.counts.purges + 1)
        if fault is None:
            return self._confirm()
        self.counts = replace(self.counts, faults=self.counts.faults + 1)
        return await self._go_wrong(fault)

    async def _go_wrong(self, fault: Fault) -> Answer | None:
        match fault:
            case Fault.REFUSE:
                return _say(HTTPStatus.FORBIDDEN, "not allowed")
            case Fault.THROTTLE:
                wait = ("Retry-After", str(self.wait_seconds))
                return _say(HTTPStatus.TOO_MANY_REQUESTS, "slow down", wait)
            case Fault.FAIL:
                return _say(HTTPStatus.SERVICE_UNAVAILABLE, "out of order")
            case Fault.LIE:
                return self._confirm()
            case Fault.SILENCE:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._ended.wait(), _SILENCE_SECONDS)
                return None
            case Fault.DROP | Fault.DROP_AFTER:
                return None

    def _confirm(self) -> Answer:
        number = self.counts.purges + self.counts.faults
        return _say(HTTPStatus.OK, "ok", id=f"outer-{number}")

    async def _get(self, target: str) -> tuple[Entry, bool]:
        """Give the answer for `target`, and whether it came from the cache."""
        found = self._cache.find(target, self._clock())
        flight = self._flights.get(target)
        if found is None and flight is not None:
            landed = await asyncio.shield(flight)
            # What is not to be kept is no answer to a request that it does not belong to.
            found = landed if landed.is_kept else None
        if found is not None:
            self.counts = replace(self.counts, hits=self.counts.hits + 1)
            return found, True
        flight = asyncio.get_running_loop().create_task(self._fetch(target))
        self._flights[target] = flight
        # A viewer that goes away does not take the answer from those who wait with it.
        return await asyncio.shield(flight), False

    async def _fetch(self, target: str) -> Entry:
        self.counts = replace(self.counts, fetches=self.counts.fetches + 1)
        try:
            fetched = await asyncio.to_thread(self._origin.fetch, target)
            now = self._clock()
            expires = now + choose_seconds(fetched.status, self.miss_seconds)
            headers = tuple(pair for pair in fetched.headers if pair[0].lower() not in _DROPPED)
            entry = Entry(fetched.status, headers, fetched.body, now, expires)
            self._cache.keep(target, entry)
            return entry
        finally:
            if self._flights.get(target) is asyncio.current_task():
                del self._flights[target]

    def _render(self, entry: Entry, is_hit: bool) -> Answer:  # noqa: FBT001
        age = max(0, int(self._clock() - entry.stored))
        own = (("X-Cache", "HIT" if is_hit else "MISS"), ("Age", str(age)))
        return Answer(entry.status, (*entry.headers, *own), entry.body)


def _say(status: HTTPStatus, text: str, *headers: tuple[str, str], **more: str) -> Answer:
    body = json.dumps({"status": text, **more}).encode()
    return Answer(status, (("Content-Type", "application/json"), *headers), body)


@contextmanager
def run_outer_cache(
    origin_url: str, *, miss_seconds: float = MISS_SECONDS, clock: Callable[[], float] = time.monotonic
) -> Generator[OuterCache]:
    """Run a cache in front of the site at `origin_url` until the block ends.

    Args:
        origin_url: Where an edge answers, in the clear.
        miss_seconds: How long 404 and 410 are kept.
        clock: Counts seconds.
    """
    stop = asyncio.Event()
    with (
        closing(Origin(origin_url)) as origin,
        socket.create_server((LOOPBACK, 0), backlog=_BACKLOG) as listener,
        asyncio.Runner() as runner,
    ):
        url = f"http://{LOOPBACK}:{listener.getsockname()[1]}/"
        outer = OuterCache(url, origin, miss_seconds=miss_seconds, clock=clock)
        loop = runner.get_loop()
        thread = Thread(target=runner.run, args=(outer.serve(listener, stop),), daemon=True)
        thread.start()
        try:
            yield outer
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join()
