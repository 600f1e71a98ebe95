"""Withdrawing public files and taking it back: asked for, seen through every cache, listed, on record."""

import io
import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from publisher import cli
from publisher.commands import announce, listing, promote, sidecars, sign, verify
from publisher.commands.gate import run_rebuild
from publisher.commands.open import run_open, run_respin
from publisher.commands.status import run as run_status
from publisher.commands.withdraw import WithdrawRequest, run_restore, run_withdraw
from publisher.core.digests import Digest
from publisher.core.gate import OWNER
from publisher.core.lease import SECONDS
from publisher.core.refusals import WAIVABLE, Waiver
from publisher.core.status import Stage
from publisher.core.withdrawals import Preview
from publisher.documents.statement import extract_payload
from publisher.errors import EdgeError, Exit, LeaseError, PublisherError, UnfinishedError, UsageError
from publisher.outcomes import Declined, Outcome, Promoted, Refused, Restored, Verified, Withdrawn
from publisher.ports import Seen, Web
from publisher.settings import Settings
from publisher.workflow.lease import hold_lease
from publisher.workflow.world import World
from tests.support.listing_fake import SLUG, a_listed_site, a_release_row, url
from tests.support.sigstore_fake import RM, Identity, sign_openpgp
from tests.support.site import (
    COMMIT,
    KEY,
    PKG,
    PROFILE,
    RELEASE,
    TGZ,
    Site,
    a_signing_site,
    expected_public,
    say_yes,
)

GONE = 410
SBOM = f"{TGZ}.spdx.json"
OTHER = "1.3.0"
WITH_PAGES = PROFILE.replace(b"[pages]\nshow = false\n", b"")


class CrashError(BaseException):
    """The process is gone."""


def yes(preview: Preview) -> bool:
    _ = preview
    return True


def withdraw(
    site: Site,
    *keys: str,
    unlist: bool = False,
    world: World | None = None,
    confirm: Callable[[Preview], bool] = yes,
) -> Outcome:
    request = WithdrawRequest(RELEASE, keys, "a fault", unlist)
    return run_withdraw(world or site.world(), request, confirm)


def restore(site: Site, confirm: Callable[[Preview], bool] = yes) -> Outcome:
    return run_restore(site.world(), RELEASE, "no fault", confirm)


def a_public_site(site: Site | None = None) -> Site:
    site = site or Site()
    site.open()
    site.stage_all()
    site.stage("linux", {SBOM: b"{}"})
    site.hand_over("linux")
    assert isinstance(site.promote(), Promoted)
    return site


def crash_at(site: Site, wanted: str, beginning: str, command: Callable[[], Outcome]) -> None:
    """Let a command die before a request, and its lease expire."""
    dead = False

    def die(request: str, key: str) -> None:
        nonlocal dead
        dead = dead or (request == wanted and key.startswith(beginning))
        if dead:
            raise CrashError

    site.s3.before = die
    with pytest.raises(CrashError):
        command()
    site.s3.before = lambda request, key: None
    site.s3.tick(121)


def a_live_site(*releases: str) -> Site:
    """Make a site with a promotion that died after it went live."""
    site = Site()
    for release in (RELEASE, *releases):
        site.open(release)
        site.stage_all(release=release)
    crash_at(site, "place", "", lambda: site.promote(RELEASE, *releases))
    return site


def status(site: Site, key: str) -> int:
    web = site.s3.web
    return GONE if web.is_gone(key) else 200 if web.find(key) else 404


def statuses(site: Site) -> dict[str, int]:
    return {key: status(site, key) for key in (PKG, TGZ, SBOM)}


def rules(outcome: Outcome) -> list[tuple[str, str]]:
    assert isinstance(outcome, Refused)
    assert outcome.status is Exit.REFUSED
    return [(refusal.rule, refusal.subject) for refusal in outcome.refusals]


def read_predicates(site: Site) -> list[dict[str, Any]]:
    records = site.stored_records().items()
    return [json.loads(extract_payload(data, name)) for name, data in sorted(records)]


def check_gate(site: Site, outcome: Withdrawn) -> None:
    """Check that the gate has nothing but what hides the files of the one withdrawal."""
    (id_,) = outcome.withdrawals
    wanted = {**{f"p:{key}": id_ for key in outcome.keys}, f"s:{id_}": "withdrawn"}
    assert {key: value for key, value in site.s3.gate.entries.items() if key != OWNER} == wanted


# --- What is asked for -----------------------------------------------------------------------------------


def test_a_release_is_gone_in_one_step_and_comes_back_in_one() -> None:
    site = a_public_site()
    seen: list[set[int]] = []
    site.s3.before = lambda request, key: seen.append(set(statuses(site).values()))

    outcome = withdraw(site)

    assert isinstance(outcome, Withdrawn)
    assert outcome.keys == (PKG, TGZ, SBOM)
    assert (outcome.changed, outcome.unlist, outcome.ended) == (True, False, ())
    (withdrawal,) = outcome.withdrawals
    check_gate(site, outcome)
    assert [found for found, before in zip(seen, [set[int](), *seen], strict=False) if found != before] == [
        {200},
        {GONE},
    ]
    seen.clear()

    back = restore(site)

    assert isinstance(back, Restored)
    assert (back.withdrawals, back.keys, back.changed) == ((withdrawal,), (PKG, TGZ, SBOM), True)
    assert [found for found, before in zip(seen, [set[int](), *seen], strict=False) if found != before] == [
        {GONE},
        {200},
    ]
    assert set(site.s3.gate.entries) == {OWNER}


