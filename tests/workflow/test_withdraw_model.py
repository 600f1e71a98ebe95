"""Withdrawals beside promotions, crashes, lost answers and sleepers, against the real code on fakes.

One step is one request. Whatever the order, all files of the release have one status after each; and from
wherever the world then stands, a healthy machine withdraws, restores and promotes to a clean end.
"""

from collections.abc import Callable
from contextlib import suppress

import pytest
from greenlet import getcurrent
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from publisher.commands import promote, verify
from publisher.commands.withdraw import WithdrawRequest, run_restore, run_withdraw
from publisher.core.withdrawals import Course
from publisher.errors import Exit, PublisherError
from publisher.outcomes import Outcome, Promoted, Refused, Restored, Verified, Withdrawn
from tests.support.site import PKG, RELEASE, Site, expected_public, say_yes
from tests.workflow.test_promotion_model import STEPS, Actor, CrashError, undisturbed

GONE = 410
KEYS = tuple(expected_public())


def withdraw(site: Site, user: str = "rm", *, keys: tuple[str, ...] = (), unlist: bool = False) -> Outcome:
    request = WithdrawRequest(RELEASE, keys, "a fault", unlist)
    return run_withdraw(site.world(user), request, lambda preview: True)


def restore(site: Site, user: str = "rm") -> Outcome:
    return run_restore(site.world(user), RELEASE, "no fault", lambda preview: True)


def statuses(site: Site) -> dict[str, int]:
    """Give the status of each file at an edge without lag."""
    web = site.s3.web
    return {key: GONE if web.is_gone(key) else 200 if web.find(key) else 404 for key in KEYS}


def a_ready_site() -> Site:
    site = Site()
    site.open()
    site.stage_all()
    return site


def a_public_site() -> Site:
    site = a_ready_site()
    assert isinstance(site.promote(), Promoted)
    return site


