"""A release database, a forum and a webhook in memory, and the small site of `site` with all of them.

The database keeps the rules that the real one has, and what the site makes of its rows (`pages`) apart from
the rows: a run can die, or an answer get lost, between the two.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count

from publisher.commands import announce, listing, promote
from publisher.core.listing import FileRow, FoundFile, FoundRelease, ReleaseRow
from publisher.core.listing_changes import Change, CreateFile, CreateRelease, DeleteFile, UpdateFile
from publisher.core.plan import Extras
from publisher.core.refusals import Waiver
from publisher.errors import AnnounceError, ListingError, ListingUnknownError
from publisher.outcomes import Outcome
from publisher.ports import Announcer, Hook, ReleaseDatabase, Seen, Web
from publisher.workflow.world import World
from tests.support.site import PROFILE, RELEASE, Site, say_yes

LISTED_PROFILE = (
    PROFILE.replace(
        rb"""'(?P<series>\d+\.\d+)\.\d+(?P<stage>b\d+)?'""",
        rb"""'(?P<major>\d+)\.(?P<minor>\d+)\.(?P<micro>\d+)(?P<pre>(?P<stage>b|rc)\d+)?'""",
    )
    .replace(b"https://dl.example.org/", b"https://www.python.org/")
    .replace(
        b"[roles.linux]",
        b"""[kinds.pre]
stage = ["b", "rc"]

[kinds.final]
stage = [""]

[roles.linux]""",
    )
    .replace(
        b"""sidecars = [{ suffix = ".spdx.json", need = "optional" }]""",
        b"""required = ["all"]
sidecars = [{ suffix = ".spdx.json", need = "optional" }]
row = { name = "Source archive", os = "source", button = true }

[[artifact]]
key = "tool/{release}/tool-{release}.zip"
role = "linux"
optional = ["all"]
row = { name = "Zipped source", os = "source" }""",
    )
    .replace(
        b"""role = "mac"
""",
        b"""role = "mac"
required = ["all"]
row = { name = "Installer", os = "macos", description = "for all of them", button = true }

[listing]
slug = ["{major}{minor}{micro}", "{pre}", "{row}"]
release_name = "Tool {release}"
release_slug = "tool-{major}{minor}{micro}{pre}"
version = 3
pre_kinds = ["pre"]

[listing.systems]
source = "Source"
macos = "macOS"

[listing.notes]
final = "https://docs.example.org/{release}/"

[[outside]]
name = "git tag"
url = "https://git.example.org/v{release}"
""",
    )
)
"""The site's project, with candidates, rows for both artifacts and an optional third, and a signal."""

SLUG = "tool-123"
TAG = f"https://git.example.org/v{RELEASE}"
ZIP = f"tool/{RELEASE}/tool-{RELEASE}.zip"
_SYSTEMS = ("source", "macos", "windows")
_SOME_DAY = datetime(2026, 1, 1, tzinfo=UTC)

Before = Callable[[str, str], None]


def a_release_row(name: str, slug: str, *, published: bool = False, latest: bool = False) -> ReleaseRow:
    """Make the row of a release, as somebody in the site's administration would."""
    return ReleaseRow(name, slug, 3, published, latest, "rc" in name or "b" in name, _SOME_DAY, "", True)


