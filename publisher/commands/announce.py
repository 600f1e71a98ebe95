"""`publisher announce`: one post for releases that are public and listed; never a second one."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from publisher.core.announcement import render_blog, render_plain
from publisher.core.assess import assess_release
from publisher.core.contents import Contents, PublicFile, list_contents
from publisher.core.profile import Release
from publisher.core.refusals import Refusal
from publisher.errors import UsageError
from publisher.outcomes import AnnouncedReleases, Drafted, Outcome, Refused
from publisher.workflow.announcing import Subject, Written, announce, find_announced, write_announcement
from publisher.workflow.finishing import refuse_unfinished
from publisher.workflow.gather import gather
from publisher.workflow.lease import hold_lease
from publisher.workflow.listing import Lister, read_public
from publisher.workflow.outside import find_silent
from publisher.workflow.releases import find_withdrawn, parse_releases, suggest_release
from publisher.workflow.world import World

FORMS = ("post", "blog", "plain")
MAX_BYTES = 1024**2


@dataclass(frozen=True, slots=True)
class AnnounceRequest:
    """What the release manager asks for. `prose` is a file; without one there is a complete draft.

    A dry run only writes the text, in one of `FORMS`; `author` and `tags` are for a blog entry.
    """

    releases: tuple[str, ...]
    prose: str | None
    dry_run: bool
    form: str = "post"
    author: str = ""
    tags: tuple[str, ...] = ()


def read_prose(path: str | None) -> str | None:
    """Read the text of an announcement.

    Raises:
        UsageError: The file cannot be read, or is no text.
    """
    if path is None:
        return None
    try:
        data = Path(path).read_bytes()
        if len(data) > MAX_BYTES:
            raise UsageError(f"found {path} with {len(data):,} bytes, expected a text")
        return data.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path} as UTF-8 text: {error}", "correct the file") from error


def run(world: World, request: AnnounceRequest) -> Outcome:
    """Announce releases that are public and whose rows stand; what was announced is not posted again.

    A dry run needs neither: it also writes the text of what is only handed over yet.

    Raises:
        UsageError: A name is no release, the prose cannot be read, or there is nowhere to announce.
        AnnounceError: It was not posted, or it cannot be known.
        UnfinishedError: It is posted, and not all is done.
        LeaseError: Another holds the lease.
    """
    if request.form != "post" and not request.dry_run:
        raise UsageError(
            f"--form {request.form} is a text to be printed", "add --dry-run, or leave --form out to post"
        )
    prose = read_prose(request.prose)
    with suggest_release(world, *request.releases):
        releases = parse_releases(world.profile, request.releases)
    withdrawn = find_withdrawn(world, [release.name for release in releases])
    if withdrawn:
        return Refused(withdrawn, waivable=False)
    described = [_describe(world, release, dry_run=request.dry_run) for release in releases]
    bare = [subject.contents.release.name for subject, files in described if not files]
    if bare:
        return Refused(tuple(_refuse_absent(name) for name in bare), waivable=False)
    day = world.staging.now().date()
    written = write_announcement(described, prose, day)
    if not isinstance(written, Written):
        return Refused(written, waivable=False)
    if request.dry_run:
        return _draft(written, request, day)
    if world.forum is None and world.hook is None:
        raise UsageError("there is nowhere to announce", "see [announce] of publisher.toml; or: --dry-run")
    names = [release.name for release in releases]
    refusals = (
        *refuse_unfinished(world, "announce", names),
        *_refuse_known(world, names),
        *(refusal for subject, files in described for refusal in _refuse_unlisted(world, subject, files)),
    )
    if refusals:
        return Refused(refusals, waivable=False)
    with hold_lease(world, f"announce {', '.join(request.releases)}") as (lease, _):
        before = len(find_announced(world, names)) == len(names)
        notes = announce(world, lease.check, written)
    return AnnouncedReleases(request.releases, tuple(note.url for note in notes if note.url), not before)


def _describe(world: World, release: Release, *, dry_run: bool) -> tuple[Subject, tuple[PublicFile, ...]]:
    """Describe what is public of a release; a dry run also shows what is handed over, before it is public."""
    contents = list_contents(world.profile, release)
    subject = Subject(contents, world.profile.find_identities(release), world.profile.listing)
    public = read_public(world, contents)
    return subject, _foresee(world, release, contents, public) if dry_run else public


def _foresee(
    world: World, release: Release, contents: Contents, public: tuple[PublicFile, ...]
) -> tuple[PublicFile, ...]:
    snapshot = gather(world, [release])
    assessment = assess_release(snapshot.releases[0], world.profile, snapshot.published())
    entries = {entry.key: entry for entry in contents.entries}
    there = {file.entry.key: file for file in public}
    for item in assessment.delivered():
        key = item.expected.key
        if key in entries:
            there.setdefault(key, PublicFile(entries[key], item.stored.size, item.stored.digest))
    return tuple(there.values())


def _draft(written: Written, request: AnnounceRequest, day: date) -> Drafted:
    if request.form == "blog":
        path, text = render_blog(
            written.announcement,
            day=day,
            author=request.author,
            tags=request.tags,
        )
        return Drafted(request.releases, path, text)
    return Drafted(request.releases, None, render_plain(written.announcement))


def _refuse_absent(name: str) -> Refusal:
    return Refusal("announce", name, "nothing of it public", "public files", f"run: publisher promote {name}")


def _refuse_known(world: World, names: list[str]) -> tuple[Refusal, ...]:
    """Refuse a post about releases of which some, but not all, were announced: those would be so twice."""
    known = find_announced(world, names)
    if len(known) == len(names):
        return ()
    return tuple(
        Refusal(
            "announce",
            name,
            f"announced by {note.who}" + (f" at {note.url}" if note.url else ""),
            "releases that nobody announced",
            "leave it out",
        )
        for name, note in known.items()
    )


def _refuse_unlisted(world: World, subject: Subject, files: tuple[PublicFile, ...]) -> tuple[Refusal, ...]:
    """Refuse to announce what is not listed as it is public, or what others have not shown yet."""
    release = subject.contents.release
    silent = find_silent(world, world.profile.list_signals(release))
    refusals = tuple(
        Refusal("outside", signal.url, answer, f"{signal.name} there", "let it answer, then run again")
        for signal, answer in silent
    )
    if world.database is None or subject.rules is None:
        return refusals
    lister = Lister(world, world.database(), subject.contents, subject.rules, when=world.staging.now())
    changes = lister.plan(files).changes
    if changes:
        found = f"{len(changes)} differences between its rows and what is public"
        cure = f"run: publisher list {release.name}"
        refusals += (Refusal("listing", release.name, found, "none", cure),)
    return refusals
