"""The publisher's state: created once or compared and swapped, and never guessed."""

import base64
import json
from dataclasses import replace

import pytest

from publisher.core.digests import Digest
from publisher.core.lease import Lease
from publisher.core.promotions import Mark, Phase, make_records
from publisher.core.withdrawals import (
    Case,
    CaseMark,
    Course,
    Withdrawal,
    WithdrawnFile,
    make_restoration,
)
from publisher.documents.statement import write_statement
from publisher.errors import ConflictError, StoreError
from publisher.workflow.state import StateStore, StoredRecord
from tests.support.builders import NOON, RELEASE, a_file, a_plan, a_state
from tests.support.fakes import FakeS3

PLAN = a_plan()
A_LEASE = Lease(schema=1, token="t", holder="an ARN", purpose="promote", seconds=120)
(RECORD,) = make_records(PLAN, "an ARN", NOON, {})
STATEMENT = write_statement(RECORD)
RECORD_KEY = f"_state/records/{RELEASE}/1.json"


def a_store() -> tuple[StateStore, FakeS3]:
    s3 = FakeS3()
    return StateStore(s3.staging), s3


def a_mark(reason: str = "") -> Mark:
    return Mark(1, PLAN.id, "an ARN", NOON, reason)


def test_each_document_has_its_place() -> None:
    state, s3 = a_store()

    state.write_lease(A_LEASE, None)
    state.write_release(a_state(), None)
    state.write_plan(PLAN)
    for phase in (Phase.LIVE, Phase.DONE, Phase.ABANDONED):
        state.mark(phase, a_mark())
    state.write_record(RELEASE, 1, STATEMENT)

    assert set(s3.staging.digests()) == {
        "_state/lease.json",
        f"_state/releases/{RELEASE}.json",
        "_state/promotions/p1/plan.json",
        "_state/promotions/p1/live.json",
        "_state/promotions/p1/done.json",
        "_state/promotions/p1/abandoned.json",
        RECORD_KEY,
    }


def test_what_was_never_written_is_none() -> None:
    state, _ = a_store()

    assert state.read_lease() is None
    assert state.read_release(RELEASE) is None
    assert state.read_unfinished(()) == ()
    assert state.list_releases() == ()
    assert state.list_numbers(RELEASE) == ()
    assert not state.has_promotions()


def test_a_document_is_read_with_what_it_takes_to_replace_it() -> None:
    state, s3 = a_store()
    etag = state.write_lease(A_LEASE, None)
    s3.tick(30)

    stored = state.read_lease()

    assert stored is not None
    assert (stored.value, stored.etag) == (A_LEASE, etag)
    assert (stored.now - stored.modified).total_seconds() == 30


def test_a_lease_is_written_only_over_the_one_that_was_read() -> None:
    state, _ = a_store()
    etag = state.write_lease(A_LEASE, None)
    state.write_lease(replace(A_LEASE, token="other"), etag)

    for stale in (None, etag):
        with pytest.raises(ConflictError):
            state.write_lease(A_LEASE, stale)


def test_the_state_of_a_release_is_written_only_over_the_one_that_was_read() -> None:
    state, _ = a_store()
    state.write_release(a_state(), None)
    first = state.read_release(RELEASE)
    assert first is not None
    state.write_release(a_state(attempt=2), first.etag)

    for stale in (None, first.etag):
        with pytest.raises(ConflictError):
            state.write_release(a_state(attempt=3), stale)
    now = state.read_release(RELEASE)
    assert now is not None
    assert now.value.attempt == 2


@pytest.mark.parametrize("phase", [Phase.LIVE, Phase.DONE, Phase.ABANDONED])
def test_a_marker_is_written_once_and_stays_as_it_is(phase: Phase) -> None:
    state, s3 = a_store()
    state.mark(phase, a_mark("first"))
    before = s3.staging.digests()

    state.mark(phase, a_mark("second"))

    assert s3.staging.digests() == before


def test_a_plan_is_written_once_and_the_same_one_again_is_no_conflict() -> None:
    state, s3 = a_store()
    state.write_plan(PLAN)
    before = s3.staging.digests()

    state.write_plan(PLAN)
    with pytest.raises(ConflictError):
        state.write_plan(a_plan(a_file(data="other")))

    assert s3.staging.digests() == before


def test_a_record_is_written_once_and_whoever_comes_second_is_answered_the_first() -> None:
    state, s3 = a_store()
    first = state.write_record(RELEASE, 1, STATEMENT)
    before = s3.staging.digests()

    second = state.write_record(RELEASE, 1, write_statement(replace(RECORD, finisher="another ARN")))

    assert second == first == StoredRecord(STATEMENT, RECORD)
    assert s3.staging.digests() == before


def test_a_record_is_read_bare_or_out_of_its_bundle_and_given_with_its_bytes() -> None:
    state, _ = a_store()
    payload = base64.b64encode(STATEMENT).decode()
    bundle = json.dumps({"dsseEnvelope": {"payload": payload}}).encode()
    state.write_record(RELEASE, 1, bundle)
    state.write_record(RELEASE, 2, STATEMENT)

    assert state.read_record(RELEASE, 1) == StoredRecord(bundle, RECORD)
    assert state.read_record(RELEASE, 2) == StoredRecord(STATEMENT, RECORD)
    assert state.read_record(RELEASE, 3) is None


def test_records_are_read_in_the_order_of_their_numbers() -> None:
    state, _ = a_store()
    for number in (10, 2):
        state.write_record(RELEASE, number, write_statement(replace(RECORD, number=number)))

    assert [record.number for record in state.read_records(RELEASE, (10, 2, 3))] == [2, 10]


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"dsseEnvelope": {}}', STATEMENT[:-5]])
def test_a_record_that_is_none_is_an_error_that_names_it(data: bytes) -> None:
    state, s3 = a_store()
    s3.staging.store(RECORD_KEY, data)

    with pytest.raises(StoreError, match=RECORD_KEY):
        state.read_record(RELEASE, 1)


