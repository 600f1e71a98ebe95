"""One promoter at a time: what a promotion writes, and that every interruption is finished by a re-run."""

import pytest

from publisher.commands import promote
from publisher.core.decide import Decision
from publisher.core.refusals import Waiver
from publisher.errors import (
    ConflictError,
    Exit,
    LeaseError,
    PublisherError,
    StoreError,
    UnfinishedError,
    UsageError,
)
from publisher.outcomes import Declined, Planned, Promoted, Refused
from tests.support.site import (
    COMMIT,
    FIRST_RECORD,
    OTHER_COMMIT,
    PKG,
    RELEASE,
    TGZ,
    Site,
    expected_public,
)


class CrashError(BaseException):
    """The process is gone: nothing of it runs any more, no `finally` can write."""


def a_ready_site() -> Site:
    site = Site()
    site.open()
    site.stage_all()
    return site


def count_requests() -> int:
    site = a_ready_site()
    seen = 0

    def note(request: str, key: str) -> None:
        nonlocal seen
        seen += 1

    site.s3.before = note
    site.promote()
    return seen


REQUESTS = range(count_requests())
LAST_LOOK = ("describe", f"_state/releases/{RELEASE}.json")


def test_a_promotion_publishes_exactly_the_staged_bytes() -> None:
    site = a_ready_site()

    outcome = site.promote()

    assert isinstance(outcome, Promoted)
    assert site.public() == expected_public()
    assert site.observer.steps == [
        "copy",
        "gate",
        "go live",
        "mark",
        "place",
        "look",
        "pages",
        "outside",
        "listing",
        "announce",
        "settle",
        "record",
    ]
    assert list(site.stored_records()) == ["1.2.3/1"]
    assert site.public_records() == site.stored_records()
    delivery = site.s3.public.current(TGZ)
    assert delivery is not None
    assert delivery.delivery is not None
    assert delivery.delivery.content_type == "application/gzip"


def test_nothing_is_written_while_a_refusal_stands() -> None:
    site = Site()
    site.open()
    site.stage("linux", {TGZ: b"x"})
    site.s3.writes.clear()

    outcome = site.promote()

    assert isinstance(outcome, Refused)
    assert {refusal.rule for refusal in outcome.refusals} == {"missing"}
    assert site.s3.writes == []


def test_a_second_run_writes_nothing_and_takes_no_lease() -> None:
    site = a_ready_site()
    site.promote()
    site.s3.writes.clear()

    outcome = site.promote()

    assert isinstance(outcome, Promoted)
    assert outcome.plan is None
    assert outcome.already_public == 2
    assert site.s3.writes == []


def test_a_second_run_is_done_even_when_staging_has_expired() -> None:
    site = a_ready_site()
    site.promote()
    site.s3.staging.expire("linux/")
    site.s3.staging.expire("mac/")
    site.s3.writes.clear()

    assert isinstance(site.promote(), Promoted)
    assert site.s3.writes == []


def test_a_dry_run_shows_the_plan_that_a_run_then_follows() -> None:
    site = a_ready_site()
    site.s3.writes.clear()

    planned = site.promote(dry_run=True)

    assert isinstance(planned, Planned)
    assert planned.decision is not None
    assert site.s3.writes == []
    outcome = site.promote(plan=planned.decision.plan.digest)
    assert isinstance(outcome, Promoted)
    assert outcome.plan is not None
    assert outcome.plan.digest == planned.decision.plan.digest


def test_a_pinned_plan_is_refused_when_the_world_has_moved() -> None:
    site = a_ready_site()
    planned = site.promote(dry_run=True)
    assert isinstance(planned, Planned)
    assert planned.decision is not None
    site.stage_all(b"second")

    outcome = site.promote(plan=planned.decision.plan.digest)

    assert isinstance(outcome, Refused)
    assert [refusal.rule for refusal in outcome.refusals] == ["plan"]
    assert site.public() == {}


def test_a_late_file_of_a_live_release_is_a_second_promotion() -> None:
    site = a_ready_site()
    site.promote()
    site.stage("linux", {f"{TGZ}.spdx.json": b"{}"})
    site.hand_over("linux")

    outcome = site.promote()

    assert isinstance(outcome, Promoted)
    assert outcome.plan is not None
    assert [file.key for file in outcome.plan.files] == [f"{TGZ}.spdx.json"]
    assert outcome.plan.releases[0].number == 2
    assert set(site.public()) == {PKG, TGZ, f"{TGZ}.spdx.json"}


