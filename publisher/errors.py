"""The one family of errors: what went wrong, the exit status it means, and what to do next."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit statuses, the same for every command."""

    DONE = 0
    FAILED = 1
    MISUSED = 2
    REFUSED = 3
    UNFINISHED = 4
    INTERRUPTED = 130


class PublisherError(Exception):
    """Something stopped the command; `next_step` says what to do about it."""

    exit_status = Exit.FAILED

    def __init__(self, message: str, next_step: str = "") -> None:
        super().__init__(message)
        self.next_step = next_step


class UsageError(PublisherError):
    """The command was asked for something that cannot be meant."""

    exit_status = Exit.MISUSED


class ConfigError(PublisherError):
    """publisher.toml or a profile is wrong; the message names file, key and what is allowed."""

    exit_status = Exit.MISUSED


class StoppedError(PublisherError):
    """A person stopped the command; the message says what was done until then."""

    exit_status = Exit.INTERRUPTED


class StoreError(PublisherError):
    """A bucket answered with an error, or not at all."""


class AccessDeniedError(StoreError):
    """The credentials in use may not do this. Never to be read as "absent"."""


class ConflictError(StoreError):
    """A conditional write lost: the object is not (or no longer) what the condition said."""


class GoneError(StoreError):
    """The source of a copy is not there any more, or no longer the one that was pinned."""


class SigningError(PublisherError):
    """Sigstore answered with an error, not in time, or not at all; or what it made is not good."""


class LoginError(SigningError):
    """Nobody is logged in to sign, or the login is over."""


class LeaseError(PublisherError):
    """Another holds the lease, or it was lost on the way."""

    exit_status = Exit.REFUSED


class GateLostError(PublisherError):
    """The gate's store is not the one that promotions were made with."""

    exit_status = Exit.REFUSED


class EdgeError(PublisherError):
    """The CDN answered with an error, not at all, or not with what was made public."""


class MovedError(PublisherError):
    """What a plan rests on has changed; `keys` names the objects."""

    exit_status = Exit.REFUSED

    def __init__(self, keys: tuple[str, ...]) -> None:
        super().__init__(f"changed since the plan was made: {', '.join(keys)}", "run again")
        self.keys = keys


class UnfinishedError(PublisherError):
    """Something public has changed, and the promotion is not finished."""

    exit_status = Exit.UNFINISHED


class ListingError(PublisherError):
    """The release database refused, or cannot be asked; what it was asked to write is not written."""


class ListingUnknownError(ListingError):
    """A write was sent to the release database, and nobody knows whether it was made: read back."""


class AnnounceError(PublisherError):
    """A forum or a webhook did not take an announcement, or it cannot be known whether it did."""
