"""Auditing: each fault that is planted in a healthy site is found, and nothing else; nothing is written."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from publisher import cli
from publisher.commands import adopt, audit, index, sidecars, withdraw
from publisher.commands.adopt import AdoptRequest
from publisher.core.digests import Digest, of_bytes
from publisher.core.faults import Weight
from publisher.core.gate import OWNER
from publisher.core.pointers_swap import Member, Swap
from publisher.errors import (
    AccessDeniedError,
    ConfigError,
    EdgeError,
    Exit,
    ListingError,
    PublisherError,
    UsageError,
)
from publisher.outcomes import Amended, Audited, Promoted, Restored, Withdrawn
from publisher.ports import ReleaseDatabase, Seen, Web
from publisher.settings import Settings
from publisher.workflow.world import World
from tests.support.listing_fake import LISTED_PROFILE, SLUG, ListedSite, a_release_row
from tests.support.site import FIRST_RECORD, PKG, RELEASE, TGZ

LATER = "1.2.4"
OLD = "tool/0.9/tool-0.9.tgz"
ODD = "tool/0.9/notes+more.txt"
RECORD = f"_state/records/{RELEASE}/1.json"
PAGE = f"tool/{RELEASE}/index.html"
DAY = timedelta(days=1).total_seconds()


class CrashError(BaseException):
    """The process is gone: nothing of it runs any more, no `finally` can write."""


@dataclass
class Edges:
    """What users see, but for the keys that answer otherwise; `bytes_of` gives other digests."""

    web: Web
    seen: dict[str, Seen | Exception] = field(default_factory=dict[str, "Seen | Exception"])
    bytes_of: dict[str, Digest] = field(default_factory=dict[str, Digest])
    downloaded: list[str] = field(default_factory=list[str])

    def head(self, url: str) -> Seen:
        found = self.seen.get(url.split("/", 3)[3])
        if isinstance(found, Exception):
            raise found
        return found or self.web.head(url)

    def read(self, url: str) -> bytes | None:
        return self.web.read(url)

    def compute_digest(self, url: str) -> Digest:
        self.downloaded.append(url)
        return self.bytes_of.get(url.split("/", 3)[3]) or self.web.compute_digest(url)


@dataclass
class Audits(ListedSite):
    """The site with everything that an audit looks at, and edges that can go wrong."""

    profile_text: bytes = LISTED_PROFILE.replace(b"[pages]\nshow = false\n", b"")
    edges: Edges | None = None

    def world(self, user: str = "rm") -> World:
        world = ListedSite.world(self, user)
        self.edges = self.edges or Edges(world.web)
        return replace(world, web=self.edges)

    def audit(self, *releases: str, deep: bool = False) -> Audited:
        return audit.run(self.world("auditor"), releases, deep=deep)

    def at_edge(self) -> Edges:
        assert self.edges is not None
        return self.edges

    def gate(self, **entries: str) -> None:
        """Put an entry into the gate; `p__x` means `p:x`."""
        named = {name.replace("__", ":"): value for name, value in entries.items()}
        self.s3.gate.set({**self.s3.gate.entries, **named})

    def crash(self, request: str, key: str = "") -> None:
        """Promote the later release until the process dies, just before such a request; its lease expires."""

        def before(name: str, about: str) -> None:
            if name == request and key in about:
                raise CrashError

        self.database.add(a_release_row(f"Tool {LATER}", "tool-124"))
        self.open(LATER)
        self.stage_all(release=LATER)
        self.s3.before = before
        with pytest.raises(CrashError):
            self.run(LATER)
        self.s3.before = lambda name, about: None
        self.s3.tick(600)

    def index(self) -> None:
        """Make the index pages true."""
        index.run(self.world(), ())

    def read(self, key: str) -> bytes:
        found = self.s3.public.current(key)
        assert found
        return found.data or b""

    def store(self, key: str, data: bytes | None) -> None:
        """Write an object of the public bucket by hand, and let the pages tell of it."""
        self.s3.public.store(key, data)
        self.index()

    def expire(self) -> None:
        """Let the store's rules take away what waited."""
        self.s3.public.expire("_pending/")


