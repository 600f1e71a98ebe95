"""Looks ahead: what the steps after go-live would stop at, found while nothing is public yet."""

from collections.abc import Iterable

from publisher.core.contents import Contents, PublicFile
from publisher.core.plan import Plan
from publisher.core.refusals import Refusal
from publisher.workflow.announcing import Written, select_subjects, write_announcement
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
            files = foresee(plan, release.contents, read_public(world, release.contents))
            refusals += lister.find_refusals(files, create=plan.extras.create_release)
    return tuple(refusals)


def refuse_announcement(world: World, plan: Plan) -> tuple[Refusal, ...]:
    """Refuse the prose of an announcement that names what is not there.

    Raises:
        ConfigError: A secret that announcing needs is missing.
        AnnounceError: The forum does not take the key, or cannot be asked.
    """
    subjects = [
        (subject, foresee(plan, subject.contents, files)) for subject, files in select_subjects(world, plan)
    ]
    if not subjects:
        return ()
    written = write_announcement(subjects, plan.extras.prose, plan.when.date())
    if not isinstance(written, Written):
        return written
    if world.forum is not None:
        world.forum().find(written.announcement.external_id)
    if world.hook is not None:
        world.hook()
    return ()


def foresee(plan: Plan, contents: Contents, public: Iterable[PublicFile]) -> tuple[PublicFile, ...]:
    """Say what of a release will be public once `plan` is done: what is `public` by now, and what it adds."""
    there = {file.entry.key: file for file in public}
    entries = {entry.key: entry for entry in contents.entries}
    added = {
        file.key: PublicFile(entries[file.key], file.size, file.digest)
        for file in plan.files
        if file.key in entries
    }
    return tuple({**there, **added}.values())
