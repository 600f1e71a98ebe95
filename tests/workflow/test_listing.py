"""Listing: rows after bytes, differences only, flags last; and a re-run finishes every interruption."""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest

from publisher.adapters.http import Answer, Http
from publisher.core.digests import of_bytes
from publisher.core.listing import FileRow, FoundRelease, ReleaseRow
from publisher.core.listing_changes import (
    CreateFile,
    CreateRelease,
    DeleteFile,
    UpdateFile,
    UpdateRelease,
    create_release,
)
from publisher.core.promotions import Record
from publisher.documents.statement import extract_payload, read_statement
from publisher.errors import Exit, ListingError, UnfinishedError
from publisher.outcomes import ListedRelease, Promoted, Refused
from publisher.ports import ReleaseDatabase
from publisher.workflow.releases_json import NAME, ReleasesJson
from sandbox.release_db import Fault, ReleaseDbServer, User, run_release_db
from tests.support.fakes import FakeS3
from tests.support.listing_fake import (
    LISTED_PROFILE,
    SLUG,
    TAG,
    ZIP,
    FakeDatabase,
    ListedSite,
    a_listed_site,
    a_release_row,
    url,
)
from tests.support.release_db import KEY, LIMITS, TOKEN, load_cpython, make_release, make_rows, open_db
from tests.support.site import PKG, RELEASE, TGZ, expected_public

OLD = {"tool-122": ("Tool 1.2.2", True, True), "tool-119": ("Tool 1.1.9", True, False)}
AROUND = ("db-", "forum-", "hook-")


class CrashError(BaseException):
    """The process is gone."""


def die_before(site: ListedSite, number: int) -> None:
    """Let the process die before its request of that number to database, forum or webhook."""
    seen = 0

    def die(request: str, key: str) -> None:
        nonlocal seen
        seen += request.startswith(AROUND) or seen > number
        if seen > number:
            raise CrashError

    site.s3.before = die


def die_at(site: ListedSite, wanted: str, times: int = 1) -> None:
    """Let the process die at its request of that kind, the `times`th one."""
    left = times

    def die(request: str, key: str) -> None:
        nonlocal left
        left -= request == wanted and left > 0
        if left == 0:
            raise CrashError

    site.s3.before = die


def record_requests(site: ListedSite) -> list[tuple[str, str]]:
    """Keep every request from now on, in order."""
    log: list[tuple[str, str]] = []
    site.s3.before = lambda request, key: log.append((request, key))
    return log


def revive(site: ListedSite) -> None:
    """Let the next run happen on a healthy machine, after the dead one's lease has expired."""
    site.s3.before = lambda request, key: None
    site.s3.tick(121)


def count_around() -> int:
    site = a_listed_site()
    site.run()
    return sum(request.startswith(AROUND) for request, _ in site.requests)


def wanted_rows() -> dict[str, tuple[str, int, bool]]:
    """Give the URL, digest, size and button that both rows are to have."""
    digests = expected_public()
    sizes = {TGZ: len(b"first " + TGZ.encode()), PKG: len(b"first " + PKG.encode())}
    return {url(key): (digests[key], sizes[key], True) for key in (TGZ, PKG)}


def found_rows(site: ListedSite, slug: str = SLUG) -> dict[str, tuple[str, int, bool]]:
    rows = site.database.rows(slug).values()
    return {row.url: (row.sha256, row.size, row.button) for row in rows}


def check_finished(site: ListedSite) -> None:
    """Check that all is listed, published, shown and announced once."""
    assert found_rows(site) == wanted_rows()
    row = site.database.find(SLUG)
    assert row.is_published
    assert row.is_latest
    assert site.database.shown(SLUG) == frozenset(wanted_rows())
    assert site.forum.posts == len(site.forum.topics) == 1
    assert len({str(event["id"]) for event in site.hook.events}) == 1
    assert len(site.state("/announced/")) == 1
    assert len(site.state("/done.json")) == 1


# --- The order ---------------------------------------------------------------------------------------------


