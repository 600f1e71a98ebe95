"""Bundles, verified by digest and offline. Whatever goes wrong is a refusal with its reason, never a skip."""

import base64
import json
import re
from collections.abc import Callable, Collection
from typing import TypeVar

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from sigstore.errors import CertValidationError, VerificationError
from sigstore.hashes import Hashed
from sigstore.models import Bundle, IncompatibleEntry
from sigstore.verify import Verifier, policy
from sigstore_models.common.v1 import HashAlgorithm

from publisher.adapters.sigstore.reading import dig, make_plain, read_identities
from publisher.adapters.sigstore.trust import TRUST_TOO_OLD, Trust
from publisher.core.digests import Digest, display, parse_base64
from publisher.core.identity import Identity, Rejected, Signed, Statement

STATEMENT_TYPE = "application/vnd.in-toto+json"

_HEX = re.compile(r"[0-9a-f]{64}")
_STOPS = (KeyboardInterrupt, SystemExit, GeneratorExit)
_ENTRY = ("verificationMaterial", "tlogEntries", 0)
_NO_TIME = "not enough sources of verified time"
"""What the library says of a bundle whose only time stamp is by an authority that it does not know."""
_SIGN_AGAIN = (
    "was the bundle changed or damaged on its way? If not even its signer has a good one, sign again"
)
_NO_CHECKPOINT = (
    "bundles made by sigstore 1.x lack it; `sigstore plumbing fix-bundle --bundle FILE --in-place` fetches "
    "it from the log, online"
)
T = TypeVar("T")


class _RefusedError(Exception):
    """The bundle does not count: what was found, and what may be the matter."""

    def __init__(self, found: str, hint: str = "") -> None:
        super().__init__(found)
        self.found = found
        self.hint = hint


class _Accepted:
    """The library's policy for the accepted identities: name and issuer both, in all their forms."""

    def __init__(self, accepted: Collection[Identity]) -> None:
        if not accepted:
            raise _RefusedError(
                "no accepted identity, so that no signature counts", "name one in the profile"
            )
        if not all(identity.name and identity.issuer for identity in accepted):
            raise _RefusedError("an accepted identity without name or issuer", "name both in the profile")
        self._accepted = accepted
        self._policy = policy.AnyOf(
            [
                policy.AllOf(
                    [
                        policy.Identity(identity=identity.name, issuer=identity.issuer),
                        policy.OIDCIssuerV2(identity.issuer),
                    ]
                )
                for identity in accepted
            ]
        )

    def verify(self, cert: x509.Certificate) -> None:
        """Called by the library, once it knows that the certificate is genuine."""
        try:
            self._policy.verify(cert)
        except VerificationError as error:
            signer = read_identities(cert)[0]
            known = any(signer.name == identity.name for identity in self._accepted)
            raise _RefusedError(
                f"signed by {make_plain(signer)}",
                "the name is right, but another issuer vouches for it" if known else "",
            ) from error

    def find(self, cert: x509.Certificate) -> Identity:
        """Find who signed; the policy has passed, so this is read independently of it."""
        for identity in read_identities(cert):
            if identity in self._accepted:
                return identity
        raise _RefusedError("signed by somebody else than the policy says")


