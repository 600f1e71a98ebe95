"""Mapping of local names to public keys, as a builder's upload needs it."""

from dataclasses import replace

import pytest

from publisher.core.mapping import Mapped, map_names
from publisher.core.profile import RM
from publisher.core.refusals import Refusal
from tests.support.builders import EXE, PDF, SBOM, SIG, TGZ, a_profile, a_release

EXPECTED = a_profile().expect(a_release())


def refuse(name: str, role: str = "source", release: str = "1.2.0") -> Refusal:
    mapped = map_names([name], role, a_profile().expect(a_release(release)))
    assert mapped.keys == {}
    (refusal,) = mapped.refusals
    return refusal


@pytest.mark.parametrize(("name", "key"), [(TGZ, TGZ), ("tool.tgz", TGZ), ("guide.pdf", PDF)])
def test_a_key_or_the_end_of_one_means_that_key(name: str, key: str) -> None:
    assert map_names([name], "source", EXPECTED) == Mapped({name: key}, ())


def test_an_artifact_is_not_taken_for_its_sidecar() -> None:
    mapped = map_names(["setup.exe", "setup.exe.sbom"], "windows", EXPECTED)

    assert mapped == Mapped({"setup.exe": EXE, "setup.exe.sbom": SBOM}, ())


@pytest.mark.parametrize("name", ["ool.tgz", "tool", "x/tool.tgz", ""])
def test_part_of_a_name_means_nothing(name: str) -> None:
    assert refuse(name).rule == "extra"


def test_a_name_that_fits_several_keys_is_refused() -> None:
    twin = replace(EXPECTED[TGZ], key="1.2.0/old/tool.tgz")
    mapped = map_names(["tool.tgz", "old/tool.tgz"], "source", {**EXPECTED, twin.key: twin})

    assert mapped.keys == {"old/tool.tgz": twin.key}
    assert mapped.refusals == (
        Refusal(
            "key",
            "tool.tgz",
            f"a name for {TGZ}, {twin.key}",
            "a name for one key",
            "give it with the folders above it",
        ),
    )


def test_two_files_for_one_key_are_refused() -> None:
    mapped = map_names(["tool.tgz", TGZ, "guide.pdf"], "source", EXPECTED)

    assert mapped.keys == {"tool.tgz": TGZ, "guide.pdf": PDF}
    assert mapped.refusals == (
        Refusal(
            "key", TGZ, f"a second file for {TGZ}, after tool.tgz", "one file for a key", "upload one of them"
        ),
    )


def test_a_misspelt_name_is_refused_with_the_closest_one() -> None:
    assert refuse("tol.tgz") == Refusal(
        "extra",
        "tol.tgz",
        "a name that the profile does not know for this release",
        "one of 3 names of source",
        "did you mean tool.tgz? correct the name, or leave the file out",
    )


def test_an_unknown_name_that_is_close_to_none_is_refused_without_a_guess() -> None:
    assert refuse("notes.xyz").cure == "correct the name, or leave the file out"


def test_a_name_that_this_release_must_not_have_is_never_suggested() -> None:
    assert "guide" not in refuse("gide.pdf", release="1.2.0b1").cure


def test_a_name_that_another_role_delivers_is_refused() -> None:
    assert refuse("setup.exe") == Refusal(
        "role", "setup.exe", f"{EXE}, which windows delivers", "files of source", "leave it out"
    )


def test_a_name_that_the_release_manager_delivers_is_refused() -> None:
    assert EXPECTED[SIG].role == RM
    assert refuse("tool.tgz.sig", "windows").found == f"{SIG}, which the release manager delivers"


def test_a_builder_that_signs_by_itself_uploads_its_bundle_with_its_artifact() -> None:
    mapped = map_names(["tool.tgz", "tool.tgz.sig"], "source", EXPECTED)

    assert mapped == Mapped({"tool.tgz": TGZ, "tool.tgz.sig": SIG}, ())


def test_a_name_of_another_role_too_means_the_own_key() -> None:
    twin = replace(EXPECTED[EXE], key="1.2.0/windows/tool.tgz")

    assert map_names(["tool.tgz"], "source", {twin.key: twin, **EXPECTED}).keys == {"tool.tgz": TGZ}


def test_a_file_that_this_kind_of_release_must_not_have_is_refused() -> None:
    assert refuse("guide.pdf", release="1.2.0b1") == Refusal(
        "extra", "guide.pdf", "1.2.0b1/guide.pdf", "no such file in a release of this kind", "leave it out"
    )


def test_the_folders_above_a_file_tell_which_of_several_keys_it_is() -> None:
    twin = replace(EXPECTED[TGZ], key="1.2.0/old/tool.tgz")
    expected = {**EXPECTED, twin.key: twin}

    assert map_names(["tool.tgz"], "source", expected, {"tool.tgz": "/build/old/tool.tgz"}).keys == {
        "tool.tgz": twin.key
    }
    assert map_names(["tool.tgz"], "source", expected, {"tool.tgz": "/build/new/tool.tgz"}).keys == {}