def test_no_row_is_written_before_go_live_and_before_every_url_was_seen() -> None:
    site = a_listed_site()
    log = record_requests(site)

    assert isinstance(site.run(), Promoted)

    promotion = site.live().pop()
    live = log.index(("update", f"s:{promotion}"))
    first = [request for request, _ in log].index("db-write")
    looks = [key for request, key in log[live:first] if request == "head"]
    # At the CDN, and where users download.
    assert sorted(looks) == sorted([TGZ, PKG] * 2)
    assert log.index(("signal", TAG)) < first
    check_finished(site)


def test_no_row_is_written_while_a_url_does_not_serve_its_file() -> None:
    site = a_listed_site()

    def hide(request: str, key: str) -> None:
        # The file is lost from under the CDN once it is placed; nothing ever serves it.
        if request == "head" and key == TGZ:
            site.s3.public.expire(TGZ)
            site.s3.public.expire("_pending/")

    site.s3.before = hide
    with pytest.raises(UnfinishedError):
        site.run()

    assert site.database.writes == []
    assert site.forum.posts == 0


def test_the_flags_come_last_in_one_change_and_the_rows_are_read_back() -> None:
    site = a_listed_site()
    site.run()

    kinds = [type(change) for change in site.database.writes]
    last = site.database.writes[-1]
    assert kinds == [CreateFile, CreateFile, UpdateRelease]
    assert isinstance(last, UpdateRelease)
    assert (last.before.is_published, last.after.is_published, last.after.is_latest) == (False, True, True)
    asked = [request for request, _ in site.requests if request.startswith("db-")]
    assert "db-files" in asked[len(asked) - asked[::-1].index("db-write") :]


def test_the_release_date_is_that_of_the_promotion_and_stays() -> None:
    site = a_listed_site()
    begun = site.s3.clock
    site.run()
    site.s3.tick(7 * 86400)

    site.list_rows()

    assert site.database.find(SLUG).release_date == begun


# --- The release's row -------------------------------------------------------------------------------------


def test_a_release_that_the_database_does_not_have_is_refused_and_nothing_is_written() -> None:
    site = a_listed_site(row=False)
    site.s3.writes.clear()

    outcome = site.run()

    assert isinstance(outcome, Refused)
    assert outcome.status == Exit.REFUSED
    assert [(refusal.rule, refusal.subject) for refusal in outcome.refusals] == [("listing", SLUG)]
    assert "--create-release" in outcome.refusals[0].cure
    assert site.s3.writes == []
    assert site.database.writes == []


def test_it_is_created_unpublished_after_the_look_where_that_is_asked_for() -> None:
    site = a_listed_site(row=False)

    log = record_requests(site)

    assert isinstance(site.run(create=True), Promoted)

    first = site.database.writes[0]
    assert isinstance(first, CreateRelease)
    assert (first.row.is_published, first.row.is_latest) == (False, False)
    names = [request for request, _ in log]
    assert names.index("head") < names.index("db-write")
    check_finished(site)


def test_to_create_is_in_the_plan_so_that_a_rerun_needs_no_option() -> None:
    site = a_listed_site(row=False)
    die_at(site, "db-write")
    with pytest.raises(CrashError):
        site.run(create=True)
    revive(site)

    assert isinstance(site.run(), Promoted)
    check_finished(site)


def test_a_dry_run_that_would_create_the_release_is_refused_without_the_option_only() -> None:
    assert isinstance(a_listed_site(row=False).run(dry_run=True), Refused)
    site = a_listed_site(row=False)
    assert not isinstance(site.run(dry_run=True, create=True), Refused)
    assert site.database.writes == []


def test_a_slug_that_another_release_has_is_refused() -> None:
    site = a_listed_site(row=False)
    site.database.add(a_release_row("Tool 12.3", SLUG))

    outcome = site.run(create=True)

    assert isinstance(outcome, Refused)
    assert "Tool 12.3" in outcome.refusals[0].found


def test_a_rows_slug_that_another_release_has_is_refused() -> None:
    site = a_listed_site()
    other = site.database.add(a_release_row("Tool 1.2.2", "tool-122"))
    site.database.apply(CreateFile(other, a_file_row(slug="123-Installer"), beside_button=False))
    site.database.writes.clear()

    outcome = site.run()

    assert isinstance(outcome, Refused)
    assert [refusal.subject for refusal in outcome.refusals] == ["123-Installer"]
    assert site.database.writes == []
    assert site.live() == set()


