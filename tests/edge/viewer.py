"""A viewer of an edge, who sends what it is told to byte by byte; and patience."""

import http.client
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import urlsplit


def eventually(condition: Callable[[], bool], seconds: float = 5) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


@dataclass(frozen=True)
class Reply:
    """What a viewer got; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def cache(self) -> str:
        return self.headers["x-cache"].removesuffix(" from cloudfront")


class Viewer:
    """One keep-alive connection to an edge. Paths go out byte by byte as they are given."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        assert address.hostname is not None
        self._socket = socket.create_connection((address.hostname, address.port or 80), timeout=10)

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, **headers)

    def head(self, path: str, **headers: str) -> Reply:
        return self.ask("HEAD", path, **headers)

    def ask(self, method: str, path: str, **headers: str) -> Reply:
        lines = [f"{method} {path} HTTP/1.1", "Host: edge.test"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        return self.send("\r\n".join([*lines, "", ""]).encode("latin-1"), method)

    def send(self, request: bytes, method: str = "GET") -> Reply:
        self._socket.sendall(request)
        with closing(http.client.HTTPResponse(self._socket, method=method)) as response:
            response.begin()
            body = response.read()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, names, body)

    def close(self) -> None:
        self._socket.close()
