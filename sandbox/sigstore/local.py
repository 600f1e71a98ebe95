"""A whole Sigstore on loopback: its parts behind one address, and what a client needs in order to use it."""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from cryptography.exceptions import InvalidSignature
from jwt import PyJWTError

from sandbox.sigstore.certificates import CertificateAuthority
from sandbox.sigstore.encoding import Clock, decode_base64
from sandbox.sigstore.faults import Faults
from sandbox.sigstore.rekor import RekorV1, RekorV2
from sandbox.sigstore.server import Answer, Request, Routes, Server
from sandbox.sigstore.timestamps import TimestampAuthority
from sandbox.sigstore.tokens import AUDIENCE, Login, TokenIssuer, Workflow
from sandbox.sigstore.trust import (
    Addresses,
    Parts,
    RekorVersion,
    describe_services,
    describe_trust,
    describe_trusted_root,
)

RELEASE_MANAGER = Login("rm@example.org", "https://accounts.example.org")

_WORKFLOW = Workflow()
# Authorities are older than what they sign, even where a test turns its clock back by some hours.
_AGE = timedelta(days=1)


class Endpoint(StrEnum):
    """The paths at which requests are served, counted and made to fail."""

    CERTIFICATE = "/api/v2/signingCert"
    ENTRIES_V1 = "/api/v1/log/entries"
    ENTRIES_V2 = "/api/v2/log/entries"
    TIMESTAMP = "/tsa"
    DISCOVERY = "/oidc/.well-known/openid-configuration"
    AUTHORIZE = "/oidc/auth"
    TOKEN = "/oidc/token"  # noqa: S105
    GITHUB_TOKEN = "/github/token"  # noqa: S105