def test_what_the_database_would_store_though_it_is_wrong_is_refused_before_anything_is_public() -> None:
    site = a_listed_site()
    site.profile_text = LISTED_PROFILE.replace(
        b"pre_kinds =", b'url_prefix = "https://other.example.org/"\npre_kinds ='
    )
    site.s3.writes.clear()

    outcome = site.run()

    assert isinstance(outcome, Refused)
    assert {refusal.subject for refusal in outcome.refusals} == {url(TGZ), url(PKG)}
    assert site.s3.writes == []


def test_a_file_without_a_byte_is_no_row_and_refused() -> None:
    site = a_listed_site()
    site.stage("linux", {ZIP: b""})
    site.hand_over("linux")

    outcome = site.run()

    assert isinstance(outcome, Refused)
    assert [(refusal.subject, refusal.found) for refusal in outcome.refusals] == [(url(ZIP), "0 bytes")]


def test_a_system_that_the_database_does_not_have_is_refused() -> None:
    site = a_listed_site()
    site.profile_text = LISTED_PROFILE.replace(b'os = "macos"', b'os = "beos"').replace(
        b'macos = "macOS"', b'beos = "BeOS"'
    )

    outcome = site.run()

    assert isinstance(outcome, Refused)
    assert [refusal.subject for refusal in outcome.refusals] == ["beos"]


def a_file_row(*, slug: str, path: str = "other/file.pkg") -> FileRow:
    return FileRow("Installer", slug, "macos", url(path), "", False, "a" * 64, 5, False, {})


# --- Which one is the latest -------------------------------------------------------------------------------


def list_with(site: ListedSite, *others: str) -> ListedSite:
    """Put other releases there, as `OLD` describes them, each with a file."""
    for slug in others:
        name, published, latest = OLD[slug]
        number = site.database.add(a_release_row(name, slug, published=published, latest=latest))
        row = a_file_row(slug=f"{slug}-file", path=f"{slug}/file.pkg")
        site.database.apply(CreateFile(number, row, beside_button=False))
    site.database.writes.clear()
    return site


def test_the_highest_published_final_takes_over_as_the_latest() -> None:
    site = list_with(a_listed_site(), *OLD)
    before = site.database.rows("tool-122")

    site.run()

    assert site.database.find(SLUG).is_latest
    assert not site.database.find("tool-122").is_latest
    assert site.database.find("tool-122").is_published
    assert site.database.rows("tool-122") == before


def test_a_release_of_an_older_series_never_takes_over() -> None:
    site = a_listed_site()
    site.database.add(a_release_row("Tool 1.10.0", "tool-1100", published=True, latest=True))

    site.run()

    assert site.database.find(SLUG).is_published
    assert not site.database.find(SLUG).is_latest
    assert site.database.find("tool-1100").is_latest


def test_a_draft_of_a_higher_release_does_not_keep_the_lower_one_from_it() -> None:
    site = a_listed_site()
    site.database.add(a_release_row("Tool 1.3.0", "tool-130"))

    site.run()

    assert site.database.find(SLUG).is_latest


def test_a_release_candidate_is_published_and_never_the_latest() -> None:
    site = ListedSite()
    site.open("1.2.3rc1")
    site.stage_all(release="1.2.3rc1")
    site.database.add(a_release_row("Tool 1.2.3rc1", "tool-123rc1"))

    site.run("1.2.3rc1")

    row = site.database.find("tool-123rc1")
    assert (row.is_published, row.is_latest, row.pre_release) == (True, False, True)


def test_a_final_beside_its_own_candidates_leaves_them_and_their_rows_as_they_are() -> None:
    site = ListedSite()
    for name, slug in (("1.2.3rc1", "tool-123rc1"), (RELEASE, SLUG)):
        site.database.add(a_release_row(f"Tool {name}", slug))
        site.open(name)
        site.stage_all(release=name)
    site.run("1.2.3rc1")
    rows, release = site.database.rows("tool-123rc1"), site.database.find("tool-123rc1")

    site.run()

    assert site.database.rows("tool-123rc1") == rows
    assert len(rows) == 2
    assert site.database.find("tool-123rc1") == release
    assert found_rows(site) == wanted_rows()
    assert site.database.find(SLUG).is_latest
    assert site.forum.posts == 2


