"""Reads and writes the JSON documents under `_state/`: the core's own values, checked on the way in."""

from functools import cache
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from publisher.errors import StoreError

T = TypeVar("T")


def encode(value: object) -> bytes:
    """Write one of the core's values as JSON, for people to read too."""
    return _adapter(type(value)).dump_json(value, indent=1) + b"\n"


def decode(kind: type[T], data: bytes, key: str) -> T:
    """Read a value of `kind` from the object `key`.

    Raises:
        StoreError: The object is not such a document; nothing is guessed.
    """
    try:
        return _adapter(kind).validate_json(data, extra="forbid")
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise StoreError(
            f"{key} is not a valid {kind.__name__.lower()}: {where or 'document'}: {first['msg']}",
            "restore its previous version; every version is kept in the bucket",
        ) from error


@cache
def _adapter(kind: type[T]) -> TypeAdapter[T]:
    return TypeAdapter(kind)
