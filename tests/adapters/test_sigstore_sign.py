"""Signing against the local Sigstore: logins, deadlines, servers that fail, and what is said of them."""

import builtins
import json
import os
import socketserver
import traceback
import webbrowser
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any, Literal

import pytest
import requests
from id._internal.oidc import ambient
from requests.adapters import HTTPAdapter
from sigstore._internal.rekor.client import RekorClient
from sigstore._internal.rekor.client_v2 import RekorV2Client
from sigstore._internal.timestamp import TimestampAuthorityClient

from publisher.adapters.sigstore import SigstoreSigner, SigstoreSigning, network
from publisher.adapters.threads import Threads
from publisher.core.digests import Digest, of_bytes
from publisher.core.identity import Identity, Signed, Statement
from publisher.errors import LoginError, PublisherError, SigningError
from sandbox.ministack import LOOPBACK, reserve_port
from sandbox.sigstore import Endpoint, Login, run_sigstore
from tests.support.sigstore import (
    CI,
    DIGEST,
    RM,
    TOKEN,
    Bench,
    Json,
    a_statement,
    browse,
    change,
    close_redirects,
    open_bench,
    trust_in,
)

WORKFLOW = Identity(
    "https://github.com/example/project/.github/workflows/release.yml@refs/heads/main",
    "https://token.actions.githubusercontent.com",
)
SOON = 0.5
"""Seconds that tests wait for a server that is silent."""


@pytest.fixture(autouse=True)
def _nobody_is_logged_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let these tests be on nobody's machine: no CI, no cloud, no proxy."""
    for name in os.environ:
        if name in {*CI, TOKEN} or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    close_redirects(monkeypatch)
    monkeypatch.setattr(ambient, "_GCP_PRODUCT_NAME_FILE", str(tmp_path / "absent"))


@pytest.fixture(scope="module", params=[1, 2], ids=["rekor-v1", "rekor-v2"])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Bench]:
    version: Literal[1, 2] = request.param
    with run_sigstore(rekor_version=version, login=Login(RM.name, RM.issuer)) as sigstore:
        yield open_bench(sigstore, tmp_path_factory.mktemp("trust"))


@pytest.fixture
def bench(running: Bench) -> Generator[Bench]:
    running.sigstore.faults.clear()
    yield running
    running.sigstore.faults.clear()


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Note the pauses between tries instead of making them."""
    pauses: list[float] = []
    monkeypatch.setattr(network, "sleep", pauses.append)
    return pauses


def is_good(bench: Bench, bundle: bytes, digest: Digest = DIGEST, who: Identity = RM) -> bool:
    return isinstance(bench.verifier.verify(bundle, digest, [who]), Signed)


def catch(kind: type[PublisherError], work: Callable[[], object]) -> PublisherError:
    with pytest.raises(kind) as caught:
        work()
    assert caught.value.next_step
    return caught.value


# --- Signing ---------------------------------------------------------------------------------------------


def test_a_login_gets_its_certificate_at_once_and_says_who_it_is(bench: Bench) -> None:
    signer = bench.log_in()

    assert signer.identity == RM
    assert bench.sigstore.faults.count(Endpoint.CERTIFICATE) == 1


def test_many_threads_sign_with_one_certificate(bench: Bench) -> None:
    signer = bench.log_in()
    digests = [of_bytes(bytes([number])) for number in range(48)]

    bundles = Threads(16).map(signer.sign, digests)

    assert all(is_good(bench, *pair) for pair in zip(bundles, digests, strict=True))
    assert bench.sigstore.faults.count(Endpoint.CERTIFICATE) == 1
    assert bench.sigstore.faults.count(bench.sigstore.entries) == 48


def test_a_statement_is_signed_as_it_is_written(bench: Bench) -> None:
    statement = a_statement().replace(b", ", b" ,   ")
    bundle = bench.log_in().sign_statement(statement)

    assert bench.verifier.open_statement(bundle, [RM]) == Statement(RM, statement)


@pytest.mark.parametrize(
    "statement", [b"", b"{}", b"[]", b"\xff", a_statement().replace(b"Statement/v1", b"Statement/v9")]
)
def test_what_is_no_statement_is_not_signed(bench: Bench, statement: bytes) -> None:
    signer = bench.log_in()

    with pytest.raises(SigningError, match="expected an in-toto statement"):
        signer.sign_statement(statement)
    assert bench.sigstore.faults.count(bench.sigstore.entries) == 0


@pytest.mark.parametrize("digest", ["", DIGEST[:-2], DIGEST[:-1] + "g"])
def test_what_is_no_sha256_is_not_signed(bench: Bench, digest: str) -> None:
    signer = bench.log_in()

    with pytest.raises(SigningError, match="expected 64 hex digits"):
        signer.sign(Digest(digest))
    assert bench.sigstore.faults.count(bench.sigstore.entries) == 0


def test_a_log_that_fails_half_way_loses_nothing_that_was_signed(
    bench: Bench, no_pauses: list[float]
) -> None:
    digests = [of_bytes(bytes([number])) for number in range(60)]
    signer = bench.log_in()
    bench.sigstore.faults.answer(bench.sigstore.entries, 500, from_request=31)
    bundles: dict[Digest, bytes] = {}

    def sign_all() -> None:
        for digest in digests:
            if digest not in bundles:
                bundles[digest] = signer.sign(digest)

    with pytest.raises(SigningError):
        sign_all()
    assert len(bundles) == 30
    bench.sigstore.faults.lift(bench.sigstore.entries)
    sign_all()

    assert all(is_good(bench, bundles[digest], digest) for digest in digests)


# --- Who is logged in ------------------------------------------------------------------------------------


def test_without_a_login_the_three_ways_are_named(bench: Bench) -> None:
    error = catch(LoginError, SigstoreSigning(bench.trust, {}, interactive=False).log_in)

    for way in ("browser", TOKEN, "id-token: write"):
        assert way in error.next_step


def test_a_workflow_is_logged_in_by_what_surrounds_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in bench.sigstore.github_environment().items():
        monkeypatch.setenv(name, value)
    signer = SigstoreSigning(bench.trust, {}, interactive=False).log_in()

    assert signer.identity == WORKFLOW
    assert is_good(bench, signer.sign(DIGEST), who=WORKFLOW)


def test_a_token_in_the_environment_comes_before_the_workflows(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in bench.sigstore.github_environment().items():
        monkeypatch.setenv(name, value)

    assert bench.log_in().identity == RM
    assert bench.sigstore.faults.count(Endpoint.GITHUB_TOKEN) == 0


def test_a_workflow_without_the_permission_is_told_of_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")

    error = catch(LoginError, SigstoreSigning(bench.trust, {}, interactive=True).log_in)
    assert "insufficient OIDC token permissions" in str(error)
    assert "id-token: write" in error.next_step


def test_a_person_logs_in_with_a_browser(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "open", browse)
    signer = SigstoreSigning(bench.trust, {}, interactive=True).log_in()

    assert signer.identity == RM
    assert is_good(bench, signer.sign(DIGEST))


def test_a_login_that_nobody_completes_is_none(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def end_of_file(_: object) -> str:
        raise EOFError

    def open_none(_: str) -> bool:
        return False

    monkeypatch.setattr(webbrowser, "open", open_none)
    monkeypatch.setattr(builtins, "input", end_of_file)

    error = catch(LoginError, SigstoreSigning(bench.trust, {}, interactive=True).log_in)
    assert "nobody completed it" in str(error)


def test_a_refused_login_is_none(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "open", browse)
    bench.sigstore.faults.answer(Endpoint.TOKEN, 403)

    error = catch(LoginError, SigstoreSigning(bench.trust, {}, interactive=True).log_in)
    assert "Token request failed with 403" in str(error)


def test_a_trust_configuration_without_a_login_says_so(bench: Bench, tmp_path: Path) -> None:
    def drop_login(document: Json) -> None:
        del document["signingConfig"]["oidcUrls"]

    trust = trust_in(change(bench.sigstore.trust_config(), drop_login), tmp_path)

    error = catch(LoginError, SigstoreSigning(trust, {}, interactive=True).log_in)
    assert "has no login" in str(error)
    assert SigstoreSigning(trust, {TOKEN: bench.make_token()}, interactive=True).log_in().identity == RM


# --- Tokens and certificates end ---------------------------------------------------------------------------


def test_an_expired_token_is_no_login(bench: Bench) -> None:
    error = catch(LoginError, bench.open_signing(bench.make_token(lifetime=-60)).log_in)

    assert str(error) == f"the identity token in {TOKEN} is not valid: it has expired"


@pytest.mark.parametrize("token", ["no token", "a.b.c", " "])
def test_what_is_no_token_is_no_login(bench: Bench, token: str) -> None:
    catch(LoginError, bench.open_signing(token).log_in)
    assert bench.sigstore.faults.count(Endpoint.CERTIFICATE) == 0


def test_a_token_for_somebody_else_is_no_login(bench: Bench) -> None:
    token = bench.sigstore.make_token(RM.name, RM.issuer, audience="another service")

    catch(LoginError, bench.open_signing(token).log_in)
    assert bench.sigstore.faults.count(Endpoint.CERTIFICATE) == 0


def test_a_token_that_the_authority_does_not_know_is_no_login(bench: Bench) -> None:
    with run_sigstore() as other:
        token = other.make_token(RM.name, RM.issuer)

    error = catch(LoginError, bench.open_signing(token).log_in)
    assert "refused the identity token: it answered 400: " in str(error)


@pytest.mark.parametrize(
    ("age", "good"), [(timedelta(minutes=9), True), (timedelta(minutes=9, seconds=50), False)]
)
def test_a_certificate_that_is_about_to_end_signs_nothing(tmp_path: Path, age: timedelta, good: bool) -> None:
    with run_sigstore(clock=lambda: datetime.now(UTC) - age) as sigstore:
        bench = open_bench(sigstore, tmp_path)
        signer = bench.open_signing(bench.make_token(lifetime=3600)).log_in()
        if good:
            assert is_good(bench, signer.sign(DIGEST))
            return
        for work in (lambda: signer.sign(DIGEST), lambda: signer.sign_statement(a_statement())):
            error = catch(LoginError, work)
            assert "too soon" in str(error)
        assert sigstore.logged() == 0


def test_a_failure_after_the_certificates_end_asks_for_a_login(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    signer = bench.log_in()
    bench.sigstore.faults.answer(bench.sigstore.entries, 500)

    def end(_: float) -> None:
        monkeypatch.setattr(signer, "_until", datetime.now(UTC))

    monkeypatch.setattr(network, "sleep", end)
    catch(LoginError, lambda: signer.sign(DIGEST))
    assert bench.sigstore.faults.count(bench.sigstore.entries) == 3


# --- Silence ---------------------------------------------------------------------------------------------


def test_a_silent_authority_is_given_up(bench: Bench) -> None:
    signing = bench.open_signing(seconds=SOON)
    bench.sigstore.faults.be_silent(Endpoint.CERTIFICATE)

    error = catch(SigningError, signing.log_in)
    assert not isinstance(error, LoginError)
    assert str(error) == f"the certificate authority at {bench.sigstore.url} gave no answer within 0.5 s"


def test_a_silent_log_is_given_up(bench: Bench) -> None:
    signer = bench.log_in(seconds=SOON)
    bench.sigstore.faults.be_silent(bench.sigstore.entries)

    for work in (lambda: signer.sign(DIGEST), lambda: signer.sign_statement(a_statement())):
        error = catch(SigningError, work)
        assert str(error).startswith(f"the transparency log at {bench.sigstore.url}")
        assert str(error).endswith("gave no answer within 0.5 s")
    bench.sigstore.faults.lift(bench.sigstore.entries)
    assert is_good(bench, bench.log_in().sign(DIGEST))


def test_a_silent_log_is_given_up_by_every_thread(bench: Bench) -> None:
    signer = bench.log_in(seconds=SOON)
    bench.sigstore.faults.be_silent(bench.sigstore.entries)

    def sign(number: int) -> bool:
        error = catch(SigningError, lambda: signer.sign(of_bytes(bytes([number]))))
        return "no answer within" in str(error)

    assert Threads(16).map(sign, range(16)) == [True] * 16


@pytest.mark.parametrize("fault", ["silent", "failing"])
def test_time_stamps_are_done_without_where_the_log_has_a_clock(bench: Bench, fault: str) -> None:
    signer = bench.log_in(seconds=2)
    if fault == "silent":
        bench.sigstore.faults.be_silent(Endpoint.TIMESTAMP)
    else:
        bench.sigstore.faults.answer(Endpoint.TIMESTAMP, 500)

    if bench.sigstore.entries == Endpoint.ENTRIES_V1:
        assert is_good(bench, signer.sign(DIGEST))
        return
    for work in (lambda: signer.sign(DIGEST), lambda: signer.sign_statement(a_statement())):
        error = catch(SigningError, work)
        assert "the log's entry cannot be used" in str(error)
        assert f"time-stamping authority: {bench.sigstore.url}/tsa" in str(error)


@pytest.mark.parametrize("endpoint", [Endpoint.DISCOVERY, Endpoint.TOKEN])
def test_a_silent_login_is_given_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, endpoint: Endpoint
) -> None:
    monkeypatch.setattr(webbrowser, "open", browse)
    bench.sigstore.faults.be_silent(endpoint)

    error = catch(SigningError, SigstoreSigning(bench.trust, {}, interactive=True, seconds=SOON).log_in)
    assert "the server gave no answer within 0.5 s" in str(error)


def test_a_silent_ci_is_given_up(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in bench.sigstore.github_environment().items():
        monkeypatch.setenv(name, value)
    bench.sigstore.faults.be_silent(Endpoint.GITHUB_TOKEN)

    error = catch(SigningError, SigstoreSigning(bench.trust, {}, interactive=False, seconds=SOON).log_in)
    assert "gave no answer within 0.5 s" in str(error)


def test_no_request_goes_out_without_a_deadline(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "open", browse)
    send, waits = HTTPAdapter.send, dict[str, object]()

    def note(adapter: HTTPAdapter, request: requests.PreparedRequest, *args: Any, **named: Any) -> Any:
        waits[request.path_url] = named["timeout"] if "timeout" in named else args[1]
        return send(adapter, request, *args, **named)

    monkeypatch.setattr(HTTPAdapter, "send", note)
    SigstoreSigning(bench.trust, {}, interactive=True, seconds=12).log_in().sign(DIGEST)

    # The first is the library's own, in a thread that is given up before; time stamps have a share of ours.
    assert waits == {
        Endpoint.DISCOVERY: 30,
        Endpoint.TOKEN: 12,
        Endpoint.CERTIFICATE: 12,
        Endpoint.TIMESTAMP: 4,
        bench.sigstore.entries: 12,
    }


class _Dripping(socketserver.ThreadingTCPServer):
    """Answers one byte at a time, each long before any time-out of a socket."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((LOOPBACK, 0), _Drip)
        self.over = Event()


