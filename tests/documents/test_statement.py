"""Records as in-toto statements: what is written is read back, and nothing else is taken for one."""

import base64
import contextlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.core.digests import of_bytes
from publisher.core.plan import Version
from publisher.core.promotions import Amendment, AnyRecord, Record, make_records
from publisher.documents.statement import extract_payload, is_signed, read_statement, write_statement
from publisher.errors import StoreError
from tests.support.builders import NOON, SIG, SIGNER, TGZ, a_file, a_plan, a_refusal, a_waiver

PLAN = a_plan(a_file(TGZ, "tool"), a_file(SIG, "sig"), waivers=(a_waiver("hold:*"),))
(RECORD,) = make_records(replace(PLAN, waived=(a_refusal("hold"),)), "the finisher", NOON, {})
SIGNED = replace(RECORD, identities=(SIGNER,))
AMENDMENT = Amendment(
    schema=1,
    release="1.2.0",
    number=2,
    key=SIG,
    artifact=TGZ,
    replaces=of_bytes(b"sig"),
    digest=of_bytes(b"repaired"),
    size=8,
    source=Version(f"_rm/1.2.0/{SIG}", "v1", "etag"),
    reason="the bundle was of the release candidate",
    who="an ARN",
    when=NOON,
)
ALL = pytest.mark.parametrize("record", [RECORD, SIGNED, AMENDMENT], ids=["record", "signed", "amendment"])

Edit = Callable[[dict[str, Any]], object]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def edited(record: AnyRecord, edit: Edit) -> bytes:
    """Give a statement after somebody edited it by hand."""
    statement: dict[str, Any] = json.loads(write_statement(record))
    edit(statement)
    return json.dumps(statement).encode()


def bundle(payload: object) -> bytes:
    """Put a payload into what a bundle consists of, as far as this module looks."""
    envelope: dict[str, object] = {
        "payload": payload,
        "payloadType": "application/vnd.in-toto+json",
        "signatures": [],
    }
    return json.dumps({"mediaType": "x", "dsseEnvelope": envelope}).encode()


# --- Statements ------------------------------------------------------------------------------------------


@ALL
def test_a_record_is_read_back_as_it_was_written(record: AnyRecord) -> None:
    assert read_statement(write_statement(record), "1.json") == record


def test_the_subjects_of_a_statement_are_its_public_files_with_their_digests() -> None:
    statement = json.loads(write_statement(RECORD))

    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["subject"] == [
        {"name": TGZ, "digest": {"sha256": of_bytes(b"tool")}},
        {"name": SIG, "digest": {"sha256": of_bytes(b"sig")}},
    ]
    assert write_statement(RECORD).endswith(b"}\n")


def test_the_subject_of_an_amendment_is_the_sidecar_as_it_is_now() -> None:
    statement = json.loads(write_statement(AMENDMENT))

    assert statement["subject"] == [{"name": SIG, "digest": {"sha256": of_bytes(b"repaired")}}]


def test_records_and_amendments_are_told_apart_by_their_predicate_types() -> None:
    types = [json.loads(write_statement(record))["predicateType"] for record in (RECORD, AMENDMENT)]

    assert types == ["urn:publish-gate:promotion:v1", "urn:publish-gate:amendment:v1"]
    assert isinstance(read_statement(write_statement(RECORD), "1.json"), Record)
    assert isinstance(read_statement(write_statement(AMENDMENT), "2.json"), Amendment)


@ALL
@pytest.mark.parametrize(
    "found", ["https://slsa.dev/provenance/v1", "urn:publish-gate:promotion:v2", None, 1, []]
)
def test_a_statement_of_another_kind_is_an_error(record: AnyRecord, found: object) -> None:
    data = edited(record, lambda statement: statement.update(predicateType=found))

    with pytest.raises(StoreError, match=r"^1\.json: found .*, expected a record of a promotion"):
        read_statement(data, "1.json")


@ALL
@pytest.mark.parametrize("change", [{"_type": "https://in-toto.io/Statement/v0.1"}, {"_type": None}])
def test_a_statement_of_another_version_is_an_error(record: AnyRecord, change: dict[str, object]) -> None:
    with pytest.raises(StoreError, match=r"^1\.json: found .*, expected a record of a promotion"):
        read_statement(edited(record, lambda statement: statement.update(change)), "1.json")


def test_a_statement_of_one_kind_with_the_predicate_of_the_other_is_an_error() -> None:
    other = json.loads(write_statement(AMENDMENT))["predicate"]
    data = edited(RECORD, lambda statement: statement.update(predicate=other))

    with pytest.raises(StoreError, match=r"^1\.json is not a valid record: "):
        read_statement(data, "1.json")


SUBJECT_EDITS: dict[str, Edit] = {
    "less": lambda statement: statement["subject"].pop(),
    "more": lambda statement: statement["subject"].append(statement["subject"][0]),
    "order": lambda statement: statement["subject"].reverse(),
    "name": lambda statement: statement["subject"][0].update(name="1.2.0/other"),
    "digest": lambda statement: statement["subject"][0]["digest"].update(sha256="0" * 64),
    "second digest": lambda statement: statement["subject"][0]["digest"].update(sha512="0" * 128),
    "none": lambda statement: statement.pop("subject"),
    "fewer files": lambda statement: statement["predicate"]["files"].pop(),
    "digest of a file": lambda statement: statement["predicate"]["files"][0].update(digest="0" * 64),
}


