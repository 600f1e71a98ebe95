"""The listing: rows from files, refusals before anything is sent, and plans that any crash may cut."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from publisher.core.digests import Digest, of_bytes
from publisher.core.listing import (
    FileRow,
    FoundFile,
    FoundRelease,
    ListedFile,
    ReleaseRow,
    compute_rows,
    is_highest,
    list_planned,
    refuse_release,
    refuse_systems,
    refuse_taken,
)
from publisher.core.listing_changes import (
    Change,
    CreateFile,
    DeleteFile,
    UpdateFile,
    UpdateRelease,
    create_release,
    renew_release,
)
from publisher.core.listing_checks import MAX_SIZE, MAX_URL, validate_release, validate_row, validate_rows
from publisher.core.listing_plan import plan_listing
from publisher.core.plan import PlannedFile, Version
from publisher.core.profile import Delivery, Row
from tests.support.release_db import RULES, WHEN, make_release, make_rows

PREFIX = "https://www.python.org/ftp/python/3.14.0/"
KEY = "python/3.14.0/Python-3.14.0.tgz"
DRAFT = 7


def a_row(file: str = "a", **fields: Any) -> FileRow:
    row = FileRow(
        name=f"File {file}",
        slug=f"3140-{file}",
        os="windows",
        url=PREFIX + file,
        description="",
        is_source=False,
        sha256=of_bytes(file.encode()),
        size=10,
        button=False,
        sidecars={},
    )
    return replace(row, **fields)


def a_release(**fields: Any) -> ReleaseRow:
    return replace(make_release("3.14.0"), **fields)


def found_release(**fields: Any) -> FoundRelease:
    return FoundRelease(DRAFT, a_release(**{"is_published": False, "is_latest": False} | fields))


def found_files(*rows: FileRow) -> tuple[FoundFile, ...]:
    return tuple(FoundFile(number, DRAFT, row) for number, row in enumerate(rows, start=1))


def plan_rows(
    wanted: tuple[FileRow, ...], found: tuple[FoundFile, ...], release: FoundRelease | None = None
) -> list[Change]:
    """Plan with a release row that needs nothing but its flags, and leave those out."""
    release = release or found_release()
    changes = plan_listing(wanted, found, release, a_release())
    return [change for change in changes if not isinstance(change, UpdateRelease)]


# --- Rows ---------------------------------------------------------------------------------------------------


def test_a_beta_of_cpython_has_thirteen_rows() -> None:
    rows = make_rows("3.14.0b3")

    assert len(rows) == 13
    assert validate_rows(rows, RULES) == ()
    assert [row.url.rpartition("/")[2] for row in rows if row.button] == [
        "Python-3.14.0b3.tar.xz",
        "python-3.14.0b3-amd64.exe",
        "python-3.14.0b3-macos11.pkg",
    ]


def test_a_row_names_only_the_sidecars_that_are_public() -> None:
    file = ListedFile(
        KEY, Digest("a" * 64), 5, Row("Gzipped source tarball", "3140-tgz", "source", "", False)
    )
    public = {KEY, f"{KEY}.sigstore", f"{KEY}.spdx.json", f"{KEY}.unknown"}

    [row] = compute_rows([file], public, lambda key: f"https://www.python.org/ftp/{key}", RULES)

    url = f"https://www.python.org/ftp/{KEY}"
    assert row == FileRow(
        name="Gzipped source tarball",
        slug="3140-tgz",
        os="source",
        url=url,
        description="",
        is_source=True,
        sha256="a" * 64,
        size=5,
        button=False,
        sidecars={".sigstore": f"{url}.sigstore", ".spdx.json": f"{url}.spdx.json"},
    )


def test_blanks_that_the_server_would_trim_are_not_sent() -> None:
    file = ListedFile(KEY, Digest("a" * 64), 5, Row(" Name ", "slug ", "windows", "\tfor all\n", False))

    [row] = compute_rows([file], (), str, RULES)

    assert (row.name, row.slug, row.description, row.is_source) == ("Name", "slug", "for all", False)


def test_only_planned_files_of_the_release_with_a_row_are_listed() -> None:
    row = Row("Name", "slug", "windows", "", True)
    source = Version("windows/3.14.0/k", "1", "e")
    delivery = Delivery("text/plain", "immutable", "")
    file = PlannedFile(KEY, "3.14.0", "source", Digest("a" * 64), 5, source, delivery, False, None, row)
    others = [replace(file, row=None), replace(file, release="3.14.0rc1")]

    assert list_planned([file, *others], "3.14.0") == (ListedFile(KEY, Digest("a" * 64), 5, row),)


# --- The release's row --------------------------------------------------------------------------------------


def test_a_final_release_gets_its_name_slug_and_notes() -> None:
    assert make_release("3.14.2") == ReleaseRow(
        name="Python 3.14.2",
        slug="python-3142",
        version=3,
        is_published=True,
        is_latest=True,
        pre_release=False,
        release_date=WHEN,
        release_notes_url="https://docs.python.org/release/3.14.2/whatsnew/changelog.html",
        show_on_download_page=True,
    )


def test_a_pre_release_is_never_the_latest() -> None:
    row = make_release("3.15.0rc1")

    assert (row.slug, row.pre_release, row.is_latest) == ("python-3150rc1", True, False)


def test_a_kind_without_notes_has_none() -> None:
    assert make_release("3.15.0a1").release_notes_url == ""


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ({"name": "Python 3.14.1", "slug": "python-3141"}, True),
        ({"name": "Python 3.9.21", "slug": "python-3921"}, True),
        ({"name": "Python 3.14.3", "slug": "python-3143"}, False),
        ({"name": "Python 3.15.0", "slug": "python-3150"}, False),
        ({"name": "Python 3.14.2", "slug": "python-3142-again"}, False),
        ({"name": "Python 3.15.0", "slug": "python-3150", "is_published": False}, True),
        ({"name": "Python 3.15.0", "slug": "python-3150", "pre_release": True}, True),
        ({"name": "Python 3.15.0rc1", "slug": "python-3150rc1"}, True),
        ({"name": "Python install manager 25.0", "slug": "pymanager-250", "version": 100}, True),
        ({"name": "Python 3.14.2", "slug": "python-3142", "is_latest": True}, True),
    ],
)
def test_only_the_highest_published_final_of_its_family_is_the_latest(
    other: Mapping[str, Any], expected: bool
) -> None:
    found = FoundRelease(1, replace(make_release("3.14.0"), **other))

    assert make_release("3.14.2", [found]).is_latest is expected


def test_what_has_no_version_for_a_name_is_not_the_latest() -> None:
    assert not is_highest(a_release(name="Python"), [])


def test_a_release_row_that_is_missing_is_refused_unless_it_is_to_be_created() -> None:
    [refusal] = refuse_release(a_release(), None, create=False)

    assert (refusal.rule, refusal.subject) == ("listing", "python-3140")
    assert "--create-release" in refusal.cure
    assert refuse_release(a_release(), None, create=True) == ()


def test_a_slug_that_is_another_releases_is_refused() -> None:
    other = found_release(name="Python 3.1.40")

    [refusal] = refuse_release(a_release(), other, create=True)

    assert "'Python 3.1.40'" in refusal.found
    assert refuse_release(a_release(), found_release(name=" Python  3.14.0"), create=False) == ()


def test_a_system_that_the_database_lacks_is_refused() -> None:
    rows = [a_row(os="ios"), a_row("b", os="ios"), a_row("c")]

    [refusal] = refuse_systems(rows, {"windows", "macos"})

    assert (refusal.subject, refusal.expected) == ("ios", "one of macos, windows")
    assert refuse_systems(rows, {"windows", "ios"}) == ()


def test_a_slug_of_another_releases_row_is_refused() -> None:
    [refusal] = refuse_taken([FoundFile(1, 6, a_row("a")), FoundFile(2, DRAFT, a_row("b"))], DRAFT)

    assert (refusal.subject, refusal.rule) == ("3140-a", "listing")


# --- Checks before sending ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"name": " a"},
        {"name": "a" * 201},
        {"name": "a\0b"},
        {"slug": ""},
        {"slug": "3.14"},
        {"slug": "a\n"},
        {"slug": "é"},
        {"slug": "a" * 201},
        {"description": "a "},
        {"description": "a\0"},
        {"os": "beos"},
        {"url": "http://www.python.org/ftp/a"},
        {"url": "https://www.python.org.example/a"},
        {"url": "https://www.python.org/a b"},
        {"url": "https://www.python.org/" + "a" * (MAX_URL - 22)},
        {"sha256": "a" * 63},
        {"sha256": "A" * 64},
        {"sha256": "a" * 64 + "\n"},
        {"size": 0},
        {"size": -1},
        {"size": MAX_SIZE + 1},
        {"sidecars": {".sig": "https://www.python.org/other.sig"}},
        {"sidecars": {".sigstore.json": PREFIX + "a.sigstore.json"}},
    ],
)
def test_a_row_that_the_server_would_reject_or_should_is_refused(fields: Mapping[str, Any]) -> None:
    refusals = validate_row(a_row(**fields), RULES)

    assert [refusal.rule for refusal in refusals] == ["listing"]
    assert all(refusal.found and refusal.expected and refusal.cure for refusal in refusals)


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "a" * 200},
        {"slug": "a" * 200},
        {"slug": "A_z-9"},
        {"description": "a" * 1000},
        {"url": "https://www.python.org/" + "a" * (MAX_URL - 23)},
        {"size": 1},
        {"size": MAX_SIZE},
        {"sidecars": {".spdx.json": PREFIX + "a.spdx.json"}},
    ],
)
def test_a_row_within_the_rules_is_not_refused(fields: Mapping[str, Any]) -> None:
    assert validate_row(a_row(**fields), RULES) == ()


def test_the_longest_url_leaves_room_for_the_longest_suffix() -> None:
    assert MAX_URL == 190


def test_doubles_are_refused() -> None:
    same_slug = a_row("b", slug="3140-a")
    same_url = a_row("c", url=PREFIX + "a")
    buttons = [a_row("d", button=True), a_row("e", button=True), a_row("f", button=True, os="macos")]

    refusals = validate_rows([a_row("a"), same_slug, same_url, *buttons], RULES)

    assert [(refusal.subject, refusal.found) for refusal in refusals] == [
        ("3140-a", "2 rows with this slug"),
        (PREFIX + "a", "2 rows with this URL"),
        ("windows", "2 rows with its download button"),
    ]


def test_no_rows_at_all_are_refused() -> None:
    assert [refusal.found for refusal in validate_rows([], RULES)] == ["no file with a row"]
    assert validate_rows([a_row()], RULES) == ()


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"slug": "python-3.14"},
        {"release_notes_url": "docs"},
        {"release_notes_url": "https://docs.python.org/" + "a" * 200},
        {"release_date": datetime(2025, 10, 7)},  # noqa: DTZ001
    ],
)
def test_a_release_row_that_the_server_would_reject_or_should_is_refused(fields: Mapping[str, Any]) -> None:
    assert [refusal.rule for refusal in validate_release(a_release(**fields))] == ["listing"]


@pytest.mark.parametrize("fields", [{}, {"release_notes_url": ""}, {"name": "a" * 200}])
def test_a_release_row_within_the_rules_is_not_refused(fields: Mapping[str, Any]) -> None:
    assert validate_release(a_release(**fields)) == ()


# --- Plans --------------------------------------------------------------------------------------------------


def test_new_rows_come_with_their_systems_button_last() -> None:
    wanted = (a_row("a", button=True), a_row("b"), a_row("c", os="macos", button=True), a_row("d"))

    changes = plan_rows(wanted, ())

    created = [change.row for change in changes if isinstance(change, CreateFile)]
    assert [row.button for row in created] == [False, False, True, True]
    assert {row.url for row in created} == {row.url for row in wanted}


def test_what_is_there_already_needs_nothing() -> None:
    wanted = (a_row("a", button=True), a_row("b"))

    assert plan_rows(wanted, found_files(*wanted)) == []


def test_one_difference_is_one_update() -> None:
    before, after = a_row("a"), a_row("a", sha256="b" * 64)

    assert plan_rows((after,), found_files(before)) == [UpdateFile(DRAFT, 1, before, after)]


def test_a_row_whose_file_is_elsewhere_is_found_by_its_slug() -> None:
    url = "http://www.python.org/ftp/python/3.14.0/a"
    before, after = a_row("a", url=url), a_row("a", sidecars={".sig": PREFIX + "a.sig"})

    assert plan_rows((after,), found_files(before)) == [UpdateFile(DRAFT, 1, before, after)]


def test_stale_rows_go_last() -> None:
    stale, wanted = a_row("old"), a_row("new")

    assert plan_rows((wanted,), found_files(stale)) == [
        CreateFile(DRAFT, wanted, beside_button=False),
        DeleteFile(DRAFT, 1, stale),
    ]


def test_a_button_moves_by_two_updates_the_old_one_first() -> None:
    found = found_files(a_row("a"), a_row("b", button=True))

    changes = plan_rows((a_row("a", button=True), a_row("b")), found, found_release(is_published=True))

    assert [(c.id, c.after.button) for c in changes if isinstance(c, UpdateFile)] == [(2, False), (1, True)]


def test_a_drafts_button_is_lent_while_a_row_is_added() -> None:
    button, new = a_row("a", button=True), a_row("b")
    lent = replace(button, button=False)

    assert plan_rows((button, new), found_files(button)) == [
        UpdateFile(DRAFT, 1, button, lent),
        CreateFile(DRAFT, new, beside_button=False),
        UpdateFile(DRAFT, 1, lent, button),
    ]


def test_a_public_button_stays_while_a_row_is_added_beside_it() -> None:
    button, new = a_row("a", button=True), a_row("b")

    changes = plan_rows((button, new), found_files(button), found_release(is_published=True))

    assert changes == [CreateFile(DRAFT, new, beside_button=True)]


def test_a_public_button_passes_to_a_new_row_only_when_that_is_there() -> None:
    old, new = a_row("old", button=True), a_row("new", button=True)
    waiting = replace(new, button=False)

    changes = plan_rows((new,), found_files(old), found_release(is_published=True))

    assert changes == [
        CreateFile(DRAFT, waiting, beside_button=True),
        UpdateFile(DRAFT, 1, old, replace(old, button=False)),
        UpdateFile(DRAFT, None, waiting, new),
        DeleteFile(DRAFT, 1, replace(old, button=False)),
    ]


def test_slugs_that_changed_places_pass_through_another_one() -> None:
    found = found_files(a_row("a", slug="x"), a_row("b", slug="y"))

    changes = plan_rows((a_row("a", slug="y"), a_row("b", slug="x")), found)

    assert [(c.id, c.after.slug) for c in changes if isinstance(c, UpdateFile)] == [
        (2, "moved-2"),
        (1, "y"),
        (2, "x"),
    ]


def test_a_passing_slug_is_nobody_elses() -> None:
    found = found_files(a_row("a", slug="x"), a_row("b", slug="moved-2"))

    changes = plan_rows((a_row("a", slug="moved-2"), a_row("b", slug="x")), found)

    assert [c.after.slug for c in changes if isinstance(c, UpdateFile)] == ["moved-2-", "moved-2", "x"]


def test_a_row_of_another_release_is_an_error() -> None:
    with pytest.raises(ValueError, match="another release"):
        plan_listing((a_row(),), [FoundFile(1, DRAFT + 1, a_row())], found_release(), a_release())


def test_the_flags_are_one_change_after_all_others() -> None:
    *files, last = plan_listing((a_row("new"),), found_files(a_row("old")), found_release(), a_release())

    assert len(files) == 2
    assert isinstance(last, UpdateRelease)
    assert (last.after.is_published, last.after.is_latest) == (True, True)
    assert replace(last.after, is_published=False, is_latest=False) == last.before


def test_a_release_that_is_as_wanted_is_left_alone() -> None:
    release = found_release(is_published=True, is_latest=True)

    assert plan_listing((a_row(),), found_files(a_row()), release, a_release()) == ()


def test_a_release_keeps_its_date_notes_and_place_once_it_is_public() -> None:
    kept = {
        "is_published": True,
        "is_latest": True,
        "release_date": WHEN.replace(year=2024),
        "release_notes_url": "https://docs.python.org/elsewhere",
        "show_on_download_page": False,
    }

    assert plan_listing((a_row(),), found_files(a_row()), found_release(**kept), a_release()) == ()


def test_a_drafts_date_is_given_when_it_becomes_public_and_its_slips_are_corrected() -> None:
    draft = found_release(
        name="Python  3.14.0", version=2, pre_release=True, release_date=WHEN.replace(year=2024)
    )

    [change] = plan_listing((a_row(),), found_files(a_row()), draft, a_release())

    assert change == UpdateRelease(DRAFT, draft.row, a_release())


def test_a_public_release_is_not_hidden_and_a_hidden_one_is_not_the_latest() -> None:
    public, hidden = found_release(is_published=True), found_release()
    wanted = a_release(is_published=False, is_latest=True)

    [kept] = plan_listing((a_row(),), found_files(a_row()), public, wanted)

    assert isinstance(kept, UpdateRelease)
    assert kept.after.is_published
    assert plan_listing((a_row(),), found_files(a_row()), hidden, wanted) == ()


def test_a_release_that_is_no_longer_the_highest_loses_the_flag() -> None:
    release = found_release(is_published=True, is_latest=True)

    [change] = plan_listing((a_row(),), found_files(a_row()), release, a_release(is_latest=False))

    assert isinstance(change, UpdateRelease)
    assert (change.after.is_published, change.after.is_latest) == (True, False)


def test_a_release_is_created_without_flags() -> None:
    row = create_release(a_release()).row

    assert (row.is_published, row.is_latest) == (False, False)
    assert replace(row, is_published=True, is_latest=True) == a_release()


def test_renewing_a_release_changes_nothing() -> None:
    change = renew_release(found_release())

    assert change.before == change.after == found_release().row


# --- Any rows there, any rows wanted ------------------------------------------------------------------------


class Server:
    """The rules of the server for the rows of one release; every breach is an error."""

    def __init__(self, found: tuple[FoundFile, ...], *, is_published: bool) -> None:
        self.rows = {file.id: file.row for file in found}
        self.is_published = is_published
        self.top = max([0, *self.rows])

    def found(self) -> tuple[FoundFile, ...]:
        return tuple(FoundFile(number, DRAFT, row) for number, row in self.rows.items())

    def release(self) -> FoundRelease:
        return found_release(is_published=self.is_published, is_latest=True)

    def apply(self, change: Change) -> None:
        if isinstance(change, CreateFile):
            has_button = any(row.button for row in self.rows.values() if row.os == change.row.os)
            assert change.beside_button is has_button
            assert self.is_published or not has_button
            self.top += 1
            self._save(self.top, change.row)
        elif isinstance(change, UpdateFile):
            by_slug = {row.slug: number for number, row in self.rows.items()}
            number = change.id or by_slug[change.before.slug]
            assert self.rows[number] == change.before != change.after
            if change.before.os != change.after.os:
                assert not self._has_button(change.after.os, number)
            self._save(number, change.after)
        else:
            assert isinstance(change, DeleteFile)
            assert self.rows.pop(change.id) == change.row

    def _save(self, number: int, row: FileRow) -> None:
        others = [other for n, other in self.rows.items() if n != number]
        assert row.slug not in {other.slug for other in others}
        assert row.url not in {other.url for other in others}
        assert not (row.button and self._has_button(row.os, number))
        self.rows[number] = row

    def _has_button(self, system: str, but: int) -> bool:
        return any(row.button for number, row in self.rows.items() if row.os == system and number != but)


@st.composite
def row_sets(draw: st.DrawFn, *, least: int) -> tuple[FileRow, ...]:
    files = draw(st.lists(st.sampled_from("abcdef"), unique=True, min_size=least))
    names = ["1", "2", "3", "4", "5", "6", "moved-1", "moved-2"]
    slugs = draw(st.permutations(names)) if draw(st.booleans()) else names
    taken: set[str] = set()
    rows: list[FileRow] = []
    for file, slug in zip(files, slugs, strict=False):
        os = draw(st.sampled_from(["windows", "macos"]))
        button = os not in taken and draw(st.booleans())
        taken |= {os} if button else set()
        digest = draw(st.sampled_from(["a" * 64, "b" * 64]))
        rows.append(a_row(file, slug=slug, os=os, button=button, sha256=digest))
    return tuple(rows)


@settings(max_examples=200, deadline=None)
@given(row_sets(least=1), row_sets(least=0), st.booleans())
def test_every_plan_is_within_the_rules_and_ends_at_the_wanted_rows_wherever_it_is_cut(
    wanted: tuple[FileRow, ...], there: tuple[FileRow, ...], is_published: bool
) -> None:
    server = Server(found_files(*there), is_published=is_published)
    plan = plan_rows(wanted, server.found(), server.release())
    for change in plan:
        server.apply(change)
        rest = Server(server.found(), is_published=is_published)
        for late in plan_rows(wanted, rest.found(), rest.release()):
            rest.apply(late)
        assert sorted(rest.rows.values(), key=lambda row: row.url) == sorted(wanted, key=lambda row: row.url)

    assert plan_rows(wanted, server.found(), server.release()) == []
    assert sorted(server.rows.values(), key=lambda row: row.url) == sorted(wanted, key=lambda row: row.url)


@settings(max_examples=200, deadline=None)
@given(row_sets(least=1), row_sets(least=0), st.booleans())
def test_no_plan_deletes_before_everything_wanted_stands(
    wanted: tuple[FileRow, ...], there: tuple[FileRow, ...], is_published: bool
) -> None:
    server = Server(found_files(*there), is_published=is_published)
    plan = plan_rows(wanted, server.found(), server.release())

    kinds = [isinstance(change, DeleteFile) for change in plan]
    assert kinds == sorted(kinds)
    assert len(plan) <= len(there) + 4 * len(wanted)


@settings(max_examples=200, deadline=None)
@given(row_sets(least=1), row_sets(least=0))
def test_no_public_button_is_off_while_a_row_is_added(
    wanted: tuple[FileRow, ...], there: tuple[FileRow, ...]
) -> None:
    server = Server(found_files(*there), is_published=True)
    buttons = {row.os for row in there if row.button}
    for change in plan_rows(wanted, server.found(), server.release()):
        server.apply(change)
        if isinstance(change, CreateFile) and change.row.os in buttons:
            assert change.beside_button
