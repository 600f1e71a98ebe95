"""What goes wrong on purpose, path by path, and how many requests came for each path."""

import threading
from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """What is answered instead of the real thing."""

    status: int
    body: bytes


class ClosedError(Exception):
    """The server ended while a request was kept waiting."""


@dataclass(frozen=True, slots=True)
class _Fault:
    """From which request of its path on it is in force; without a failure there is silence."""

    begins: int
    failure: Failure | None


class Faults:
    """The faults of one server, which begin with the next request; a path has at most one.

    Paths are without queries; `Endpoint` has those there are, and any text will do. Threads may share this.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._faults: dict[str, _Fault] = {}
        self._counts: Counter[str] = Counter()
        self._closed = False

    def answer(self, path: str, status: int, body: str | bytes = b"{}", *, from_request: int = 1) -> None:
        """Answer so (the body being JSON, by its type) instead of doing what is asked.

        `from_request` counts from now on: 1 is the next request, 3 lets two more pass before.
        """
        content = body.encode() if isinstance(body, str) else body
        self._set(path, Failure(status, content), from_request)

    def be_silent(self, path: str, *, from_request: int = 1) -> None:
        """Accept requests and never answer them, until the fault is lifted or the server closes.

        What waits when it is lifted is then done and answered, whether its client is still there or not.
        """
        self._set(path, None, from_request)

    def lift(self, path: str) -> None:
        """Let everything be well at this path again."""
        with self._changed:
            self._faults.pop(path, None)
            self._changed.notify_all()

    def clear(self) -> None:
        """Lift all faults, and count from zero again."""
        with self._changed:
            self._faults.clear()
            self._counts.clear()
            self._changed.notify_all()

    def count(self, path: str) -> int:
        """Say how many requests came for this path, failed and silent ones too."""
        with self._changed:
            return self._counts[path]

    def wait_for_requests(self, path: str, number: int, *, timeout_seconds: float = 10) -> None:
        """Wait until so many requests have come for this path.

        Raises:
            TimeoutError: They have not.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._counts[path] >= number, timeout_seconds):
                raise TimeoutError(f"{self._counts[path]} of {number} requests came for {path}")

    def take(self, path: str) -> Failure | None:
        """Count a request, keep it waiting while there is to be silence, and say how to fail, if at all.

        Raises:
            ClosedError: The server ended meanwhile.
        """
        with self._changed:
            self._counts[path] += 1
            number = self._counts[path]
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._closed or not self._is_silent(path, number))
            if self._closed:
                raise ClosedError
            fault = self._find(path, number)
            return fault.failure if fault else None

    def close(self) -> None:
        """End all waiting, for good."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _set(self, path: str, failure: Failure | None, from_request: int) -> None:
        with self._changed:
            self._faults[path] = _Fault(self._counts[path] + from_request, failure)
            self._changed.notify_all()

    def _find(self, path: str, number: int) -> _Fault | None:
        fault = self._faults.get(path)
        return fault if fault and number >= fault.begins else None

    def _is_silent(self, path: str, number: int) -> bool:
        fault = self._find(path, number)
        return fault is not None and fault.failure is None
