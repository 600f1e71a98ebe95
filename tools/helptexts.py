"""Writes docs/commands.md from the help texts of the command line; the tests fail while it is stale.

`python -m tools.helptexts` writes it.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from publisher import cli

if TYPE_CHECKING:
    # It reads what cli made, and makes nothing.
    from click import Command  # noqa: TID251

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
AGAIN = "python -m tools.helptexts"

_WIDTH = 100
_HEAD = f"""\
# Commands

The help texts of all commands, as `--help` prints them. This page is generated; after a change of the command
line write it again: `{AGAIN}`. How the commands are used: [builders](builders.md),
[release manager](release-manager.md).
"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(render(), "utf-8")
    sys.stdout.write(f"written: {PAGE.name}\n")


def render() -> str:
    """Give the page's text."""
    sections = (_render_command(command) for command in list_commands())
    return "\n".join([_HEAD, *sections])


def list_commands() -> Iterator[tuple[str, ...]]:
    """List every command as the words that call it, the program itself first, as `()`."""
    yield ()
    yield from _walk((), cli.publisher.commands)


def read_help(command: tuple[str, ...]) -> str:
    """Give what `publisher COMMAND --help` prints, in a fixed width."""
    text = StringIO()
    with redirect_stdout(text):
        cli.publisher.main(
            [*command, "--help"],
            prog_name="publisher",
            obj=cli.Settings(),
            standalone_mode=False,
            terminal_width=_WIDTH,
        )
    return text.getvalue()


def _walk(above: tuple[str, ...], commands: "Mapping[str, Command]") -> Iterator[tuple[str, ...]]:
    for name, command in sorted(commands.items()):
        if command.hidden:
            continue
        words = (*above, name)
        yield words
        yield from _walk(words, getattr(command, "commands", {}))


def _render_command(command: tuple[str, ...]) -> str:
    title = " ".join(["publisher", *command])
    return f"## `{title}`\n\n```text\n{read_help(command)}```\n"


if __name__ == "__main__":
    main()
