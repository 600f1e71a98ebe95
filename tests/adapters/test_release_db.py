"""The release database: each trap of its API, met through the client, and runs that stop anywhere."""

import logging
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import pytest

from publisher.adapters.http import Answer, Http, Limits
from publisher.adapters.release_db import ReleaseDb
from publisher.core.listing import FileRow, FoundFile, FoundRelease, ReleaseRow
from publisher.core.listing_changes import (
    Change,
    CreateFile,
    DeleteFile,
    UpdateFile,
    UpdateRelease,
    create_release,
    renew_release,
)
from publisher.core.listing_plan import plan_listing
from publisher.errors import ListingError, ListingUnknownError
from sandbox.ministack import reserve_port
from sandbox.release_db import Fault, ReleaseDbServer, User, run_release_db
from tests.support.release_db import (
    KEY,
    LIMITS,
    TOKEN,
    list_release,
    make_release,
    make_rows,
    open_db,
    read_rows,
)

API_KEY = f"rm:{KEY}"
GUEST = User("guest", "a" * 40, "guest-key", is_staff=False)
GONE = User("gone", "b" * 40, "gone-key", is_active=False)
NAME = "3.14.0b3"
SLUG = "python-3140b3"
FINAL_SLUG = "python-3140"


class CrashError(Exception):
    """The publisher died here."""


class BentHttp(Http):
    """A session whose requests and answers can be bent on the way."""

    def __init__(self) -> None:
        super().__init__("publisher-tests", limits=LIMITS, sleep=lambda _: None)
        self.before: Callable[[], None] = lambda: None
        self.after: Callable[[Answer], Answer] = lambda answer: answer
        self.bend_path: Callable[[str], str] = lambda url: url
        self.drops_filters = False

    def request(self, method: str, url: str, **options: Any) -> Answer:
        self.before()
        if self.drops_filters:
            options["params"] = {}
        return self.after(super().request(method, self.bend_path(url), **options))


@pytest.fixture
def server() -> Generator[ReleaseDbServer]:
    with run_release_db(token=TOKEN, key=KEY, others=(GUEST, GONE)) as server:
        yield server
        # Whatever a test did: nothing may ever try this.
        deleted = [entry.path for entry in server.log if entry.method == "DELETE"]
        assert all("/release_file/" in path for path in deleted)


@pytest.fixture
def db(server: ReleaseDbServer) -> ReleaseDb:
    return open_db(server)


def add_draft(db: ReleaseDb, name: str = NAME) -> FoundRelease:
    row = make_release(name)
    db.apply(create_release(row))
    found = db.find_release(row.slug)
    assert found is not None
    return found


def publish(db: ReleaseDb, name: str = NAME) -> tuple[FoundRelease, tuple[FoundFile, ...]]:
    """List a release, all of it."""
    found = list_release(db, make_rows(name), make_release(name))
    return found, db.read_files(found.id)


def find(files: tuple[FoundFile, ...], suffix: str) -> FoundFile:
    return next(file for file in files if file.row.url.endswith(suffix))


def update(file: FoundFile, **fields: Any) -> UpdateFile:
    return UpdateFile(file.release, file.id, file.row, replace(file.row, **fields))


def is_listed(db: ReleaseDb, wanted: tuple[FileRow, ...], slug: str) -> bool:
    found = db.find_release(slug)
    assert found is not None
    rows = {file.row.url: file.row for file in db.read_files(found.id)}
    return rows == {row.url: row for row in wanted}


# --- A run --------------------------------------------------------------------------------------------------


def test_a_fresh_release_is_listed_its_buttons_last_and_its_flags_after_everything(
    server: ReleaseDbServer, db: ReleaseDb
) -> None:
    found = list_release(db, make_rows(NAME), make_release(NAME))

    assert is_listed(db, make_rows(NAME), SLUG)
    assert found.row == make_release(NAME)
    first, *rows, last = [(entry.method, entry.path) for entry in server.writes()]
    assert first == ("POST", "/api/v2/downloads/release/")
    assert rows == [("POST", "/api/v2/downloads/release_file/")] * 13
    assert last == ("PATCH", f"/api/v2/downloads/release/{found.id}/")
    # Nothing was purged before the flags: a file write to a public release costs three calls.
    assert server.tables.purges == [
        "downloads",
        "/ftp/python/",
        "/ftp/python/3.14.0/",
        "/box/supernav-python-downloads/",
        "/box/homepage-downloads/",
        "/box/download-sources/",
    ]


