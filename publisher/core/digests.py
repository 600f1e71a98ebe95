"""SHA-256 digests as values of their own: parsed once at the border, never compared as loose text."""

import base64
import hashlib
import re
from typing import NewType

Digest = NewType("Digest", str)
"""A SHA-256 as 64 lower-case hex digits."""

_HEX = re.compile(r"[0-9a-fA-F]{64}")


def parse_hex(text: str) -> Digest:
    """Read 64 hex digits of any case.

    Raises:
        ValueError: The text is anything else.
    """
    if not _HEX.fullmatch(text):
        raise ValueError(f"found {text!r}, expected 64 hex digits of a SHA-256")
    return Digest(text.lower())


def parse_base64(text: str) -> Digest | None:
    """Read a store's base64 SHA-256, or answer None for a value that is no whole file's digest.

    S3 marks the checksum of a multipart object with a `-N` suffix: the digest of its parts' digests.
    """
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return Digest(raw.hex()) if len(raw) == hashlib.sha256().digest_size else None


def to_base64(digest: Digest) -> str:
    """Write `digest` as S3 wants it in `x-amz-checksum-sha256`."""
    return base64.b64encode(bytes.fromhex(digest)).decode("ascii")


def of_bytes(data: bytes) -> Digest:
    """Compute the digest of `data`."""
    return Digest(hashlib.sha256(data).hexdigest())


def display(digest: str) -> str:
    """Write `digest` as people read it: `sha256:` and the hex digits."""
    return f"sha256:{digest}"
