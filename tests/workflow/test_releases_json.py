"""Rows in releases.json: one swap for each change, and whatever cuts or crosses them, the same rows."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from publisher.core.contents import list_contents
from publisher.core.listing import FileRow, FoundFile, FoundRelease, ReleaseRow
from publisher.core.listing_changes import (
    Change,
    CreateFile,
    CreateRelease,
    DeleteFile,
    UpdateFile,
    UpdateRelease,
    renew_release,
)
from publisher.core.profile import Delivery
from publisher.errors import ListingError, ListingUnknownError, StoreError
from publisher.workflow.listing import Listed, Lister, read_public
from publisher.workflow.releases_json import ReleasesJson
from tests.support.fakes import FakeVersion
from tests.support.site import PROFILE, Site

KEY = "tool/releases.json"
WHEN = datetime(2026, 6, 1, 12, tzinfo=UTC)
# The names of today, which a test lists over those of old.
LISTED = (
    PROFILE.replace(rb"(?P<series>\d+\.\d+)\.\d+", rb"(?P<series>(?P<a>\d+)\.(?P<b>\d+))\.(?P<c>\d+)")
    .replace(b'.org/"', b'.org/"\nkey_prefix = "tool/"')
    .replace(
        b'role = "linux"\n', b'role = "linux"\nrow = { name = "Source", os = "source", button = true }\n'
    )
    .replace(b'role = "mac"\n', b'role = "mac"\nrow = { name = "Installer", os = "macos", button = true }\n')
    + b"""
[[artifact]]
key = "tool/{release}/guide-{release}.pdf"
role = "linux"
optional = "all"
row = { name = "Guide", os = "source" }

[listing]
slug = ["{a}{b}{c}", "{row}"]
release_name = "Tool {release}"
release_slug = "tool-{a}{b}{c}"
systems = { source = "Source", macos = "macOS" }
"""
)
# A row has the slug that another is to have, the button is another's, a system has none, and one is too many.
OF_OLD = (
    LISTED.replace(b'name = "Guide", os = "source"', b'name = "Manual", os = "source", button = true')
    .replace(b'name = "Source", os = "source", button = true', b'name = "Guide", os = "source"')
    .replace(b'name = "Installer", os = "macos"', b'name = "Installer", os = "source"')
    .replace(b"button = true }\n\n[listing]", b"button = false }\n\n[listing]")
    + b"""
[[artifact]]
key = "tool/{release}/notes-{release}.txt"
role = "linux"
optional = "all"
row = { name = "Notes", os = "source" }
"""
)


class CrashError(BaseException):
    """The process is gone."""


def a_site(text: bytes = LISTED) -> Site:
    return Site(profile_text=text)


def publish(site: Site, name: str = "1.2.3", *suffixes: str) -> None:
    """Make a release public, as promotions leave it."""
    for suffix in (".tgz", ".pkg", *suffixes):
        key = f"tool/{name}/tool-{name}{suffix}"
        site.s3.public.store(key, f"{name} {suffix}".encode())


def publish_guide(site: Site, name: str = "1.2.3") -> str:
    key = f"tool/{name}/guide-{name}.pdf"
    site.s3.public.store(key, b"guide")
    return key


def open_db(site: Site) -> ReleasesJson:
    world = site.world()
    return ReleasesJson(world.public, world.profile)


def a_lister(site: Site, name: str = "1.2.3") -> tuple[Lister, Callable[..., Listed]]:
    world = site.world()
    release = world.profile.parse_release(name)
    assert release is not None
    assert world.profile.listing is not None
    contents = list_contents(world.profile, release)
    lister = Lister(world, open_db(site), contents, world.profile.listing, when=WHEN)

    def run(*, create: bool = True) -> Listed:
        return lister.list_files(read_public(world, contents), lambda: None, create=create)

    return lister, run


def list_release(site: Site, name: str = "1.2.3", *, create: bool = True) -> Listed:
    return a_lister(site, name)[1](create=create)


def slug_of(name: str) -> str:
    return f"tool-{name.replace('.', '')}"


def find_rows(site: Site, name: str = "1.2.3") -> tuple[ReleaseRow, dict[str, FileRow]]:
    """Read a release's rows, the files' by their slugs; ids are nobody's business."""
    found = open_db(site).find_release(slug_of(name))
    assert found is not None
    files = open_db(site).read_files(found.id)
    rows = {file.row.slug: file.row for file in files}
    assert len(rows) == len(files), "a slug is there twice"
    return found.row, rows


