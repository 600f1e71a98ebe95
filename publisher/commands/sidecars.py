"""`publisher attach` and `publisher amend`: the release manager's other sidecars, before and after."""

from dataclasses import dataclass, replace
from pathlib import Path

from publisher.core.decide import list_withdrawn, next_number
from publisher.core.digests import Digest, display, of_bytes
from publisher.core.identity import Rejected
from publisher.core.plan import PlannedFile, Version
from publisher.core.profile import RM, Expected, Need, Profile, Release
from publisher.core.promotions import Amendment, fold
from publisher.core.refusals import Refusal
from publisher.core.signatures import refuse_identity
from publisher.core.signing import SIGNATURES
from publisher.core.snapshot import Described, ReleaseSnapshot, Snapshot
from publisher.errors import ConflictError, PublisherError, StoreError, UnfinishedError, UsageError
from publisher.outcomes import Amended, Attached, Outcome, Refused
from publisher.ports import Signer
from publisher.workflow.edge import forget, look
from publisher.workflow.finishing import Held, finish, read_live
from publisher.workflow.gather import gather
from publisher.workflow.lease import LeaseHolder, hold_lease
from publisher.workflow.pages import PageWriter
from publisher.workflow.proofs import Artifact, Checker, find_artifact, find_public_artifact
from publisher.workflow.records import publish_amendments, write_record
from publisher.workflow.releases import parse_release, suggest_release
from publisher.workflow.world import World

MAX_BYTES = 16 * 1024**2
"""The most that a sidecar may have; signatures have some kilobytes, SBOMs some hundred."""


@dataclass(frozen=True, slots=True)
class _Sidecar:
    """A sidecar at hand, and what the profile says of its key."""

    expected: Expected
    data: bytes

    @property
    def key(self) -> str:
        return self.expected.key

    @property
    def digest(self) -> Digest:
        return of_bytes(self.data)


def run_attach(world: World, name: str, path: str) -> Outcome:
    """Stage one sidecar of the release manager's, once it is checked against its artifact.

    Raises:
        UsageError: The file cannot be read, or is no sidecar of this release.
        LeaseError: Another holds the lease.
    """
    with suggest_release(world, name):
        release = parse_release(world.profile, name)
    sidecar = _read(world.profile, release, Path(path))
    if sidecar.expected.role != RM:
        raise UsageError(
            f"found {sidecar.key}, which {sidecar.expected.role} delivers",
            f"{sidecar.expected.role} uploads it; once it is public: publisher amend",
        )
    with hold_lease(world, f"attach to {name}") as (lease, _):
        snapshot = gather(world, [release])
        (found,) = snapshot.releases
        artifact = find_artifact(world, found, sidecar.expected)
        refusals = [
            *list_withdrawn(snapshot),
            *_refuse_public(sidecar, snapshot),
            *_check(world, found, sidecar, artifact),
        ]
        if refusals:
            return Refused(tuple(refusals), waivable=False)
        where = f"{RM}/{name}/{sidecar.key}"
        there = found.rm.get(sidecar.key)
        changed = there is None or there.digest != sidecar.digest
        if changed:
            lease.check()
            world.staging.put(where, sidecar.data)
    return Attached(name, sidecar.key, sidecar.digest, changed=changed)


def run_amend(world: World, name: str, path: str, reason: str) -> Outcome:
    """Repair one public sidecar, on record; run again, it finishes.

    Raises:
        UsageError: The file cannot be read, is no sidecar of this release, or there is no reason.
        LoginError: Nobody is logged in to sign the record.
        LeaseError: Another holds the lease.
        UnfinishedError: The sidecar is public and not everything is done; running again finishes it.
    """
    if not reason.strip():
        raise UsageError("found an empty reason, expected why it is repaired", "say it: --reason '…'")
    with suggest_release(world, name):
        release = parse_release(world.profile, name)
    sidecar = _read(world.profile, release, Path(path))
    recorders = world.profile.find_recorders(release)
    signer = world.signing().log_in() if world.signed_records else None
    refusals = tuple(refuse_identity(recorders, name, signer.identity)) if signer else ()
    if refusals:
        return Refused(refusals, waivable=False)
    with hold_lease(world, f"amend {name}") as held:
        for promotion in read_live(world, [name]):
            finish(world, held, promotion.plan, signer, [], deep=False)
        snapshot = gather(world, [release])
        return _amend(world, held, snapshot, sidecar, reason.strip(), signer)


