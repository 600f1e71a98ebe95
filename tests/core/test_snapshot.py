"""What of the world counts as public, and which promotions are live."""

from publisher.core.digests import of_bytes
from publisher.core.snapshot import Unfinished, select_live
from tests.support.builders import EXE, TGZ, a_file, a_plan, a_snapshot

LIVE = Unfinished(a_plan(a_file(TGZ, "tool")), live=True)
PLANNED = Unfinished(a_plan(a_file(EXE, "setup"), name="p2"), live=False)


def test_the_files_of_a_live_promotion_count_as_public() -> None:
    snapshot = a_snapshot(public={"a": "A"}, unfinished=(LIVE,))

    assert snapshot.published() == {"a": of_bytes(b"A"), TGZ: of_bytes(b"tool")}


def test_the_files_of_a_promotion_that_is_only_planned_do_not() -> None:
    snapshot = a_snapshot(unfinished=(PLANNED,))

    assert snapshot.published() == {}
    assert snapshot.live() == ()


def test_what_lies_in_the_bucket_beats_what_a_live_promotion_owes() -> None:
    snapshot = a_snapshot(public={TGZ: "foreign"}, unfinished=(LIVE,))

    assert snapshot.published() == {TGZ: of_bytes(b"foreign")}


def test_the_live_promotions_of_a_release_are_picked() -> None:
    other = Unfinished(a_plan(name="p3", releases=("1.2.1", "1.2.2")), live=True)

    assert select_live([LIVE, PLANNED, other], ["1.2.0"]) == [LIVE]
    assert select_live([LIVE, PLANNED, other], ["1.2.2"]) == [other]
    assert select_live([LIVE, PLANNED, other], ["1.2.9"]) == []
