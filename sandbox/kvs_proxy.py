"""The way to the emulated KeyValueStore: a proxy on loopback that leads its host names to one server.

AWS's client puts the account before the host of that service, and such a name resolves nowhere on this
machine. Through a proxy nobody has to resolve it; the TLS within is between the client and the server.
"""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOST = "kvs.test"
"""What the store's endpoint is called; every name below it leads to the server as well."""

_LOOPBACK = "127.0.0.1"
_BUFFER = 65536


class _Tunnel(BaseHTTPRequestHandler):
    """Answers CONNECT, for names of the store only."""

    protocol_version = "HTTP/1.1"
    port = 0

    def do_CONNECT(self) -> None:
        """Join the client to the server until one of them hangs up."""
        name = self.path.rpartition(":")[0]
        if name != HOST and not name.endswith(f".{HOST}"):
            # Whoever asks for another host by mistake must not be given this server for it.
            self.send_error(HTTPStatus.FORBIDDEN, f"this proxy leads to {HOST} only")
            return
        try:
            server = socket.create_connection((_LOOPBACK, self.port), timeout=5)
        except OSError:
            self.send_error(HTTPStatus.BAD_GATEWAY)
            return
        with server:
            server.settimeout(None)
            self.send_response(HTTPStatus.OK)
            self.end_headers()
            self.close_connection = True
            back = threading.Thread(target=_pump, args=(server, self.connection), daemon=True)
            back.start()
            _pump(self.connection, server)
            back.join()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    # Tunnels live as long as their clients; nobody waits for them in the end.
    daemon_threads = True
    block_on_close = False


@contextmanager
def run_kvs_proxy(port: int) -> Generator[str]:
    """Run the proxy in front of loopback's `port` until the block ends, and give its URL."""
    handler = type("_TunnelToPort", (_Tunnel,), {"port": port})
    with _Server((_LOOPBACK, 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield f"http://{_LOOPBACK}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_BUFFER):
            sink.sendall(data)
    # Each side then sees the end of what the other one says.
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