@dataclass
class FakeDatabase:
    """The database. `before` hears of each request, and of what follows from a write; it may raise.

    `lost` names writes (from 0) whose answers do not come, and whether they were made all the same.
    """

    before: Before = lambda request, key: None
    releases: dict[int, ReleaseRow] = field(default_factory=dict[int, ReleaseRow])
    files: dict[int, FoundFile] = field(default_factory=dict[int, FoundFile])
    pages: dict[int, frozenset[str]] = field(default_factory=dict[int, frozenset[str]])
    writes: list[Change] = field(default_factory=list[Change])
    lost: dict[int, bool] = field(default_factory=dict[int, bool])
    _ids: "count[int]" = field(default_factory=lambda: count(1))

    def check_access(self) -> None:
        self.before("db-access", "")

    def read_systems(self) -> Collection[str]:
        self.before("db-systems", "")
        return _SYSTEMS

    def find_release(self, slug: str) -> FoundRelease | None:
        self.before("db-release", slug)
        return next((found for found in self._list() if found.row.slug == slug), None)

    def list_releases(self, version: int) -> tuple[FoundRelease, ...]:
        self.before("db-releases", str(version))
        return tuple(found for found in self._list() if found.row.version == version)

    def read_files(self, release: int) -> tuple[FoundFile, ...]:
        self.before("db-files", str(release))
        return tuple(found for found in self.files.values() if found.release == release)

    def find_file(self, slug: str) -> FoundFile | None:
        self.before("db-file", slug)
        return next((found for found in self.files.values() if found.row.slug == slug), None)

    def apply(self, change: Change) -> None:
        self.before("db-write", type(change).__name__)
        number = len(self.writes)
        self.writes.append(change)
        if not self.lost.get(number, True):
            raise ListingUnknownError("no answer", "read back")
        release = self._make(change)
        if number in self.lost:
            raise ListingUnknownError("status 500", "read back")
        self.before("db-effects", type(change).__name__)
        self._show(release)

    # What follows is for tests: none of it is a request.

    def add(self, row: ReleaseRow) -> int:
        number = next(self._ids)
        self.releases[number] = row
        self._show(number)
        return number

    def find(self, slug: str) -> ReleaseRow:
        return next(row for row in self.releases.values() if row.slug == slug)

    def rows(self, slug: str) -> dict[str, FileRow]:
        """Give the rows of a release by URL."""
        numbers = [number for number, row in self.releases.items() if row.slug == slug]
        return {found.row.url: found.row for found in self.files.values() if found.release in numbers}

    def shown(self, slug: str) -> frozenset[str]:
        """Name the URLs that the site's pages show of a published release."""
        number = next(number for number, row in self.releases.items() if row.slug == slug)
        return self.pages.get(number, frozenset())

    def _list(self) -> list[FoundRelease]:
        return [FoundRelease(number, row) for number, row in self.releases.items()]

    def _show(self, release: int) -> None:
        if self.releases[release].is_published:
            urls = (found.row.url for found in self.files.values() if found.release == release)
            self.pages[release] = frozenset(urls)

    def _make(self, change: Change) -> int:
        """Make a change, and name the release it is about."""
        if isinstance(change, CreateRelease):
            self._refuse(change.row.slug in {row.slug for row in self.releases.values()}, "slug")
            number = next(self._ids)
            self.releases[number] = change.row
            return number
        if isinstance(change, DeleteFile):
            self.files.pop(change.id, None)
        elif isinstance(change, CreateFile):
            beside = self._has_button(change.release, change.row.os, but=0)
            self._refuse(beside and not change.beside_button, "a row beside a button")
            self._store(FoundFile(next(self._ids), change.release, change.row))
        elif isinstance(change, UpdateFile):
            number = change.id or next(i for i, f in self.files.items() if f.row.slug == change.before.slug)
            self._store(FoundFile(number, change.release, change.after))
        else:
            self._update_release(change.id, change.after)
            return change.id
        return change.release

    def _update_release(self, number: int, row: ReleaseRow) -> None:
        if row.is_latest:
            for other, there in self.releases.items():
                if there.version == row.version:
                    self.releases[other] = replace(there, is_latest=False)
        self.releases[number] = row

    def _store(self, new: FoundFile) -> None:
        others = [found.row for number, found in self.files.items() if number != new.id]
        self._refuse(any(new.row.slug == row.slug or new.row.url == row.url for row in others), "slug or URL")
        second = new.row.button and self._has_button(new.release, new.row.os, but=new.id)
        self._refuse(second, "a second button")
        self.files[new.id] = new

    def _has_button(self, release: int, system: str, *, but: int) -> bool:
        return any(
            found.row.button and found.release == release and found.row.os == system
            for number, found in self.files.items()
            if number != but
        )

    def _refuse(self, wrong: bool, what: str) -> None:
        if wrong:
            raise ListingError(f"status 400: {what}", "correct it")


@dataclass
class FakeForum:
    """A forum: one topic for each external id. `loses` answers after a topic is made."""

    before: Before = lambda request, key: None
    topics: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    posts: int = 0
    loses: bool = False

    def find(self, external_id: str) -> str | None:
        self.before("forum-find", external_id)
        return f"https://forum.example.org/t/{external_id}" if external_id in self.topics else None

    def post(self, title: str, body: str, external_id: str) -> str:
        self.before("forum-post", external_id)
        assert external_id not in self.topics, "posted twice"
        self.posts += 1
        self.topics[external_id] = (title, body)
        if self.loses:
            raise AnnounceError("it cannot be known whether the topic was posted", "run again")
        self.before("forum-posted", external_id)
        return f"https://forum.example.org/t/{external_id}"


