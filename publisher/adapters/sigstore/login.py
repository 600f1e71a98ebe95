"""Identity tokens: from the environment, the surrounding CI, or a person at a browser, in this order.

A token is as good as a signature until it ends. None is in a message, and errors here are raised without
what they were made of, since a server's answer may repeat what it was sent.
"""

from collections.abc import Mapping

from sigstore.errors import Error
from sigstore.models import SigningConfig
from sigstore.oidc import IdentityError, IdentityToken, Issuer, detect_credential

from publisher.adapters.sigstore.network import Connections, describe, equip, run_within
from publisher.adapters.sigstore.reading import make_plain
from publisher.errors import LoginError, SigningError

TOKEN_VARIABLE = "SIGSTORE_IDENTITY_TOKEN"  # noqa: S105 - the variable's name, as the library's own CLI has it

_THREE_WAYS = (
    f"log in with a browser (from a terminal), put an identity token into {TOKEN_VARIABLE}, or run where CI "
    "gives one (on GitHub: `permissions: id-token: write`)"
)
_EXPIRED = "ExpiredSignatureError"
"""The class name of the JWT library's error, which is not a dependency of ours."""


def get_token(
    environment: Mapping[str, str], services: SigningConfig, *, interactive: bool, seconds: float
) -> IdentityToken:
    """Get an identity token. Servers have `seconds` for each answer; a person has any time.

    Raises:
        LoginError: There is none, or it is not valid.
        SigningError: Who gives it did not answer, or not in time.
    """
    raw = environment.get(TOKEN_VARIABLE)
    if raw:
        return _read_token(raw.strip(), f"the identity token in {TOKEN_VARIABLE}")
    raw = _ask_ci(seconds)
    if raw:
        return _read_token(raw, "the identity token of the surrounding CI")
    if interactive:
        return _ask_person(services, seconds)
    raise LoginError("found no identity token, expected somebody who is logged in to sign", _THREE_WAYS)


def _read_token(raw: str, name: str) -> IdentityToken:
    try:
        return IdentityToken(raw)
    except IdentityError as error:
        cause = error.__cause__
        expired = type(cause).__name__ == _EXPIRED
        reason = "it has expired" if expired else make_plain(cause or error)
        raise LoginError(f"{name} is not valid: {reason}", "get a fresh one") from None


def _ask_ci(seconds: float) -> str | None:
    try:
        return run_within(seconds, detect_credential)
    except IdentityError as error:
        # What follows is the answer itself.
        reason = make_plain(error).partition(", body=")[0]
        raise LoginError(f"the surrounding CI gave no identity token: {reason}", _THREE_WAYS) from None
    except Exception as error:  # noqa: BLE001 - its requests and its JSON may fail in any way
        raise SigningError(
            f"the surrounding CI gave no identity token: it {describe(error, seconds)}", "run again"
        ) from None


def _ask_person(services: SigningConfig, seconds: float) -> IdentityToken:
    try:
        url = services.get_oidc_url()
    except Error as error:
        raise LoginError(
            f"the trust configuration in use has no login: {make_plain(error)}", _THREE_WAYS
        ) from None
    try:
        issuer = run_within(seconds, lambda: Issuer(url))
        equip(issuer.session, Connections(seconds))
        # Not in a thread of its own: a person takes their time, and may interrupt.
        return issuer.identity_token()
    # The latter two: nobody is at the terminal, and the browser came back without what it was sent for.
    except (IdentityError, EOFError, KeyError) as error:
        reason = make_plain(error) or "nobody completed it"
        raise LoginError(f"the login at {url} failed: {reason}", _THREE_WAYS) from None
    except Exception as error:  # noqa: BLE001 - as above
        raise SigningError(
            f"the login at {url} failed: the server {describe(error, seconds)}",
            f"run again, or {_THREE_WAYS}",
        ) from None