@pytest.mark.parametrize("edit", SUBJECT_EDITS.values(), ids=SUBJECT_EDITS)
def test_subjects_other_than_the_files_of_the_record_are_an_error(edit: Edit) -> None:
    assert read_statement(edited(RECORD, lambda _: None), "1.json") == RECORD
    with pytest.raises(StoreError, match=r"^1\.json: found other subjects than the files of its record"):
        read_statement(edited(RECORD, edit), "1.json")


def test_an_amendment_of_another_digest_than_its_subjects_is_an_error() -> None:
    data = edited(AMENDMENT, lambda statement: statement["predicate"].update(digest="0" * 64))

    with pytest.raises(StoreError, match="found other subjects"):
        read_statement(data, "2.json")


@pytest.mark.parametrize("predicate", [None, [], {}, "x", {"schema": 2}])
def test_a_statement_without_a_whole_record_is_an_error(predicate: object) -> None:
    data = edited(RECORD, lambda statement: statement.update(predicate=predicate))

    with pytest.raises(StoreError, match=r"^1\.json is not a valid record: "):
        read_statement(data, "1.json")


# --- Bundles ---------------------------------------------------------------------------------------------


@ALL
def test_the_statement_is_taken_out_of_a_bundle(record: AnyRecord) -> None:
    statement = write_statement(record)
    data = bundle(base64.b64encode(statement).decode())

    assert extract_payload(data, "1.json") == statement
    assert is_signed(data, "1.json")


@ALL
def test_a_bare_statement_is_given_back_as_it_is(record: AnyRecord) -> None:
    statement = write_statement(record)

    assert extract_payload(statement, "1.json") == statement
    assert not is_signed(statement, "1.json")


@ALL
def test_a_bundle_with_a_null_for_its_envelope_is_not_signed(record: AnyRecord) -> None:
    data = edited(record, lambda statement: statement.update(dsseEnvelope=None))

    assert not is_signed(data, "1.json")
    assert is_signed(edited(record, lambda statement: statement.update(dsseEnvelope={})), "1.json")


@pytest.mark.parametrize(
    "data",
    [
        bundle("not base64!"),
        bundle("YQ="),
        bundle("YWJj!"),
        bundle("dönekebap"),
        bundle(None),
        bundle(7),
        bundle([]),
        b'{"dsseEnvelope": {}}',
        b'{"dsseEnvelope": []}',
        b'{"dsseEnvelope": "x"}',
        b'{"dsseEnvelope": 1}',
    ],
)
def test_a_bundle_without_a_payload_is_an_error(data: bytes) -> None:
    with pytest.raises(StoreError, match=r"^1\.json is no bundle of a statement"):
        extract_payload(data, "1.json")


# --- What is no JSON -------------------------------------------------------------------------------------

READERS = pytest.mark.parametrize("read", [read_statement, extract_payload, is_signed])


@READERS
@pytest.mark.parametrize(
    "data", [b"", b"{", b"{} {}", b"\xff\xfe", b"\xc3", b"[" * 100_000, b"1" * 5_000, b"nul"]
)
def test_what_is_no_json_is_an_error_that_says_where_to_find_it(
    read: Callable[[bytes, str], object], data: bytes
) -> None:
    with pytest.raises(StoreError, match=r"^_state/records/1\.json is not JSON: ") as caught:
        read(data, "_state/records/1.json")
    assert caught.value.next_step == "every version is kept in the bucket"


@READERS
@pytest.mark.parametrize(("data", "found"), [(b"[]", "list"), (b"null", "NoneType"), (b'"x"', "str")])
def test_json_that_is_no_object_is_an_error(
    read: Callable[[bytes, str], object], data: bytes, found: str
) -> None:
    with pytest.raises(StoreError, match=rf"^1\.json: found {found}, expected a JSON object"):
        read(data, "1.json")


@given(
    st.binary(max_size=20)
    | st.dictionaries(
        st.sampled_from(["_type", "subject", "predicateType", "predicate", "dsseEnvelope"]), JSON
    ).map(lambda value: json.dumps(value).encode())
)
def test_whatever_is_stored_is_read_or_refused_and_never_crashes(data: bytes) -> None:
    for read in (read_statement, extract_payload, is_signed):
        with contextlib.suppress(StoreError):
            read(data, "1.json")


@given(st.sampled_from([RECORD, AMENDMENT]), st.data())
def test_a_statement_with_any_one_value_changed_is_another_record_or_none(
    record: AnyRecord, data: st.DataObject
) -> None:
    key = data.draw(st.sampled_from(["_type", "subject", "predicateType", "predicate"]))
    value = data.draw(JSON)
    changed = edited(record, lambda statement: statement.update({key: value}))

    with pytest.raises(StoreError):
        read_statement(changed, "1.json")