@dataclass
class FakeHook:
    """A receiver that remembers every event."""

    before: Before = lambda request, key: None
    events: list[Mapping[str, object]] = field(default_factory=list[Mapping[str, object]])

    def send(self, event: Mapping[str, object]) -> None:
        self.before("hook-send", str(event["id"]))
        self.events.append(event)
        self.before("hook-sent", str(event["id"]))


@dataclass
class Others:
    """The public site, and around it everybody else, who answers 200 or what `statuses` say of a URL."""

    web: Web
    before: Before
    statuses: Mapping[str, int]

    def head(self, url: str) -> Seen:
        if "git.example.org" not in url:
            return self.web.head(url)
        self.before("signal", url)
        return Seen(self.statuses.get(url, 200), 0, None)

    def read(self, url: str) -> bytes | None:
        return self.web.read(url)

    def compute_digest(self, url: str) -> str:
        return self.web.compute_digest(url)


@dataclass
class ListedSite(Site):
    """The site with a database that knows its release, a forum, a webhook, and a tag that is there."""

    profile_text: bytes = LISTED_PROFILE
    database: FakeDatabase = field(default_factory=FakeDatabase)
    forum: FakeForum = field(default_factory=FakeForum)
    hook: FakeHook = field(default_factory=FakeHook)
    statuses: dict[str, int] = field(default_factory=dict[str, int])
    connect: Callable[[World], ReleaseDatabase] | None = None
    requests: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def __post_init__(self) -> None:
        Site.__post_init__(self)

        def before(request: str, key: str) -> None:
            self.requests.append((request, key))
            self.s3.before(request, key)

        self._before = before
        self.database.before = self.forum.before = self.hook.before = before

    def world(self, user: str = "rm") -> World:
        world = Site.world(self, user)

        def database() -> ReleaseDatabase:
            return self.connect(world) if self.connect else self.database

        def forum() -> Announcer:
            return self.forum

        def hook() -> Hook:
            return self.hook

        web = Others(world.web, self._before, self.statuses)
        return replace(world, web=web, database=database, forum=forum, hook=hook)

    def run(
        self,
        *releases: str,
        given_up: Mapping[str, str] | None = None,
        prose: str | None = None,
        create: bool = False,
        waivers: tuple[Waiver, ...] = (),
        dry_run: bool = False,
    ) -> Outcome:
        """Promote, with everything that listing and announcing can be asked for."""
        request = promote.PromoteRequest(
            releases or (RELEASE,),
            waivers,
            dry_run=dry_run,
            extras=Extras(prose, create),
            given_up=given_up or {},
        )
        return promote.run(self.world(), request, say_yes)

    def list_rows(self, release: str = RELEASE, *, dry_run: bool = False, create: bool = False) -> Outcome:
        """List, as `publisher list` does."""
        return listing.run(self.world(), release, dry_run=dry_run, create=create)

    def announce(self, *releases: str, prose: str | None = None, dry_run: bool = False) -> Outcome:
        """Announce, as `publisher announce` does."""
        names = releases or (RELEASE,)
        return announce.run(self.world(), announce.AnnounceRequest(names, prose, dry_run))

    def stage_late(self, release: str = RELEASE) -> None:
        """Stage and hand over the optional artifact."""
        self.stage("linux", {f"tool/{release}/tool-{release}.zip": b"late " + release.encode()}, release)
        self.hand_over("linux", release)

    def count(self, request: str) -> int:
        """Count the requests of a kind to those around the site."""
        return sum(found == request for found, _ in self.requests)


def a_listed_site(*, row: bool = True) -> ListedSite:
    """Make a site with one release staged and handed over, and (`row`) its draft in the database."""
    site = ListedSite()
    site.open()
    site.stage_all()
    if row:
        site.database.add(a_release_row(f"Tool {RELEASE}", SLUG))
    return site


def url(key: str) -> str:
    """Give the URL that a row has for a key."""
    return f"https://www.python.org/{key}"
