"""Checks staged sidecars against the artifacts they are about: signatures, and SBOMs by their digest."""

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from publisher.core import sums
from publisher.core.delivery import is_proven
from publisher.core.digests import Digest, of_bytes
from publisher.core.identity import Identity, Rejected, Signed
from publisher.core.plan import Version
from publisher.core.profile import Expected, Need
from publisher.core.sbom import check_sbom
from publisher.core.signing import Checked, Format
from publisher.core.snapshot import ReleaseSnapshot, SmallObject, StoredObject
from publisher.errors import GoneError
from publisher.ports import Bucket
from publisher.workflow.world import World

_MOVED = Rejected("a file that changed while it was read", "one that stays as it is", "run again")


@dataclass(frozen=True, slots=True)
class Artifact:
    """What a sidecar is about: where its bytes are, and their digest."""

    bucket: Bucket
    version: Version
    digest: Digest
    size: int


@dataclass(frozen=True, slots=True)
class _Sidecar:
    expected: Expected
    data: bytes | None
    artifact: Artifact


FindArtifact = Callable[[Expected], Artifact | None]


def check_sidecars(
    world: World, release: ReleaseSnapshot, published: Mapping[str, Digest]
) -> Mapping[str, Checked]:
    """Check every staged sidecar that is not public yet and whose artifact is there, as `_check_staged`."""
    return _check_staged(world, release, published, partial(find_artifact, world, release))


def check_own_sidecars(world: World, release: ReleaseSnapshot) -> Mapping[str, Checked]:
    """Check what is staged against what is staged, with the rights of who may not see what is public."""
    return _check_staged(world, release, {}, partial(_find_staged_artifact, world, release))


def _check_staged(
    world: World, release: ReleaseSnapshot, published: Mapping[str, Digest], find: FindArtifact
) -> Mapping[str, Checked]:
    """Check sidecars against the artifacts that `find` finds.

    What cannot be read as it was listed counts as bad, and so does whatever goes wrong in a check.
    """
    expected = world.profile.expect(release.release)
    sidecars = [
        (expected[key], stored)
        for key, stored in _list_staged(release, expected).items()
        if expected[key].format is not Format.FILE and not is_proven(expected[key], published)
    ]
    found = world.parallel.map(lambda item: _read(world, *item, find), sidecars)
    checker = Checker(world, release)
    return checker.check_all([sidecar for sidecar in found if sidecar])


class Checker:
    """Checks the sidecars of one release; the bundles come first, since others repeat what is in them."""

    def __init__(self, world: World, release: ReleaseSnapshot) -> None:
        self._world = world
        self._release = release.release
        self._accepted = world.profile.find_identities(release.release)
        self._keys = world.profile.accepted.find_keys(release.release.series)
        self._signed: dict[str, Signed] = {}

    def check_all(self, sidecars: Iterable[_Sidecar]) -> Mapping[str, Checked]:
        """Check them, and answer by their keys."""
        ordered = sorted(sidecars, key=lambda sidecar: sidecar.expected.format is not Format.BUNDLE)
        bundles = [sidecar for sidecar in ordered if sidecar.expected.format is Format.BUNDLE]
        others = ordered[len(bundles) :]
        answers = [
            *self._world.parallel.map(self._check, bundles),
            *self._world.parallel.map(self._check, others),
        ]
        return {
            sidecar.expected.key: answer for sidecar, answer in zip([*bundles, *others], answers, strict=True)
        }

    def check_bytes(self, expected: Expected, data: bytes, artifact: Artifact) -> Checked:
        """Check one sidecar that is not staged yet."""
        return self._check(_Sidecar(expected, data, artifact))

    def _check(self, sidecar: _Sidecar) -> Checked:
        item, data, artifact = sidecar.expected, sidecar.data, sidecar.artifact
        if data is None:
            return Checked(_MOVED)
        match item.format:
            case Format.BUNDLE:
                return self._check_bundle(item, data, artifact.digest)
            case Format.SIGNATURE | Format.CERTIFICATE:
                return self._compare(item, data, artifact.digest)
            case Format.SBOM:
                name = (item.artifact or "").rpartition("/")[2]
                return Checked(check_sbom(data, name, artifact.digest))
            case Format.OPENPGP:
                return self._check_openpgp(data, artifact)
            case Format.FILE:
                return Checked()

    def _check_bundle(self, item: Expected, data: bytes, digest: Digest) -> Checked:
        verdict = verify_bundle(self._world, data, digest, self._accepted)
        if isinstance(verdict, Rejected):
            return Checked(verdict)
        self._signed[item.artifact or ""] = verdict
        return Checked(by=verdict.identity.name)

    def _compare(self, item: Expected, data: bytes, digest: Digest) -> Checked:
        """Compare what repeats the bundle with it; a bundle that is public already is read from there."""
        signed = self._signed.get(item.artifact or "") or self._read_public_bundle(item, digest)
        what = "signature" if item.format is Format.SIGNATURE else "certificate"
        if signed is None:
            return Checked(Rejected(f"a {what} without a good bundle", "the one of the bundle"))
        wanted = signed.signature if item.format is Format.SIGNATURE else signed.certificate
        if data.split() == wanted.split():
            return Checked(by=signed.identity.name)
        return Checked(Rejected(f"another {what} than the bundle's", "the one of the bundle"))

    def _read_public_bundle(self, item: Expected, digest: Digest) -> Signed | None:
        bundles = (
            key
            for key, other in self._world.profile.expect(self._release).items()
            if other.artifact == item.artifact and other.format is Format.BUNDLE
        )
        found = self._world.public.read(next(bundles))
        verdict = verify_bundle(self._world, found.data, digest, self._accepted) if found else None
        return verdict if isinstance(verdict, Signed) else None

    def _check_openpgp(self, data: bytes, artifact: Artifact) -> Checked:
        memo = ("openpgp", of_bytes(data), artifact.digest, *sorted(self._keys))
        known = self._world.verdicts.get(memo)
        if isinstance(known, Checked):
            return known
        with tempfile.TemporaryDirectory(prefix="publisher-") as folder:
            # By its own name, which a refusal tells.
            path = Path(folder) / artifact.version.key.rpartition("/")[2]
            if not _download(artifact, path):
                return Checked(_MOVED)
            verdict = self._world.openpgp().verify(path, data, self._keys)
        # The bytes pass through here once, however often it is asked; each answer tells of them.
        answer = self._world.verdicts[memo] = (
            Checked(verdict, streamed=artifact.size)
            if isinstance(verdict, Rejected)
            else Checked(by=verdict, streamed=artifact.size)
        )
        return answer


