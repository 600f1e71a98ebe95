"""Spellings that all of Sigstore's parts share: base64, canonical JSON, SHA-256, public keys; no state."""

import base64
import hashlib
import json
from collections.abc import Callable
from datetime import datetime

from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

Clock = Callable[[], datetime]
"""Gives the present moment, with a time zone."""


def encode_base64(data: bytes) -> str:
    """Spell bytes in base64, with padding."""
    return base64.b64encode(data).decode("ascii")


def decode_base64(text: str) -> bytes:
    """Read base64.

    Raises:
        ValueError: It is none.
    """
    return base64.b64decode(text, validate=True)


def sha256(data: bytes) -> bytes:
    """Give the SHA-256 as 32 bytes."""
    return hashlib.sha256(data).digest()


def canonical_json(value: object) -> bytes:
    """Spell JSON in the one way that logs sign: sorted, without blanks, in UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def public_der(key: PublicKeyTypes) -> bytes:
    """Spell a public key as DER; its SHA-256 is the id that logs and certificates name it by."""
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