def test_bytes_and_versions_stay_where_they_are() -> None:
    site = a_public_site()
    before = {key: list(versions) for key, versions in site.s3.public.versions.items()}

    withdraw(site)

    after = site.s3.public.versions
    assert {key: after[key] for key in before} == before
    assert all(".record-" in key for key in after.keys() - before.keys())


def test_what_is_withdrawn_is_written_down_before_the_gate_hides_it_and_recorded_after() -> None:
    site = a_public_site()
    site.s3.writes.clear()

    outcome = withdraw(site)

    assert isinstance(outcome, Withdrawn)
    (id_,) = outcome.withdrawals
    names = [name for _, name in site.s3.writes if "lease" not in name and name != "gate/owner"]
    folder = f"staging/_state/withdrawals/{RELEASE}/{id_}"
    assert names == [
        f"{folder}/withdrawal.json",
        f"gate/{','.join(f'p:{key}' for key in (PKG, TGZ, SBOM))}",
        f"gate/s:{id_}",
        f"staging/_state/records/{RELEASE}/2.json",
        f"public/tool/{RELEASE}/tool-{RELEASE}.record-2.json",
        f"{folder}/done.json",
    ]


def test_the_lag_is_waited_for_between_the_keys_and_the_step_and_after_it() -> None:
    site = a_public_site()
    times: dict[str, float] = {}

    def note(request: str, key: str) -> None:
        times.setdefault(f"{request} {key[:2]}", site.s3.clock_seconds())

    site.s3.before = note
    lag = site.world().times.lag

    withdraw(site)

    assert times["update s:"] - times["update p:"] >= lag
    assert times["invalidate 00"] - times["update s:"] >= lag


def test_a_second_run_has_nothing_to_do_and_asks_nobody() -> None:
    site = a_public_site()
    first = withdraw(site)
    site.s3.writes.clear()

    again = withdraw(site, confirm=lambda preview: pytest.fail("it asks"))

    assert isinstance(first, Withdrawn)
    assert again == replace(first, changed=False)
    assert site.s3.writes == []
    restore(site)
    site.s3.writes.clear()
    assert restore(site, confirm=lambda preview: pytest.fail("it asks")) == Restored(
        RELEASE, (), (), changed=False
    )
    assert site.s3.writes == []


def test_one_file_goes_with_its_sidecars_and_the_others_stay() -> None:
    site = a_public_site()

    outcome = withdraw(site, f"tool-{RELEASE}.tgz")

    assert isinstance(outcome, Withdrawn)
    assert outcome.keys == (TGZ, SBOM)
    assert statuses(site) == {PKG: 200, TGZ: GONE, SBOM: GONE}
    rest = withdraw(site)
    assert isinstance(rest, Withdrawn)
    assert rest.keys == (PKG,)
    assert set(statuses(site).values()) == {GONE}
    assert [found["predicate"]["number"] for found in read_predicates(site)] == [1, 2, 3]
    restored = restore(site)
    assert isinstance(restored, Restored)
    assert len(restored.withdrawals) == 2
    assert set(statuses(site).values()) == {200}
    assert [found["predicate"]["number"] for found in read_predicates(site)] == [1, 2, 3, 4, 5]
    assert site.public_records() == site.stored_records()


def test_what_is_to_be_done_is_shown_before_anything_is_written() -> None:
    site = a_live_site()
    site.s3.writes.clear()
    shown: list[Preview] = []

    outcome = withdraw(site, confirm=lambda preview: bool(shown.append(preview)))

    assert outcome == Declined()
    assert site.s3.writes == []
    (preview,) = shown
    assert {file.key for file in preview.files} == {PKG, TGZ}
    assert list(preview.ends) == list(site.live())
    assert (preview.restore, preview.unlist, preview.reason) == (False, False, "a fault")


def test_a_restoration_that_is_declined_writes_nothing() -> None:
    site = a_public_site()
    withdraw(site)
    site.s3.writes.clear()

    assert restore(site, confirm=lambda preview: not preview.restore) == Declined()
    assert site.s3.writes == []


@pytest.mark.parametrize("command", [withdraw, restore])
def test_a_reason_is_needed(command: Callable[[Site], Outcome]) -> None:
    _ = command
    world = a_public_site().world()

    with pytest.raises(UsageError, match="empty reason"):
        run_withdraw(world, WithdrawRequest(RELEASE, (), "  "), yes)
    with pytest.raises(UsageError, match="empty reason"):
        run_restore(world, RELEASE, "  ", yes)


def test_names_that_mean_nothing_or_several_files_are_misuse() -> None:
    site = a_public_site()

    with pytest.raises(UsageError, match=r"found tool-1\.2\.3\.tgx, expected a public file") as caught:
        withdraw(site, f"tool-{RELEASE}.tgx")
    assert caught.value.next_step == f"did you mean tool-{RELEASE}.tgz?"
    with pytest.raises(UsageError) as caught:
        withdraw(site, "zzzzzzzz")
    assert caught.value.next_step.startswith("a public key")
    with pytest.raises(UsageError, match="nonsense"):
        run_withdraw(site.world(), WithdrawRequest("nonsense", (), "x"), yes)


def test_a_name_that_fits_several_files_is_misuse() -> None:
    text = PROFILE.replace(
        b'role = "mac"\n',
        b'role = "mac"\n\n[[artifact]]\nkey = "tool/{release}/old/tool-{release}.pkg"\nrole = "mac"\n',
    )
    site = Site(profile_text=text)
    site.open()
    site.stage("mac", {f"tool/{RELEASE}/old/tool-{RELEASE}.pkg": b"old"})
    site.stage_all()
    assert isinstance(site.promote(), Promoted)

    with pytest.raises(UsageError, match="which is any of"):
        withdraw(site, f"tool-{RELEASE}.pkg")
    assert isinstance(withdraw(site, PKG), Withdrawn)


