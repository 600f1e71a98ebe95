"""Changed bundles: none is ever good for another digest or another identity, and none is an error."""

import json
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from publisher.core.digests import of_bytes
from publisher.core.identity import Identity, Rejected, Signed, Statement
from sandbox.sigstore import run_sigstore
from tests.support.sigstore import (
    DIGEST,
    EVE,
    OTHER,
    RM,
    Bench,
    a_statement,
    change,
    open_bench,
    reach,
    walk,
)

Outcome = Signed | Statement | Rejected

SLOW = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


@dataclass(frozen=True)
class Made:
    """What one local Sigstore signed: two files and two statements by the release manager, one by Eve."""

    bench: Bench
    mine: bytes
    others: bytes
    eves: bytes
    statement: bytes
    others_statement: bytes
    eves_statement: bytes


@pytest.fixture(scope="module", params=[1, 2], ids=["rekor-v1", "rekor-v2"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Made]:
    version: Literal[1, 2] = request.param
    with run_sigstore(rekor_version=version) as sigstore:
        bench = open_bench(sigstore, tmp_path_factory.mktemp("trust"))
        rm, eve = bench.log_in(), bench.log_in(EVE)
        yield Made(
            bench,
            rm.sign(DIGEST),
            rm.sign(OTHER),
            eve.sign(DIGEST),
            rm.sign_statement(a_statement(DIGEST)),
            rm.sign_statement(a_statement(OTHER)),
            eve.sign_statement(a_statement(DIGEST)),
        )


def check_file(made: Made, bundle: bytes) -> bool:
    """Hold a changed bundle of RM's signature of DIGEST to what may be; answer whether it still counts."""
    verify = made.bench.verifier.verify
    found = verify(bundle, DIGEST, [RM])
    assert isinstance(found, Rejected) or found.identity == RM
    assert isinstance(verify(bundle, OTHER, [RM]), Rejected)
    assert isinstance(verify(bundle, DIGEST, [EVE, Identity(RM.name, "https://else.org")]), Rejected)
    return isinstance(found, Signed)


def check_statement(made: Made, bundle: bytes) -> bool:
    """Hold a changed bundle of RM's statement to what may be; answer whether it still counts."""
    open_statement = made.bench.verifier.open_statement
    found = open_statement(bundle, [RM])
    assert isinstance(found, Rejected) or found == Statement(RM, a_statement(DIGEST))
    assert isinstance(open_statement(bundle, [EVE, Identity(RM.name, "https://else.org")]), Rejected)
    return isinstance(found, Statement)


CHECKS: dict[str, tuple[Callable[[Made], bytes], Callable[[Made, bytes], bool]]] = {
    "file": (lambda made: made.mine, check_file),
    "statement": (lambda made: made.statement, check_statement),
}
each_kind = pytest.mark.parametrize("kind", CHECKS)


def put(bundle: bytes, path: tuple[str | int, ...], value: Any) -> bytes:
    """Put a value at `path`."""

    def edit(document: Any) -> None:
        reach(document, path[:-1])[path[-1]] = value

    return json.dumps(change(json.loads(bundle), edit)).encode()


def drop(bundle: bytes, path: tuple[str | int, ...]) -> bytes:
    """Drop the value at `path`."""

    def edit(document: Any) -> None:
        del reach(document, path[:-1])[path[-1]]

    return json.dumps(change(json.loads(bundle), edit)).encode()


def flip(text: str, place: int) -> str:
    """Change one letter of a text, as base64 or digits would be changed."""
    if not text:
        return "A"
    place %= len(text)
    letter = {"A": "B", "1": "2"}.get(text[place], "A" if text[place].isalpha() else "1")
    return text[:place] + letter + text[place + 1 :]


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(max_size=40),
    st.binary(max_size=40).map(lambda data: data.hex()),
    st.sampled_from([[], {}, [{}], "", "AAAA", "-1", str(2**64), "0.0.1", "0.0.2", "hashedrekord", "dsse"]),
)


@each_kind
def test_the_bundle_itself_is_good(made: Made, kind: str) -> None:
    pick, check = CHECKS[kind]

    assert check(made, pick(made))


@each_kind
@SLOW
@given(data=st.data())
def test_a_replaced_value_never_makes_it_anothers(made: Made, kind: str, data: st.DataObject) -> None:
    pick, check = CHECKS[kind]
    bundle = pick(made)
    path = data.draw(st.sampled_from(list(walk(json.loads(bundle)))))

    event(f"still good: {check(made, put(bundle, path, data.draw(values)))}")


