"""Pointers and aliases: swapped whole, after go-live and over what they were built from, or told."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from publisher.commands import gate, promote
from publisher.core.assess import assess_release
from publisher.core.pointers import NAME, Claim
from publisher.core.pointers_swap import Verdict
from publisher.core.promotions import Record
from publisher.core.refusals import Waiver
from publisher.core.snapshot import ReleaseSnapshot
from publisher.core.status import report_status
from publisher.core.withdrawals import Withdrawal
from publisher.documents.pointers import write_claims
from publisher.documents.statement import extract_payload, read_statement
from publisher.errors import ConflictError, PublisherError, StoreError, UnfinishedError
from publisher.outcomes import Declined, Promoted, Refused
from publisher.workflow.gather import gather
from publisher.workflow.lease import hold_lease
from publisher.workflow.releases import parse_releases
from publisher.workflow.staged import gather_staged
from tests.support.fakes import FakeBucket
from tests.support.pointers import CATALOG, INDEX, MUTABLE, digest_set, make_set, served_set, stage_set
from tests.support.site import PROFILE, RELEASE, TGZ, Site, expected_public, say_yes

HISTORY = "_state/pointers/index.json"
OTHER = "1.3.0"
WAIVED = (Waiver("pointer", f"index/{RELEASE}", "it follows tomorrow"),)


class CrashError(BaseException):
    """The process is gone: nothing of it runs any more, no `finally` can write."""


def a_site(new: str | None = "v1", base: str | None = None, profile: bytes = MUTABLE) -> Site:
    """Make a site with a release that is ready, with a set unless `new` is None."""
    site = Site(profile_text=profile)
    site.open()
    site.stage_all()
    if new is not None:
        stage_set(site, new, base)
    return site


def a_site_with_public_set() -> Site:
    """Make a site whose release is public with its set v1, and another release that is ready without one."""
    site = a_site()
    site.promote()
    site.open(OTHER)
    site.stage_all(release=OTHER)
    site.s3.writes.clear()
    site.observer.warnings.clear()
    return site


def read_record(site: Site, name: str) -> Record:
    record = read_statement(extract_payload(site.stored_records()[name], name), name)
    assert isinstance(record, Record)
    return record


def refuse(site: Site, *releases: str, waivers: tuple[Waiver, ...] = ()) -> list[str]:
    """Promote what must be refused; give rule, subject and what was found of each reason."""
    site.s3.writes.clear()
    outcome = site.promote(*releases, waivers=waivers)
    assert isinstance(outcome, Refused), outcome
    assert site.s3.writes == []
    return [f"{refusal.rule} {refusal.subject}: {refusal.found}" for refusal in outcome.refusals]


def do_at(site: Site, wanted: str, key: str, act: Callable[[], None]) -> None:
    """Let something happen once, just before the first such request for a key with that ending."""
    done = False

    def meddle(request: str, what: str) -> None:
        nonlocal done
        if not done and request == wanted and what.endswith(key):
            done = True
            act()

    site.s3.before = meddle


def crash_at(site: Site, wanted: str, key: str) -> None:
    def die() -> None:
        raise CrashError

    do_at(site, wanted, key, die)
    with pytest.raises(CrashError):
        site.promote()
    revive(site)


def revive(site: Site) -> None:
    """Let the next run happen on a healthy machine, after the dead one's lease has expired."""
    site.s3.before = lambda request, key: None
    site.s3.tick(121)


# --- The way of a set ---------------------------------------------------------------------------------------


def test_a_set_is_swapped_with_its_release_and_written_down() -> None:
    site = a_site()
    site.s3.writes.clear()

    outcome = site.promote()

    assert isinstance(outcome, Promoted)
    assert [(ended.swap.name, ended.state) for ended in outcome.swapped] == [("index", Verdict.DONE)]
    assert served_set(site) == digest_set("v1")
    steps = site.observer.steps
    assert steps.index("look") < steps.index("pointers") < steps.index("pages") < steps.index("listing")
    index = site.s3.public.current(INDEX)
    assert index is not None
    assert index.delivery is not None
    assert index.delivery.cache_control == "public, max-age=60"
    (swapped,) = read_record(site, f"{RELEASE}/1").swaps
    assert (swapped.state, swapped.swap.releases) == (Verdict.DONE, (RELEASE,))
    assert site.state("/pointers/") == [HISTORY]
    assert tuple(sorted(f"/{key}" for key in (CATALOG, INDEX))) in site.s3.cdn.invalidated


