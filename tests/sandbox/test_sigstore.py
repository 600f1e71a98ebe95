"""The local Sigstore is real for the library as it is: what it signs verifies, what is wrong is refused."""

import base64
import http.client
import json
import socket
import struct
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from rfc3161_client import TimestampRequestBuilder, decode_timestamp_response
from sigstore.errors import VerificationError
from sigstore.models import Bundle, ClientTrustConfig, InvalidBundle
from sigstore.oidc import IdentityToken, detect_credential
from sigstore.sign import SigningContext
from sigstore.verify import policy

from sandbox.sigstore import (
    RELEASE_MANAGER,
    Endpoint,
    LocalSigstore,
    Login,
    RekorVersion,
    Workflow,
    run_sigstore,
)
from sandbox.sigstore.der import Tag, decode, encode, encode_integer, encode_object_id
from sandbox.sigstore.merkle import MerkleTree
from tests.sandbox.processes import listens
from tests.sandbox.sigstore_client import (
    CODE_REQUEST,
    RM,
    VERIFIER,
    a_digest,
    a_statement,
    ask_for_certificate,
    ask_for_code,
    fetch,
    lead_to_root,
    log_in,
    of_workflow,
    open_verifier,
    propose,
    propose_statement,
    read_entry,
    read_trust,
    rm_token,
    sign,
    walk_texts,
)

# The fourth pair has no source of time; its test is further down.
GENERATIONS = [(1, True), (1, False), (2, True)]


@pytest.fixture(scope="module", params=GENERATIONS, ids=["v1-tsa", "v1", "v2-tsa"])
def each(request: pytest.FixtureRequest) -> Generator[LocalSigstore]:
    """One of each kind, shared: faults and exact counts are for `sigstore`."""
    version, tsa = request.param
    with run_sigstore(rekor_version=version, tsa=tsa) as running:
        yield running


@pytest.fixture(scope="module")
def other() -> Generator[LocalSigstore]:
    with run_sigstore() as running:
        yield running


@pytest.fixture
def sigstore() -> Generator[LocalSigstore]:
    """One of the test's own."""
    with run_sigstore() as running:
        yield running


