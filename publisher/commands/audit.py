"""`publisher audit`: whether records, buckets, CDN, pages and listing agree; it writes nothing."""

from publisher.core.audit import find_faults
from publisher.core.faults import Weight
from publisher.errors import Exit
from publisher.outcomes import Audited
from publisher.workflow.audit import gather_evidence
from publisher.workflow.releases import parse_releases, suggest_release
from publisher.workflow.world import World


def run(world: World, names: tuple[str, ...], *, deep: bool) -> Audited:
    """Audit releases, or without a name the whole site.

    Raises:
        UsageError: A name is no release of this project.
        StoreError: A bucket or a document of the state could not be read: nothing is known then.
    """
    with suggest_release(world, *names):
        releases = parse_releases(world.profile, names)
    evidence = gather_evidence(world, releases, deep=deep)
    faults = find_faults(evidence)
    bad = any(fault.weight is Weight.FAULT for fault in faults)
    return Audited(
        releases=names,
        faults=faults,
        records=len(evidence.records),
        files=len(evidence.wanted),
        deep=deep,
        status=Exit.REFUSED if bad else Exit.DONE,
    )
