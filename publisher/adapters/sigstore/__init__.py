"""Sigstore: bundles verified offline against a pinned trust root, and digests signed under deadlines."""

from publisher.adapters.sigstore.signing import SigstoreSigner, SigstoreSigning
from publisher.adapters.sigstore.trust import Trust, load_trust
from publisher.adapters.sigstore.verifying import SigstoreVerifier

__all__ = ["SigstoreSigner", "SigstoreSigning", "SigstoreVerifier", "Trust", "load_trust"]
