"""Signing by digest: one login, one certificate, any number of log entries, each under a deadline."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import requests
from cryptography import x509
from sigstore import dsse
from sigstore.errors import Error
from sigstore.hashes import Hashed
from sigstore.models import Bundle, InvalidBundle, SigningConfig
from sigstore.oidc import IdentityToken
from sigstore.sign import Signer, SigningContext
from sigstore_models.common.v1 import HashAlgorithm

from publisher.adapters.sigstore.login import get_token
from publisher.adapters.sigstore.network import (
    Connections,
    describe,
    equip,
    find_status,
    try_within,
)
from publisher.adapters.sigstore.reading import make_plain, read_identities
from publisher.adapters.sigstore.trust import TRUST_TOO_OLD, Trust
from publisher.core.digests import Digest, parse_hex
from publisher.errors import ConfigError, LoginError, SigningError

_SAFETY = timedelta(seconds=15)
"""So much of a certificate's time is left unused: what is logged after its end does not count."""
_TIMESTAMP_SECONDS = 5.0
"""The most that a time stamp is waited for: with Rekor v1, a signature is good without it."""
_CLIENT_ERRORS = range(400, 429)
_AGAIN = "run again: what is signed stays signed"

T = TypeVar("T")


class _Services:
    """The library's clients of one Sigstore instance, every connection of theirs under a deadline.

    They are made by public methods, but their sessions, one for each thread, have private names.
    """

    def __init__(self, trust: Trust, config: SigningConfig, seconds: float) -> None:
        self.seconds = seconds
        self._fulcio = config.get_fulcio()
        self._log = config.get_tlogs()[0]
        self._stampers = config.get_tsas()
        self._connections = Connections(seconds)
        share = min(_TIMESTAMP_SECONDS, seconds / (len(self._stampers) + 2))
        self._stamping = Connections(share)
        self.context = SigningContext(
            fulcio=self._fulcio,
            rekor=self._log,
            trusted_root=trust.config.trusted_root,
            tsa_clients=self._stampers,
        )
        self.authority = f"the certificate authority at {self._fulcio.url}"
        self.log = f"the transparency log at {getattr(self._log, 'url', 'an unknown address')}"
        self.stampers = ", ".join(stamper.url for stamper in self._stampers)

    def equip_thread(self) -> None:
        """Set the deadlines for requests of the calling thread.

        Raises:
            SigningError: The library keeps its connections elsewhere.
        """
        equip(_get_session(self._fulcio, "session"), self._connections)
        equip(_get_session(self._log, "_session"), self._connections)
        for stamper in self._stampers:
            equip(_get_session(stamper, "_session"), self._stamping)


class SigstoreSigning:
    """Where the release manager logs in: one Sigstore instance, the one that is trusted.

    `environment` may hold an identity token; `interactive` says that a person is there. Every server has
    `seconds` for each answer, repeated tries included.
    """

    def __init__(
        self, trust: Trust, environment: Mapping[str, str], *, interactive: bool, seconds: float = 30
    ) -> None:
        self._trust = trust
        self._environment = environment
        self._interactive = interactive
        self._seconds = seconds

    def log_in(self) -> "SigstoreSigner":
        """Get an identity token and, at once, a certificate for it.

        Raises:
            LoginError: Nobody is logged in, or who is gets no certificate.
            SigningError: A server did not answer, or not in time.
            ConfigError: The trust configuration says of no service where to sign.
        """
        config = _read_services(self._trust)
        services = _Services(self._trust, config, self._seconds)
        services.equip_thread()
        token = get_token(self._environment, config, interactive=self._interactive, seconds=self._seconds)
        return _get_certificate(services, token)


