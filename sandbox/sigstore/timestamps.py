"""A time-stamping authority: it signs that something existed at its clock's time (RFC 3161)."""

import secrets
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from sandbox.sigstore.authority import make_root, make_stamper
from sandbox.sigstore.der import Tag, decode, encode, encode_integer, encode_object_id
from sandbox.sigstore.encoding import Clock, sha256

_POLICY = "1.3.6.1.4.1.57264.2"
_SHA256 = "2.16.840.1.101.3.4.2.1"
_ECDSA_WITH_SHA256 = "1.2.840.10045.4.3.2"
_SIGNED_DATA = "1.2.840.113549.1.7.2"
_TIME_STAMP = "1.2.840.113549.1.9.16.1.4"
_CONTENT_TYPE = "1.2.840.113549.1.9.3"
_MESSAGE_DIGEST = "1.2.840.113549.1.9.4"
_SIGNING_TIME = "1.2.840.113549.1.9.5"
_SIGNING_CERTIFICATE = "1.2.840.113549.1.9.16.2.47"


class TimestampAuthority:
    """Signs time stamps, to whole seconds."""

    def __init__(self, clock: Clock, start: datetime) -> None:
        self._clock = clock
        self._root = make_root("tsa-root", start)
        self._stamper = make_stamper("tsa", self._root)

    @property
    def chain(self) -> tuple[x509.Certificate, ...]:
        """The certificate that signs, then the root."""
        return self._stamper.certificate, self._root.certificate

    def stamp(self, request: bytes) -> bytes:
        """Answer a TimeStampReq with a TimeStampResp, both in DER.

        Raises:
            ValueError: It is no such request.
        """
        [whole] = decode(request)
        _version, imprint, *options = decode(whole.content)
        nonce = b"".join(each.whole for each in options if each.tag == Tag.INTEGER)
        wants_certificate = any(each.tag == Tag.BOOLEAN and each.content != b"\0" for each in options)
        now = self._clock()
        info = encode(
            Tag.SEQUENCE,
            encode_integer(1),
            encode_object_id(_POLICY),
            imprint.whole,
            encode_integer(secrets.randbits(63)),
            encode(Tag.GENERALIZED_TIME, f"{now:%Y%m%d%H%M%SZ}".encode()),
            nonce,
        )
        granted = encode(Tag.SEQUENCE, encode_integer(0))
        return encode(Tag.SEQUENCE, granted, self._sign(info, now, wants_certificate=wants_certificate))

    def _sign(self, info: bytes, now: datetime, *, wants_certificate: bool) -> bytes:
        """Wrap a TSTInfo as CMS's SignedData."""
        certificate = self._stamper.certificate.public_bytes(Encoding.DER)
        content = encode(Tag.CONTEXT_0, encode(Tag.OCTET_STRING, info))
        signed = encode(
            Tag.SEQUENCE,
            encode_integer(3),
            encode(Tag.SET, _algorithm(_SHA256)),
            encode(Tag.SEQUENCE, encode_object_id(_TIME_STAMP), content),
            encode(Tag.CONTEXT_0, certificate) if wants_certificate else b"",
            encode(Tag.SET, self._sign_attributes(_list_attributes(info, certificate, now))),
        )
        return encode(Tag.SEQUENCE, encode_object_id(_SIGNED_DATA), encode(Tag.CONTEXT_0, signed))

    def _sign_attributes(self, attributes: bytes) -> bytes:
        # They are signed as a set, and stand in the message under a tag of the context.
        signature = self._stamper.key.sign(encode(Tag.SET, attributes), ec.ECDSA(SHA256()))
        certificate = self._stamper.certificate
        signer = encode(
            Tag.SEQUENCE, certificate.issuer.public_bytes(), encode_integer(certificate.serial_number)
        )
        return encode(
            Tag.SEQUENCE,
            encode_integer(1),
            signer,
            _algorithm(_SHA256),
            encode(Tag.CONTEXT_0, attributes),
            _algorithm(_ECDSA_WITH_SHA256),
            encode(Tag.OCTET_STRING, signature),
        )


def _list_attributes(info: bytes, certificate: bytes, now: datetime) -> bytes:
    certificate_id = encode(Tag.SEQUENCE, encode(Tag.OCTET_STRING, sha256(certificate)))
    attributes = [
        _attribute(_CONTENT_TYPE, encode_object_id(_TIME_STAMP)),
        _attribute(_MESSAGE_DIGEST, encode(Tag.OCTET_STRING, sha256(info))),
        _attribute(_SIGNING_TIME, encode(Tag.UTC_TIME, f"{now:%y%m%d%H%M%SZ}".encode())),
        _attribute(_SIGNING_CERTIFICATE, encode(Tag.SEQUENCE, encode(Tag.SEQUENCE, certificate_id))),
    ]
    # DER wants the members of a set in this order.
    return b"".join(sorted(attributes))


def _attribute(object_id: str, value: bytes) -> bytes:
    return encode(Tag.SEQUENCE, encode_object_id(object_id), encode(Tag.SET, value))


def _algorithm(object_id: str) -> bytes:
    return encode(Tag.SEQUENCE, encode_object_id(object_id))