def test_a_staged_file_that_differs_from_the_public_one_is_refused() -> None:
    site = a_ready_site()
    site.promote()
    site.stage_all(b"second")

    outcome = site.promote()

    assert isinstance(outcome, Refused)
    assert {refusal.rule for refusal in outcome.refusals} == {"public"}
    assert site.public() == expected_public()


def test_two_releases_become_public_in_one_promotion() -> None:
    site = a_ready_site()
    site.open("1.3.0")
    site.stage_all(release="1.3.0")

    outcome = site.promote("1.2.3", "1.3.0")

    assert isinstance(outcome, Promoted)
    assert site.public() == {**expected_public(), **expected_public(release="1.3.0")}
    assert len(site.state("/promotions/")) == 3
    assert site.state("/records/") == ["_state/records/1.2.3/1.json", "_state/records/1.3.0/1.json"]
    assert site.public_records() == site.stored_records()


def test_a_live_release_cannot_be_respun() -> None:
    site = a_ready_site()
    site.promote()

    outcome = site.respin()

    assert isinstance(outcome, Refused)
    assert [refusal.rule for refusal in outcome.refusals] == ["public"]


def test_a_foreign_object_at_a_public_key_stops_the_promotion_as_unfinished() -> None:
    site = a_ready_site()

    def plant(request: str, key: str) -> None:
        # Somebody with other credentials writes to the public bucket after the last look at it.
        if request == "place" and key == TGZ and site.s3.public.current(TGZ) is None:
            site.s3.public.store(TGZ, b"foreign")

    site.s3.before = plant
    with pytest.raises(UnfinishedError, match="not of this promotion") as caught:
        site.promote()

    assert caught.value.exit_status == Exit.UNFINISHED
    assert PKG in site.public()
    site.s3.before = lambda request, key: None
    site.s3.public.expire(TGZ)
    assert isinstance(site.promote(), Promoted)
    assert site.public() == expected_public()


def test_a_change_between_plan_and_go_live_is_refused() -> None:
    site = a_ready_site()

    def meddle(request: str, key: str) -> None:
        if request == "copy" and key.endswith("pkg"):
            site.s3.staging.store(f"_hold/qa/{RELEASE}", b"the installer crashes")

    site.s3.before = meddle
    outcome = site.promote()

    assert isinstance(outcome, Refused)
    assert [(r.rule, r.subject) for r in outcome.refusals] == [("moved", f"_hold/qa/{RELEASE}")]
    assert site.public() == {}


def test_a_hold_put_and_lifted_after_a_crash_does_not_block_the_next_run_for_ever() -> None:
    site = a_ready_site()
    stop_at(site, "copy", "")
    site.s3.staging.store(f"_hold/qa/{RELEASE}", b"wait")
    site.s3.staging.store(f"_hold/qa/{RELEASE}", b"")
    revive(site)

    assert isinstance(site.promote(), Promoted)
    assert site.public() == expected_public()


def test_a_pending_copy_older_than_a_day_is_made_again() -> None:
    site = a_ready_site()
    stop_at(site, *LAST_LOOK)
    revive(site)
    site.s3.tick(2 * 86400)
    site.s3.writes.clear()

    assert isinstance(site.promote(), Promoted)
    assert [request for request, _ in site.s3.writes].count("copy") == 2


def test_a_pending_copy_that_is_fresh_is_used() -> None:
    site = a_ready_site()
    stop_at(site, *LAST_LOOK)
    revive(site)
    site.s3.writes.clear()

    assert isinstance(site.promote(), Promoted)
    assert [request for request, _ in site.s3.writes].count("copy") == 0


def test_pending_copies_that_expired_after_go_live_are_replaced_by_the_staged_versions() -> None:
    site = a_ready_site()
    stop_at(site, "place", TGZ)
    site.s3.public.expire("_pending/")
    revive(site)

    assert isinstance(site.promote(), Promoted)
    assert site.public() == expected_public()


def test_a_live_promotion_is_finished_though_staging_and_state_of_the_release_are_gone() -> None:
    site = a_ready_site()
    stop_at(site, "place", TGZ)
    site.s3.staging.expire("linux/")
    site.s3.staging.expire("mac/")
    revive(site)

    outcome = site.promote()

    assert isinstance(outcome, Promoted)
    assert len(outcome.finished) == 1
    assert site.public() == expected_public()


