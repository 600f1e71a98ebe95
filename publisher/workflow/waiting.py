"""Looks again and again, ever more seldom, until nothing is left to wait for or the time is up."""

from collections.abc import Callable, Mapping

from publisher.errors import AccessDeniedError, StoppedError, StoreError
from publisher.workflow.world import Visitor

FIRST_PAUSE = 5.0
LONGEST_PAUSE = 60.0
_GROWTH = 1.5

Waiting = Mapping[str, str]
"""What is still waited for, and why."""


def wait_until_nothing_is_left(
    visitor: Visitor,
    look: Callable[[], Waiting],
    tell: Callable[[Waiting, Waiting], None],
    timeout: float | None,
) -> tuple[Waiting, int]:
    """Look until nothing is left, and answer what is, with the seconds that passed.

    A store that does not answer is waited for too; access that is refused is not.

    Args:
        visitor: Who sleeps, counts seconds and hears of changes.
        look: Finds out what is left.
        tell: Is told what was left and what is, at first and at each change.
        timeout: Seconds after which to give up; None means never. The last look comes when they are over.

    Raises:
        StoppedError: A person stopped it; nothing was changed by waiting.
    """
    begun = visitor.monotonic()
    pause = FIRST_PAUSE
    before: Waiting | None = None
    trouble = ""
    try:
        while True:
            try:
                left, trouble = look(), ""
            except AccessDeniedError:
                raise
            except StoreError as error:
                trouble = _complain(visitor, str(error), trouble)
                left = before if before is not None else {"store": "no answer yet"}
            if left != before:
                tell(before or {}, left)
                before, pause = left, FIRST_PAUSE
            spent = visitor.monotonic() - begun
            if not left or (timeout is not None and spent >= timeout):
                return left, round(spent)
            visitor.sleep(pause if timeout is None else min(pause, timeout - spent))
            pause = min(pause * _GROWTH, LONGEST_PAUSE)
    except KeyboardInterrupt:
        names = ", ".join(before or {}) or "the first look"
        raise StoppedError(f"interrupted while waiting for {names}; nothing was changed") from None


def _complain(visitor: Visitor, said: str, before: str) -> str:
    if said != before:
        visitor.observer.warn(f"{said}; trying again")
    return said
