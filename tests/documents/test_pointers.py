"""POINTERS.json: read strictly, every problem named; and the histories of pointers are documents too."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.core.digests import of_bytes
from publisher.core.pointers import Claim
from publisher.core.pointers_swap import History
from publisher.documents.pointers import MAX_BYTES, read_claims, write_claims
from publisher.documents.state import decode, encode

INDEX = "python/index-windows.json"
CATALOG = "python/index-windows.json.cat"
DIGEST = of_bytes(b"index")


def a_file(**fields: object) -> bytes:
    """Write a file with one set, or what `fields` put in its place."""
    claim = {"base": {INDEX: DIGEST, CATALOG: "absent"}, "requires": ["3.13.8"]}
    return json.dumps({"schema": 1, "sets": {"windows-index": claim}} | fields).encode()


def a_claim(**fields: object) -> bytes:
    return a_file(sets={"windows-index": {"base": {INDEX: "absent"}} | fields})


def test_a_file_says_what_each_set_was_built_from_and_waits_for() -> None:
    assert read_claims(a_file()) == {"windows-index": Claim({INDEX: DIGEST, CATALOG: None}, ("3.13.8",))}


def test_requires_may_be_left_out_and_digests_may_be_in_capitals() -> None:
    found = read_claims(a_file(sets={"windows-index": {"base": {INDEX: DIGEST.upper()}}}))

    assert found == {"windows-index": Claim({INDEX: DIGEST})}


def test_a_file_may_be_as_large_as_is_allowed() -> None:
    assert read_claims(a_file(sets={}).ljust(MAX_BYTES)) == {}


def test_a_file_may_say_nothing() -> None:
    assert read_claims(a_file(sets={})) == {}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "POINTERS.json cannot be read"),
        (b"\xff", "POINTERS.json cannot be read"),
        (b"[" * 60_000, "POINTERS.json cannot be read"),
        (b'{"schema": 1, "schema": 1, "sets": {}}', "'schema' stands in it twice"),
        (b"[]", "POINTERS.json: the file: found []"),
        (b" " * (MAX_BYTES + 1), "found 65,537 bytes, expected at most 65,536"),
        (a_file(schema=2), "schema: found 2"),
        (a_file(schema="1"), "schema: found '1'"),
        (b'{"schema": 1}', "sets is missing"),
        (a_file(setz={}), "setz is not a known key, expected one of schema, sets; did you mean 'sets'?"),
        (a_file(sets={"Windows": {"base": {}}}), "found 'Windows'"),
        (a_file(sets={"w": {}}), "sets.w.base is missing"),
        (a_claim(bases={}), "bases is not a known key"),
        (a_claim(base={INDEX: "sha256:" + DIGEST}), "expected 64 hex digits of a SHA-256, or 'absent'"),
        (a_claim(base={INDEX: None}), "expected 64 hex digits of a SHA-256, or 'absent'"),
        (a_claim(base={INDEX: ""}), "expected 64 hex digits of a SHA-256, or 'absent'"),
        (a_claim(base={"../x": "absent"}), "it has a '..' segment"),
        (a_claim(base={"a b": "absent"}), "letters, digits"),
        (a_claim(base={"a\x1b[2J\n": "absent"}), "expected names of visible characters"),
        (a_claim(requires=["\x1b[2J\n"]), "requires[0]: found"),
        (a_claim(requires="3.13.8"), "requires: found '3.13.8'"),
        (a_claim(requires=["3.13.8/x"]), "requires[0]: found '3.13.8/x'"),
        (a_claim(requires=[313]), "requires[0]: found 313"),
    ],
)
def test_whatever_else_it_says_is_a_problem(data: bytes, problem: str) -> None:
    found = read_claims(data)

    assert isinstance(found, tuple)
    assert len(found) == 1
    assert problem in found[0]
    assert found[0].isprintable()


def test_every_problem_is_named() -> None:
    found = read_claims(a_file(schema=2, sets={"w": {"base": {INDEX: "x"}}, "v": {}}))

    assert isinstance(found, tuple)
    assert len(found) == 3


names = st.from_regex(r"[a-z][a-z0-9-]{0,9}", fullmatch=True)
digests = st.one_of(st.none(), st.binary().map(of_bytes))
claims = st.builds(
    Claim,
    st.dictionaries(st.sampled_from([INDEX, CATALOG, "x+y"]), digests),
    st.lists(st.sampled_from(["3.14.0", "3.13.8rc1"])).map(tuple),
)


@given(st.dictionaries(names, claims, max_size=3))
def test_what_is_written_is_read_back(said: dict[str, Claim]) -> None:
    assert read_claims(write_claims(said)) == said


def test_a_history_is_kept_as_it_is() -> None:
    history = History(1, "windows-index", {INDEX: (DIGEST, of_bytes(b"next"))})

    assert decode(History, encode(history), "_state/pointers/windows-index.json") == history