class TestSigning:
    """What is signed verifies offline, and as what it is only."""

    def test_an_artifact_verifies_by_its_digest(self, each: LocalSigstore) -> None:
        [bundle] = sign(each, a_digest())
        open_verifier(each).verify_artifact(a_digest(), Bundle.from_json(bundle.to_json()), RM)

    def test_a_statement_verifies_and_says_what_was_signed(self, each: LocalSigstore) -> None:
        statement = a_statement("a.txt", "b.txt")
        [bundle] = sign(each, statement)
        kind, payload = open_verifier(each).verify_dsse(Bundle.from_json(bundle.to_json()), RM)
        assert kind == "application/vnd.in-toto+json"
        names = [subject["name"] for subject in json.loads(payload)["subject"]]
        assert names == ["a.txt", "b.txt"]

    def test_another_digest_is_refused(self, each: LocalSigstore) -> None:
        [bundle] = sign(each, a_digest())
        with pytest.raises(VerificationError):
            open_verifier(each).verify_artifact(a_digest(b"changed"), bundle, RM)

    def test_a_changed_statement_is_refused(self, each: LocalSigstore) -> None:
        [bundle, another] = sign(each, a_statement("a.txt"), a_statement("b.txt"))
        document, changed = json.loads(bundle.to_json()), json.loads(another.to_json())
        document["dsseEnvelope"]["payload"] = changed["dsseEnvelope"]["payload"]
        with pytest.raises(VerificationError):
            open_verifier(each).verify_dsse(Bundle.from_json(json.dumps(document)), RM)

    @pytest.mark.parametrize(
        "stranger",
        [Login("else@example.org", RELEASE_MANAGER.issuer), Login(RELEASE_MANAGER.name, "https://else.org")],
        ids=["identity", "issuer"],
    )
    def test_somebody_else_is_refused(self, each: LocalSigstore, stranger: Login) -> None:
        [bundle] = sign(each, a_digest(), token=each.make_token(stranger.name, stranger.issuer))
        verifier = open_verifier(each)
        with pytest.raises(VerificationError):
            verifier.verify_artifact(a_digest(), bundle, RM)
        theirs = policy.Identity(identity=stranger.name, issuer=stranger.issuer)
        verifier.verify_artifact(a_digest(), bundle, theirs)

    def test_the_root_of_another_instance_refuses(self, each: LocalSigstore, other: LocalSigstore) -> None:
        [bundle] = sign(each, a_digest())
        # The second generation's only source of time is an authority that is not trusted either.
        with pytest.raises(VerificationError, match=r"certificate|sources of verified time"):
            open_verifier(other).verify_artifact(a_digest(), bundle, RM)

    def test_a_time_stamp_is_in_the_bundle_where_there_is_an_authority(self, each: LocalSigstore) -> None:
        [bundle] = sign(each, a_digest())
        stamps = bundle.verification_material.timestamp_verification_data
        expected = len(each.trust_config()["signingConfig"]["tsaUrls"])
        assert len(stamps.rfc3161_timestamps if stamps else []) == expected

    @pytest.mark.parametrize("asks", [True, False])
    def test_a_stamp_has_the_nonce_of_its_request_and_the_certificate_if_asked(
        self, other: LocalSigstore, *, asks: bool
    ) -> None:
        builder = TimestampRequestBuilder().data(b"signature").nonce(nonce=True)
        request = builder.cert_request(cert_request=asks).build()
        answer = fetch(other, Endpoint.TIMESTAMP, body=request.as_bytes())
        stamp = decode_timestamp_response(answer.body)
        assert stamp.tst_info.nonce == request.nonce
        assert stamp.tst_info.message_imprint.message == request.message_imprint.message
        assert len(stamp.signed_data.certificates) == asks

    def test_the_second_generation_has_no_time_without_stamps(self) -> None:
        with run_sigstore(rekor_version=2, tsa=False) as running:
            with pytest.raises(InvalidBundle, match="timestamp"):
                sign(running, a_digest())
            assert running.logged() == 1

    def test_its_clock_is_in_the_certificate_and_in_the_time_stamp(self) -> None:
        # In a time zone of its own, and within a certificate's life, since the client has the real time.
        clock = datetime.now(timezone(timedelta(hours=9))) - timedelta(minutes=5)
        with run_sigstore(rekor_version=2, clock=lambda: clock) as running:
            [bundle] = sign(running, a_digest(), token=rm_token(running, lifetime=900))
            assert bundle.signing_certificate.not_valid_before_utc == clock.replace(microsecond=0)
            stamps = bundle.verification_material.timestamp_verification_data
            assert stamps is not None
            [stamp] = stamps.rfc3161_timestamps
            assert stamp.tst_info.gen_time == clock.replace(microsecond=0)
            open_verifier(running).verify_artifact(a_digest(), bundle, RM)


class TestLog:
    """The log is a growing tree, and lets in only what is signed."""

    @pytest.mark.parametrize("version", [1, 2])
    def test_entries_of_a_growing_tree_verify(self, version: RekorVersion) -> None:
        digests = [a_digest(b"%d" % number) for number in range(9)]
        with run_sigstore(rekor_version=version) as running:
            bundles = sign(running, *digests)
            verifier = open_verifier(running)
            assert running.logged() == 9
        for digest, bundle in zip(digests, bundles, strict=True):
            verifier.verify_artifact(digest, bundle, RM)
        # Never 0, which other clients take for none.
        assert [int(read_entry(bundle)["logIndex"]) for bundle in bundles] == list(range(1, 10))
        sizes = [int(read_entry(bundle)["inclusionProof"]["treeSize"]) for bundle in bundles]
        assert sizes == list(range(2, 11))

    @pytest.mark.parametrize("field", ["rootHash", "hashes"])
    def test_a_changed_proof_is_refused(self, each: LocalSigstore, field: str) -> None:
        [_, bundle] = sign(each, a_digest(), a_digest())
        document = json.loads(bundle.to_json())
        [entry] = document["verificationMaterial"]["tlogEntries"]
        proof, wrong = entry["inclusionProof"], base64.b64encode(bytes(32)).decode()
        proof[field] = wrong if field == "rootHash" else [wrong, *proof["hashes"][1:]]
        with pytest.raises(VerificationError):
            open_verifier(each).verify_artifact(a_digest(), Bundle.from_json(json.dumps(document)), RM)

    def test_every_leaf_is_proved_in_trees_of_all_shapes(self) -> None:
        tree = MerkleTree()
        for number in range(1, 40):
            inclusion = tree.add(b"%d" % number)
            assert (inclusion.index, inclusion.size) == (number, number + 1)
            assert lead_to_root(b"%d" % number, inclusion) == inclusion.root
            assert lead_to_root(b"another", inclusion) != inclusion.root
        assert len(tree) == 39

    def test_threads_share_one_certificate_and_get_an_entry_each(self, sigstore: LocalSigstore) -> None:
        context = SigningContext.from_trust_config(read_trust(sigstore))
        digests = [a_digest(b"%d" % number) for number in range(12)]
        with (
            context.signer(IdentityToken(rm_token(sigstore))) as signer,
            ThreadPoolExecutor(max_workers=6) as pool,
        ):
            bundles = list(pool.map(signer.sign_artifact, digests))
        assert sigstore.faults.count(Endpoint.CERTIFICATE) == 1
        assert sigstore.faults.count(sigstore.entries) == sigstore.logged() == 12
        assert {int(read_entry(bundle)["logIndex"]) for bundle in bundles} == set(range(1, 13))

    @pytest.mark.parametrize("version", [1, 2])
    def test_only_what_is_signed_is_let_in(self, sigstore: LocalSigstore, version: int) -> None:
        [bundle] = sign(sigstore, a_digest())
        path = Endpoint.ENTRIES_V1 if version == 1 else Endpoint.ENTRIES_V2
        before = sigstore.logged()
        right = fetch(sigstore, path, body=propose(version, bundle, a_digest()))
        wrong = fetch(sigstore, path, body=propose(version, bundle, a_digest(b"changed")))
        garbage = fetch(sigstore, path, body='{"kind": "hashedrekord"}')
        assert [right.status, wrong.status, garbage.status] == [201, 400, 400]
        assert sigstore.logged() == before + 1

    def test_only_statements_that_are_signed_are_let_in(self, sigstore: LocalSigstore) -> None:
        [bundle, another] = sign(sigstore, a_statement("a.txt"), a_statement("b.txt"))
        right = fetch(sigstore, Endpoint.ENTRIES_V1, body=propose_statement(bundle, bundle))
        wrong = fetch(sigstore, Endpoint.ENTRIES_V1, body=propose_statement(bundle, another))
        assert [right.status, wrong.status] == [201, 400]
        assert sigstore.logged() == 3

    def test_only_digests_by_sha256_are_let_in(self, sigstore: LocalSigstore) -> None:
        [bundle] = sign(sigstore, a_digest())
        proposed = propose(1, bundle, a_digest()).replace('"sha256"', '"sha512"')
        answer = fetch(sigstore, Endpoint.ENTRIES_V1, body=proposed)
        assert answer.status == 400
        assert b"sha512, not sha256" in answer.body


