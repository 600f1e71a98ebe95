"""Reads and writes POINTERS.json, in which a builder says what the pointers beside it were built from."""

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from publisher.core import keys
from publisher.core.digests import Digest, parse_hex
from publisher.core.pointers import NAME, Claim
from publisher.core.pointers_rules import ABSENT
from publisher.documents.problems import explain

MAX_BYTES = 64 * 1024

Claims = Mapping[str, Claim]


def _read_digest(value: object) -> Digest | None:
    if value == ABSENT:
        return None
    try:
        return parse_hex(str(value))
    except ValueError as error:
        raise ValueError(f"expected 64 hex digits of a SHA-256, or {ABSENT!r}") from error


def _check_key(key: str) -> str:
    problem = keys.find_problem(key)
    if problem:
        raise ValueError(problem)
    return key


_Key = Annotated[str, AfterValidator(_check_key)]
_Release = Annotated[str, Field(pattern=r"^[A-Za-z0-9._+-]{1,100}$")]
_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _ClaimTable(_Table):
    base: dict[_Key, Annotated[Digest | None, BeforeValidator(_read_digest)]]
    requires: list[_Release] = []


class _PointersFile(_Table):
    schema_: Literal[1] = Field(alias="schema")
    sets: dict[_Name, _ClaimTable]


def read_claims(data: bytes) -> Claims | tuple[str, ...]:
    """Read a POINTERS.json.

    Returns:
        What is said of each set, by its name; or what is wrong with the file, one line for each problem.
    """
    if len(data) > MAX_BYTES:
        return (f"{NAME}: found {len(data):,} bytes, expected at most {MAX_BYTES:,}",)
    try:
        found = json.loads(data, object_pairs_hook=_refuse_doubles)
    except (ValueError, RecursionError) as error:
        return (f"{NAME} cannot be read: {error}",)
    try:
        file = _PointersFile.model_validate(found)
    except ValidationError as error:
        return tuple(explain(NAME, _PointersFile, error).splitlines())
    return {name: Claim(table.base, tuple(table.requires)) for name, table in file.sets.items()}


def write_claims(claims: Claims) -> bytes:
    """Write a POINTERS.json."""
    sets = {
        name: {
            "base": {key: digest or ABSENT for key, digest in claim.base.items()},
            "requires": list(claim.requires),
        }
        for name, claim in claims.items()
    }
    return json.dumps({"schema": 1, "sets": sets}, indent=1).encode() + b"\n"


def _refuse_doubles(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    """Make a dictionary; JSON would let the second of two equal keys hide the first.

    Names are shown in refusals, on the release manager's terminal, so they must be fit for that.
    """
    made: dict[str, object] = {}
    for key, value in pairs:
        if not key.isprintable():
            raise ValueError(f"found {key!r}, expected names of visible characters")
        if key in made:
            raise ValueError(f"{key!r} stands in it twice")
        made[key] = value
    return made