def stored(site: Site) -> FakeVersion:
    found = site.s3.public.current(KEY)
    assert found is not None
    return found


def written(site: Site) -> int:
    """Count the versions of the file, which are the writes that were made of it."""
    return len(site.s3.public.versions.get(KEY, []))


def a_release(name: str = "1.2.3", **fields: Any) -> ReleaseRow:
    row = ReleaseRow(f"Tool {name}", slug_of(name), 1, False, False, False, WHEN, "", True)
    return replace(row, **fields)


def a_row(slug: str = "a", **fields: Any) -> FileRow:
    url = f"https://dl.example.org/1.2.3/{slug}"
    return replace(FileRow(slug, slug, "source", url, "", False, "a" * 64, 5, False, {}), **fields)


def a_db(*changes: Change) -> tuple[Site, ReleasesJson]:
    """Make a database with two releases, the first of which has two rows, and change it."""
    site = a_site()
    db = open_db(site)
    made = (
        CreateRelease(a_release()),
        CreateRelease(a_release("1.2.4")),
        CreateFile(1, a_row("a"), beside_button=False),
        CreateFile(1, a_row("b"), beside_button=False),
    )
    for change in (*made, *changes):
        db.apply(change)
    return site, db


def at_write(site: Site, number: int, act: Callable[[], None]) -> None:
    """Let something happen just before a write of the file, counted from the next one on."""
    count = iter(range(number + 1))

    def before(request: str, key: str) -> None:
        if key == KEY and request in {"create", "replace"} and next(count, None) == number:
            act()

    site.s3.before = before


def undisturbed(request: str, key: str) -> None:
    """Let nothing happen before a request."""


def crash() -> None:
    raise CrashError


# --- What is there ---------------------------------------------------------------------------------------


def test_a_bucket_without_the_file_has_no_rows() -> None:
    db = open_db(a_site())

    assert (db.find_release("tool-123"), db.find_file("a")) == (None, None)
    assert (db.list_releases(1), db.read_files(1)) == ((), ())


def test_rows_are_found_by_slug_family_and_release() -> None:
    _, db = a_db()
    first, second = FoundRelease(1, a_release()), FoundRelease(2, a_release("1.2.4"))

    assert (db.find_release("tool-124"), db.find_release("tool-125")) == (second, None)
    assert (db.list_releases(1), db.list_releases(2)) == ((first, second), ())
    assert [file.row.slug for file in db.read_files(1)] == ["a", "b"]
    assert db.read_files(2) == ()
    assert (db.find_file("b"), db.find_file("c")) == (FoundFile(2, 1, a_row("b")), None)


def test_the_operating_systems_are_those_of_the_profile() -> None:
    assert set(open_db(a_site()).read_systems()) == {"source", "macos"}
    assert set(open_db(a_site(PROFILE)).read_systems()) == set()


def test_asking_writes_nothing() -> None:
    site = a_site()
    publish(site)
    db = open_db(site)
    db.check_access()
    planned = a_lister(site)[0].plan(())

    assert CreateRelease in map(type, planned.changes)
    assert written(site) == 0


def test_the_file_is_served_as_json_that_is_soon_looked_at_again() -> None:
    site, db = a_db()
    db.apply(CreateRelease(a_release("1.2.5")))

    for version in site.s3.public.versions[KEY]:
        assert version.delivery == Delivery("application/json", "listing", "public, max-age=60")
    assert list(site.s3.public.versions) == [KEY]


