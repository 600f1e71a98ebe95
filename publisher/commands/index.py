"""`publisher index`: the index pages alone, also of a tree that was there before the gate."""

from publisher.core.contents import list_contents
from publisher.core.profile import PageRule
from publisher.errors import UsageError
from publisher.outcomes import Indexed, Outcome
from publisher.workflow.lease import hold_lease
from publisher.workflow.listing import read_public
from publisher.workflow.pages import PageWriter
from publisher.workflow.releases import parse_releases, suggest_release
from publisher.workflow.world import World


def run(world: World, names: tuple[str, ...]) -> Outcome:
    """Bring the pages of the folders of releases, or without a name of the whole tree, to what is public.

    Raises:
        UsageError: A name is no release, or the project has no index pages.
        LeaseError: Another holds the lease.
        EdgeError: An edge still serves an old page; running again goes on.
    """
    with suggest_release(world, *names):
        releases = parse_releases(world.profile, names)
    rule = _find_rule(world)
    keys = [
        file.entry.key
        for release in releases
        for file in read_public(world, list_contents(world.profile, release))
    ]
    with hold_lease(world, f"index {', '.join(names) or 'everything'}") as (lease, keeper):
        writer = PageWriter(world, keeper, lease.check, rule)
        purpose = "index"
        written = writer.refresh(keys, purpose) if names else writer.refresh_all(purpose)
    return Indexed(names, written)


def _find_rule(world: World) -> PageRule:
    if world.profile.pages is None:
        raise UsageError(f"{world.profile.name} has no index pages", "see [pages] of the profile")
    return world.profile.pages