@pytest.mark.parametrize("keys", [(), (TGZ,)])
def test_what_was_never_public_is_refused(keys: tuple[str, ...]) -> None:
    site = Site()
    site.open()
    site.stage_all()
    site.s3.writes.clear()

    assert rules(withdraw(site, *keys)) == [("not-public", RELEASE)]
    assert site.s3.writes == []


def test_files_that_nobody_promoted_but_the_profile_knows_can_be_withdrawn() -> None:
    site = Site()
    site.s3.public.store(TGZ, b"older than the gate")

    outcome = withdraw(site)

    assert isinstance(outcome, Withdrawn)
    assert outcome.keys == (TGZ,)
    assert status(site, TGZ) == GONE


# --- Over a promotion ------------------------------------------------------------------------------------


def test_a_live_promotion_is_placed_ended_and_recorded() -> None:
    site = a_live_site()

    outcome = withdraw(site)

    assert isinstance(outcome, Withdrawn)
    assert set(outcome.ended) == site.live() - set(outcome.withdrawals)
    assert site.public() == expected_public()
    assert {status(site, key) for key in (PKG, TGZ)} == {GONE}
    check_gate(site, outcome)
    record, withdrawal = (found["predicate"] for found in read_predicates(site))
    assert set(record["given_up"]) >= {"listing", "announce", "pages", "look"}
    assert set(record["given_up"].values()) == {"withdrawn: a fault"}
    assert withdrawal["promotions"] == withdrawal["whole"] == list(outcome.ended)
    assert withdrawal["reason"] == "a fault"


def test_a_promotion_that_a_withdrawal_has_ended_is_not_finished_by_promoting() -> None:
    site = a_listed_site()
    crash_at(site, "place", "", site.run)
    crash_at(site, "update", "s:", lambda: withdraw(site))
    assert {status(site, key) for key in (PKG, TGZ)} == {200}
    site.s3.writes.clear()

    outcome = site.run()

    assert isinstance(outcome, Refused)
    assert (rules(outcome), outcome.finished) == ([("withdrawn", RELEASE)], ())
    assert (site.s3.writes, site.database.writes, site.forum.posts) == ([], [], 0)
    assert isinstance(withdraw(site), Withdrawn)
    assert (site.database.rows(SLUG), site.forum.posts) == ({}, 0)


def test_edges_forget_what_was_missing_before_it_is_shown_again() -> None:
    site = a_public_site()
    withdraw(site)
    seen: list[str] = []
    site.s3.before = lambda request, key: seen.append(f"{request} {key[:3]}")

    restore(site)

    assert seen.index("invalidate 000") < seen.index("wait 000") < seen.index("update -s:")


def test_of_a_live_promotion_that_is_withdrawn_in_part_the_rest_is_served_and_recorded() -> None:
    site = a_live_site()
    seen: list[bool] = []
    site.s3.before = lambda request, key: seen.append(status(site, PKG) == 200)

    outcome = withdraw(site, TGZ)

    assert isinstance(outcome, Withdrawn)
    assert all(seen), "a file that stays blinked"
    assert (status(site, TGZ), status(site, PKG)) == (GONE, 200)
    assert not any(value == "live" for value in site.s3.gate.entries.values())
    assert read_predicates(site)[1]["predicate"]["whole"] == []


def test_the_lease_of_a_promotion_is_taken_over_and_that_run_ends_with_4() -> None:
    site = Site()
    site.open()
    site.stage_all()
    outcomes: list[Outcome] = []

    def intervene(request: str, key: str) -> None:
        if request == "place" and not outcomes:
            outcomes.append(Declined())
            outcomes[0] = run_withdraw(site.world("bob"), WithdrawRequest(RELEASE, (), "a fault"), yes)

    site.s3.before = intervene
    with pytest.raises(UnfinishedError, match="the lease was lost") as caught:
        site.promote()

    assert caught.value.exit_status is Exit.UNFINISHED
    assert isinstance(outcomes[0], Withdrawn)
    assert any("taken over from" in warning for warning in site.observer.warnings)
    assert {status(site, key) for key in (PKG, TGZ)} == {GONE}
    assert rules(site.promote()) == [("withdrawn", RELEASE)]


def test_the_lease_of_another_withdrawal_is_respected() -> None:
    site = a_public_site()

    with hold_lease(site.world("ann"), f"withdraw {OTHER}"), pytest.raises(LeaseError, match="user/ann"):
        withdraw(site)

    assert set(statuses(site).values()) == {200}
    assert isinstance(withdraw(site), Withdrawn)


@pytest.mark.parametrize("command", [withdraw, restore])
def test_who_slept_and_lost_the_lease_writes_nothing_down(command: Callable[[Site], Outcome]) -> None:
    site = a_public_site()
    if command is restore:
        withdraw(site)
    before = statuses(site)

    def sleep(request: str, key: str) -> None:
        if request == "now":
            site.s3.before = lambda request, key: None
            site.s3.tick(SECONDS)
            with hold_lease(site.world("ann"), f"promote {OTHER}"):
                site.s3.writes.clear()

    site.s3.before = sleep
    with pytest.raises(PublisherError, match="the lease was lost"):
        command(site)

    assert not any("_state/withdrawals" in name for _, name in site.s3.writes)
    assert statuses(site) == before
    assert command(site).status is Exit.DONE


