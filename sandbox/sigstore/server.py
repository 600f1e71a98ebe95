"""HTTP on loopback for what Sigstore's parts answer; it knows nothing of what that is."""

import socket
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

from sandbox.ministack import LOOPBACK
from sandbox.sigstore.faults import ClosedError, Faults

_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asks for; of a parameter that comes twice, the last counts."""

    query: Mapping[str, str]
    bearer: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What it gets; with a `location` it is sent on."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    location: str | None = None


Route = tuple[str, str]
"""A method and a path."""

Routes = Mapping[Route, Callable[[Request], Answer]]


class Server(ThreadingHTTPServer):
    """Listens from the start on, at a free port of loopback; answers after `start`, until `close`."""

    # Closing waits for the threads, and can: it ends what they are waiting for.
    daemon_threads = False
    block_on_close = True

    def __init__(self, faults: Faults) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.faults = faults
        self.routes: Routes = {}
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._thread = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": _POLL_SECONDS}, daemon=True
        )

    @property
    def url(self) -> str:
        """The address, without a slash at the end."""
        return f"http://{LOOPBACK}:{self.server_port}"

    def start(self, routes: Routes) -> None:
        """Begin to answer, these routes only."""
        self.routes = routes
        self._thread.start()

    def close(self) -> None:
        """Hang up on everybody, those who are kept waiting too; closing twice does no harm."""
        self.faults.close()
        if self._thread.is_alive():
            self.shutdown()
            self._thread.join()
        with self._lock:
            for each in self._connections:
                _hang_up(each)
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember the connection, and serve it in a thread."""
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection that has ended."""
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that hang up; anything else is a fault of this server."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _hang_up(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        # The client was faster.
        return


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection's requests by the server's routes."""

    protocol_version = "HTTP/1.1"
    # Head and body in one packet: in two, each answer waits 40 ms for the client's acknowledgement.
    wbufsize = 65536
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer a GET."""
        self._answer("GET")

    def do_POST(self) -> None:
        """Answer a POST."""
        self._answer("POST")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""

    def _answer(self, method: str) -> None:
        server = cast("Server", self.server)
        target = urlsplit(self.path)
        # Read in any case: what is left over would be taken for the connection's next request.
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        bearer = self.headers.get("Authorization", "").partition(" ")[2]
        try:
            failure = server.faults.take(target.path)
        except ClosedError:
            self.close_connection = True
            return
        serve = server.routes.get((method, target.path), _refuse)
        self._send(
            Answer(failure.status, failure.body)
            if failure
            else serve(Request(dict(parse_qsl(target.query)), bearer, body))
        )

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        if answer.location:
            self.send_header("Location", answer.location)
        self.end_headers()
        self.wfile.write(answer.body)


def _refuse(_request: Request) -> Answer:
    return Answer(HTTPStatus.NOT_FOUND, b'{"code": 404, "message": "there is nothing here"}')