@pytest.mark.parametrize("data", [b"", b"<html>", b'{"schema": 2, "releases": [], "files": []}'])
def test_a_file_that_is_something_else_is_never_written_over(data: bytes) -> None:
    site = a_site()
    publish(site)
    site.s3.public.store(KEY, data)

    with pytest.raises(StoreError, match=r"^tool/releases\.json is not a valid releasesfile"):
        list_release(site)
    with pytest.raises(StoreError, match=r"^tool/releases\.json is not a valid releasesfile"):
        open_db(site).apply(CreateRelease(a_release()))
    assert stored(site).data == data


# --- Changes ---------------------------------------------------------------------------------------------


def test_a_release_is_created_with_an_id_of_its_own() -> None:
    _, db = a_db(CreateRelease(a_release("1.2.5")))

    assert [(found.id, found.row.slug) for found in db.list_releases(1)] == [
        (1, "tool-123"),
        (2, "tool-124"),
        (3, "tool-125"),
    ]


def test_a_file_is_created_with_an_id_of_its_own_whichever_release_it_is_of() -> None:
    _, db = a_db(CreateFile(2, a_row("c"), beside_button=True))

    assert db.read_files(2) == (FoundFile(3, 2, a_row("c")),)
    assert len(db.read_files(1)) == 2


@pytest.mark.parametrize("number", [2, None], ids=["by its id", "by its slug"])
def test_a_file_is_updated_and_no_other(number: int | None) -> None:
    after = a_row("bb", name="B", button=True)
    _, db = a_db(UpdateFile(1, number, a_row("b"), after))

    assert db.read_files(1) == (FoundFile(1, 1, a_row("a")), FoundFile(2, 1, after))


def test_a_file_is_the_same_by_its_id_whatever_its_slug_is_by_now() -> None:
    _, db = a_db(UpdateFile(1, 2, a_row("renamed meanwhile"), a_row("c")))

    assert db.read_files(1) == (FoundFile(1, 1, a_row("a")), FoundFile(2, 1, a_row("c")))


def test_a_file_to_be_updated_by_its_slug_has_to_be_there_and_of_that_release() -> None:
    site, db = a_db()
    before = stored(site)

    for change in (
        UpdateFile(1, None, a_row("c"), a_row("d")),
        UpdateFile(2, None, a_row("a"), a_row("d")),
    ):
        with pytest.raises(ListingError, match=r"^the row \w is gone$") as caught:
            db.apply(change)
        assert not isinstance(caught.value, ListingUnknownError)
    assert stored(site) == before


def test_a_file_is_deleted_and_one_that_is_gone_is_no_error() -> None:
    _, db = a_db(DeleteFile(1, 1, a_row("a")), DeleteFile(1, 1, a_row("a")), DeleteFile(1, 9, a_row("z")))

    assert [(file.id, file.row.slug) for file in db.read_files(1)] == [(2, "b")]


def test_a_release_is_updated_and_no_other() -> None:
    after = a_release("1.2.4", is_published=True, release_notes_url="https://docs.example.org/")
    _, db = a_db(UpdateRelease(2, a_release("1.2.4"), after))

    assert db.list_releases(1) == (FoundRelease(1, a_release()), FoundRelease(2, after))


def test_one_release_of_a_family_is_the_latest_and_other_families_have_their_own() -> None:
    def latest(row: ReleaseRow) -> ReleaseRow:
        return replace(row, is_published=True, is_latest=True)

    first, second, other = a_release(), a_release("1.2.4"), a_release("2.0.0", version=2)
    site, db = a_db(
        CreateRelease(other), UpdateRelease(3, other, latest(other)), UpdateRelease(1, first, latest(first))
    )
    of_all = [*db.list_releases(1), *db.list_releases(2)]
    assert [found.row.is_latest for found in of_all] == [True, False, True]

    db.apply(UpdateRelease(2, second, latest(second)))

    of_all = [*open_db(site).list_releases(1), *open_db(site).list_releases(2)]
    assert [found.row.is_latest for found in of_all] == [False, True, True]
    assert of_all[0].row.is_published

    db.apply(UpdateRelease(1, of_all[0].row, first))

    assert [found.row.is_latest for found in db.list_releases(1)] == [False, True]