def _amend(
    world: World,
    held: Held,
    snapshot: Snapshot,
    sidecar: _Sidecar,
    reason: str,
    signer: Signer | None,
) -> Outcome:
    lease, keeper = held
    (release,) = snapshot.releases
    name = release.release.name
    recorded = fold(world.state.read_records(name, release.numbers)).get(sidecar.key)
    there = _describe(world, sidecar.key)
    # What is staged by now does not count: the sidecar is about the bytes that are public.
    artifact = find_public_artifact(world, sidecar.expected)
    refusals = [
        *list_withdrawn(snapshot),
        *_refuse_amendment(sidecar, there, recorded),
        *_check(world, release, sidecar, artifact),
    ]
    if there is None or refusals:
        return Refused(tuple(refusals), waivable=False)
    publish_amendments(world, lease.check, release.release, release.numbers)
    if there.digest == sidecar.digest == recorded:
        return Amended(name, sidecar.key, sidecar.digest, changed=False)
    staged = f"{RM}/{name}/{sidecar.key}"
    lease.check()
    world.staging.put(staged, sidecar.data)
    try:
        public = _replace(world, lease, sidecar, there)
        number = next_number(release, snapshot)
        amendment = Amendment(
            schema=1,
            release=name,
            number=number,
            key=sidecar.key,
            artifact=sidecar.expected.artifact or "",
            replaces=recorded or there.digest or sidecar.digest,
            digest=sidecar.digest,
            size=len(sidecar.data),
            source=_pin(world, staged),
            reason=reason,
            who=world.caller.who(),
            when=world.staging.now(),
        )
        _show(world, lease, amendment, sidecar, public)
        if world.profile.pages is not None:
            pages = PageWriter(world, keeper, lease.check, world.profile.pages)
            pages.refresh([sidecar.key], f"amendment-{number}")
        write_record(
            world,
            lease.check,
            amendment,
            signer=signer,
            recorders=world.profile.find_recorders(release.release),
            public=world.profile.place_record(release.release, number),
        )
    except Exception as error:
        cure = error.next_step if isinstance(error, PublisherError) else ""
        raise UnfinishedError(
            f"{sidecar.key} may be public in its new form, and is not finished: {error}",
            cure or "run the same command again",
        ) from error
    return Amended(name, sidecar.key, sidecar.digest, changed=True)


def _replace(world: World, lease: LeaseHolder, sidecar: _Sidecar, there: Described) -> Version:
    """Swap the public sidecar, unless an earlier run has done that, and give its present version."""
    conflict: ConflictError | None = None
    if there.digest != sidecar.digest:
        lease.check()
        try:
            world.public.replace(sidecar.key, sidecar.data, sidecar.expected.delivery, there.version.etag)
        except ConflictError as error:
            conflict = error
    found = world.public.describe(sidecar.key)
    # After a conflict, it may be what a first try of this very request has written.
    if conflict and (found is None or found.digest != sidecar.digest):
        raise conflict
    return found.version if found else there.version


def _describe(world: World, key: str) -> Described | None:
    """Describe a public file; one whose store holds no digest is streamed."""
    found = world.public.describe(key)
    if found is None or found.digest is not None:
        return found
    return replace(found, digest=world.public.compute_digest(found.version))


def _pin(world: World, key: str) -> Version:
    found = world.staging.describe(key)
    if found is None:
        raise StoreError(f"{key} was removed just now", "run again")
    return found.version