@each_kind
@SLOW
@given(data=st.data(), place=st.integers(min_value=0, max_value=10_000), cut=st.booleans())
def test_a_changed_or_shortened_text_never_makes_it_anothers(
    made: Made, kind: str, data: st.DataObject, place: int, cut: bool
) -> None:
    pick, check = CHECKS[kind]
    bundle = pick(made)
    document = json.loads(bundle)
    texts = [path for path in walk(document) if isinstance(reach(document, path), str)]
    path = data.draw(st.sampled_from(texts))
    text = reach(document, path)
    changed = text[: place % max(len(text), 1)] if cut else flip(text, place)

    event(f"still good: {check(made, put(bundle, path, changed))}")


@each_kind
@SLOW
@given(place=st.integers(min_value=0, max_value=10_000), new=st.binary(max_size=3), gone=st.integers(0, 40))
def test_changed_bytes_never_make_it_anothers(
    made: Made, kind: str, place: int, new: bytes, gone: int
) -> None:
    pick, check = CHECKS[kind]
    bundle = pick(made)
    place %= len(bundle)

    event(f"still good: {check(made, bundle[:place] + new + bundle[place + gone :])}")


@SLOW
@given(noise=st.binary(max_size=200))
def test_noise_is_refused(made: Made, noise: bytes) -> None:
    assert not check_file(made, noise)
    assert not check_statement(made, noise)


@each_kind
def test_a_bundle_that_lacks_a_value_is_never_anothers(made: Made, kind: str) -> None:
    pick, check = CHECKS[kind]
    bundle = pick(made)
    paths = list(walk(json.loads(bundle)))
    good = {path for path in paths if check(made, drop(bundle, path))}

    # What may lack is only what another part makes up for, or what nothing is decided by.
    assert len(good) < len(paths) / 3
    assert not any("signature" in path or "certificate" in path or "payload" in path for path in good)


def test_parts_of_two_good_bundles_make_none_for_another_digest(made: Made) -> None:
    """Nor does a part of somebody else's: whatever is exchanged, what it was put into does not become it."""
    verify = made.bench.verifier.verify
    for donor, digest, who in ((made.others, OTHER, RM), (made.eves, DIGEST, EVE)):
        assert isinstance(verify(donor, digest, [who]), Signed)
        parts = json.loads(donor)
        shared = [path for path in walk(json.loads(made.mine)) if path in set(walk(parts))]
        for path in shared:
            spliced = put(made.mine, path, reach(parts, path))
            assert isinstance(verify(spliced, digest, [who]), Rejected)
            found = verify(spliced, DIGEST, [RM])
            assert isinstance(found, Rejected) or found.identity == RM


def test_parts_of_two_good_statements_make_no_third(made: Made) -> None:
    open_statement = made.bench.verifier.open_statement
    for donor, who in ((made.others_statement, RM), (made.eves_statement, EVE)):
        assert isinstance(open_statement(donor, [who]), Statement)
        parts = json.loads(donor)
        shared = [path for path in walk(json.loads(made.statement)) if path in set(walk(parts))]
        for path in shared:
            found: Outcome = open_statement(put(made.statement, path, reach(parts, path)), [RM, EVE])
            assert isinstance(found, Rejected) or found == Statement(RM, a_statement(DIGEST))


def test_a_statement_put_into_a_files_bundle_counts_as_neither(made: Made) -> None:
    both = {**json.loads(made.statement), "messageSignature": json.loads(made.mine)["messageSignature"]}
    raw = json.dumps(both).encode()

    assert isinstance(made.bench.verifier.verify(raw, DIGEST, [RM]), Rejected)
    assert isinstance(made.bench.verifier.verify(raw, of_bytes(a_statement(DIGEST)), [RM]), Rejected)
    assert isinstance(made.bench.verifier.open_statement(raw, [RM]), Rejected)


@pytest.mark.parametrize("key", ["dsseEnvelope", "dsse_envelope"])
def test_a_files_bundle_with_a_statement_besides_counts_as_neither(made: Made, key: str) -> None:
    """The library would say that the signature is the statement's; and it reads either spelling."""
    both = {**json.loads(made.mine), key: json.loads(made.statement)["dsseEnvelope"]}
    raw = json.dumps(both).encode()

    for found in (
        made.bench.verifier.verify(raw, DIGEST, [RM]),
        made.bench.verifier.open_statement(raw, [RM]),
    ):
        assert isinstance(found, Rejected)