def verify_bundle(
    world: World, data: bytes, digest: Digest, accepted: tuple[Identity, ...]
) -> Signed | Rejected:
    """Verify a bundle, once for the same bytes, digest and identities."""
    memo = ("bundle", of_bytes(data), digest, *map(str, accepted))
    known = world.verdicts.get(memo)
    if isinstance(known, Signed | Rejected):
        return known
    verdict = world.verdicts[memo] = world.verifier().verify(data, digest, accepted)
    return verdict


def check_hand_over(
    world: World, role: str, prefix: str, handed: SmallObject | None
) -> Signed | Rejected | None:
    """Check the signature of a hand-over, where the profile asks for one."""
    signers = world.profile.roles[role].signers
    signature = world.staging.read(prefix + sums.SIGNATURE_NAME) if signers and handed else None
    if signature is None or handed is None:
        return None
    return verify_bundle(world, signature.data, of_bytes(handed.data), signers)


def _list_staged(release: ReleaseSnapshot, expected: Mapping[str, Expected]) -> Mapping[str, StoredObject]:
    """List what is staged where it may come from; the release manager's copy of a key counts first."""
    by_roles = {
        key: stored
        for role, staging in release.roles.items()
        for key, stored in staging.objects.items()
        if key in expected and expected[key].is_from(role)
    }
    by_rm = {key: stored for key, stored in release.rm.items() if key in expected}
    staged = {**by_roles, **by_rm}
    return {key: stored for key, stored in staged.items() if expected[key].need is not Need.FORBIDDEN}


def _read(world: World, item: Expected, stored: StoredObject, find: FindArtifact) -> _Sidecar | None:
    artifact = find(item)
    if artifact is None:
        return None
    found = world.staging.read(stored.version.key)
    same = found is not None and found.version_id == stored.version.version_id
    return _Sidecar(item, found.data if found and same else None, artifact)


def find_artifact(world: World, release: ReleaseSnapshot, item: Expected) -> Artifact | None:
    """Find the artifact that a sidecar is about: staged by its role, or else public."""
    return _find_staged_artifact(world, release, item) or find_public_artifact(world, item)


def _find_staged_artifact(world: World, release: ReleaseSnapshot, item: Expected) -> Artifact | None:
    key = item.artifact or ""
    for staging in release.roles.values():
        if key in staging.objects:
            stored = staging.objects[key]
            return Artifact(world.staging, stored.version, stored.digest, stored.size)
    return None


def find_public_artifact(world: World, item: Expected) -> Artifact | None:
    """Find the artifact that a sidecar is about where it is public."""
    found = world.public.describe(item.artifact or "")
    if found is None:
        return None
    digest = found.digest or world.public.compute_digest(found.version)
    return Artifact(world.public, found.version, digest, found.size)


def _download(artifact: Artifact, path: Path) -> bool:
    """Download an artifact, and tell whether it is the one whose digest is known."""
    digest = hashlib.sha256()
    try:
        with path.open("wb") as file:
            for chunk in artifact.bucket.stream(artifact.version, 0):
                digest.update(chunk)
                file.write(chunk)
    except GoneError:
        return False
    return digest.hexdigest() == artifact.digest