def _show(
    world: World, lease: LeaseHolder, amendment: Amendment, sidecar: _Sidecar, version: Version
) -> None:
    """Let every edge forget the old one, and see that the new one is served."""
    world.observer.step("look", f"every edge forgets {sidecar.key}, then serves what is new")
    forget(world, lease.check, [sidecar.key], f"amendment-{amendment.number}")
    file = PlannedFile(
        key=sidecar.key,
        release=amendment.release,
        role=RM,
        digest=amendment.digest,
        size=amendment.size,
        source=amendment.source,
        delivery=sidecar.expected.delivery,
        sign=False,
        artifact=amendment.artifact,
        row=None,
    )
    look(world, lease.check, {file: version}, promotion=f"amendment-{amendment.number}", deep=True)


def _read(profile: Profile, release: Release, path: Path) -> _Sidecar:
    """Read a sidecar, and find by its name which one of the release it is."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(f"found {path} with {path.stat().st_size:,} bytes, expected a sidecar")
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "correct the file's name") from error
    expected = profile.expect(release)
    named = [item for key, item in expected.items() if key.rpartition("/")[2] == path.name]
    sidecars = [item for item in named if item.artifact and item.need is not Need.FORBIDDEN]
    if len(sidecars) == 1:
        return _Sidecar(sidecars[0], data)
    if len(sidecars) > 1:
        keys = ", ".join(item.key for item in sidecars)
        raise UsageError(f"found {path.name}, which is any of {keys}", "ops puts it at its key under _rm/")
    if named:
        raise UsageError(
            f"found {path.name}, which is an artifact or not part of {release.name}, expected a sidecar",
            "builders upload artifacts; a public artifact never changes",
        )
    raise UsageError(
        f"found {path.name}, expected the name of a sidecar of {release.name}",
        "name it as it is to be public, such as ARTIFACT.asc",
    )


def _check(
    world: World, release: ReleaseSnapshot, sidecar: _Sidecar, artifact: Artifact | None
) -> list[Refusal]:
    if artifact is None:
        found, cure = "no such artifact, staged or public", "wait until it is uploaded"
        return [Refusal("extra", sidecar.key, found, sidecar.expected.artifact or "", cure)]
    problem = Checker(world, release).check_bytes(sidecar.expected, sidecar.data, artifact).problem
    if problem is None:
        return []
    rule = "signature" if sidecar.expected.format in SIGNATURES else "sbom"
    return [_refuse(rule, sidecar.key, problem)]


def _refuse(rule: str, key: str, problem: Rejected) -> Refusal:
    return Refusal(rule, key, problem.found, problem.expected, problem.hint or "make it again")


def _refuse_public(sidecar: _Sidecar, snapshot: Snapshot) -> list[Refusal]:
    public = snapshot.published().get(sidecar.key)
    if public in {None, sidecar.digest}:
        return []
    (release,) = snapshot.releases
    return [
        Refusal(
            "public",
            sidecar.key,
            f"{display(public or '')}, which is public already",
            "a sidecar that is not public yet",
            f"run: publisher amend {release.release.name} … --reason '…'",
        )
    ]


def _refuse_amendment(sidecar: _Sidecar, there: Described | None, recorded: Digest | None) -> list[Refusal]:
    if there is None:
        cure = "before it is public: publisher attach, or its builder uploads it"
        return [Refusal("missing", sidecar.key, "no such public file", "a public sidecar", cure)]
    if "immutable" in sidecar.expected.delivery.cache_control:
        # Caches and browsers keep it for as long as they were told to, whatever is done here.
        found = f"it served as {sidecar.expected.delivery.cache_control!r}"
        cure = "only a new release brings another; or let [classes] of the profile serve it for a while only"
        return [Refusal("public", sidecar.key, found, "a sidecar that may change", cure)]
    if recorded is None or there.digest in {recorded, sidecar.digest}:
        return []
    return [
        Refusal(
            "drift",
            sidecar.key,
            f"{display(there.digest or '')} public",
            f"{display(recorded)} by the record",
            "ops looks into the bucket's versions of it first",
        )
    ]
