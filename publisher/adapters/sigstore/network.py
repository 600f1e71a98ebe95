"""Deadlines and repeated tries, which the library has not: a server that stays silent would stop it for good.

Every call is made in a thread of its own and given up when its time is over, wherever it hangs: resolving,
connecting, or reading an answer that comes byte by byte. Below that, every request gives up too, so that the
thread ends.
"""

from collections.abc import Callable, Iterator, Mapping
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic, sleep
from typing import TypeVar

import requests
from requests.adapters import HTTPAdapter

from publisher.adapters.sigstore.reading import dig, make_plain

_CONNECTIONS = 16
_PAUSES = (0.2, 0.5)
"""Seconds before the second and the third try."""
_TOO_MANY = 429
_SERVER_ERRORS = 500

T = TypeVar("T")


class NoAnswerError(Exception):
    """There was no whole answer in time."""


class Connections(HTTPAdapter):
    """Connections that several sessions and threads share; each wait in a request lasts `seconds` at most."""

    def __init__(self, seconds: float) -> None:
        super().__init__(pool_maxsize=_CONNECTIONS)
        self._seconds = seconds

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - the signature is requests'
        timeout: float | tuple[float, float] | tuple[float, None] | None = None,  # noqa: ARG002
        verify: bool | str = True,  # noqa: FBT001, FBT002
        cert: bytes | str | tuple[bytes | str, bytes | str] | None = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        """Send a request with this deadline, whatever the caller says of it."""
        return super().send(request, stream, self._seconds, verify, cert, proxies)


def equip(session: requests.Session, connections: Connections) -> None:
    """Give a session the deadline, and keep a .netrc on this machine from replacing its credentials."""
    session.mount("https://", connections)
    session.mount("http://", connections)
    session.auth = _keep_as_is


def run_within(seconds: float, work: Callable[[], T]) -> T:
    """Run `work` in a thread of its own, and leave it to itself when its time is over.

    Raises:
        NoAnswerError: It took longer.
        Exception: Whatever `work` raised.
    """
    answers: SimpleQueue[tuple[T, None] | tuple[None, Exception]] = SimpleQueue()

    def run() -> None:
        try:
            answers.put((work(), None))
        except Exception as error:  # noqa: BLE001 - it is raised again by who waits
            answers.put((None, error))
        # What is written in Rust below the library panics with a BaseException.
        except BaseException as error:  # noqa: BLE001
            answers.put((None, RuntimeError(f"{type(error).__name__}: {error}")))

    Thread(target=run, name="sigstore", daemon=True).start()
    try:
        answer, error = answers.get(timeout=max(seconds, 0))
    except Empty:
        raise NoAnswerError from None
    if error is not None:
        raise error
    return answer  # pyright: ignore[reportReturnType] - the tuple's two forms are lost by unpacking it


def try_within(seconds: float, work: Callable[[], T]) -> T:
    """Run `work`, up to three times if the server fails or breaks off, `seconds` in all.

    Raises as `run_within`.
    """
    end = monotonic() + seconds
    for pause in _PAUSES:
        try:
            return run_within(end - monotonic(), work)
        except Exception as error:
            if not _is_transient(error) or monotonic() + pause >= end:
                raise
        sleep(pause)
    return run_within(end - monotonic(), work)


def find_status(error: BaseException) -> int | None:
    """Find the HTTP status that a server answered, wherever the library has hidden it."""
    answer = _find_answer(error)
    return None if answer is None else answer.status_code


def is_too_late(error: BaseException) -> bool:
    """Tell whether an error says that there was no answer in time."""
    return any(isinstance(one, NoAnswerError | requests.Timeout) for one in _unfold(error))


def describe(error: BaseException, seconds: float, secret: str = "") -> str:
    """Say what a server did, or what the library says of it: a predicate, as in "Fulcio ...".

    `secret` is left out, should a server repeat it.
    """
    if is_too_late(error):
        return f"gave no answer within {seconds:g} s"
    answer = _find_answer(error)
    if answer is not None:
        return f"answered {answer.status_code}: {make_plain(_find_message(answer), secret)}"
    for one in _unfold(error):
        if isinstance(one, requests.RequestException):
            return f"could not be reached, or broke off ({make_plain(one, secret)})"
    return f"did not do its part ({type(error).__name__}: {make_plain(error, secret)})"


def _is_transient(error: BaseException) -> bool:
    if is_too_late(error):
        return False
    status = find_status(error)
    if status is not None:
        return status == _TOO_MANY or status >= _SERVER_ERRORS
    broken = (requests.ConnectionError, requests.exceptions.ChunkedEncodingError)
    return any(isinstance(one, broken) for one in _unfold(error))


def _find_answer(error: BaseException) -> requests.Response | None:
    for one in _unfold(error):
        if isinstance(one, requests.HTTPError):
            return one.response
    return None


def _find_message(answer: requests.Response) -> str:
    """Find the message in a server's own words: JSON with "message", or whatever text it is."""
    try:
        found = dig(answer.json(), "message")
    except ValueError:
        found = None
    return found if isinstance(found, str) else answer.text or answer.reason


def _unfold(error: BaseException) -> Iterator[BaseException]:
    """Go through an error and what it was made of; the library mostly leaves the cause to the context."""
    seen: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in seen:
        seen.append(one)
        yield one
        one = one.__cause__ or one.__context__


def _keep_as_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request
