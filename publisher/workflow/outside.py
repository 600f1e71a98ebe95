"""Waits for what others have to do before a release is listed: a tag, a documentation site."""

from collections.abc import Callable, Iterable

from publisher.core.profile import Signal
from publisher.errors import EdgeError
from publisher.workflow.edge import wait
from publisher.workflow.world import World

_PATIENCE = 300.0
"""Seconds that outside URLs have to answer: time enough to push a tag once the release is public."""

_PAUSE = 5.0
_OK = frozenset({200, 301, 302, 303, 307, 308})


def find_silent(world: World, signals: Iterable[Signal]) -> tuple[tuple[Signal, str], ...]:
    """Find the signals that do not answer as they should, and what they answer instead."""

    def ask(signal: Signal) -> str | None:
        try:
            status = world.web.head(signal.url).status
        except EdgeError as error:
            return str(error)
        return None if status in _OK else f"status {status}"

    signals = tuple(signals)
    found = world.parallel.map(ask, signals)
    return tuple((signal, answer) for signal, answer in zip(signals, found, strict=True) if answer)


def wait_for_signals(world: World, check_lease: Callable[[], None], signals: Iterable[Signal]) -> None:
    """Wait until every signal answers.

    Raises:
        EdgeError: Some still do not; each is named.
    """
    left = _PATIENCE
    silent = find_silent(world, signals)
    while silent and left > 0:
        wait(world, check_lease, _PAUSE)
        left -= _PAUSE
        silent = find_silent(world, [signal for signal, _ in silent])
    if silent:
        lines = [f"{signal.name}: {signal.url}: {answer}" for signal, answer in silent]
        raise EdgeError(
            "\n  ".join(["outside signals are missing:", *lines]),
            "let them answer and run again, or: --give-up outside --reason '…'",
        )