def test_a_second_run_writes_nothing(server: ReleaseDbServer, db: ReleaseDb) -> None:
    publish(db)
    before = len(server.log)

    list_release(open_db(server), make_rows(NAME), make_release(NAME))

    assert [entry.method for entry in server.log[before:]] == ["OPTIONS", "GET", "GET", "GET"]


def test_what_differs_and_nothing_else_is_sent(server: ReleaseDbServer, db: ReleaseDb) -> None:
    publish(db)
    before = len(server.writes())
    changed = make_rows(NAME)
    changed = (replace(changed[0], size=5), *changed[1:])

    list_release(db, changed, make_release(NAME))

    assert [entry.body for entry in server.writes()[before:]] == ['{"filesize": 5}']


def test_a_final_leaves_its_candidates_and_other_releases_alone(
    server: ReleaseDbServer, db: ReleaseDb
) -> None:
    publish(db, "3.14.0rc1")
    publish(db, "3.14.0rc2")
    server.add_release("Python 3.13.9", "python-3139", is_published=True, is_latest=True)
    rows = {slug: read_rows(server, slug) for slug in ("python-3140rc1", "python-3140rc2")}
    before = len(server.writes())

    publish(db, "3.14.0")

    assert {slug: read_rows(server, slug) for slug in rows} == rows
    assert all(len(found) == 13 for found in rows.values())
    assert is_listed(db, make_rows("3.14.0"), FINAL_SLUG)
    assert all(entry.method == "POST" for entry in server.writes()[before:-1])
    found = {row["slug"]: row for row in server.tables.releases.values()}
    assert [slug for slug, row in found.items() if row["is_latest"]] == [FINAL_SLUG]
    assert found["python-3140rc1"]["is_published"]


def test_an_older_series_does_not_become_the_latest(server: ReleaseDbServer, db: ReleaseDb) -> None:
    publish(db, "3.14.0")

    row = make_release("3.13.9", db.list_releases(3))
    list_release(db, make_rows("3.13.9"), row)

    latest = [row["slug"] for row in server.tables.releases.values() if row["is_latest"]]
    assert latest == [FINAL_SLUG]


def test_late_rows_join_a_public_release_beside_its_button(server: ReleaseDbServer) -> None:
    db = open_db(server, api_key=API_KEY)
    wanted = make_rows(NAME)
    late = {row.url for row in wanted if row.url.endswith(("-arm64.exe", "-embed-arm64.zip"))}
    list_release(db, tuple(row for row in wanted if row.url not in late), make_release(NAME))
    before = len(server.writes())

    list_release(db, wanted, make_release(NAME))

    assert is_listed(db, wanted, SLUG)
    assert [(entry.method, entry.path) for entry in server.writes()[before:]] == [
        ("POST", "/api/v1/downloads/release_file/")
    ] * 2


def test_a_public_button_passes_to_a_late_row(server: ReleaseDbServer) -> None:
    db = open_db(server, api_key=API_KEY)
    wanted = make_rows(NAME)
    button = next(row for row in wanted if row.url.endswith("-amd64.exe"))
    others = tuple(replace(row, button=row.url.endswith("b3.exe")) for row in wanted if row != button)
    list_release(db, others, make_release(NAME))

    list_release(db, wanted, make_release(NAME))

    assert is_listed(db, wanted, SLUG)


# --- Who is asking ------------------------------------------------------------------------------------------


def test_staff_is_checked_before_anything_is_read(server: ReleaseDbServer, db: ReleaseDb) -> None:
    db.find_release(SLUG)

    assert [entry.method for entry in server.log] == ["OPTIONS", "GET", "GET"]


