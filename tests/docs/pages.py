"""The pages of the documentation, taken apart: blocks of code, code within text, headings and links."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = (*sorted(DOCS.glob("*.md")), ROOT / "README.md", ROOT / "ARCHITECTURE.md")

_BLOCK = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(?P<ticks>`+)(?P<text>[^`]+)(?P=ticks)")
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: what stands behind the fence, and the text."""

    info: str
    text: str

    @property
    def language(self) -> str:
        return self.info.split()[0] if self.info else ""

    @property
    def file(self) -> str | None:
        """The file under docs/ that the block shows, if it says so."""
        words = self.info.split()
        return words[1] if len(words) > 1 else None


def read(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def find_blocks(text: str) -> list[Block]:
    return [Block(found["info"], found["text"]) for found in _BLOCK.finditer(text)]


def find_code(text: str) -> Iterator[str]:
    """Give the code within the text, a line break in it counted as a blank."""
    for found in _CODE.finditer(_BLOCK.sub("", text)):
        yield " ".join(found["text"].split())


def find_links(text: str) -> list[str]:
    return [found["target"] for found in _LINK.finditer(_BLOCK.sub("", text))]


def find_anchors(text: str) -> set[str]:
    """Give the anchors of the headings as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", _BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def read_section(text: str, heading: str) -> str:
    """Give what stands below a heading, down to the next of its kind."""
    level = heading.split()[0]
    found = re.search(rf"^{re.escape(heading)}$(.*?)(?=^{level} |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, heading
    return found[1]


def read_table(section: str) -> list[list[str]]:
    """Give the cells of a section's first table, without its head."""
    table: list[list[str]] = []
    for line in section.splitlines():
        if line.startswith("|"):
            table.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif table:
            break
    return table[2:]
