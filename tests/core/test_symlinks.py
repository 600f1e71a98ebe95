"""Symbolic links of a tree: resolved to what they finally lead to, as aliases that the gate can follow."""

from collections.abc import Mapping

import pytest

from publisher.core import aliases
from publisher.core.symlinks import Links, parse_links, resolve_links

PUBLIC = frozenset({"doc/3.14.2/index.html", "doc/3.14.2/c/api.html", "ftp/a.tgz"})


def resolve(links: Mapping[str, str], entries: Mapping[str, str] | None = None) -> Links:
    return resolve_links(links, PUBLIC, entries or {})


def parse(text: str, prefix: str = "doc") -> tuple[dict[str, str], list[str]]:
    links, faults = parse_links(text, prefix)
    return dict(links), [fault.subject for fault in faults]


def test_what_find_prints_is_read() -> None:
    text = "current -> 3.14.2\n./3 -> 3.14.2\n3.14.2/x -> ../y z\n"

    assert parse(text) == (
        {"doc/current": "3.14.2", "doc/3": "3.14.2", "doc/3.14.2/x": "../y z"},
        [],
    )
    assert parse("a -> b", prefix="") == ({"a": "b"}, [])


def test_what_rsync_lists_is_read_and_files_are_passed_over() -> None:
    text = (
        "drwxrwxr-x          4,096 2024/10/07 12:00:00 .\n"
        "-rw-r--r--          9,121 2024/10/07 12:00:00 index.html\n"
        "lrwxrwxrwx              6 2024/10/07 12:00:00 current -> 3.14.2\n"
        "\n"
    )

    assert parse(text) == ({"doc/current": "3.14.2"}, [])


@pytest.mark.parametrize("name", ["a b", "x/../y", "~x", "x//y"])
def test_a_link_whose_name_cannot_be_public_is_refused(name: str) -> None:
    assert parse(f"{name} -> 3.14.2") == ({}, [f"doc/{name}"])


@pytest.mark.parametrize(
    ("links", "target"),
    [
        ({"doc/current": "3.14.2"}, "doc/3.14.2"),
        ({"doc/current": "./3.14.2/"}, "doc/3.14.2"),
        ({"doc/current": "../doc/3.14.2"}, "doc/3.14.2"),
        ({"doc/3/x": "../3.14.2/c"}, "doc/3.14.2/c"),
        ({"doc/current": "3.14.2/index.html"}, "doc/3.14.2/index.html"),
        ({"latest": "ftp/a.tgz"}, "ftp/a.tgz"),
        # Through others: the gate follows an alias only once.
        ({"doc/current": "3", "doc/3": "3.14", "doc/3.14": "3.14.2"}, "doc/3.14.2"),
        ({"latest": "docs/3.14.2", "docs": "doc"}, "doc/3.14.2"),
    ],
)
def test_a_link_becomes_an_alias_to_what_it_finally_leads_to(links: dict[str, str], target: str) -> None:
    found = resolve(links)

    assert found.faults == ()
    assert found.aliases[next(iter(links))] == target
    entries = {f"a:{name}": value for name, value in found.aliases.items()}
    assert aliases.follow(entries, next(iter(links))) == target


@pytest.mark.parametrize(
    ("links", "found"),
    [
        ({"doc/current": "/srv/doc/3.14.2"}, "out of the tree"),
        ({"doc/current": "../../3.14.2"}, "out of the tree"),
        ({"doc/top": "../"}, "out of the tree"),
        ({"doc/a": "b", "doc/b": "a"}, "in a circle"),
        ({"doc/a": "a"}, "in a circle"),
        ({"doc/current": "3.14.1"}, "where nothing is public"),
        ({"doc/a/b/c": "../../3.14.2"}, "more than 3 segments"),
        ({"doc/3.14.2": "../ftp"}, "objects at this key"),
        ({"ftp/a.tgz": "../doc/3.14.2"}, "objects at this key"),
        ({"doc": "doc/3.14.2"}, "in a circle"),
    ],
)
def test_a_link_that_the_gate_cannot_follow_is_refused(links: dict[str, str], found: str) -> None:
    resolved = resolve(links)

    assert resolved.aliases == {}
    assert {fault.subject for fault in resolved.faults} == set(links)
    assert all(found in fault.found for fault in resolved.faults)


def test_an_alias_that_is_there_already_is_kept_and_another_one_refused() -> None:
    assert resolve({"doc/current": "3.14.2"}, {"a:doc/current": "doc/3.14.2"}).faults == ()

    resolved = resolve({"doc/current": "3.14.2"}, {"a:doc/current": "doc/3.13.9"})
    assert resolved.aliases == {}
    assert resolved.faults[0].found == "an alias of doc/3.13.9 in the gate already"