# --- Crashes and lost answers ------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(count_around()))
def test_a_crash_before_any_request_around_the_site_is_finished_by_a_rerun(number: int) -> None:
    site = a_listed_site()
    die_before(site, number)
    with pytest.raises(CrashError):
        site.run()
    assert not site.database.writes or site.visible() == expected_public()
    revive(site)

    assert isinstance(site.run(), Promoted)
    check_finished(site)


@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("number", range(4))
def test_a_write_whose_answer_is_lost_is_read_back_and_made_once(number: int, *, made: bool) -> None:
    site = a_listed_site(row=False)
    site.database.lost = {number: made}

    assert isinstance(site.run(create=True), Promoted)

    check_finished(site)
    assert any("looking whether it was done" in warning for warning in site.observer.warnings)


def test_answers_that_are_all_lost_stop_the_run_and_reruns_come_to_the_end() -> None:
    site = a_listed_site()
    site.database.lost = dict.fromkeys(range(9), True)
    with pytest.raises(UnfinishedError) as caught:
        site.run()
    assert caught.value.exit_status == Exit.UNFINISHED
    site.database.lost = {}

    assert isinstance(site.run(), Promoted)
    check_finished(site)


def test_rows_that_somebody_else_changes_all_the_time_stop_the_run() -> None:
    site = a_listed_site()

    def meddle(request: str, key: str) -> None:
        if request == "db-files":
            for number, found in site.database.files.items():
                row = replace(found.row, description="mine")
                site.database.files[number] = replace(found, row=row)

    site.s3.before = meddle
    with pytest.raises(UnfinishedError, match="not what was written"):
        site.run()


def a_site_with_a_late_file() -> ListedSite:
    site = a_listed_site()
    site.run()
    site.stage_late()
    site.database.writes.clear()
    return site


def test_pages_that_a_dead_run_left_old_are_made_anew_though_no_row_differs() -> None:
    """On a published release, the process dies between its last write and what the site makes of it."""
    site = a_site_with_a_late_file()
    die_at(site, "db-effects")
    with pytest.raises(CrashError):
        site.run()
    assert url(ZIP) in site.database.rows(SLUG)
    assert url(ZIP) not in site.database.shown(SLUG)
    revive(site)

    assert isinstance(site.run(), Promoted)

    assert url(ZIP) in site.database.shown(SLUG)
    last = site.database.writes[-1]
    assert isinstance(last, UpdateRelease)
    assert last.before == last.after


def test_a_run_that_nothing_interrupted_changes_nothing_only_to_change_nothing() -> None:
    site = a_site_with_a_late_file()
    site.run()

    assert [type(change) for change in site.database.writes] == [CreateFile]
    assert url(ZIP) in site.database.shown(SLUG)


# --- What comes late ---------------------------------------------------------------------------------------


def test_a_late_artifact_gets_its_row_beside_the_button_and_no_second_announcement() -> None:
    site = a_site_with_a_late_file()
    rows = site.database.rows(SLUG)

    assert isinstance(site.run(), Promoted)

    (change,) = site.database.writes
    assert isinstance(change, CreateFile)
    assert change.beside_button
    assert site.database.rows(SLUG) == {**rows, url(ZIP): change.row}
    assert site.forum.posts == 1
    assert len(site.hook.events) == 1


def test_a_late_sidecar_updates_the_row_of_its_artifact() -> None:
    site = a_listed_site()
    site.run()
    site.database.writes.clear()
    site.stage("linux", {f"{TGZ}.spdx.json": b"{}"})
    site.hand_over("linux")

    assert isinstance(site.run(), Promoted)

    (change,) = site.database.writes
    assert isinstance(change, UpdateFile)
    assert change.after == replace(change.before, sidecars={".spdx.json": url(f"{TGZ}.spdx.json")})
    assert site.forum.posts == 1


def test_a_finished_release_is_left_alone() -> None:
    site = a_listed_site()
    site.run()
    site.requests.clear()

    assert isinstance(site.run(), Promoted)
    assert not any(request.startswith(AROUND) for request, _ in site.requests)


# --- A database that is busy -------------------------------------------------------------------------------


