"""Rekor, both generations: logs that check what is proposed, append it and prove that they did.

The first one promises each entry with a signed time; the second one knows no time and signs its tree only.
"""

import json
from typing import Any
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from sandbox.sigstore.encoding import Clock, canonical_json, decode_base64, encode_base64, public_der, sha256
from sandbox.sigstore.merkle import Inclusion, MerkleTree


class RekorV1:
    """The log with ECDSA, times and promises."""

    key_details = "PKIX_ECDSA_P256_SHA_256"

    def __init__(self, url: str, clock: Clock) -> None:
        # Other clients want the name of the log to be a part of its address.
        self._origin = urlsplit(url).netloc
        self._clock = clock
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._tree = MerkleTree()

    def __len__(self) -> int:
        """Say how many entries there are."""
        return len(self._tree)

    @property
    def public_key(self) -> bytes:
        """The public key."""
        return public_der(self._key.public_key())

    @property
    def log_id(self) -> bytes:
        """What entries name this log by."""
        return sha256(self.public_key)

    def add(self, proposed: dict[str, Any]) -> dict[str, Any]:
        """Append a proposed `hashedrekord` or `dsse` entry, and give it as it was logged.

        Raises:
            ValueError, KeyError, TypeError, InvalidSignature: It is malformed, or its signature is wrong.
        """
        body = canonical_json(_ENTRIES_V1[proposed["kind"]](proposed["spec"]))
        inclusion = self._tree.add(body)
        time = int(self._clock().timestamp())
        promised = {
            "body": encode_base64(body),
            "integratedTime": time,
            "logID": self.log_id.hex(),
            "logIndex": inclusion.index,
        }
        verification = {
            "signedEntryTimestamp": encode_base64(self._sign(canonical_json(promised))),
            "inclusionProof": {
                "logIndex": inclusion.index,
                "treeSize": inclusion.size,
                "rootHash": inclusion.root.hex(),
                "hashes": [each.hex() for each in inclusion.path],
                "checkpoint": self._sign_tree(inclusion, time),
            },
        }
        return {sha256(b"\0" + body).hex(): {**promised, "verification": verification}}

    def _sign(self, data: bytes) -> bytes:
        return self._key.sign(data, ec.ECDSA(SHA256()))

    def _sign_tree(self, inclusion: Inclusion, time: int) -> str:
        note = _write_note(f"{self._origin} - 1", inclusion, f"Timestamp: {time}000000000")
        return _close_note(note, self._origin, self.log_id, self._sign(note.encode()))


class RekorV2:
    """The log with Ed25519 and without times."""

    key_details = "PKIX_ED25519"

    def __init__(self, url: str) -> None:
        self._origin = urlsplit(url).netloc
        self._key = ed25519.Ed25519PrivateKey.generate()
        self._tree = MerkleTree()

    def __len__(self) -> int:
        """Say how many entries there are."""
        return len(self._tree)

    @property
    def public_key(self) -> bytes:
        """The public key."""
        return public_der(self._key.public_key())

    @property
    def log_id(self) -> bytes:
        """What entries name this log by: the key hash of C2SP's signed notes."""
        raw = self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return sha256(self._origin.encode() + b"\n\1" + raw)

    def add(self, proposed: dict[str, Any]) -> dict[str, Any]:
        """Append a proposed `hashedrekord` entry, and give it as it was logged.

        Raises:
            ValueError, KeyError, TypeError, InvalidSignature: It is malformed, or its signature is wrong.
        """
        body = canonical_json(_enter_digest_v2(proposed["hashedRekordRequestV002"]))
        inclusion = self._tree.add(body)
        note = _write_note(self._origin, inclusion)
        checkpoint = _close_note(note, self._origin, self.log_id, self._key.sign(note.encode()))
        return {
            "logIndex": str(inclusion.index),
            "logId": {"keyId": encode_base64(self.log_id)},
            "kindVersion": {"kind": "hashedrekord", "version": "0.0.2"},
            "integratedTime": "0",
            "inclusionProof": {
                "logIndex": str(inclusion.index),
                "treeSize": str(inclusion.size),
                "rootHash": encode_base64(inclusion.root),
                "hashes": [encode_base64(each) for each in inclusion.path],
                "checkpoint": {"envelope": checkpoint},
            },
            "canonicalizedBody": encode_base64(body),
        }


def _enter_digest(spec: dict[str, Any]) -> dict[str, Any]:
    digest, signature = spec["data"]["hash"], spec["signature"]
    if digest["algorithm"] != "sha256":
        raise ValueError(f"the digest is {digest['algorithm']}, not sha256")
    certificate = x509.load_pem_x509_certificate(decode_base64(signature["publicKey"]["content"]))
    _check(certificate, bytes.fromhex(digest["value"]), signature["content"])
    return _entry("hashedrekord", "0.0.1", {"data": {"hash": digest}, "signature": signature})


def _enter_envelope(spec: dict[str, Any]) -> dict[str, Any]:
    text, [verifier] = spec["proposedContent"]["envelope"], spec["proposedContent"]["verifiers"]
    envelope = json.loads(text)
    payload, kind = decode_base64(envelope["payload"]), envelope["payloadType"]
    # What is signed in an envelope: DSSE's pre-authentication encoding.
    signed = f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload
    certificate = x509.load_pem_x509_certificate(decode_base64(verifier))
    for each in envelope["signatures"]:
        _check(certificate, sha256(signed), each["sig"])
    content = {
        "envelopeHash": {"algorithm": "sha256", "value": sha256(text.encode()).hex()},
        "payloadHash": {"algorithm": "sha256", "value": sha256(payload).hex()},
        "signatures": [{"signature": each["sig"], "verifier": verifier} for each in envelope["signatures"]],
    }
    return _entry("dsse", "0.0.1", content)


_ENTRIES_V1 = {"hashedrekord": _enter_digest, "dsse": _enter_envelope}


def _enter_digest_v2(request: dict[str, Any]) -> dict[str, Any]:
    signature = request["signature"]
    certificate = x509.load_der_x509_certificate(
        decode_base64(signature["verifier"]["x509Certificate"]["rawBytes"])
    )
    _check(certificate, decode_base64(request["digest"]), signature["content"])
    content = {"data": {"algorithm": "SHA2_256", "digest": request["digest"]}, "signature": signature}
    return _entry("hashedrekord", "0.0.2", {"hashedRekordV002": content})


def _entry(kind: str, version: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "spec": spec}


def _check(certificate: x509.Certificate, digest: bytes, signature: str) -> None:
    key = certificate.public_key()
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise TypeError("the certificate's key is not one for ECDSA")
    key.verify(decode_base64(signature), digest, ec.ECDSA(Prehashed(SHA256())))


def _write_note(origin: str, inclusion: Inclusion, *more: str) -> str:
    return "\n".join([origin, str(inclusion.size), encode_base64(inclusion.root), *more, ""])


def _close_note(note: str, name: str, key_id: bytes, signature: bytes) -> str:
    return f"{note}\n\N{EM DASH} {name} {encode_base64(key_id[:4] + signature)}\n"