@pytest.mark.parametrize(
    ("token", "message", "cure"),
    [
        ("c" * 40, "Invalid token.", "fresh token"),
        (GONE.token, "User inactive or deleted.", "switched off"),
        (GUEST.token, "does not take the token's user for staff", "make the token's user staff"),
    ],
)
def test_a_token_that_is_wrong_over_or_not_staffs_is_told_apart_before_drafts_look_absent(
    server: ReleaseDbServer, token: str, message: str, cure: str
) -> None:
    server.add_release("Python 3.14.0b3", SLUG)

    with pytest.raises(ListingError, match=message) as caught:
        open_db(server, token=token).find_release(SLUG)

    assert cure in caught.value.next_step
    assert {entry.method for entry in server.log} == {"OPTIONS"}
    assert open_db(server).find_release(SLUG) is not None


def test_a_token_that_is_no_longer_staffs_is_refused_at_the_write(
    server: ReleaseDbServer, db: ReleaseDb
) -> None:
    found = add_draft(db)
    server.users[0] = replace(server.users[0], is_staff=False)

    with pytest.raises(ListingError, match="permission") as caught:
        db.apply(renew_release(found))

    assert not isinstance(caught.value, ListingUnknownError)
    assert "staff" in caught.value.next_step


@pytest.mark.parametrize("key", ["rm:other", f"RM:{KEY}", f"{GUEST.name}:{GUEST.key}"])
def test_an_api_key_that_is_wrong_or_not_staffs_is_refused_at_once(server: ReleaseDbServer, key: str) -> None:
    with pytest.raises(ListingError, match="API key"):
        open_db(server, api_key=key).check_access()

    open_db(server, api_key=API_KEY).check_access()


@pytest.mark.parametrize("token", ["", "a" * 39, "A" * 40, f"{TOKEN}\n", f"Token {TOKEN}", f"{TOKEN[:39]} "])
def test_what_cannot_be_a_token_is_not_sent(server: ReleaseDbServer, token: str) -> None:
    with pytest.raises(ListingError, match="40 hex digits"):
        open_db(server, token=token)


@pytest.mark.parametrize("key", ["", "rm", "rm:", ":key", "rm:a:b", "rm:a\n", "r m:a"])
def test_what_cannot_be_an_api_key_is_not_sent(server: ReleaseDbServer, key: str) -> None:
    with pytest.raises(ListingError, match="user:key"):
        open_db(server, api_key=key)


@pytest.mark.parametrize(
    "site", ["http://www.python.org", "www.python.org", "ftp://127.0.0.1", "http://127.0.0.1.example"]
)
def test_credentials_do_not_go_out_in_the_clear(site: str) -> None:
    with pytest.raises(ListingError, match="expected https"):
        ReleaseDb(BentHttp(), site, TOKEN)


@pytest.mark.parametrize(
    "site", ["https://www.python.org", "https://www.python.org/", "http://127.0.0.1:8000"]
)
def test_credentials_may_go_over_tls_and_stay_on_this_machine(site: str) -> None:
    assert ReleaseDb(BentHttp(), site, TOKEN) is not None


