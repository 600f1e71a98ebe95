"""The release manager's own prose: its title, and its placeholders, each filled with a fact or refused."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import chain

from publisher.core.announcement_facts import (
    AnnouncedFile,
    AnnouncedRelease,
    write_digests,
    write_files,
    write_verification,
)
from publisher.core.announcement_text import escape, escape_url, format_size, write_line
from publisher.core.refusals import Refusal

BLOCKS: Mapping[str, Callable[[AnnouncedRelease], str]] = {
    "files": write_files,
    "verify": write_verification,
    "digests": write_digests,
}
"""Placeholders for a part about one release, or about each of them: `{{ files }}`, `{{ files 3.14.0b3 }}`."""

VALUES: Mapping[str, Callable[[AnnouncedFile], str]] = {
    "url": lambda file: escape_url(file.url),
    "size": lambda file: format_size(file.size),
    "digest": lambda file: file.digest,
}
"""Placeholders for a fact of one file, named by its key or the end of it: `{{ url Python-3.14.0b3.tgz }}`."""

RULE = "prose"
HEADINGS = ("title", "description")

_HOLDER = re.compile(r"(\\?)\{\{(.*?)\}\}")
_ENTRY = re.compile(r"([A-Za-z][\w-]*)\s*:(.*)")
_LITERAL = r"to show two braces as they are, write \{{"


@dataclass(slots=True)
class Prose:
    """Prose with its facts filled in; `covered` are the parts that it has of each release, by name."""

    title: str = ""
    description: str = ""
    body: str = ""
    covered: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    refusals: list[Refusal] = field(default_factory=list[Refusal])


def read_prose(text: str, releases: tuple[AnnouncedRelease, ...]) -> Prose:
    """Take the title off `text` and fill its placeholders; every refusal names its line."""
    prose = Prose()
    lines = re.split("\r\n|\r|\n", text.removeprefix("\ufeff"))
    start = _read_front_matter(lines, prose)
    start = _read_title(lines, start, prose)
    filler = _Filler(releases, prose)
    filled = [filler.fill(line, number) for number, line in enumerate(lines[start:], start + 1)]
    prose.body = "\n".join(_set_apart(filled)).strip("\n")
    return prose


def _set_apart(lines: list[str]) -> Iterator[str]:
    """Put a blank line between a part that was filled in, which is several lines, and its neighbours."""
    before = ""
    for line in lines:
        if ("\n" in before or "\n" in line) and before.strip() and line.strip():
            yield ""
        yield line
        before = line


def _read_front_matter(lines: list[str], prose: Prose) -> int:
    """Read `---`, entries, `---` at the top, and answer where the rest begins."""
    if lines[0].rstrip() != "---":
        return 0
    end = next((place for place, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        prose.refusals.append(_refuse(1, "front matter without an end", "a line of --- after it", "add it"))
        return len(lines)
    for number, line in enumerate(lines[1:end], 2):
        entry = _ENTRY.fullmatch(line.strip())
        # What is indented, and the items of a list, belong to the entry above.
        if entry is None or line[0].isspace():
            continue
        name, value = entry[1], _unquote(entry[2].strip())
        if name in HEADINGS and value[:1] in ("", "|", ">"):
            prose.refusals.append(
                _refuse(number, f"{name} on other lines", f"{name}: words", "write it there")
            )
        elif name == "title":
            prose.title = value
        elif name == "description":
            prose.description = value
        else:
            prose.refusals.append(_refuse_entry(number, name))
    return end + 1


def _refuse_entry(number: int, name: str) -> Refusal:
    close = get_close_matches(name, HEADINGS, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    cure = f"{hint}take it out: date, author and tags are added when the entry is written"
    return _refuse(number, f"{name} in the front matter", " or ".join(HEADINGS), cure)


def _unquote(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        return re.sub(r'\\(["\\])', r"\1", text[1:-1])
    return text


def _read_title(lines: list[str], start: int, prose: Prose) -> int:
    """Read a first `# Title`, unless the front matter has one, and answer where the body begins."""
    first = next((place for place in range(start, len(lines)) if lines[place].strip()), None)
    if first is not None and not prose.title and lines[first].startswith("# "):
        prose.title = re.sub(r"\s+#+\s*$", "", lines[first][2:])
        start = first + 1
    prose.title, prose.description = write_line(prose.title), write_line(prose.description)
    for number, line in enumerate(lines[:start], 1):
        if "{{" in line:
            found = "a placeholder above the text"
            prose.refusals.append(
                _refuse(number, found, "plain words in title and description", "write it out")
            )
    return start


class _Filler:
    """Fills one line after the other, and notes what was covered and refused."""

    def __init__(self, releases: tuple[AnnouncedRelease, ...], prose: Prose) -> None:
        self._releases = releases
        self._prose = prose

    def fill(self, line: str, number: int) -> str:
        """Fill the placeholders of a line."""
        parts: list[str] = []
        end = 0
        for found in _HOLDER.finditer(line):
            parts += [self._copy(line[end : found.start()], number), self._replace(found, number)]
            end = found.end()
        return "".join([*parts, self._copy(line[end:], number)])

    def _copy(self, text: str, number: int) -> str:
        if re.search(r"(?<!\\)\{\{", text):
            found, expected = "{{ without }} after it", "a placeholder on one line"
            self._prose.refusals.append(_refuse(number, found, expected, f"close it there; {_LITERAL}"))
        return text.replace(r"\{{", "{{")

    def _replace(self, found: re.Match[str], number: int) -> str:
        whole = found[0].removeprefix("\\")
        if found[1]:
            return whole
        word, _, subject = write_line(found[2]).partition(" ")
        if word in BLOCKS and found.string.strip() != whole:
            answer = _refuse(number, f"{whole} among other words", "it on a line of its own", "put it on one")
        elif word in BLOCKS:
            answer = self._write_block(word, subject, number)
        elif word in VALUES:
            answer = self._write_value(word, subject, number)
        else:
            answer = _refuse_word(number, whole, word)
        if isinstance(answer, str):
            return answer
        self._prose.refusals.append(answer)
        return whole

    def _write_block(self, word: str, subject: str, number: int) -> str | Refusal:
        chosen = [release for release in self._releases if subject in ("", release.name)]
        if not chosen:
            names = [release.name for release in self._releases]
            return _refuse_name(
                number, f"{word} of {subject}", subject, names, "one of the releases announced"
            )
        self._prose.covered |= {(word, release.name) for release in chosen}
        blocks = [(release, BLOCKS[word](release)) for release in chosen]
        if len(blocks) == 1:
            return blocks[0][1]
        return "\n\n".join(f"**{escape(release.name)}**\n\n{block}" for release, block in blocks)

    def _write_value(self, word: str, subject: str, number: int) -> str | Refusal:
        files = list(chain.from_iterable(release.files for release in self._releases))
        whole = [file for file in files if file.key == subject]
        fitting = whole or [file for file in files if file.key.endswith(f"/{subject}")]
        if subject and len(fitting) == 1:
            return VALUES[word](fitting[0])
        if subject and fitting:
            found = f"{word} of {subject}, which is {', '.join(file.key for file in fitting)}"
            return _refuse(number, found, "the name of one file", "give it with the folders above it")
        names = [*(file.name for file in files), *(file.key for file in files)]
        found = f"{word} of {subject}" if subject else f"{word} of no file"
        return _refuse_name(number, found, subject, names, "a file of the releases announced")


def _refuse_word(number: int, whole: str, word: str) -> Refusal:
    known = (*BLOCKS, *VALUES)
    return _refuse_name(number, whole, word, list(known), f"one of {', '.join(known)}", _LITERAL)


def _refuse_name(
    number: int, found: str, name: str, names: list[str], expected: str, otherwise: str = "correct the name"
) -> Refusal:
    close = get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    return _refuse(number, found, expected, hint + otherwise)


def _refuse(number: int, found: str, expected: str, cure: str) -> Refusal:
    return Refusal(RULE, f"line {number}", found, expected, cure)
