"""What certificates and loose JSON say, and text of strangers made fit for a line of a message."""

from typing import cast

from cryptography import x509
from cryptography.hazmat import asn1

from publisher.core.identity import Identity

_FULCIO = "1.3.6.1.4.1.57264.1"
_OTHER_NAME = x509.ObjectIdentifier(f"{_FULCIO}.7")
_ISSUER = x509.ObjectIdentifier(f"{_FULCIO}.8")
_LONGEST = 240
_TELLING = 8


def read_identities(certificate: x509.Certificate) -> tuple[Identity, ...]:
    """Read who a signing certificate names, and who vouches for it; Fulcio always writes one name.

    Raises:
        ValueError: A name or the issuer is missing, or is not written as Fulcio does.
    """
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        issuer = certificate.extensions.get_extension_for_oid(_ISSUER).value
    except x509.ExtensionNotFound as error:
        raise ValueError(f"the certificate has no {error.oid.dotted_string}") from error
    if not isinstance(issuer, x509.UnrecognizedExtension):
        raise ValueError("the certificate's issuer is not written as Fulcio does")  # noqa: TRY004
    others = [
        other.value.decode()
        for other in names.get_values_for_type(x509.OtherName)
        if other.type_id == _OTHER_NAME
    ]
    found = [
        *names.get_values_for_type(x509.RFC822Name),
        *names.get_values_for_type(x509.UniformResourceIdentifier),
        *others,
    ]
    if not found:
        raise ValueError("the certificate names nobody")
    vouching = asn1.decode_der(str, issuer.value)
    return tuple(Identity(name, vouching) for name in found)


def dig(document: object, *path: str | int) -> object:
    """Find a value in loose JSON, or answer None where there is nothing of that kind."""
    found = document
    for step in path:
        if isinstance(found, dict):
            found = cast("dict[object, object]", found).get(step)
        elif isinstance(found, list) and isinstance(step, int):
            items = cast("list[object]", found)
            found = items[step] if step < len(items) else None
        else:
            return None
    return found


def make_plain(text: object, secret: str = "") -> str:
    """Make one line of printable characters, not too long, of a text that may hold anything.

    A token is left out whole and in its parts, before the text is cut.
    """
    line = " ".join(str(text).split())
    for part in (secret, *secret.split(".")):
        if len(part) >= _TELLING:
            line = line.replace(part, "…")
    shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in line)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
