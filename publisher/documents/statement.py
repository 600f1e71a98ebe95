"""Writes and reads records as in-toto statements, alone or in a signed DSSE bundle."""

import base64
import json
from collections.abc import Iterator
from typing import Any, cast

from publisher.core.digests import Digest
from publisher.core.promotions import Amendment, AnyRecord, Record
from publisher.core.withdrawals import Restoration, Withdrawal
from publisher.documents.state import decode, encode
from publisher.errors import StoreError

STATEMENT = "https://in-toto.io/Statement/v1"
_PREDICATES: dict[str, type[AnyRecord]] = {
    "urn:publish-gate:promotion:v1": Record,
    "urn:publish-gate:amendment:v1": Amendment,
    "urn:publish-gate:withdrawal:v1": Withdrawal,
    "urn:publish-gate:restoration:v1": Restoration,
}
_TYPES = {kind: name for name, kind in _PREDICATES.items()}


def write_statement(record: AnyRecord) -> bytes:
    """Write a record as an in-toto statement whose subjects are the files that it tells of.

    Those of a set are among them however its swap ended, for a statement without any subject is none.
    """
    statement = {
        "_type": STATEMENT,
        "subject": [{"name": key, "digest": {"sha256": digest}} for key, digest in _list_subjects(record)],
        "predicateType": _TYPES[type(record)],
        "predicate": json.loads(encode(record)),
    }
    return json.dumps(statement, indent=1).encode() + b"\n"


def read_statement(payload: bytes, name: str) -> AnyRecord:
    """Read a record from an in-toto statement; `name` is what errors call it.

    Raises:
        StoreError: It is no such statement, or names other subjects than its own files.
    """
    statement = _load(payload, name)
    kind = _PREDICATES.get(str(statement.get("predicateType")))
    if statement.get("_type") != STATEMENT or kind is None:
        raise StoreError(
            f"{name}: found {statement.get('predicateType')!r}, expected a record of a promotion"
        )
    record = decode(kind, json.dumps(statement.get("predicate")).encode(), name)
    if json.loads(write_statement(record))["subject"] != statement.get("subject"):
        raise StoreError(f"{name}: found other subjects than the files of its record, expected the same")
    return record


def extract_payload(data: bytes, name: str) -> bytes:
    """Take the statement out of a bundle, unverified; what is a bare statement already is given back.

    Raises:
        StoreError: It is neither.
    """
    envelope = _load(data, name).get("dsseEnvelope")
    if envelope is None:
        return data
    try:
        return base64.b64decode(cast("dict[str, Any]", envelope)["payload"], validate=True)
    except (TypeError, KeyError, ValueError) as error:
        raise StoreError(f"{name} is no bundle of a statement") from error


def is_signed(data: bytes, name: str) -> bool:
    """Tell whether a stored record is in a bundle; whether that is good is another question."""
    return _load(data, name).get("dsseEnvelope") is not None


def _list_subjects(record: AnyRecord) -> Iterator[tuple[str, Digest]]:
    if isinstance(record, Amendment):
        yield record.key, record.digest
        return
    yield from ((file.key, file.digest) for file in record.files)
    swaps = record.swaps if isinstance(record, Record) else ()
    yield from ((member.key, member.new) for each in swaps for member in each.swap.members)


def _load(data: bytes, name: str) -> dict[str, Any]:
    try:
        found: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{name} is not JSON: {error}", "every version is kept in the bucket") from error
    if not isinstance(found, dict):
        raise StoreError(f"{name}: found {type(found).__name__}, expected a JSON object")
    return cast("dict[str, Any]", found)
