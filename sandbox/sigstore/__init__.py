"""A Sigstore on loopback, so that signing and verifying are real in the sandbox and in tests.

It has what an unmodified client asks for: Fulcio with a CT log, Rekor in both generations, a time-stamping
authority, a login that needs no person, and the tokens of GitHub's workflows. Its keys are made anew each
time, nothing outside of this machine knows or trusts them, and nothing of it reaches the public log.
"""

from sandbox.sigstore.faults import Faults
from sandbox.sigstore.local import RELEASE_MANAGER, Endpoint, LocalSigstore, run_sigstore
from sandbox.sigstore.tokens import GITHUB, Login, Workflow
from sandbox.sigstore.trust import RekorVersion

__all__ = [
    "GITHUB",
    "RELEASE_MANAGER",
    "Endpoint",
    "Faults",
    "LocalSigstore",
    "Login",
    "RekorVersion",
    "Workflow",
    "run_sigstore",
]
