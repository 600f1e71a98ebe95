"""Announces releases once: on a forum that knows its own posts again, and to a webhook."""

from collections.abc import Callable, Iterable
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
from publisher.core.refusals import Refusal
from publisher.core.signing import Format
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
    """
    announcement = written.announcement
    names = [release.name for release in written.releases]
    known = [world.state.read_announced(name) for name in names]
    if all(known):
        return tuple(note for note in known if note)
    url = None
    if world.forum is not None:
        forum = world.forum()
        check_lease()
        url = forum.find(announcement.external_id) or forum.post(
            announcement.title, render_discourse(announcement), announcement.external_id
        )
    if world.hook is not None:
        check_lease()
        world.hook().send(make_event(announcement, written.releases, project=written.project))
    note = Announced(1, tuple(names), announcement.external_id, url, world.caller.who(), world.staging.now())
    check_lease()
    for name in names:
        world.state.write_announced(name, note)
    return (note,)


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
