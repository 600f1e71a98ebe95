"""Who may sign, and what checking a signature said; the checking itself is an adapter's."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate's name (an e-mail address, a workflow's URI) and who vouches for it; never one alone."""

    name: str
    issuer: str

    def __str__(self) -> str:
        """Write it as people read it."""
        return f"{self.name} ({self.issuer})"


@dataclass(frozen=True, slots=True)
class Signed:
    """A bundle that is good, made by `identity`.

    `signature` (base64) and `certificate` (PEM) are what its detached sidecars have to hold, both with a
    newline at the end.
    """

    identity: Identity
    signature: bytes
    certificate: bytes


@dataclass(frozen=True, slots=True)
class Statement:
    """The payload of a signed statement that is good, and who signed it."""

    identity: Identity
    payload: bytes


@dataclass(frozen=True, slots=True)
class Rejected:
    """Why a signature does not count. `hint` says what may be the matter, where that can be told."""

    found: str
    expected: str
    hint: str = ""
