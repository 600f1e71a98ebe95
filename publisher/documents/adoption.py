"""Writes and reads adoptions as in-toto statements, unsigned: a login is over before the files are read."""

import json

from publisher.core.adoption import Adoption
from publisher.documents.state import decode, encode
from publisher.documents.statement import STATEMENT
from publisher.errors import StoreError

PREDICATE = "urn:publish-gate:adoption:v1"


def write_adoption(adoption: Adoption) -> bytes:
    """Write an adoption as a statement whose subjects are the files that were taken in."""
    statement = {
        "_type": STATEMENT,
        "subject": [{"name": file.key, "digest": {"sha256": file.digest}} for file in adoption.files],
        "predicateType": PREDICATE,
        "predicate": json.loads(encode(adoption)),
    }
    return json.dumps(statement).encode() + b"\n"


def read_adoption(data: bytes, name: str) -> Adoption:
    """Read an adoption; `name` is what errors call it.

    Raises:
        StoreError: It is no such statement, or names other subjects than its own files.
    """
    cure = "every version is kept in the bucket"
    try:
        statement = json.loads(data)
        found, predicate = statement["predicateType"], statement["predicate"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(f"{name} is no statement of an adoption", cure) from error
    if found != PREDICATE:
        raise StoreError(f"{name}: found {found!r}, expected {PREDICATE}", cure)
    adoption = decode(Adoption, json.dumps(predicate).encode(), name)
    if json.loads(write_adoption(adoption)) != statement:
        raise StoreError(f"{name}: found other subjects than the files of its adoption", cure)
    return adoption