def test_a_set_is_written_in_its_order_after_go_live_and_never_listed_in_the_gate() -> None:
    site = a_site()
    site.s3.writes.clear()
    site.promote()

    written = [name for _, name in site.s3.writes]
    live = next(index for index, name in enumerate(written) if "gate/s:" in name)
    at = {name: index for index, name in enumerate(written)}
    assert live < at[f"public/tool/{RELEASE}/tool-{RELEASE}.tgz"]
    assert at[f"public/tool/{RELEASE}/tool-{RELEASE}.tgz"] < at[f"public/{CATALOG}"] < at[f"public/{INDEX}"]
    assert not any(f"p:{key}" in name for name in written for key in (CATALOG, INDEX))


def test_a_set_that_is_public_leaves_nothing_to_do() -> None:
    site = a_site()
    site.promote()
    site.s3.writes.clear()

    outcome = site.promote()

    assert isinstance(outcome, Promoted)
    assert outcome.plan is None
    assert site.s3.writes == []


def test_a_set_of_which_only_old_files_are_left_in_staging_leaves_nothing_to_do() -> None:
    site = a_site()
    site.promote()
    site.s3.staging.expire(f"linux/{RELEASE}/{NAME}")
    site.s3.staging.expire(f"linux/{RELEASE}/SHA256SUMS")

    outcome = site.promote()

    assert isinstance(outcome, Promoted)
    assert outcome.plan is None


def test_the_next_release_swaps_what_the_last_one_made() -> None:
    site = a_site_with_public_set()
    stage_set(site, "v2", "v1", release=OTHER)

    assert isinstance(site.promote(OTHER), Promoted)

    assert served_set(site) == digest_set("v2")
    assert site.observer.warnings == []
    history = site.world().state.read_history("index")
    assert history is not None
    assert history.value.digests[INDEX] == (digest_set("v1")[INDEX], digest_set("v2")[INDEX])
    # What the first release has staged is not public any more, and settled all the same.
    outcome = site.promote()
    assert isinstance(outcome, Promoted)
    assert outcome.plan is None


def test_a_late_set_of_a_public_release_is_a_promotion_of_its_own() -> None:
    site = a_site(new=None)
    site.promote()
    stage_set(site, "v1", None, f"https://dl.example.org/{TGZ}")

    outcome = site.promote()

    assert isinstance(outcome, Promoted)
    assert outcome.plan is not None
    assert outcome.plan.files == ()
    assert served_set(site) == digest_set("v1", f"https://dl.example.org/{TGZ}")
    record = read_record(site, f"{RELEASE}/2")
    assert (record.files, len(record.swaps)) == ((), 1)
    assert site.public_records() == site.stored_records()


# --- Refused before anything is written ---------------------------------------------------------------------


def test_a_stale_base_is_refused_before_anything_is_written_and_says_to_rebuild() -> None:
    site = a_site_with_public_set()
    stage_set(site, "v2", None, release=OTHER)
    site.s3.writes.clear()

    outcome = site.promote(OTHER)

    assert isinstance(outcome, Refused)
    assert {(refusal.rule, refusal.subject) for refusal in outcome.refusals} == {("pointer", "index/1.3.0")}
    assert all("linux rebuilds index from what is public" in refusal.cure for refusal in outcome.refusals)
    assert site.s3.writes == []
    assert served_set(site) == digest_set("v1")


def test_two_builders_who_built_from_the_same_are_refused_together_and_the_later_one_alone() -> None:
    site = a_site()
    site.open(OTHER)
    site.stage_all(release=OTHER)
    stage_set(site, "v2", None, release=OTHER)

    assert [line.partition(":")[0] for line in refuse(site, RELEASE, OTHER)] == [
        f"pointer index/{RELEASE}",
        f"pointer index/{OTHER}",
    ]
    assert isinstance(site.promote(), Promoted)
    assert all("built from absent" in line for line in refuse(site, OTHER))


def test_a_set_waits_for_every_release_that_it_names() -> None:
    site = a_site(new=None)
    stage_set(site, "v1", None, requires=(OTHER,))
    site.open(OTHER)
    site.stage_all(release=OTHER)

    assert refuse(site) == [f"pointer index/{RELEASE}: it waits for {OTHER}, which is not public"]
    assert isinstance(site.promote(RELEASE, OTHER), Promoted)
    assert served_set(site) == digest_set("v1")


