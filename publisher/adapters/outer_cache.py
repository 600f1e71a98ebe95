"""Caches in front of the CDN, told to forget single URLs by HTTP's `PURGE`, without credentials.

There is no standard for it. What the common ones answer:

* Fastly: 200 and `{"status": "ok", "id": …}`, cached or not; 401 or 403 where its owner wants a token for it.
* Varnish, from its own examples: 200 "Purged", cached or not; 405 or 403 for whoever is not on its list.
* nginx: 204 (NGINX Plus); 200, and 404 or since version 2.5 412 for what is not cached (ngx_cache_purge).
* Squid: 200, 404 for what is not cached, 403.

A server that knows nothing of `PURGE` may answer 404, or 200 and a page. So a good answer proves nothing:
look at the URL afterwards.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.cookiejar import DefaultCookiePolicy

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError

from publisher.adapters.http import stay_anonymous
from publisher.errors import EdgeError

_SECONDS = (5.0, 10.0)
"""How long to wait for a connection, and for an answer: caches forget within a fraction of a second."""

_ATTEMPTS = 4
_PAUSE = 0.5
_MOST_PAUSE = 10.0
"""With the waits above, one URL takes at most 90 s: less than a lease's life."""

_PURGED = frozenset({HTTPStatus.OK, HTTPStatus.ACCEPTED, HTTPStatus.NO_CONTENT})
_NOT_CACHED = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.PRECONDITION_FAILED})
_PASSING = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
_NOT_ALLOWED = frozenset(
    {
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.METHOD_NOT_ALLOWED,
        HTTPStatus.NOT_IMPLEMENTED,
    }
)
_MOST_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why a request has to be sent again, and how long the cache asks to wait, in seconds."""

    reason: str
    pause: float = 0.0


class HttpPurge:
    """One session with as many connections as threads.

    Args:
        user_agent: How the publisher calls itself.
        connections: How many connections to keep to each cache.
        timeouts: How long to wait for a connection, and for an answer, in seconds.
        sleep: How to wait between two attempts.
    """

    def __init__(
        self,
        user_agent: str,
        connections: int,
        timeouts: tuple[float, float] = _SECONDS,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._timeouts = timeouts
        self._sleep = sleep
        self._session = requests.Session()
        # Without this, a .netrc file on this machine would be obeyed.
        self._session.auth = stay_anonymous
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self._session.headers.update({"User-Agent": user_agent, "Accept-Encoding": "identity"})
        # It tries once by itself: attempts are counted here.
        adapter = HTTPAdapter(pool_maxsize=connections)
        self._session.mount("https://", adapter)
        self._session.mount("http://", adapter)

    def purge(self, url: str) -> None:
        """Let the cache that answers for `url` forget exactly this spelling of it; safe to repeat.

        Redirects are not followed. A URL that was not cached counts as forgotten. Without an answer, or while
        the cache is busy or in trouble, it is asked again after growing pauses.

        Raises:
            EdgeError: It was refused, or not taken in all attempts.
        """
        found = self._ask(url)
        for attempt in range(1, _ATTEMPTS):
            if found is None:
                return
            self._sleep(max(_PAUSE * 2.0 ** (attempt - 1), found.pause))
            found = self._ask(url)
        if found is not None:
            raise EdgeError(
                f"{url} was not purged in {_ATTEMPTS} attempts: {found.reason}",
                "see what is wrong with the cache that answers there; then run the same command again",
            )

    def _ask(self, url: str) -> _Failure | None:
        """Make one attempt, and answer why it has to be made again."""
        try:
            with self._session.request(
                "PURGE", url, timeout=self._timeouts, allow_redirects=False, stream=True
            ) as answer:
                _read_off(answer)
        except requests.RequestException as error:
            # What cannot be sent is an error of value, and stays one.
            if isinstance(error, ValueError):
                raise EdgeError(f"cannot purge {url}: {error}", _ADDRESS) from error
            return _Failure(f"no answer: {error}")
        return _judge(url, answer)


_ADDRESS = (
    "correct the url_prefix of [[outer_cache]] in publisher.toml: it has to be one that is not redirected"
)
_PERMISSION = (
    "have the cache take PURGE from this machine without credentials, "
    "or take it out of [[outer_cache]] in publisher.toml; then run the same command again"
)


def _judge(url: str, answer: requests.Response) -> _Failure | None:
    status = answer.status_code
    if status in _PURGED or status in _NOT_CACHED:
        return None
    message = f"{url} answered {status} to PURGE"
    if status in _PASSING:
        pause = _read_wait(answer)
        if pause > _MOST_PAUSE:
            raise EdgeError(
                f"{message} and asks to wait {pause:.0f} s", f"run the same command again in {pause:.0f} s"
            )
        return _Failure(f"status {status}", pause)
    if status in _NOT_ALLOWED:
        raise EdgeError(message, _PERMISSION)
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        raise EdgeError(message, _ADDRESS)
    raise EdgeError(message, "see what answers there; then run the same command again")


def _read_wait(answer: requests.Response) -> float:
    """Give the seconds that a throttling cache asks to wait; 0 if it does not say, or says it by a date."""
    text = answer.headers.get("Retry-After", "").strip()
    # What is merely in trouble knows no better than we do how long.
    throttles = answer.status_code == HTTPStatus.TOO_MANY_REQUESTS
    return float(text) if throttles and text.isascii() and text.isdigit() else 0.0


def _read_off(answer: requests.Response) -> None:
    """Read what is left of a short answer, so that its connection can be used again.

    The status has said all: neither a body that breaks off nor a long one, perhaps the very file, matters.
    """
    with suppress(HTTPError, OSError):
        answer.raw.read(_MOST_BYTES, decode_content=False)
