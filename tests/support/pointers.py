"""Sets of mutable files on the site in memory: a profile with one, hands to stage it, eyes to see it."""

import json

from publisher.core.digests import Digest, of_bytes
from publisher.core.pointers import NAME, Claim
from publisher.documents.pointers import write_claims
from tests.support.site import COMMIT, PROFILE, RELEASE, Site

INDEX = "tool/versions.json"
CATALOG = "tool/versions.json.cat"
MUTABLE = (
    PROFILE.replace(b"[classes]\n", b'[classes]\npointer = "public, max-age=60"\n')
    + rb"""
[kinds]
beta = { stage = ["b1", "b2"] }
final = {}

[[pointer]]
name = "index"
role = "linux"
files = ["tool/versions.json.cat", "tool/versions.json"]
class = "pointer"

[[alias]]
name = "current/"
to = "tool/{release}/"
kinds = "final"
"""
)


def make_set(version: str, *urls: str) -> dict[str, bytes]:
    """Make the bytes of a set: an index that leads to `urls`, and its catalog."""
    index = json.dumps({"version": version, "urls": urls}).encode()
    return {CATALOG: b"catalog of " + of_bytes(index).encode(), INDEX: index}


def digest_set(version: str | None, *urls: str) -> dict[str, Digest | None]:
    if version is None:
        return {CATALOG: None, INDEX: None}
    return {key: of_bytes(data) for key, data in make_set(version, *urls).items()}


def stage_set(
    site: Site,
    new: str,
    base: str | None,
    *urls: str,
    release: str = RELEASE,
    requires: tuple[str, ...] = (),
    commit: str = COMMIT,
) -> None:
    """Stage a set of version `new`, built from version `base`, beside what is staged, and hand over again."""
    site.stage("linux", make_set(new, *urls), release)
    claim = Claim(digest_set(base), requires)
    site.stage("linux", {NAME: write_claims({"index": claim})}, release)
    site.hand_over("linux", release, commit)


def served_set(site: Site) -> dict[str, Digest | None]:
    """Give what an edge serves of the set."""
    found = {key: site.s3.web.find(key) for key in (CATALOG, INDEX)}
    return {key: version.digest if version else None for key, version in found.items()}