def test_a_set_waits_no_longer_for_a_release_that_is_public() -> None:
    site = a_site(new=None)
    site.open(OTHER)
    site.stage_all(release=OTHER)
    site.promote(OTHER)
    stage_set(site, "v1", None, requires=(OTHER,))

    assert isinstance(site.promote(), Promoted)
    assert served_set(site) == digest_set("v1")


def test_a_set_built_on_another_one_of_the_same_run_makes_one_swap() -> None:
    site = a_site()
    site.open(OTHER)
    site.stage_all(release=OTHER)
    stage_set(site, "v2", "v1", release=OTHER)
    site.s3.writes.clear()

    outcome = site.promote(RELEASE, OTHER)

    assert isinstance(outcome, Promoted)
    assert served_set(site) == digest_set("v2")
    assert [name for _, name in site.s3.writes].count(f"public/{INDEX}") == 1
    assert outcome.swapped[0].swap.releases == (RELEASE, OTHER)
    for release in (RELEASE, OTHER):
        assert len(read_record(site, f"{release}/1").swaps) == 1
        again = site.promote(release)
        assert isinstance(again, Promoted)
        assert again.plan is None


@pytest.mark.parametrize("base", ["https://dl.example.org/", "https://cdn.example.org/"])
def test_a_link_to_nothing_is_refused(base: str) -> None:
    site = a_site(new=None)
    stage_set(site, "v1", None, f"{base}tool/9.9.9/nothing.tgz")

    assert refuse(site) == [
        f"pointer index/{RELEASE}: a link in {INDEX} to tool/9.9.9/nothing.tgz, where nothing is"
    ]


@pytest.mark.parametrize(
    "link",
    [f"tool/{RELEASE}/tool-{RELEASE}.tgz", "tool/1.0.0/old.tgz", "tool/1.0.0/", "old/old.tgz", "tool/"],
)
def test_a_link_to_what_is_public_or_part_of_the_run_is_fine(link: str) -> None:
    site = a_site(new=None)
    site.s3.public.store("tool/1.0.0/old.tgz", b"old")
    site.s3.gate.set({**site.s3.gate.entries, "a:old": "tool/1.0.0"})
    stage_set(site, "v1", None, f"https://dl.example.org/{link}", "https://elsewhere.example.org/x")

    assert isinstance(site.promote(), Promoted)


def test_links_to_what_is_staged_are_looked_for_in_the_plan_alone() -> None:
    site = a_site(new=None)
    stage_set(site, "v1", None, f"https://dl.example.org/{TGZ}", "https://dl.example.org/tool/1.0.0/old.tgz")
    site.s3.public.store("tool/1.0.0/old.tgz", b"old")
    described: list[str] = []
    site.s3.before = lambda request, key: described.append(key) if request == "describe" else None

    look_at(site)

    assert "tool/1.0.0/old.tgz" in described
    assert TGZ not in described


@pytest.mark.parametrize("state", ["withdrawn", "live"])
def test_a_link_to_what_is_withdrawn_is_refused(state: str) -> None:
    site = a_site(new=None)
    site.s3.public.store("tool/1.0.0/old.tgz", b"old")
    site.s3.gate.set({**site.s3.gate.entries, "p:tool/1.0.0/old.tgz": "w1", "s:w1": state})
    stage_set(site, "v1", None, "https://dl.example.org/tool/1.0.0/old.tgz")

    assert isinstance(site.promote(), Refused if state == "withdrawn" else Promoted)


def test_a_set_that_is_no_json_is_refused() -> None:
    site = a_site(new=None)
    site.stage("linux", {CATALOG: b"c", INDEX: b"{", NAME: write_claims({"index": Claim(digest_set(None))})})
    site.hand_over("linux")

    (line,) = refuse(site)
    assert line.startswith(f"pointer index/{RELEASE}: {INDEX}, which is no JSON")


