"""Reads requests of any method; their targets, by which answers are cached, are not decoded or tidied."""

import asyncio
import re
from dataclasses import dataclass
from http import HTTPStatus

from sandbox.edge.wire import MAX_HEAD, BadRequestError

__all__ = ["MAX_HEAD", "BadRequestError", "Request", "read_request"]

_LINE = re.compile(r"([!-~]+) ([!-~]+) HTTP/1\.([01])")
_AUTHORITY = re.compile(r"\Ahttps?://[^/?]*(?=/)", re.IGNORECASE)
_CONNECTION = re.compile(r"^connection:\s*(\S+)\s*$", re.IGNORECASE | re.MULTILINE)
_LENGTH = re.compile(r"^content-length:\s*(\d{1,5})\s*$", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Request:
    """A request; `target` is path and query as sent."""

    method: str
    target: str
    keeps_alive: bool


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """Read the next request of a connection with its body, or None when the viewer has ended it.

    Raises:
        BadRequestError: It is not one that is served.
    """
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        # None of the methods that are served has a body; this one is read off, for the connection's sake.
        length = _LENGTH.search(head)
        await reader.readexactly(int(length[1]) if length else 0)
    except asyncio.LimitOverrunError as error:
        raise BadRequestError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "too long") from error
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    line, _, headers = head.partition("\r\n")
    match = _LINE.fullmatch(line)
    target = _AUTHORITY.sub("", match[2]) if match else ""
    if match is None or not target.startswith("/"):
        raise BadRequestError(HTTPStatus.BAD_REQUEST, "not a request line")
    said = _CONNECTION.search(headers)
    wish = said[1].lower() if said else ""
    return Request(match[1], target, wish != "close" and (match[3] == "1" or wish == "keep-alive"))