def test_a_database_that_refuses_for_hours_stops_the_run_and_says_so() -> None:
    site = a_listed_site()

    def throttle(request: str, key: str) -> None:
        if request == "db-write" and key == "UpdateRelease":
            raise ListingError(
                "cannot PATCH release/1/: status 429, too many requests", "run again in 3600 seconds"
            )

    site.s3.before = throttle
    with pytest.raises(UnfinishedError, match="too many requests") as caught:
        site.run()

    assert caught.value.exit_status == Exit.UNFINISHED
    assert caught.value.next_step == "run again in 3600 seconds"
    assert not site.database.find(SLUG).is_published
    assert site.forum.posts == 0
    assert site.public() == expected_public()
    revive(site)
    assert isinstance(site.run(), Promoted)
    check_finished(site)


# --- Giving up ---------------------------------------------------------------------------------------------


def test_listing_that_is_given_up_is_left_out_on_record_and_can_be_done_later() -> None:
    site = a_listed_site(row=False)

    assert isinstance(site.run(given_up={"listing": "the database is down"}), Promoted)

    assert site.database.writes == []
    assert "given up: listing: the database is down" in site.observer.warnings
    assert site.state("/done.json")
    done = site.s3.staging.current(site.state("/done.json")[0])
    assert done is not None
    assert json.loads(done.data or b"")["given_up"] == {"listing": "the database is down"}
    record = next(iter(site.stored_records().values()))
    statement = read_statement(extract_payload(record, "record"), "record")
    assert isinstance(statement, Record)
    assert statement.given_up == {"listing": "the database is down"}

    outcome = site.list_rows(create=True)

    assert isinstance(outcome, ListedRelease)
    assert found_rows(site) == wanted_rows()
    assert site.database.find(SLUG).is_published


def test_a_database_that_cannot_be_asked_stops_nothing_if_listing_is_given_up() -> None:
    site = a_listed_site()

    def refuse(request: str, key: str) -> None:
        if request.startswith("db-"):
            raise ListingError("no answer", "check the network")

    site.s3.before = refuse
    with pytest.raises(ListingError):
        site.run()
    assert site.live() == set()
    assert isinstance(site.run(given_up={"listing": "it is down"}), Promoted)


def test_who_may_not_write_to_the_database_is_told_before_anything_is_public() -> None:
    site = a_listed_site()
    site.s3.writes.clear()

    def deny(request: str, key: str) -> None:
        if request == "db-access":
            raise ListingError("not staff", "use a staff user's token")

    site.s3.before = deny
    with pytest.raises(ListingError, match="not staff"):
        site.run()

    assert site.s3.writes == []
    assert site.database.writes == []


def test_listing_that_stops_a_live_promotion_can_be_given_up_by_the_next_run() -> None:
    site = a_listed_site()

    def refuse(request: str, key: str) -> None:
        if request == "db-write":
            raise ListingError("status 400", "")

    site.s3.before = refuse
    with pytest.raises(UnfinishedError):
        site.run()

    assert isinstance(site.run(given_up={"listing": "the database is broken"}), Promoted)
    assert site.database.writes == []
    assert site.forum.posts == 0  # Only what was read back is announced.
    assert any("not announced" in text for text in site.observer.warnings)


# --- The same with the real adapters -----------------------------------------------------------------------

GUEST = User("guest", "a" * 40, "guest-key", is_staff=False)
GONE = User("gone", "b" * 40, "gone-key", is_active=False)


@pytest.fixture
def server() -> Generator[ReleaseDbServer]:
    with run_release_db(token=TOKEN, key=KEY, others=(GUEST, GONE)) as server:
        yield server


@dataclass
class Bent(Http):
    """A session that tells a site of each of its requests first."""

    before: Callable[[str, str], None]

    def __init__(self, before: Callable[[str, str], None]) -> None:
        super().__init__("publisher-tests", limits=LIMITS, sleep=lambda _: None)
        self.before = before

    def request(self, method: str, url: str, **options: object) -> Answer:
        self.before("db-read" if method in {"GET", "OPTIONS"} else "db-write", url)
        return super().request(method, url, **options)  # pyright: ignore[reportArgumentType]  # passed on


def a_real_site(server: ReleaseDbServer, token: str = TOKEN) -> ListedSite:
    """Make the site with the real adapter and the stand-in, which has the release's draft."""
    site = a_listed_site()
    server.add_release(f"Tool {RELEASE}", SLUG)
    http = Bent(site.database.before)
    db = open_db(server, token=token, api_key=f"rm:{KEY}" if token == TOKEN else None, http=http)
    site.connect = lambda world: db
    return site