def test_a_restoration_takes_nobodys_lease() -> None:
    site = a_public_site()
    withdraw(site)

    with hold_lease(site.world("ann"), f"promote {OTHER}"), pytest.raises(LeaseError, match="user/ann"):
        restore(site)

    assert set(statuses(site).values()) == {GONE}


def test_other_releases_of_a_promotion_that_ended_stay_public_and_are_pointed_out() -> None:
    site = a_live_site(OTHER)

    outcome = withdraw(site)

    assert isinstance(outcome, Withdrawn)
    assert {status(site, key) for key in (PKG, TGZ)} == {GONE}
    assert {status(site, key) for key in expected_public(release=OTHER)} == {200}
    assert any(OTHER in warning and "ended" in warning for warning in site.observer.warnings)
    assert set(site.stored_records()) == {f"{RELEASE}/1", f"{RELEASE}/2", f"{OTHER}/1"}
    again = site.promote(OTHER)
    assert isinstance(again, Promoted)
    assert again.plan is None


# --- Caches ----------------------------------------------------------------------------------------------


@dataclass
class OuterCache:
    """A cache before the CDN that keeps whatever it has seen, until it is told to forget that very URL.

    Some answers that were on their way while it was told are kept all the same: `slow` of them.
    """

    web: Web
    slow: int = 0
    kept: dict[str, Seen] = field(default_factory=dict[str, Seen])
    purged: list[str] = field(default_factory=list[str])
    deaf: bool = False

    def head(self, url: str) -> Seen:
        if "dl.example.org" not in url:
            return self.web.head(url)
        return self.kept.setdefault(url, self.web.head(url))

    def read(self, url: str) -> bytes | None:
        return self.web.read(url)

    def compute_digest(self, url: str) -> Digest:
        return self.web.compute_digest(url)

    def purge(self, url: str) -> None:
        self.purged.append(url)
        if self.slow:
            self.slow -= 1
        elif not self.deaf:
            self.kept.pop(url, None)


PLUS = f"tool/{RELEASE}/tool+{RELEASE}.tgz"


def a_cached_site(**options: Any) -> tuple[Site, OuterCache, World]:
    text = PROFILE.replace(b"/tool-{release}.tgz", b"/tool+{release}.tgz")
    site = Site(profile_text=text)
    site.open()
    site.stage("linux", {PLUS: b"first"})
    site.stage("mac", {PKG: b"first"})
    site.hand_over("linux")
    site.hand_over("mac")
    assert isinstance(site.promote(), Promoted)
    cache = OuterCache(site.s3.web, **options)
    for path in (PKG, PLUS, PLUS.replace("+", "%2B")):
        assert cache.head(f"https://dl.example.org/{path}").status == 200
    world = replace(site.world(), web=cache, purger=lambda: cache, outer_caches=("https://dl.example.org/",))
    return site, cache, world


@pytest.mark.parametrize("slow", [0, 1, 5])
def test_outer_caches_are_purged_until_every_spelling_of_a_url_is_gone(slow: int) -> None:
    site, cache, world = a_cached_site(slow=slow)

    assert isinstance(withdraw(site, world=world), Withdrawn)

    for path in (PKG, PLUS, PLUS.replace("+", "%2B")):
        assert cache.head(f"https://dl.example.org/{path}").status == GONE
    assert len(cache.purged) >= 3
    assert isinstance(run_restore(world, RELEASE, "no fault", yes), Restored)
    for path in (PKG, PLUS, PLUS.replace("+", "%2B")):
        assert cache.head(f"https://dl.example.org/{path}").status == 200


def test_a_cache_that_does_not_forget_is_told_of_and_a_rerun_finishes() -> None:
    site, cache, world = a_cached_site(deaf=True)

    with pytest.raises(UnfinishedError, match="3 URLs do not answer 410 yet") as caught:
        withdraw(site, world=world)

    assert caught.value.exit_status is Exit.UNFINISHED
    assert status(site, PKG) == GONE
    assert len(site.stored_records()) == 1
    cache.deaf = False
    assert isinstance(withdraw(site, world=world), Withdrawn)
    assert len(site.stored_records()) == 2


def test_a_second_run_purges_what_has_come_back_into_a_cache() -> None:
    site, cache, world = a_cached_site()
    assert isinstance(withdraw(site, world=world), Withdrawn)
    there = f"https://dl.example.org/{PKG}"
    cache.kept[there] = Seen(200, 5, None)
    site.s3.writes.clear()

    again = withdraw(site, world=world)

    assert isinstance(again, Withdrawn)
    assert not again.changed
    assert cache.head(there).status == GONE
    assert site.s3.writes == []
    cache.deaf, cache.kept[there] = True, Seen(200, 5, None)
    with pytest.raises(UnfinishedError, match="do not answer 410"):
        withdraw(site, world=world)


def test_a_url_that_does_not_answer_is_not_gone() -> None:
    site = a_public_site()

    class Broken:
        def head(self, url: str) -> Seen:
            raise EdgeError(f"{url}: no answer")

        read = compute_digest = head

    world = replace(site.world(), web=Broken())
    with pytest.raises(UnfinishedError, match="no answer"):
        withdraw(site, world=world)


def test_the_edges_forget_every_file_after_the_step() -> None:
    site = a_public_site()

    withdraw(site)

    paths = {path for paths in site.s3.cdn.invalidated for path in paths}
    assert {f"/{PKG}", f"/{TGZ}", f"/{SBOM}"} <= paths


# --- Lists -----------------------------------------------------------------------------------------------