class SigstoreVerifier:
    """One verifier for all bundles and threads; it makes no request and reads no cache."""

    def __init__(self, trust: Trust) -> None:
        self._trust = trust
        self._verifier = Verifier(trusted_root=trust.config.trusted_root)

    def verify(self, bundle: bytes, digest: Digest, accepted: Collection[Identity]) -> Signed | Rejected:
        """Check that `bundle` signs exactly `digest`, by one of the `accepted` identities."""
        expected = f"a signature of {make_plain(display(digest))} by {_name(accepted)}"
        return _refuse_errors(lambda: self._verify(bundle, digest, accepted), expected)

    def open_statement(self, bundle: bytes, accepted: Collection[Identity]) -> Statement | Rejected:
        """Check that `bundle` is an in-toto statement signed by one of the `accepted`, and open it."""
        expected = f"a signed in-toto statement by {_name(accepted)}"
        return _refuse_errors(lambda: self._open_statement(bundle, accepted), expected)

    def _verify(self, raw: bytes, digest: Digest, accepted: Collection[Identity]) -> Signed:
        if not _HEX.fullmatch(digest):
            raise _RefusedError(
                f"{make_plain(repr(digest))} as digest", "a SHA-256 has 64 lower-case hex digits"
            )
        who = _Accepted(accepted)
        bundle, document = _parse(raw)
        if dig(document, "messageSignature") is None:
            raise _RefusedError(
                "a signed statement, not the signature of a file", "was one put for the other?"
            )
        try:
            self._verifier.verify_artifact(_hash(digest), bundle, who)
        except VerificationError as error:
            other = self._find_signed(bundle, document, who)
            if other and other != digest:
                hint = "was the file built again since, or a bundle put beside the wrong file?"
                raise _RefusedError(f"signs another file: {display(other)}", hint) from error
            raise self._explain(error, bundle, document) from error
        certificate = bundle.signing_certificate
        # Newlines as `sigstore sign --signature --certificate` writes them: one more after the PEM's own.
        return Signed(
            who.find(certificate),
            base64.b64encode(bundle.signature) + b"\n",
            certificate.public_bytes(Encoding.PEM) + b"\n",
        )

    def _open_statement(self, raw: bytes, accepted: Collection[Identity]) -> Statement:
        who = _Accepted(accepted)
        bundle, document = _parse(raw)
        if dig(document, "dsseEnvelope") is None:
            raise _RefusedError(
                "the signature of a file, not a signed statement", "was one put for the other?"
            )
        try:
            kind, payload = self._verifier.verify_dsse(bundle, who)
        except VerificationError as error:
            raise self._explain(error, bundle, document) from error
        if kind != STATEMENT_TYPE:
            raise _RefusedError(f"a signed {make_plain(kind)}", f"a statement has the type {STATEMENT_TYPE}")
        return Statement(who.find(bundle.signing_certificate), payload)

    def _find_signed(self, bundle: Bundle, document: object, who: _Accepted) -> Digest | None:
        """Find what the bundle says that it signs, if that is true."""
        stated = dig(document, "messageSignature", "messageDigest", "digest")
        digest = parse_base64(stated) if isinstance(stated, str) else None
        if digest:
            try:
                self._verifier.verify_artifact(_hash(digest), bundle, who)
            except VerificationError:
                return None
        return digest

    def _explain(self, error: VerificationError, bundle: Bundle, document: object) -> _RefusedError:
        reason = make_plain(error)
        if isinstance(error, CertValidationError):
            return _RefusedError(
                f"a certificate that the trust root in use does not vouch for ({reason})", TRUST_TOO_OLD
            )
        log = dig(document, *_ENTRY, "logId", "keyId")
        if isinstance(log, str) and base64.b64decode(log) not in self._trust.logs:
            return _RefusedError(
                f"an entry of a log that the trust root in use does not know ({reason})", TRUST_TOO_OLD
            )
        if not _find_certificate_logs(bundle.signing_certificate) <= self._trust.certificate_logs:
            return _RefusedError(
                f"a certificate of a log that the trust root in use does not know ({reason})", TRUST_TOO_OLD
            )
        hint = TRUST_TOO_OLD if reason == _NO_TIME else _SIGN_AGAIN
        return _RefusedError(f"a bundle that is not good ({reason})", hint)


def _refuse_errors(check: Callable[[], T], expected: str) -> T | Rejected:
    """Make a refusal of every error there is."""
    try:
        return check()
    except _RefusedError as refused:
        return Rejected(refused.found, expected, refused.hint)
    except _STOPS:
        raise
    # What is written in Rust below the library panics with a BaseException.
    except BaseException as error:  # noqa: BLE001
        reason = f"{type(error).__name__}: {make_plain(error)}"
        return Rejected(f"a bundle that cannot be checked ({reason})", expected, _SIGN_AGAIN)


def _parse(raw: bytes) -> tuple[Bundle, object]:
    """Read a bundle, and what the library has understood of it as loose JSON, for explanations."""
    if not raw.strip():
        raise _RefusedError("an empty file", "was the upload cut off?")
    try:
        document: object = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise _RefusedError(f"no JSON ({make_plain(error)})", "was the file cut off on its way?") from error
    try:
        bundle = Bundle.from_json(raw)
    except IncompatibleEntry as error:
        raise _RefusedError(
            f"a log entry of a kind that is not known here ({make_plain(error)})",
            "was it signed by a newer Sigstore? Update the library `sigstore`",
        ) from error
    except Exception as error:
        if dig(document, *_ENTRY) and not dig(document, *_ENTRY, "inclusionProof", "checkpoint"):
            raise _RefusedError("a bundle without a signed checkpoint of the log", _NO_CHECKPOINT) from error
        raise _RefusedError(f"no Sigstore bundle ({make_plain(error)})", _SIGN_AGAIN) from error
    # Written anew, since the library also reads keys that are spelled in another way.
    return bundle, json.loads(bundle.to_json())


def _find_certificate_logs(certificate: x509.Certificate) -> frozenset[bytes]:
    try:
        kind = x509.PrecertificateSignedCertificateTimestamps
        found = certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return frozenset()
    return frozenset(stamp.log_id for stamp in found)


def _hash(digest: Digest) -> Hashed:
    return Hashed(algorithm=HashAlgorithm.SHA2_256, digest=bytes.fromhex(digest))


def _name(accepted: Collection[Identity]) -> str:
    return " or ".join(str(identity) for identity in accepted) or "an accepted identity"
