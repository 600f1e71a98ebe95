"""Makes the long-lived certificates of authorities: roots, and what they vouch for."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

ORGANIZATION = "sigstore.test"

_LIFE = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False)


def make_root(name: str, start: datetime) -> Authority:
    """Make an authority that vouches for itself, valid for ten years from `start`."""
    key = ec.generate_private_key(ec.SECP384R1())
    constraints = x509.BasicConstraints(ca=True, path_length=None)
    builder = _begin(_name(name), _name(name), key, key, start).add_extension(constraints, critical=True)
    return Authority(_signing_certificates(builder).sign(key, SHA384()), key)


def make_intermediate(name: str, root: Authority) -> Authority:
    """Make an authority that may sign certificates, but no further authorities."""
    key = ec.generate_private_key(ec.SECP384R1())
    constraints = x509.BasicConstraints(ca=True, path_length=0)
    builder = _begin_below(name, root, key).add_extension(constraints, critical=True)
    return Authority(_signing_certificates(builder).sign(root.key, SHA384()), key)


def make_stamper(name: str, root: Authority) -> Authority:
    """Make one that may sign time stamps, and nothing else."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        _begin_below(name, root, key)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(use_key(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING]), critical=True)
        .sign(root.key, SHA384())
    )
    return Authority(certificate, key)


def use_key(*, signs_certificates: bool) -> x509.KeyUsage:
    """Say what a key is for: signing certificates, or signing data."""
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _signing_certificates(builder: x509.CertificateBuilder) -> x509.CertificateBuilder:
    return builder.add_extension(use_key(signs_certificates=True), critical=True)


def _begin_below(name: str, root: Authority, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    start = root.certificate.not_valid_before_utc
    return _begin(_name(name), root.certificate.subject, key, root.key, start)


def _begin(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer_key: ec.EllipticCurvePrivateKey,
    start: datetime,
) -> x509.CertificateBuilder:
    public, issuer_public = key.public_key(), issuer_key.public_key()
    return (
        x509.CertificateBuilder(issuer, subject, public, x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + _LIFE)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_public), critical=False)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, ORGANIZATION),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )
