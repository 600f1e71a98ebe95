"""The trust root in use: the file of this package, or the one that the configuration names, nothing else.

The library's own way, through TUF, is not taken: it believes what it finds in a cache below $HOME.
"""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from itertools import count
from pathlib import Path

from cryptography.hazmat.primitives.serialization import load_der_public_key
from sigstore.errors import Error
from sigstore.models import ClientTrustConfig
from sigstore.verify import Verifier

from publisher.adapters.sigstore.reading import dig, make_plain
from publisher.errors import ConfigError

TRUST_TOO_OLD = "trust root too old? Or signed with another Sigstore instance than the one that is trusted?"

_PINNED = "public-good.json"
_KIND = "application/vnd.dev.sigstore.clienttrustconfig.v0.1+json"
_EXPECTED = f"expected a Sigstore client trust configuration ({_KIND})"
_NEXT = (
    "name a file such as `sigstore --trust-config` takes, with trustedRoot and signingConfig, or leave the "
    "setting out to use the pinned one of the public instance"
)


@dataclass(frozen=True, slots=True, eq=False)
class Trust:
    """Whom to believe, and where to sign.

    `logs` and `certificate_logs` are the ids of the logs in it, for signatures and for certificates.
    """

    source: str
    config: ClientTrustConfig
    logs: frozenset[bytes]
    certificate_logs: frozenset[bytes]


def load_trust(path: Path | None) -> Trust:
    """Read a client trust configuration, the one pinned in this package if `path` is None.

    Raises:
        ConfigError: There is no such file, or it is none.
    """
    source = str(path) if path else f"the pinned {_PINNED}"
    try:
        text = (path or files("publisher") / "trust" / _PINNED).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{source}: found no readable text ({error}), {_EXPECTED}", _NEXT) from error
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{source}: found no JSON ({error}), {_EXPECTED}", _NEXT) from error
    kind = dig(document, "mediaType")
    if kind != _KIND:
        raise ConfigError(f"{source}: found mediaType {make_plain(kind)!r}, {_EXPECTED}", _NEXT)
    try:
        return _make_trust(source, text, document)
    # Whatever the library and its models raise, and they raise several families: the file cannot be used.
    except Exception as error:
        raise ConfigError(f"{source}: found {make_plain(error)}, {_EXPECTED}", _NEXT) from error


def _make_trust(source: str, text: str, document: object) -> Trust:
    config = ClientTrustConfig.from_json(text)
    _prefer_rekor_v1(config)
    # The library reads keys and certificates when they are needed; a broken one is found here instead.
    Verifier(trusted_root=config.trusted_root)
    config.trusted_root.get_timestamp_authorities()
    logs = frozenset(_read_logs(document, "tlogs"))
    certificate_logs = frozenset(_read_logs(document, "ctlogs"))
    if not certificate_logs:
        raise ValueError("trustedRoot.ctlogs empty")
    return Trust(source, config, logs, certificate_logs)


def _read_logs(document: object, kind: str) -> Iterator[bytes]:
    """Read each log's id, and its key to see that it is one."""
    for number in count():
        log = dig(document, "trustedRoot", kind, number)
        if log is None:
            return
        load_der_public_key(base64.b64decode(str(dig(log, "publicKey", "rawBytes"))))
        yield base64.b64decode(str(dig(log, "logId", "keyId")))


def _prefer_rekor_v1(config: ClientTrustConfig) -> None:
    """Let a configuration that has both generations of the log sign with the first.

    Not every client that verifies reads the second one's bundles yet. What is wrong with the services is
    said at login: who only verifies needs none.
    """
    config.force_tlog_version = 1
    try:
        _ = config.signing_config
    except (Error, ValueError):
        config.force_tlog_version = None
