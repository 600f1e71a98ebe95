"""Asks the edge behind the cache, over connections that are kept."""

import http.client
from dataclasses import dataclass
from http import HTTPStatus
from threading import Lock
from urllib.parse import urlsplit

from sandbox.outer_cache.cache import Headers

_TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Fetched:
    """What the origin answered, whole."""

    status: int
    headers: Headers = ()
    body: bytes = b""


class Origin:
    """An HTTP server, asked by several threads at once."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        if address.scheme != "http" or address.hostname is None:
            raise ValueError(f"found {url!r} as the origin, expected http://…")
        self._host, self._port = address.hostname, address.port or 80
        self._folder = address.path.rstrip("/")
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = Lock()

    def fetch(self, target: str) -> Fetched:
        """GET `target`, spelled exactly so. An origin that does not answer, or not wholly, is a 503."""
        try:
            with self._lock:
                idle = self._idle.pop() if self._idle else None
            if idle is not None:
                try:
                    return self._ask(idle, target)
                except ConnectionError:
                    # The origin ends connections that were idle.
                    pass
            return self._ask(
                http.client.HTTPConnection(self._host, self._port, timeout=_TIMEOUT_SECONDS), target
            )
        except (OSError, http.client.HTTPException):
            return Fetched(HTTPStatus.SERVICE_UNAVAILABLE, (("Content-Type", "text/plain"),), b"no answer")

    def close(self) -> None:
        """Close the connections that are idle."""
        with self._lock:
            for connection in self._idle:
                connection.close()
            self._idle.clear()

    def _ask(self, connection: http.client.HTTPConnection, target: str) -> Fetched:
        try:
            connection.request("GET", self._folder + target, headers={"User-Agent": "outer-cache"})
            response = connection.getresponse()
            body = response.read()
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._idle.append(connection)
        return Fetched(response.status, tuple(response.getheaders()), body)