def test_a_record_that_nobody_can_write_or_read_is_an_error() -> None:
    state, s3 = a_store()

    def refuse(request: str, key: str) -> None:
        if request == "create":
            raise ConflictError("409 ConditionalRequestConflict")

    s3.before = refuse
    with pytest.raises(StoreError, match=f"{RECORD_KEY} could not be created"):
        state.write_record(RELEASE, 1, STATEMENT)


def test_unfinished_is_what_is_neither_done_nor_abandoned() -> None:
    state, _ = a_store()
    marks = {
        "planned": (),
        "live": (Phase.LIVE,),
        "live-though-abandoned": (Phase.LIVE, Phase.ABANDONED),
        "done": (Phase.LIVE, Phase.DONE),
        "abandoned": (Phase.ABANDONED,),
        "gated": (),
        "gated-though-abandoned": (Phase.ABANDONED,),
    }
    for name, phases in marks.items():
        state.write_plan(a_plan(name=name))
        for phase in phases:
            state.mark(phase, Mark(1, name, "an ARN", NOON, ""))

    found = state.read_unfinished({"gated", "gated-though-abandoned"})

    assert {item.plan.id: item.live for item in found} == {
        "planned": False,
        "live": True,
        "live-though-abandoned": True,
        "gated": True,
        "gated-though-abandoned": True,
    }


def test_a_plan_that_is_gone_is_an_error() -> None:
    state, _ = a_store()

    with pytest.raises(StoreError, match=r"_state/promotions/p1/plan\.json is gone") as caught:
        state.read_plan("p1")
    assert "versions" in caught.value.next_step


def test_numbers_are_those_of_this_release_in_their_order() -> None:
    state, s3 = a_store()
    for number in (10, 9, 1):
        s3.staging.store(f"_state/records/{RELEASE}/{number}.json", b"{}")
    s3.staging.store(f"_state/records/{RELEASE}b1/7.json", b"{}")

    assert state.list_numbers(RELEASE) == (1, 9, 10)


@pytest.mark.parametrize("name", ["notes.json", "1.json.bak", "0.json", "1"])
def test_a_record_without_a_number_is_an_error_that_names_it(name: str) -> None:
    state, s3 = a_store()
    s3.staging.store(f"_state/records/{RELEASE}/{name}", b"{}")

    with pytest.raises(StoreError, match=f"found _state/records/{RELEASE}/{name}, expected") as caught:
        state.list_numbers(RELEASE)
    assert caught.value.next_step


def test_opened_releases_are_listed_by_name() -> None:
    state, _ = a_store()
    for name in ("1.2.1", "1.2.0"):
        state.write_release(replace(a_state(), release=name), None)

    assert state.list_releases() == ("1.2.0", "1.2.1")


def test_wrong_documents_are_errors_that_name_key_and_field() -> None:
    state, s3 = a_store()
    keys = ("_state/lease.json", f"_state/releases/{RELEASE}.json", "_state/promotions/p1/plan.json")
    for key in keys:
        s3.staging.store(key, b'{"schema": 2}')

    for key, read in zip(
        keys,
        (state.read_lease, lambda: state.read_release(RELEASE), lambda: state.read_plan("p1")),
        strict=True,
    ):
        with pytest.raises(StoreError, match=rf"{key} .*schema") as caught:
            read()
        assert caught.value.next_step


# --- Withdrawals -------------------------------------------------------------------------------------------


def a_withdrawal(release: str = "1.2.3", number: int = 2, id_: str = "w") -> Withdrawal:
    file = WithdrawnFile("tool/x.tgz", Digest("1" * 64), 3)
    return Withdrawal(1, id_, release, number, (file,), ("p1",), (), False, "bad", "ann", NOON)


def test_withdrawals_are_read_in_the_order_of_their_records_until_they_are_over() -> None:
    state, _ = a_store()
    found = [a_withdrawal(number=3, id_="a"), a_withdrawal(number=2, id_="b"), a_withdrawal("1.2.30", 1, "c")]
    for withdrawal in found:
        state.write_withdrawal(withdrawal)
        state.write_withdrawal(withdrawal)

    assert [case.withdrawal for case in state.read_cases("1.2.3")] == [found[1], found[0]]
    assert [case.withdrawal.id for case in state.read_cases()] == ["b", "a", "c"]
    assert state.list_unlisted() == {"tool/x.tgz"}
    restoration = make_restoration(state.read_cases("1.2.30")[0], 2, "good", "bob", NOON)
    mark = CaseMark(1, "c", "bob", NOON)
    state.mark_case(found[2], mark)
    assert state.read_cases("1.2.30") == (Case(found[2], Course.WITHDRAWN),)
    assert state.write_restoration(restoration) == restoration
    assert state.write_restoration(replace(restoration, reason="other")) == restoration
    assert state.read_cases("1.2.30") == (Case(found[2], Course.RESTORING, restoration),)
    state.mark_case(restoration, mark)
    assert state.read_cases("1.2.30") == ()
    assert len(state.read_cases()) == 2


def test_a_withdrawal_whose_document_is_gone_is_an_error_and_never_read_as_none() -> None:
    state, s3 = a_store()
    s3.staging.store("_state/withdrawals/1.2.3/w/done.json", b"{}")

    with pytest.raises(StoreError, match=r"withdrawal\.json is gone"):
        state.read_cases()
    s3.staging.store("_state/withdrawals/1.2.3/w/withdrawal.json", b"{}")
    with pytest.raises(StoreError, match="not a valid withdrawal"):
        state.read_cases()
