"""Selecting: which staged files are meant by roles, keys and ends of keys, and whose may be read."""

from collections.abc import Collection, Mapping

import pytest

from publisher.core.profile import RM
from publisher.core.refusals import Refusal
from publisher.core.selecting import Picked, Selection, Unknown, list_readable, pick, select
from tests.support.builders import EXE, PDF, SBOM, SIG, TGZ, a_profile, a_release

ALL = ("source", "windows", "qa", RM)


def chosen(*names: str, readable: Collection[str] = ALL) -> Selection | tuple[Refusal, ...]:
    return select(a_profile(), a_release(), names, readable)


def picked(staged: Mapping[str, Collection[str]], *names: str) -> Picked:
    selection = chosen(*names)
    assert isinstance(selection, Selection)
    return pick(a_profile(), a_release(), selection, {role: staged.get(role, ()) for role in selection.roles})


@pytest.mark.parametrize(
    ("role", "readable"),
    [
        ("source", ("source",)),
        ("windows", ("windows",)),
        ("qa", ("source", "windows")),
        (None, ("source", "windows", "qa", RM)),
    ],
)
def test_a_builder_reads_its_own_a_tester_what_it_may_and_the_release_manager_all(
    role: str | None, readable: tuple[str, ...]
) -> None:
    assert list_readable(a_profile(), role) == readable


@pytest.mark.parametrize(
    ("names", "selection"),
    [
        ((), Selection(ALL, frozenset(ALL), ())),
        (("windows",), Selection(("windows",), frozenset({"windows"}), ())),
        ((RM,), Selection((RM,), frozenset({RM}), ())),
        ((TGZ, "setup.exe"), Selection(("source", "windows"), frozenset(), (TGZ, "setup.exe"))),
        (("windows", TGZ, "windows"), Selection(("source", "windows"), frozenset({"windows"}), (TGZ,))),
        (("stray.bin",), Selection(ALL, frozenset(), ("stray.bin",))),
        (("tool.tgz.sig",), Selection(("source", RM), frozenset(), ("tool.tgz.sig",))),
    ],
)
def test_names_say_whose_files_to_look_at(names: tuple[str, ...], selection: Selection) -> None:
    assert chosen(*names) == selection


@pytest.mark.parametrize(
    ("name", "found"),
    [("windows", "what it staged"), (EXE, "a file of windows"), (RM, "what it staged")],
)
def test_what_may_not_be_read_is_refused(name: str, found: str) -> None:
    refusals = chosen(name, TGZ, readable=("source",))

    assert isinstance(refusals, tuple)
    assert [(r.rule, r.subject, r.found, r.expected) for r in refusals] == [
        ("role", name, found, "what this role may read: source")
    ]


def test_who_may_read_nothing_is_told_so() -> None:
    refusals = chosen(TGZ, readable=())

    assert isinstance(refusals, tuple)
    assert refusals[0].expected.endswith(": nothing")


def test_a_whole_key_goes_before_the_end_of_another() -> None:
    staged = {"source": ["x.bin", "a/x.bin", TGZ], "windows": [EXE]}

    assert picked(staged, "x.bin").keys == (("source", "x.bin"),)
    assert picked(staged, "a/x.bin", "windows").keys == (("source", "a/x.bin"), ("windows", EXE))


def test_nothing_but_whole_segments_is_the_end_of_a_key() -> None:
    assert picked({"source": ["a/bx.bin"]}, "x.bin").keys == ()


def test_an_end_of_several_keys_is_refused_with_all_of_them() -> None:
    (refusal,) = picked({"source": ["a/x.bin"], "windows": ["b/x.bin"]}, "x.bin").refusals

    assert refusal.found == "a name for source/1.2.0/a/x.bin, windows/1.2.0/b/x.bin"


@pytest.mark.parametrize(
    ("name", "who", "cure"),
    [
        (TGZ, "nothing staged by source", "publisher wait 1.2.0 --role source"),
        ("guide.pdf", "nothing staged by source", "publisher wait 1.2.0 --role source"),
    ],
)
def test_what_is_expected_and_not_staged_is_missing(name: str, who: str, cure: str) -> None:
    (refusal,) = picked({"source": [SBOM]}, name).refusals

    assert (refusal.rule, refusal.subject, refusal.found) == ("missing", name, who)
    assert refusal.cure.endswith(cure)


@pytest.mark.parametrize(
    ("name", "close"),
    [("tool.tgs", "tool.tgz"), ("1.2.0/tool.tgs", "tool.tgz"), ("sorce", "source"), ("zzz", None)],
)
def test_what_nobody_has_is_unknown_with_what_was_perhaps_meant(name: str, close: str | None) -> None:
    assert picked({"source": [TGZ, PDF]}, name).unknown == (Unknown(name, close),)


def test_a_builder_may_name_its_own_bundle_and_a_tester_that_of_a_role_it_reads() -> None:
    windows = chosen("tool.tgz.sig", readable=("windows",))

    for readable in (("source",), ("source", "windows")):
        assert chosen("tool.tgz.sig", readable=readable) == Selection(
            ("source",), frozenset(), ("tool.tgz.sig",)
        )
    assert isinstance(windows, tuple)
    assert [(r.rule, r.found) for r in windows] == [("role", "a file of the release manager, source")]


def test_a_bundle_is_found_whoever_has_staged_it() -> None:
    assert picked({"source": [TGZ, SIG]}, "tool.tgz.sig").keys == (("source", SIG),)
    assert picked({"source": [TGZ], RM: [SIG]}, "tool.tgz.sig").keys == ((RM, SIG),)
    assert picked({"source": [SIG], RM: [SIG]}, "tool.tgz.sig").refusals[0].rule == "key"


def test_the_release_managers_file_is_waited_for_with_the_whole_release() -> None:
    (refusal,) = picked({}, SIG).refusals

    assert refusal.found == "nothing staged by the release manager"
    assert refusal.cure == "wait for it: publisher wait 1.2.0"


def test_two_roles_files_of_one_name_are_refused_unless_one_of_the_roles_is_named() -> None:
    staged = {"source": [TGZ], "windows": [TGZ, EXE]}

    (refusal,) = picked(staged).refusals
    assert (refusal.subject, refusal.found) == (TGZ, "one by each of source, windows")
    assert picked(staged, "windows").refusals == ()


def test_the_release_managers_sidecars_are_files_like_others() -> None:
    assert picked({RM: [SIG]}, SIG).keys == ((RM, SIG),)
