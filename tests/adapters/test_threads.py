"""Work side by side: answers in order, and the first error ends what has not begun."""

import threading
import time

import pytest

from publisher.adapters.threads import Threads
from publisher.errors import StoreError

WAIT = 5.0


def test_answers_come_in_the_order_of_the_items() -> None:
    last = threading.Event()

    def work(item: int) -> int:
        # The first ends last.
        if item == 0:
            assert last.wait(WAIT)
        if item == 3:
            last.set()
        return item * 10

    assert Threads(4).map(work, range(4)) == [0, 10, 20, 30]


def test_nothing_to_do_gives_nothing() -> None:
    assert Threads(4).map(str, []) == []


def test_no_more_run_at_once_than_allowed() -> None:
    lock = threading.Lock()
    running, most = 0, 0

    def work(_: int) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.002)
        with lock:
            running -= 1

    Threads(3).map(work, range(30))
    assert most <= 3


def test_the_first_error_ends_it_and_what_has_not_begun_never_does() -> None:
    failed = threading.Event()
    begun: list[int] = []

    def work(item: int) -> int:
        begun.append(item)
        if item == 1:
            failed.set()
            raise StoreError("the second failed")
        # The first is still busy when the second has failed, and takes some time yet.
        assert failed.wait(WAIT)
        time.sleep(0.05)
        return item

    with pytest.raises(StoreError, match="the second failed"):
        Threads(2).map(work, range(1_000))
    # One more may have been taken between the failure and the end.
    assert len(begun) < 10


def test_what_is_under_way_is_finished_before_the_error_is_told() -> None:
    begun, finished = threading.Event(), threading.Event()

    def work(item: int) -> None:
        if item == 0:
            begun.set()
            time.sleep(0.05)
            finished.set()
            return
        assert begun.wait(WAIT)
        raise StoreError("failed")

    with pytest.raises(StoreError):
        Threads(2).map(work, range(2))
    assert finished.is_set()


def test_an_interrupt_passes_and_ends_it() -> None:
    begun: list[int] = []

    def work(item: int) -> None:
        begun.append(item)
        time.sleep(0.002)
        if item == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Threads(2).map(work, range(1_000))
    assert len(begun) < 500


def test_an_interrupt_of_the_waiting_thread_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []

    def work(item: int) -> None:
        begun.append(item)
        time.sleep(0.002)

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("publisher.adapters.threads.wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        Threads(2).map(work, range(1_000))
    assert len(begun) < 500


def test_items_that_cannot_be_had_end_it() -> None:
    def items() -> "list[int]":
        raise StoreError("no items")

    with pytest.raises(StoreError, match="no items"):
        Threads(2).map(str, (item for _ in range(1) for item in items()))


@pytest.mark.parametrize("error", [StoreError("failed"), KeyboardInterrupt()])
def test_work_under_way_can_find_out_that_it_is_for_nothing(error: BaseException) -> None:
    threads = Threads(2)
    seen: list[bool] = []
    both = threading.Barrier(2, timeout=WAIT)

    def work(item: int) -> None:
        both.wait()
        if item == 0:
            raise error
        deadline = time.monotonic() + WAIT
        while not threads.stopping() and time.monotonic() < deadline:
            time.sleep(0.001)
        seen.append(threads.stopping())

    with pytest.raises(type(error)):
        threads.map(work, range(2))
    assert seen == [True]
    assert threads.map(lambda item: threads.stopping(), [1]) == [False]
