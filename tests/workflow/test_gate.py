"""Writes to the gate's store: each fenced by ETag and lease, in that order, whatever comes between."""

from collections.abc import Callable, Mapping
from functools import partial

import pytest

from publisher.core.gate import LIVE, OWNER, Change, list_paths, path_entry, promotion_entry, show
from publisher.errors import (
    ConflictError,
    Exit,
    GateLostError,
    LeaseError,
    StoreError,
    UnfinishedError,
)
from publisher.outcomes import Promoted
from publisher.workflow.gate import GateKeeper, claim_gate, claim_lost_gate
from tests.support.fakes import FakeS3
from tests.support.site import RELEASE, Site, expected_public

KEYS = [f"tool/{number:03d}" for number in range(111)]
LISTED = {path_entry(key): "p1" for key in KEYS}
WriteOne = Callable[[Mapping[str, str]], Change]


class Desk:
    """A keeper on a store in memory, and everything that it asks of the world, in order."""

    def __init__(self, entries: Mapping[str, str] | None = None) -> None:
        self.s3 = FakeS3(before=self._note)
        self.s3.gate.set(entries or {})
        self.asked: list[str] = []
        self.before: Callable[[str], None] = lambda request: None
        self.keeper = GateKeeper(self.s3.gate, lambda: self._note("lease", ""))

    @property
    def entries(self) -> Mapping[str, str]:
        return self.s3.gate.entries

    @property
    def sizes(self) -> list[int]:
        """Count the entries of each update that was sent."""
        return [name.count(",") + 1 for request, name in self.s3.writes if request == "update"]

    def meddle(self, key: str, value: str = "x") -> None:
        """Write as somebody else does."""
        self.s3.gate.set({**self.s3.gate.entries, key: value})

    def _note(self, request: str, key: str) -> None:
        self.asked.append(request)
        self.before(request)


def put(**entries: str) -> WriteOne:
    """Ask for exactly these entries, as far as they are not there yet."""
    return lambda found: Change({key: value for key, value in entries.items() if found.get(key) != value})


def never(entries: Mapping[str, str]) -> Change:
    pytest.fail(f"asked what to change in {entries}")


# --- One write -------------------------------------------------------------------------------------------


def test_a_write_reads_the_etag_then_the_entries_then_the_lease_and_only_then_writes() -> None:
    desk = Desk()

    assert desk.keeper.write(put(a="1"))
    assert desk.entries == {"a": "1"}
    assert desk.asked == ["etag", "entries", "lease", "update", "lease"]


def test_what_to_change_is_asked_after_the_lease_was_seen_and_before_each_update() -> None:
    desk = Desk()

    def change(entries: Mapping[str, str]) -> Change:
        desk.asked.append(f"asked with {len(entries)}")
        return list_paths(entries, KEYS[:60], "p1")

    desk.keeper.write(change)

    assert desk.asked[2:] == [
        "lease",
        "asked with 0",
        "update",
        "lease",
        "asked with 50",
        "update",
        "lease",
        "asked with 60",
    ]


def test_a_hundred_and_eleven_keys_are_listed_in_three_updates() -> None:
    desk = Desk()

    assert desk.keeper.write(partial(list_paths, keys=KEYS, promotion="p1"))
    assert desk.sizes == [50, 50, 11]
    assert desk.entries == LISTED
    assert desk.asked.count("entries") == 1


def test_nothing_to_change_writes_nothing() -> None:
    desk = Desk({"a": "1"})

    assert not desk.keeper.write(put(a="1"))
    assert desk.s3.writes == []
    assert desk.asked == ["etag", "entries", "lease"]


def test_a_second_write_goes_on_from_the_first_ones_etag_and_looks_at_the_lease_again() -> None:
    desk = Desk()
    desk.keeper.write(put(a="1"))
    desk.asked.clear()

    desk.keeper.write(lambda entries: Change(deletes=[key for key in ("a",) if key in entries]))

    assert desk.asked == ["lease", "update", "lease"]
    assert desk.entries == {}


# --- Conflicts -------------------------------------------------------------------------------------------


def test_a_conflict_starts_over_with_etag_entries_and_lease() -> None:
    desk = Desk()
    seen: list[dict[str, str]] = []

    def change(entries: Mapping[str, str]) -> Change:
        seen.append(dict(entries))
        if len(seen) == 1:
            desk.meddle("theirs")
        return put(a="1")(entries)

    desk.keeper.write(change)

    assert desk.entries == {"theirs": "x", "a": "1"}
    assert seen == [{}, {"theirs": "x"}, {"theirs": "x", "a": "1"}]
    assert desk.asked == [*(["etag", "entries", "lease", "update"] * 2), "lease"]


