"""What of a release is left to be signed, and by whom."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from publisher.core.assess import Assessment
from publisher.core.delivery import Standing
from publisher.core.digests import Digest
from publisher.core.identity import Identity
from publisher.core.profile import Expected, Need, Profile, Release
from publisher.core.refusals import Refusal
from publisher.core.signing import SIGSTORE, Format, describe


@dataclass(frozen=True, slots=True)
class ToSign:
    """An artifact to be signed, by its digest; `sidecars` are the keys of what is made, the bundle first.

    `bundled` tells that its bundle is staged and good: only what repeats it is missing or wrong.
    """

    artifact: str
    digest: Digest
    sidecars: Mapping[Format, str]
    bundled: bool


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
            found = _plan_one(assessment, expected, item, published)
            signed += [] if found else [item.key]
            todo += [found] if found else []
        elif standing is not None:
            waiting.append(item.key)
    return SigningPlan(tuple(todo), tuple(signed), tuple(waiting))


def _plan_one(
    assessment: Assessment, expected: Mapping[str, Expected], item: Expected, published: Mapping[str, Digest]
) -> ToSign | None:
    snapshot = assessment.snapshot
    sidecars = {
        side.format: key
        for key, side in expected.items()
        if side.artifact == item.key and side.format in SIGSTORE
    }
    bundle = sidecars[Format.BUNDLE]
    if bundle in published or bundle in snapshot.roles[item.role].objects:
        return None
    good = {
        key
        for key in sidecars.values()
        if key in snapshot.rm and key in snapshot.checked and snapshot.checked[key].problem is None
    }
    if good == set(sidecars.values()):
        return None
    stored = snapshot.roles[item.role].objects.get(item.key)
    digest = stored.digest if stored else published[item.key]
    return ToSign(item.key, digest, sidecars, bundled=bundle in good)


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