def a_listed_public_site(*, latest: bool = False):
    site = a_listed_site()
    site.database.add(a_release_row("Tool 1.2.2", "tool-122", published=True, latest=not latest))
    assert isinstance(site.run(), Promoted)
    assert set(site.database.rows(SLUG)) == {url(TGZ), url(PKG)}
    assert site.database.find(SLUG).is_published
    return site


def test_a_withdrawn_release_is_no_longer_listed_and_is_again_once_it_is_restored() -> None:
    site = a_listed_public_site()
    before = site.database.rows(SLUG)
    assert site.database.find(SLUG).is_latest

    assert isinstance(withdraw(site), Withdrawn)

    assert site.database.rows(SLUG) == {}
    assert site.database.shown(SLUG) == frozenset(), "the site's page was not made anew"
    found = site.database.find(SLUG)
    assert (found.is_published, found.is_latest) == (False, False)
    assert any("was the latest release" in warning for warning in site.observer.warnings)
    assert isinstance(restore(site), Restored)
    assert site.database.rows(SLUG) == before
    found = site.database.find(SLUG)
    assert (found.is_published, found.is_latest) == (True, True)


def test_of_a_release_withdrawn_in_part_the_other_rows_stay() -> None:
    site = a_listed_public_site()

    withdraw(site, TGZ)

    assert set(site.database.rows(SLUG)) == {url(PKG)}
    assert site.database.find(SLUG).is_published


def test_a_release_that_nothing_lists_is_withdrawn_all_the_same() -> None:
    site = a_listed_site(row=False)
    assert isinstance(site.run(given_up={"listing": "later"}), Promoted)

    assert isinstance(withdraw(site), Withdrawn)
    assert site.database.releases == {}


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize("number", range(4))
def test_a_lost_answer_of_the_database_is_settled_by_looking(number: int, applied: bool) -> None:
    site = a_listed_public_site()
    site.database.writes.clear()
    site.database.lost = {number: applied}

    assert isinstance(withdraw(site), Withdrawn)

    assert site.database.rows(SLUG) == {}
    assert not site.database.find(SLUG).is_published
    assert site.database.shown(SLUG) == frozenset()


def test_a_withdrawal_that_dies_before_any_request_takes_the_release_off_the_site_when_it_is_run_again() -> (
    None
):
    number, died = 0, True
    while died:
        site = a_listed_public_site()
        seen, died = 0, False

        def die(request: str, key: str, stop: int = number) -> None:
            nonlocal seen, died
            seen += 1
            if seen > stop:
                died = True
                raise CrashError

        site.s3.before = die
        try:
            withdraw(site)
        except CrashError:
            site.s3.before = lambda request, key: None
            site.s3.tick(121)
            assert isinstance(withdraw(site), Withdrawn)
        assert site.database.rows(SLUG) == {}
        assert not site.database.find(SLUG).is_published
        assert site.database.shown(SLUG) == frozenset()
        number += 7


def test_only_lists_hide_what_is_unlisted() -> None:
    site = a_listed_public_site()
    entries = dict(site.s3.gate.entries)

    outcome = withdraw(site, unlist=True)

    assert isinstance(outcome, Withdrawn)
    assert outcome.unlist
    assert site.s3.gate.entries.keys() == entries.keys()
    assert {status(site, key) for key in (PKG, TGZ)} == {200}
    assert site.database.rows(SLUG) == {}
    assert rules(site.promote()) == [("withdrawn", RELEASE)]
    seen = verify.run_public(site.world().visitor, RELEASE)
    assert isinstance(seen, Verified)
    assert (seen.status, len(seen.files), seen.gone) == (Exit.DONE, 2, ())
    assert isinstance(withdraw(site), Withdrawn)
    assert {status(site, key) for key in (PKG, TGZ)} == {GONE}
    assert isinstance(withdraw(site, unlist=True), Withdrawn)
    assert isinstance(restore(site), Restored)
    assert len(site.database.rows(SLUG)) == 2


def test_what_is_unlisted_over_a_live_promotion_is_placed_and_let_go() -> None:
    site = a_live_site()

    assert isinstance(withdraw(site, unlist=True), Withdrawn)

    assert {status(site, key) for key in (PKG, TGZ)} == {200}
    assert set(site.s3.gate.entries) == {OWNER}
    assert isinstance(restore(site), Restored)


def test_what_cannot_be_placed_cannot_only_be_unlisted() -> None:
    site = a_live_site()
    site.s3.public.store(PKG, b"foreign")

    with pytest.raises(UnfinishedError, match="not of this promotion"):
        withdraw(site, unlist=True)

    assert status(site, PKG) == 200
    assert isinstance(withdraw(site), Withdrawn)
    assert status(site, PKG) == GONE


@pytest.mark.parametrize("key", [TGZ, PKG])
def test_a_promotion_of_which_a_file_cannot_be_placed_is_withdrawn_whole_with_what_was_not_named(
    key: str,
) -> None:
    site = a_live_site(OTHER)
    site.s3.public.store(PKG, b"foreign")
    everything = {*expected_public(), *expected_public(release=OTHER)}

    outcome = withdraw(site, key)

    assert isinstance(outcome, Withdrawn)
    assert set(outcome.keys) == everything
    assert {status(site, found) for found in everything} == {GONE}
    assert any("withdrawn whole" in warning for warning in site.observer.warnings)
    check_gate(site, outcome)


