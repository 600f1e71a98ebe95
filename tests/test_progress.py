"""How far a step has come: a bar that fits a narrow terminal, plain lines elsewhere, nothing when silent."""

import io
import re

import pytest
from rich.console import Console

from publisher import progress
from publisher.progress import PLAIN_SECONDS, Progress


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress.time, "monotonic", clock.monotonic)
    return clock


def plain(*, silent: bool = False) -> tuple[Progress, io.StringIO]:
    text = io.StringIO()
    return Progress(Console(file=text, soft_wrap=True), silent=silent), text


def test_elsewhere_a_line_tells_now_and_then_rate_and_time_left(clock: Clock) -> None:
    shown, text = plain()
    shown.begin(4, 40_000_000)

    shown.move(5_000_000, files=1)
    clock.now += PLAIN_SECONDS
    shown.move(5_000_000, files=1)
    shown.move(10_000_000)
    clock.now += PLAIN_SECONDS
    shown.move(20_000_000, files=2)
    shown.end()

    assert text.getvalue().splitlines() == [
        "  2 of 4 files, 10.0 MB of 40.0 MB, 1.0 MB/s, 30 s left",
        "  4 of 4 files, 40.0 MB of 40.0 MB, 2.0 MB/s",
    ]


def test_a_step_that_is_quick_says_nothing(clock: Clock) -> None:
    shown, text = plain()
    shown.begin(1, 10)
    clock.now += PLAIN_SECONDS - 1
    shown.move(10, files=1)
    shown.end()

    assert text.getvalue() == ""


def test_silence_is_kept(clock: Clock) -> None:
    shown, text = plain(silent=True)
    shown.begin(1, 10)
    clock.now += 10 * PLAIN_SECONDS
    shown.move(10, files=1)
    shown.end()

    assert text.getvalue() == ""


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("width", [60, 200])
def test_a_bar_fits_the_terminal_and_its_encoding(width: int, encoding: str) -> None:
    data = io.BytesIO()
    file = io.TextIOWrapper(data, encoding, write_through=True)
    console = Console(
        file=file, force_terminal=True, width=width, color_system=None, legacy_windows=False, _environ={}
    )
    shown = Progress(console, silent=False)

    shown.begin(52, 1_400_000_000)
    shown.move(700_000_000, files=26)
    shown.end()

    text = data.getvalue().decode(encoding)
    lines = [line for line in text.replace("\r", "\n").splitlines() if "files" in line]
    assert any("26/52 files" in line and "GB" in line for line in lines)
    assert all(len(strip(line)) <= width for line in lines)


def strip(line: str) -> str:
    """Take the escape sequences away."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line)