def stored(server: ReleaseDbServer) -> dict[str, str]:
    """Give the digests of the rows in the stand-in, by URL."""
    return {str(row["url"]): str(row["sha256_sum"]) for row in server.tables.files.values()}


def test_a_promotion_lists_in_the_real_way_and_a_late_file_beside_the_button(server: ReleaseDbServer) -> None:
    site = a_real_site(server)
    assert isinstance(site.run(), Promoted)
    assert stored(server) == {url(key): digest for key, digest in expected_public().items()}
    site.stage_late()

    assert isinstance(site.run(), Promoted)

    assert stored(server)[url(ZIP)] == of_bytes(b"late " + RELEASE.encode())
    assert len(stored(server)) == 3
    (release,) = server.tables.releases.values()
    assert (release["is_published"], release["is_latest"]) == (True, True)


@pytest.mark.parametrize("number", range(1, 4))
@pytest.mark.parametrize(
    "fault", [Fault.FAIL_BEFORE, Fault.FAIL_AFTER, Fault.CUT_AFTER, Fault.THROTTLE, Fault.GARBLE]
)
def test_any_trouble_with_any_write_is_come_over(server: ReleaseDbServer, number: int, fault: Fault) -> None:
    site = a_real_site(server)
    server.fail(number, fault)

    assert isinstance(site.run(), Promoted)

    assert stored(server) == {url(key): digest for key, digest in expected_public().items()}
    (release,) = server.tables.releases.values()
    assert release["is_published"]


@pytest.mark.parametrize("number", range(1, 4))
def test_a_crash_before_any_write_to_the_real_database_is_finished(
    server: ReleaseDbServer, number: int
) -> None:
    site = a_real_site(server)
    die_at(site, "db-write", number)
    with pytest.raises(CrashError):
        site.run()
    revive(site)

    assert isinstance(site.run(), Promoted)

    assert stored(server) == {url(key): digest for key, digest in expected_public().items()}
    assert site.forum.posts == 1


def test_a_quota_that_is_used_up_stops_the_run_with_the_time_to_wait(server: ReleaseDbServer) -> None:
    site = a_real_site(server)

    def use_up(request: str, key: str) -> None:
        if request == "db-write":
            server.quotas["user"] = 0

    site.s3.before = use_up
    with pytest.raises(UnfinishedError, match="too many requests") as caught:
        site.run()

    assert "run again in" in caught.value.next_step
    assert stored(server) == {}
    server.quotas["user"] = 3000
    revive(site)
    assert isinstance(site.run(), Promoted)
    assert len(stored(server)) == 2


@pytest.mark.parametrize(
    ("token", "says"),
    [("c" * 40, "Invalid token"), (GUEST.token, "staff"), (GONE.token, "inactive")],
    ids=["wrong", "not staff", "switched off"],
)
def test_a_token_that_may_not_write_is_found_while_nothing_is_public(
    server: ReleaseDbServer, token: str, says: str
) -> None:
    site = a_real_site(server, token)
    site.s3.writes.clear()

    with pytest.raises(ListingError, match=says) as caught:
        site.run()

    assert caught.value.exit_status == Exit.FAILED
    assert site.s3.writes == []
    assert server.writes() == []


def test_a_token_that_expires_after_go_live_stops_the_run_and_a_new_one_finishes(
    server: ReleaseDbServer,
) -> None:
    site = a_real_site(server)

    def expire(request: str, key: str) -> None:
        if request == "place":
            server.users[0] = replace(server.users[0], is_active=False)

    site.s3.before = expire
    with pytest.raises(UnfinishedError, match="inactive"):
        site.run()
    assert stored(server) == {}
    server.users[0] = replace(server.users[0], is_active=True)
    revive(site)

    assert isinstance(site.run(), Promoted)
    assert len(stored(server)) == 2


# --- releases.json instead ---------------------------------------------------------------------------------


def a_json_site() -> ListedSite:
    site = a_listed_site()
    site.connect = lambda world: ReleasesJson(world.public, world.profile)
    return site


