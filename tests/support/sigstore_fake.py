"""A Sigstore in memory: bundles that say who signed what, no two alike, as real ones."""

import base64
import hashlib
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from publisher.core.digests import Digest, display
from publisher.core.identity import Identity, Rejected, Signed, Statement
from publisher.errors import LoginError

RM = Identity("rm@example.org", "https://accounts.example.org")


@dataclass
class FakeSigstore:
    """All three ports. `login` of None: nobody can log in. `before` hears of each request, and may raise.

    `broken` is raised by every signing; `distrusts` lets nothing verify.
    """

    login: Identity | None = RM
    before: Callable[[str, str], None] = lambda request, key: None
    broken: Exception | None = None
    distrusts: bool = False
    signed: list[str] = field(default_factory=list[str])
    logins: int = 0
    verified: int = 0
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    def log_in(self) -> "FakeSigner":
        self.before("login", "")
        self.logins += 1
        if self.login is None:
            raise LoginError("nobody is logged in")
        return FakeSigner(self, self.login, self.logins)

    def verify(self, bundle: bytes, digest: Digest, accepted: Collection[Identity]) -> Signed | Rejected:
        self.verified += 1
        found = self._open(bundle, accepted)
        if isinstance(found, Rejected):
            return found
        identity, content = found
        if content.get("digest") != digest:
            return Rejected(f"a bundle of {display(str(content.get('digest')))}", f"one of {display(digest)}")
        return Signed(
            identity,
            f"signature {content['number']}\n".encode(),
            f"certificate {content['login']} of {identity}\n".encode(),
        )

    def open_statement(self, bundle: bytes, accepted: Collection[Identity]) -> Statement | Rejected:
        found = self._open(bundle, accepted)
        if isinstance(found, Rejected):
            return found
        identity, content = found
        envelope = content.get("dsseEnvelope")
        if envelope is None:
            return Rejected("no statement", "one")
        return Statement(identity, base64.b64decode(envelope["payload"]))

    def sign(self, signer: "FakeSigner", kind: str, content: dict[str, object]) -> bytes:
        self.before("sign", kind)
        if self.broken:
            raise self.broken
        self.signed.append(kind)
        head = {
            "name": signer.identity.name,
            "issuer": signer.identity.issuer,
            "login": signer.login,
            "number": next(self._numbers),
        }
        return json.dumps({**head, **content}).encode()

    def _open(
        self, bundle: bytes, accepted: Collection[Identity]
    ) -> tuple[Identity, dict[str, Any]] | Rejected:
        if self.distrusts:
            return Rejected("a forged log entry", "one by a log that is trusted", "trust root too old?")
        try:
            content = json.loads(bundle)
            identity = Identity(content["name"], content["issuer"])
        except (ValueError, KeyError, TypeError):
            return Rejected("no bundle", "a bundle")
        if identity not in accepted:
            return Rejected(f"a signature by {identity}", "one by who may sign")
        return identity, content


@dataclass
class FakeSigner:
    """A login, of which all certificates are the same one."""

    sigstore: FakeSigstore
    identity: Identity
    login: int = 0

    def sign(self, digest: Digest) -> bytes:
        return self.sigstore.sign(self, digest, {"digest": digest})

    def sign_statement(self, statement: bytes) -> bytes:
        payload = base64.b64encode(statement).decode()
        return self.sigstore.sign(self, "statement", {"dsseEnvelope": {"payload": payload}})


class FakeOpenPgp:
    """Signatures that say whose they are and of which bytes: `KEY DIGEST`."""

    def verify(self, path: Path, signature: bytes, accepted: Collection[str]) -> str | Rejected:
        key, _, digest = signature.decode().partition(" ")
        if key not in accepted:
            return Rejected(f"a signature by {key}", "one by an accepted key")
        if hashlib.sha256(path.read_bytes()).hexdigest() != digest.strip():
            return Rejected("a signature of another file", "one of this file")
        return key


def sign_openpgp(key: str, data: bytes) -> bytes:
    return f"{key} {hashlib.sha256(data).hexdigest()}\n".encode()
