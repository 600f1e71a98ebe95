"""`publisher sign`: one login signs, by digest, whatever lacks a valid bundle; run again, it goes on."""

from collections.abc import Iterable
from dataclasses import dataclass

from publisher.core.assess import assess_release
from publisher.core.identity import Identity, Rejected, Signed
from publisher.core.profile import RM, Release
from publisher.core.refusals import Refusal
from publisher.core.signatures import SigningPlan, ToSign, plan_signing, refuse_identity, refuse_nobody
from publisher.core.signing import Format
from publisher.core.withdrawals import refuse_withdrawn
from publisher.errors import SigningError, StoppedError, StoreError
from publisher.outcomes import Outcome, Refused, SignedRelease, SignedReleases
from publisher.ports import Bucket, Signer
from publisher.workflow.gather import gather
from publisher.workflow.lease import LeaseHolder, hold_lease
from publisher.workflow.proofs import verify_bundle
from publisher.workflow.releases import parse_releases, suggest_opened, suggest_release
from publisher.workflow.world import World


@dataclass(frozen=True, slots=True)
class _Job:
    """One artifact to be signed. `accepted` are whose signatures of its release count."""

    release: str
    accepted: tuple[Identity, ...]
    item: ToSign


def run(world: World, names: tuple[str, ...]) -> Outcome:
    """Sign every artifact in place that lacks a valid bundle for its present digest.

    Each bundle is verified before it is stored, and stored as soon as it is made: after a failure half-way,
    the next run signs what is left.

    Raises:
        UsageError: A name is no release of this project.
        LoginError: Nobody is logged in.
        SigningError: Sigstore failed, or what it made is not good.
        LeaseError: Another holds the lease.
    """
    with suggest_release(world, *names):
        releases = parse_releases(world.profile, names)
    plans, refusals = _plan(world, releases)
    if refusals:
        suggest_opened(world, refusals)
        return Refused(refusals, waivable=False)
    if not any(plan.todo for plan in plans):
        return _conclude(releases, plans, frozenset())
    # Before the lease: a browser waits for a person. What only lacks copies of its bundle needs no login.
    fresh = any(item.bundle is None for plan in plans for item in plan.todo)
    signer = world.signing().log_in() if fresh else None
    with hold_lease(world, f"sign {', '.join(names)}") as (lease, _):
        plans, refusals = _plan(world, releases)
        if signer:
            refusals += _refuse_login(world, releases, plans, signer)
        if refusals:
            return Refused(refusals, waivable=False)
        jobs = [
            _Job(release.name, world.profile.find_identities(release), item)
            for release, plan in zip(releases, plans, strict=True)
            for item in plan.todo
        ]
        done = _sign_all(world, lease, jobs, signer)
    return _conclude(releases, plans, done)


def _plan(world: World, releases: tuple[Release, ...]) -> tuple[list[SigningPlan], tuple[Refusal, ...]]:
    snapshot = gather(world, releases)
    published = snapshot.published()
    assessments = [assess_release(found, world.profile, published) for found in snapshot.releases]
    refusals = [
        refusal
        for assessment in assessments
        for refusal in (
            *(refusal for refusal in assessment.refusals if refusal.rule == "not-open"),
            *refuse_nobody(world.profile, assessment.snapshot.release, signed_records=False),
            *refuse_withdrawn(assessment.snapshot.release.name, assessment.snapshot.withdrawn),
        )
    ]
    plans = [plan_signing(assessment, world.profile, published) for assessment in assessments]
    return plans, tuple(refusals)


def _refuse_login(
    world: World, releases: tuple[Release, ...], plans: Iterable[SigningPlan], signer: Signer
) -> tuple[Refusal, ...]:
    return tuple(
        refusal
        for release, plan in zip(releases, plans, strict=True)
        if plan.todo
        for refusal in refuse_identity(world.profile.find_identities(release), release.name, signer.identity)
    )


def _sign_all(
    world: World, lease: LeaseHolder, jobs: list[_Job], signer: Signer | None
) -> frozenset[tuple[str, str]]:
    done: set[tuple[str, str]] = set()

    def sign(job: _Job) -> None:
        _sign(world, lease, job, signer)
        done.add((job.release, job.item.artifact))
        world.observer.advance(job.item.artifact, 0)

    who = f", as {signer.identity}" if signer else ""
    world.observer.step("sign", f"{len(jobs)} artifacts by digest{who}")
    world.observer.expect(len(jobs), 0)
    try:
        world.parallel.map(sign, jobs)
    except KeyboardInterrupt:
        raise StoppedError(f"interrupted: {len(done)} of {len(jobs)} artifacts are signed") from None
    except SigningError as error:
        said = f"{error}; {len(done)} of {len(jobs)} artifacts are signed"
        raise type(error)(said, error.next_step or "run the same command again") from error
    finally:
        world.observer.finish()
    return frozenset(done)


def _sign(world: World, lease: LeaseHolder, job: _Job, signer: Signer | None) -> None:
    """Sign one artifact: the bundle first, so that a re-run can make from it whatever is missing."""
    keys = {kind: f"{RM}/{job.release}/{key}" for kind, key in job.item.sidecars.items()}
    if job.item.bundle is not None:
        bucket = world.public if job.item.is_public else world.staging
        signed = _verify(world, job, _read_bundle(bucket, job.item.bundle))
    elif signer is None:
        raise SigningError(f"{job.item.artifact} needs a signature now", "run the same command again")
    else:
        bundle = signer.sign(job.item.digest)
        signed = _verify(world, job, bundle)
        lease.check()
        world.staging.put(keys[Format.BUNDLE], bundle)
    for kind, data in ((Format.SIGNATURE, signed.signature), (Format.CERTIFICATE, signed.certificate)):
        if kind in keys:
            lease.check()
            world.staging.put(keys[kind], data)


def _read_bundle(bucket: Bucket, key: str) -> bytes:
    found = bucket.read(key)
    if found is None:
        raise StoreError(f"{key} was removed just now", "run again")
    return found.data


def _verify(world: World, job: _Job, bundle: bytes) -> Signed:
    verdict = verify_bundle(world, bundle, job.item.digest, job.accepted)
    if isinstance(verdict, Rejected):
        raise SigningError(
            f"the bundle of {job.item.artifact} is not good: found {verdict.found}, "
            f"expected {verdict.expected}",
            verdict.hint or "run the same command again",
        )
    return verdict


def _conclude(
    releases: Iterable[Release], plans: Iterable[SigningPlan], done: frozenset[tuple[str, str]]
) -> SignedReleases:
    return SignedReleases(
        tuple(
            SignedRelease(
                release.name,
                signed=tuple(item.artifact for item in plan.todo if (release.name, item.artifact) in done),
                already=plan.signed,
                waiting=plan.waiting,
            )
            for release, plan in zip(releases, plans, strict=True)
        )
    )
