"""Runs real commands as the roles of a site, and shows them on a timeline as they happen."""

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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

    def run(
        self, role: str, command: Sequence[str | Path], *, expect: int = 0, show: int = 12, shown: str = ""
    ) -> Result:
        """Run a command as `role`, and show it with the first lines of what it says.

        Args:
            role: Whose credentials it has.
            command: The program and its arguments.
            expect: The exit status that the story needs.
            show: How many lines to show.
            shown: What to show for the command itself, by default all of it.

        Raises:
            StoryError: It ended otherwise.
        """
        shown = shown or shlex.join(str(word) for word in command)
        self.note(f"{role:<10}$ {shown}")
        start = time.monotonic()
        done = subprocess.run(
            [str(word) for word in command],
            cwd=self._folder,
            env=self._environment(role),
            capture_output=True,
            text=True,
            check=False,
        )
        end = time.monotonic()
        lines = done.stdout.splitlines()
        for line in lines[:show]:
            print(f"{_INDENT}{line}")
        if len(lines) > show > 0:
            print(f"{_INDENT}… {len(lines) - show} more lines")
        if done.returncode != expect:
            raise StoryError(
                f"{shown}: found exit status {done.returncode}, expected {expect}\n{done.stdout}{done.stderr}"
            )
        return Result(done.stdout, start, end)

    def _environment(self, role: str) -> dict[str, str]:
        return {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "HOME": str(self._folder),
            "LC_ALL": "C.UTF-8",
            "AWS_CONFIG_FILE": str(self._folder / "aws.config"),
            "AWS_EC2_METADATA_DISABLED": "true",
            **self._site.environment(role),
        }
