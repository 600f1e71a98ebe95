"""The documents of `_state/`: what is written is read back, and nothing else is taken for one."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.core.announced import Announced
from publisher.core.contents import list_contents
from publisher.core.digests import Digest, of_bytes
from publisher.core.identity import Identity
from publisher.core.lease import Lease
from publisher.core.listing_rules import ListingRules
from publisher.core.plan import Extras, Look, Plan, PlannedFile, PlannedRelease, Version
from publisher.core.profile import Delivery, PublicRecord, Row, Signal
from publisher.core.promotions import Amendment, Mark, Record, make_records
from publisher.core.refusals import Refusal, Waiver
from publisher.core.snapshot import ReleaseState
from publisher.documents.state import decode, encode
from publisher.errors import Exit, StoreError
from tests.support.builders import (
    BINARY,
    COMMIT,
    NOON,
    SIG,
    SIGNER,
    TGZ,
    a_file,
    a_plan,
    a_profile,
    a_refusal,
    a_release,
    a_state,
    a_waiver,
)

A_LEASE = Lease(schema=1, token="t", holder="an ARN", purpose="promote 1.2.0", seconds=120)
A_MARK = Mark(1, "p1", "an ARN", NOON, "")
A_ROW = Row("Installer", "1-2-0-installer", "windows", "for most", button=True)
A_PLAN = replace(
    a_plan(replace(a_file(), row=A_ROW, artifact="other"), waivers=(a_waiver("missing:*"),)),
    looks=(Look("_hold/qa/1.2.0", None), Look("_state/releases/1.2.0.json", "v1")),
    waived=(a_refusal(),),
)
A_SIGNED_PLAN = replace(
    A_PLAN,
    releases=(
        PlannedRelease(
            "1.2.0", COMMIT, 1, 2, (SIGNER,), (SIGNER, SIGNER), PublicRecord("1.2.0/record-2.json", BINARY)
        ),
    ),
)
RULES = ListingRules(
    release_name="Tool {release}",
    release_slug="tool-{release}",
    version=3,
    pre_kinds=frozenset({"alpha", "beta"}),
    notes={"final": "https://docs.example.org/{release}/"},
    systems={"windows": "Windows", "source": "Source"},
    source="source",
    url_prefix="https://dl.example.org/",
)
A_LISTED_PLAN = replace(
    A_PLAN,
    releases=(
        PlannedRelease(
            "1.2.0",
            COMMIT,
            1,
            2,
            contents=list_contents(a_profile(), a_release()),
            listing=RULES,
            signals=(Signal("tag", "https://git.example.org/v1.2.0"),),
        ),
    ),
    extras=Extras("Enjoy!\n", create_release=True),
)
A_NOTE = Announced(1, ("1.2.0", "1.2.1"), "tool-1.2.0", "https://forum.example.org/t/1", "an ARN", NOON)
AN_AMENDMENT = Amendment(
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
DOCUMENTS = [
    A_LEASE,
    replace(A_LEASE, token=None),
    A_MARK,
    a_state(),
    a_state(commit=None, attempt=3, void={"source": "v7"}),
    A_PLAN,
    *make_records(A_PLAN, "another ARN", NOON, {}),
    A_SIGNED_PLAN,
    *make_records(A_SIGNED_PLAN, "another ARN", NOON, {}),
    A_LISTED_PLAN,
    *make_records(A_LISTED_PLAN, "another ARN", NOON, {"listing": "the database is down"}),
    replace(A_MARK, given_up={"announce": "no forum today"}),
    A_NOTE,
    replace(A_NOTE, url=None),
    AN_AMENDMENT,
]


def edited(value: object, edit: Callable[[dict[str, Any]], object]) -> bytes:
    """Give a document after somebody edited it by hand."""
    fields: dict[str, Any] = json.loads(encode(value))
    edit(fields)
    return json.dumps(fields).encode()


@pytest.mark.parametrize("value", DOCUMENTS, ids=lambda value: type(value).__name__)
def test_every_document_is_read_back_as_it_was_written(value: object) -> None:
    assert decode(type(value), encode(value), "_state/x.json") == value


@pytest.mark.parametrize("value", DOCUMENTS, ids=lambda value: type(value).__name__)
def test_every_document_says_its_schema_and_ends_its_last_line(value: object) -> None:
    data = encode(value)

    assert json.loads(data)["schema"] == 1
    assert data.endswith(b"}\n")


def test_the_digest_of_a_plan_is_the_same_after_it_was_stored() -> None:
    assert decode(Plan, encode(A_PLAN), "plan.json").digest == A_PLAN.digest


@pytest.mark.parametrize("value", DOCUMENTS, ids=lambda value: type(value).__name__)
def test_a_field_that_nobody_knows_is_an_error_that_names_key_and_field(value: object) -> None:
    data = edited(value, lambda fields: fields.update(surprise=1))

    with pytest.raises(StoreError, match=r"_state/x\.json .*surprise") as caught:
        decode(type(value), data, "_state/x.json")
    assert caught.value.exit_status is Exit.FAILED
    assert "restore its previous version" in caught.value.next_step


@pytest.mark.parametrize("value", DOCUMENTS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("schema", [2, 0, "1", None])
def test_another_schema_is_an_error(value: object, schema: object) -> None:
    data = edited(value, lambda fields: fields.update(schema=schema))

    with pytest.raises(StoreError, match=r"_state/x\.json .*schema"):
        decode(type(value), data, "_state/x.json")


@pytest.mark.parametrize("value", DOCUMENTS, ids=lambda value: type(value).__name__)
def test_a_missing_field_is_an_error(value: object) -> None:
    name = list(json.loads(encode(value)))[1]

    with pytest.raises(StoreError, match=rf"_state/x\.json .*{name}"):
        decode(type(value), edited(value, lambda fields: fields.pop(name)), "_state/x.json")


def test_a_field_deep_inside_is_named_by_its_path() -> None:
    data = edited(A_PLAN, lambda fields: fields["files"][0]["source"].update(version_id=7))

    with pytest.raises(StoreError, match=r"files\.0\.source\.version_id"):
        decode(Plan, data, "plan.json")


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"{} {}", b'{"schema": 1'])
def test_what_is_no_such_json_is_an_error(data: bytes) -> None:
    with pytest.raises(StoreError, match=r"_state/lease\.json is not a valid lease"):
        decode(Lease, data, "_state/lease.json")


TEXT = st.text(max_size=12)
NAME = TEXT | st.none()
DIGEST = st.binary(min_size=32, max_size=32).map(lambda raw: Digest(raw.hex()))
WHEN = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
NUMBER = st.integers(0, 2**45)
VERSION = st.builds(Version, TEXT, TEXT, TEXT)
ROW = st.builds(Row, TEXT, TEXT, TEXT, TEXT, st.booleans())
DELIVERY = st.builds(Delivery, TEXT, TEXT, TEXT)
FILE = st.builds(
    PlannedFile,
    key=TEXT,
    release=TEXT,
    role=TEXT,
    digest=DIGEST,
    size=NUMBER,
    source=VERSION,
    delivery=DELIVERY,
    sign=st.booleans(),
    artifact=NAME,
    row=ROW | st.none(),
)
WAIVERS = st.lists(st.builds(Waiver, TEXT, TEXT, TEXT), max_size=2).map(tuple)
REFUSALS = st.lists(st.builds(Refusal, TEXT, TEXT, TEXT, TEXT, TEXT), max_size=2).map(tuple)
IDENTITIES = st.lists(st.builds(Identity, TEXT, TEXT), max_size=2).map(tuple)
PUBLIC_RECORD = st.builds(PublicRecord, TEXT, DELIVERY) | st.none()
TEXTS = st.dictionaries(TEXT, TEXT, max_size=2)
LISTING = st.builds(
    ListingRules, TEXT, TEXT, NUMBER, st.frozensets(TEXT, max_size=3), TEXTS, TEXTS, TEXT, TEXT
)
CONTENTS = st.sampled_from(["1.2.0", "1.2.0b1", "1.3.0"]).map(
    lambda name: list_contents(a_profile(), a_release(name))
)
SIGNALS = st.lists(st.builds(Signal, TEXT, TEXT), max_size=2).map(tuple)
PLANNED = st.builds(
    PlannedRelease,
    TEXT,
    NAME,
    NUMBER,
    NUMBER,
    IDENTITIES,
    IDENTITIES,
    PUBLIC_RECORD,
    contents=CONTENTS | st.none(),
    listing=LISTING | st.none(),
    signals=SIGNALS,
)
RELEASES = st.lists(PLANNED, max_size=2).map(tuple)
PLAN = st.builds(
    Plan,
    schema=st.just(1),
    id=TEXT,
    releases=RELEASES,
    files=st.lists(FILE, max_size=3).map(tuple),
    looks=st.lists(st.builds(Look, TEXT, NAME), max_size=3).map(tuple),
    waivers=WAIVERS,
    waived=REFUSALS,
    profile=TEXT,
    profile_digest=TEXT,
    who=TEXT,
    when=WHEN,
    extras=st.builds(Extras, NAME, st.booleans()),
)
GIVEN_UP = st.dictionaries(TEXT, TEXT, max_size=2)
STATE = st.builds(
    ReleaseState,
    schema=st.just(1),
    release=TEXT,
    commit=NAME,
    attempt=NUMBER,
    reason=TEXT,
    who=TEXT,
    when=WHEN,
    void=st.dictionaries(TEXT, TEXT, max_size=3),
)


@given(PLAN)
def test_any_plan_survives_being_stored_with_the_same_digest(plan: Plan) -> None:
    read = decode(Plan, encode(plan), "plan.json")

    assert read == plan
    assert read.digest == plan.digest


@given(PLAN, TEXT, WHEN, GIVEN_UP)
def test_any_record_survives_being_stored(
    plan: Plan, who: str, when: datetime, given_up: dict[str, str]
) -> None:
    for record in make_records(plan, who, when, given_up):
        assert decode(Record, encode(record), "record.json") == record


@given(
    st.builds(
        Amendment,
        schema=st.just(1),
        release=TEXT,
        number=NUMBER,
        key=TEXT,
        artifact=TEXT,
        replaces=DIGEST,
        digest=DIGEST,
        size=NUMBER,
        source=VERSION,
        reason=TEXT,
        who=TEXT,
        when=WHEN,
    )
)
def test_any_amendment_survives_being_stored(amendment: Amendment) -> None:
    assert decode(Amendment, encode(amendment), "record.json") == amendment


@given(STATE | st.builds(Mark, st.just(1), TEXT, TEXT, WHEN, TEXT, GIVEN_UP))
def test_any_state_and_any_mark_survive_being_stored(value: ReleaseState | Mark) -> None:
    assert decode(type(value), encode(value), "x.json") == value