def test_credentials_are_shown_nowhere(server: ReleaseDbServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    http = BentHttp()
    db = open_db(server, api_key=API_KEY, http=http)
    found = add_draft(db)
    shown = [repr(db), repr(vars(db)), repr(http), repr(vars(http)), caplog.text]
    errors: list[Exception] = []
    for fault in (Fault.FAIL_AFTER, Fault.CUT_BEFORE, Fault.GARBLE):
        server.fail(1, fault)
        with pytest.raises(ListingError) as caught:
            db.apply(renew_release(found))
        errors.append(caught.value)
    for error in errors:
        shown += [str(error), repr(error), repr(error.__cause__), getattr(error, "next_step", "")]

    assert len(errors) == 3
    assert caplog.text
    assert not any(secret in text for text in shown for secret in (TOKEN, KEY))
    assert not any(secret in repr(entry) for entry in server.log for secret in (TOKEN, KEY))


# --- Filters ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("slug", ["", " ", "a b", "a&release=1", "3.14", "a\n"])
def test_a_filter_that_would_give_everything_is_not_sent(
    server: ReleaseDbServer, db: ReleaseDb, slug: str
) -> None:
    for ask in (db.find_release, db.find_file):
        with pytest.raises(ListingError, match="is no slug"):
            ask(slug)

    assert all("slug" not in entry.query for entry in server.log)


def test_rows_that_were_not_asked_for_are_an_error(server: ReleaseDbServer, db: ReleaseDb) -> None:
    found, files = publish(db)
    server.add_release("Python install manager 25.0", "pymanager-250", version=100)
    publish(db, "3.14.0rc1")
    http = BentHttp()
    bent = open_db(server, http=http)
    bent.read_systems()
    asks: list[Callable[[ReleaseDb], object]] = [
        lambda db: db.find_release(SLUG),
        lambda db: db.list_releases(3),
        lambda db: db.read_files(found.id),
        lambda db: db.find_file(files[0].row.slug),
    ]
    http.drops_filters = True

    for ask in asks:
        with pytest.raises(ListingError, match="did not understand the filter"):
            ask(bent)
        assert ask(db)


def test_a_row_is_found_whichever_release_it_belongs_to(db: ReleaseDb) -> None:
    found, files = publish(db)

    assert db.find_file(files[0].row.slug) == files[0]
    assert db.find_file("another") is None
    assert files[0].release == found.id


def test_files_of_a_release_that_is_gone_are_an_error(db: ReleaseDb) -> None:
    with pytest.raises(ListingError, match="not one of the available choices"):
        db.read_files(999)


def test_operating_systems_are_found_by_their_slugs(server: ReleaseDbServer, db: ReleaseDb) -> None:
    systems = server.tables.systems
    windows, source = systems[1], systems[3]
    windows["slug"], source["slug"] = "source", "windows"

    publish(db)

    tarball = next(row for url, row in read_rows(server, SLUG).items() if url.endswith(".tgz"))
    assert tarball["os"] == windows["id"]
    assert is_listed(db, make_rows(NAME), SLUG)


def test_an_operating_system_that_is_missing_is_not_made_up(server: ReleaseDbServer, db: ReleaseDb) -> None:
    found = add_draft(db)
    del server.tables.systems[5]
    fresh = open_db(server)
    row = next(row for row in make_rows(NAME) if row.os == "ios")

    with pytest.raises(ListingError, match="no operating system ios"):
        fresh.apply(CreateFile(found.id, row, beside_button=False))

    assert "ios" not in fresh.read_systems()
    assert len(server.writes()) == 1


# --- The button ---------------------------------------------------------------------------------------------


def make_button(db: ReleaseDb) -> tuple[FoundRelease, CreateFile]:
    """Make a public release with one row, a button, and the change that adds another beside it."""
    rows = [row for row in make_rows(NAME) if row.os == "source"]
    button, other = sorted(rows, key=lambda row: not row.button)
    found = list_release(db, (button,), make_release(NAME))
    return found, CreateFile(found.id, other, beside_button=True)


def test_a_row_beside_a_button_needs_the_api_key(server: ReleaseDbServer, db: ReleaseDb) -> None:
    found, change = make_button(db)

    with pytest.raises(ListingError, match="must make a unique set") as caught:
        db.apply(change)

    assert not isinstance(caught.value, ListingUnknownError)
    assert "API key" in caught.value.next_step
    assert len(db.read_files(found.id)) == 1

    open_db(server, api_key=API_KEY).apply(change)

    assert len(db.read_files(found.id)) == 2
    assert change.row in [file.row for file in db.read_files(found.id)]


def test_a_row_beside_a_button_needs_no_key_once_the_site_is_mended(
    server: ReleaseDbServer, db: ReleaseDb
) -> None:
    found, change = make_button(db)
    server.v2.modern = True

    db.apply(change)

    assert len(db.read_files(found.id)) == 2


@pytest.mark.parametrize(("modern", "kind"), [(False, ListingUnknownError), (True, ListingError)])
def test_a_second_button_is_never_turned_on(
    server: ReleaseDbServer, db: ReleaseDb, modern: bool, kind: type[ListingError]
) -> None:
    _, files = publish(db)
    server.v2.modern = modern
    tarball = find(files, ".tgz")

    with pytest.raises(ListingError) as caught:
        db.apply(update(tarball, button=True))

    assert type(caught.value) is kind
    assert find(db.read_files(tarball.release), ".tgz") == tarball
    # And the way that the plan goes is open.
    db.apply(update(find(files, ".tar.xz"), button=False))
    db.apply(update(tarball, button=True))


def test_a_drafts_button_is_lent_so_that_no_key_is_needed(server: ReleaseDbServer, db: ReleaseDb) -> None:
    found = add_draft(db)
    wanted = make_rows(NAME)
    for row in wanted:
        if row.button:
            db.apply(CreateFile(found.id, row, beside_button=False))

    list_release(db, wanted, make_release(NAME))

    assert is_listed(db, wanted, SLUG)
    assert all("/v1/" not in entry.path for entry in server.writes())


# --- Writes whose answer is not what it seems ---------------------------------------------------------------


def test_a_500_can_mean_that_it_was_done(server: ReleaseDbServer, db: ReleaseDb) -> None:
    found, files = publish(db)
    server.tables.purges_fail = True
    changes: list[Change] = [
        update(files[0], size=77),
        UpdateRelease(found.id, found.row, replace(found.row, release_notes_url="https://docs.python.org/")),
    ]

    for change in changes:
        with pytest.raises(ListingUnknownError, match="may have been done"):
            db.apply(change)

    assert db.read_files(found.id)[0].row.size == 77
    after = db.find_release(SLUG)
    assert after is not None
    assert after.row.release_notes_url == "https://docs.python.org/"


def test_a_500_on_a_deletion_means_that_it_was_not_done(server: ReleaseDbServer, db: ReleaseDb) -> None:
    found, files = publish(db)
    server.tables.purges_fail = True

    with pytest.raises(ListingUnknownError):
        db.apply(DeleteFile(found.id, files[0].id, files[0].row))

    assert db.read_files(found.id) == files


def test_a_lost_answer_is_made_up_for_by_renewing_the_pages(server: ReleaseDbServer, db: ReleaseDb) -> None:
    number = len(make_rows(NAME)) + 2
    server.fail(number, Fault.FAIL_AFTER)

    publish(db)

    assert [entry.body for entry in server.writes()[number - 1 :]][1:] == ["{}"]


@pytest.mark.parametrize(
    "fault", [fault for fault in Fault if fault.name.partition("_")[0] in {"FAIL", "CUT"}]
)
def test_one_run_gets_over_any_lost_answer(server: ReleaseDbServer, db: ReleaseDb, fault: Fault) -> None:
    for number, name in enumerate(["3.14.0b1", "3.14.0b2"], start=1):
        for step in range(number, 16, 3):
            server.fail(step, fault)
        publish(db, name)

        assert is_listed(db, make_rows(name), make_release(name).slug)


@pytest.mark.parametrize("fault", [Fault.SILENT_BEFORE, Fault.SILENT_AFTER])
def test_silence_is_not_waited_for_and_leaves_it_unknown(server: ReleaseDbServer, fault: Fault) -> None:
    http = BentHttp()
    db = open_db(server, http=http)
    found = add_draft(db)
    row = make_rows(NAME)[0]
    http.limits = Limits(connect=10.0, read=0.3)
    server.fail(1, fault)

    with pytest.raises(ListingUnknownError, match="no answer"):
        db.apply(CreateFile(found.id, row, beside_button=False))

    http.limits = LIMITS
    assert len(db.read_files(found.id)) == (fault is Fault.SILENT_AFTER)


def test_a_right_status_with_another_body_leaves_it_unknown(server: ReleaseDbServer, db: ReleaseDb) -> None:
    found = add_draft(db)
    server.fail(1, Fault.GARBLE)

    with pytest.raises(ListingUnknownError, match="text/html"):
        db.apply(CreateFile(found.id, make_rows(NAME)[0], beside_button=False))

    assert len(db.read_files(found.id)) == 1


def test_what_cannot_have_arrived_is_not_unknown(server: ReleaseDbServer, db: ReleaseDb) -> None:
    found = add_draft(db)
    http = BentHttp()
    lost = open_db(server, http=http)
    lost.read_systems()

    # Nobody listens there; and no port has such a number.
    with reserve_port() as port:
        for nowhere in (f"http://127.0.0.1:{port}", "http://127.0.0.1:99999"):
            http.bend_path = _lead_to(server.url, nowhere)
            for act in (lambda: lost.apply(renew_release(found)), lambda: lost.find_release(SLUG)):
                with pytest.raises(ListingError, match="no answer") as caught:
                    act()
                assert not isinstance(caught.value, ListingUnknownError)


def _lead_to(old: str, new: str) -> Callable[[str], str]:
    return lambda url: url.replace(old, new)


def test_a_redirect_of_a_write_is_an_error_and_not_followed(server: ReleaseDbServer) -> None:
    http = BentHttp()
    db = open_db(server, http=http)
    found = add_draft(db)
    http.bend_path = lambda url: url.rstrip("/")
    before = len(server.log)

    with pytest.raises(ListingError, match="leads to") as caught:
        db.apply(CreateFile(found.id, make_rows(NAME)[0], beside_button=False))

    assert not isinstance(caught.value, ListingUnknownError)
    assert [entry.status for entry in server.log[before:]] == [301]
    assert server.tables.files == {}


# --- Refused writes -----------------------------------------------------------------------------------------


def test_a_slug_or_url_of_another_release_is_refused_by_name(server: ReleaseDbServer, db: ReleaseDb) -> None:
    _, files = publish(db, "3.14.0rc1")
    found = add_draft(db)

    with pytest.raises(ListingError) as caught:
        db.apply(CreateFile(found.id, files[0].row, beside_button=False))

    assert "slug: Release File with this slug already exists." in str(caught.value)
    assert "url: Release File with this URL already exists." in str(caught.value)
    assert not isinstance(caught.value, ListingUnknownError)
    assert db.read_files(found.id) == ()


def test_a_row_that_is_gone_counts_as_deleted(server: ReleaseDbServer, db: ReleaseDb) -> None:
    found, files = publish(db)
    change = DeleteFile(found.id, files[0].id, files[0].row)

    db.apply(change)
    db.apply(change)

    assert [entry.status for entry in server.writes()[-2:]] == [204, 404]
    assert db.read_files(found.id) == files[1:]


def test_a_page_that_is_not_found_is_no_deletion(server: ReleaseDbServer) -> None:
    http = BentHttp()
    db = open_db(server, http=http)
    found, files = publish(db)
    http.bend_path = lambda url: url.replace("/api/v2/", "/elsewhere/")

    with pytest.raises(ListingError, match="404") as caught:
        db.apply(DeleteFile(found.id, files[0].id, files[0].row))

    assert "address" in caught.value.next_step


def test_a_row_that_is_gone_is_not_changed(db: ReleaseDb) -> None:
    found, files = publish(db)
    db.apply(DeleteFile(found.id, files[0].id, files[0].row))

    with pytest.raises(ListingError, match="No ReleaseFile matches") as caught:
        db.apply(update(files[0], size=5))

    assert not isinstance(caught.value, ListingUnknownError)


def test_a_row_that_the_plan_created_is_found_in_its_own_release_only(db: ReleaseDb) -> None:
    found, files = publish(db)
    change = replace(update(files[0], size=5), id=None)

    db.apply(change)

    assert db.read_files(found.id)[0].row.size == 5
    for stray in (replace(change, release=99), replace(change, before=replace(change.before, slug="other"))):
        with pytest.raises(ListingError, match="gone, or another release's"):
            db.apply(stray)


def test_a_url_goes_with_all_its_sidecars(server: ReleaseDbServer, db: ReleaseDb) -> None:
    found, files = publish(db)
    file = find(files, ".tgz")
    url = file.row.url.replace("Python-", "python-")
    sidecars = {".sigstore": f"{url}.sigstore"}

    db.apply(update(file, url=url, sidecars=sidecars))

    after = find(db.read_files(found.id), ".tgz").row
    assert (after.url, after.sidecars) == (url, sidecars)


def test_a_row_moves_to_another_system_by_its_id(server: ReleaseDbServer, db: ReleaseDb) -> None:
    found, files = publish(db)
    file = find(files, ".json")

    db.apply(update(file, os="ios"))

    assert server.writes()[-1].body == '{"os": "/api/v2/downloads/os/5/"}'
    assert find(db.read_files(found.id), ".json").row.os == "ios"


def test_an_md5_does_not_outlive_its_bytes(server: ReleaseDbServer, db: ReleaseDb) -> None:
    found, files = publish(db)
    stored = server.tables.files[files[0].id]
    stored["md5_sum"] = "d41d8cd98f00b204e9800998ecf8427e"

    db.apply(update(files[0], size=5))
    assert server.tables.files[files[0].id]["md5_sum"]
    db.apply(update(db.read_files(found.id)[0], sha256="f" * 64))
    assert server.tables.files[files[0].id]["md5_sum"] == ""


def test_blanks_at_the_ends_are_corrected_once(server: ReleaseDbServer, db: ReleaseDb) -> None:
    found, files = publish(db)
    server.tables.files[files[0].id]["name"] += " "
    server.tables.files[files[1].id]["description"] = " \n"
    before = len(server.writes())

    publish(db)
    publish(db)

    assert len(server.writes()) == before + 2
    assert is_listed(db, make_rows(NAME), SLUG)
    assert found.row == make_release(NAME)


# --- Throttling ---------------------------------------------------------------------------------------------


def test_a_short_wait_is_waited(server: ReleaseDbServer) -> None:
    waits: list[float] = []
    db = open_db(server, sleep=waits.append)
    server.fail(3, Fault.THROTTLE)

    publish(db)

    assert waits == [1.0]
    assert is_listed(db, make_rows(NAME), SLUG)
    assert [entry.status for entry in server.writes()].count(429) == 1


def test_a_wait_of_hours_is_an_error_that_says_so(server: ReleaseDbServer, db: ReleaseDb) -> None:
    found = add_draft(db)
    server.quotas["user"] = 0

    for act in (lambda: db.apply(renew_release(found)), lambda: db.find_release(SLUG)):
        with pytest.raises(ListingError, match="too many requests") as caught:
            act()
        assert not isinstance(caught.value, ListingUnknownError)
        assert caught.value.next_step == "run again in 86393 seconds"


def test_a_throttled_first_version_says_so_without_a_body(server: ReleaseDbServer) -> None:
    found, change = make_button(open_db(server))
    db = open_db(server, api_key=API_KEY)
    db.read_systems()
    server.quotas["v1"] = 0

    with pytest.raises(ListingError) as caught:
        db.apply(change)

    assert caught.value.next_step == "run again in 3548 seconds"
    assert len(db.read_files(found.id)) == 1


# --- Answers that cannot be understood ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind", "body"),
    [
        (200, "text/html", b"<h1>Welcome</h1>"),
        (200, "application/json", b"[{"),
        (200, "application/json", b"{}"),
        (200, "application/json", b"[1]"),
        (404, "text/html", b"<h1>Not found</h1>"),
        (503, "text/html", b"<h1>Busy</h1>"),
        (302, "text/html", b""),
    ],
)
def test_an_answer_that_is_no_list_of_rows_is_an_error(
    server: ReleaseDbServer, status: int, kind: str, body: bytes
) -> None:
    http = BentHttp()
    db = open_db(server, http=http)
    db.read_systems()
    http.after = lambda _: Answer(status, {"content-type": kind}, body)

    with pytest.raises(ListingError) as caught:
        db.find_release(SLUG)

    assert caught.value.next_step


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", None),
        ("filesize", "5"),
        ("filesize", True),
        ("download_button", 1),
        ("os", 99),
        ("release", "x"),
        ("url", 5),
    ],
)
def test_a_file_row_that_cannot_be_understood_is_an_error(
    server: ReleaseDbServer, db: ReleaseDb, field: str, value: object
) -> None:
    found, files = publish(db)
    release = server.tables.files[files[0].id]["release"]
    server.tables.files[files[0].id][field] = value
    server.tables.releases[0] = server.tables.releases[release]

    with pytest.raises(ListingError, match=f"whose {field} cannot be understood"):
        db.find_file(files[0].row.slug)

    assert found.id == release


