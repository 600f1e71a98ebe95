"""What both stand-ins share: a log of requests, faults to inject, and a server that ends with its block."""

import json
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import cast

LOOPBACK = "127.0.0.1"
_SILENCE_SECONDS = 60.0


class Fault(StrEnum):
    """What goes wrong with a request: before it is looked at, or after it was done."""

    FAIL_BEFORE = "500, nothing done"
    FAIL_AFTER = "done, then 500"
    DROP_BEFORE = "connection closed, nothing done"
    DROP_AFTER = "done, then connection closed"
    SILENCE_BEFORE = "no answer, nothing done"
    SILENCE_AFTER = "done, then no answer"
    THROTTLE = "429, with Retry-After"
    THROTTLE_IN_BODY = "429, whose wait stands in the body only"
    THROTTLE_MUTE = "429, with nothing about how long"
    READ_ONLY = "503, read-only mode"


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it arrived. Header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer; `body` is sent as JSON, or as plain text if it is text."""

    status: int
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class Service(ThreadingHTTPServer, ABC):
    """A server on a free port that notes what it is asked; a subclass says what it answers."""

    daemon_threads = True
    # Whoever is silent waits for its client; nobody waits for that in the end.
    block_on_close = False

    def __init__(self) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.base = f"http://{LOOPBACK}:{self.server_port}"
        self.wait_seconds = 7
        self.ended = Event()
        self.lock = Lock()
        self._log: list[Seen] = []
        self._faults: list[tuple[str, Fault | None]] = []

    @property
    def log(self) -> tuple[Seen, ...]:
        """Give every request so far, in order of arrival."""
        with self.lock:
            return tuple(self._log)

    def count(self, method: str) -> int:
        """Count the requests with this method so far."""
        return sum(seen.method == method for seen in self.log)

    def inject(self, *faults: Fault | None, method: str = "POST") -> None:
        """Let the next requests with this method go wrong, one for each fault; None lets one pass."""
        with self.lock:
            self._faults += [(method, fault) for fault in faults]

    @abstractmethod
    def answer(self, seen: Seen) -> Reply:
        """Do what is asked and answer; called by one thread at a time."""

    def throttle(self, fault: Fault) -> Reply:
        """Refuse a request for now."""
        headers = {"Retry-After": str(self.wait_seconds)} if fault is Fault.THROTTLE else {}
        return Reply(429, "slow down", headers)

    def fail(self, fault: Fault) -> Reply:
        """Refuse a request because of a trouble of the server's own."""
        return Reply(503 if fault is Fault.READ_ONLY else 500, "out of order")

    def take(self, seen: Seen) -> Reply | None:
        """Note a request and answer it; None is silence, and status 0 a closed connection."""
        with self.lock:
            self._log.append(seen)
            fault = self._draw(seen.method)
            if fault is None:
                return self.answer(seen)
            return self._go_wrong(fault, seen)

    def _go_wrong(self, fault: Fault, seen: Seen) -> Reply | None:
        if fault in {Fault.THROTTLE, Fault.THROTTLE_IN_BODY, Fault.THROTTLE_MUTE}:
            return self.throttle(fault)
        if fault in {Fault.FAIL_AFTER, Fault.DROP_AFTER, Fault.SILENCE_AFTER}:
            self.answer(seen)
        if fault in {Fault.DROP_BEFORE, Fault.DROP_AFTER}:
            return Reply(0)
        if fault in {Fault.SILENCE_BEFORE, Fault.SILENCE_AFTER}:
            return None
        return self.fail(fault)

    def _draw(self, method: str) -> Fault | None:
        for place, (wanted, fault) in enumerate(self._faults):
            if wanted == method:
                del self._faults[place]
                return fault
        return None


@contextmanager
def serve(service: Service) -> Generator[None]:
    """Serve until the block ends."""
    with service:
        thread = Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield
        finally:
            service.ended.set()
            service.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    """Hands every request to its server."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer a read."""
        self._handle()

    def do_POST(self) -> None:
        """Answer a write."""
        self._handle()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""

    def _handle(self) -> None:
        service = cast("Service", self.server)
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", "0")))
        reply = service.take(Seen(self.command, self.path, headers, body))
        if reply is None:
            service.ended.wait(_SILENCE_SECONDS)
        if reply is None or reply.status == 0:
            self.close_connection = True
            return
        # Whoever has stopped waiting is not there any more.
        with suppress(OSError):
            self._send(reply)

    def _send(self, reply: Reply) -> None:
        plain = isinstance(reply.body, str)
        data = str(reply.body).encode() if plain else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        kind = "text/plain" if plain else "application/json"
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