class SigstoreSigner:
    """One certificate, until it ends. Threads may share it."""

    def __init__(self, services: _Services, signer: Signer, certificate: x509.Certificate) -> None:
        self.identity = read_identities(certificate)[0]
        self._services = services
        self._signer = signer
        self._until = certificate.not_valid_after_utc - _SAFETY

    def sign(self, digest: Digest) -> bytes:
        """Sign a digest and answer the bundle, as JSON with a newline at the end.

        Raises:
            SigningError: It could not be signed, or not in time.
            LoginError: The certificate is over.
        """
        try:
            raw = bytes.fromhex(parse_hex(digest))
        except ValueError as error:
            raise SigningError(f"nothing to sign: {error}") from error
        hashed = Hashed(algorithm=HashAlgorithm.SHA2_256, digest=raw)
        return self._sign(lambda: self._signer.sign_artifact(hashed))

    def sign_statement(self, statement: bytes) -> bytes:
        """Sign an in-toto statement (its JSON) and answer the bundle. Raises as `sign`."""
        try:
            parsed = dsse.Statement(statement)
        except Error as error:
            raise SigningError(f"found {make_plain(error)}, expected an in-toto statement v1") from error
        return self._sign(lambda: self._signer.sign_dsse(parsed))

    def _sign(self, work: Callable[[], Bundle]) -> bytes:
        self._check_time()
        try:
            bundle = _run(self._services, work)
        except SigningError:
            raise
        # The library raises half a dozen families here, most of them not its own.
        except Exception as error:
            self._check_time()
            raise self._translate(error) from error
        return bundle.to_json().encode() + b"\n"

    def _translate(self, error: Exception) -> SigningError:
        if isinstance(error, InvalidBundle):
            stampers = self._services.stampers or "none is configured"
            return SigningError(
                f"the log's entry cannot be used ({make_plain(error)}); time-stamping authority: {stampers}",
                "run again; if it stays so, the log or the time-stamping authority is at fault",
            )
        return SigningError(f"{self._services.log} {describe(error, self._services.seconds)}", _AGAIN)

    def _check_time(self) -> None:
        if datetime.now(UTC) >= self._until:
            raise LoginError(
                f"the certificate for {self.identity} ends at {self._until + _SAFETY:%H:%M:%S} UTC, too soon "
                "to sign with it",
                "log in again: run the command again",
            )


def _read_services(trust: Trust) -> SigningConfig:
    try:
        return trust.config.signing_config
    except (Error, ValueError) as error:
        raise ConfigError(
            f"{trust.source}: found {make_plain(error)}, expected in signingConfig where to sign",
            "name a trust configuration with a certificate authority and a log that are valid today",
        ) from error


def _get_certificate(services: _Services, token: IdentityToken) -> SigstoreSigner:
    """Get the certificate. Errors leave out what they were made of: an answer may repeat the token."""
    try:
        signer = _run(services, lambda: Signer(token, services.context, cache=True))
        certificate = signer._signing_cert()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - as its CLI does
        return SigstoreSigner(services, signer, certificate)
    except SigningError:
        raise
    except Exception as error:  # noqa: BLE001 - as for signing
        text = describe(error, services.seconds, str(token))
        if not token.in_validity_period():
            raise LoginError("the identity token has expired", "log in again") from None
        if find_status(error) in _CLIENT_ERRORS:
            raise LoginError(
                f"{services.authority} refused the identity token: it {text}", "log in again"
            ) from None
        hint = f"run again. {TRUST_TOO_OLD}" if isinstance(error, Error) else "run again"
        raise SigningError(f"{services.authority} {text}", hint) from None


def _run(services: _Services, work: Callable[[], T]) -> T:
    def equipped() -> T:
        services.equip_thread()
        return work()

    return try_within(services.seconds, equipped)


def _get_session(client: object, name: str) -> requests.Session:
    session: object = getattr(client, name, None)
    if not isinstance(session, requests.Session):
        raise SigningError(
            f"the library sigstore has no {type(client).__name__}.{name} any more: no deadline can be set",
            "install the release of it that requirements.lock names",
        )
    return session
