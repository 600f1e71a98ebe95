"""OpenPGP: checks detached signatures with the certificates that a project keeps beside its profile."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from pysequoia import Cert, Sig, verify
from pysequoia.packet import (  # pyright: ignore[reportMissingModuleSource] - compiled, with stubs
    PacketPile,
    SignatureType,
    Tag,
)

from publisher.core.identity import Rejected
from publisher.errors import ConfigError

_MAX_BYTES = 64 * 1024
"""More than any signature file needs: the real ones have about 1000 bytes."""
_MAX_SIGNATURES = 8
"""The file is read once for each."""
_DETACHED = "a detached OpenPGP signature"
_MAKE = "make one with: gpg --armor --detach-sign FILE"
_SECRET = (Tag.SecretKey, Tag.SecretSubkey)


class SequoiaOpenPgp:
    """Signatures judged by Sequoia and its standard policy, which refuses weak digests; safe for threads.

    `keys` is a file of armored certificates, one after the other; other text between them is comment. It is
    read when it is first needed. A certificate may be there twice, as when a renewed one has been appended:
    the two are merged.
    """

    def __init__(self, keys: Path | None) -> None:
        self._path = keys
        self._certs: Mapping[str, Cert] | None = None

    def verify(self, path: Path, signature: bytes, accepted: Collection[str]) -> str | Rejected:
        """Check that `signature` (armored or not) signs the file at `path` by a certificate of `accepted`.

        A certificate counts as it was when the signature says it was made. Of several signatures in one file
        each has to be good, and the certificate of the first is the answer. The file is mapped, not loaded;
        no other thread runs meanwhile (about 2 ms for each MB).

        Raises:
            ConfigError: There is no file of certificates, or it is not one.
        """
        certs = self._load()
        if fault := _find_fault(path):
            return Rejected(f"{path.name}, which cannot be read: {fault}", "the file that is signed")
        opened = _open_signatures(signature)
        if isinstance(opened, Rejected):
            return opened
        signers: list[str] = []
        for single in opened:
            signer = self._check(path, single, certs, accepted)
            if isinstance(signer, Rejected):
                return signer
            signers.append(signer)
        return signers[0]

    def _load(self) -> Mapping[str, Cert]:
        if self._certs is None:
            if self._path is None:
                raise ConfigError(
                    "the profile names no file of OpenPGP certificates, but asks for OpenPGP signatures",
                    "name one in the profile",
                )
            self._certs = _read_certs(self._path)
        return self._certs

    def _check(
        self, path: Path, signature: Sig, certs: Mapping[str, Cert], accepted: Collection[str]
    ) -> str | Rejected:
        expected = f"a signature by {' or '.join(f'0x{one}' for one in sorted(accepted)) or 'nobody'}"
        issuer = signature.issuer_fingerprint or signature.issuer_key_id
        if issuer is None:
            return Rejected("a signature that does not name its key", expected, _MAKE)
        cert = certs.get(issuer)
        key = f"key 0x{issuer.upper()}"
        if cert is None:
            hint = f"if that key is right, add it: gpg --armor --export 0x{issuer.upper()} >> {self._path}"
            return Rejected(
                f"a signature by {key}, which is not in {self._path and self._path.name}", expected, hint
            )
        signer = cert.fingerprint.upper()
        if signer not in accepted:
            hint = "if it may sign this release, add its fingerprint to the profile"
            return Rejected(f"a signature by 0x{signer}", expected, hint)

        def give(_issuers: Sequence[str]) -> Sequence[Cert]:
            return [cert]

        try:
            if signature.signature_type != SignatureType.Binary:
                return Rejected("a signature of a text, which ignores how its lines end", _DETACHED, _MAKE)
            verify(file=path, store=give, signature=signature)
        except RuntimeError:
            return _explain(path, signature, cert)
        return signer


def _read_certs(path: Path) -> Mapping[str, Cert]:
    """Read the certificates, by the fingerprint and the key id of each of their keys."""
    expected = "expected armored OpenPGP certificates"
    export = f"write it anew: gpg --armor --export FINGERPRINT… > {path}"
    try:
        blocks, outside = _split_armor(path.read_bytes(), b"PUBLIC KEY BLOCK")
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror or error}", "put the file of certificates there"
        ) from error
    if not blocks or b"-----" in outside:
        raise ConfigError(f"{path}: found no certificate, or something else beside them; {expected}", export)
    merged: dict[str, Cert] = {}
    try:
        for block in blocks:
            if any(packet.tag in _SECRET for packet in PacketPile.from_bytes(block)):
                raise ConfigError(
                    f"{path} holds a secret key; {expected}", "take it out, and replace that key"
                )
            for cert in Cert.split_bytes(block):
                before = merged.get(cert.fingerprint)
                merged[cert.fingerprint] = before.merge(cert) if before else cert
        return {name: cert for cert in merged.values() for name in _name_keys(cert)}
    except RuntimeError as error:
        raise ConfigError(f"{path}: {_first_line(error)}; {expected}", export) from error


def _name_keys(cert: Cert) -> set[str]:
    packets = [
        packet for packet in PacketPile.from_bytes(bytes(cert)) if packet.key_id and packet.fingerprint
    ]
    return {name for packet in packets for name in (packet.fingerprint, packet.key_id) if name}


def _find_fault(path: Path) -> str:
    try:
        # Anything else, as a pipe, might never end.
        if path.is_file():
            path.open("rb").close()
            return ""
    except OSError as error:
        return error.strerror or str(error)
    return "no such regular file"


def _open_signatures(data: bytes) -> Sequence[Sig] | Rejected:
    """Read every signature of a file that holds nothing else; the library would look for a first one only."""
    if len(data) > _MAX_BYTES:
        return Rejected(f"a file of {len(data)} bytes", f"{_DETACHED}, of at most {_MAX_BYTES}", _MAKE)
    blocks, outside = _split_armor(data, b"SIGNATURE")
    if found := _find_other(blocks, outside):
        return Rejected(found, _DETACHED, _MAKE)
    try:
        packets = [packet for part in blocks or [outside] for packet in PacketPile.from_bytes(part)]
        if any(packet.tag != Tag.Signature for packet in packets) or not packets:
            return Rejected("OpenPGP data of another kind", _DETACHED, _MAKE)
        if len(packets) > _MAX_SIGNATURES:
            return Rejected(f"{len(packets)} signatures", f"at most {_MAX_SIGNATURES}", _MAKE)
        return [Sig.from_bytes(bytes(packet)) for packet in packets]
    except RuntimeError as error:
        return Rejected(f"damaged OpenPGP data: {_first_line(error)}", _DETACHED, _MAKE)


def _split_armor(data: bytes, kind: bytes) -> tuple[list[bytes], bytes]:
    """Split armored data into its blocks of one kind, and all that stands outside of them."""
    begin, end = b"-----BEGIN PGP %b-----" % kind, b"-----END PGP %b-----" % kind
    outside, *parts = data.split(begin)
    blocks: list[bytes] = []
    for part in parts:
        inside, mark, after = part.partition(end)
        # Without its end it stays a block, which the library refuses.
        blocks.append(begin + inside + mark + b"\n")
        outside += after
    return blocks, outside


def _find_other(blocks: Sequence[bytes], outside: bytes) -> str:
    """Say what the file is, if it is no signature by the looks of it."""
    if not blocks and not outside.strip():
        return "an empty file"
    if b"-----BEGIN PGP SIGNED MESSAGE-----" in outside:
        return "a cleartext signature, which holds the text itself"
    if b"-----BEGIN PGP MESSAGE-----" in outside:
        return "an OpenPGP message, which holds the file itself"
    if blocks:
        return "something else around the signature" if outside.strip() else ""
    # The first bit of every OpenPGP packet is set; no text starts like that but by accident.
    return "" if outside[0] & 0x80 else "no OpenPGP data"


def _explain(path: Path, signature: Sig, cert: Cert) -> Rejected:
    """Say why a signature of a known certificate is not good; the library does not."""
    key = f"0x{cert.fingerprint.upper()}"
    found = f"a signature by {key} that is not good for {path.name}"
    expected = f"a good signature of {path.name}"
    hint = (
        "the file was changed after it was signed, or is another one; or the key could not sign then "
        "(expired or revoked), or its digest is too weak (SHA-1)"
    )
    try:
        if cert.is_revoked:
            found = f"a signature by {key}, which has been revoked"
            hint = "sign with another key, and replace it in the profile"
        elif cert.expiration and signature.created and cert.expiration <= signature.created:
            found = f"a signature by {key} of {signature.created:%Y-%m-%d}, when it had expired"
            found += f" on {cert.expiration:%Y-%m-%d}"
            hint = "if its holder has renewed it, add the renewed certificate to the file of certificates"
    except RuntimeError:
        # A certificate without a valid self-signature: what is said above is all that is known.
        pass
    return Rejected(found, expected, hint)


def _first_line(error: Exception) -> str:
    """Take the library's words without its backtrace."""
    return next(iter(str(error).splitlines()), "")
