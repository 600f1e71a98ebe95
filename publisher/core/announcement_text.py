"""Spelling for announcements: any text as one line, in Markdown, in YAML, in a fence; it knows no release."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from urllib.parse import quote

_MARKDOWN = re.compile(r"[\\`*{}\[\]<>#|~!&$^]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
# What has no place in a line of text, nor in YAML: control characters, halves of pairs, marks of byte order.
_UNPRINTABLE = frozenset({"Cc", "Cs"})
_NO_CHARACTERS = frozenset("\ufeff\ufffe\uffff")


def write_line(text: str) -> str:
    """Write `text` on one line: every run of white space as one blank, nothing unprintable."""
    return " ".join(write_code(text).split())


def write_code(text: str) -> str:
    """Write `text` on one line as `write_line` does, but keep its blanks: in code they may count."""
    return "".join(_keep(character) for character in text)


def escape(text: str) -> str:
    """Write a name so that Markdown shows it as it is, in a table too."""
    return _MARKDOWN.sub(r"\\\g<0>", write_line(text))


def escape_url(url: str) -> str:
    """Write a URL so that it can stand in a Markdown link; one that is well formed stays as it is."""
    return quote(url, safe=":/?#@!$&'*+,=%-._~", errors="replace")


def link(text: str, url: str) -> str:
    """Write a Markdown link."""
    return f"[{escape(text)}]({escape_url(url)})"


def quote_yaml(text: str) -> str:
    """Write `text` as a YAML scalar that is read as a string, whatever is in it."""
    return "'" + write_line(text).replace("'", "''") + "'"


def fence(lines: Iterable[str], language: str) -> str:
    """Write lines of code in a fence that none of them can close."""
    code = "\n".join(write_code(line) for line in lines)
    longest = max((len(run) for run in re.findall("`+", code)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{language}\n{code}\n{marks}"


def write_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table; the cells are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def format_size(size: int) -> str:
    """Write a number of bytes for people, in decimal units."""
    amount = float(size)
    for unit in ("bytes", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.2f} GB"


def join_names(names: Sequence[str]) -> str:
    """Write a list as people do: `a`, `a and b`, or `a, b, and c`."""
    if len(names) < 3:
        return " and ".join(names)
    return f"{', '.join(names[:-1])}, and {names[-1]}"


def _keep(character: str) -> str:
    if character.isspace():
        return " "
    unprintable = unicodedata.category(character) in _UNPRINTABLE or character in _NO_CHARACTERS
    return "" if unprintable else character
