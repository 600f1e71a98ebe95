"""Announces releases once: on a forum that knows its own posts again, and to a webhook."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from publisher.core.announced import Announced
from publisher.core.announcement import (
    Announcement,
    draft_announcement,
    fill_prose,
    make_event,
    render_discourse,
)
from publisher.core.announcement_facts import AnnouncedFile, AnnouncedRelease
from publisher.core.contents import Contents, PublicFile
from publisher.core.identity import Identity
from publisher.core.listing_rules import ListingRules
from publisher.core.plan import Plan
from publisher.core.refusals import Refusal
from publisher.core.signing import Format
from publisher.errors import PublisherError, UnfinishedError
from publisher.workflow.listing import read_public
from publisher.workflow.world import World


@dataclass(frozen=True, slots=True)
class Subject:
    """A release to be announced. `identities` are whose signatures of it count."""

    contents: Contents
    identities: tuple[Identity, ...]
    rules: ListingRules | None


@dataclass(frozen=True, slots=True)
class Written:
    """An announcement, and the releases as it describes them."""

    announcement: Announcement
    releases: tuple[AnnouncedRelease, ...]
    project: str


def select_subjects(world: World, plan: Plan) -> tuple[tuple[Subject, tuple[PublicFile, ...]], ...]:
    """Choose the releases that a promotion has to announce, with what is public of each by now.

    Left out is what people know already: a later promotion of a release, a release of which something else
    was public before (its first record, but not its first file), and what was announced in another post.
    """
    planned = {file.key for file in plan.files}
    found = [
        (
            Subject(release.contents, release.identities, release.listing),
            read_public(world, release.contents),
        )
        for release in plan.releases
        if release.contents and release.number == 1
    ]
    fresh = [pair for pair in found if all(file.entry.key in planned for file in pair[1])]
    known = find_announced(world, [subject.contents.release.name for subject, _ in fresh])
    left = [pair for pair in fresh if pair[0].contents.release.name not in known]
    # If all are known, `announce` finds the same; it may still have to note it for some.
    return tuple(left or fresh)


def find_announced(world: World, names: Iterable[str]) -> Mapping[str, Announced]:
    """Find in which post releases were announced; a post noted for one of them counts for all it is about."""
    names = tuple(names)
    notes = [note for note in map(world.state.read_announced, names) if note]
    about = {name: note for note in reversed(notes) for name in note.releases}
    return {name: about[name] for name in names if name in about}


def write_announcement(
    subjects: Iterable[tuple[Subject, tuple[PublicFile, ...]]], prose: str | None, day: date
) -> Written | tuple[Refusal, ...]:
    """Write the announcement of releases from what is public of them, or refuse the prose."""
    subjects = tuple(subjects)
    project = subjects[0][0].contents.project
    releases = tuple(_describe(subject, files, day) for subject, files in subjects)
    if prose is None:
        return Written(draft_announcement(releases, project=project), releases, project)
    written = fill_prose(prose, releases, project=project)
    return Written(written, releases, project) if isinstance(written, Announcement) else written


def announce(
    world: World,
    check_lease: Callable[[], None],
    written: Written,
) -> tuple[Announced, ...]:
    """Post an announcement and tell the webhook, unless that was done; each release is announced once.

    What was posted is found again by its external id, so a crash between post and note is no second post.

    Raises:
        AnnounceError: It was not posted, or it cannot be known.
        UnfinishedError: It is posted, and the webhook or a note of it failed; running again goes on.
    """
    announcement = written.announcement
    names = [release.name for release in written.releases]
    known = find_announced(world, names)
    if len(known) == len(names):
        _note(world, check_lease, known)
        return tuple(dict.fromkeys(known.values()))
    url = None
    if world.forum is not None:
        forum = world.forum()
        url = forum.find(announcement.external_id)
        if url is None:
            check_lease()
            body = render_discourse(announcement)
            url = forum.post(announcement.title, body, announcement.external_id)
    try:
        if world.hook is not None:
            check_lease()
            world.hook().send(make_event(announcement, written.releases, project=written.project))
        note = Announced(
            1, tuple(names), announcement.external_id, url, world.caller.who(), world.staging.now()
        )
        _note(world, check_lease, dict.fromkeys(names, note))
    except PublisherError as error:
        if url is None:
            raise
        raise UnfinishedError(
            f"{', '.join(names)}: posted at {url}, but: {error}", error.next_step or "run again: it goes on"
        ) from error
    return (note,)


def _note(world: World, check_lease: Callable[[], None], notes: Mapping[str, Announced]) -> None:
    """Note for each release in which post it was announced, where that is not noted yet."""
    for name, note in notes.items():
        if world.state.read_announced(name) is None:
            check_lease()
            world.state.write_announced(name, note)


def _describe(subject: Subject, files: tuple[PublicFile, ...], day: date) -> AnnouncedRelease:
    contents, rules = subject.contents, subject.rules
    release = contents.release
    names = {**release.groups, "release": release.name}
    notes = rules.notes.get(release.kind, "").format_map(names) if rules else ""
    return AnnouncedRelease(
        name=release.name,
        kind=release.kind,
        series=release.series,
        date=day,
        files=tuple(_describe_file(contents, file, files) for file in files if file.entry.artifact is None),
        identities=subject.identities,
        notes_url=notes or None,
    )


def _describe_file(contents: Contents, file: PublicFile, files: tuple[PublicFile, ...]) -> AnnouncedFile:
    about = [other.entry for other in files if other.entry.artifact == file.entry.key]
    bundles = [entry.key for entry in about if entry.format is Format.BUNDLE]
    return AnnouncedFile(
        key=file.entry.key,
        url=contents.url(file.entry.key),
        size=file.size,
        digest=file.digest,
        row=file.entry.row,
        bundle=contents.url(bundles[0]) if bundles else None,
        sidecars=tuple(contents.url(entry.key) for entry in about if entry.key not in bundles),
    )
