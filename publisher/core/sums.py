"""SHA256SUMS, the hand-over file: read strictly, so that what a builder meant is what is checked."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from publisher.core.digests import Digest, parse_hex

NAME = "SHA256SUMS"
COMMIT_NAME = "COMMIT"
SIGNATURE_NAME = f"{NAME}.sigstore"

_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")
_POWERSHELL = (
    "in PowerShell write it with: "
    "[IO.File]::WriteAllText('SHA256SUMS', $text, [Text.UTF8Encoding]::new($false))"
)


@dataclass(frozen=True, slots=True)
class SumsProblem:
    """One thing wrong with a SHA256SUMS: where, what was found, what was expected, what to do."""

    line: int
    found: str
    expected: str
    cure: str


def parse_sums(data: bytes) -> Mapping[str, Digest] | tuple[SumsProblem, ...]:
    """Read a hand-over.

    Lines are `<64 hex digits>`, a space, a space or `*`, and a name; LF or CRLF; a leading `./` is dropped.

    Returns:
        Digests by name, or every problem found. An empty file is a problem: nothing was handed over.
    """
    text = _decode(data)
    if isinstance(text, SumsProblem):
        return (text,)
    digests: dict[str, Digest] = {}
    problems: list[SumsProblem] = []
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.removesuffix("\r")
        if not stripped:
            continue
        entry = _parse_line(number, stripped)
        if isinstance(entry, SumsProblem):
            problems.append(entry)
        elif entry[0] in digests:
            problems.append(
                SumsProblem(
                    number, f"{entry[0]} for the second time", "each name once", "remove one of the lines"
                )
            )
        else:
            digests[entry[0]] = entry[1]
    if not digests and not problems:
        problems.append(SumsProblem(1, "no line", "one line for each file", "run sha256sum over the files"))
    return tuple(problems) or digests


def format_sums(digests: Mapping[str, Digest]) -> bytes:
    """Write a hand-over as `sha256sum` does, sorted by name."""
    return "".join(f"{digests[name]}  {name}\n" for name in sorted(digests)).encode()


def parse_commit(data: bytes) -> str | None:
    """Read a COMMIT file: one line, given in lower case; None if it is anything else."""
    try:
        lines = data.decode("ascii").splitlines()
    except UnicodeDecodeError:
        return None
    return lines[0].strip().lower() if len(lines) == 1 and lines[0].strip() else None


def _decode(data: bytes) -> str | SumsProblem:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data:
        return SumsProblem(1, "UTF-16 text", "UTF-8 without a byte order mark", _POWERSHELL)
    if data.startswith(b"\xef\xbb\xbf"):
        return SumsProblem(1, "a UTF-8 byte order mark", "UTF-8 without one", _POWERSHELL)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return SumsProblem(line, "bytes that are not UTF-8", "UTF-8 text", "rename the file in plain ASCII")


def _parse_line(number: int, line: str) -> tuple[str, Digest] | SumsProblem:
    if line.startswith("\\"):
        return SumsProblem(
            number,
            "an escaped name (the line starts with a backslash)",
            "a plain name",
            "rename the file in plain ASCII",
        )
    match = _LINE.fullmatch(line)
    if not match:
        return SumsProblem(
            number, repr(line[:90]), "64 hex digits, two spaces, a name", "make the file with sha256sum"
        )
    name = match[2].removeprefix("./")
    if not name.isprintable():
        return SumsProblem(
            number, repr(name[:90]), "a name of visible characters", "end each line with LF or CRLF"
        )
    if "\\" in name or not {"", ".", ".."}.isdisjoint(name.split("/")):
        return SumsProblem(
            number,
            repr(name),
            "a name relative to the release's folder, with /",
            "run sha256sum inside that folder",
        )
    return name, parse_hex(match[1])
