"""`publisher list`: the release database alone, also for what was public before the gate existed."""

from publisher.core.contents import list_contents
from publisher.core.refusals import Refusal
from publisher.errors import PublisherError, UnfinishedError, UsageError
from publisher.outcomes import ListedRelease, Outcome, Refused
from publisher.workflow.finishing import refuse_unfinished
from publisher.workflow.lease import hold_lease
from publisher.workflow.listing import Lister, count_changes, read_public
from publisher.workflow.releases import find_withdrawn, parse_release, suggest_release
from publisher.workflow.world import World


def run(world: World, name: str, *, dry_run: bool, create: bool) -> Outcome:
    """Bring the rows of a release to what is public of it; a dry run shows what that would change.

    Raises:
        UsageError: The name is no release, or the project is listed nowhere.
        ListingError: The database cannot be asked, or refused something; nothing was written.
        UnfinishedError: Some rows are written, and not all.
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
    withdrawn = find_withdrawn(world, [name])
    if withdrawn:
        return Refused(withdrawn, waivable=False)
    contents = list_contents(world.profile, release)
    files = read_public(world, contents)
    if not files:
        cure = "correct the version, or promote it first"
        return Refused(
            (Refusal("listing", name, "nothing of it public", "public files", cure),), waivable=False
        )
    lister = Lister(world, world.database(), contents, rules, when=world.staging.now())
    unfinished = refuse_unfinished(world, "listing", [name])
    refusals = (*unfinished, *lister.find_refusals(files, create=create))
    if refusals:
        return Refused(refusals, waivable=False)
    if dry_run:
        planned = lister.plan(files)
        return ListedRelease(name, planned.rows, count_changes(planned.changes), dry_run=True)
    purpose = f"list {name}"
    renew = _was_killed(world, purpose)
    try:
        with hold_lease(world, purpose) as (lease, _):
            listed = lister.list_files(read_public(world, contents), lease.check, create=create, renew=renew)
    except PublisherError as error:
        if not lister.touched:
            raise
        raise UnfinishedError(
            f"the rows of {name} are not all written: {error}", error.next_step or "run again: it goes on"
        ) from error
    return ListedRelease(name, listed.rows, count_changes(listed.changes), dry_run=False)


def _was_killed(world: World, purpose: str) -> bool:
    """Tell whether the last holder of the lease was to do just this, and died: the lease was never freed."""
    stored = world.state.read_lease()
    return stored is not None and stored.value.token is not None and stored.value.purpose == purpose