@pytest.mark.parametrize(
    ("field", "value"), [("release_date", "soon"), ("version", "3"), ("is_latest", None)]
)
def test_a_release_row_that_cannot_be_understood_is_an_error(
    server: ReleaseDbServer, db: ReleaseDb, field: str, value: object
) -> None:
    found = add_draft(db)
    server.tables.releases[found.id][field] = value

    with pytest.raises(ListingError, match=f"whose {field} cannot be understood"):
        db.find_release(SLUG)


def test_an_answer_about_access_that_says_nothing_is_an_error(server: ReleaseDbServer) -> None:
    http = BentHttp()
    http.after = lambda answer: replace(answer, body=b"[]")

    with pytest.raises(ListingError, match="cannot ask"):
        open_db(server, http=http).check_access()


# --- Runs that stop anywhere --------------------------------------------------------------------------------


def make_old_draft(server: ReleaseDbServer, db: ReleaseDb) -> None:
    """List an earlier state: stale, changed, and with the buttons elsewhere."""
    found = add_draft(db)
    rows = [replace(row, button=False, size=1) for row in make_rows(NAME)[:6]]
    stale = replace(rows[0], slug="old", url=rows[0].url + ".old", sidecars={}, button=True)
    for row in (*rows[1:], stale):
        db.apply(CreateFile(found.id, row, beside_button=False))


