"""Looks ahead: what the steps after go-live would stop at, found while nothing is public yet."""

from publisher.core.contents import Contents, PublicFile
from publisher.core.plan import Plan
from publisher.core.refusals import Refusal
from publisher.workflow.announcing import Subject, Written, write_announcement
from publisher.workflow.listing import Lister, read_public
from publisher.workflow.world import World


def refuse_listing(world: World, plan: Plan) -> tuple[Refusal, ...]:
    """Refuse rows that the release database would not take, or whose release it does not have."""
    if world.database is None:
        return ()
    database = world.database()
    refusals: list[Refusal] = []
    for release in plan.releases:
        if release.contents and release.listing:
            lister = Lister(world, database, release.contents, release.listing, when=plan.when)
            files = foresee(world, plan, release.contents)
            refusals += lister.find_refusals(files, create=plan.extras.create_release)
    return tuple(refusals)


def refuse_prose(world: World, plan: Plan) -> tuple[Refusal, ...]:
    """Refuse the prose of an announcement that names what is not there."""
    first = [release for release in plan.releases if release.contents and release.number == 1]
    if plan.extras.prose is None or not first:
        return ()
    subjects = [
        (
            Subject(release.contents, release.identities, release.listing),
            foresee(world, plan, release.contents),
        )
        for release in first
        if release.contents
    ]
    written = write_announcement(subjects, plan.extras.prose, plan.when.date())
    return () if isinstance(written, Written) else written


def foresee(world: World, plan: Plan, contents: Contents) -> tuple[PublicFile, ...]:
    """Say what of a release will be public once `plan` is done: what is by now, and what it adds."""
    there = {file.entry.key: file for file in read_public(world, contents)}
    entries = {entry.key: entry for entry in contents.entries}
    added = {
        file.key: PublicFile(entries[file.key], file.size, file.digest)
        for file in plan.files
        if file.key in entries
    }
    return tuple({**there, **added}.values())
