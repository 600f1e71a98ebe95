"""OpenPGP keys and signatures for tests, made on the spot."""

from dataclasses import dataclass
from datetime import datetime

from pysequoia import ArmorKind, Cert, Profile, SignatureMode, Tsk, armor, sign
from pysequoia.packet import (  # pyright: ignore[reportMissingModuleSource] - compiled, with stubs
    PacketPile,
    SignatureType,
    Tag,
)


@dataclass(frozen=True)
class Holder:
    """Somebody with a secret key. The key says of itself that it was made a minute ago."""

    secret: Tsk

    @property
    def cert(self) -> Cert:
        return self.secret.extract_certificate()

    @property
    def public(self) -> bytes:
        """The armored certificate."""
        return str(self.cert).encode()

    @property
    def fingerprint(self) -> str:
        """The certificate's fingerprint as the profile has it; it is the subkey that signs."""
        return self.cert.fingerprint.upper()

    def sign(self, data: bytes, *, armor: bool = True, mode: SignatureMode = SignatureMode.DETACHED) -> bytes:
        """Sign data as it is now, with a detached signature unless told otherwise."""
        return sign(self.secret.signer(), data, mode=mode, armor=armor)

    def end_at(self, time: datetime) -> bytes:
        """Give the armored certificate with another end, which may be past."""
        return str(self.cert.set_expiration(time, self.secret.certifier())).encode()

    def revoke(self) -> bytes:
        """Give the armored certificate, revoked for no stated reason: all it ever signed is void."""
        revocation = self.cert.revoke(self.secret.certifier())
        return str(Cert.from_bytes(bytes(self.cert) + bytes(revocation))).encode()

    def strip(self) -> bytes:
        """Give the armored certificate without the signatures by which its key speaks for itself."""
        own = (SignatureType.DirectKey, SignatureType.PositiveCertification)
        packets = [
            packet
            for packet in PacketPile.from_bytes(bytes(self.cert))
            if packet.tag != Tag.Signature or packet.signature_type not in own
        ]
        return armor(b"".join(bytes(packet) for packet in packets), ArmorKind.PublicKey).encode()


def a_holder(name: str = "release@example.org", profile: Profile = Profile.RFC4880) -> Holder:
    """Make a key with a signing subkey, as most people have."""
    return Holder(Tsk.generate(user_id=name, profile=profile))