class _Drip(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, _Dripping)
        self.wfile.write(b"HTTP/1.1 201 Created\r\nX: ")
        while not self.server.over.wait(0.05):
            try:
                self.wfile.write(b"x")
            except OSError:
                return


@contextmanager
def run_dripping() -> Generator[str]:
    with _Dripping() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield f"http://{LOOPBACK}:{server.server_address[1]}"
        server.over.set()
        server.shutdown()
        thread.join()


def use(url: str, *parts: str) -> Callable[[Json], None]:
    def edit(document: Json) -> None:
        for part in parts:
            document["signingConfig"][part][0]["url"] = url

    return edit


@pytest.mark.parametrize("part", ["caUrls", "rekorTlogUrls"])
def test_an_answer_that_never_ends_is_given_up(bench: Bench, tmp_path: Path, part: str) -> None:
    with run_dripping() as url:
        trust = trust_in(change(bench.sigstore.trust_config(), use(url, part)), tmp_path)
        signing = SigstoreSigning(trust, {TOKEN: bench.make_token()}, interactive=False, seconds=SOON)

        error = catch(SigningError, lambda: signing.log_in().sign(DIGEST))
        assert str(error).endswith("gave no answer within 0.5 s")


# --- Failures --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_log_that_recovers_is_tried_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    signer = bench.log_in()
    pauses: list[float] = []

    def recover(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            bench.sigstore.faults.lift(bench.sigstore.entries)

    monkeypatch.setattr(network, "sleep", recover)
    bench.sigstore.faults.answer(bench.sigstore.entries, status, '{"code": 1, "message": "busy"}')

    assert is_good(bench, signer.sign(DIGEST))
    assert bench.sigstore.faults.count(bench.sigstore.entries) == 3


def test_a_log_that_stays_broken_is_tried_three_times(bench: Bench, no_pauses: list[float]) -> None:
    signer = bench.log_in()
    bench.sigstore.faults.answer(bench.sigstore.entries, 503, '{"code": 503, "message": "the log is down"}')

    error = catch(SigningError, lambda: signer.sign(DIGEST))
    assert str(error).endswith("answered 503: the log is down")
    assert bench.sigstore.faults.count(bench.sigstore.entries) == 3
    assert no_pauses == [0.2, 0.5]


@pytest.mark.parametrize("status", [400, 403, 409])
def test_a_log_that_refuses_is_not_asked_again(bench: Bench, no_pauses: list[float], status: int) -> None:
    signer = bench.log_in()
    bench.sigstore.faults.answer(bench.sigstore.entries, status, '{"message": "not like this"}')

    error = catch(SigningError, lambda: signer.sign(DIGEST))
    assert not isinstance(error, LoginError)
    assert str(error).endswith(f"answered {status}: not like this")
    assert bench.sigstore.faults.count(bench.sigstore.entries) == 1


def test_what_a_server_says_cannot_move_the_cursor(bench: Bench) -> None:
    signer = bench.log_in()
    body = json.dumps({"message": "\x1b[2Jsigned\r\n\u202e" + "x" * 5000})
    bench.sigstore.faults.answer(bench.sigstore.entries, 400, body)

    error = catch(SigningError, lambda: signer.sign(DIGEST))
    assert str(error).isprintable()
    assert len(str(error)) < 400


@pytest.mark.parametrize("body", [b"", b"nonsense", b"{}", b"[]", b"null", b'{"a": {"body": 7}}'])
def test_an_odd_answer_of_the_log_is_an_error_of_signing(
    bench: Bench, no_pauses: list[float], body: bytes
) -> None:
    signer = bench.log_in()
    bench.sigstore.faults.answer(bench.sigstore.entries, 201, body)

    catch(SigningError, lambda: signer.sign(DIGEST))
    catch(SigningError, lambda: signer.sign_statement(a_statement()))


@pytest.mark.parametrize(
    "body", [b"", b"nonsense", b"{}", b"[]", b"null", b'{"signedCertificateEmbeddedSct": 7}']
)
def test_an_odd_answer_of_the_authority_is_an_error_of_signing(
    bench: Bench, no_pauses: list[float], body: bytes
) -> None:
    bench.sigstore.faults.answer(Endpoint.CERTIFICATE, 201, body)

    error = catch(SigningError, bench.open_signing().log_in)
    assert "the certificate authority at" in str(error)


@pytest.mark.parametrize(
    ("status", "kind"), [(400, LoginError), (401, LoginError), (403, LoginError), (500, SigningError)]
)
def test_what_the_authority_says_is_repeated(
    bench: Bench, no_pauses: list[float], status: int, kind: type[SigningError]
) -> None:
    bench.sigstore.faults.answer(Endpoint.CERTIFICATE, status, '{"code": 3, "message": "its own words"}')

    error = catch(SigningError, bench.open_signing().log_in)
    assert type(error) is kind
    assert f"answered {status}: its own words" in str(error)
    bench.sigstore.faults.answer(Endpoint.CERTIFICATE, status, "no JSON")
    assert f"answered {status}: no JSON" in str(catch(SigningError, bench.open_signing().log_in))


@pytest.mark.parametrize("part", ["caUrls", "rekorTlogUrls", "oidcUrls"])
def test_a_server_that_is_not_there_is_an_error_of_signing(
    bench: Bench, tmp_path: Path, no_pauses: list[float], part: str
) -> None:
    with reserve_port() as port:
        url = f"http://{LOOPBACK}:{port}"
        trust = trust_in(change(bench.sigstore.trust_config(), use(url, part)), tmp_path)
        person = part == "oidcUrls"
        environment = {} if person else {TOKEN: bench.make_token()}
        signing = SigstoreSigning(trust, environment, interactive=person)

        error = catch(SigningError, lambda: signing.log_in().sign(DIGEST))
        assert "could not be reached, or broke off" in str(error)
        assert len(no_pauses) == (0 if person else 2)


@pytest.mark.parametrize("body", ["nonsense", "{}", '{"value": 7}', '{"value": "a.b.c"}'])
def test_an_odd_answer_of_ci_is_an_error_of_signing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    for name, value in bench.sigstore.github_environment().items():
        monkeypatch.setenv(name, value)
    bench.sigstore.faults.answer(Endpoint.GITHUB_TOKEN, 200, body)

    catch(SigningError, SigstoreSigning(bench.trust, {}, interactive=False).log_in)


def test_a_certificate_in_an_unknown_log_is_not_used(bench: Bench, tmp_path: Path) -> None:
    with run_sigstore() as other:
        logs = other.trust_config()["trustedRoot"]["ctlogs"]

    def rotate(document: Json) -> None:
        document["trustedRoot"]["ctlogs"] = logs

    trust = trust_in(change(bench.sigstore.trust_config(), rotate), tmp_path)

    error = catch(SigningError, SigstoreSigning(trust, {TOKEN: bench.make_token()}, interactive=False).log_in)
    assert "trust root too old?" in error.next_step


@pytest.mark.parametrize("client", [RekorClient, RekorV2Client, TimestampAuthorityClient])
def test_a_library_that_keeps_its_connections_elsewhere_does_not_sign(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, client: type
) -> None:
    monkeypatch.delattr(client, "_session")
    used = {Endpoint.ENTRIES_V1: RekorClient, Endpoint.ENTRIES_V2: RekorV2Client}[bench.sigstore.entries]

    if client in {used, TimestampAuthorityClient}:
        error = catch(SigningError, bench.open_signing().log_in)
        assert f"the library sigstore has no {client.__name__}._session any more" in str(error)
        assert bench.sigstore.faults.count(Endpoint.CERTIFICATE) == 0
    else:
        assert is_good(bench, bench.log_in().sign(DIGEST))


def test_a_person_is_not_asked_to_log_in_in_vain(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(TimestampAuthorityClient, "_session")
    monkeypatch.setattr(webbrowser, "open", browse)

    catch(SigningError, SigstoreSigning(bench.trust, {}, interactive=True).log_in)
    assert bench.sigstore.faults.count(Endpoint.DISCOVERY) == 0


# --- Secrets ---------------------------------------------------------------------------------------------


def show(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


@pytest.mark.parametrize("status", [400, 401, 500])
def test_a_server_that_repeats_the_token_does_not_bring_it_into_a_message(
    bench: Bench, no_pauses: list[float], status: int
) -> None:
    token = bench.make_token()
    for said in (token, "x" * 150 + token, f"{token}\n{token}", token.rpartition(".")[2]):
        body = json.dumps({"message": f"odd token {said} indeed"})
        bench.sigstore.faults.answer(Endpoint.CERTIFICATE, status, body)

        error = catch(SigningError, bench.open_signing(token).log_in)
        text = f"{show(error)} {error} {error.next_step}"
        assert "odd token" in text
        assert not any(part[:12] in text for part in token.split("."))


def test_the_token_is_in_no_text(bench: Bench) -> None:
    token = bench.make_token()
    signing = bench.open_signing(token)
    signer: SigstoreSigner = signing.log_in()

    assert token not in f"{signing!r} {signer!r} {signing} {signer}"
    for bad in (token[:-4], token + "x", f"{token}.{token}"):
        error = catch(LoginError, bench.open_signing(bad).log_in)
        assert token[:40] not in f"{show(error)} {error.next_step}"


def test_a_netrc_file_does_not_replace_the_token(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "netrc"
    file.write_text(f"machine {LOOPBACK} login someone password something\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(file))

    assert is_good(bench, bench.log_in().sign(DIGEST))


# --- Deadlines and tries, by themselves ------------------------------------------------------------------


def test_work_that_ends_in_time_gives_what_it_gave() -> None:
    assert network.run_within(20, lambda: 7) == 7
    with pytest.raises(ValueError, match="no number"):
        network.run_within(20, lambda: int("no number"))


def test_a_panic_below_the_library_is_an_error() -> None:
    def panic() -> None:
        raise BaseException("panic")  # noqa: TRY002 - as code in Rust does

    with pytest.raises(RuntimeError, match="BaseException: panic"):
        network.run_within(20, panic)


def test_work_that_takes_too_long_is_left_to_itself() -> None:
    over = Event()
    with pytest.raises(network.NoAnswerError):
        network.run_within(0.01, over.wait)
    with pytest.raises(network.NoAnswerError):
        network.run_within(-1, over.wait)
    over.set()


@pytest.mark.parametrize(
    ("error", "tries"),
    [
        (requests.ConnectionError("reset"), 3),
        (requests.exceptions.ChunkedEncodingError("broke off"), 3),
        (requests.ReadTimeout(), 1),
        (requests.ConnectTimeout(), 1),
        (ValueError("odd"), 1),
    ],
)
def test_what_may_pass_is_tried_again(error: Exception, tries: int, no_pauses: list[float]) -> None:
    done: list[int] = []

    def fail() -> None:
        done.append(1)
        raise error

    with pytest.raises(type(error)):
        network.try_within(20, fail)
    assert len(done) == tries


def test_no_try_begins_after_the_deadline(no_pauses: list[float]) -> None:
    def fail() -> None:
        raise requests.ConnectionError

    with pytest.raises(requests.ConnectionError):
        network.try_within(0.1, fail)
    assert no_pauses == []