def a_healthy_site(links: str) -> Audits:
    """Make a site with a promoted release, and an older one that was adopted with an alias to it."""
    site = Audits()
    site.database.add(a_release_row(f"Tool {RELEASE}", SLUG))
    site.open()
    site.stage_all()
    assert isinstance(site.run(), Promoted)
    for key in (OLD, ODD):
        site.s3.public.store(key, b"old " + key.encode(), whole=False)
    site.expire()
    site.index()
    outcome = adopt.run(site.world(), AdoptRequest("tool/0.9", None, dry_run=False))
    assert len(outcome.files) == 2
    adopt.run(site.world(), AdoptRequest(".", links, dry_run=False))
    assert site.s3.gate.entries["a:old"] == "tool/0.9"
    site.s3.tick(600)
    return site


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory) -> Audits:
    links = tmp_path_factory.mktemp("links") / "links"
    links.write_text("old -> tool/0.9\n")
    return a_healthy_site(str(links))


def found(outcome: Audited) -> list[tuple[Weight, str, str]]:
    return [(fault.weight, fault.rule, fault.subject) for fault in outcome.faults]


# --- A healthy site --------------------------------------------------------------------------------------


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("names", [(), (RELEASE,)])
def test_a_healthy_site_has_no_fault(site: Audits, names: tuple[str, ...], *, deep: bool) -> None:
    outcome = site.audit(*names, deep=deep)

    assert outcome.faults == ()
    assert outcome.status is Exit.DONE
    assert (outcome.records, outcome.files) == (1, 2 if names else 4)


def test_it_writes_nothing_and_takes_no_lease(site: Audits) -> None:
    before = dict(site.s3.gate.entries)
    site.s3.writes.clear()

    site.audit(deep=True)

    assert site.s3.writes == []
    assert site.s3.gate.entries == before
    assert site.s3.cdn.invalidated == [] or site.s3.writes == []


def test_only_a_deep_one_downloads_and_from_where_users_do(site: Audits) -> None:
    site.audit()
    assert site.at_edge().downloaded == []

    site.audit(deep=True)

    assert sorted(site.at_edge().downloaded) == sorted(
        f"https://dl.example.org/{key.replace('+', '%2B')}" for key in (TGZ, PKG, OLD, ODD)
    )


def test_what_was_adopted_is_not_read_again_as_long_as_it_is_that_version(site: Audits) -> None:
    streamed: list[str] = []
    site.s3.before = lambda request, key: streamed.append(key) if request == "stream" else None

    site.audit()
    assert streamed == []

    site.s3.public.store(OLD, b"old " + OLD.encode(), whole=False)
    site.s3.before = lambda request, key: streamed.append(key) if request == "stream" else None
    assert ("drift", OLD) not in [(rule, subject) for _, rule, subject in found(site.audit())]
    assert streamed == [OLD]


def test_a_site_of_which_nothing_was_ever_promoted_is_healthy() -> None:
    outcome = Audits().audit()

    assert (outcome.status, outcome.records, outcome.files) == (Exit.DONE, 0, 0)
    assert [rule for _, rule, _ in found(outcome)] == []


def test_a_name_that_is_no_release_is_misuse(site: Audits) -> None:
    with pytest.raises(UsageError, match="expected a version"):
        site.audit("1.x")


def test_what_may_not_be_read_is_an_error_and_never_absent(site: Audits) -> None:
    def before(request: str, key: str) -> None:
        if (request, key) == ("describe", TGZ):
            raise AccessDeniedError("cannot read")

    site.s3.before = before
    with pytest.raises(AccessDeniedError):
        site.audit()


# --- Planted faults --------------------------------------------------------------------------------------


