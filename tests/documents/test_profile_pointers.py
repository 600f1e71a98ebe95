"""The tables of a profile for what is mutable: pointers and aliases, and what is said about wrong ones."""

from pathlib import Path

import pytest

from publisher.core.keys import find_problem
from publisher.core.profile import AliasRule, Delivery, PointerRule, Profile
from publisher.documents.profile import load_profile, parse_profile
from publisher.errors import ConfigError

CPYTHON = Path(__file__).parents[2] / "profiles" / "cpython.toml"
HEAD = r"""
schema = 1

[project]
name = "Tool"
version = '(?P<series>\d+\.\d+)\.\d+(?P<stage>b?)\d*'
base_url = "https://downloads.example.org/"
key_prefix = "tool/"

[kinds]
beta = { stage = "b" }
final = {}

[series."1.1"]
status = "security"

[series."1.2"]
status = "bugfix"

[roles.builder]

[roles.qa]
duty = "tests"

[classes]
immutable = "public, max-age=31536000, immutable"
pointer = "public, max-age=60"

[content_types]
".json" = "application/json"

[[artifact]]
key = "tool/{release}/tool.tgz"
role = "builder"
sidecars = [{ suffix = ".sig" }]

[[artifact]]
key = "tool/same-each-time.txt"
role = "builder"
"""
POINTER = """
[[pointer]]
name = "index"
role = "builder"
files = ["tool/index.cat", "tool/index.json"]
class = "pointer"
"""
ALIAS = """
[[alias]]
name = "tool/{series}/"
to = "tool/{release}/"
kinds = "final"
"""


def parse(*tables: str, head: str = HEAD) -> Profile:
    return parse_profile((head + "".join(tables)).encode(), "tool.toml")


def list_problems(*tables: str, head: str = HEAD) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse(*tables, head=head)
    return str(caught.value).removeprefix("tool.toml: ").split("\ntool.toml: ")


def test_a_profile_needs_neither_pointers_nor_aliases() -> None:
    profile = parse()

    assert (profile.pointers, profile.aliases) == ((), ())


def test_a_set_is_read_in_its_order_and_served_as_the_profile_says() -> None:
    (rule,) = parse(POINTER, 'required = ["final"]\n').pointers

    cache = ("pointer", "public, max-age=60")
    assert rule == PointerRule(
        "index",
        "builder",
        {
            "tool/index.cat": Delivery("application/octet-stream", *cache),
            "tool/index.json": Delivery("application/json", *cache),
        },
        frozenset({"final"}),
    )
    assert list(rule.files) == ["tool/index.cat", "tool/index.json"]


def test_nothing_is_required_of_sets_unless_it_says_so() -> None:
    assert parse(POINTER).pointers[0].required == frozenset()
    assert parse(POINTER, 'required = "all"\n').pointers[0].required == {"beta", "final"}


def test_an_alias_is_read_with_its_kinds_and_series() -> None:
    assert parse(ALIAS).aliases == (AliasRule("tool/{series}", "tool/{release}", frozenset({"final"})),)
    (rule,) = parse(ALIAS, 'since = "1.2"\n').aliases
    assert rule.series == {"1.2"}


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"builder"', '"qa"', "role: found 'qa', expected a role that delivers: builder"),
        ('"builder"', '"nobody"', "role: found 'nobody', expected a role that delivers: builder"),
        ('"pointer"', '"immutable"', "class: found 'immutable', expected one of pointer: these files change"),
        ('"pointer"', '"other"', "class: found 'other', expected one of pointer: these files change"),
        ("tool/index.cat", "other/index.cat", "files: found 'other/index.cat', expected a key under 'tool/'"),
        (
            "tool/index.cat",
            "tool//index.cat",
            f"files: found 'tool//index.cat': {find_problem('a//b')}, expected a key that may be public",
        ),
        (
            "tool/index.cat",
            "tool/same-each-time.txt",
            "files: found 'tool/same-each-time.txt', an artifact's key, expected a file that may change",
        ),
        (
            "tool/index.cat",
            "tool/index.json",
            "files: found 'tool/index.json', which is in pointer[0] (index) too, expected each key once",
        ),
    ],
)
def test_what_is_wrong_with_a_set_is_named(old: str, new: str, problem: str) -> None:
    assert list_problems(POINTER.replace(old, new)) == [f"pointer[0] (index).{problem}"]


