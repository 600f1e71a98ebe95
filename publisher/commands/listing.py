"""`publisher list`: the release database alone, also for what was public before the gate existed."""

from publisher.core.contents import list_contents
from publisher.core.refusals import Refusal
from publisher.errors import UsageError
from publisher.outcomes import ListedRelease, Outcome, Refused
from publisher.workflow.lease import hold_lease
from publisher.workflow.listing import Lister, count_changes, read_public
from publisher.workflow.releases import parse_release, suggest_release
from publisher.workflow.world import World


def run(world: World, name: str, *, dry_run: bool, create: bool) -> Outcome:
    """Bring the rows of a release to what is public of it; a dry run shows what that would change.

    Raises:
        UsageError: The name is no release, or the project is listed nowhere.
        ListingError: The database cannot be asked, or refused something.
        LeaseError: Another holds the lease.
    """
    with suggest_release(world, name):
        release = parse_release(world.profile, name)
    rules = world.profile.listing
    if world.database is None or rules is None:
        raise UsageError(
            f"{world.profile.name} is listed nowhere",
            "see [listing] of the profile and of publisher.toml",
        )
    contents = list_contents(world.profile, release)
    files = read_public(world, contents)
    if not files:
        cure = "correct the version, or promote it first"
        return Refused(
            (Refusal("listing", name, "nothing of it public", "public files", cure),), waivable=False
        )
    lister = Lister(world, world.database(), contents, rules, when=world.staging.now())
    refusals = lister.find_refusals(files, create=create)
    if refusals:
        return Refused(refusals, waivable=False)
    if dry_run:
        planned = lister.plan(files)
        return ListedRelease(name, planned.rows, count_changes(planned.changes), dry_run=True)
    with hold_lease(world, f"list {name}") as (lease, _):
        listed = lister.list_files(read_public(world, contents), lease.check, create=create)
    return ListedRelease(name, listed.rows, count_changes(listed.changes), dry_run=False)
