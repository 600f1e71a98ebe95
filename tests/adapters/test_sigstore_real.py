"""Signatures that the public instance made, against the pinned root: the bench cannot drift from reality."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest
from pypi_attestations import Attestation

from publisher.adapters.sigstore import SigstoreVerifier, load_trust
from publisher.core.digests import Digest
from publisher.core.identity import Identity, Rejected, Statement

DATA = Path(__file__).parents[1] / "data" / "sigstore"
GITHUB = "https://token.actions.githubusercontent.com"
CPYTHON = Digest("38dc4e2c261d49c661196066edbfb70fdb16be4a79cc8220c224dfeb5636d405")
THOMAS = Identity("thomas@python.org", "https://accounts.google.com")


@dataclass(frozen=True)
class Real:
    """One attestation of a file, and who made it."""

    name: str
    digest: str
    identity: Identity


RELEASE = Identity(
    "https://github.com/trailofbits/pypi-attestations/.github/workflows/release.yml@refs/tags/v0.0.19", GITHUB
)
PRODUCTION = [
    Real(
        "pypi_attestations-0.0.19.tar.gz.publish.attestation",
        "9bb1add04b1b4e182be6b0b80931593f7a291eb49d69b4fd728a5d4cbcdc4bd3",
        RELEASE,
    ),
    Real(
        "pypi_attestations-0.0.19.tar.gz.slsa.attestation",
        "9bb1add04b1b4e182be6b0b80931593f7a291eb49d69b4fd728a5d4cbcdc4bd3",
        RELEASE,
    ),
    Real(
        "gitlab_oidc_project-0.0.3.tar.gz.publish.attestation",
        "c1ca9b0d85df1606451098233018534497bf584362e10e4a8c21dfaea92c02a8",
        Identity(
            "https://gitlab.com/facutuesca/gitlab-oidc-project//.gitlab-ci.yml@refs/heads/main",
            "https://gitlab.com",
        ),
    ),
    Real(
        "circleci_sign_publish_example-0.0.1.dev137-py3-none-any.whl.publish.attestation",
        "8cb34da1e27336f11a2c43f3f9c7433bd76f24f470c904724f06ad7f131d9e9f",
        Identity(
            "https://circleci.com/api/v2/projects/fdd9283f-e619-46af-8f9c-851f7d3e8b2b/pipeline-definitions/"
            "8e4f8ab2-8d7c-4827-9f15-de076d6d647f",
            "https://oidc.circleci.com",
        ),
    ),
    Real(
        "gcb_attestation_test-0.0.0.tar.gz.publish.attestation",
        "461317362419124b6012e855423a9078d6de8aed3e74fa78cc74d669b23dc6cf",
        Identity("919436158236-compute@developer.gserviceaccount.com", "https://accounts.google.com"),
    ),
]
STAGING = Real(
    "rfc8785-0.1.2-py3-none-any.whl.publish.attestation",
    "c4e92e9ecc828bef2aa7dba1de8ac983511f7532a0df11c770d39099a25cf201",
    Identity("william@yossarian.net", "https://github.com/login/oauth"),
)


@pytest.fixture(scope="module")
def verifier() -> SigstoreVerifier:
    return SigstoreVerifier(load_trust(None))


def read_bundle(real: Real) -> bytes:
    attestation = Attestation.model_validate_json((DATA / real.name).read_bytes())
    return attestation.to_bundle().to_json().encode()


@pytest.mark.parametrize("real", PRODUCTION, ids=lambda real: real.name[:24])
def test_real_attestations_open_for_who_made_them(verifier: SigstoreVerifier, real: Real) -> None:
    found = verifier.open_statement(read_bundle(real), [real.identity])

    assert isinstance(found, Statement)
    assert found.identity == real.identity
    assert real.digest.encode() in found.payload


@pytest.mark.parametrize("real", PRODUCTION, ids=lambda real: real.name[:24])
def test_real_attestations_are_refused_for_anybody_else(verifier: SigstoreVerifier, real: Real) -> None:
    strangers = [THOMAS, Identity(real.identity.name, f"{real.identity.issuer}.example.org")]
    found = verifier.open_statement(read_bundle(real), strangers)

    assert isinstance(found, Rejected)
    assert found.found == f"signed by {real.identity}"
    for digest in (real.digest, sha256(b"").hexdigest()):
        assert isinstance(verifier.verify(read_bundle(real), Digest(digest), [real.identity]), Rejected)


def test_an_attestation_of_the_staging_instance_is_refused_with_a_hint(verifier: SigstoreVerifier) -> None:
    found = verifier.open_statement(read_bundle(STAGING), [STAGING.identity])

    assert isinstance(found, Rejected)
    assert found.found.startswith("a certificate that the trust root in use does not vouch for")
    assert "another Sigstore instance" in found.hint


def test_the_real_bundle_of_cpython_3_12_5_is_explained(verifier: SigstoreVerifier) -> None:
    found = verifier.verify((DATA / "Python-3.12.5.tgz.sigstore").read_bytes(), CPYTHON, [THOMAS])

    assert found == Rejected(
        "a bundle without a signed checkpoint of the log",
        f"a signature of sha256:{CPYTHON} by thomas@python.org (https://accounts.google.com)",
        "bundles made by sigstore 1.x lack it; "
        "`sigstore plumbing fix-bundle --bundle FILE --in-place` fetches it from the log, online",
    )
