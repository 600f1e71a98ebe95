"""One edge, as a process: `python -m sandbox.edge.server CONFIG`. Ends only by being killed."""

import asyncio
import hmac
import secrets
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qsl

from sandbox.edge.cache import Entry
from sandbox.edge.fetching import CachedOrigin
from sandbox.edge.function import Function, FunctionError
from sandbox.edge.origin import OriginClient
from sandbox.edge.rendering import complete, render_entry, render_generated
from sandbox.edge.replica import Replica
from sandbox.edge.values import COMMAND, EDGE_CONFIG, STATUS, Command, Counters, EdgeConfig, EdgeStatus
from sandbox.edge.wire import MAX_HEAD, Answer, BadRequestError, Request, read_request, write_answer
from sandbox.ministack import LOOPBACK

_COMMAND_LIMIT = 16 * 1024 * 1024


@dataclass(order=True, slots=True)
class _Invalidation:
    due: float
    patterns: tuple[str, ...] = field(compare=False)


class Edge:
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
        self._cached = CachedOrigin(self._origin, config.deployed, settings.matching)
        self._delay = settings.invalidation_delay_seconds
        self._invalidations: list[_Invalidation] = []
        self._counters = Counters()

    async def answer(self, request: Request) -> Answer:
        """Answer a viewer."""
        self._advance()
        self._count(requests=1)
        try:
            result = self._function.run(self._make_event(request))
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
            entries=self._replica.entries,
            waiting=self._replica.waiting,
            cached=self._cached.list_keys(),
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

    def _make_event(self, request: Request) -> dict[str, object]:
        deployed = self._config.deployed
        cookies = [part.partition("=") for part in (request.find("cookie") or "").split(";")]
        headers = {name: values for name, values in request.headers.items() if name != "cookie"}
        query: dict[str, tuple[str, ...]] = {}
        for name, value in parse_qsl(request.query, keep_blank_values=True, encoding="latin-1"):
            query[name] = (*query.get(name, ()), value)
        return {
            "version": "1.0",
            "context": {
                "distributionDomainName": deployed.domain_name,
                "distributionId": deployed.distribution_id,
                "eventType": "viewer-request",
                "requestId": secrets.token_hex(16),
            },
            "viewer": {"ip": LOOPBACK},
            "request": {
                "method": request.method,
                "uri": request.path,
                "querystring": _list_values(query),
                "headers": _list_values(headers),
                "cookies": {name.strip(): {"value": value} for name, _, value in cookies if name.strip()},
            },
        }

    def _complete(self, answer: Answer, x_cache: str, age: int | None = None) -> Answer:
        return complete(answer, deployed=self._config.deployed, pop=self._pop, x_cache=x_cache, age=age)

    def _complete_entry(self, entry: Entry, answer: Answer, *, is_hit: bool) -> Answer:
        x_cache = "Error" if answer.status >= HTTPStatus.BAD_REQUEST else "Hit" if is_hit else "Miss"
        return self._complete(answer, x_cache, int(time.monotonic() - entry.stored) if is_hit else None)


def _list_values(values: Mapping[str, tuple[str, ...]]) -> dict[str, object]:
    return {
        name: {"value": found[0]}
        if len(found) == 1
        else {"value": found[0], "multiValue": [{"value": each} for each in found]}
        for name, found in values.items()
    }


async def _serve_viewer(edge: Edge, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    keeps_alive = True
    with suppress(ConnectionError):
        while keeps_alive:
            try:
                request = await read_request(reader)
            except BadRequestError as error:
                writer.write(write_answer(edge.refuse(error.status), with_body=True, keeps_alive=False))
                break
            if request is None:
                break
            answer = await edge.answer(request)
            keeps_alive = request.keeps_alive
            writer.write(write_answer(answer, with_body=request.method != "HEAD", keeps_alive=keeps_alive))
            await writer.drain()
        writer.close()
        await writer.wait_closed()


async def _serve_control(
    edge: Edge, token: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    with suppress(ConnectionError):
        while line := await reader.readline():
            command = COMMAND.validate_json(line)
            if not hmac.compare_digest(command.token, token):
                break
            writer.write(STATUS.dump_json(edge.obey(command)) + b"\n")
            await writer.drain()
        writer.close()


async def serve(config: EdgeConfig) -> None:
    """Serve viewers and commands, each on a port of loopback, without end."""
    edge = Edge(config)
    viewers = await asyncio.start_server(
        lambda reader, writer: _serve_viewer(edge, reader, writer),
        LOOPBACK,
        config.port,
        limit=MAX_HEAD,
        backlog=512,
    )
    control = await asyncio.start_server(
        lambda reader, writer: _serve_control(edge, config.token, reader, writer),
        LOOPBACK,
        config.control_port,
        limit=_COMMAND_LIMIT,
    )
    await asyncio.gather(viewers.serve_forever(), control.serve_forever())


if __name__ == "__main__":
    asyncio.run(serve(EDGE_CONFIG.validate_json(Path(sys.argv[1]).read_bytes())))
