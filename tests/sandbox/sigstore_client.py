"""A client of the local Sigstore: the library as it is, and plain requests where it would say too little."""

import base64
import gc
import hashlib
import http.client
import json
import urllib.request
import warnings
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from sigstore.dsse import DigestSet, Statement, StatementBuilder, Subject
from sigstore.hashes import Hashed
from sigstore.models import Bundle, ClientTrustConfig
from sigstore.oidc import IdentityToken, Issuer
from sigstore.sign import SigningContext
from sigstore.verify import Verifier, policy
from sigstore_models.common.v1 import HashAlgorithm

from sandbox.sigstore import GITHUB, RELEASE_MANAGER, Endpoint, LocalSigstore
from sandbox.sigstore.encoding import public_der, sha256
from sandbox.sigstore.merkle import Inclusion

RM = policy.Identity(identity=RELEASE_MANAGER.name, issuer=RELEASE_MANAGER.issuer)

# RFC 7636, appendix B.
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CODE_REQUEST = {
    "response_type": "code",
    "client_id": "sigstore",
    "redirect_uri": "http://localhost:1/back",
    "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    "code_challenge_method": "S256",
    "state": "some state",
}


def read_trust(sigstore: LocalSigstore) -> ClientTrustConfig:
    return ClientTrustConfig.from_json(json.dumps(sigstore.trust_config()))


def a_digest(content: bytes = b"content") -> Hashed:
    return Hashed(algorithm=HashAlgorithm.SHA2_256, digest=hashlib.sha256(content).digest())


def a_statement(*names: str) -> Statement:
    subjects = [
        Subject(name=name, digest=DigestSet({"sha256": hashlib.sha256(name.encode()).hexdigest()}))
        for name in names
    ]
    builder = StatementBuilder(subjects, "https://in-toto.io/attestation/release/v0.1", {"releaseId": "1.0"})
    return builder.build()


def rm_token(sigstore: LocalSigstore, *, lifetime: int = 300) -> str:
    return sigstore.make_token(RELEASE_MANAGER.name, RELEASE_MANAGER.issuer, lifetime=lifetime)


def sign(sigstore: LocalSigstore, *inputs: Hashed | Statement, token: str | None = None) -> list[Bundle]:
    """Sign everything with one certificate."""
    context = SigningContext.from_trust_config(read_trust(sigstore))
    with context.signer(IdentityToken(token or rm_token(sigstore))) as signer:
        return [
            signer.sign_dsse(each) if isinstance(each, Statement) else signer.sign_artifact(each)
            for each in inputs
        ]


def open_verifier(sigstore: LocalSigstore) -> Verifier:
    return Verifier(trusted_root=read_trust(sigstore).trusted_root)


def read_entry(bundle: Bundle) -> dict[str, Any]:
    """Give the log's entry as the bundle spells it."""
    [entry] = json.loads(bundle.to_json())["verificationMaterial"]["tlogEntries"]
    return entry


def lead_to_root(data: bytes, inclusion: Inclusion) -> bytes:
    """Give the root that a proof leads to, as RFC 9162 (section 2.1.3.2) has clients compute it."""
    result, index, last = sha256(b"\0" + data), inclusion.index, inclusion.size - 1
    for sibling in inclusion.path:
        if index & 1 or index == last:
            result = sha256(b"\1" + sibling + result)
            while index and not index & 1:
                index, last = index >> 1, last >> 1
        else:
            result = sha256(b"\1" + result + sibling)
        index, last = index >> 1, last >> 1
    assert last == 0
    return result


def of_workflow(repository: str) -> policy.VerificationPolicy:
    """Accept the workflow of the tests, in this repository only."""
    return policy.AllOf(
        [
            policy.Identity(
                identity="https://github.com/a/b/.github/workflows/c.yml@refs/tags/v1", issuer=GITHUB
            ),
            policy.OIDCIssuerV2(GITHUB),
            policy.OIDCSourceRepositoryURI(f"https://github.com/{repository}"),
            policy.OIDCSourceRepositoryRef("refs/heads/main"),
            policy.OIDCBuildTrigger("workflow_dispatch"),
            policy.OIDCRunnerEnvironment("github-hosted"),
            policy.GitHubWorkflowRepository(repository),
            policy.GitHubWorkflowName("release"),
        ]
    )


