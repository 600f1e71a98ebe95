"""Verifies the public bundles of a site in this process, and measures what that costs."""

import time
from contextlib import closing
from pathlib import Path

from publisher.adapters.sigstore import SigstoreVerifier, load_trust
from publisher.core.digests import of_bytes
from publisher.core.identity import Signed
from publisher.core.signing import Format
from publisher.documents.profile import load_profile
from sandbox.ministack import local_config
from sandbox.neighbours import TRUST_CONFIG
from sandbox.site import PUBLIC, Site
from sandbox.stage import StoryError


def measure_verifying(site: Site, profile: Path, name: str) -> float:
    """Verify every public bundle of a release, and give the processor's seconds that this took.

    Reading the files is not counted, nor is importing the library.

    Raises:
        StoryError: A bundle does not verify, or there is none.
    """
    rules = load_profile(profile)
    release = rules.parse_release(name)
    if release is None:
        raise StoryError(f"{name} is no release")
    bundles = {key: item for key, item in rules.expect(release).items() if item.format is Format.BUNDLE}
    with closing(
        site.server.root_session().client("s3", endpoint_url=site.server.endpoint, config=local_config())
    ) as s3:
        pages = s3.get_paginator("list_objects_v2").paginate(Bucket=PUBLIC)
        public = {found["Key"] for page in pages for found in page.get("Contents", []) if "Key" in found}
        pairs = [
            (
                s3.get_object(Bucket=PUBLIC, Key=key)["Body"].read(),
                of_bytes(s3.get_object(Bucket=PUBLIC, Key=item.artifact or "")["Body"].read()),
            )
            for key, item in bundles.items()
            if key in public
        ]
    verifier = SigstoreVerifier(load_trust(site.config.parent / TRUST_CONFIG))
    accepted = rules.find_identities(release)
    start = time.process_time()
    verdicts = [verifier.verify(bundle, digest, accepted) for bundle, digest in pairs]
    spent = time.process_time() - start
    if not verdicts or not all(isinstance(verdict, Signed) for verdict in verdicts):
        raise StoryError("a public bundle is missing or does not verify")
    return spent
