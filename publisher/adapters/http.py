"""What the adapters that speak HTTP to a service share: one session, bounded waits, no redirect followed.

Only reads are asked again. A write is sent once, but for an answer that says it was not looked at (429).
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from requests.exceptions import ConnectTimeout, RequestException
from urllib3.exceptions import MaxRetryError, NewConnectionError
from urllib3.util import Retry

_CHUNK = 64 * 1024
_READS = ["GET", "HEAD", "OPTIONS"]
_BUSY = [500, 502, 503, 504]
_THROTTLED = 429
_TURNS = 3
"""How often a throttled request is sent, at most."""

Sign = Callable[[requests.PreparedRequest], requests.PreparedRequest]


class NoAnswerError(Exception):
    """There was no answer, or not all of it. `sent` is False if the request cannot have arrived."""

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


@dataclass(frozen=True, slots=True)
class Limits:
    """How long to wait, in seconds, and for how much.

    `connect` and `read` bound each single wait, `whole` the answer altogether, `size` its bytes. `patience`
    is the longest wait that a throttling service may ask for.
    """

    connect: float = 10.0
    # A service may do much before it answers, and whoever hangs up early knows nothing.
    read: float = 90.0
    whole: float = 120.0
    size: int = 32 * 1024**2
    patience: float = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service answered. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    def read_json(self) -> Any | None:
        """Give the body's JSON, or None if it is anything else, whatever the status."""
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json" and not kind.endswith("+json"):
            return None
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    def read_wait(self) -> float | None:
        """Give the seconds that the service asks to wait, or None if it does not say (or by a date)."""
        text = self.headers.get("retry-after", "").strip()
        return float(text) if text.isascii() and text.isdigit() else None


class Http:
    """One session. `sign` adds credentials to a request; without it, none are sent."""

    def __init__(
        self,
        user_agent: str,
        *,
        limits: Limits | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits or Limits()
        self._sleep = sleep
        self._clock = clock
        self._session = requests.Session()
        self._session.headers.update({"User-Agent": user_agent, "Accept": "application/json"})
        retry = Retry(
            total=3,
            backoff_factor=0.2,
            allowed_methods=_READS,
            status_forcelist=_BUSY,
            raise_on_status=False,
            # A busy service may ask for a day; what throttling asks for is looked at below.
            respect_retry_after_header=False,
            redirect=0,
        )
        adapter = HTTPAdapter(max_retries=retry)
        self._session.mount("https://", adapter)
        self._session.mount("http://", adapter)

    def request(
        self,
        method: str,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        json: object = None,
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        sign: Sign | None = None,
    ) -> Answer:
        """Send a request and read the answer, whatever its status; redirects are answers like any other.

        A 429 is waited for as often and as long as the limits allow, and then an answer, too.

        Raises:
            NoAnswerError: There was no answer, or not all of it in time.
        """
        send = partial(
            self._session.request,
            method,
            url,
            params=dict(params or {}),
            json=json,
            data=data,
            headers=dict(headers or {}),
            # Without any, a .netrc file on this machine would be obeyed.
            auth=sign or stay_anonymous,
            timeout=(self.limits.connect, self.limits.read),
            allow_redirects=False,
            stream=True,
        )
        answer = self._send(url, send)
        for _ in range(1, _TURNS):
            wait = answer.read_wait() if answer.status == _THROTTLED else None
            if wait is None or wait > self.limits.patience:
                break
            self._sleep(wait)
            answer = self._send(url, send)
        return answer

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def _send(self, url: str, send: Callable[[], requests.Response]) -> Answer:
        end = self._clock() + self.limits.whole
        try:
            with send() as answer:
                body = self._read(answer, end)
        except RequestException as error:
            raise NoAnswerError(f"no answer from {url}: {error}", sent=not _is_unsent(error)) from error
        return Answer(answer.status_code, {name.lower(): text for name, text in answer.headers.items()}, body)

    def _read(self, answer: requests.Response, end: float) -> bytes:
        body = bytearray()
        for chunk in answer.iter_content(_CHUNK):
            body += chunk
            if self._clock() > end or len(body) > self.limits.size:
                limits = f"{self.limits.whole:g} s and {self.limits.size} bytes"
                raise NoAnswerError(f"not all of the answer from {answer.url} within {limits}", sent=True)
        return bytes(body)


def stay_anonymous(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Sign nothing: without this, a .netrc file on this machine would be obeyed."""
    return request


def _is_unsent(error: RequestException) -> bool:
    # Values that cannot be sent, such as a URL that is none, are errors of value, too.
    if isinstance(error, ConnectTimeout | ValueError):
        return True
    reason = error.args[0] if error.args else None
    if isinstance(reason, MaxRetryError):
        reason = reason.reason
    return isinstance(reason, NewConnectionError)