@pytest.mark.parametrize("moment", ["entries", "lease", "update"])
def test_a_write_of_somebody_else_at_any_moment_after_the_etag_makes_the_update_fail_once(
    moment: str,
) -> None:
    desk = Desk()
    done: list[str] = []

    def meddle(request: str) -> None:
        if request == moment and not done:
            done.append(request)
            desk.meddle("theirs")

    desk.before = meddle
    desk.keeper.write(put(a="1"))

    assert desk.entries == {"theirs": "x", "a": "1"}
    assert desk.asked.count("update") == 2


def test_a_conflict_after_which_there_is_nothing_left_to_change_ends_well() -> None:
    desk = Desk()
    desk.before = lambda request: desk.meddle("a", "1") if request == "update" else None

    desk.keeper.write(put(a="1"))

    assert desk.entries == {"a": "1"}
    assert desk.asked.count("update") == 1


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_an_update_that_was_applied_though_its_answer_was_lost_is_not_made_again(lost: int) -> None:
    desk = Desk()
    desk.s3.lose_answer_of = lost

    desk.keeper.write(partial(list_paths, keys=KEYS, promotion="p1"))

    assert desk.entries == LISTED
    assert desk.sizes == [50, 50, 11]


def test_a_write_gives_up_when_the_store_answers_conflict_again_and_again() -> None:
    desk = Desk()
    desk.before = lambda request: desk.meddle("theirs", str(len(desk.asked))) if request == "update" else None

    with pytest.raises(StoreError, match="keeps answering conflict") as caught:
        desk.keeper.write(put(a="1"))

    assert not isinstance(caught.value, ConflictError)
    assert caught.value.next_step
    assert set(desk.entries) == {"theirs"}
    assert desk.asked.count("update") == desk.asked.count("lease") == desk.asked.count("etag") == 20


def test_conflicts_are_counted_for_each_write_alone() -> None:
    desk = Desk()
    turns = iter(range(1000))

    def meddle(request: str) -> None:
        if request == "update" and next(turns) % 2 == 0:
            desk.meddle("theirs", str(len(desk.asked)))

    desk.before = meddle
    for number in range(30):
        desk.keeper.write(put(a=str(number)))

    assert desk.entries["a"] == "29"


def test_after_an_error_whose_write_may_have_been_applied_the_next_write_still_comes_right() -> None:
    desk = Desk()
    desk.keeper.write(put(a="0"))

    def break_off(request: str) -> None:
        if request == "update":
            desk.meddle("a", "1")
            raise StoreError("the line is dead")

    desk.before = break_off
    with pytest.raises(StoreError, match="the line is dead"):
        desk.keeper.write(put(a="1"))
    desk.before = lambda request: None
    desk.keeper.write(put(a="1", b="2"))

    assert desk.entries == {"a": "1", "b": "2"}


# --- The lease -------------------------------------------------------------------------------------------


def test_nothing_is_written_and_nothing_decided_once_the_lease_is_lost() -> None:
    desk = Desk()

    def lose(request: str) -> None:
        if request == "lease":
            raise LeaseError("lost")

    desk.before = lose
    with pytest.raises(LeaseError):
        desk.keeper.write(never)

    assert desk.s3.writes == []
    assert desk.asked == ["etag", "entries", "lease"]


def test_a_lease_lost_between_two_updates_leaves_the_rest_unwritten() -> None:
    desk = Desk()

    def lose(request: str) -> None:
        if request == "lease" and desk.sizes == [50, 50]:
            raise LeaseError("lost")

    desk.before = lose
    with pytest.raises(LeaseError):
        desk.keeper.write(partial(list_paths, keys=KEYS, promotion="p1"))

    assert desk.sizes == [50, 50]
    assert len(desk.entries) == 100


@pytest.mark.parametrize("moment", ["entries", "lease", "update"])
def test_who_slept_at_any_moment_after_the_etag_cannot_write_over_the_next_holders_claim(
    moment: str,
) -> None:
    desk = Desk({OWNER: "old"})
    claimed: list[str] = []

    def wake_late(request: str) -> None:
        if request == moment and not claimed:
            claimed.append("new")
            desk.meddle(OWNER, "new")
        elif request == "lease" and claimed and desk.asked.count("lease") > 1:
            raise LeaseError("lost")

    desk.before = wake_late
    with pytest.raises(LeaseError):
        desk.keeper.write(partial(show, promotion="p1"))

    assert desk.entries == {OWNER: "new"}


# --- The claim -------------------------------------------------------------------------------------------