def test_index_pages_leave_out_what_is_withdrawn() -> None:
    site = a_public_site(Site(profile_text=WITH_PAGES))
    page = f"tool/{RELEASE}/index.json"

    def names() -> set[str]:
        found = site.s3.public.current(page)
        assert found is not None
        return {entry["name"] for entry in json.loads(found.data or b"")["entries"]}

    assert f"tool-{RELEASE}.tgz" in names()
    assert isinstance(withdraw(site, TGZ), Withdrawn)
    assert names() == {f"tool-{RELEASE}.pkg"}
    assert isinstance(restore(site), Restored)
    assert names() == {f"tool-{RELEASE}.pkg", f"tool-{RELEASE}.tgz", f"tool-{RELEASE}.tgz.spdx.json"}


def test_pointers_that_still_name_it_are_reported() -> None:
    text = (
        PROFILE
        + b"""
[[pointer]]
name = "index"
role = "mac"
files = ["tool/latest.json", "tool/other.json"]
class = "amendable"
"""
    )
    site = a_public_site(Site(profile_text=text))
    site.s3.public.store("tool/latest.json", f'{{"url": "https://dl.example.org/{PKG}"}}'.encode())

    withdraw(site, PKG)

    assert [warning for warning in site.observer.warnings if "still names" in warning] == [
        "tool/latest.json still names withdrawn files; mac stages a new one"
    ]


# --- The record ------------------------------------------------------------------------------------------


def test_records_say_who_withdrew_what_why_and_that_it_was_restored() -> None:
    site = a_public_site()
    withdraw(site, TGZ)
    restore(site)

    _, gone, back = read_predicates(site)

    assert gone["predicateType"] == "urn:publish-gate:withdrawal:v1"
    assert back["predicateType"] == "urn:publish-gate:restoration:v1"
    assert [subject["name"] for subject in gone["subject"]] == [TGZ, SBOM]
    assert gone["subject"] == back["subject"]
    assert (gone["predicate"]["reason"], back["predicate"]["reason"]) == ("a fault", "no fault")
    assert gone["predicate"]["who"] == "arn:aws:iam::123456789012:user/rm"
    assert gone["predicate"]["id"] == back["predicate"]["id"]


@pytest.mark.parametrize("login", [None, Identity("eve@example.org", RM.issuer)])
def test_without_a_login_that_counts_it_is_gone_all_the_same_and_a_rerun_records_it(
    login: Identity | None,
) -> None:
    site = a_public_site()
    site.sigstore.login = login

    with pytest.raises(UnfinishedError, match="nobody is logged in") as caught:
        withdraw(site)

    assert caught.value.exit_status is Exit.UNFINISHED
    assert set(statuses(site).values()) == {GONE}
    assert rules(site.promote()) == [("withdrawn", RELEASE)]
    site.sigstore.login = RM
    assert isinstance(withdraw(site), Withdrawn)
    assert len(site.stored_records()) == 2


def test_where_records_are_not_signed_nobody_logs_in() -> None:
    site = Site(signed_records=False)
    a_public_site(site)

    assert isinstance(withdraw(site), Withdrawn)
    assert isinstance(restore(site), Restored)
    assert site.sigstore.logins == 0
    assert len(site.public_records()) == 3


def test_anybody_can_verify_that_it_is_gone() -> None:
    site = a_public_site()
    withdraw(site, TGZ)

    seen = verify.run_public(site.world().visitor, RELEASE)

    assert isinstance(seen, Verified)
    assert (seen.status, seen.gone) == (Exit.DONE, (TGZ, SBOM))
    assert [file.key for file in seen.files] == [PKG]
    site.s3.gate.set({OWNER: "x"})
    served = verify.run_public(site.world().visitor, RELEASE)
    assert isinstance(served, Verified)
    assert served.status is Exit.REFUSED
    assert [(refusal.rule, refusal.subject, refusal.found) for refusal in served.refusals] == [
        ("drift", TGZ, "status 200"),
        ("drift", SBOM, "status 200"),
    ]


def test_a_withdrawn_url_that_does_not_answer_is_not_verified() -> None:
    site = a_public_site()
    withdraw(site, TGZ)

    class Broken:
        read = site.s3.web.read
        compute_digest = site.s3.web.compute_digest

        def head(self, url: str) -> Seen:
            raise EdgeError(f"{url}: no answer")

    seen = verify.run_public(replace(site.world(), web=Broken()).visitor, RELEASE)

    assert isinstance(seen, Verified)
    assert [refusal.subject for refusal in seen.refusals] == [TGZ, SBOM]


# --- What is refused meanwhile ---------------------------------------------------------------------------


def attach(site: Site, folder: Path) -> Outcome:
    path = folder / "tool-1.2.3.tgz.spdx.json"
    path.write_text("{}")
    return sidecars.run_amend(site.world(), RELEASE, str(path), "x")


COMMANDS: dict[str, Callable[[Site, Path], Outcome]] = {
    "promote": lambda site, folder: site.promote(),
    "dry run": lambda site, folder: site.promote(dry_run=True),
    "open": lambda site, folder: run_open(site.world(), RELEASE, COMMIT),
    "respin": lambda site, folder: run_respin(site.world(), RELEASE, "c" * 40, "x"),
    "sign": lambda site, folder: sign.run(site.world(), (RELEASE,)),
    "amend": attach,
    "list": lambda site, folder: listing.run(site.world(), RELEASE, dry_run=True, create=False),
    "announce": lambda site, folder: announce.run(
        site.world(), announce.AnnounceRequest((RELEASE,), None, dry_run=True)
    ),
}


@pytest.mark.parametrize("unlist", [False, True])
@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_done_to_a_release_of_which_something_is_withdrawn(
    tmp_path: Path, name: str, unlist: bool
) -> None:
    site = a_listed_public_site()
    before = COMMANDS[name](site, tmp_path)
    withdraw(site, TGZ, unlist=unlist)

    outcome = COMMANDS[name](site, tmp_path)

    assert ("withdrawn", RELEASE) in rules(outcome)
    restore(site)
    assert type(COMMANDS[name](site, tmp_path)) is type(before)
    if isinstance(before, Refused):
        assert ("withdrawn", RELEASE) not in rules(before)