def test_another_intent_before_go_live_abandons_the_older_plan() -> None:
    site = a_ready_site()
    stop_at(site, "copy", "")
    revive(site)
    site.stage_all(b"second")

    assert isinstance(site.promote(), Promoted)
    assert site.public() == expected_public(b"second")
    assert len(site.state("/abandoned.json")) == 1


def test_the_lease_of_another_run_is_respected() -> None:
    site = a_ready_site()
    stop_at(site, "copy", "")
    site.s3.before = lambda request, key: None

    with pytest.raises(LeaseError, match=r"held by .*user/rm for promote 1\.2\.3"):
        site.promote()
    site.s3.tick(121)
    assert isinstance(site.promote(), Promoted)


def test_an_old_lease_is_renewed_while_it_is_used() -> None:
    site = a_ready_site()
    site.s3.before = lambda request, key: site.s3.tick(15) if request in {"copy", "place"} else None

    assert isinstance(site.promote(), Promoted)
    renewals = [key for request, key in site.s3.writes if request == "replace" and key.endswith("lease.json")]
    assert len(renewals) > 3


@pytest.mark.parametrize("number", REQUESTS)
def test_a_crash_before_any_request_leaves_all_or_nothing_and_a_rerun_finishes(number: int) -> None:
    site = a_ready_site()
    crash_before(site, number)
    with pytest.raises(CrashError):
        site.promote()
    assert site.visible() in ({}, expected_public())
    assert bool(site.visible()) == bool(site.live())

    revive(site)

    assert isinstance(site.promote(), Promoted)
    assert site.public() == expected_public()
    assert len(site.state("/records/")) == 1
    assert site.public_records() == site.stored_records()
    assert len(site.state("/done.json")) == 1
    assert set(site.s3.gate.entries) == {"owner"}


@pytest.mark.parametrize("number", REQUESTS)
def test_a_failing_request_gives_the_exit_status_that_tells_whether_something_is_public(number: int) -> None:
    site = a_ready_site()
    seen = 0

    def fail(request: str, key: str) -> None:
        nonlocal seen
        seen += 1
        if seen == number + 1:
            raise StoreError("the line is dead")

    site.s3.before = fail
    status = promote_status(site)

    if status == Exit.FAILED:
        assert site.live() == set()
        assert site.visible() == {}
    elif status == Exit.UNFINISHED:
        assert site.visible() == expected_public()
    else:
        # Only the lease may fail to be freed, and a URL to be looked at, without failing the run.
        assert status == Exit.DONE
        assert site.visible() == expected_public()

    revive(site)
    assert isinstance(site.promote(), Promoted)
    assert site.public() == expected_public()
    assert site.public_records() == site.stored_records()
    assert list(site.stored_records()) == ["1.2.3/1"]


def find_conditional() -> list[int]:
    site = a_ready_site()
    site.s3.writes.clear()
    site.promote()
    conditional = {"create", "replace", "place", "update"}
    return [index for index, (request, _) in enumerate(site.s3.writes) if request in conditional]


CONDITIONAL = find_conditional()


@pytest.mark.parametrize("index", CONDITIONAL)
def test_a_conditional_write_whose_answer_was_lost_and_retried_counts_as_written(index: int) -> None:
    """The first try is applied, its answer lost, and the retry meets its own write: 412."""
    site = a_ready_site()
    site.s3.writes.clear()
    site.s3.lose_answer_of = index

    assert isinstance(site.promote(), Promoted)
    assert site.public() == expected_public()
    assert site.public_records() == site.stored_records()
    assert len(site.state("/promotions/")) == 3


def promote_status(site: Site) -> Exit:
    try:
        return site.promote().status
    except PublisherError as error:
        return error.exit_status


def crash_before(site: Site, number: int) -> None:
    """Let the process die before its request of that number, counted from now."""
    seen = 0

    def die(request: str, key: str) -> None:
        nonlocal seen
        seen += 1
        if seen > number:
            raise CrashError

    site.s3.before = die


def stop_at(site: Site, wanted: str, ending: str, waivers: tuple[Waiver, ...] = ()) -> None:
    """Run until just before the last write of that kind that a promotion needs, then die."""
    dead = False

    def die(request: str, key: str) -> None:
        nonlocal dead
        dead = dead or (request == wanted and key.endswith(ending))
        if dead:
            raise CrashError

    site.s3.before = die
    with pytest.raises(CrashError):
        site.promote(waivers=waivers)


def revive(site: Site) -> None:
    """Let the next run happen on a healthy machine, after the dead one's lease has expired."""
    site.s3.before = lambda request, key: None
    site.s3.tick(121)


