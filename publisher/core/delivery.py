"""What a delivery is: how each file of a role stands, and the rules that hold for every deliverer."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from publisher.core.digests import Digest, display
from publisher.core.profile import Expected, Need
from publisher.core.refusals import Refusal
from publisher.core.snapshot import StoredObject

MAX_COPY_BYTES = 5 * 1024**3
"""The largest object that S3 copies in one request, which is what keeps a copy whole and pinned."""


class Standing(StrEnum):
    """How one artifact of a release stands."""

    MISSING = "missing"
    STAGED = "staged"
    READY = "ready"
    PUBLIC = "public"
    DIFFERS = "differs"
    EXTRA = "extra"


@dataclass(frozen=True, slots=True)
class Delivered:
    """A staged object together with what the profile expects under its key."""

    expected: Expected
    stored: StoredObject


@dataclass(frozen=True, slots=True)
class RoleAssessment:
    """What one role has delivered. `standing` by public key; `commit` is what its hand-over says."""

    role: str
    handed_over: bool
    commit: str | None
    delivered: tuple[Delivered, ...]
    refusals: tuple[Refusal, ...]
    standing: Mapping[str, Standing]


def find_missing(expected: Mapping[str, Expected], there: Collection[str]) -> Iterator[str]:
    """Name the required keys that are not `there`; a sidecar is owed only for an artifact that is."""
    for key, item in expected.items():
        wanted = item.need is Need.REQUIRED and (item.artifact is None or item.artifact in there)
        if wanted and key not in there:
            yield key


def refuse_changes(staged: Mapping[str, StoredObject], published: Mapping[str, Digest]) -> Iterator[Refusal]:
    """Refuse what differs from what is public, handed over or not: no waiver may pass it by."""
    for key, stored in sorted(staged.items()):
        if published.get(key, stored.digest) != stored.digest:
            yield Refusal(
                "public",
                key,
                f"{display(stored.digest)} staged",
                f"{display(published[key])}, which is public already",
                "a public file never changes: restore the staged file, or make a new release",
            )


def refuse_sizes(staged: Mapping[str, StoredObject]) -> Iterator[Refusal]:
    """Refuse what the store cannot copy whole."""
    for key, stored in sorted(staged.items()):
        if stored.size > MAX_COPY_BYTES:
            limit = f"at most {MAX_COPY_BYTES:,}"
            yield Refusal("size", key, f"{stored.size:,} bytes", limit, "split the file")


def stand(
    good: Mapping[str, StoredObject], published: Mapping[str, Digest], otherwise: Standing
) -> dict[str, Standing]:
    """Tell of each staged object whether it is public, differs from what is, or else stands `otherwise`."""

    def judge(key: str, stored: StoredObject) -> Standing:
        if key not in published:
            return otherwise
        return Standing.PUBLIC if published[key] == stored.digest else Standing.DIFFERS

    return {key: judge(key, stored) for key, stored in good.items()}