class LocalSigstore:
    """One Sigstore with keys of its own; `run_sigstore` makes it and ends it."""

    def __init__(self, *, rekor_version: RekorVersion, tsa: bool, clock: Clock, login: Login) -> None:
        self.faults = Faults()
        self._server = Server(self.faults)
        self._rekor_version: RekorVersion = rekor_version
        self._tsa = tsa

        def read_utc() -> datetime:
            return clock().astimezone(UTC)

        self._start = (read_utc() - _AGE).replace(microsecond=0)
        self._tokens = TokenIssuer(f"{self.url}/oidc", read_utc, login)
        self._parts = Parts(
            CertificateAuthority(read_utc, self._start),
            RekorV1(self.url, read_utc),
            RekorV2(self.url),
            TimestampAuthority(read_utc, self._start),
        )
        self._server.start(self._list_routes())

    @property
    def url(self) -> str:
        """The address, without a slash at the end."""
        return self._server.url

    @property
    def entries(self) -> Endpoint:
        """Where clients propose entries, by the log's generation."""
        return Endpoint.ENTRIES_V1 if self._rekor_version == 1 else Endpoint.ENTRIES_V2

    def logged(self) -> int:
        """Say how many entries were made, in either log."""
        return len(self._parts.log_v1) + len(self._parts.log_v2)

    def close(self) -> None:
        """Stop serving, at once; it is done when the block ends, and twice does no harm."""
        self._server.close()

    def trust_config(self) -> dict[str, Any]:
        """Give the ClientTrustConfig, as JSON."""
        stamps = f"{self.url}{Endpoint.TIMESTAMP}" if self._tsa else None
        addresses = Addresses(self.url, f"{self.url}/oidc", stamps)
        return describe_trust(
            describe_trusted_root(self._parts, self.url, self._start),
            describe_services(addresses, self._rekor_version, self._start),
        )

    def write_trust_config(self, path: Path) -> None:
        """Write the ClientTrustConfig into a file, which is replaced."""
        path.write_text(json.dumps(self.trust_config(), indent=2), encoding="utf-8")

    def make_token(self, name: str, issuer: str, *, lifetime: int = 300, audience: str = AUDIENCE) -> str:
        """Make the token of one who has logged in at `issuer`; `lifetime` in seconds."""
        return self._tokens.make_token(Login(name, issuer), lifetime=lifetime, audience=audience)

    def make_workflow_token(
        self,
        *,
        job_workflow_ref: str = _WORKFLOW.job_workflow_ref,
        repository: str = _WORKFLOW.repository,
        ref: str = _WORKFLOW.ref,
        sha: str = _WORKFLOW.sha,
        workflow: str = _WORKFLOW.workflow,
        event_name: str = _WORKFLOW.event_name,
        runner_environment: str = _WORKFLOW.runner_environment,
        lifetime: int = 300,
        audience: str = AUDIENCE,
    ) -> str:
        """Make the token of a workflow on GitHub, by GitHub's names of the claims; `lifetime` in seconds."""
        run = Workflow(job_workflow_ref, repository, ref, sha, workflow, event_name, runner_environment)
        return self._tokens.make_workflow_token(run, lifetime=lifetime, audience=audience)

    def github_environment(self, workflow: Workflow = _WORKFLOW) -> dict[str, str]:
        """Give the variables that GitHub gives to a run of `workflow` which may ask for tokens."""
        return {
            "GITHUB_ACTIONS": "true",
            "ACTIONS_ID_TOKEN_REQUEST_URL": f"{self.url}{Endpoint.GITHUB_TOKEN}?api-version=2.0",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": self._tokens.start_run(workflow),
        }

    def _list_routes(self) -> Routes:
        return {
            ("POST", Endpoint.CERTIFICATE): _guard(self._issue_certificate),
            ("POST", Endpoint.ENTRIES_V1): _guard(
                lambda request: _json(self._parts.log_v1.add(json.loads(request.body)), HTTPStatus.CREATED)
            ),
            ("POST", Endpoint.ENTRIES_V2): _guard(
                lambda request: _json(self._parts.log_v2.add(json.loads(request.body)), HTTPStatus.CREATED)
            ),
            ("POST", Endpoint.TIMESTAMP): _guard(self._stamp),
            ("GET", Endpoint.DISCOVERY): _guard(self._discover),
            ("GET", Endpoint.AUTHORIZE): _guard(self._authorize),
            ("POST", Endpoint.TOKEN): _guard(self._exchange),
            ("GET", Endpoint.GITHUB_TOKEN): _guard(self._give_run_its_token),
        }

    def _issue_certificate(self, request: Request) -> Answer:
        claims = self._tokens.check(request.bearer)
        signing_request = decode_base64(json.loads(request.body)["certificateSigningRequest"])
        return _json(self._parts.certificates.issue(signing_request, claims), HTTPStatus.CREATED)

    def _stamp(self, request: Request) -> Answer:
        stamp = self._parts.timestamps.stamp(request.body)
        return Answer(HTTPStatus.CREATED, stamp, "application/timestamp-reply")

    def _discover(self, _request: Request) -> Answer:
        return _json(
            {
                "issuer": f"{self.url}/oidc",
                "authorization_endpoint": f"{self.url}{Endpoint.AUTHORIZE}",
                "token_endpoint": f"{self.url}{Endpoint.TOKEN}",
            }
        )

    def _authorize(self, request: Request) -> Answer:
        return Answer(HTTPStatus.FOUND, location=self._tokens.authorize(request.query))

    def _exchange(self, request: Request) -> Answer:
        form = dict(parse_qsl(request.body.decode()))
        return _json({"access_token": self._tokens.exchange(form), "token_type": "Bearer"})

    def _give_run_its_token(self, request: Request) -> Answer:
        audience = request.query.get("audience", AUDIENCE)
        return _json({"value": self._tokens.give_run_its_token(request.bearer, audience)})


def _guard(serve: Callable[[Request], Answer]) -> Callable[[Request], Answer]:
    """Answer what is malformed or not allowed with a refusal, as a server does."""

    def guarded(request: Request) -> Answer:
        try:
            return serve(request)
        except (KeyError, TypeError, ValueError, InvalidSignature, PyJWTError) as error:
            message = f"{type(error).__name__}: {error}"
            return _json({"code": 400, "message": message}, HTTPStatus.BAD_REQUEST)

    return guarded


def _json(value: object, status: int = HTTPStatus.OK) -> Answer:
    return Answer(status, json.dumps(value).encode())


def _read_clock() -> datetime:
    return datetime.now(UTC)


@contextmanager
def run_sigstore(
    *,
    rekor_version: RekorVersion = 1,
    tsa: bool = True,
    clock: Clock = _read_clock,
    login: Login = RELEASE_MANAGER,
) -> Generator[LocalSigstore]:
    """Run a Sigstore on a free port of loopback until the block ends.

    Without `tsa` its clients are told of no time-stamping authority, and with the second generation of
    Rekor they then have no time at all, which none accepts. `clock` is everybody's but the clients'.
    """
    sigstore = LocalSigstore(rekor_version=rekor_version, tsa=tsa, clock=clock, login=login)
    try:
        yield sigstore
    finally:
        sigstore.close()