def test_pointers_only_go_forward() -> None:
    site = a_site_with_public_set()
    stage_set(site, "v2", "v1", release=OTHER)
    site.promote(OTHER)
    site.open("1.4.0")
    site.stage_all(release="1.4.0")
    stage_set(site, "v1", "v2", release="1.4.0")

    assert [line.partition(" sha256")[0] for line in refuse(site, "1.4.0")] == [
        f"pointer index/1.4.0: {key} as it was before:" for key in (CATALOG, INDEX)
    ]
    stage_set(site, "v3", "v2", release="1.4.0")
    assert isinstance(site.promote("1.4.0"), Promoted)


def test_a_waived_set_does_not_hold_up_the_files() -> None:
    site = a_site("v2", "v1")
    assert refuse(site) != []

    outcome = site.promote(waivers=WAIVED)

    assert isinstance(outcome, Promoted)
    assert outcome.swapped == ()
    assert site.visible() == expected_public()
    assert served_set(site) == digest_set(None)
    assert {refusal.rule for refusal in read_record(site, f"{RELEASE}/1").waived} == {"pointer"}


def test_a_good_set_needs_no_waiver() -> None:
    assert refuse(a_site(), waivers=WAIVED) == [
        f"idle-waiver pointer:index/{RELEASE}: nothing that it would set aside"
    ]


def test_a_set_waits_for_a_release_that_is_withdrawn() -> None:
    site = a_site(new=None)
    promote_release(site, OTHER)
    stage_set(site, "v1", None, requires=(OTHER,))
    case = Withdrawal(1, "w1", OTHER, 2, (), (), (), False, "broken", "an ARN", site.s3.clock)
    site.world().state.write_withdrawal(case)

    assert refuse(site) == [f"pointer index/{RELEASE}: it waits for {OTHER}, which is not public"]


def test_to_hide_a_release_from_lists_is_not_to_withdraw_it() -> None:
    site = a_site(new=None)
    promote_release(site, OTHER)
    stage_set(site, "v1", None, requires=(OTHER,))
    case = Withdrawal(1, "w1", OTHER, 2, (), (), (), True, "a draft", "an ARN", site.s3.clock)
    site.world().state.write_withdrawal(case)

    assert isinstance(site.promote(), Promoted)


def test_a_kind_of_release_that_has_to_bring_a_set_is_refused_without_one() -> None:
    required = MUTABLE.replace(b'class = "pointer"', b'class = "pointer"\nrequired = "final"')
    site = a_site(new=None, profile=required)

    assert refuse(site) == [f"pointer index/{RELEASE}: nothing of it from linux"]
    assert isinstance(site.promote(waivers=WAIVED), Promoted)
    # Once it is public, nobody asks for one any more.
    site.stage("linux", {f"{TGZ}.spdx.json": b"{}"})
    site.hand_over("linux")
    assert isinstance(site.promote(), Promoted)


# --- What counts as handed over -----------------------------------------------------------------------------


def test_what_is_said_of_sets_has_to_be_in_the_hand_over() -> None:
    site = a_site()
    site.stage("linux", {NAME: write_claims({"index": Claim(digest_set(None), (RELEASE,))})})

    assert [line.partition(":")[0] for line in refuse(site)] == [f"digest {NAME}"]


def test_a_set_without_a_word_about_it_is_refused() -> None:
    site = a_site(new=None)
    site.stage("linux", make_set("v1"))
    site.hand_over("linux")

    assert refuse(site) == [f"pointer index/{RELEASE}: files of it, but nothing about it in {NAME}"]


def test_a_set_that_is_not_handed_over_counts_for_nothing() -> None:
    site = a_site(new=None)
    site.promote()
    site.s3.staging.expire(f"linux/{RELEASE}/SHA256SUMS")
    site.stage("linux", {**make_set("v1"), NAME: write_claims({"index": Claim(digest_set(None))})})

    (line,) = refuse(site)
    assert line.startswith(f"missing linux/{RELEASE}: no SHA256SUMS; files staged: 3")


@pytest.mark.parametrize("key", [NAME, INDEX])
def test_another_role_has_no_sets(key: str) -> None:
    site = a_site()
    site.stage("mac", {key: b"x"})
    site.hand_over("mac")

    assert f"extra {key}" in {line.partition(":")[0] for line in refuse(site)}


def assess_as_builder(site: Site, role: str) -> list[str]:
    """Judge a hand-over with the rights of its builder, as `publisher wait` does."""
    world = site.world()
    (release,) = parse_releases(world.profile, [RELEASE])
    staged = {role: gather_staged(world, role, RELEASE, {})}
    found = assess_release(ReleaseSnapshot(release, None, None, staged, {}, ()), world.profile, {})
    return [f"{refusal.rule} {refusal.subject}" for refusal in found.roles[role].refusals]


