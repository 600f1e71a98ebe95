"""Runs independent requests side by side on threads."""

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from threading import Event
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Threads:
    """A bounded pool for each `map`; the first error ends it, after the requests already under way."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._stopping = Event()

    def map(self, work: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """Do `work` on every item and answer in their order."""
        self._stopping.clear()
        with ThreadPoolExecutor(max_workers=self._count) as pool:
            try:
                futures = [pool.submit(work, item) for item in items]
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
                return [future.result() for future in futures]
            except BaseException:
                self._stopping.set()
                pool.shutdown(cancel_futures=True)
                raise

    def stopping(self) -> bool:
        """Tell work that takes long whether it is for nothing: the map was ended by an error or a person."""
        return self._stopping.is_set()