def test_no_sidecar_is_attached_to_what_is_withdrawn(tmp_path: Path) -> None:
    site = a_signing_site()
    site.sign()
    assert isinstance(site.promote(), Promoted)
    path = tmp_path / f"tool-{RELEASE}.tgz.asc"
    path.write_bytes(sign_openpgp(KEY, b"first " + TGZ.encode()))
    withdraw(site, PKG)

    assert rules(sidecars.run_attach(site.world(), RELEASE, str(path))) == [("withdrawn", RELEASE)]
    restore(site)
    assert sidecars.run_attach(site.world(), RELEASE, str(path)).status is Exit.DONE


def test_neither_a_waiver_nor_another_release_beside_it_helps() -> None:
    site = a_public_site()
    withdraw(site)
    site.stage_all(b"second")
    site.open(OTHER)
    site.stage_all(release=OTHER)
    waivers = tuple(Waiver(rule, "*", "x") for rule in sorted(WAIVABLE))

    outcome = promote.run(site.world(), promote.PromoteRequest((RELEASE, OTHER), waivers), say_yes)

    assert rules(outcome) == [("withdrawn", RELEASE)]


def test_more_cannot_be_withdrawn_while_something_is_being_restored() -> None:
    site = a_public_site()
    withdraw(site, TGZ)
    site.sigstore.login = None
    with pytest.raises(UnfinishedError):
        restore(site)
    assert set(statuses(site).values()) == {200}

    assert rules(withdraw(site)) == [("withdrawn", RELEASE)]

    site.sigstore.login = RM
    assert isinstance(restore(site), Restored)
    assert isinstance(withdraw(site), Withdrawn)


def test_what_changed_in_the_bucket_is_not_shown_again() -> None:
    site = a_public_site()
    withdraw(site)
    site.s3.public.store(TGZ, b"foreign")

    assert rules(restore(site)) == [("drift", TGZ)]
    assert set(statuses(site).values()) == {GONE}


def test_what_changes_while_the_name_is_typed_counts() -> None:
    site = a_public_site()
    withdraw(site, TGZ)

    def meddle(preview: Preview) -> bool:
        site.s3.public.store(TGZ, b"foreign")
        return True

    assert rules(restore(site, confirm=meddle)) == [("drift", TGZ)]
    assert status(site, TGZ) == GONE
    site.s3.public.store(TGZ, b"first " + TGZ.encode())

    def begin_to_restore(preview: Preview) -> bool:
        site.sigstore.login = None
        with pytest.raises(UnfinishedError):
            restore(site)
        return True

    assert rules(withdraw(site, confirm=begin_to_restore)) == [("withdrawn", RELEASE)]
    assert set(statuses(site).values()) == {200}


def test_status_tells_what_is_withdrawn_and_lists_what_is_not_finished() -> None:
    site = a_public_site()
    site.sigstore.login = None
    with pytest.raises(UnfinishedError):
        withdraw(site)

    found = run_status(site.world(), (), check=True)

    assert found.status is Exit.REFUSED
    (release,) = found.releases
    assert release.stage is Stage.WITHDRAWN
    assert [refusal.rule for refusal in release.refusals] == ["withdrawn"]
    assert "not finished" in release.refusals[0].found
    assert all(role.advice is None for role in release.roles)
    site.sigstore.login = RM
    withdraw(site)
    assert run_status(site.world(), (), check=False).releases == ()
    assert run_status(site.world(), (RELEASE,), check=False).releases[0].stage is Stage.WITHDRAWN


# --- The store is lost -----------------------------------------------------------------------------------


def test_a_rebuilt_gate_hides_what_is_withdrawn_first() -> None:
    site = a_public_site()
    withdraw(site, TGZ)
    entries = dict(site.s3.gate.entries)
    site.s3.gate.set({})
    assert status(site, TGZ) == 200, "late or served again, never early: the store is lost"

    outcome = run_rebuild(site.world())

    assert len(outcome.withdrawn) == 1
    assert statuses(site) == {PKG: 200, TGZ: GONE, SBOM: GONE}
    assert site.s3.gate.entries.keys() == entries.keys()
    assert isinstance(restore(site), Restored)
    assert run_rebuild(site.world()).withdrawn == ()
    assert set(statuses(site).values()) == {200}


def test_a_rebuilt_gate_hides_what_is_begun_and_not_what_is_unlisted_or_being_restored() -> None:
    site = a_live_site()
    crash_at(site, "update", "s:", lambda: withdraw(site))
    assert {status(site, key) for key in (PKG, TGZ)} == {200}

    (id_,) = run_rebuild(site.world()).withdrawn

    assert {status(site, key) for key in (PKG, TGZ)} == {GONE}
    assert set(site.s3.gate.entries) == {OWNER, f"p:{PKG}", f"p:{TGZ}", f"s:{id_}"}
    assert isinstance(withdraw(site), Withdrawn)
    site.sigstore.login = None
    with pytest.raises(UnfinishedError):
        restore(site)
    assert run_rebuild(site.world()).withdrawn == ()
    site.sigstore.login = RM
    restore(site)
    withdraw(site, unlist=True)
    assert run_rebuild(site.world()).withdrawn == ()
    assert {status(site, key) for key in (PKG, TGZ)} == {200}