def test_a_builder_sees_whether_its_hand_over_with_a_set_is_complete() -> None:
    site = a_site()
    assert assess_as_builder(site, "linux") == []
    site.stage("linux", {NAME: b"{}"})
    assert assess_as_builder(site, "linux") == [f"digest {NAME}"]


def test_a_builder_without_sets_sees_what_is_too_much() -> None:
    site = a_site()
    site.stage("mac", {NAME: b"{}"})
    site.hand_over("mac")

    assert assess_as_builder(site, "mac") == [f"extra {NAME}"]


def test_a_set_that_was_handed_over_again_after_the_plan_stops_the_promotion() -> None:
    site = a_site()
    key = f"linux/{RELEASE}/{NAME}"
    do_at(site, "copy", CATALOG, lambda: store(site.s3.staging, {key: write_claims({})}))

    outcome = site.promote()

    assert isinstance(outcome, Refused)
    assert [(refusal.rule, refusal.subject) for refusal in outcome.refusals] == [("moved", key)]
    assert site.visible() == {}


# --- Somebody else ------------------------------------------------------------------------------------------


def test_a_set_that_somebody_else_has_moved_on_after_go_live_is_told_and_the_promotion_ends() -> None:
    site = a_site()
    do_at(site, "create", CATALOG, lambda: store(site.s3.public, make_set("theirs")))

    outcome = site.promote()

    assert isinstance(outcome, Promoted)
    assert [(e.state, e.superseded, e.left_behind) for e in outcome.swapped] == [
        (Verdict.SUPERSEDED, (CATALOG, INDEX), ())
    ]
    (warning,) = [text for text in site.observer.warnings if "superseded" in text]
    assert f"publisher pointers {RELEASE}" in warning
    assert served_set(site) == digest_set("theirs")
    assert site.state("/pointers/") == []
    assert read_record(site, f"{RELEASE}/1").swaps == outcome.swapped
    assert len(site.state("/done.json")) == 1


def test_a_set_that_is_not_whole_afterwards_is_told_loudly() -> None:
    site = a_site()
    do_at(site, "create", INDEX, lambda: store(site.s3.public, {INDEX: b"{}"}))

    outcome = site.promote()

    assert isinstance(outcome, Promoted)
    assert [(e.superseded, e.left_behind) for e in outcome.swapped] == [((INDEX,), (CATALOG,))]
    assert any(f"index is NOT WHOLE: {CATALOG}" in text for text in site.observer.warnings)


def store(bucket: FakeBucket, files: Mapping[str, bytes]) -> None:
    for key, data in files.items():
        bucket.store(key, data)


def test_a_set_that_a_live_promotion_owes_is_nobody_elses_to_build_on() -> None:
    site = a_site()
    crash_at(site, "create", CATALOG)
    site.open(OTHER)
    site.stage_all(release=OTHER)
    stage_set(site, "v2", None, release=OTHER)

    (line,) = refuse(site, OTHER)
    assert line.startswith(f"pointer index/{OTHER}: a live promotion of {RELEASE}")
    assert isinstance(site.promote(), Promoted)
    assert served_set(site) == digest_set("v1")
    assert all("built from absent" in line for line in refuse(site, OTHER))


def test_a_swap_that_others_have_built_on_before_it_was_recorded_is_done_all_the_same() -> None:
    site = a_site()
    crash_at(site, "create", f"_state/records/{RELEASE}/1.json")
    site.open(OTHER)
    site.stage_all(release=OTHER)
    stage_set(site, "v2", "v1", release=OTHER)
    assert isinstance(site.promote(OTHER), Promoted)

    assert isinstance(site.promote(), Promoted)

    assert [each.state for each in read_record(site, f"{RELEASE}/1").swaps] == [Verdict.DONE]
    assert served_set(site) == digest_set("v2")


def test_a_promoter_who_slept_writes_nothing_after_another_took_over() -> None:
    site = a_site()

    def take_over() -> None:
        site.s3.before = lambda request, key: None
        site.s3.tick(121)
        request = promote.PromoteRequest((RELEASE,))
        assert isinstance(promote.run(site.world("bob"), request, say_yes), Promoted)

    do_at(site, "create", CATALOG, take_over)
    with pytest.raises(UnfinishedError, match="the lease was lost"):
        site.promote()

    assert served_set(site) == digest_set("v1")
    assert [len(site.s3.public.versions[key]) for key in (CATALOG, INDEX)] == [1, 1]


def test_a_promoter_who_lost_the_lease_before_a_write_does_not_write() -> None:
    site = a_site()

    def take_the_lease(request: str, key: str) -> None:
        if request == "read" and key.startswith("_pending/"):
            site.s3.before = lambda request, key: None
            site.s3.tick(121)
            with hold_lease(site.world("bob"), "something else"):
                pass

    site.s3.before = take_the_lease
    with pytest.raises(UnfinishedError, match="the lease was lost"):
        site.promote()

    assert served_set(site) == digest_set(None)


# --- Interruptions ------------------------------------------------------------------------------------------


def count_requests() -> int:
    site = a_site_with_ready_set()
    seen = 0

    def note(request: str, key: str) -> None:
        nonlocal seen
        seen += 1

    site.s3.before = note
    site.promote(OTHER)
    return seen


def a_site_with_ready_set() -> Site:
    site = a_site_with_public_set()
    stage_set(site, "v2", "v1", release=OTHER)
    site.s3.writes.clear()
    return site


REQUESTS = range(count_requests())


@pytest.mark.parametrize("number", REQUESTS)
def test_a_set_half_written_by_a_crash_at_any_request_is_whole_after_a_rerun(number: int) -> None:
    site = a_site_with_ready_set()
    seen = 0

    def die(request: str, key: str) -> None:
        nonlocal seen
        seen += 1
        if seen > number:
            raise CrashError

    site.s3.before = die
    with pytest.raises(CrashError):
        site.promote(OTHER)
    began = served_set(site) != digest_set("v1")
    assert not began or site.visible(OTHER) == expected_public(release=OTHER)
    revive(site)

    assert isinstance(site.promote(OTHER), Promoted)

    assert served_set(site) == digest_set("v2")
    assert site.observer.warnings == []
    assert [each.state for each in read_record(site, f"{OTHER}/1").swaps] == [Verdict.DONE]
    assert site.s3.gate.entries["a:current"] == f"tool/{OTHER}"
    site.s3.writes.clear()
    again = site.promote(OTHER)
    assert isinstance(again, Promoted)
    assert again.plan is None
    assert site.s3.writes == []


def sleep_through(site: Site, number: int, act: Callable[[], None]) -> None:
    """Promote, and before the request of that number sleep until the lease is over and somebody has acted."""
    seen = 0

    def sleep(request: str, key: str) -> None:
        nonlocal seen
        seen += 1
        if seen == number + 1:
            site.s3.before = lambda request, key: None
            site.s3.tick(121)
            act()

    site.s3.before = sleep
    with suppress(PublisherError):
        site.promote(OTHER)


def promote_as_bob(site: Site, release: str) -> None:
    with suppress(PublisherError):
        promote.run(site.world("bob"), promote.PromoteRequest((release,)), say_yes)


@pytest.mark.parametrize("number", REQUESTS)
def test_a_promoter_who_slept_through_anothers_run_of_the_same_does_no_harm(number: int) -> None:
    site = a_site_with_ready_set()

    sleep_through(site, number, lambda: promote_as_bob(site, OTHER))
    revive(site)

    assert isinstance(site.promote(OTHER), Promoted)
    assert served_set(site) == digest_set("v2")
    assert [len(site.s3.public.versions[key]) for key in (CATALOG, INDEX)] == [2, 2]
    assert not any("superseded" in text for text in site.observer.warnings)


@pytest.mark.parametrize("number", REQUESTS)
def test_of_two_builders_who_race_one_is_told_to_rebuild_and_no_set_is_ever_mixed(number: int) -> None:
    site = a_site_with_ready_set()
    site.open("1.4.0")
    site.stage_all(release="1.4.0")
    stage_set(site, "v3", "v1", release="1.4.0")

    sleep_through(site, number, lambda: promote_as_bob(site, "1.4.0"))
    revive(site)

    ends = {release: site.promote(release) for release in (OTHER, "1.4.0")}
    assert {type(end) for end in ends.values()} == {Promoted, Refused}
    winner = "v2" if isinstance(ends[OTHER], Promoted) else "v3"
    assert served_set(site) == digest_set(winner)
    assert not any("superseded" in text for text in site.observer.warnings)