class TestIdentities:
    """A certificate names whoever logged in, or the workflow that ran; nobody without a token gets one."""

    def test_a_login_with_a_browser_needs_no_person(
        self, sigstore: LocalSigstore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        token = log_in(sigstore, monkeypatch)
        [bundle] = sign(sigstore, a_digest(), token=token)
        open_verifier(sigstore).verify_artifact(a_digest(), bundle, RM)
        steps = (Endpoint.DISCOVERY, Endpoint.AUTHORIZE, Endpoint.TOKEN)
        assert [sigstore.faults.count(step) for step in steps] == [1, 1, 1]

    def test_whoever_is_to_log_in_does(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with run_sigstore(login=Login("else@example.org", "https://login.example.org")) as running:
            token = IdentityToken(log_in(running, monkeypatch))
        assert (token.identity, token.federated_issuer) == ("else@example.org", "https://login.example.org")

    def test_a_code_is_good_once_for_the_client_that_asked(self, other: LocalSigstore) -> None:
        right = {"code_verifier": VERIFIER, "redirect_uri": CODE_REQUEST["redirect_uri"]}
        code = ask_for_code(other)
        forms = [
            {**right, "code": code},
            {**right, "code": code},
            {**right, "code": ask_for_code(other), "code_verifier": "guessed"},
            {**right, "code": ask_for_code(other), "redirect_uri": "http://localhost:2/back"},
        ]
        answers = [fetch(other, Endpoint.TOKEN, form=form).status for form in forms]
        assert answers == [200, 400, 400, 400]

    def test_a_code_is_sent_to_this_machine_only(self, other: LocalSigstore) -> None:
        answer = fetch(other, Endpoint.AUTHORIZE, query={**CODE_REQUEST, "redirect_uri": "https://else.org/"})
        assert (answer.status, answer.location) == (400, None)

    def test_a_workflow_signs_by_what_surrounds_it(
        self, each: LocalSigstore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        workflow = Workflow(job_workflow_ref="a/b/.github/workflows/c.yml@refs/tags/v1", repository="a/b")
        for name, value in each.github_environment(workflow).items():
            monkeypatch.setenv(name, value)
        token = detect_credential()
        [bundle] = sign(each, a_digest(), token=token)
        verifier = open_verifier(each)
        verifier.verify_artifact(a_digest(), bundle, of_workflow("a/b"))
        with pytest.raises(VerificationError):
            verifier.verify_artifact(a_digest(), bundle, of_workflow("a/other"))

    def test_a_workflows_token_can_be_made_by_hand(self, other: LocalSigstore) -> None:
        token = other.make_workflow_token(
            job_workflow_ref="a/b/.github/workflows/c.yml@refs/tags/v1", repository="a/b", sha="1" * 40
        )
        [bundle] = sign(other, a_digest(), token=token)
        commit = policy.OIDCSourceRepositoryDigest("1" * 40)
        open_verifier(other).verify_artifact(a_digest(), bundle, policy.AllOf([of_workflow("a/b"), commit]))

    def test_only_a_runs_own_secret_gives_its_token(self, other: LocalSigstore) -> None:
        secret = other.github_environment()["ACTIONS_ID_TOKEN_REQUEST_TOKEN"]
        answers = [fetch(other, Endpoint.GITHUB_TOKEN, token=text).status for text in (secret, "guessed")]
        assert answers == [200, 400]

    def test_a_certificate_is_for_a_valid_token_only(self, other: LocalSigstore) -> None:
        now = datetime.now(UTC)
        with run_sigstore(clock=lambda: now) as running:
            right, early = rm_token(running), rm_token(running)
            wrong = running.make_token("a@b.org", "https://c.org", audience="other")
            foreign = rm_token(other)
            answers = [ask_for_certificate(running, token) for token in (right, wrong, foreign, "none")]
            assert answers == [201, 400, 400, 400]
            assert ask_for_certificate(running, right, forged=True) == 400
            now += timedelta(minutes=6)
            assert [ask_for_certificate(running, token) for token in (early, rm_token(running))] == [400, 201]


class TestFaults:
    """What is to go wrong does, from the request on that it is to, until it is lifted."""

    @pytest.mark.parametrize("version", [1, 2])
    def test_another_answer_is_given_instead_and_nothing_done(self, version: RekorVersion) -> None:
        with run_sigstore(rekor_version=version) as running:
            running.faults.answer(running.entries, 503, '{"code": 503, "message": "down"}')
            with pytest.raises(Exception, match="503: down"):
                sign(running, a_digest())
            assert (running.faults.count(running.entries), running.logged()) == (1, 0)
            running.faults.lift(running.entries)
            sign(running, a_digest())
            assert (running.faults.count(running.entries), running.logged()) == (2, 1)

    def test_requests_before_the_one_that_is_to_fail_pass(self, sigstore: LocalSigstore) -> None:
        sign(sigstore, a_digest())
        sigstore.faults.answer(sigstore.entries, 500, from_request=3)
        with pytest.raises(Exception, match="500"):
            sign(sigstore, *[a_digest()] * 5)
        assert (sigstore.faults.count(sigstore.entries), sigstore.logged()) == (4, 3)

    def test_silence_lasts_until_it_is_lifted(self, sigstore: LocalSigstore) -> None:
        sigstore.faults.be_silent(Endpoint.DISCOVERY, from_request=2)
        assert fetch(sigstore, Endpoint.DISCOVERY).status == 200
        with ThreadPoolExecutor() as pool:
            silent = pool.submit(fetch, sigstore, Endpoint.DISCOVERY)
            try:
                sigstore.faults.wait_for_requests(Endpoint.DISCOVERY, 2)
                # All else goes on meanwhile.
                sign(sigstore, a_digest())
                assert not silent.done()
            finally:
                sigstore.faults.lift(Endpoint.DISCOVERY)
            assert silent.result().status == 200

    def test_a_silent_request_does_not_keep_the_server(self) -> None:
        with ThreadPoolExecutor() as pool:
            with run_sigstore() as running:
                running.faults.be_silent(Endpoint.DISCOVERY)
                silent = [pool.submit(fetch, running, Endpoint.DISCOVERY) for _ in range(3)]
                running.faults.wait_for_requests(Endpoint.DISCOVERY, 3)
            for waiting in silent:
                assert isinstance(waiting.exception(), ConnectionError)

    def test_all_is_well_again_after_clearing(self, sigstore: LocalSigstore) -> None:
        sigstore.faults.answer(Endpoint.DISCOVERY, 500)
        sigstore.faults.be_silent(Endpoint.TIMESTAMP)
        assert fetch(sigstore, Endpoint.DISCOVERY).status == 500
        sigstore.faults.clear()
        assert sigstore.faults.count(Endpoint.DISCOVERY) == 0
        assert fetch(sigstore, Endpoint.DISCOVERY).status == 200
        sign(sigstore, a_digest())
        assert sigstore.faults.count(Endpoint.TIMESTAMP) == 1

    def test_waiting_for_requests_that_do_not_come_ends(self, sigstore: LocalSigstore) -> None:
        with pytest.raises(TimeoutError, match="0 of 1 requests"):
            sigstore.faults.wait_for_requests(Endpoint.TOKEN, 1, timeout_seconds=0)


class TestServer:
    """It is on this machine only, and gone when it is done with."""

    def test_the_trust_config_leads_nowhere_else(self, each: LocalSigstore, tmp_path: Path) -> None:
        file = tmp_path / "trust.json"
        each.write_trust_config(file)
        ClientTrustConfig.from_json(file.read_text())
        urls = [text for text in walk_texts(json.loads(file.read_text())) if "://" in text]
        assert {urlsplit(url).hostname for url in urls} == {"127.0.0.1"}
        assert {f"{each.url}/oidc", each.url} <= set(urls)

    def test_what_is_not_there_or_is_garbage_is_refused(self, other: LocalSigstore) -> None:
        answers = [
            fetch(other, "/elsewhere").status,
            fetch(other, Endpoint.TIMESTAMP, body=b"no request").status,
            fetch(other, Endpoint.AUTHORIZE, query={"client_id": "sigstore"}).status,
        ]
        assert answers == [404, 400, 400]

    def test_it_hangs_up_on_idle_clients_in_the_end(self) -> None:
        with run_sigstore() as running:
            address = urlsplit(running.url)
            connection = http.client.HTTPConnection(address.netloc, timeout=20)
            connection.request("GET", Endpoint.DISCOVERY)
            assert connection.getresponse().read()
            running.close()
            assert connection.sock.recv(1) == b""
            assert not listens(address.port or 0)
            connection.close()

    def test_a_client_that_hangs_up_harms_nobody(
        self, sigstore: LocalSigstore, capfd: pytest.CaptureFixture[str]
    ) -> None:
        sigstore.faults.be_silent(Endpoint.DISCOVERY)
        address = urlsplit(sigstore.url)
        with socket.create_connection((address.hostname, address.port)) as connection:
            connection.sendall(f"GET {Endpoint.DISCOVERY} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            sigstore.faults.wait_for_requests(Endpoint.DISCOVERY, 1)
            # At once, so that the answer meets an error.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sigstore.faults.lift(Endpoint.DISCOVERY)
        assert fetch(sigstore, Endpoint.DISCOVERY).status == 200
        sigstore.close()
        assert capfd.readouterr().err == ""


class TestEncoding:
    """DER is written and read as everybody's is."""

    def test_numbers_and_names_are_spelt_as_standards_show_them(self) -> None:
        assert encode_integer(0).hex() == "020100"
        assert encode_integer(127).hex() == "02017f"
        assert encode_integer(128).hex() == "02020080"
        assert encode_object_id("1.2.840.113549").hex() == "06062a864886f70d"

    @pytest.mark.parametrize("size", [0, 1, 127, 128, 255, 256, 70000])
    def test_content_of_any_length_is_read_back(self, size: int) -> None:
        written = [encode(Tag.OCTET_STRING, b"x" * size), encode(Tag.BOOLEAN, b"\xff")]
        elements = decode(b"".join(written))
        assert [element.whole for element in elements] == written
        assert elements[0].content == b"x" * size

    @pytest.mark.parametrize("data", [b"\x04", b"\x04\x02x", b"\x04\x82\x01"])
    def test_what_is_cut_short_is_refused(self, data: bytes) -> None:
        with pytest.raises(ValueError, match="element of DER"):
            decode(data)