def test_conflicts_are_what_the_lost_answers_look_like() -> None:
    site = a_ready_site()
    site.s3.lose_answer_of = len(site.s3.writes)

    with pytest.raises(ConflictError):
        site.s3.staging.create("_state/x", b"1")
    assert site.s3.staging.current("_state/x") is not None


# --- What a hostile reader found ---------------------------------------------------------------------------


def test_a_hold_put_while_the_question_is_asked_is_not_overridden_by_a_waiver_for_another() -> None:
    site = a_ready_site()
    site.s3.staging.store(f"_hold/qa/{RELEASE}", b"the icon is blurry")
    waivers = (Waiver("hold", "*", "it is only the icon"),)

    def answer(decision: Decision) -> bool:
        site.s3.staging.store(f"_hold/mac/{RELEASE}", b"there is malware in the pkg")
        return True

    outcome = promote.run(site.world(), promote.PromoteRequest((RELEASE,), waivers), answer)

    assert isinstance(outcome, Refused)
    assert site.visible() == {}


def test_a_hold_that_says_something_else_than_the_one_that_was_waived_is_another_plan() -> None:
    site = a_ready_site()
    waivers = (Waiver("hold", f"qa/{RELEASE}", "it is only the icon"),)
    site.s3.staging.store(f"_hold/qa/{RELEASE}", b"the icon is blurry")
    planned = site.promote(waivers=waivers, dry_run=True)
    assert isinstance(planned, Planned)
    assert planned.decision is not None
    site.s3.staging.store(f"_hold/qa/{RELEASE}", b"the installer wipes the disk")

    outcome = site.promote(waivers=waivers, plan=planned.decision.plan.digest)

    assert isinstance(outcome, Refused)
    assert [refusal.rule for refusal in outcome.refusals] == ["plan"]
    assert site.visible() == {}


def test_a_hold_waived_as_it_was_reviewed_is_waived() -> None:
    site = a_ready_site()
    waivers = (Waiver("hold", f"qa/{RELEASE}", "it is only the icon"),)
    site.s3.staging.store(f"_hold/qa/{RELEASE}", b"the icon is blurry")

    assert isinstance(site.promote(waivers=waivers), Promoted)
    assert site.visible() == expected_public()


@pytest.mark.parametrize("waivers", [(), (Waiver("hold", f"qa/{RELEASE}", "it is only the icon"),)])
def test_a_live_promotion_is_finished_though_staging_cannot_be_read(waivers: tuple[Waiver, ...]) -> None:
    site = a_ready_site()
    if waivers:
        site.s3.staging.store(f"_hold/qa/{RELEASE}", b"the icon is blurry")
    stop_at(site, "place", TGZ, waivers)
    revive(site)

    def refuse(request: str, key: str) -> None:
        if key.startswith(("linux/", "mac/", "_hold/")):
            raise StoreError("a key that cannot be used")

    site.s3.before = refuse
    with pytest.raises(UnfinishedError, match="is finished; what was staged since is not promoted"):
        site.promote(waivers=waivers)

    assert site.public() == expected_public()
    assert len(site.state("/done.json")) == 1


@pytest.mark.parametrize("marker", ["live.json", "done.json", "records/1.2.3/1.json", FIRST_RECORD])
def test_a_conflict_with_nobody_is_tried_again_and_not_taken_for_written(marker: str) -> None:
    site = a_ready_site()
    refused = 0

    def refuse_once(request: str, key: str) -> None:
        nonlocal refused
        if request == "create" and key.endswith(marker) and not refused:
            refused += 1
            raise ConflictError("409 ConditionalRequestConflict")

    site.s3.before = refuse_once

    assert isinstance(site.promote(), Promoted)
    assert refused == 1
    assert len(site.state("/done.json")) == len(site.state("/live.json")) == 1
    assert len(site.stored_records()) == 1
    assert site.public_records() == site.stored_records()


def test_a_marker_that_can_never_be_written_is_an_error_and_no_success() -> None:
    site = a_ready_site()

    def refuse(request: str, key: str) -> None:
        if request == "create" and key.endswith("done.json"):
            raise ConflictError("409 ConditionalRequestConflict")

    site.s3.before = refuse
    with pytest.raises(UnfinishedError, match="keeps answering conflict"):
        site.promote()