@pytest.mark.parametrize("key", [CATALOG, INDEX, HISTORY])
def test_a_write_whose_answer_was_lost_counts_as_written(key: str) -> None:
    site = a_site_with_ready_set()
    lost = False

    def lose(request: str, what: str) -> None:
        nonlocal lost
        if not lost and (request, what) == ("replace", key):
            lost = True
            site.s3.lose_answer_of = len(site.s3.writes)

    site.s3.before = lose

    assert isinstance(site.promote(OTHER), Promoted)
    assert lost
    assert served_set(site) == digest_set("v2")
    assert site.observer.warnings == []


@pytest.mark.parametrize("key", [CATALOG, HISTORY])
def test_a_store_that_keeps_answering_conflict_is_an_error_and_no_success(key: str) -> None:
    site = a_site()

    def refuse_it(request: str, what: str) -> None:
        if (request, what) == ("create", key):
            raise ConflictError("409 ConditionalRequestConflict")

    site.s3.before = refuse_it
    with pytest.raises(UnfinishedError, match="keeps answering conflict"):
        site.promote()


def test_waiting_copies_that_expired_are_made_again_from_the_staged_versions() -> None:
    site = a_site()
    crash_at(site, "create", INDEX)
    site.s3.public.expire("_pending/")

    assert isinstance(site.promote(), Promoted)
    assert served_set(site) == digest_set("v1")


def test_a_swapped_set_needs_neither_waiting_copies_nor_staging() -> None:
    site = a_site()
    crash_at(site, "create", f"_state/records/{RELEASE}/1.json")
    site.s3.public.expire("_pending/")
    site.s3.staging.expire("linux/")

    assert isinstance(site.promote(), Promoted)


def test_a_waiting_copy_with_other_bytes_is_never_written() -> None:
    site = a_site()
    crash_at(site, "create", CATALOG)
    (pending,) = [key for key in site.s3.public.digests("_pending/") if key.endswith(CATALOG)]
    site.s3.public.store(pending, b"foreign")

    with pytest.raises(UnfinishedError, match="is not the one that was planned"):
        site.promote()
    assert served_set(site) == digest_set(None)


def test_swapping_can_be_given_up_on_record() -> None:
    site = a_site()

    def fail(request: str, key: str) -> None:
        if (request, key) == ("create", CATALOG):
            raise StoreError("the store is ill")

    site.s3.before = fail
    with pytest.raises(UnfinishedError, match="the store is ill"):
        site.promote()
    request = promote.PromoteRequest((RELEASE,), given_up={"pointers": "tomorrow"})

    revive(site)
    finished = promote.run(site.world(), request, lambda decision: False)

    assert isinstance(finished, Declined)
    record = read_record(site, f"{RELEASE}/1")
    assert record.given_up == {"pointers": "tomorrow"}
    assert [each.state for each in record.swaps] == [Verdict.SWAP]
    assert served_set(site) == digest_set(None)
    assert isinstance(site.promote(), Promoted)
    assert served_set(site) == digest_set("v1")


def test_a_public_file_without_a_stored_digest_is_read_to_know_it() -> None:
    site = a_site_with_ready_set()
    for key, data in make_set("v1").items():
        site.s3.public.store(key, data, whole=False)

    assert isinstance(site.promote(OTHER), Promoted)
    assert served_set(site) == digest_set("v2")


# --- Aliases ------------------------------------------------------------------------------------------------


def promote_release(site: Site, name: str) -> None:
    site.open(name)
    site.stage_all(release=name)
    assert isinstance(site.promote(name), Promoted)


@pytest.mark.parametrize(
    ("releases", "target"),
    [
        ([RELEASE], RELEASE),
        ([RELEASE, OTHER], OTHER),
        ([OTHER, RELEASE], OTHER),
        ([RELEASE, "1.3.0b1"], RELEASE),
        (["1.3.0b1"], None),
        (["1.9.0", "1.10.0"], "1.10.0"),
    ],
)
def test_an_alias_leads_to_the_highest_final_release(releases: list[str], target: str | None) -> None:
    site = Site(profile_text=MUTABLE)
    for release in releases:
        promote_release(site, release)

    assert site.s3.gate.entries.get("a:current") == (f"tool/{target}" if target else None)
    assert ("aliases" in site.observer.steps) is (target is not None)