def test_a_kind_that_does_not_exist_is_named() -> None:
    (problem,) = list_problems(POINTER, 'required = ["gamma"]\n')

    assert problem.startswith("pointer[0] (index).required: found 'gamma', expected one of all, beta, final")


def test_two_sets_have_two_names_and_share_no_file() -> None:
    assert (
        parse(POINTER, POINTER.replace('"index"', '"other"').replace("tool/index", "tool/other"))
        .pointers[1]
        .name
        == "other"
    )
    assert list_problems(POINTER, POINTER.replace("tool/index", "tool/other")) == [
        "pointer[1] (index).name: found it for the second time, expected each name once"
    ]
    assert len(list_problems(POINTER, POINTER.replace('"index"', '"other"'))) == 2


@pytest.mark.parametrize("line", ["files = []", 'name = "Index"'])
def test_a_set_has_a_plain_name_and_at_least_one_file(line: str) -> None:
    key = line.partition(" ")[0]
    table = "\n".join(line if text.startswith(f"{key} =") else text for text in POINTER.split("\n"))

    (problem,) = list_problems(table)
    assert problem.startswith(f"pointer[0].{key}")


@pytest.mark.parametrize("name", ["SHA256SUMS", "COMMIT", "POINTERS.json"])
def test_no_artifact_has_the_name_of_a_hand_overs_own_file(name: str) -> None:
    head = HEAD.replace('key_prefix = "tool/"\n', "").replace("tool/same-each-time.txt", name)

    assert list_problems(head=head) == [
        f"artifact.key: found {name!r}, expected another key: that file says what was handed over"
    ]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("tool/{series}/", "tool/{release}/x/", "its name has {release} in it"),
        ("tool/{release}/", "tool/{series}/new/", "there is no {release} in what it leads to"),
        ("tool/{series}/", "tool/{serie}/", "found '{serie}', expected one of"),
        ('"final"', '"gamma"', "found 'gamma', expected one of all, beta, final"),
        ("tool/{series}/", "tool/{series}", "String should match pattern"),
        ("tool/{series}/", "a/b/c/d/", "its name has more than 3 segments"),
    ],
)
def test_what_is_wrong_with_an_alias_is_named(old: str, new: str, problem: str) -> None:
    assert any(problem.lower() in found.lower() for found in list_problems(ALIAS.replace(old, new)))


def test_an_alias_of_a_series_that_does_not_exist_is_named() -> None:
    (problem,) = list_problems(ALIAS, 'since = "0.9"\n')

    assert problem.startswith("alias[0] (tool/{series}/): found '0.9'")


def test_cpython_has_the_windows_index_and_the_documentation() -> None:
    profile = load_profile(CPYTHON)

    (index,) = profile.pointers
    assert (index.name, index.role, index.required) == ("windows-index", "pymanager", frozenset())
    assert [(key, each.content_type) for key, each in index.files.items()] == [
        ("python/index-windows.json.cat", "application/vnd.ms-pki.seccat"),
        ("python/index-windows.json", "application/json"),
    ]
    assert {each.cache_control for each in index.files.values()} == {"public, max-age=60"}
    assert [(rule.name, rule.to) for rule in profile.aliases] == [
        ("python/doc/current", "python/doc/{release}"),
        ("python/doc/{series}", "python/doc/{release}"),
    ]
    assert all(rule.kinds == {"final", "security"} and rule.series is None for rule in profile.aliases)
