"""Public keys: which may become URLs, and which may stand beside each other."""

from urllib.parse import quote, urlsplit

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from publisher.core.keys import MAX_BYTES, find_conflicts, find_problem, parents
from tests.support.builders import HEAD, a_profile

CASE = "they differ only in the case of letters"
FOLDER = "one is a folder of the other"
# Few letters, so that many pairs collide.
SMALL_KEYS = st.lists(st.sampled_from(["a", "A", "b", "B"]), min_size=1, max_size=3).map("/".join)


@pytest.mark.parametrize(
    "key",
    [
        "python/3.14.0/python-3.14.0b3-amd64.exe",
        "a",
        "A+b_c-d.e/..f/f..",
        "x" * MAX_BYTES,
        "a/_pending/b",
        "pending/_a",
    ],
)
def test_a_plain_key_may_be_public(key: str) -> None:
    assert find_problem(key) is None


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("", "empty segment"),
        ("/a", "empty segment"),
        ("a/", "empty segment"),
        ("a//b", "empty segment"),
        ("./a", "'.' segment"),
        ("a/../b", "'..' segment"),
        ("a b~c/d", "it has ' ~'; letters, digits and . _ + - are allowed"),
        ("a%2Fb", "it has '%'"),
        ("a\n", r"it has '\n'"),
        ("é", "it has 'é'"),
        ("a\udcff", "it has '\\udcff'"),
        ("x" * (MAX_BYTES + 1), "it has 481 bytes, 480 are allowed"),
        ("é" * (MAX_BYTES // 2 + 1), "it has 482 bytes, 480 are allowed"),
        ("_pending/p1/a", "top folders that begin with _ are the gate's own, such as _pending/"),
        ("_pending2/a", "top folders that begin with _ are the gate's own"),
        ("_", "top folders that begin with _ are the gate's own"),
    ],
)
def test_a_key_that_may_not_be_public_is_refused_with_the_reason(key: str, problem: str) -> None:
    assert problem in (find_problem(key) or "no problem")


@given(st.text(max_size=500))
def test_every_text_is_either_a_key_that_urls_leave_alone_or_has_a_problem(text: str) -> None:
    if find_problem(text) is None:
        # S3 alone reads a plus sign as something else, so URLs are made by `core.urls`.
        assert quote(text, safe="/+") == text
        assert urlsplit(f"https://dl.example.org/{text}").path == f"/{text}"


@given(st.from_regex(r"([A-Za-z0-9._+-]{1,20}/){0,4}[A-Za-z0-9._+-]{1,20}", fullmatch=True))
def test_an_accepted_key_survives_url_quoting_unchanged(key: str) -> None:
    assume(find_problem(key) is None)

    assert quote(key, safe="/+") == key
    assert urlsplit(f"https://dl.example.org/{key}").path == f"/{key}"


def test_the_folders_above_a_key_are_listed_outermost_first() -> None:
    assert parents("a/b/c.txt") == ("a", "a/b")
    assert parents("c.txt") == ()


def test_keys_that_differ_in_more_than_case_stand_beside_each_other() -> None:
    assert find_conflicts(["a/x", "a/y", "ab/x"], ["a/x", "a/z", "b"]) == ()


@pytest.mark.parametrize(("wanted", "present"), [("a/X", "a/x"), ("a/x", "a/X")])
def test_a_key_that_differs_from_a_public_one_in_case_only_conflicts(wanted: str, present: str) -> None:
    assert find_conflicts([wanted], [present]) == ((wanted, present, CASE),)


@pytest.mark.parametrize(("wanted", "present"), [("a", "a/x"), ("a/x", "a"), ("A", "a/b/x"), ("A/b/x", "a")])
def test_a_key_that_is_anothers_folder_conflicts(wanted: str, present: str) -> None:
    assert find_conflicts([wanted], [present]) == ((wanted, present, FOLDER),)


def test_every_spelling_of_a_key_is_named() -> None:
    assert find_conflicts(["FILE"], ["File", "file"]) == (("FILE", "File", CASE), ("FILE", "file", CASE))


def test_wanted_keys_conflict_with_each_other() -> None:
    assert find_conflicts(["a", "A"], []) == (("A", "a", CASE), ("a", "A", CASE))


def test_conflicts_among_public_keys_are_nobodys_fault() -> None:
    assert find_conflicts(["c"], ["a", "A", "a/b"]) == ()


@given(SMALL_KEYS, SMALL_KEYS)
def test_a_conflict_does_not_depend_on_which_key_is_public_already(one: str, other: str) -> None:
    there = {(a, why) for a, _, why in find_conflicts([one], [other])}
    back = {(b, why) for _, b, why in find_conflicts([other], [one])}

    assert there == back
    assert bool(there) == (one != other and _collide(one.lower(), other.lower()))


def _collide(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")


@given(st.lists(SMALL_KEYS), st.lists(SMALL_KEYS))
def test_only_wanted_keys_are_reported_and_each_conflict_once(wanted: list[str], present: list[str]) -> None:
    found = find_conflicts(wanted, present)

    assert {key for key, _, _ in found} <= set(wanted)
    assert len(set(found)) == len(found)
    assert found == find_conflicts([*wanted, *wanted], [*present, *wanted])


@pytest.mark.parametrize(
    ("name", "is_release"), [("1.2", True), ("1/2", False), ("..", False), ("1~2", False)]
)
def test_a_release_name_is_one_segment_whatever_the_pattern_lets_through(
    name: str, *, is_release: bool
) -> None:
    head = HEAD.split("[project]", maxsplit=1)[0] + (
        "project = { name = 'T', version = '.+', base_url = 'https://dl.example.org/' }\n[roles.source]\n"
    )
    profile = a_profile("[[artifact]]\nkey = '{release}/x.zip'\nrole = 'source'", head)

    assert (profile.parse_release(name) is not None) is is_release