def test_an_alias_moves_in_the_gate_after_its_files_were_seen() -> None:
    site = a_site(new=None)
    site.s3.writes.clear()
    site.promote()

    updates = [name for request, name in site.s3.writes if request == "update"]
    live = next(index for index, name in enumerate(updates) if name.startswith("gate/s:"))
    assert live < updates.index("gate/a:current")
    steps = site.observer.steps
    assert steps.index("look") < steps.index("aliases") < steps.index("listing")
    (moved,) = read_record(site, f"{RELEASE}/1").aliases
    assert (moved.change.base, moved.change.target) == (None, f"tool/{RELEASE}")


def test_an_alias_that_somebody_else_has_moved_on_stays_and_is_told() -> None:
    site = a_site(new=None)

    def move() -> None:
        site.s3.gate.set({**site.s3.gate.entries, "a:current": "tool/2.0.0"})

    do_at(site, "head", TGZ, move)

    assert isinstance(site.promote(), Promoted)
    assert site.s3.gate.entries["a:current"] == "tool/2.0.0"
    assert any("current/ was superseded" in text for text in site.observer.warnings)


def test_a_file_that_an_alias_would_hide_is_refused() -> None:
    site = a_site(new=None)
    site.s3.gate.set({**site.s3.gate.entries, "a:tool": "elsewhere"})

    assert {line.partition(" ")[0] for line in refuse(site)} == {"alias"}


@dataclass
class Cache:
    """A cache in front of the CDN that only remembers what it was to forget, and when."""

    site: Site
    purged: dict[str, float] = field(default_factory=dict[str, float])

    def purge(self, url: str) -> None:
        self.purged.setdefault(url, self.site.s3.clock_seconds())


def test_caches_before_the_cdn_forget_sets_and_what_an_alias_leads_to_once_all_edges_follow() -> None:
    site = a_site_with_ready_set()
    cache = Cache(site)
    moved: list[float] = []

    def note(request: str, key: str) -> None:
        if request == "update" and key == "a:current":
            moved.append(site.s3.clock_seconds())

    site.s3.before = note
    world = replace(site.world(), purger=lambda: cache, outer_caches=("https://www.example.org/",))
    promote.run(world, promote.PromoteRequest((OTHER,)), say_yes)

    urls = {url.removeprefix("https://www.example.org/") for url in cache.purged}
    assert {CATALOG, INDEX, "current/", f"current/tool-{RELEASE}.tgz", f"current/tool-{OTHER}.tgz"} <= urls
    assert cache.purged["https://www.example.org/current/"] >= moved[0] + site.world().times.lag


def test_a_gate_that_is_rebuilt_has_its_aliases_again() -> None:
    site = Site(profile_text=MUTABLE)
    for release in (RELEASE, OTHER):
        promote_release(site, release)
        site.s3.clock += timedelta(days=1)
    site.s3.gate.set({})

    gate.run_rebuild(site.world())

    assert site.s3.gate.entries["a:current"] == f"tool/{OTHER}"


# --- Status -------------------------------------------------------------------------------------------------


def look_at(site: Site, name: str = RELEASE) -> tuple[str, Mapping[str, str], list[str]]:
    world = site.world()
    (status,) = report_status(gather(world, parse_releases(world.profile, [name])), world.profile)
    return str(status.stage), status.pointers, [refusal.rule for refusal in status.refusals]


def test_the_status_tells_how_sets_stand() -> None:
    site = a_site()
    assert look_at(site) == ("ready", {"index": "ready"}, [])
    site.promote()
    assert look_at(site) == ("done", {"index": "public"}, [])
    site.open(OTHER)
    site.stage_all(release=OTHER)
    stage_set(site, "v2", None, release=OTHER)
    assert look_at(site, OTHER) == ("handed over", {"index": "refused"}, ["pointer", "pointer"])


def test_without_sets_in_the_profile_nothing_is_asked() -> None:
    site = a_site(new=None, profile=PROFILE)
    seen: list[str] = []
    site.s3.before = lambda request, key: seen.append(key)

    assert isinstance(site.promote(), Promoted)
    assert not any(key.endswith(NAME) or "pointers" in key for key in seen)