def test_a_renewed_release_stays_as_it_is() -> None:
    site, db = a_db()
    before = stored(site).data
    found = db.find_release("tool-123")
    assert found is not None
    db.apply(renew_release(found))

    assert stored(site).data == before


@pytest.mark.parametrize(
    "change",
    [CreateRelease(a_release()), CreateFile(2, a_row("a"), beside_button=False)],
    ids=["release", "file"],
)
def test_a_slug_that_was_taken_meanwhile_is_looked_at_and_not_created_again(change: Change) -> None:
    site, db = a_db()
    before = stored(site)

    with pytest.raises(ListingUnknownError, match=r"^a row [\w-]+ was created meanwhile$"):
        db.apply(change)
    assert stored(site) == before


# --- Other writers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [True, False], ids=["its first version", "a later one"])
def test_a_write_that_somebody_else_came_before_is_not_made(first: bool) -> None:
    site, db = (a_site(), None) if first else a_db()
    mine = db or open_db(site)
    theirs = CreateRelease(a_release("1.2.8"))
    at_write(site, 0, lambda: open_db(site).apply(theirs))

    with pytest.raises(ListingUnknownError, match=r"^tool/releases\.json was written meanwhile$") as caught:
        mine.apply(CreateRelease(a_release("1.2.9")))
    assert caught.value.next_step == "run again"
    assert mine.find_release("tool-129") is None
    assert mine.find_release("tool-128") is not None
    mine.apply(CreateRelease(a_release("1.2.9")))
    assert mine.find_release("tool-129") is not None


@pytest.mark.parametrize("first", [True, False], ids=["its first version", "a later one"])
def test_a_write_whose_answer_was_lost_is_unknown_though_it_was_made(first: bool) -> None:
    site, db = (a_site(), None) if first else a_db()
    mine = db or open_db(site)
    site.s3.lose_answer_of = len(site.s3.writes)

    with pytest.raises(ListingUnknownError):
        mine.apply(CreateRelease(a_release("1.2.9")))
    assert mine.find_release("tool-129") is not None


# --- The lister ------------------------------------------------------------------------------------------


def clean() -> tuple[ReleaseRow, Mapping[str, FileRow]]:
    """Give the rows of a listing that nothing disturbed."""
    site = prepare(LISTED)
    list_release(site)
    return find_rows(site)


def prepare(text: bytes) -> Site:
    """Publish a release, and list it as `text` has it, unless that is how it is listed today."""
    site = a_site(text)
    publish(site, "1.2.3", ".tgz.spdx.json")
    notes = "tool/1.2.3/notes-1.2.3.txt"
    site.s3.public.store(notes, b"notes")
    if text != LISTED:
        list_release(site)
        assert {"123-Guide", "123-Notes"} < find_rows(site)[1].keys()
    publish_guide(site)
    site.s3.public.store(notes, None)
    site.profile_text = LISTED
    return site


def test_a_release_is_listed_with_its_files_and_their_sidecars_and_then_nothing_is_left() -> None:
    site = a_site()
    publish(site, "1.2.3", ".tgz.spdx.json")
    listed = list_release(site)
    release, rows = find_rows(site)

    assert release == a_release(is_published=True, is_latest=True)
    assert rows.keys() == {"123-Source", "123-Installer"}
    url = "https://dl.example.org/1.2.3/tool-1.2.3.tgz"
    assert (rows["123-Source"].url, rows["123-Source"].is_source) == (url, True)
    assert rows["123-Source"].sidecars == {".spdx.json": f"{url}.spdx.json"}
    assert rows["123-Source"].sha256 == site.s3.public.digests()["tool/1.2.3/tool-1.2.3.tgz"]
    assert (listed.rows, len(listed.changes)) == (2, written(site))
    assert list_release(site).changes == ()
    assert len(listed.changes) == written(site)


