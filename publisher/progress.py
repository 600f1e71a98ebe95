"""How far a step has come: a bar on a terminal, a plain line now and then elsewhere."""

import time
from threading import Lock

from rich import progress
from rich.console import Console

from publisher.wording import format_size

PLAIN_SECONDS = 10
"""Seconds from one plain line to the next."""


class Progress:
    """Counts files and bytes, from several threads, and shows both with rate and time left."""

    def __init__(self, console: Console, *, silent: bool) -> None:
        self._console = console
        self._silent = silent
        self._lock = Lock()
        self._bar: progress.Progress | None = None
        self._task = progress.TaskID(0)
        self._files = self._size = self._done = self._moved = 0
        self._begun = self._told = 0.0

    def begin(self, files: int, size: int) -> None:
        """Begin to show `files` with `size` bytes in all."""
        self._files, self._size, self._done, self._moved = files, size, 0, 0
        self._begun = self._told = time.monotonic()
        if self._silent or not self._console.is_terminal:
            return
        self._bar = progress.Progress(
            progress.BarColumn(bar_width=None),
            progress.TextColumn("{task.fields[done]}/{task.fields[files]} files"),
            progress.DownloadColumn(),
            progress.TransferSpeedColumn(),
            progress.TimeRemainingColumn(compact=True),
            console=self._console,
            transient=True,
            expand=True,
        )
        self._task = self._bar.add_task("", total=size, done=0, files=files)
        self._bar.start()

    def move(self, size: int, *, files: int = 0) -> None:
        """Count `size` bytes more, and `files` that are done with them."""
        with self._lock:
            self._moved += size
            self._done += files
            if self._bar:
                self._bar.update(self._task, advance=size, done=self._done)
            elif not self._silent:
                self._tell()

    def end(self) -> None:
        """Take the bar away."""
        if self._bar:
            self._bar.stop()
        self._bar = None

    def _tell(self) -> None:
        now = time.monotonic()
        if now - self._told < PLAIN_SECONDS:
            return
        self._told = now
        rate = self._moved / (now - self._begun)
        left = f", {(self._size - self._moved) / rate:.0f} s left" if 0 < self._moved < self._size else ""
        self._console.print(
            f"  {self._done} of {self._files} files, {format_size(self._moved)} of "
            f"{format_size(self._size)}, {format_size(int(rate))}/s{left}"
        )