class Model:
    """The site and two release managers: ann promotes, bob withdraws and restores."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.actors = [Actor(name, site) for name in ("ann", "bob")]
        self.site.s3.before = self._pause

    def _pause(self, request: str, key: str) -> None:
        current = getcurrent()
        for actor in self.actors:
            if actor.task is current:
                if not actor.dead and current.parent is not None:
                    current.parent.switch()
                if actor.dead:
                    raise CrashError

    def act(self, kind: str, who: int, count: int) -> None:
        actor = self.actors[who]
        commands: dict[str, Callable[[], None]] = {
            "promote": lambda: actor.start(self._promote),
            "withdraw": lambda: actor.start(lambda user: withdraw(self.site, user)),
            "restore": lambda: actor.start(lambda user: restore(self.site, user)),
            "crash": actor.crash,
            "sleep": lambda: self.site.s3.tick(121),
            "step": lambda: None,
        }
        commands[kind]()
        for _ in range(count):
            if not actor.busy:
                break
            actor.step()
            self.check()

    def _promote(self, user: str) -> Outcome:
        return promote.run(self.site.world(user), promote.PromoteRequest((RELEASE,)), say_yes)

    def check(self) -> None:
        found = set(statuses(self.site).values())
        assert len(found) == 1, "the files of the release have different statuses"
        with undisturbed(self.site):
            cases = self.site.world().state.read_cases()
        withdrawn = [case for case in cases if case.course is Course.WITHDRAWN]
        if GONE in found:
            assert cases, "it is gone and nobody has withdrawn it"
        if withdrawn and all(case.course is not Course.RESTORING for case in cases):
            assert found == {GONE}, "it is withdrawn, and served"

    def settle(self) -> None:
        """Let everybody die, and one person bring everything to an end on a healthy machine."""
        for actor in self.actors:
            actor.crash()
        self.site.s3.tick(121)
        finish(self.site)


def finish(site: Site) -> None:
    """Withdraw if that was begun, then take it back and promote; all of it has to be clean in the end."""
    site.s3.before = lambda request, key: None
    cases = site.world().state.read_cases()
    if any(case.course is Course.WITHDRAWING for case in cases):
        outcome = withdraw(site)
        if any(case.course is Course.RESTORING for case in cases):
            assert isinstance(outcome, Refused)
        else:
            assert isinstance(outcome, Withdrawn)
            assert set(statuses(site).values()) == {GONE}
            check_clean(site)
    if cases:
        assert isinstance(restore(site), Restored)
        assert set(statuses(site).values()) == {200}
    outcome = site.promote()
    assert isinstance(outcome, Promoted)
    assert site.public() == expected_public()
    assert set(site.s3.gate.entries) == {"owner"}
    check_clean(site)
    site.s3.writes.clear()
    site.promote()
    restore(site)
    assert site.s3.writes == [], "a further run still had something to write"


def check_clean(site: Site) -> None:
    """Check that every record is stored, public and true of what is served, and that no promotion is owed."""
    names = site.stored_records()
    assert sorted(names) == [f"{RELEASE}/{number + 1}" for number in range(len(names))]
    assert site.public_records() == names
    promotions = {key.split("/")[2] for key in site.state("/live.json")}
    assert promotions == {key.split("/")[2] for key in site.state("/done.json") if "/promotions/" in key}
    assert not any(value == "live" for value in site.s3.gate.entries.values())
    seen = verify.run_public(site.world().visitor, RELEASE)
    assert isinstance(seen, Verified)
    assert (seen.status, seen.refusals) == (Exit.DONE, ())
    gone = {key for key, status in statuses(site).items() if status == GONE}
    assert set(seen.gone) == gone


def count_requests(site: Site, command: Callable[[Site], Outcome]) -> int:
    seen = 0

    def note(request: str, key: str) -> None:
        nonlocal seen
        seen += 1

    site.s3.before = note
    command(site)
    site.s3.before = lambda request, key: None
    return seen


def crash_before(site: Site, number: int, command: Callable[[Site], Outcome]) -> None:
    """Let a command die before its request of that number, and its lease expire."""
    seen = 0

    def die(request: str, key: str) -> None:
        nonlocal seen
        seen += 1
        if seen > number:
            raise CrashError

    site.s3.before = die
    with suppress(CrashError):
        command(site)
    site.s3.before = lambda request, key: None
    site.s3.tick(121)


def a_withdrawn_site() -> Site:
    site = a_public_site()
    withdraw(site)
    return site


def promote_it(site: Site) -> Outcome:
    return site.promote()


END = 1_000
"""More requests than any command makes here."""

WITHDRAW = range(count_requests(a_public_site(), withdraw))
RESTORE = range(count_requests(a_withdrawn_site(), restore))


# --- One at a time ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", WITHDRAW)
def test_a_withdrawal_that_dies_before_any_request_leaves_one_status_and_a_rerun_finishes(
    number: int,
) -> None:
    site = a_public_site()
    crash_before(site, number, withdraw)
    assert len(set(statuses(site).values())) == 1

    outcome = withdraw(site)

    assert isinstance(outcome, Withdrawn)
    assert set(statuses(site).values()) == {GONE}
    check_clean(site)
    assert isinstance(site.promote(), Refused)
    finish(site)
    assert list(site.stored_records()) == [f"{RELEASE}/{n}" for n in (1, 2, 3)]


@pytest.mark.parametrize("number", RESTORE)
def test_a_restoration_that_dies_before_any_request_leaves_one_status_and_a_rerun_finishes(
    number: int,
) -> None:
    site = a_withdrawn_site()
    crash_before(site, number, restore)
    assert len(set(statuses(site).values())) == 1

    finish(site)

    assert list(site.stored_records()) == [f"{RELEASE}/{n}" for n in (1, 2, 3)]


@pytest.mark.parametrize("number", range(0, len(WITHDRAW), 8))
def test_a_withdrawal_that_dies_twice_is_finished_all_the_same(number: int) -> None:
    for second in range(0, len(WITHDRAW), 9):
        site = a_public_site()
        crash_before(site, number, withdraw)
        crash_before(site, second, withdraw)
        finish(site)


@pytest.mark.parametrize("number", WITHDRAW)
def test_a_withdrawal_that_died_can_be_taken_back_without_being_finished(number: int) -> None:
    site = a_public_site()
    crash_before(site, number, withdraw)

    restore(site)

    assert set(statuses(site).values()) == {200}
    check_clean(site)


def find_conditional(site: Site, command: Callable[[Site], Outcome]) -> list[int]:
    site.s3.writes.clear()
    command(site)
    conditional = {"create", "replace", "place", "update"}
    return [index for index, (request, _) in enumerate(site.s3.writes) if request in conditional]


@pytest.mark.parametrize("index", find_conditional(a_public_site(), withdraw))
def test_a_write_of_a_withdrawal_whose_answer_was_lost_and_retried_counts_as_written(index: int) -> None:
    site = a_public_site()
    site.s3.writes.clear()
    site.s3.lose_answer_of = index

    assert isinstance(withdraw(site), Withdrawn)

    site.s3.lose_answer_of = None
    assert set(statuses(site).values()) == {GONE}
    finish(site)


@pytest.mark.parametrize("index", find_conditional(a_withdrawn_site(), restore))
def test_a_write_of_a_restoration_whose_answer_was_lost_and_retried_counts_as_written(index: int) -> None:
    site = a_withdrawn_site()
    site.s3.writes.clear()
    site.s3.lose_answer_of = index

    assert isinstance(restore(site), Restored)

    site.s3.lose_answer_of = None
    finish(site)


# --- Over a promotion ------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(STEPS + 1))
def test_what_a_dead_promotion_left_live_is_withdrawn_whole_and_comes_back_whole(number: int) -> None:
    site = a_ready_site()
    crash_before(site, number, promote_it)
    live = bool(site.live())

    outcome = withdraw(site)

    if live:
        assert isinstance(outcome, Withdrawn)
        assert set(statuses(site).values()) == {GONE}
        check_clean(site)
    else:
        assert isinstance(outcome, Refused)
        assert [refusal.rule for refusal in outcome.refusals] == ["not-public"]
    finish(site)


@pytest.mark.parametrize("pause", range(STEPS + 1))
def test_a_promotion_under_way_is_stopped_by_a_withdrawal_and_does_no_harm_after_it(pause: int) -> None:
    model = Model(a_ready_site())
    model.act("promote", 0, pause)
    live, busy = bool(model.site.live()), model.actors[0].busy
    model.act("withdraw", 1, END)
    model.act("step", 0, END)

    ann, bob = model.actors[0].ends, model.actors[1].ends
    if live:
        assert bob == ["Withdrawn"]
        assert set(statuses(model.site).values()) == {GONE}
    if live and busy and ann != ["Promoted"]:
        assert ann[0].startswith("UnfinishedError"), "something is public, so it ends with 4"
        assert "the lease was lost" in ann[0]
    model.settle()


@pytest.mark.parametrize("pause", range(0, STEPS + 1, 5))
def test_a_withdrawal_over_a_live_promotion_that_dies_anywhere_is_finished(pause: int) -> None:
    for number in range(0, 120, 11):
        site = a_ready_site()
        crash_before(site, pause, promote_it)
        crash_before(site, number, withdraw)
        assert len(set(statuses(site).values())) == 1
        finish(site)


ACTIONS = st.tuples(
    st.sampled_from(["promote", "withdraw", "restore", "step", "step", "sleep", "crash"]),
    st.integers(0, 1),
    st.integers(0, 70),
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ACTIONS, max_size=20))
def test_whatever_happens_its_files_have_one_status_and_the_end_is_clean(
    actions: list[tuple[str, int, int]],
) -> None:
    model = Model(a_ready_site())
    for kind, who, count in actions:
        model.act(kind, who, count)
    model.settle()


@pytest.mark.slow
@settings(max_examples=3_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ACTIONS, max_size=40))
def test_whatever_happens_its_files_have_one_status_and_the_end_is_clean_at_length(
    actions: list[tuple[str, int, int]],
) -> None:
    model = Model(a_ready_site())
    for kind, who, count in actions:
        model.act(kind, who, count)
    model.settle()


# --- What cannot be placed -------------------------------------------------------------------------------


def a_blocked_site() -> Site:
    """Make a site with a live promotion, of which one file cannot be placed: something else has its key."""
    site = a_ready_site()

    def plant(request: str, key: str) -> None:
        if request == "place" and key == PKG and site.s3.public.current(PKG) is None:
            site.s3.public.store(PKG, b"foreign")

    site.s3.before = plant
    with pytest.raises(PublisherError, match="not of this promotion"):
        site.promote()
    site.s3.before = lambda request, key: None
    assert set(statuses(site).values()) == {200}
    return site


@pytest.mark.parametrize("number", [*range(0, 130, 2), END])
def test_a_file_that_cannot_be_placed_is_withdrawn_in_the_same_step_and_never_shown_as_what_it_is_not(
    number: int,
) -> None:
    site = a_blocked_site()
    digests = site.visible()
    seen: list[bool] = []

    def watch(request: str, key: str) -> None:
        found = site.visible()
        seen.append(len(set(statuses(site).values())) == 1 and found in (digests, {}))
        if len(seen) > number:
            raise CrashError

    site.s3.before = watch
    try:
        withdraw(site)
    except CrashError:
        site.s3.before = lambda request, key: seen.append(site.visible() in (digests, {}))
        site.s3.tick(121)
        withdraw(site)
    site.s3.before = lambda request, key: None
    assert all(seen), "a part of it went first, or the foreign object was served"
    assert set(statuses(site).values()) == {GONE}
    assert any("withdrawn whole" in warning for warning in site.observer.warnings)

    refused = restore(site)
    assert isinstance(refused, Refused)
    assert [(refusal.rule, refusal.subject) for refusal in refused.refusals] == [("drift", PKG)]
    assert set(statuses(site).values()) == {GONE}
    site.s3.public.store(PKG, b"first " + PKG.encode())
    finish(site)