def make_public(server: ReleaseDbServer, db: ReleaseDb) -> None:
    """List an earlier state of a public release."""
    make_old_draft(server, db)
    number = next(n for n, row in server.tables.releases.items() if row["slug"] == SLUG)
    server.tables.releases[number]["is_published"] = True


STATES: dict[str, Callable[[ReleaseDbServer, ReleaseDb], None]] = {
    "nothing": lambda server, db: None,
    "a draft": make_old_draft,
    "a public release": make_public,
}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("state", STATES)
def test_a_run_that_dies_at_any_request_is_finished_by_the_next(state: str, after: bool) -> None:
    number = 0
    while _run_until_crash(STATES[state], number, after=after):
        number += 1

    assert number > 15


def _run_until_crash(
    prepare: Callable[[ReleaseDbServer, ReleaseDb], None], number: int, *, after: bool
) -> bool:
    """Let a run die at one request, finish it, and tell whether it died."""
    http = BentHttp()
    left = number

    def count(answer: Answer | None = None) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise CrashError
        return answer

    with run_release_db(token=TOKEN, key=KEY) as server:
        setup = open_db(server)
        prepare(server, setup)
        publish(setup, "3.14.0rc1")
        other = read_rows(server, "python-3140rc1")
        if after:
            http.after = count
        else:
            http.before = count
        try:
            list_release(open_db(server, api_key=API_KEY, http=http), make_rows(NAME), make_release(NAME))
        except CrashError:
            died = True
        else:
            died = False
        found = list_release(open_db(server, api_key=API_KEY), make_rows(NAME), make_release(NAME))
        assert is_listed(setup, make_rows(NAME), SLUG)
        assert found.row.is_published
        assert read_rows(server, "python-3140rc1") == other
    return died


def test_a_plan_is_what_the_server_takes_in_the_order_it_comes(server: ReleaseDbServer) -> None:
    db = open_db(server, api_key=API_KEY)
    make_public(server, db)
    found = db.find_release(SLUG)
    assert found is not None
    row: ReleaseRow = make_release(NAME)
    changes = plan_listing(make_rows(NAME), db.read_files(found.id), found, row)
    before = len(server.writes())

    for change in changes:
        db.apply(change)

    # One write for each change, and none refused.
    assert [entry.status // 100 for entry in server.writes()[before:]] == [2] * len(changes)
    assert is_listed(db, make_rows(NAME), SLUG)
