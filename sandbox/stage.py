"""Runs real commands as the roles of a site, and shows them on a timeline as they happen."""

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sandbox.site import Site

_INDENT = " " * 21


class StoryError(Exception):
    """Something is not as the story says."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a command printed; when it started and ended, by the machine's monotonic clock."""

    out: str
    start: float
    end: float


class Stage:
    """Where a story is played: every command in a process of its own, with its role's credentials."""

    def __init__(self, site: Site, folder: Path) -> None:
        self._site = site
        self._folder = folder
        self._start = time.monotonic()
        self._bold = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def tell(self, text: str) -> None:
        """Say what happens next."""
        print(f"\n\033[1m{text}\033[0m" if self._bold else f"\n{text}", flush=True)

    def note(self, text: str) -> None:
        """Say what was seen."""
        print(f"{time.monotonic() - self._start:6.1f} s  {text}", flush=True)

    def run(self, role: str, command: Sequence[str | Path], *, expect: int = 0, show: int = 12) -> Result:
        """Run one command; see `run_together`."""
        return self.run_together([(role, command)], expect=expect, show=show)[0]

    def run_together(
        self,
        commands: Sequence[tuple[str, Sequence[str | Path]]],
        *,
        expect: int = 0,
        show: int = 12,
    ) -> list[Result]:
        """Run commands side by side, and show each with the first lines of what it says.

        Args:
            commands: The role whose credentials a command has, the program and its arguments.
            expect: The exit status that the story needs of each.
            show: How many lines to show.

        Raises:
            StoryError: One of them ended otherwise.
        """
        for role, command in commands:
            self.note(f"{role:<10}$ {_write(command)}")
        with ThreadPoolExecutor(len(commands)) as pool:
            runs = list(pool.map(self._run, [role for role, _ in commands], [line for _, line in commands]))
        results: list[Result] = []
        for (_, command), (done, result) in zip(commands, runs, strict=True):
            if done.returncode != expect:
                found = f"found exit status {done.returncode}, expected {expect}"
                raise StoryError(f"{_write(command)}: {found}\n{done.stdout}{done.stderr}")
            self._show(done.stdout.splitlines(), show)
            results.append(result)
        return results

    def run_live(self, role: str, command: Sequence[str | Path]) -> Result:
        """Run one command that must succeed, and show what it reports while it runs, each line in its time.

        Raises:
            StoryError: It ended otherwise.
        """
        self.note(f"{role:<10}$ {_write(command)}")
        start = time.monotonic()
        with (
            subprocess.Popen(
                [str(word) for word in command],
                cwd=self._folder,
                env=self._environment(role),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            ) as process,
            ThreadPoolExecutor(1) as pool,
        ):
            out = pool.submit(_read_all, process.stdout)
            for line in process.stderr or ():
                self.note(f"{'':10}{line.rstrip()}")
        if process.returncode != 0:
            raise StoryError(f"{_write(command)}: found exit status {process.returncode}, expected 0")
        return Result(out.result(), start, time.monotonic())

    def _run(
        self, role: str, command: Sequence[str | Path]
    ) -> tuple[subprocess.CompletedProcess[str], Result]:
        start = time.monotonic()
        done = subprocess.run(
            [str(word) for word in command],
            cwd=self._folder,
            env=self._environment(role),
            capture_output=True,
            text=True,
            check=False,
        )
        return done, Result(done.stdout, start, time.monotonic())

    def _show(self, lines: Sequence[str], count: int) -> None:
        for line in lines[:count]:
            print(f"{_INDENT}{line}")
        if len(lines) > count > 0:
            print(f"{_INDENT}… {len(lines) - count} more lines", flush=True)

    def _environment(self, role: str) -> dict[str, str]:
        return {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "HOME": str(self._folder),
            "LC_ALL": "C.UTF-8",
            "AWS_CONFIG_FILE": str(self._folder / "aws.config"),
            "AWS_EC2_METADATA_DISABLED": "true",
            **self._site.environment(role),
        }


def _read_all(stream: IO[str] | None) -> str:
    return stream.read() if stream else ""


def _write(command: Sequence[str | Path]) -> str:
    """Write a command as one would type it; the publisher under observation is still the publisher."""
    words = [str(word) for word in command]
    if words[1:3] == ["-m", "sandbox.witness"]:
        words = ["publisher", *words[4:]]
    return shlex.join(words)
