"""What all AWS clients share: configuration, and the errors that mean the same everywhere."""

from collections.abc import Generator
from contextlib import contextmanager

from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    TokenRetrievalError,
)

from publisher.errors import AccessDeniedError, ConflictError, GoneError, StoreError

ABSENT = {"404", "NoSuchKey", "NoSuchVersion", "NotFound", "ResourceNotFoundException"}
DENIED = {
    "403",
    "AccessDenied",
    "AccessDeniedException",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "InvalidToken",
    "MissingAuthenticationToken",
    "MissingAuthenticationTokenException",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}
# 409 ConditionalRequestConflict: two conditional writes met; the loser reads back and judges.
CONFLICT = {"409", "412", "ConditionalRequestConflict", "ConflictException", "PreconditionFailed"}


_WHO = (NoCredentialsError, PartialCredentialsError, ProfileNotFound, TokenRetrievalError)
_CURES = {
    AccessDeniedError: "log in again, or set AWS_PROFILE to the profile of your role",
    StoreError: "check the network, and AWS_ENDPOINT_URL and AWS_CA_BUNDLE if they are set",
}


@contextmanager
def opening() -> Generator[None]:
    """Turn what is wrong with profiles and credentials into our error while a client is made."""
    try:
        yield
    except BotoCoreError as error:
        raise translate_error(error, "cannot open a session") from error


def make_config(connections: int) -> Config:
    """Make a client's configuration: retries, waits, and as many connections as threads."""
    return Config(
        retries={"mode": "standard", "total_max_attempts": 5},
        max_pool_connections=connections,
        user_agent_extra="publish-gate",
        connect_timeout=10,
        read_timeout=120,
    )


def translate_error(error: ClientError | BotoCoreError, what: str) -> StoreError:
    """Turn an SDK's error into ours, by code; refused access is never taken for absence."""
    if isinstance(error, BotoCoreError):
        kind = AccessDeniedError if isinstance(error, _WHO) else StoreError
        return kind(f"{what}: {error}", _CURES.get(kind, ""))
    code = str(error.response.get("Error", {}).get("Code", ""))
    if "pre-condition failed" in str(error.response.get("Error", {}).get("Message", "")).lower():
        # The key-value store has been seen to call a stale ETag a validation error with this message.
        code = "PreconditionFailed"
    message = f"{what}: {code} {error.response.get('Error', {}).get('Message', '')}".rstrip()
    if code in ABSENT:
        return GoneError(message)
    if code in CONFLICT:
        return ConflictError(message)
    if code in DENIED:
        return AccessDeniedError(message, "check which credentials are in use: aws sts get-caller-identity")
    return StoreError(message)