def forget_a_plan(site: Audits) -> None:
    site.crash("update", "s:")
    site.s3.tick(DAY)
    site.expire()
    site.database.files.clear()
    site.run()


def leave_unplaced(site: Audits) -> None:
    site.crash("place", f"tool-{LATER}.pkg")


def leave_unfinished(site: Audits) -> None:
    site.crash("create", f"_state/records/{LATER}")
    site.s3.tick(DAY)
    site.expire()


def lose_the_gate(site: Audits) -> None:
    site.s3.gate.set({key: value for key, value in site.s3.gate.entries.items() if key != OWNER})


def drop_entry(site: Audits, entry: str) -> None:
    site.s3.gate.set({key: value for key, value in site.s3.gate.entries.items() if key != entry})


def forge(site: Audits, data: bytes) -> None:
    """Put another record in place of the stored one, and of its public copy."""
    site.s3.staging.store(RECORD, data)
    site.s3.public.store(FIRST_RECORD, data)


def break_database(site: Audits, error: PublisherError) -> None:
    def connect(world: World) -> ReleaseDatabase:
        raise error

    site.connect = connect


def answer(site: Audits, key: str, seen: Seen | Exception) -> None:
    site.at_edge().seen[key] = seen


FAULTS: dict[str, tuple[Callable[[Audits], object], str, str]] = {
    "a live promotion that is not placed": (leave_unplaced, "unplaced", ""),
    "a live promotion that nobody finishes": (leave_unfinished, "unfinished", ""),
    "a path in the gate": (lambda site: site.gate(p__x="0" * 32), "gate", "p:x"),
    "a finished promotion in the gate": (lambda site: site.gate(s__x="live"), "gate", "s:x"),
    "a withdrawn one that nobody withdrew": (lambda site: site.gate(s__x="withdrawn"), "gate", "s:x"),
    "a promotion's entry that says nothing": (lambda site: site.gate(s__x="soon"), "gate", "s:x"),
    "an alias that nobody made": (lambda site: site.gate(a__x="tool/0.9"), "gate", "a:x"),
    "an alias that leads nowhere": (lambda site: site.gate(a__old="tool/0.8"), "gate", "a:old"),
    "a folder without a page": (lambda site: site.gate(d__x="index"), "gate", "d:x"),
    "an entry of no kind": (lambda site: site.gate(zz="1"), "gate", "zz"),
    "an alias that is gone": (lambda site: drop_entry(site, "a:old"), "alias", "old/"),
    "a gate that was lost": (lose_the_gate, "gate-lost", "owner"),
    "a file that nobody recorded": (
        lambda site: site.store(f"tool/{RELEASE}/tool-{RELEASE}.zip", b"who?"),
        "unrecorded",
        f"tool/{RELEASE}/tool-{RELEASE}.zip",
    ),
    "a file that is gone": (lambda site: site.store(TGZ, None), "missing", TGZ),
    "a file with other bytes": (lambda site: site.store(PKG, b"other"), "drift", PKG),
    "an adopted file that is gone": (lambda site: site.store(ODD, None), "missing", ODD),
    "an adopted file with other bytes": (lambda site: site.store(OLD, b"other"), "drift", OLD),
    "a record that nobody can read": (lambda site: forge(site, b"\xff"), "record", RECORD),
    "a record without a signature": (lambda site: forge(site, b"{}"), "record", RECORD),
    "records that nobody trusts": (
        lambda site: setattr(site.sigstore, "distrusts", True),
        "record",
        RECORD,
    ),
    "a record that is gone": (lambda site: site.s3.staging.expire(RECORD), "record", RECORD),
    "a public record that is gone": (
        lambda site: site.s3.public.store(FIRST_RECORD, None),
        "record-copy",
        FIRST_RECORD,
    ),
    "a public record that is another": (
        lambda site: site.s3.public.store(FIRST_RECORD, b"{}"),
        "record-copy",
        FIRST_RECORD,
    ),
    "a URL that is a miss": (lambda site: answer(site, TGZ, Seen(404, 0, None)), "url", TGZ),
    "a URL of another size": (lambda site: answer(site, TGZ, Seen(200, 1, None)), "url", TGZ),
    "a URL without an answer": (lambda site: answer(site, TGZ, EdgeError("no answer")), "url", TGZ),
    "a listing without the release": (lambda site: site.database.releases.clear(), "listing", RELEASE),
    "a listing without the files": (lambda site: site.database.files.clear(), "listing", RELEASE),
    "a page that is gone": (lambda site: site.s3.public.store(PAGE, None), "index", PAGE),
    "a page that is not true": (
        lambda site: site.s3.public.store(PAGE, site.read(PAGE).replace(b"tool-1.2.3.tgz", b"tool.tgz")),
        "index",
        PAGE,
    ),
    "a page that its folder does not lead to": (lambda site: drop_entry(site, "d:tool"), "index", "tool/"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_and_nothing_else(site: Audits, name: str) -> None:
    plant, rule, subject = FAULTS[name]
    plant(site)

    outcome = site.audit()

    assert len(found(outcome)) == 1, outcome.faults
    [(weight, *what)] = found(outcome)
    assert (weight, *what) == (Weight.FAULT, rule, subject or what[1])
    assert outcome.status is Exit.REFUSED
    [fault] = outcome.faults
    assert fault.found
    assert fault.expected
    assert fault.cure


def test_a_plan_that_never_went_live_is_a_warning(site: Audits) -> None:
    site.crash("update", "s:")
    site.s3.gate.set({key: value for key, value in site.s3.gate.entries.items() if not key.startswith("p:")})
    site.expire()
    assert site.audit().faults == ()

    site.s3.tick(DAY)
    outcome = site.audit()

    [(weight, rule, _)] = found(outcome)
    assert (weight, rule) == (Weight.WARNING, "planned")
    assert outcome.status is Exit.DONE


def test_what_a_planned_promotion_has_in_the_gate_is_explained(site: Audits) -> None:
    site.crash("update", "s:")

    assert any(key.startswith("p:") for key in site.s3.gate.entries)
    assert site.audit().faults == ()


def test_a_promotion_under_way_is_no_fault(site: Audits) -> None:
    audited: list[Audited] = []

    def before(request: str, key: str) -> None:
        if request == "place" and not audited:
            site.s3.before = lambda request, key: None
            audited.append(site.audit())

    site.database.add(a_release_row(f"Tool {LATER}", "tool-124"))
    site.open(LATER)
    site.stage_all(release=LATER)
    site.s3.before = before
    assert isinstance(site.run(LATER), Promoted)

    assert audited[0].faults == ()


def count_requests(site: Audits) -> int:
    seen: list[str] = []
    site.s3.before = lambda request, key: seen.append(request)
    site.audit()
    site.s3.before = lambda request, key: None
    return len(seen)


@pytest.mark.parametrize("part", range(8))
def test_a_promotion_at_any_moment_of_an_audit_is_no_fault(tmp_path: Path, part: int) -> None:
    links = tmp_path / "links"
    links.write_text("old -> tool/0.9\n")
    requests = count_requests(a_healthy_site(str(links)))
    assert requests > 50
    for moment in range(part, requests, 8):
        site = a_healthy_site(str(links))
        site.database.add(a_release_row(f"Tool {LATER}", "tool-124"))
        site.open(LATER)
        site.stage_all(release=LATER)
        left = [moment]

        def before(request: str, key: str, site: Audits = site, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == -1:
                assert isinstance(site.run(LATER), Promoted)

        site.s3.before = before
        outcome = site.audit()

        assert left[0] < 0
        assert [fault for fault in outcome.faults if fault.weight is not Weight.NOTE] == [], moment


@pytest.mark.parametrize("part", range(8))
def test_an_audit_at_any_moment_of_a_promotion_finds_no_fault(tmp_path: Path, part: int) -> None:
    links = tmp_path / "links"
    links.write_text("old -> tool/0.9\n")
    site = a_healthy_site(str(links))
    site.database.add(a_release_row(f"Tool {LATER}", "tool-124"))
    site.open(LATER)
    site.stage_all(release=LATER)
    moments: list[int] = []
    found: list[tuple[int, Audited]] = []

    def before(request: str, key: str) -> None:
        moments.append(len(moments))
        if moments[-1] % 8 == part:
            site.s3.before = lambda request, key: None
            found.append((moments[-1], site.audit()))
            site.s3.before = before

    site.s3.before = before
    assert isinstance(site.run(LATER), Promoted)

    assert len(moments) > 200
    for moment, outcome in found:
        assert [fault for fault in outcome.faults if fault.weight is Weight.FAULT] == [], moment


def test_a_promotion_that_broke_off_just_now_is_a_warning(site: Audits) -> None:
    site.crash("create", f"_state/records/{LATER}")

    [(weight, rule, _)] = found(site.audit())
    assert (weight, rule) == (Weight.WARNING, "unfinished")
    assert site.audit(RELEASE).faults == ()
    assert [rule for _, rule, _ in found(site.audit(LATER))] == ["unfinished"]


def test_it_is_healthy_again_once_that_is_finished(site: Audits) -> None:
    site.crash("place", f"tool-{LATER}.pkg")
    assert site.audit().status is Exit.REFUSED

    site.run(LATER)
    site.expire()

    assert site.audit(deep=True).faults == ()


def test_a_named_release_is_audited_alone(site: Audits) -> None:
    site.gate(p__x="0" * 32)
    site.store(OLD, b"other")
    site.s3.public.store(PAGE, None)
    site.s3.public.store("tool/index.html", b"")
    site.s3.public.store("tool/0.9/index.html", None)

    assert found(site.audit(RELEASE)) == [(Weight.FAULT, "index", PAGE)]


@pytest.mark.parametrize(
    "error", [ConfigError("PUBLISHER_LISTING_TOKEN is not set"), ListingError("no answer")]
)
def test_a_listing_that_nobody_could_look_at_is_a_warning(site: Audits, error: PublisherError) -> None:
    break_database(site, error)

    outcome = site.audit()

    assert found(outcome) == [(Weight.WARNING, "listing", RELEASE)]
    assert outcome.faults[0].found == str(error)
    assert outcome.status is Exit.DONE


def test_a_listing_that_was_given_up_on_record_is_a_warning() -> None:
    site = Audits()
    site.open()
    site.stage_all()
    site.run(given_up={"listing": "the site is down", "announce": "the same"})
    site.expire()

    assert found(site.audit()) == [(Weight.WARNING, "listing", RELEASE)]


def test_what_is_older_than_the_gate_is_counted_and_is_no_fault(site: Audits) -> None:
    site.store("tool/0.8/a.txt", b"a")
    site.store("tool/0.8/b.txt", b"b")
    site.s3.public.store("tool/0.8/index.html", b"<title>somebody's own page</title>")
    site.index()

    outcome = site.audit()

    assert found(outcome) == [(Weight.NOTE, "older", "objects older than the gate")]
    assert outcome.faults[0].found.startswith("3 that no record names: tool/0.8/a.txt, ")
    assert outcome.status is Exit.DONE


def test_what_was_public_before_a_late_file_of_its_release_is_told_until_it_is_adopted(site: Audits) -> None:
    site.store(f"{TGZ}.spdx.json", b"older than the gate")
    assert found(site.audit()) == [(Weight.FAULT, "unrecorded", f"{TGZ}.spdx.json")]

    adopt.run(site.world(), AdoptRequest(f"tool/{RELEASE}", None, dry_run=False))
    assert site.audit().faults == ()


def test_copies_that_waited_for_what_has_ended_are_counted_and_are_no_fault(site: Audits) -> None:
    site.s3.public.store("_pending/0/tool/a", b"a")

    assert found(site.audit()) == [(Weight.NOTE, "pending", "_pending/")]


def test_other_bytes_at_a_url_are_found_by_a_deep_audit_alone(site: Audits) -> None:
    site.audit()
    site.at_edge().bytes_of[TGZ] = Digest("0" * 64)

    assert site.audit().faults == ()
    assert found(site.audit(deep=True)) == [(Weight.FAULT, "url", TGZ)]


def test_an_etag_that_differs_is_settled_by_the_bytes(site: Audits) -> None:
    site.audit()
    current = site.s3.public.current(TGZ)
    assert current
    size = len(current.data or b"")
    site.at_edge().seen[TGZ] = Seen(200, size, '"made by a cache"')
    assert site.audit().faults == ()

    site.at_edge().bytes_of[TGZ] = Digest("0" * 64)
    assert found(site.audit()) == [(Weight.FAULT, "url", TGZ)]


def test_an_amended_sidecar_is_what_its_last_record_says(site: Audits, tmp_path: Path) -> None:
    key = f"{TGZ}.spdx.json"
    amendable = b'suffix = ".spdx.json", class = "amendable",'
    site.profile_text = site.profile_text.replace(b'suffix = ".spdx.json",', amendable)
    site.stage("linux", {key: b"first"})
    site.hand_over("linux")
    assert isinstance(site.run(), Promoted)
    path = tmp_path / Path(key).name
    path.write_bytes(b"repaired")
    assert isinstance(sidecars.run_amend(site.world(), RELEASE, str(path), "a slip"), Amended)
    site.expire()
    site.index()

    outcome = site.audit(deep=True)
    assert (outcome.faults, outcome.records) == ((), 3)

    site.store(key, b"first")
    assert found(site.audit()) == [(Weight.FAULT, "drift", key)]


def test_a_record_of_what_is_no_release_any_more_is_found(site: Audits) -> None:
    stored = site.s3.staging.current(RECORD)
    assert stored
    site.s3.staging.store("_state/records/old-name/1.json", stored.data)

    assert found(site.audit()) == [(Weight.FAULT, "record", "_state/records/old-name/1.json")]


def test_records_that_stay_in_the_staging_bucket_have_no_copy(site: Audits) -> None:
    site.s3.public.store(FIRST_RECORD, None)
    site.profile_text = site.profile_text.replace(
        b'[record]\nkey = "tool/{release}/tool-{release}.record-{number}.json"\n', b""
    )

    assert site.audit().faults == ()


def test_a_site_without_pages_or_listing_is_not_asked_for_them(site: Audits) -> None:
    site.profile_text = LISTED_PROFILE
    site.s3.public.store(PAGE, None)
    drop_entry(site, f"d:tool/{RELEASE}")
    assert site.audit().faults == ()

    outcome = audit.run(replace(site.world(), database=None), (), deep=False)
    assert outcome.faults == ()


# --- Withdrawals -----------------------------------------------------------------------------------------


def a_withdrawal(site: Audits, *, unlist: bool = False) -> None:
    request = withdraw.WithdrawRequest(RELEASE, (PKG,), "it does not start", unlist)
    assert isinstance(withdraw.run_withdraw(site.world(), request, lambda preview: True), Withdrawn)
    site.s3.tick(600)


@pytest.mark.parametrize("unlist", [False, True])
def test_what_is_withdrawn_as_it_should_be_is_healthy(site: Audits, *, unlist: bool) -> None:
    a_withdrawal(site, unlist=unlist)

    assert site.audit(deep=True).faults == ()
    assert site.audit(RELEASE).faults == ()


def test_what_is_restored_as_it_should_be_is_healthy(site: Audits) -> None:
    a_withdrawal(site)
    assert isinstance(
        withdraw.run_restore(site.world(), RELEASE, "it does start", lambda preview: True), Restored
    )

    assert site.audit(deep=True).faults == ()


@pytest.mark.parametrize("seen", [Seen(200, 1, None), Seen(404, 0, None), EdgeError("no answer")])
def test_what_is_withdrawn_and_does_not_say_so_is_found(site: Audits, seen: Seen | EdgeError) -> None:
    a_withdrawal(site)
    answer(site, PKG, seen)

    assert found(site.audit()) == [(Weight.FAULT, "withdrawn", PKG)]


def test_a_file_that_was_withdrawn_before_it_was_placed_is_not_missed(site: Audits) -> None:
    a_withdrawal(site)
    site.store(PKG, None)

    assert site.audit().faults == ()


def test_other_bytes_of_what_is_withdrawn_are_drift(site: Audits) -> None:
    a_withdrawal(site)
    site.store(PKG, b"other")

    assert found(site.audit()) == [(Weight.FAULT, "drift", PKG)]


def test_a_withdrawal_without_its_record_is_found(site: Audits) -> None:
    a_withdrawal(site)
    site.s3.staging.expire(f"_state/records/{RELEASE}/2.json")

    assert found(site.audit()) == [(Weight.FAULT, "record", f"_state/records/{RELEASE}/2.json")]


@pytest.mark.parametrize(("seconds", "weight"), [(600, Weight.WARNING), (2 * DAY, Weight.FAULT)])
def test_a_withdrawal_that_broke_off_is_found(site: Audits, seconds: float, weight: Weight) -> None:
    def before(request: str, key: str) -> None:
        if request == "create" and "/records/" in key:
            raise CrashError

    site.s3.before = before
    with pytest.raises(CrashError):
        a_withdrawal(site)
    site.s3.before = lambda request, key: None
    site.s3.tick(seconds)

    [(found_weight, rule, _)] = found(site.audit())
    assert (found_weight, rule) == (weight, "unfinished")


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("unlist", [False, True])
def test_an_audit_at_any_moment_of_a_withdrawal_or_of_taking_it_back_finds_no_fault(
    site: Audits,
    part: int,
    *,
    unlist: bool,
) -> None:
    moments: list[int] = []
    found: list[tuple[int, Audited]] = []

    def before(request: str, key: str) -> None:
        moments.append(len(moments))
        if moments[-1] % 4 == part:
            site.s3.before = lambda request, key: None
            found.append((moments[-1], site.audit()))
            site.s3.before = before

    site.s3.before = before
    a_withdrawal(site, unlist=unlist)
    withdraw.run_restore(site.world(), RELEASE, "it does start", lambda preview: True)

    assert len(moments) > 200
    for moment, outcome in found:
        assert [fault for fault in outcome.faults if fault.weight is Weight.FAULT] == [], moment


def test_a_withdrawal_under_way_is_no_fault(site: Audits) -> None:
    audited: list[Audited] = []

    def before(request: str, key: str) -> None:
        if request == "create" and "/records/" in key and not audited:
            site.s3.before = lambda request, key: None
            audited.append(site.audit())

    site.s3.before = before
    a_withdrawal(site)

    assert audited[0].faults == ()


def test_a_release_that_is_withdrawn_as_a_whole_is_healthy(site: Audits) -> None:
    request = withdraw.WithdrawRequest(RELEASE, (), "the wrong branch")
    assert isinstance(withdraw.run_withdraw(site.world(), request, lambda preview: True), Withdrawn)
    site.s3.tick(600)

    assert site.audit(deep=True).faults == ()


# --- Mutable files and aliases of the profile ------------------------------------------------------------


INDEX = "index-mac.json"
SWAP = Swap("mac", (RELEASE,), (Member(INDEX, None, of_bytes(b"new")),))


def a_site_with_pointers(site: Audits, data: bytes | None) -> None:
    """Let the profile have a mutable file and an alias, and swap that file once."""
    site.profile_text = site.profile_text.replace(b"[classes]\n", b'[classes]\nlisting = "max-age=60"\n')
    site.profile_text += b"""
[[pointer]]
name = "mac"
role = "mac"
files = ["index-mac.json"]
class = "listing"

[[alias]]
name = "tool/latest/"
to = "tool/{release}/"
kinds = ["final"]
"""
    site.world().state.extend_history(SWAP)
    site.store(INDEX, data)


def test_a_mutable_file_and_an_alias_as_the_profile_has_them_are_healthy(site: Audits) -> None:
    a_site_with_pointers(site, b"new")
    site.gate(**{"a__tool/latest": f"tool/{RELEASE}"})

    assert site.audit(deep=True).faults == ()


@pytest.mark.parametrize(("data", "rule"), [(b"old", "drift"), (None, "missing")])
def test_a_mutable_file_that_is_not_what_was_swapped_in_is_found(
    site: Audits, data: bytes | None, rule: str
) -> None:
    a_site_with_pointers(site, data)

    assert found(site.audit()) == [(Weight.FAULT, rule, INDEX)]


def test_a_mutable_file_that_was_never_swapped_is_older_than_the_gate_and_left_alone(site: Audits) -> None:
    a_site_with_pointers(site, b"new")
    site.s3.staging.expire("_state/pointers/")

    assert site.audit().faults == ()


def test_an_alias_that_no_rule_makes_is_found(site: Audits) -> None:
    a_site_with_pointers(site, b"new")
    site.gate(**{"a__tool/newest": f"tool/{RELEASE}"})

    assert found(site.audit()) == [(Weight.FAULT, "gate", "a:tool/newest")]


def test_a_file_that_goes_while_it_is_looked_at_is_missing(site: Audits) -> None:
    def before(request: str, key: str) -> None:
        if (request, key) == ("describe", TGZ):
            site.s3.public.store(TGZ, None)
            site.s3.before = lambda request, key: None

    site.s3.before = before
    assert (Weight.FAULT, "missing", TGZ) in found(site.audit())


# --- What people and schedulers see ----------------------------------------------------------------------


def invoke(site: Audits, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = cli.run(["audit", *words], Settings(connect=lambda _: site.world("auditor")))
    return status, capsys.readouterr().out


def test_a_scheduler_gets_every_fault_as_json(site: Audits, capsys: pytest.CaptureFixture[str]) -> None:
    site.store("tool/0.9/\x1b[31m", b"x")
    site.gate(p__x="0" * 32)

    status, out = invoke(site, capsys, "--json", "--deep")

    answer = json.loads(out)
    assert (status, answer["exit"], answer["result"]) == (3, 3, "audited")
    assert (answer["releases"], answer["records"], answer["files"], answer["deep"]) == ([], 1, 4, True)
    assert [(fault["weight"], fault["rule"], fault["subject"]) for fault in answer["faults"]] == [
        ("fault", "gate", "p:x"),
        ("note", "older", "objects older than the gate"),
    ]
    assert {"found", "expected", "next"} < answer["faults"][0].keys()


def test_people_get_a_summary_and_what_to_do(site: Audits, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(site, capsys) == (
        0,
        "audit of the whole site: 4 files looked at, 1 record; nothing found\n",
    )
    assert invoke(site, capsys, "--quiet") == (0, "")

    for key in (TGZ, PKG):
        site.s3.public.store(key, None)
    site.store("tool/0.9/\x1b[31m", b"x")
    status, out = invoke(site, capsys)

    assert status == 3
    assert out.startswith("audit of the whole site: 4 files looked at, 1 record; 2 faults, 1 note\n")
    assert f"  fault missing {PKG}\n    found    no such public object\n" in out
    assert "    next     ops restores it from the bucket's versions\n" in out
    assert "\\x1b[31m" in out
    assert "\x1b" not in out
