"""HTTP/1.1 as an edge's viewers speak it: nothing of a request's path is read, decoded or tidied here.

Libraries do tidy it (the standard one folds leading slashes, others refuse what CloudFront lets through), and
the odd spellings are what the gate has to be tried with.
"""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus

MAX_HEAD = 32 * 1024
MAX_TARGET = 8192

_LINE = re.compile(r"([!-~]+) ([^\x00-\x20\x7f]+) HTTP/1\.([01])")
_AUTHORITY = re.compile(r"\Ahttps?://[^/?]*", re.IGNORECASE)
_BODILESS = {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}


class BadRequestError(Exception):
    """A request that is answered before anything looks at it; the connection ends with it."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class Request:
    """A viewer's request; `path` and `query` as sent, each byte a character."""

    method: str
    path: str
    query: str
    headers: Mapping[str, tuple[str, ...]]
    keeps_alive: bool

    def find(self, name: str) -> str | None:
        """Give a header, named in lower case; of several the first."""
        values = self.headers.get(name)
        return values[0] if values else None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a viewer gets."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """Read the next request of a connection, or None when the viewer has ended it.

    Raises:
        BadRequestError: It is not one that is served.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError as error:
        raise BadRequestError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "too long") from error
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return parse_request(head.decode("latin-1"))


def parse_request(head: str) -> Request:
    """Read a request's head.

    Raises:
        BadRequestError: It is not one that is served.
    """
    first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    match = _LINE.fullmatch(first)
    if match is None:
        raise BadRequestError(HTTPStatus.BAD_REQUEST, "not a request line")
    method, target, minor = match.groups()
    headers = _parse_headers(lines)
    _check(method, target, headers)
    path, _, query = _AUTHORITY.sub("", target, count=1).partition("?")
    connection = ",".join(headers.get("connection", ())).lower()
    keeps_alive = "close" not in connection and (minor == "1" or "keep-alive" in connection)
    return Request(method, path or "/", query, headers, keeps_alive)


def _parse_headers(lines: list[str]) -> dict[str, tuple[str, ...]]:
    headers: dict[str, tuple[str, ...]] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise BadRequestError(HTTPStatus.BAD_REQUEST, "not a header")
        headers[name.lower()] = (*headers.get(name.lower(), ()), value.strip())
    return headers


def _check(method: str, target: str, headers: Mapping[str, tuple[str, ...]]) -> None:
    if len(target) > MAX_TARGET:
        raise BadRequestError(HTTPStatus.REQUEST_URI_TOO_LONG, "too long")
    if method not in {"GET", "HEAD"} or "transfer-encoding" in headers:
        raise BadRequestError(HTTPStatus.FORBIDDEN, "method not allowed")
    if headers.get("content-length", ("0",)) != ("0",):
        raise BadRequestError(HTTPStatus.FORBIDDEN, "no request here has a body")
    if len(headers.get("host", ())) != 1 or not (target.startswith("/") or _AUTHORITY.match(target)):
        raise BadRequestError(HTTPStatus.BAD_REQUEST, "no host, or no path")


def write_answer(answer: Answer, *, with_body: bool, keeps_alive: bool) -> bytes:
    """Spell an answer out; without a body it still says how long that would be."""
    try:
        reason = HTTPStatus(answer.status).phrase
    except ValueError:
        reason = ""
    lines = [f"HTTP/1.1 {answer.status} {reason}"]
    lines += [f"{name}: {value}" for name, value in answer.headers]
    lines.append(f"Date: {formatdate(usegmt=True)}")
    if answer.status not in _BODILESS:
        lines.append(f"Content-Length: {len(answer.body)}")
    lines.append(f"Connection: {'keep-alive' if keeps_alive else 'close'}")
    head = "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")
    return head + answer.body if with_body and answer.status not in _BODILESS else head
