"""A certificate for servers on loopback, made for one use, so that TLS is real without anybody's trust."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_LIFE = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate that signed itself, and its private key. Who trusts `file` trusts this server alone."""

    file: Path
    key: Path


def make_certificate(folder: Path, *names: str) -> Certificate:
    """Make a certificate in `folder` for loopback's address and these DNS `names`; valid for a week."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sandbox")])
    subjects = [x509.IPAddress(IPv4Address("127.0.0.1")), *(x509.DNSName(each) for each in names)]
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        # Clocks of one machine agree, but the second in which it is made has begun already.
        .not_valid_before(now - timedelta(minutes=1))
        .not_valid_after(now + _LIFE)
        .add_extension(x509.SubjectAlternativeName(subjects), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, SHA256())
    )
    made = Certificate(folder / "certificate.pem", folder / "certificate.key")
    made.file.write_bytes(certificate.public_bytes(Encoding.PEM))
    made.key.touch(mode=0o600)
    made.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return made
