"""What of a release is left to be signed, and by whom."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from publisher.core.assess import Assessment
from publisher.core.delivery import Standing, is_proven
from publisher.core.digests import Digest
from publisher.core.identity import Identity
from publisher.core.profile import Expected, Need, Profile, Release
from publisher.core.refusals import Refusal
from publisher.core.signing import SIGSTORE, Format, describe
from publisher.core.snapshot import ReleaseSnapshot, StoredObject


@dataclass(frozen=True, slots=True)
class ToSign:
    """An artifact to be signed, by its digest; `sidecars` are the keys of what is made, the bundle first.

    `bundle` is where a good bundle of it is staged or, if it `is_public`, public: then only what repeats that
    bundle is missing or wrong.
    """

    artifact: str
    digest: Digest
    sidecars: Mapping[Format, str]
    bundle: str | None = None
    is_public: bool = False


@dataclass(frozen=True, slots=True)
class SigningPlan:
    """What is to be signed now. `signed` needs nothing; `waiting` is not handed over yet, or refused."""

    todo: tuple[ToSign, ...]
    signed: tuple[str, ...]
    waiting: tuple[str, ...]


def plan_signing(assessment: Assessment, profile: Profile, published: Mapping[str, Digest]) -> SigningPlan:
    """Plan what to sign: every artifact in place that lacks a valid bundle for its present digest.

    What has a public bundle, or one that its builder delivered, is never signed again. Nothing is signed
    before it is handed over: a signature puts the digest into a public log.
    """
    expected = profile.expect(assessment.snapshot.release)
    todo: list[ToSign] = []
    signed: list[str] = []
    waiting: list[str] = []
    for item in expected.values():
        if not item.sign or item.need is Need.FORBIDDEN:
            continue
        standing = assessment.roles[item.role].standing.get(item.key)
        if standing in {Standing.READY, Standing.PUBLIC}:
            found = _Signature(assessment.snapshot, expected, item, published)
            signed += [item.key] if found.is_complete else []
            # A bundle of its builder's that is bad is for the builder to mend.
            waiting += [item.key] if found.is_spoilt else []
            todo += [] if found.is_complete or found.is_spoilt else [found.plan()]
        elif standing is not None:
            waiting.append(item.key)
    return SigningPlan(tuple(todo), tuple(signed), tuple(waiting))


class _Signature:
    """How far one artifact is signed."""

    def __init__(
        self,
        snapshot: ReleaseSnapshot,
        expected: Mapping[str, Expected],
        item: Expected,
        published: Mapping[str, Digest],
    ) -> None:
        self._snapshot = snapshot
        self._item = item
        self._published = published
        self._sidecars = {
            side.format: side
            for side in expected.values()
            if side.artifact == item.key and side.format in SIGSTORE
        }
        self._bundle = self._sidecars[Format.BUNDLE]

    @property
    def is_complete(self) -> bool:
        """Tell whether all of its sidecars are there and good."""
        return all(map(self._is_good, self._sidecars.values()))

    @property
    def is_spoilt(self) -> bool:
        """Tell whether its builder delivered a bundle that is not good."""
        by_builder = self._snapshot.has_staged(self._item.role, self._bundle.key)
        return by_builder and not self._is_good(self._bundle)

    def plan(self) -> ToSign:
        """Plan what is missing: all of it, or what a good bundle already says."""
        stored = self._find_stored(self._item.role, self._item.key)
        digest = stored.digest if stored else self._published[self._item.key]
        sidecars = {kind: side.key for kind, side in self._sidecars.items()}
        if is_proven(self._bundle, self._published):
            return ToSign(self._item.key, digest, sidecars, self._bundle.key, is_public=True)
        found = self._find_sidecar(self._bundle) if self._is_good(self._bundle) else None
        return ToSign(self._item.key, digest, sidecars, found.version.key if found else None)

    def _is_good(self, side: Expected) -> bool:
        if is_proven(side, self._published):
            return True
        checked = self._snapshot.checked.get(side.key)
        good = checked is not None and checked.problem is None
        return good and self._find_sidecar(side) is not None

    def _find_sidecar(self, side: Expected) -> StoredObject | None:
        return self._snapshot.rm.get(side.key) or self._find_stored(self._item.role, side.key)

    def _find_stored(self, role: str, key: str) -> StoredObject | None:
        return self._snapshot.roles[role].objects.get(key) if role in self._snapshot.roles else None


def refuse_identity(accepted: tuple[Identity, ...], release: str, identity: Identity) -> Iterator[Refusal]:
    """Refuse to sign as somebody whose signature for `release` would not count."""
    if identity not in accepted:
        yield Refusal(
            "identity",
            release,
            f"a login as {identity}",
            describe(accepted),
            "log in as one of them, or add the identity to the profile",
        )


def refuse_nobody(profile: Profile, release: Release, *, signed_records: bool) -> Iterator[Refusal]:
    """Refuse a release that nobody may sign, though something of it, or its record, is to be signed."""
    asked = any(item.sign and item.need is not Need.FORBIDDEN for item in profile.expect(release).values())
    nobody = asked and not profile.find_identities(release)
    if nobody or (signed_records and not profile.find_recorders(release)):
        where = f"series {release.series}" if release.series else "the project"
        yield Refusal(
            "identity",
            release.name,
            f"no identity that may sign for {where}",
            "at least one, with its issuer",
            'add it to [identity] of the profile; for records alone, ops may set records = "unsigned"',
        )
