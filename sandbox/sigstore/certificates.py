"""Fulcio and its CT log: short certificates for whoever a token names, each with the log's promise in it."""

import struct
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256, SHA384
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID

from sandbox.sigstore import der
from sandbox.sigstore.authority import make_intermediate, make_root, use_key
from sandbox.sigstore.encoding import Clock, public_der, sha256
from sandbox.sigstore.tokens import GITHUB

LIFE = timedelta(minutes=10)
"""How long a certificate is valid, as with the public Fulcio."""

_FULCIO = "1.3.6.1.4.1.57264.1"
_PROMISES = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
_GITHUB_URL = "https://github.com"

# The names and numbers of https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md; those up to 6 hold
# plain bytes, the others a text in DER.
_ISSUER, _ISSUER_V2 = 1, 8
_GITHUB_PLAIN = {2: "event_name", 3: "sha", 4: "workflow", 5: "repository", 6: "ref"}
_GITHUB_TEXTS = {11: "runner_environment", 13: "sha", 14: "ref", 20: "event_name"}
_GITHUB_URLS = {9: "job_workflow_ref", 12: "repository", 18: "workflow_ref"}


class CertificateAuthority:
    """Issues certificates. What the tokens are worth is for the caller to check."""

    def __init__(self, clock: Clock, start: datetime) -> None:
        self._clock = clock
        self._root = make_root("fulcio-root", start)
        self._issuer = make_intermediate("fulcio", self._root)
        self._log_key = ec.generate_private_key(ec.SECP256R1())

    @property
    def chain(self) -> tuple[x509.Certificate, ...]:
        """What every certificate leads to: the issuer, then the root."""
        return self._issuer.certificate, self._root.certificate

    @property
    def log_public_key(self) -> bytes:
        """The CT log's public key."""
        return public_der(self._log_key.public_key())

    def issue(self, request: bytes, claims: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a signing request (PEM) of the one that `claims` name, with a chain of certificates.

        Raises:
            ValueError, KeyError: The request is not signed with its own key, or a claim is missing.
        """
        asked = x509.load_pem_x509_csr(request)
        public_key = asked.public_key()
        if not asked.is_signature_valid or not isinstance(public_key, ec.EllipticCurvePublicKey):
            raise ValueError("the signing request is not signed with its own ECDSA key")
        builder = self._describe(public_key, claims)
        # The log signs the certificate as it is without the promise (RFC 6962, section 3.2).
        draft = builder.sign(self._issuer.key, SHA384()).tbs_certificate_bytes
        promise = x509.UnrecognizedExtension(
            _PROMISES, der.encode(der.Tag.OCTET_STRING, self._promise(draft))
        )
        leaf = builder.add_extension(promise, critical=False).sign(self._issuer.key, SHA384())
        chain = [each.public_bytes(Encoding.PEM).decode() for each in (leaf, *self.chain)]
        return {"signedCertificateEmbeddedSct": {"chain": {"certificates": chain}}}

    def _describe(self, key: ec.EllipticCurvePublicKey, claims: Mapping[str, Any]) -> x509.CertificateBuilder:
        now = self._clock().replace(microsecond=0)
        issuer_key = self._issuer.key.public_key()
        builder = (
            x509.CertificateBuilder(
                self._issuer.certificate.subject, x509.Name([]), key, x509.random_serial_number()
            )
            .not_valid_before(now)
            .not_valid_after(now + LIFE)
            .add_extension(use_key(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False)
            .add_extension(x509.SubjectAlternativeName([_name_subject(claims)]), critical=True)
        )
        for number, value in _describe_issuer(claims).items():
            extension = x509.UnrecognizedExtension(x509.ObjectIdentifier(f"{_FULCIO}.{number}"), value)
            builder = builder.add_extension(extension, critical=False)
        return builder

    def _promise(self, draft: bytes) -> bytes:
        """Sign that the certificate is going to be in the CT log: a list of one such promise."""
        milliseconds = int(self._clock().timestamp() * 1000)
        issuer = sha256(public_der(self._issuer.key.public_key()))
        head = struct.pack("!BBQH", 0, 0, milliseconds, 1)
        signed = head + issuer + len(draft).to_bytes(3, "big") + draft + b"\0\0"
        signature = self._log_key.sign(signed, ec.ECDSA(SHA256()))
        promise = struct.pack("!B32sQH", 0, sha256(self.log_public_key), milliseconds, 0)
        # 4 and 3 are TLS's numbers of SHA-256 and ECDSA.
        promise += struct.pack("!BBH", 4, 3, len(signature)) + signature
        return struct.pack("!HH", len(promise) + 2, len(promise)) + promise


def _name_subject(claims: Mapping[str, Any]) -> x509.GeneralName:
    if claims["iss"] == GITHUB:
        return x509.UniformResourceIdentifier(f"{_GITHUB_URL}/{claims['job_workflow_ref']}")
    if "email" in claims:
        return x509.RFC822Name(claims["email"])
    return x509.UniformResourceIdentifier(claims["sub"])


def _describe_issuer(claims: Mapping[str, Any]) -> dict[int, bytes]:
    # Sigstore's own provider names the one that it asked in turn; that one counts.
    issuer = claims.get("federated_claims", {}).get("connector_id", claims["iss"])
    extensions = {_ISSUER: issuer.encode(), _ISSUER_V2: der.encode_text(issuer)}
    if claims["iss"] == GITHUB:
        extensions |= {number: claims[name].encode() for number, name in _GITHUB_PLAIN.items()}
        extensions |= {number: der.encode_text(claims[name]) for number, name in _GITHUB_TEXTS.items()}
        urls = {number: f"{_GITHUB_URL}/{claims[name]}" for number, name in _GITHUB_URLS.items()}
        extensions |= {number: der.encode_text(url) for number, url in urls.items()}
    return extensions
