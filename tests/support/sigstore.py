"""What tests sign and verify with: people at the local Sigstore, and the trust that goes with it."""

import copy
import json
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from sigstore._internal.oidc import oauth

from publisher.adapters.sigstore import (
    SigstoreSigner,
    SigstoreSigning,
    SigstoreVerifier,
    Trust,
    load_trust,
)
from publisher.core.digests import Digest, of_bytes
from publisher.core.identity import Identity
from sandbox.sigstore import LocalSigstore

TOKEN = "SIGSTORE_IDENTITY_TOKEN"
RM = Identity("rm@example.org", "https://accounts.example.org")
EVE = Identity("eve@example.org", "https://accounts.example.org")
DIGEST = of_bytes(b"an artifact")
OTHER = of_bytes(b"another artifact")

# The places where CI systems say that they are one.
CI = ("GITHUB_ACTIONS", "GITLAB_CI", "BUILDKITE", "CIRCLECI")

Json = dict[str, Any]
Step = str | int


def a_statement(digest: Digest = DIGEST, name: str = "artifact.tgz") -> bytes:
    document = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}}],
        "predicateType": "https://example.org/release",
        "predicate": {"release": "1.0"},
    }
    return json.dumps(document).encode()


@dataclass(frozen=True)
class Bench:
    """One local Sigstore and what its users hold."""

    sigstore: LocalSigstore
    trust: Trust
    verifier: SigstoreVerifier

    def make_token(self, who: Identity = RM, *, lifetime: int = 300) -> str:
        return self.sigstore.make_token(who.name, who.issuer, lifetime=lifetime)

    def open_signing(self, token: str | None = None, *, seconds: float = 20) -> SigstoreSigning:
        environment = {TOKEN: token or self.make_token()}
        return SigstoreSigning(self.trust, environment, interactive=False, seconds=seconds)

    def log_in(self, who: Identity = RM, *, seconds: float = 20) -> SigstoreSigner:
        return self.open_signing(self.make_token(who), seconds=seconds).log_in()


def open_bench(sigstore: LocalSigstore, directory: Path) -> Bench:
    trust = trust_in(sigstore.trust_config(), directory)
    return Bench(sigstore, trust, SigstoreVerifier(trust))


def trust_in(document: Json, directory: Path) -> Trust:
    path = directory / "trust.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return load_trust(path)


def change(document: Json, edit: Callable[[Json], object]) -> Json:
    """Copy a document and edit the copy."""
    changed = copy.deepcopy(document)
    edit(changed)
    return changed


def walk(node: Any, path: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """List the path of every value below `node`."""
    below: dict[Any, Any] = {}
    if isinstance(node, dict):
        below = cast("dict[Any, Any]", node)
    elif isinstance(node, list):
        below = dict(enumerate(cast("list[Any]", node)))
    for step, value in below.items():
        yield (*path, step)
        yield from walk(value, (*path, step))


def reach(node: Any, path: tuple[Step, ...]) -> Any:
    """Get the value at `path`."""
    for step in path:
        node = node[step]
    return node


def close_redirects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Close the port to which a browser is sent back: the library leaves it open after the login."""
    leave = oauth._OAuthFlow.__exit__  # pyright: ignore[reportPrivateUsage] - nothing public has it

    def leave_and_close(flow: Any, *error: Any) -> None:
        leave(flow, *error)
        flow._server.server_close()

    monkeypatch.setattr(oauth._OAuthFlow, "__exit__", leave_and_close)  # pyright: ignore[reportPrivateUsage]


def browse(url: str) -> bool:
    """Do what a browser does with a page that leads on and on to the client's own."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=20) as page:
        return page.status == 200