def a_keeper(site: Site) -> GateKeeper:
    return GateKeeper(site.s3.gate, lambda: None)


def test_the_first_claim_ever_initialises_the_store() -> None:
    site = Site()

    claim_gate(site.world(), a_keeper(site), "t1")

    assert site.s3.gate.entries == {OWNER: "t1"}


def test_each_claim_changes_the_owner_and_nothing_else() -> None:
    site = Site()
    site.s3.gate.set({OWNER: "t1", "p:a": "p1", "d:tool": ""})
    before = site.s3.gate.read_etag()

    claim_gate(site.world(), a_keeper(site), "t2")

    assert site.s3.gate.entries == {OWNER: "t2", "p:a": "p1", "d:tool": ""}
    assert site.s3.gate.read_etag() != before


@pytest.mark.parametrize("entries", [{}, {"p:a": "p1", "s:p1": "live"}])
def test_a_store_without_owner_is_lost_once_there_were_promotions(entries: dict[str, str]) -> None:
    site = Site()
    site.s3.staging.store("_state/promotions/p1/plan.json", b"{}")
    site.s3.gate.set(entries)
    site.s3.writes.clear()

    with pytest.raises(GateLostError) as caught:
        claim_gate(site.world(), a_keeper(site), "t1")

    assert caught.value.exit_status is Exit.REFUSED
    assert caught.value.next_step == "publisher gate rebuild"
    assert site.s3.gate.entries == entries
    assert site.s3.writes == []


def test_a_lost_store_is_claimed_by_who_rebuilds_it() -> None:
    site = Site()
    site.s3.staging.store("_state/promotions/p1/plan.json", b"{}")

    claim_lost_gate(site.world(), a_keeper(site), "t1")

    assert site.s3.gate.entries == {OWNER: "t1"}


def test_a_claim_whose_answer_was_lost_is_not_taken_for_a_foreign_one() -> None:
    site = Site()
    site.s3.lose_answer_of = 0

    claim_gate(site.world(), a_keeper(site), "t1")

    assert site.s3.gate.entries == {OWNER: "t1"}
    assert len(site.s3.writes) == 1


# --- Going live ------------------------------------------------------------------------------------------


def go_live_and_lose_the_answer(site: Site, then: Callable[[], None]) -> None:
    """Let the write that makes the promotion live be applied, and `then` happen before its retry."""
    site.open()
    site.stage_all()
    gone: list[str] = []

    def lose(request: str, key: str) -> None:
        if request == "update" and key.startswith("s:") and not gone:
            gone.append(key)
            site.s3.gate.set({**site.s3.gate.entries, key: LIVE})
            then()

    site.s3.before = lose


def test_a_hold_that_comes_after_an_unanswered_go_live_is_too_late() -> None:
    site = Site()
    go_live_and_lose_the_answer(site, lambda: hold(site))

    assert isinstance(site.promote(), Promoted)
    assert site.public() == expected_public()


def test_a_lease_lost_after_an_unanswered_go_live_does_not_hide_that_files_are_public() -> None:
    site = Site()
    go_live_and_lose_the_answer(site, lambda: take_lease(site))

    with pytest.raises(UnfinishedError, match="may be live") as caught:
        site.promote()

    assert caught.value.exit_status is Exit.UNFINISHED
    assert site.visible() == expected_public()


def test_a_lease_lost_before_go_live_says_that_nothing_is_public() -> None:
    site = Site()
    site.open()
    site.stage_all()

    def lose(request: str, key: str) -> None:
        # The last look is under way: the lease was seen just before, and is seen again after the conflict.
        if request == "describe" and key == f"_hold/qa/{RELEASE}" and listed(site):
            take_lease(site)
            site.s3.gate.set({**site.s3.gate.entries, OWNER: "another's"})

    site.s3.before = lose
    with pytest.raises(LeaseError):
        site.promote()

    assert site.visible() == {}
    assert not any(key.startswith(promotion_entry("")) for key in site.s3.gate.entries)


def hold(site: Site) -> None:
    site.s3.staging.store(f"_hold/qa/{RELEASE}", b"the installer crashes")


def listed(site: Site) -> bool:
    return any(key.startswith(path_entry("")) for key in site.s3.gate.entries)


def take_lease(site: Site) -> None:
    """Let another have the lease, as after a long sleep."""
    found = site.world().state.read_lease()
    assert found is not None
    lease = found.value
    text = f'{{"schema":1,"token":"t","holder":"ben","purpose":"{lease.purpose}","seconds":120}}'
    site.s3.staging.store("_state/lease.json", text.encode())
