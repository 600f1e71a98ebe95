"""What the pages say about the code is true of the code: links, commands, rules, tasks, help texts."""

import ast
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path

import click
import pytest

from publisher import cli
from publisher.core.refusals import WAIVABLE
from publisher.workflow.steps import AFTER_LIVE, BEFORE_LIVE
from tests.docs.pages import (
    PAGES,
    ROOT,
    find_anchors,
    find_blocks,
    find_code,
    find_links,
    read,
    read_section,
    read_table,
)
from tools import helptexts

TASKS = 46
# Words of a line that stand for more, or for something else.
OPEN_ENDED = {"…", "...", "COMMAND"}
# Steps that only some promotions have.
SOMETIMES = {"pointers", "aliases"}


def test_the_help_texts_are_fresh() -> None:
    assert helptexts.PAGE.read_text("utf-8") == helptexts.render(), f"stale; run: {helptexts.AGAIN}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in find_links(page.read_text("utf-8")):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or anchor in find_anchors(target.read_text("utf-8")), link


def find_commands(text: str) -> Iterator[tuple[str, bool]]:
    """Give every `publisher …` of a page, and whether it is a whole line to be typed."""
    for block in find_blocks(text):
        # A continued line is one line. Help texts explain examples on the same line, after some blanks.
        for line in re.sub(r"\s*\\\n\s*", " ", block.text).splitlines():
            typed = line.strip()
            if block.language == "text":
                typed = re.split(r"\s{2,}", typed)[0]
            if block.language == "console" or typed.startswith("$ "):
                typed = typed[2:] if typed.startswith("$ ") else ""
            typed = re.sub(r"^(?:[A-Z_]+=\S+ )+", "", typed)
            if typed.startswith("publisher "):
                yield typed, True
        if block.language == "rst":
            inline = re.findall(r"``(publisher [^`]+)``", block.text)
            yield from ((" ".join(code.split()), False) for code in inline)
    yield from ((code, False) for code in find_code(text) if code.startswith("publisher "))


def list_all_commands() -> list[tuple[str, str, bool]]:
    return [
        (page.name, line, typed) for page in PAGES for line, typed in find_commands(page.read_text("utf-8"))
    ]


@pytest.mark.parametrize(("page", "line", "typed"), list_all_commands())
def test_every_command_line_is_one_of_the_publisher(page: str, line: str, *, typed: bool) -> None:
    words = shlex.split(re.sub(r"\$\(.*?\)", "IT", line), comments=True)[1:]
    if OPEN_ENDED.isdisjoint(words) and typed and "--help" not in words:
        context, command, rest = resolve(words)
        assert command.make_context("it", rest, parent=context), page
    elif words and words[0] not in OPEN_ENDED:
        _, command, rest = resolve(words)
        known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
        given = {word.partition("=")[0] for word in rest if word.startswith("-")}
        assert given <= known, page


def resolve(words: list[str]) -> tuple[click.Context, click.Command, list[str]]:
    """Walk down to the command that is meant, and give what is left of the words."""
    context = click.Context(
        cli.publisher, info_name="publisher", obj=cli.Settings(), **cli.publisher.context_settings
    )
    command: click.Command = cli.publisher
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        assert found, f"no command {words[0]}"
        command, words = found, words[1:]
    return context, command, words


@cache
def parse_all() -> Mapping[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in (ROOT / "publisher").rglob("*.py")}


def find_calls(name: str) -> Iterator[tuple[Path, ast.Module, ast.Call]]:
    """Give every call of a function, by its name."""
    for path, tree in parse_all().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                yield path, tree, node


def find_rules() -> set[str]:
    """Give the rule of every refusal that the code can make."""
    rules: set[str] = set()
    for path, tree, call in find_calls("Refusal"):
        given = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "rule")]
        found = {*read_texts(given[0], tree), *read_arguments(given[0], call, tree)}
        assert found, f"{path.name}:{call.lineno}: a rule that comes from elsewhere"
        rules |= found
    return rules


def read_arguments(node: ast.AST, call: ast.Call, tree: ast.Module) -> Iterator[str]:
    """Give the texts that callers pass for `node`, if it is a parameter of the function around `call`."""
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef) or call not in ast.walk(function):
            continue
        names = [parameter.arg for parameter in function.args.args]
        if isinstance(node, ast.Name) and node.id in names:
            place = names.index(node.id)
            for _, where, caller in find_calls(function.name):
                yield from read_texts(caller.args[place], where)


def read_texts(node: ast.AST, tree: ast.AST) -> Iterator[str]:
    """Give the texts that an expression may be: those that its module assigns to it, if it is a name."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp(body=one, orelse=other):
            yield from read_texts(one, tree)
            yield from read_texts(other, tree)
        case ast.Name(id=name):
            for found in ast.walk(tree):
                match found:
                    case (
                        ast.Assign(targets=[ast.Name(id=target)], value=ast.expr() as value)
                        | ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value)
                    ) if target == name:
                        yield from read_texts(value, tree)
                    case ast.ImportFrom(module=str(module), names=names) if name in {n.name for n in names}:
                        path = ROOT / module.replace(".", "/")
                        yield from read_texts(node, ast.parse(path.with_suffix(".py").read_text("utf-8")))
                    case _:
                        pass
        case _:
            pass


def test_the_table_has_every_rule_once_and_no_other() -> None:
    rows = read_table(read_section(read("release-manager.md"), "## Every refusal"))
    assert sorted(row[0].strip("`") for row in rows) == sorted(find_rules())


def test_the_table_says_what_can_be_waived() -> None:
    rows = read_table(read_section(read("release-manager.md"), "## Every refusal"))
    assert {row[0].strip("`") for row in rows if row[-1] == "yes"} == WAIVABLE
    assert {row[-1] for row in rows} == {"yes", "never"}


def test_the_promotion_that_is_shown_has_the_steps_that_there_are() -> None:
    section = read_section(read("release-manager.md"), "### 5. Promote")
    running = section.partition("\npromoted ")[0].splitlines()
    shown = [line.split(maxsplit=1) for line in running if line.startswith("  ")]
    names = [step.name for step in (*BEFORE_LIVE, *AFTER_LIVE) if step.name not in SOMETIMES]
    steps = [name.split()[0] for name in names]
    texts = " ".join(step.text for step in (*BEFORE_LIVE, *AFTER_LIVE))
    assert [words[0] for words in shown if words[0] in steps] == steps
    assert all(words[1].removeprefix("live  ") in texts for words in shown if words[0] in steps)


def test_builders_are_told_of_rules_that_there_are() -> None:
    rows = read_table(read_section(read("builders.md"), "## When something is refused"))
    assert {row[0].strip("`") for row in rows} <= find_rules()


def test_every_task_of_the_release_script_has_one_line() -> None:
    section = read_section(read("release-process.md"), "### `run_release.py`, 46 tasks (3.14 and later)")
    tasks: list[int] = []
    for row in read_table(section):
        first, *last = re.findall(r"\d+", row[0])
        tasks += range(int(first), int((last or [first])[0]) + 1)
    assert tasks == list(range(1, TASKS + 1))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_are_whole(page: Path) -> None:
    lines = page.read_text("utf-8").splitlines()
    for above, line in pairwise(lines):
        if above.startswith("|") and line.startswith("|"):
            assert above.replace(r"\|", "").count("|") == line.replace(r"\|", "").count("|"), line
