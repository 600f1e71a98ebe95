"""What of the world counts as public, and which promotions are live."""

from dataclasses import replace

import pytest

from publisher.core.digests import of_bytes
from publisher.core.snapshot import Unfinished, select_live
from tests.support.builders import EXE, SIG, TGZ, a_candidate, a_file, a_plan, a_snapshot

LIVE = Unfinished(a_plan(a_file(TGZ, "tool")), live=True)
PLANNED = Unfinished(a_plan(a_file(EXE, "setup"), name="p2"), live=False)


@pytest.mark.parametrize(
    ("role", "key", "there"),
    [("windows", EXE, True), ("windows", TGZ, False), ("source", EXE, False), ("macos", EXE, False)],
    ids=["its own", "another's", "not its own", "a role that the snapshot does not know"],
)
def test_a_role_has_staged_what_lies_under_its_own_prefix(role: str, key: str, there: bool) -> None:
    assert a_candidate().has_staged(role, key) is there


def test_records_have_to_be_signed_unless_somebody_says_otherwise() -> None:
    assert a_snapshot().signed_records


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


@pytest.mark.parametrize(
    ("key", "data", "public"),
    [
        (TGZ, "tool", True),
        (TGZ, "other", False),
        (EXE, "setup", False),
        (SIG, "third", True),
        (SIG, "second", True),
        (SIG, "first", True),
        (SIG, "never", False),
        (f"{EXE}.sig", "first", False),
    ],
    ids=[
        "public",
        "another digest",
        "not public",
        "amended",
        "before the amendment",
        "before an earlier one",
        "an amended one that never was public",
        "amended and not public any more",
    ],
)
def test_what_a_sidecar_was_before_it_was_amended_counts_as_public(key: str, data: str, public: bool) -> None:
    before = frozenset({of_bytes(b"first"), of_bytes(b"second")})
    candidate = replace(a_candidate(), amended={SIG: before, f"{EXE}.sig": before})
    published = {TGZ: of_bytes(b"tool"), SIG: of_bytes(b"third")}

    assert candidate.is_public(key, of_bytes(data.encode()), published) is public
