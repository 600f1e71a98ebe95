"""`publisher verify`: the signatures of what is staged, or what is public against its records."""

from collections.abc import Iterable, Mapping

from publisher.core.assess import assess_release
from publisher.core.delivery import refuse_bad
from publisher.core.digests import Digest, display
from publisher.core.promotions import find_withdrawn, fold
from publisher.core.refusals import Refusal
from publisher.core.signatures import refuse_nobody
from publisher.core.urls import make_path
from publisher.errors import EdgeError, Exit
from publisher.outcomes import Outcome, Verified, VerifiedFile
from publisher.workflow.gather import gather
from publisher.workflow.records import read_public_records
from publisher.workflow.releases import parse_release, suggest_release
from publisher.workflow.world import Visitor, World

_GONE = 410
_RULES = frozenset({"signature", "sbom", "identity", "not-open"})


def run(world: World, name: str) -> Outcome:
    """Verify every signature and SBOM of what is staged and not public yet, as promote will judge them.

    Raises:
        UsageError: The name is no release of this project.
    """
    with suggest_release(world, name):
        release = parse_release(world.profile, name)
    snapshot = gather(world, [release])
    assessment = assess_release(snapshot.releases[0], world.profile, snapshot.published())
    expected = world.profile.expect(release)
    checked = assessment.snapshot.checked
    bad = {key: found.problem for key, found in checked.items() if found.problem}
    # Also what is bad before it is handed over, of which promote would say only that it is not.
    refusals = tuple(
        dict.fromkeys(
            (
                *(refusal for refusal in assessment.all_refusals() if refusal.rule in _RULES),
                *refuse_bad(bad, expected, assessment.snapshot),
                *refuse_nobody(world.profile, release, signed_records=False),
            )
        )
    )
    files = tuple(
        VerifiedFile(key, expected[key].artifact, found.by)
        for key, found in sorted(checked.items())
        if found.problem is None
    )
    status = Exit.REFUSED if refusals else Exit.DONE
    return Verified(
        release=name,
        public=False,
        files=files,
        identities=world.profile.find_identities(release),
        records=0,
        refusals=refusals,
        status=status,
    )


def run_public(visitor: Visitor, name: str) -> Outcome:
    """Download what the signed records of a release say is public, and compare every digest; as anybody can.

    Raises:
        UsageError: The name is no release of this project, or its records are not public.
        EdgeError: The site does not answer.
    """
    release = parse_release(visitor.profile, name)
    records, refusals = read_public_records(visitor, release)
    digests = fold(records)
    gone = find_withdrawn(records)
    drift = (*_find_drift(visitor, digests), *_find_served(visitor, gone))
    status = Exit.REFUSED if refusals or drift else Exit.DONE
    drifted = {refusal.subject for refusal in drift}
    files = tuple(VerifiedFile(key, None, None) for key in sorted(digests) if key not in drifted)
    return Verified(
        release=name,
        public=True,
        files=files,
        identities=visitor.profile.find_recorders(release),
        records=len(records),
        refusals=(*refusals, *drift),
        status=status,
        gone=tuple(sorted(gone - drifted)),
    )


def _find_served(visitor: Visitor, gone: Iterable[str]) -> tuple[Refusal, ...]:
    """Find withdrawn keys that do not answer 410."""

    def check(key: str) -> Refusal | None:
        try:
            found = visitor.web.head(visitor.site.public_base_url + make_path(key)).status
        except EdgeError as error:
            return _refuse_served(key, str(error))
        return None if found == _GONE else _refuse_served(key, f"status {found}")

    return tuple(refusal for refusal in visitor.parallel.map(check, sorted(gone)) if refusal)


def _refuse_served(key: str, found: str) -> Refusal:
    cure = "ops looks at the gate's store and at caches before the CDN; see: publisher gate rebuild"
    return Refusal("drift", key, found, f"status {_GONE}, for it is withdrawn by the record", cure)


def _find_drift(visitor: Visitor, digests: Mapping[str, Digest]) -> tuple[Refusal, ...]:
    visitor.observer.step("verify", f"{len(digests)} files of the records, downloaded from the public site")
    visitor.observer.expect(len(digests), 0)

    def check(key: str) -> Refusal | None:
        url = visitor.site.public_base_url + make_path(key)
        try:
            digest = visitor.web.compute_digest(url)
            found = None if digest == digests[key] else display(digest)
        except EdgeError as error:
            found = str(error)
        visitor.observer.advance(key, 0)
        cure = "ops looks into the bucket's versions of it; only a new release brings other bytes"
        return Refusal("drift", key, found, f"{display(digests[key])} by the record", cure) if found else None

    try:
        return tuple(refusal for refusal in visitor.parallel.map(check, sorted(digests)) if refusal)
    finally:
        visitor.observer.finish()
