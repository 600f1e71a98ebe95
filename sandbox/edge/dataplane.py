"""One edge without its sockets: function, replica of the store, cache, and what it is told to do."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus

from sandbox.edge.cache import Entry
from sandbox.edge.event import make_event
from sandbox.edge.fetching import CachedOrigin
from sandbox.edge.function import Function, FunctionError
from sandbox.edge.origin import OriginClient
from sandbox.edge.rendering import complete, render_entry, render_generated
from sandbox.edge.replica import Replica
from sandbox.edge.values import Command, Counters, EdgeConfig, EdgeStatus
from sandbox.edge.wire import Answer, Request


@dataclass(slots=True)
class _Invalidation:
    due: float
    patterns: tuple[str, ...]


class DataPlane:
    """Function, replica and cache of one edge.

    Nothing happens by itself: what has fallen due is applied before each request and each command.
    """

    def __init__(self, config: EdgeConfig) -> None:
        settings = config.settings
        self._config = config
        self._pop = f"EDGE{config.number}"
        self._function = Function(settings.gate)
        self._replica = Replica(
            seed=config.number, lag_seconds=settings.lag_seconds, disorder=settings.disorder
        )
        self._origin = OriginClient(config.endpoint, config.deployed.domain_name)
        self._cached = CachedOrigin(self._origin.fetch, config.deployed, settings.matching)
        self._delay = settings.invalidation_delay_seconds
        self._invalidations: list[_Invalidation] = []
        self._counters = Counters()

    async def answer(self, request: Request) -> Answer:
        """Answer a viewer."""
        self._advance()
        self._count(requests=1)
        try:
            result = self._function.run(make_event(request, self._config.deployed))
            if "statusCode" in result:
                self._count(generated=1)
                return self._complete(render_generated(result), "FunctionGeneratedResponse")
            key = self._choose_key(result)
        except (FunctionError, KeyError, TypeError, ValueError) as error:
            print(f"the function failed for {request.path!r}: {error}", flush=True)
            self._count(function_errors=1)
            return self.refuse(HTTPStatus.SERVICE_UNAVAILABLE)
        entry, is_hit = await self._cached.get(key, request.path)
        self._count(hits=int(is_hit), misses=int(not is_hit))
        return self._complete_entry(entry, render_entry(entry, request), is_hit=is_hit)

    def refuse(self, status: int) -> Answer:
        """Make an answer that neither function nor origin was asked for."""
        return self._complete(Answer(status, (("Content-Type", "text/plain"),)), "Error")

    def obey(self, command: Command) -> EdgeStatus:
        """Do what a command says, and answer how things stand then."""
        self._replica.tune(command.tuning)
        self._function.set_mode(self._replica.mode)
        if command.tuning.invalidation_delay_seconds is not None:
            self._delay = command.tuning.invalidation_delay_seconds
        if command.change is not None:
            self._replica.receive(command.change)
        if command.invalidate:
            self._invalidations.append(_Invalidation(time.monotonic() + self._delay, command.invalidate))
        if command.forget:
            self._cached.forget()
        self._advance()
        return EdgeStatus(
            fed=self._replica.fed,
            entries={} if command.brief else self._replica.entries,
            waiting=self._replica.waiting,
            cached=() if command.brief else self._cached.list_keys(),
            counters=replace(self._counters, origin_requests=self._origin.requests),
        )

    def _advance(self) -> None:
        now = time.monotonic()
        changes = self._replica.advance(now)
        if changes:
            self._function.change(changes)
        due = [each for each in self._invalidations if each.due <= now]
        for each in due:
            self._invalidations.remove(each)
            self._cached.invalidate(each.patterns)
            self._count(invalidations=1)

    def _count(self, **more: int) -> None:
        for name, number in more.items():
            self._counters = replace(self._counters, **{name: getattr(self._counters, name) + number})

    def _choose_key(self, result: Mapping[str, object]) -> str:
        uri = result["uri"]
        if not isinstance(uri, str) or not uri.startswith("/"):
            raise FunctionError(f"the function returned the URI {uri!r}")
        return f"/{self._config.deployed.root_object}" if uri == "/" else uri

    def _complete(self, answer: Answer, x_cache: str, age: int | None = None) -> Answer:
        return complete(answer, deployed=self._config.deployed, pop=self._pop, x_cache=x_cache, age=age)

    def _complete_entry(self, entry: Entry, answer: Answer, *, is_hit: bool) -> Answer:
        x_cache = "Error" if answer.status >= HTTPStatus.BAD_REQUEST else "Hit" if is_hit else "Miss"
        return self._complete(answer, x_cache, int(time.monotonic() - entry.stored) if is_hit else None)
