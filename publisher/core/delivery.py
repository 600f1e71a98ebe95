"""What a delivery is: how each file of a role stands, and the rules that hold for every deliverer."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from publisher.core.digests import Digest, display
from publisher.core.identity import Rejected
from publisher.core.profile import Expected, Need
from publisher.core.refusals import Refusal
from publisher.core.signing import SIGNATURES, SIGSTORE, Checked, Format
from publisher.core.snapshot import ReleaseSnapshot, StoredObject

MAX_COPY_BYTES = 5 * 1024**3
"""The largest object that S3 copies in one request, which is what keeps a copy whole and pinned."""

_UNCHECKED = Checked(Rejected("a file that was not checked", "one that was"))


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


def refuse_changes(
    staged: Mapping[str, StoredObject], published: Mapping[str, Digest], release: ReleaseSnapshot
) -> Iterator[Refusal]:
    """Refuse what differs from what is public, handed over or not: no waiver may pass it by."""
    for key, stored in sorted(staged.items()):
        if key in published and not release.is_public(key, stored.digest, published):
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


def is_proven(item: Expected, published: Mapping[str, Digest]) -> bool:
    """Tell whether a sidecar is public together with its artifact; beside another's it proves nothing yet."""
    return item.key in published and item.artifact in published


def list_trusted(expected: Mapping[str, Expected], published: Mapping[str, Digest]) -> set[str]:
    """List what is public, but for signatures whose artifact is not."""
    doubtful = {
        key for key, item in expected.items() if item.format in SIGNATURES and not is_proven(item, published)
    }
    return published.keys() - doubtful


def find_bad(
    staged: Mapping[str, Expected], published: Mapping[str, Digest], release: ReleaseSnapshot
) -> Mapping[str, Rejected]:
    """Find the staged sidecars that do not prove what they should; what is public already is not looked at.

    One that nobody has checked is as bad as one that failed.
    """
    checked = {
        key: release.checked.get(key, _UNCHECKED)
        for key, item in sorted(staged.items())
        if item.format is not Format.FILE and not is_proven(item, published)
    }
    return {key: found.problem for key, found in checked.items() if found.problem}


def refuse_bad(
    bad: Mapping[str, Rejected], staged: Mapping[str, Expected], release: ReleaseSnapshot
) -> Iterator[Refusal]:
    """Refuse the sidecars that are bad."""
    for key, problem in bad.items():
        item = staged[key]
        rule = "signature" if item.format in SIGNATURES else "sbom"
        cure = f"{problem.hint}; {_cure(item, release)}" if problem.hint else _cure(item, release)
        yield Refusal(rule, key, problem.found, problem.expected, cure)


def refuse_unsigned(item: Expected, release: ReleaseSnapshot) -> Refusal:
    """Refuse an artifact without a signature that it has to have; no waiver covers that."""
    return Refusal(
        "signature",
        item.key,
        f"no signature of {(item.artifact or '').rpartition('/')[2]}",
        "one by an accepted identity, staged or public",
        _cure(item, release),
    )


def _cure(item: Expected, release: ReleaseSnapshot) -> str:
    name = release.release.name
    role = _find_role(item, release)
    if role:
        return f"{role} makes it again, uploads it and hands over again"
    if item.format in SIGSTORE:
        return f"run: publisher sign {name}"
    return f"run: publisher attach {name} {item.key.rpartition('/')[2]}"


def _find_role(item: Expected, release: ReleaseSnapshot) -> str | None:
    """Name the role that has staged `item`, or is to; None for the release manager."""
    if item.builder and release.has_staged(item.builder, item.key):
        return item.builder
    return item.role if item.role in release.roles else None


def stand(
    good: Mapping[str, StoredObject],
    published: Mapping[str, Digest],
    release: ReleaseSnapshot,
    otherwise: Standing,
) -> dict[str, Standing]:
    """Tell of each staged object whether it is public, differs from what is, or else stands `otherwise`."""

    def judge(key: str, stored: StoredObject) -> Standing:
        if key not in published:
            return otherwise
        return Standing.PUBLIC if release.is_public(key, stored.digest, published) else Standing.DIFFERS

    return {key: judge(key, stored) for key, stored in good.items()}
