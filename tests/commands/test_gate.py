"""Rebuilding a gate whose store was lost, from what the state says."""

import pytest

from publisher.commands.gate import run_rebuild
from publisher.core.gate import LIVE, OWNER
from publisher.errors import Exit, GateLostError, LeaseError
from publisher.outcomes import GateRebuilt, Promoted, Refused
from publisher.workflow.lease import hold_lease
from tests.support.site import PKG, RELEASE, TGZ, Site, expected_public

OTHER = "1.3.0"


class CrashError(BaseException):
    """The process is gone: nothing of it runs any more, no `finally` can write."""


def a_ready_site() -> Site:
    site = Site()
    site.open()
    site.stage_all()
    return site


def crash(site: Site, request: str, ending: str) -> str:
    """Let a promotion die before a request, expire its lease, and answer its id."""
    dead: list[str] = []

    def die(found: str, key: str) -> None:
        if dead or (found == request and key.endswith(ending)):
            dead.append(key)
            raise CrashError

    site.s3.before = die
    with pytest.raises(CrashError):
        site.promote()
    site.s3.before = lambda request, key: None
    site.s3.tick(121)
    (plan,) = site.state("/plan.json")
    return plan.split("/")[2]


def lose_store(site: Site) -> None:
    site.s3.gate.set({})


def entries(site: Site) -> dict[str, str]:
    return {key: value for key, value in site.s3.gate.entries.items() if key != OWNER}


def test_what_a_lost_store_owed_of_a_live_promotion_is_visible_again_at_once() -> None:
    site = a_ready_site()
    promotion = crash(site, "place", PKG)
    assert site.visible() == expected_public()
    lose_store(site)
    assert set(site.visible()) == {TGZ}

    outcome = run_rebuild(site.world())

    assert outcome == GateRebuilt(live=(promotion,), planned=(), releases=(RELEASE,))
    assert outcome.status is Exit.DONE
    assert entries(site) == {f"p:{PKG}": promotion, f"s:{promotion}": LIVE}
    assert OWNER in site.s3.gate.entries
    assert site.visible() == expected_public()


def test_a_live_promotion_of_which_nothing_is_placed_is_listed_whole() -> None:
    site = a_ready_site()
    promotion = crash(site, "place", TGZ)
    lose_store(site)
    assert site.visible() == {}

    run_rebuild(site.world())

    assert entries(site) == {f"p:{PKG}": promotion, f"p:{TGZ}": promotion, f"s:{promotion}": LIVE}
    assert site.visible() == expected_public()


def test_a_rebuilt_promotion_is_finished_by_the_next_run() -> None:
    site = a_ready_site()
    promotion = crash(site, "place", TGZ)
    lose_store(site)
    run_rebuild(site.world())

    outcome = site.promote()

    assert isinstance(outcome, Promoted)
    assert outcome.finished == (promotion,)
    assert site.public() == expected_public()
    assert entries(site) == {}


def test_a_live_promotion_whose_keys_are_all_placed_needs_no_entries() -> None:
    site = a_ready_site()
    promotion = crash(site, "create", "/records/1.2.3/1.json")
    lose_store(site)

    outcome = run_rebuild(site.world())

    assert outcome == GateRebuilt(live=(promotion,), planned=(), releases=(RELEASE,))
    assert entries(site) == {}
    assert site.visible() == expected_public()


def test_a_promotion_that_was_only_planned_stays_hidden_and_is_named() -> None:
    site = a_ready_site()
    promotion = crash(site, "describe", f"_state/releases/{RELEASE}.json")
    lose_store(site)

    outcome = run_rebuild(site.world())

    assert outcome == GateRebuilt(live=(), planned=(promotion,), releases=(RELEASE,))
    assert entries(site) == {}
    assert site.visible() == {}
    assert isinstance(site.promote(), Promoted)


def test_a_promotion_lost_between_gate_and_state_is_the_release_managers_to_decide() -> None:
    site = a_ready_site()
    promotion = crash(site, "create", "/live.json")
    assert site.visible() == expected_public()
    lose_store(site)

    outcome = run_rebuild(site.world())

    assert outcome == GateRebuilt(live=(), planned=(promotion,), releases=(RELEASE,))
    assert site.visible() == {}
    assert isinstance(site.promote(), Promoted)
    assert site.visible() == expected_public()


def test_a_store_that_was_not_lost_is_believed_where_it_shows_a_promotion() -> None:
    site = a_ready_site()
    promotion = crash(site, "create", "/live.json")

    outcome = run_rebuild(site.world())

    assert outcome == GateRebuilt(live=(promotion,), planned=(), releases=(RELEASE,))
    assert site.visible() == expected_public()


def test_with_nothing_unfinished_only_the_owner_is_written() -> None:
    site = a_ready_site()
    site.promote()
    lose_store(site)
    site.s3.writes.clear()

    outcome = run_rebuild(site.world())

    assert outcome == GateRebuilt((), (), ())
    assert set(site.s3.gate.entries) == {OWNER}
    assert [name for request, name in site.s3.writes if request == "update"] == ["gate/owner"]


def test_a_rebuild_of_a_store_never_used_initialises_it() -> None:
    site = Site()

    assert run_rebuild(site.world()) == GateRebuilt((), (), ())
    assert set(site.s3.gate.entries) == {OWNER}


def test_a_rebuild_done_twice_is_the_same() -> None:
    site = a_ready_site()
    crash(site, "place", TGZ)
    lose_store(site)
    first = run_rebuild(site.world())
    before = entries(site)

    assert run_rebuild(site.world()) == first
    assert entries(site) == before


def test_a_new_promotion_is_refused_until_the_rebuild() -> None:
    site = a_ready_site()
    site.promote()
    site.open(OTHER)
    site.stage_all(release=OTHER)
    lose_store(site)
    site.s3.writes.clear()

    outcome = site.promote(OTHER)

    assert isinstance(outcome, Refused)
    assert [refusal.rule for refusal in outcome.refusals] == ["gate"]
    assert site.s3.writes == []
    run_rebuild(site.world())
    assert isinstance(site.promote(OTHER), Promoted)


def test_a_planned_promotion_is_refused_until_the_rebuild() -> None:
    site = a_ready_site()
    crash(site, "describe", f"_state/releases/{RELEASE}.json")
    lose_store(site)

    outcome = site.promote()

    assert isinstance(outcome, Refused)
    assert [refusal.rule for refusal in outcome.refusals] == ["gate"]
    assert entries(site) == {}


def test_a_live_promotion_is_not_finished_before_the_rebuild() -> None:
    site = a_ready_site()
    crash(site, "place", TGZ)
    lose_store(site)
    public = site.public()

    with pytest.raises(GateLostError) as caught:
        site.promote()

    assert caught.value.next_step == "publisher gate rebuild"
    assert site.s3.gate.entries == {}
    assert site.public() == public


def test_a_rebuild_waits_for_whoever_holds_the_lease() -> None:
    site = a_ready_site()
    with hold_lease(site.world("anna"), "promote 1.2.3"):
        before = dict(site.s3.gate.entries)
        with pytest.raises(LeaseError, match=r"user/anna for promote 1\.2\.3"):
            run_rebuild(site.world())
        assert site.s3.gate.entries == before


def test_a_rebuild_frees_the_lease() -> None:
    site = a_ready_site()

    run_rebuild(site.world())

    stored = site.world().state.read_lease()
    assert stored is not None
    assert stored.value.token is None
    assert stored.value.purpose == "gate rebuild"
