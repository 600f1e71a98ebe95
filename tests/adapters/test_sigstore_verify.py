"""Bundles of the local Sigstore: what is signed rightly passes, all else is refused with its reason."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Literal

import pytest
from sigstore import dsse
from sigstore.models import Bundle
from sigstore.verify import Verifier

from publisher.adapters.sigstore import SigstoreVerifier
from publisher.adapters.threads import Threads
from publisher.core.digests import Digest, of_bytes
from publisher.core.identity import Identity, Rejected, Signed, Statement
from sandbox.sigstore import Endpoint, LocalSigstore, run_sigstore
from tests.support.sigstore import (
    DIGEST,
    EVE,
    OTHER,
    RM,
    TOKEN,
    Bench,
    Json,
    a_statement,
    change,
    open_bench,
    trust_in,
)

TOO_OLD = "trust root too old?"


@pytest.fixture(scope="module", params=[1, 2], ids=["rekor-v1", "rekor-v2"])
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Bench]:
    version: Literal[1, 2] = request.param
    with run_sigstore(rekor_version=version) as sigstore:
        yield open_bench(sigstore, tmp_path_factory.mktemp("trust"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Generator[LocalSigstore]:
    with run_sigstore() as sigstore:
        yield sigstore


@pytest.fixture(scope="module")
def bundle(bench: Bench) -> bytes:
    return bench.log_in().sign(DIGEST)


@pytest.fixture(scope="module")
def statement(bench: Bench) -> bytes:
    return bench.log_in().sign_statement(a_statement())


def refuse(found: Signed | Statement | Rejected) -> Rejected:
    assert isinstance(found, Rejected)
    return found


def rewrite(bundle: bytes, *path: str | int, value: object) -> bytes:
    document = json.loads(bundle)
    node = document
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value
    return json.dumps(document).encode()


# --- What passes -----------------------------------------------------------------------------------------


def test_a_bundle_passes_for_its_digest_and_its_signer(bench: Bench, bundle: bytes) -> None:
    found = bench.verifier.verify(bundle, DIGEST, [RM])

    parsed = Bundle.from_json(bundle)
    assert isinstance(found, Signed)
    assert found.identity == RM
    assert base64.b64decode(found.signature) == parsed.signature
    assert found.certificate.startswith(b"-----BEGIN CERTIFICATE-----\n")


def test_one_of_several_accepted_identities_is_enough(bench: Bench, bundle: bytes) -> None:
    found = bench.verifier.verify(bundle, DIGEST, [EVE, RM])

    assert isinstance(found, Signed)
    assert found.identity == RM


def test_a_signed_statement_is_opened_as_it_was_signed(bench: Bench, statement: bytes) -> None:
    assert bench.verifier.open_statement(statement, [EVE, RM]) == Statement(RM, a_statement())


def test_a_workflow_signs_under_its_own_name(bench: Bench) -> None:
    token = bench.sigstore.make_workflow_token(job_workflow_ref="a/b/.github/workflows/c.yml@refs/heads/main")
    signer = bench.open_signing(token).log_in()
    workflow = Identity(
        "https://github.com/a/b/.github/workflows/c.yml@refs/heads/main",
        "https://token.actions.githubusercontent.com",
    )

    assert signer.identity == workflow
    assert isinstance(bench.verifier.verify(signer.sign(DIGEST), DIGEST, [workflow]), Signed)
    assert isinstance(bench.verifier.verify(signer.sign(DIGEST), DIGEST, [RM]), Rejected)


def test_detached_signature_and_certificate_are_what_the_librarys_command_writes(
    bench: Bench, tmp_path: Path
) -> None:
    (tmp_path / "artifact").write_bytes(b"an artifact")
    bench.sigstore.write_trust_config(tmp_path / "config.json")
    outputs = ["--bundle", "b", "--signature", "s", "--certificate", "c"]
    environment = {**os.environ, TOKEN: bench.make_token(), "HOME": str(tmp_path), "NO_PROXY": "*"}

    subprocess.run(
        [sys.executable, "-m", "sigstore", "--trust-config", "config.json", "sign", *outputs, "artifact"],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
    )
    found = bench.verifier.verify((tmp_path / "b").read_bytes(), DIGEST, [RM])

    assert found == Signed(RM, (tmp_path / "s").read_bytes(), (tmp_path / "c").read_bytes())


def test_one_verifier_serves_many_threads(bench: Bench, bundle: bytes) -> None:
    found = Threads(8).map(
        lambda number: bench.verifier.verify(bundle, DIGEST if number % 2 else OTHER, [RM]), range(64)
    )

    assert [isinstance(each, Signed) for each in found] == [bool(number % 2) for number in range(64)]


# --- Who signed ------------------------------------------------------------------------------------------


def test_another_persons_signature_is_refused_and_says_whose_it_is(bench: Bench) -> None:
    bundle = bench.log_in(EVE).sign(DIGEST)

    assert isinstance(bench.verifier.verify(bundle, DIGEST, [EVE]), Signed)
    found = refuse(bench.verifier.verify(bundle, DIGEST, [RM]))
    assert found.found == "signed by eve@example.org (https://accounts.example.org)"
    assert (
        found.expected == f"a signature of sha256:{DIGEST} by rm@example.org (https://accounts.example.org)"
    )


def test_the_right_name_by_another_issuer_is_refused(bench: Bench) -> None:
    elsewhere = Identity(RM.name, "https://login.example.com")
    bundle = bench.log_in(elsewhere).sign(DIGEST)

    assert isinstance(bench.verifier.verify(bundle, DIGEST, [elsewhere]), Signed)
    found = refuse(bench.verifier.verify(bundle, DIGEST, [RM, EVE]))
    assert found.found == "signed by rm@example.org (https://login.example.com)"
    assert found.hint == "the name is right, but another issuer vouches for it"


def test_a_statement_by_somebody_else_is_refused(bench: Bench, statement: bytes) -> None:
    found = refuse(bench.verifier.open_statement(statement, [EVE, Identity(RM.name, "https://else.org")]))

    assert found.found == f"signed by {RM}"
    assert found.expected == (f"a signed in-toto statement by {EVE} or rm@example.org (https://else.org)")


@pytest.mark.parametrize("accepted", [[], [Identity(RM.name, "")], [Identity("", RM.issuer)]])
def test_nobody_accepted_or_half_an_identity_accepts_nothing(
    bench: Bench, bundle: bytes, statement: bytes, accepted: list[Identity]
) -> None:
    assert "accepted identity" in refuse(bench.verifier.verify(bundle, DIGEST, accepted)).found
    assert "accepted identity" in refuse(bench.verifier.open_statement(statement, accepted)).found


# --- What was signed -------------------------------------------------------------------------------------


def test_another_artifacts_bundle_is_refused_and_says_what_it_signs(bench: Bench, bundle: bytes) -> None:
    found = refuse(bench.verifier.verify(bundle, OTHER, [RM]))

    assert found.found == f"signs another file: sha256:{DIGEST}"
    assert found.expected.startswith(f"a signature of sha256:{OTHER} by ")


def test_a_digest_that_is_only_claimed_is_not_repeated(bench: Bench, bundle: bytes) -> None:
    path = ("messageSignature", "messageDigest", "digest")
    claimed = rewrite(bundle, *path, value=base64.b64encode(bytes.fromhex(OTHER)).decode())

    for digest in (DIGEST, OTHER):
        found = refuse(bench.verifier.verify(claimed, digest, [RM]))
        assert found.found.startswith("a bundle that is not good (")


def test_a_bundle_need_not_state_what_it_signs(bench: Bench, bundle: bytes) -> None:
    silent = json.loads(bundle)
    del silent["messageSignature"]["messageDigest"]
    raw = json.dumps(silent).encode()

    assert isinstance(bench.verifier.verify(raw, DIGEST, [RM]), Signed)
    assert isinstance(bench.verifier.verify(raw, OTHER, [RM]), Rejected)


@pytest.mark.parametrize(
    "digest", ["", DIGEST[:-2], DIGEST + "00", DIGEST[:-1] + "g", DIGEST.upper(), "é" * 64]
)
def test_what_is_no_sha256_is_signed_by_nothing(bench: Bench, bundle: bytes, digest: str) -> None:
    found = refuse(bench.verifier.verify(bundle, Digest(digest), [RM]))

    assert found.found.endswith("as digest")


def test_a_statement_is_not_the_signature_of_the_file_it_names(bench: Bench, statement: bytes) -> None:
    for digest in (DIGEST, of_bytes(a_statement())):
        found = refuse(bench.verifier.verify(statement, digest, [RM]))
        assert found.found == "a signed statement, not the signature of a file"


def test_the_signature_of_a_file_is_no_statement(bench: Bench) -> None:
    bundle = bench.log_in().sign(of_bytes(a_statement()))

    assert isinstance(bench.verifier.verify(bundle, of_bytes(a_statement()), [RM]), Signed)
    found = refuse(bench.verifier.open_statement(bundle, [RM]))
    assert found.found == "the signature of a file, not a signed statement"


def test_a_signed_envelope_of_another_type_is_no_statement(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(dsse.Envelope, "_TYPE", "text/plain")
        bundle = bench.log_in().sign_statement(a_statement())

    found = refuse(bench.verifier.open_statement(bundle, [RM]))
    assert found.found == "a signed text/plain"


# --- Damage ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("raw", [b"", b" \n"])
def test_an_empty_bundle_is_refused(bench: Bench, raw: bytes) -> None:
    assert refuse(bench.verifier.verify(raw, DIGEST, [RM])).found == "an empty file"
    assert refuse(bench.verifier.open_statement(raw, [RM])).found == "an empty file"


def test_a_bundle_that_was_cut_off_is_refused(bench: Bench, bundle: bytes, statement: bytes) -> None:
    for length in (1, len(bundle) // 2, len(bundle) - 2):
        assert refuse(bench.verifier.verify(bundle[:length], DIGEST, [RM])).found.startswith("no JSON (")
    assert refuse(bench.verifier.open_statement(statement[:-2], [RM])).found.startswith("no JSON (")


@pytest.mark.parametrize("raw", [b"\xff\xfe\xfd", b"[" * 100_000, b"<html>", b"\x00"])
def test_what_is_no_json_is_refused(bench: Bench, raw: bytes) -> None:
    assert refuse(bench.verifier.verify(raw, DIGEST, [RM])).found.startswith("no JSON (")


@pytest.mark.parametrize("raw", [b"{}", b"[]", b"null", b"7", b'"a bundle"', b'{"mediaType": "text/plain"}'])
def test_json_that_is_no_bundle_is_refused(bench: Bench, raw: bytes) -> None:
    assert refuse(bench.verifier.verify(raw, DIGEST, [RM])).found.startswith("no Sigstore bundle (")
    assert refuse(bench.verifier.open_statement(raw, [RM])).found.startswith("no Sigstore bundle (")


def test_a_changed_statement_is_refused(bench: Bench, statement: bytes) -> None:
    payload = base64.b64encode(a_statement(OTHER)).decode()

    found = refuse(
        bench.verifier.open_statement(rewrite(statement, "dsseEnvelope", "payload", value=payload), [RM])
    )
    assert found.found.startswith("a bundle that is not good (")


def test_a_changed_signature_is_refused(bench: Bench, bundle: bytes) -> None:
    signature = json.loads(bench.log_in().sign(DIGEST))["messageSignature"]["signature"]

    found = refuse(
        bench.verifier.verify(rewrite(bundle, "messageSignature", "signature", value=signature), DIGEST, [RM])
    )
    assert found.found.startswith("a bundle that is not good (")


def test_a_certificate_that_is_none_is_refused(bench: Bench, bundle: bytes) -> None:
    raw = rewrite(bundle, "verificationMaterial", "certificate", "rawBytes", value="bm8gY2VydGlmaWNhdGU=")

    assert refuse(bench.verifier.verify(raw, DIGEST, [RM])).found.startswith("no Sigstore bundle (")


def test_a_bundle_without_a_checkpoint_is_explained(bench: Bench, bundle: bytes) -> None:
    document = json.loads(bundle)
    del document["verificationMaterial"]["tlogEntries"][0]["inclusionProof"]["checkpoint"]

    found = refuse(bench.verifier.verify(json.dumps(document).encode(), DIGEST, [RM]))
    assert found.found == "a bundle without a signed checkpoint of the log"
    assert "sigstore plumbing fix-bundle" in found.hint


def test_an_entry_of_a_kind_to_come_is_explained(bench: Bench, bundle: bytes) -> None:
    path = ("verificationMaterial", "tlogEntries", 0, "kindVersion", "version")

    found = refuse(bench.verifier.verify(rewrite(bundle, *path, value="0.0.9"), DIGEST, [RM]))
    assert "newer Sigstore" in found.hint


def test_text_of_strangers_cannot_move_the_cursor(bench: Bench, bundle: bytes) -> None:
    raw = rewrite(bundle, "mediaType", value="\x1b[2Jgood\r\n\u202e" + "x" * 5000)

    found = refuse(bench.verifier.verify(raw, DIGEST, [RM]))
    assert found.found.isprintable()
    assert len(found.found) < 400


@pytest.mark.parametrize(
    "error", [RuntimeError("odd"), RecursionError(), MemoryError(), BaseException("panic")]
)
def test_whatever_the_library_raises_is_a_refusal(
    bench: Bench, bundle: bytes, statement: bytes, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(Verifier, "verify_artifact", fail)
    monkeypatch.setattr(Verifier, "verify_dsse", fail)

    for found in (
        bench.verifier.verify(bundle, DIGEST, [RM]),
        bench.verifier.open_statement(statement, [RM]),
    ):
        assert refuse(found).found.startswith(f"a bundle that cannot be checked ({type(error).__name__}")


def test_a_person_may_still_interrupt(bench: Bench, bundle: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Verifier, "verify_artifact", interrupt)

    with pytest.raises(KeyboardInterrupt):
        bench.verifier.verify(bundle, DIGEST, [RM])


# --- Whom to trust ---------------------------------------------------------------------------------------


def test_a_bundle_of_another_instance_is_refused_with_a_hint(
    bench: Bench, other: LocalSigstore, bundle: bytes, statement: bytes, tmp_path: Path
) -> None:
    stranger = open_bench(other, tmp_path).verifier

    assert TOO_OLD in refuse(stranger.verify(bundle, DIGEST, [RM])).hint
    assert TOO_OLD in refuse(stranger.open_statement(statement, [RM])).hint


@pytest.mark.parametrize(
    ("part", "found"),
    [
        ("certificateAuthorities", "a certificate that the trust root in use does not vouch for"),
        ("tlogs", "an entry of a log that the trust root in use does not know"),
        ("ctlogs", "a certificate of a log that the trust root in use does not know"),
    ],
)
def test_a_trust_root_from_before_a_rotation_is_named_as_the_cause(
    bench: Bench, other: LocalSigstore, bundle: bytes, tmp_path: Path, part: str, found: str
) -> None:
    new, old = bench.sigstore.trust_config(), other.trust_config()

    def rotate_back(document: Json) -> None:
        document["trustedRoot"][part] = old["trustedRoot"][part]

    def keep_both(document: Json) -> None:
        document["trustedRoot"][part] += old["trustedRoot"][part]

    stale = SigstoreVerifier(trust_in(change(new, rotate_back), tmp_path))
    refused = refuse(stale.verify(bundle, DIGEST, [RM]))
    assert refused.found.startswith(found)
    assert TOO_OLD in refused.hint
    both = SigstoreVerifier(trust_in(change(new, keep_both), tmp_path))
    assert isinstance(both.verify(bundle, DIGEST, [RM]), Signed)


def test_a_time_stamp_that_nobody_knows_counts_for_nothing(
    bench: Bench, other: LocalSigstore, bundle: bytes, tmp_path: Path
) -> None:
    def rotate_back(document: Json) -> None:
        part = other.trust_config()["trustedRoot"]["timestampAuthorities"]
        document["trustedRoot"]["timestampAuthorities"] = part

    stale = SigstoreVerifier(trust_in(change(bench.sigstore.trust_config(), rotate_back), tmp_path))
    found = stale.verify(bundle, DIGEST, [RM])

    # The first generation of the log has a clock of its own, the second has none.
    if bench.sigstore.entries == Endpoint.ENTRIES_V1:
        assert isinstance(found, Signed)
    else:
        assert TOO_OLD in refuse(found).hint
