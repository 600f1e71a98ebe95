"""The client trust config: what a client has to trust, and where it has to go. Of loopback only."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from sandbox.sigstore.authority import ORGANIZATION
from sandbox.sigstore.certificates import CertificateAuthority
from sandbox.sigstore.encoding import encode_base64, sha256
from sandbox.sigstore.rekor import RekorV1, RekorV2
from sandbox.sigstore.timestamps import TimestampAuthority

RekorVersion = Literal[1, 2]

_MEDIA_TYPE = "application/vnd.dev.sigstore"


@dataclass(frozen=True, slots=True)
class Parts:
    """All that is to be trusted. Both logs are, whichever of them is written to."""

    certificates: CertificateAuthority
    log_v1: RekorV1
    log_v2: RekorV2
    timestamps: TimestampAuthority


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where things are; `timestamps` is None where no time stamps are to be asked for."""

    base: str
    tokens: str
    timestamps: str | None


def describe_trusted_root(parts: Parts, url: str, start: datetime) -> dict[str, Any]:
    """Write a TrustedRoot; everything in it is valid from `start` on."""
    valid = _valid_from(start)
    logs = (parts.log_v1, parts.log_v2)
    ct_key = parts.certificates.log_public_key
    return {
        "mediaType": f"{_MEDIA_TYPE}.trustedroot+json;version=0.1",
        "tlogs": [_log(url, each.public_key, each.key_details, each.log_id, valid) for each in logs],
        "ctlogs": [_log(url, ct_key, RekorV1.key_details, sha256(ct_key), valid)],
        "certificateAuthorities": [_authority(url, parts.certificates.chain, valid)],
        "timestampAuthorities": [_authority(url, parts.timestamps.chain, valid)],
    }


def describe_services(addresses: Addresses, rekor_version: RekorVersion, start: datetime) -> dict[str, Any]:
    """Write a SigningConfig."""

    def service(url: str, version: int = 1) -> list[dict[str, Any]]:
        return [
            {
                "url": url,
                "majorApiVersion": version,
                "validFor": _valid_from(start),
                "operator": ORGANIZATION,
            }
        ]

    return {
        "mediaType": f"{_MEDIA_TYPE}.signingconfig.v0.2+json",
        "caUrls": service(addresses.base),
        "oidcUrls": service(addresses.tokens),
        "rekorTlogUrls": service(addresses.base, rekor_version),
        "tsaUrls": service(addresses.timestamps) if addresses.timestamps else [],
        "rekorTlogConfig": {"selector": "ANY"},
        "tsaConfig": {"selector": "ANY"},
    }


def describe_trust(trusted_root: dict[str, Any], services: dict[str, Any]) -> dict[str, Any]:
    """Write a ClientTrustConfig of the two."""
    return {
        "mediaType": f"{_MEDIA_TYPE}.clienttrustconfig.v0.1+json",
        "trustedRoot": trusted_root,
        "signingConfig": services,
    }


def _valid_from(start: datetime) -> dict[str, str]:
    return {"start": f"{start:%Y-%m-%dT%H:%M:%SZ}"}


def _log(url: str, key: bytes, details: str, log_id: bytes, valid: dict[str, str]) -> dict[str, Any]:
    return {
        "baseUrl": url,
        "hashAlgorithm": "SHA2_256",
        "publicKey": {"rawBytes": encode_base64(key), "keyDetails": details, "validFor": valid},
        "logId": {"keyId": encode_base64(log_id)},
    }


def _authority(url: str, chain: Iterable[x509.Certificate], valid: dict[str, str]) -> dict[str, Any]:
    certificates = [{"rawBytes": encode_base64(each.public_bytes(Encoding.DER))} for each in chain]
    return {
        "subject": {"organization": ORGANIZATION, "commonName": ORGANIZATION},
        "uri": url,
        "certChain": {"certificates": certificates},
        "validFor": valid,
    }