def read_json(site: ListedSite) -> dict[str, list[dict[str, object]]]:
    found = site.s3.public.current(NAME)
    assert found is not None
    return json.loads(found.data or b"")


def test_a_project_without_a_database_is_listed_in_releases_json() -> None:
    site = a_json_site()

    assert isinstance(site.run(create=True), Promoted)

    found = read_json(site)
    (release,) = found["releases"]
    assert release["row"] == {
        "name": f"Tool {RELEASE}",
        "slug": SLUG,
        "version": 3,
        "is_published": True,
        "is_latest": True,
        "pre_release": False,
        "release_date": "2026-06-01T12:00:00Z",
        "release_notes_url": f"https://docs.example.org/{RELEASE}/",
        "show_on_download_page": True,
    }
    rows = [file["row"] for file in found["files"]]
    assert {row["url"]: row["sha256"] for row in rows if isinstance(row, dict)} == {
        url(key): digest for key, digest in expected_public().items()
    }
    stored_version = site.s3.public.current(NAME)
    assert stored_version is not None
    assert stored_version.delivery is not None
    assert stored_version.delivery.content_type == "application/json"


def test_releases_json_does_not_exist_before_go_live() -> None:
    site = a_json_site()
    site.run(create=True)

    writes = [name for _, name in site.s3.writes]
    live = next(at for at, name in enumerate(writes) if name.startswith("gate/s:"))
    assert writes.index(f"public/{NAME}") > live


def test_a_second_release_keeps_the_first_ones_rows_and_takes_over() -> None:
    site = a_json_site()
    site.run(create=True)
    before = read_json(site)
    site.open("1.2.4")
    site.stage_all(release="1.2.4")

    assert isinstance(site.run("1.2.4", create=True), Promoted)

    found = read_json(site)
    assert found["files"][:2] == before["files"]
    assert len(found["files"]) == 4
    latest = [release["row"] for release in found["releases"]]
    assert [row["is_latest"] for row in latest if isinstance(row, dict)] == [False, True]


@pytest.mark.parametrize("number", range(4))
def test_a_crash_before_any_write_of_releases_json_is_finished_by_a_rerun(number: int) -> None:
    site = a_json_site()
    left = number

    def die(request: str, key: str) -> None:
        nonlocal left
        if left < 0 or (request in {"create", "replace"} and key == NAME):
            left -= 1
        if left < 0:
            raise CrashError

    site.s3.before = die
    with pytest.raises(CrashError):
        site.run(create=True)
    revive(site)

    assert isinstance(site.run(create=True), Promoted)
    found = read_json(site)
    assert len(found["releases"]) == 1
    assert len(found["files"]) == 2
    assert site.forum.posts == 1


def test_releases_json_that_somebody_else_swaps_meanwhile_is_read_again() -> None:
    site = a_json_site()
    site.run(create=True)
    site.open("1.2.4")
    site.stage_all(release="1.2.4")
    swapped = False

    def swap(request: str, key: str) -> None:
        nonlocal swapped
        found = site.s3.public.current(NAME)
        if request == "replace" and key == NAME and not swapped and found is not None:
            swapped = True
            # The same rows with a blank more: another ETag.
            site.s3.public.store(NAME, (found.data or b"") + b"\n", found.delivery)

    site.s3.before = swap

    assert isinstance(site.run("1.2.4", create=True), Promoted)
    assert swapped
    assert len(read_json(site)["files"]) == 4


# --- What all of them keep to ------------------------------------------------------------------------------


@contextmanager
def open_fake() -> Generator[ReleaseDatabase]:
    database = FakeDatabase()
    yield database


@contextmanager
def open_json() -> Generator[ReleaseDatabase]:
    yield ReleasesJson(FakeS3().public, load_cpython())


@contextmanager
def open_real() -> Generator[ReleaseDatabase]:
    with run_release_db(token=TOKEN, key=KEY) as server:
        yield open_db(server, api_key=f"rm:{KEY}")


@pytest.fixture(params=[open_fake, open_json, open_real], ids=["fake", "releases.json", "real"])
def database(request: pytest.FixtureRequest) -> Generator[ReleaseDatabase]:
    with request.param() as database:
        yield database


@pytest.fixture(params=[open_fake, open_real], ids=["fake", "real"])
def strict(request: pytest.FixtureRequest) -> Generator[ReleaseDatabase]:
    with request.param() as database:
        yield database


