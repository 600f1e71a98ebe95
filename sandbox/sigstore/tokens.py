"""OpenID Connect: tokens for people who log in with a browser, and for workflows as GitHub runs them."""

import base64
import secrets
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from sandbox.sigstore.encoding import Clock, sha256

GITHUB = "https://token.actions.githubusercontent.com"
"""Who issues the tokens of GitHub's workflows, by their claims; this server signs them."""

AUDIENCE = "sigstore"

_LIFETIME = 300
_ALGORITHM = "ES256"
_LOCAL = {"localhost", "127.0.0.1"}


@dataclass(frozen=True, slots=True)
class Login:
    """Who sits at the browser: the certificate's name (an e-mail address), and who vouches for that."""

    name: str
    issuer: str


@dataclass(frozen=True, slots=True)
class Workflow:
    """A run of a workflow, by GitHub's names of its claims.

    The identity that it signs as is `https://github.com/` and its `job_workflow_ref`.
    """

    job_workflow_ref: str = "example/project/.github/workflows/release.yml@refs/heads/main"
    repository: str = "example/project"
    ref: str = "refs/heads/main"
    sha: str = "5" * 40
    workflow: str = "release"
    event_name: str = "workflow_dispatch"
    runner_environment: str = "github-hosted"


@dataclass(frozen=True, slots=True)
class _Consent:
    """What a browser has agreed to, and its client's proof to come (PKCE, RFC 7636)."""

    challenge: str
    client: str
    redirect: str


class TokenIssuer:
    """Issues tokens, and tells its own from others."""

    def __init__(self, issuer: str, clock: Clock, login: Login) -> None:
        self._issuer = issuer
        self._clock = clock
        self._login = login
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._lock = threading.Lock()
        self._consents: dict[str, _Consent] = {}
        self._runs: dict[str, Workflow] = {}

    def make_token(self, login: Login, *, lifetime: int = _LIFETIME, audience: str = AUDIENCE) -> str:
        """Make a person's token, as Sigstore's own provider does for one that another has vouched for."""
        claims = {
            "iss": self._issuer,
            "sub": login.name,
            "email": login.name,
            "email_verified": True,
            "federated_claims": {"connector_id": login.issuer, "user_id": login.name},
        }
        return self._sign(claims, lifetime=lifetime, audience=audience)

    def make_workflow_token(
        self, workflow: Workflow, *, lifetime: int = _LIFETIME, audience: str = AUDIENCE
    ) -> str:
        """Make a workflow's token, as GitHub does."""
        claims = {
            "iss": GITHUB,
            "sub": f"repo:{workflow.repository}:ref:{workflow.ref}",
            # The workflow that was started; it may have called the one that signs.
            "workflow_ref": workflow.job_workflow_ref,
            **asdict(workflow),
        }
        return self._sign(claims, lifetime=lifetime, audience=audience)

    def _sign(self, claims: Mapping[str, Any], *, lifetime: int, audience: str) -> str:
        now = int(self._clock().timestamp())
        times = {"aud": audience, "iat": now, "nbf": now, "exp": now + lifetime}
        return jwt.encode({**claims, **times}, self._key, algorithm=_ALGORITHM)

    def check(self, token: str) -> dict[str, Any]:
        """Give the claims of a token for Sigstore that is this server's and valid now.

        Raises:
            jwt.PyJWTError: It is not.
        """
        claims = jwt.decode(
            token,
            self._key.public_key(),
            algorithms=[_ALGORITHM],
            audience=AUDIENCE,
            # The library would take the machine's clock.
            options={"verify_exp": False, "verify_nbf": False, "verify_iat": False},
        )
        if not claims["nbf"] <= self._clock().timestamp() < claims["exp"]:
            raise jwt.ExpiredSignatureError("the token is not valid at this time")
        return claims

    def authorize(self, query: Mapping[str, str]) -> str:
        """Consent at once, as the person would, and give the address that the browser goes to next.

        Raises:
            KeyError, ValueError: It is no request for a code with PKCE that leads back to this machine.
        """
        redirect = query["redirect_uri"]
        if query["response_type"] != "code" or query["code_challenge_method"] != "S256":
            raise ValueError("only codes with a SHA-256 challenge are given")
        if urlsplit(redirect).hostname not in _LOCAL:
            raise ValueError(f"{redirect} does not lead to this machine")
        code = secrets.token_urlsafe()
        with self._lock:
            self._consents[code] = _Consent(query["code_challenge"], query["client_id"], redirect)
        return f"{redirect}?{urlencode({'code': code, 'state': query['state']})}"

    def exchange(self, form: Mapping[str, str]) -> str:
        """Give the token for a code, once, to the client that asked for the code.

        Raises:
            KeyError, ValueError: The code or the proof is wrong.
        """
        with self._lock:
            consent = self._consents.pop(form["code"])
        challenge = base64.urlsafe_b64encode(sha256(form["code_verifier"].encode())).rstrip(b"=").decode()
        if challenge != consent.challenge or form["redirect_uri"] != consent.redirect:
            raise ValueError("the code was given to another client")
        return self.make_token(self._login, audience=consent.client)

    def start_run(self, workflow: Workflow) -> str:
        """Give the secret with which a run of this workflow asks for its tokens."""
        secret = secrets.token_urlsafe()
        with self._lock:
            self._runs[secret] = workflow
        return secret

    def give_run_its_token(self, secret: str, audience: str) -> str:
        """Make a token for the run that has this secret.

        Raises:
            KeyError: None has.
        """
        return self.make_workflow_token(self._runs[secret], audience=audience)
