"""Asks the origin: the emulated AWS's viewer endpoint, where the bucket policy has its word."""

import asyncio
import http.client
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from sandbox.edge.cache import Headers

_THREADS = 8
_TIMEOUT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Fetched:
    """The origin's answer to a GET."""

    status: int
    headers: Headers = ()
    body: bytes = b""


class OriginClient:
    """Keeps a few connections to the origin. One event loop may use it; the waiting is done on threads."""

    def __init__(self, endpoint: str, domain_name: str) -> None:
        address = urlsplit(endpoint)
        self._host, self._port = address.hostname or "", address.port
        self._domain = domain_name
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="origin")
        self._local = threading.local()
        self.requests = 0

    async def fetch(self, path: str) -> Fetched:
        """GET `path`, spelled exactly so. An origin that cannot be reached answers 502, a slow one 504."""
        self.requests += 1
        if not path.isascii():
            # The origin's server refuses these bytes on the wire; this client could not even send them.
            return Fetched(HTTPStatus.BAD_REQUEST)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._fetch, path)

    def _fetch(self, path: str) -> Fetched:
        try:
            try:
                return self._ask(self._connect(renew=False), path)
            except ConnectionError:
                # The origin ends connections that were idle.
                return self._ask(self._connect(renew=True), path)
        except TimeoutError:
            self._connect(renew=True)
            return Fetched(HTTPStatus.GATEWAY_TIMEOUT)
        except (OSError, http.client.HTTPException):
            self._connect(renew=True)
            return Fetched(HTTPStatus.BAD_GATEWAY)

    def _connect(self, *, renew: bool) -> http.client.HTTPConnection:
        known: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if known is not None and renew:
            known.close()
        if known is None:
            known = http.client.HTTPConnection(self._host, self._port, timeout=_TIMEOUT_SECONDS)
            self._local.connection = known
        return known

    def _ask(self, connection: http.client.HTTPConnection, path: str) -> Fetched:
        connection.putrequest("GET", path, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", self._domain)
        connection.putheader("User-Agent", "Amazon CloudFront")
        # The distribution sends those who come without TLS elsewhere, and the edges' viewers come without.
        connection.putheader("X-Forwarded-Proto", "https")
        connection.endheaders()
        response = connection.getresponse()
        body = response.read()
        if response.getheader("x-cache") is None:
            # The emulator has pages of its own under any host name; this was one, not the bucket's word.
            return Fetched(HTTPStatus.FORBIDDEN)
        return Fetched(response.status, tuple(response.getheaders()), body)