def test_a_release_that_is_not_there_is_created_only_if_that_is_asked_for() -> None:
    site = a_site()
    publish(site)

    with pytest.raises(ListingError, match="no such release in the database"):
        list_release(site, create=False)
    assert written(site) == 0
    list_release(site)
    assert list_release(site, create=False).changes == ()


def test_a_late_file_gets_its_row_and_one_that_is_gone_loses_it() -> None:
    site = a_site()
    publish(site)
    list_release(site)
    key = publish_guide(site)

    assert [type(change) for change in list_release(site).changes] == [CreateFile]
    assert "123-Guide" in find_rows(site)[1]
    site.s3.public.store(key, None)
    assert [type(change) for change in list_release(site).changes] == [DeleteFile]
    assert "123-Guide" not in find_rows(site)[1]


def test_a_later_release_is_the_latest_then() -> None:
    site = a_site()
    for name in ("1.2.3", "1.2.4"):
        publish(site, name)
        list_release(site, name)

    assert [find_rows(site, name)[0].is_latest for name in ("1.2.3", "1.2.4")] == [False, True]
    assert list_release(site).changes == ()


def test_rows_of_another_time_become_those_of_today() -> None:
    site = prepare(OF_OLD)
    kinds = {type(change) for change in list_release(site).changes}

    assert kinds == {CreateFile, UpdateFile, DeleteFile}
    assert find_rows(site) == clean()
    assert find_rows(site)[1].keys() == {"123-Source", "123-Installer", "123-Guide"}


WAYS = pytest.mark.parametrize("text", [LISTED, OF_OLD], ids=["from nothing", "from rows of old"])


def count_writes(text: bytes) -> int:
    site = prepare(text)
    before = written(site)
    list_release(site)
    return written(site) - before


@WAYS
def test_a_listing_that_died_before_any_write_comes_to_the_same_rows(text: bytes) -> None:
    total = count_writes(text)
    assert total >= 4
    for number in range(total):
        site = prepare(text)
        at_write(site, number, crash)
        with pytest.raises(CrashError):
            list_release(site)
        site.s3.before = undisturbed
        list_release(site)
        assert find_rows(site) == clean(), number
        assert list_release(site).changes == ()


@WAYS
def test_a_listing_whose_answers_are_lost_comes_to_the_same_rows(text: bytes) -> None:
    for number in range(count_writes(text)):
        site = prepare(text)
        site.s3.lose_answer_of = len(site.s3.writes) + number
        list_release(site)
        assert find_rows(site) == clean(), number
        assert [warning.partition(";")[0] for warning in site.observer.warnings] == [
            "tool/releases.json was written meanwhile"
        ]
        assert list_release(site).changes == ()


@WAYS
@pytest.mark.parametrize("other", ["1.2.3", "1.2.4"], ids=["the same release", "another release"])
def test_another_promoters_listing_in_between_takes_nothing_away(text: bytes, other: str) -> None:
    for number in range(count_writes(text)):
        site = prepare(text)
        publish(site, other)
        at_write(site, number, lambda site=site: _list_once(site, other))
        list_release(site)
        site.s3.before = undisturbed
        assert find_rows(site)[1] == clean()[1], number
        assert len(open_db(site).list_releases(1)) == len({"1.2.3", other})
        for name in ("1.2.3", other):
            list_release(site, name)
        rows = [find_rows(site, name)[0] for name in ("1.2.3", other)]
        assert rows[-1].is_latest
        assert all(row.is_published for row in rows)
        assert [list_release(site, name).changes for name in ("1.2.3", other)] == [(), ()]


def _list_once(site: Site, name: str) -> None:
    """Let another promoter list a release to its end, undisturbed."""
    before = site.s3.before
    site.s3.before = undisturbed
    list_release(site, name)
    site.s3.before = before