def test_the_same_bytes_under_another_etag_do_not_keep_a_promotion_from_its_end() -> None:
    site = a_ready_site()
    stop_at(site, "place", TGZ)
    revive(site)
    data = site.s3.staging.current(f"linux/{RELEASE}/{TGZ}")
    assert data is not None
    # Ops repaired the public key by an upload in parts: another ETag, and no digest of the whole file.
    site.s3.public.store(TGZ, data.data, whole=False)

    outcome = site.promote()

    assert isinstance(outcome, Promoted)
    assert site.public() == expected_public()


def test_what_follows_a_finished_promotion_never_says_that_nothing_public_changed() -> None:
    site = a_ready_site()
    stop_at(site, "place", TGZ)
    revive(site)
    site.stage("linux", {f"{TGZ}.spdx.json": b"{}"})
    site.hand_over("linux")

    declined = promote.run(site.world(), promote.PromoteRequest((RELEASE,)), lambda decision: False)

    assert isinstance(declined, Declined)
    assert declined.status == Exit.UNFINISHED
    assert len(declined.finished) == 1


def test_refusals_after_a_finished_promotion_say_that_something_public_changed() -> None:
    site = a_ready_site()
    stop_at(site, "place", TGZ)
    revive(site)
    site.stage("linux", {"tool/1.2.3/unknown.bin": b"x"})

    refused = site.promote()

    assert isinstance(refused, Refused)
    assert refused.status == Exit.UNFINISHED
    assert len(refused.finished) == 1


def test_a_foreign_object_at_a_public_key_is_not_taken_for_the_placed_file() -> None:
    site = a_ready_site()
    stop_at(site, "place", TGZ)
    site.s3.public.store(TGZ, b"foreign")
    revive(site)
    site.s3.public.expire("_pending/")

    with pytest.raises(UnfinishedError, match="not of this promotion"):
        site.promote()

    assert site.visible() == expected_public()


def test_a_hand_over_that_was_set_aside_stays_so_whatever_commit_comes_next() -> None:
    site = a_ready_site()
    site.respin(COMMIT)
    assert isinstance(site.promote(), Refused)
    site.respin(OTHER_COMMIT)
    site.respin(COMMIT)

    outcome = site.promote()

    assert isinstance(outcome, Refused)
    assert {refusal.rule for refusal in outcome.refusals} == {"attempt"}


def test_a_waiver_of_the_promotion_that_is_finished_is_not_asked_for_again() -> None:
    site = Site()
    site.open()
    site.stage_all()
    site.s3.staging.expire("mac/")
    waivers = (Waiver("missing", f"mac/{RELEASE}", "the Mac follows tomorrow"),)
    stop_at(site, "place", "", waivers)
    revive(site)
    site.stage_all()

    outcome = site.promote(waivers=waivers)

    assert isinstance(outcome, Promoted)
    assert site.public() == expected_public()


def test_a_waiver_that_is_still_needed_after_finishing_is_kept() -> None:
    site = a_ready_site()
    site.s3.staging.store(f"_hold/qa/{RELEASE}", b"the icon is blurry")
    waivers = (Waiver("hold", f"qa/{RELEASE}", "it is only the icon"),)
    stop_at(site, "place", "", waivers)
    revive(site)
    site.stage("linux", {f"{TGZ}.spdx.json": b"{}"})
    site.hand_over("linux")

    outcome = site.promote(waivers=waivers)

    assert isinstance(outcome, Promoted)
    assert outcome.plan is not None
    assert [file.key for file in outcome.plan.files] == [f"{TGZ}.spdx.json"]


def test_a_live_promotion_is_finished_though_the_profile_knows_its_name_no_more() -> None:
    site = a_ready_site()
    stop_at(site, "place", TGZ, ())
    revive(site)
    site.profile_text = site.profile_text.replace(rb"\.\d+(?P<stage>", rb"\.\d+\.\d+(?P<stage>")

    with pytest.raises(UnfinishedError, match="is finished; what was staged since is not promoted"):
        site.promote()

    assert site.public() == expected_public()
    assert len(site.state("/done.json")) == 1
    # A name that is no release, and of which nothing is live, is misuse as ever.
    with pytest.raises(UsageError):
        site.promote()


def test_a_pending_copy_that_is_not_the_planned_one_never_gets_to_a_public_key() -> None:
    site = a_ready_site()
    stop_at(site, "place", TGZ, ())
    revive(site)
    (pending,) = (key for key in site.s3.public.versions if key.startswith("_pending/") and key.endswith(TGZ))
    site.s3.public.store(pending, b"something else")

    with pytest.raises(UnfinishedError, match="the pending copy of"):
        site.promote()

    assert site.s3.public.current(TGZ) is None