def test_a_withdrawal_on_a_lost_store_is_refused_until_it_is_rebuilt() -> None:
    site = a_public_site()
    site.s3.gate.set({})

    with pytest.raises(PublisherError) as caught:
        withdraw(site)

    assert caught.value.exit_status is Exit.REFUSED
    assert caught.value.next_step == "publisher gate rebuild"
    run_rebuild(site.world())
    assert isinstance(withdraw(site), Withdrawn)


# --- The command line ------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    """A keyboard with the answer typed ahead."""

    def isatty(self) -> bool:
        return True


def run(site: Site, line: str) -> int:
    settings = Settings(connect=lambda settings: replace(site.world(), observer=settings.make_output()))
    return cli.run(shlex.split(line), settings)


@pytest.mark.parametrize("verb", ["withdraw", "restore"])
def test_without_a_terminal_the_name_has_to_be_confirmed_by_an_option(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site = a_public_site()
    if verb == "restore":
        withdraw(site)
    site.s3.writes.clear()
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{RELEASE}\n"))
    line = f"{verb} {RELEASE} --reason x"

    assert run(site, line) == Exit.MISUSED
    assert f"--confirm {RELEASE}" in capsys.readouterr().err
    assert run(site, f"{line} --confirm {OTHER}") == Exit.MISUSED
    assert site.s3.writes == []
    assert run(site, f"{line} --confirm {RELEASE}") == Exit.DONE
    assert site.s3.writes != []


@pytest.mark.parametrize(
    ("typed", "status_"), [(RELEASE, Exit.DONE), ("y", Exit.FAILED), ("", Exit.FAILED), (OTHER, Exit.FAILED)]
)
def test_at_a_terminal_the_name_is_typed(
    typed: str, status_: Exit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site = a_public_site()
    monkeypatch.setattr("sys.stdin", Terminal(f"{typed}\n"))

    assert run(site, f"withdraw {RELEASE} {TGZ} --reason 'it eats files'") == status_

    shown = capsys.readouterr()
    assert f"withdraw 2 files of {RELEASE}: it eats files" in shown.err
    assert status(site, TGZ) == (GONE if status_ is Exit.DONE else 200)
    assert ("2 files withdrawn" if status_ is Exit.DONE else "not done") in shown.out


def test_the_json_answers_have_exactly_the_promised_fields(capsys: pytest.CaptureFixture[str]) -> None:
    site = a_public_site()
    head = {"schema", "command", "exit", "result", "release", "withdrawals", "keys", "changed"}

    assert run(site, f"withdraw {RELEASE} --reason x --confirm {RELEASE} --json") == Exit.DONE
    gone = json.loads(capsys.readouterr().out)
    assert run(site, f"restore {RELEASE} --reason x --confirm {RELEASE} --json") == Exit.DONE
    back = json.loads(capsys.readouterr().out)

    assert (gone["result"], set(gone)) == ("withdrawn", head | {"ended", "unlist"})
    assert (back["result"], set(back)) == ("restored", head)
    assert gone["keys"] == back["keys"] == [PKG, TGZ, SBOM]


def test_what_was_done_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    site = a_live_site()
    line = f"--reason x --confirm {RELEASE}"

    assert run(site, f"withdraw {RELEASE} --unlist {line}") == Exit.DONE
    assert f"{RELEASE}: 2 files hidden from lists" in capsys.readouterr().out
    assert run(site, f"withdraw {RELEASE} --unlist {line}") == Exit.DONE
    assert "hidden from lists already" in capsys.readouterr().out
    assert run(site, f"restore {RELEASE} {line}") == Exit.DONE
    assert f"{RELEASE}: 2 files restored" in capsys.readouterr().out
    assert run(site, f"restore {RELEASE} {line}") == Exit.DONE
    assert "nothing to do" in capsys.readouterr().out
    assert run(site, f"withdraw {RELEASE} {line}") == Exit.DONE
    site.s3.gate.set({})
    capsys.readouterr()
    assert run(site, "gate rebuild") == Exit.DONE
    assert "withdrawals that stand: 1" in capsys.readouterr().out


def test_a_live_promotion_that_it_ends_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    site = a_live_site()
    (promotion,) = site.live()

    assert run(site, f"withdraw {RELEASE} --reason x --confirm {RELEASE}") == Exit.DONE

    shown = capsys.readouterr()
    assert f"ends     promotion {promotion}" in shown.err
    assert f"ended      promotion {promotion}" in shown.out


def test_a_person_who_stops_it_is_told_that_it_may_be_half_way(capsys: pytest.CaptureFixture[str]) -> None:
    site = a_public_site()

    def stop(request: str, key: str) -> None:
        if request == "update" and key.startswith("p:"):
            raise KeyboardInterrupt

    site.s3.before = stop

    assert run(site, f"withdraw {RELEASE} --reason x --confirm {RELEASE}") == Exit.INTERRUPTED
    assert "half-way" in capsys.readouterr().err
    site.s3.before = lambda request, key: None
    assert isinstance(withdraw(site), Withdrawn)


@pytest.mark.parametrize("live", [True, False])
def test_what_fails_before_it_is_written_down_is_unfinished_only_over_a_live_promotion(live: bool) -> None:
    site = a_live_site() if live else a_public_site()

    def refuse(request: str, key: str) -> None:
        if request == "create" and key.endswith("/withdrawal.json"):
            raise PublisherError("the store is away")

    site.s3.before = refuse
    with pytest.raises(PublisherError) as caught:
        withdraw(site)

    assert isinstance(caught.value, UnfinishedError) is live
    site.s3.before = lambda request, key: None
    assert isinstance(withdraw(site), Withdrawn)
