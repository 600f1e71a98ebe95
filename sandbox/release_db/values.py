"""Requests, replies and troubles of the stand-in, as plain values."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Row = dict[str, Any]

CANNED = {"error_message": "Sorry, this request could not be processed. Please try again later."}
_PAGE = "<!doctype html><html><head><title>500</title></head><body><h1>Error</h1>{}</body></html>"


class Fault(StrEnum):
    """What happens to a write. `BEFORE`: it is not made; `AFTER`: it is made all the same."""

    FAIL_BEFORE = "fail-before"
    FAIL_AFTER = "fail-after"
    CUT_BEFORE = "cut-before"
    """The connection ends without an answer."""
    CUT_AFTER = "cut-after"
    SILENT_BEFORE = "silent-before"
    """No answer, for as long as the server runs."""
    SILENT_AFTER = "silent-after"
    THROTTLE = "throttle"
    """429 with a short `Retry-After`; it is not made."""
    GARBLE = "garble"
    """It is made, and answered with the right status and a page."""


@dataclass(frozen=True, slots=True)
class User:
    """Who may have a token for v2 and a key for v1."""

    name: str
    token: str = field(repr=False)
    key: str = field(repr=False)
    is_staff: bool = True
    is_active: bool = True


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came; `query` keeps doubles and blanks, and `address` is the client's."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    headers: Mapping[str, str]
    body: bytes
    address: str

    def params(self) -> dict[str, str]:
        """Give the query's parameters; the last of several wins."""
        return dict(self.query)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to be sent."""

    status: int
    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Entry:
    """A request in the log: who made it, without credentials, and the status (0: no answer).

    `at` is when, by the machine's monotonic clock.
    """

    method: str
    path: str
    query: str
    body: Any
    user: str
    status: int
    at: float = field(default_factory=time.monotonic, compare=False)

    @property
    def is_write(self) -> bool:
        """Tell whether the request would change something."""
        return is_write(self.method)


def is_write(method: str) -> bool:
    """Tell whether a method would change something."""
    return method in {"POST", "PUT", "PATCH", "DELETE"}


def reply_json(status: int, value: object, **headers: str) -> Reply:
    """Answer with JSON."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Reply(status, json.dumps(value).encode(), "application/json", named)


def reply_page() -> Reply:
    """Answer as the site does when something broke: with a page, and a long one."""
    return Reply(500, _PAGE.format("<p>Something is wrong.</p>" * 550).encode())