def walk_texts(value: Any) -> Iterator[str]:
    """Give every text in a JSON document, names aside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from walk_texts(list(cast("dict[str, Any]", value).values()))
    elif isinstance(value, list):
        for member in cast("list[Any]", value):
            yield from walk_texts(member)


def log_in(sigstore: LocalSigstore, monkeypatch: pytest.MonkeyPatch) -> str:
    """Log in with a browser that is none, and give the token."""
    monkeypatch.setattr(webbrowser, "open", _browse)
    with warnings.catch_warnings():
        # The library's own server, to which the browser comes back, is dropped without being closed.
        warnings.simplefilter("ignore", ResourceWarning)
        token = Issuer(read_trust(sigstore).signing_config.get_oidc_url()).identity_token()
        gc.collect()
    return str(token)


def _browse(url: str) -> bool:
    # Whatever proxy the machine has, it is not for loopback.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=20) as page:
        return page.status == HTTPStatus.OK


@dataclass(frozen=True, slots=True)
class Answered:
    """What a plain request got."""

    status: int
    body: bytes
    location: str | None


def fetch(
    sigstore: LocalSigstore,
    path: str,
    *,
    query: Mapping[str, str] | None = None,
    form: Mapping[str, str] | None = None,
    body: str | bytes | None = None,
    token: str | None = None,
) -> Answered:
    """Make one request, a POST if something is to be sent."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    body = urlencode(form) if form else body
    target = f"{path}?{urlencode(query)}" if query else path
    with closing(http.client.HTTPConnection(urlsplit(sigstore.url).netloc, timeout=20)) as connection:
        connection.request("POST" if body else "GET", target, body, headers)
        response = connection.getresponse()
        return Answered(response.status, response.read(), response.getheader("Location"))


def ask_for_code(sigstore: LocalSigstore) -> str:
    answer = fetch(sigstore, Endpoint.AUTHORIZE, query=CODE_REQUEST)
    assert answer.status == HTTPStatus.FOUND
    assert answer.location is not None
    parameters = dict(parse_qsl(urlsplit(answer.location).query))
    assert parameters["state"] == CODE_REQUEST["state"]
    return parameters["code"]


def ask_for_certificate(sigstore: LocalSigstore, token: str, *, forged: bool = False) -> int:
    """Ask with a signing request, which may be one whose key somebody put there, and give the status."""
    key, another = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    request = x509.CertificateSigningRequestBuilder(x509.Name([])).sign(key, SHA256())
    der = request.public_bytes(Encoding.DER)
    if forged:
        der = der.replace(public_der(key.public_key()), public_der(another.public_key()))
    text = x509.load_der_x509_csr(der).public_bytes(Encoding.PEM)
    body = json.dumps({"certificateSigningRequest": base64.b64encode(text).decode()})
    return fetch(sigstore, Endpoint.CERTIFICATE, body=body, token=token).status


def propose(version: int, bundle: Bundle, digest: Hashed) -> str:
    """Write the entry that a client proposes for a bundle's signature, of any digest."""
    signature = base64.b64encode(bundle.signature).decode()
    if version == 1:
        certificate = base64.b64encode(bundle.signing_certificate.public_bytes(Encoding.PEM)).decode()
        signed = {"content": signature, "publicKey": {"content": certificate}}
        data = {"hash": {"algorithm": "sha256", "value": digest.digest.hex()}}
        spec = {"data": data, "signature": signed}
        return json.dumps({"kind": "hashedrekord", "apiVersion": "0.0.1", "spec": spec})
    certificate = base64.b64encode(bundle.signing_certificate.public_bytes(Encoding.DER)).decode()
    verifier = {"x509Certificate": {"rawBytes": certificate}, "keyDetails": "PKIX_ECDSA_P256_SHA_256"}
    content = {"content": signature, "verifier": verifier}
    text = base64.b64encode(digest.digest).decode()
    return json.dumps({"hashedRekordRequestV002": {"digest": text, "signature": content}})


def propose_statement(bundle: Bundle, signed: Bundle) -> str:
    """Write the entry that a client proposes for a bundle's statement, with another one's signature."""
    envelope = json.loads(bundle.to_json())["dsseEnvelope"]
    envelope["signatures"] = json.loads(signed.to_json())["dsseEnvelope"]["signatures"]
    certificate = base64.b64encode(bundle.signing_certificate.public_bytes(Encoding.PEM)).decode()
    content = {"envelope": json.dumps(envelope), "verifiers": [certificate]}
    return json.dumps({"kind": "dsse", "apiVersion": "0.0.1", "spec": {"proposedContent": content}})