def add(database: ReleaseDatabase, row: ReleaseRow) -> FoundRelease:
    database.apply(create_release(row))
    found = database.find_release(row.slug)
    assert found is not None
    return found


ROWS = {row.slug: row for row in make_rows("3.14.0b3") if row.os in {"source", "windows", "macos"}}
PLAIN = next(row for row in ROWS.values() if row.os == "windows" and not row.button)
BUTTON = next(row for row in ROWS.values() if row.os == "windows" and row.button)


def test_a_release_is_created_as_a_draft_and_found_by_slug_and_family(database: ReleaseDatabase) -> None:
    row = make_release("3.14.0b3")

    found = add(database, row)

    assert found.row == replace(row, is_published=False, is_latest=False)
    assert database.list_releases(3) == (found,)
    assert database.list_releases(2) == ()
    assert database.find_release("python-3140b4") is None


def test_rows_are_stored_as_they_are_given_and_found_again(database: ReleaseDatabase) -> None:
    release = add(database, make_release("3.14.0b3"))

    database.apply(CreateFile(release.id, PLAIN, beside_button=False))

    (found,) = database.read_files(release.id)
    assert (found.release, found.row) == (release.id, PLAIN)
    assert database.find_file(PLAIN.slug) == found
    assert database.find_file("no-such-file") is None


def test_a_row_is_changed_and_deleted_and_to_delete_it_again_is_no_error(database: ReleaseDatabase) -> None:
    release = add(database, make_release("3.14.0b3"))
    database.apply(CreateFile(release.id, PLAIN, beside_button=False))
    (found,) = database.read_files(release.id)
    after = replace(PLAIN, size=PLAIN.size + 1, description="for the brave")

    database.apply(UpdateFile(release.id, found.id, found.row, after))
    assert [file.row for file in database.read_files(release.id)] == [after]

    for _ in range(2):
        database.apply(DeleteFile(release.id, found.id, after))
    assert database.read_files(release.id) == ()


def test_a_row_that_the_same_plan_creates_is_changed_by_its_slug(database: ReleaseDatabase) -> None:
    release = add(database, make_release("3.14.0b3"))
    without = replace(BUTTON, button=False)
    database.apply(CreateFile(release.id, without, beside_button=False))

    database.apply(UpdateFile(release.id, None, without, BUTTON))

    assert [file.row for file in database.read_files(release.id)] == [BUTTON]


def test_a_row_is_added_beside_a_button(database: ReleaseDatabase) -> None:
    release = add(database, make_release("3.14.0b3"))
    database.apply(CreateFile(release.id, BUTTON, beside_button=False))

    database.apply(CreateFile(release.id, PLAIN, beside_button=True))

    assert {file.row.slug: file.row for file in database.read_files(release.id)} == {
        BUTTON.slug: BUTTON,
        PLAIN.slug: PLAIN,
    }


def test_of_a_family_one_is_the_latest(database: ReleaseDatabase) -> None:
    first = add(database, make_release("3.13.0"))
    database.apply(UpdateRelease(first.id, first.row, replace(first.row, is_published=True, is_latest=True)))
    second = add(database, make_release("3.14.0"))

    database.apply(
        UpdateRelease(second.id, second.row, replace(second.row, is_published=True, is_latest=True))
    )

    rows = {found.row.slug: found.row for found in database.list_releases(3)}
    assert (rows["python-3130"].is_latest, rows["python-3130"].is_published) == (False, True)
    assert rows["python-3140"].is_latest


@pytest.mark.parametrize(
    "row",
    [replace(PLAIN, slug=BUTTON.slug), replace(PLAIN, url=BUTTON.url, sidecars={}), PLAIN],
    ids=["slug", "URL", "beside a button, and not said so"],
)
def test_a_database_with_rules_refuses_what_breaks_them(strict: ReleaseDatabase, row: FileRow) -> None:
    release = add(strict, make_release("3.14.0b3"))
    strict.apply(CreateFile(release.id, BUTTON, beside_button=False))

    with pytest.raises(ListingError):
        strict.apply(CreateFile(release.id, row, beside_button=False))

    assert [file.row for file in strict.read_files(release.id)] == [BUTTON]
