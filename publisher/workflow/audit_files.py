"""Looks at the public bucket and at what the CDN serves of it, for an audit; it writes nothing."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from publisher.core.audit_evidence import Wanted
from publisher.core.digests import Digest, display
from publisher.core.keys import PENDING, RESERVED
from publisher.core.pages import HTML_NAME, JSON_NAME, affected_folders, make_page_keys
from publisher.core.pages_render import is_ours
from publisher.core.snapshot import Described
from publisher.core.urls import describe_fault, is_same_etag, make_path
from publisher.core.withdrawals import Case, Course
from publisher.errors import EdgeError, LeaseError
from publisher.workflow.gate import GateKeeper
from publisher.workflow.gather import list_folders
from publisher.workflow.pages import PageWriter
from publisher.workflow.releases_json import NAME as RELEASES_JSON
from publisher.workflow.world import World


@dataclass(frozen=True, slots=True)
class Scope:
    """What an audit is of: these releases, or without any the whole site.

    `recorded` are the records, by release and number, that there are or must have been.
    """

    releases: frozenset[str]
    recorded: frozenset[tuple[str, int]] = frozenset()

    @property
    def whole(self) -> bool:
        """Tell whether it is of the whole site."""
        return not self.releases

    def has(self, release: str | None) -> bool:
        """Tell whether it is of this release (None: of what was adopted)."""
        return self.whole or release in self.releases

    def has_any(self, releases: Collection[str]) -> bool:
        """Tell whether it is of any of these."""
        return self.whole or not self.releases.isdisjoint(releases)


@dataclass(frozen=True, slots=True)
class Found:
    """What was found in public: see `core.audit_evidence.Evidence`. `present` are all keys that were seen."""

    wanted: Mapping[str, Wanted]
    digests: Mapping[str, Digest]
    problems: Mapping[str, str]
    served: Mapping[str, str]
    present: frozenset[str]
    names: frozenset[str]
    expected: Mapping[str, str]
    pages: frozenset[str]
    stale: tuple[str, ...]
    pending: Mapping[str, int]


def look_at_files(
    world: World,
    scope: Scope,
    known: Mapping[str, Wanted],
    cases: Iterable[Case],
    live: Iterable[str],
    *,
    deep: bool,
) -> Found:
    """Look at everything in the public bucket that the audit is of, and at its URLs.

    `known` says what should be where, `live` are the keys of promotions that are live and not finished.
    """
    cases = tuple(cases)
    wanted = {key: item for key, item in known.items() if scope.has(item.release)}
    expected = _expect(world, {name for name, _ in scope.recorded if scope.has(name)})
    listed = world.public.list_keys("") if scope.whole else list_folders(world.public, {*wanted, *expected})
    present = frozenset(key for key in listed if not key.startswith(RESERVED))
    gone = {key for case in cases if not case.withdrawal.unlist for key in case.withdrawal.keys}
    looker = _Looker(world, deep=deep)
    digests, problems = looker.look(wanted, present, gone)
    pages = find_own_pages(world, present)
    # What a live promotion is still to write is no fault of its own.
    owed = _list_pages(world, live)
    return Found(
        wanted=wanted,
        digests=digests,
        problems=problems,
        served=looker.find_served(cases),
        present=present,
        names=present - list_own(world, scope.recorded) - pages - known.keys(),
        expected=expected,
        pages=pages - owed,
        stale=tuple(key for key in _find_stale(world, scope, wanted) if key not in owed),
        pending=Counter(key.split("/")[1] for key in listed if key.startswith(f"{PENDING}/")),
    )


def list_own(world: World, recorded: Iterable[tuple[str, int]]) -> frozenset[str]:
    """Name the public keys that are neither files of a release nor pages: records, pointers, the listing."""
    own = {key for rule in world.profile.pointers for key in rule.files}
    own.add(world.profile.key_prefix + RELEASES_JSON)
    for name, number in recorded:
        release = world.profile.parse_release(name)
        place = world.profile.place_record(release, number) if release else None
        own.update({place.key} if place else ())
    return frozenset(own)


def find_own_pages(world: World, present: Iterable[str]) -> frozenset[str]:
    """Name the index pages, among the keys that are there, that were written by us; others are mere files."""
    keys = [key for key in sorted(present) if key.rpartition("/")[2] in {HTML_NAME, JSON_NAME}]
    found = zip(keys, world.parallel.map(world.public.read, keys), strict=True)
    return frozenset(key for key, page in found if page and is_ours(page.data))


class _Looker:
    """Looks at public files: what the bucket says of them, and what each public URL answers."""

    def __init__(self, world: World, *, deep: bool) -> None:
        self._world = world
        self._deep = deep
        self._bases = tuple(dict.fromkeys([world.site.cdn_url, world.site.public_base_url]))

    def look(
        self, wanted: Mapping[str, Wanted], present: Collection[str], gone: Collection[str]
    ) -> tuple[dict[str, Digest], dict[str, str]]:
        """Give the digest of each file that is there, and what is wrong with its URLs unless it is `gone`."""
        keys = sorted(key for key in wanted if key in present)
        observer = self._world.observer
        observer.step("files", f"{len(keys)} public files, in the bucket and at their URLs")
        observer.expect(len(keys), sum(wanted[key].size for key in keys))

        def look(key: str) -> tuple[Digest, str | None] | None:
            found = self._world.public.describe(key)
            if found is None:
                return None
            digest = self._find_digest(found, wanted[key])
            problem = None if key in gone else self._find_problem(key, found, digest)
            observer.advance(key, found.size)
            return digest, problem

        try:
            looked = zip(keys, self._world.parallel.map(look, keys), strict=True)
            answers = {key: answer for key, answer in looked if answer}
        finally:
            observer.finish()
        digests = {key: digest for key, (digest, _) in answers.items()}
        return digests, {key: problem for key, (_, problem) in answers.items() if problem}

    def find_served(self, cases: Iterable[Case]) -> dict[str, str]:
        """Find the keys that are withdrawn and answer something else than 410."""
        keys = sorted(
            key
            for case in cases
            if case.course is Course.WITHDRAWN and not case.withdrawal.unlist
            for key in case.withdrawal.keys
        )
        found = zip(keys, self._world.parallel.map(self._find_status, keys), strict=True)
        return {key: problem for key, problem in found if problem}

    def _find_digest(self, found: Described, wanted: Wanted) -> Digest:
        if found.digest:
            return found.digest
        # A version never changes, so one that was read when it was adopted need not be read again.
        if wanted.version_id == found.version.version_id:
            return wanted.digest
        return self._world.public.compute_digest(found.version)

    def _find_problem(self, key: str, found: Described, digest: Digest) -> str | None:
        for base in self._bases:
            url = base + make_path(key)
            try:
                # Downloaded from where users do, which is through everything that there is.
                problem = self._compare(url, found, digest, deep=self._deep and base == self._bases[-1])
            except EdgeError as error:
                problem = str(error)
            if problem:
                return f"{url}: {problem}"
        return None

    def _compare(self, url: str, found: Described, digest: Digest, *, deep: bool) -> str | None:
        seen = self._world.web.head(url)
        fault = describe_fault(status=seen.status, size=seen.size, expected_size=found.size)
        if fault or (not deep and is_same_etag(seen.etag, found.version.etag)):
            return fault
        served = self._world.web.compute_digest(url)
        return None if served == digest else f"{display(served)} instead of {display(digest)}"

    def _find_status(self, key: str) -> str | None:
        for base in self._bases:
            url = base + make_path(key)
            try:
                status = self._world.web.head(url).status
            except EdgeError as error:
                return str(error)
            if status != 410:
                return f"{url}: status {status}"
        return None


def _expect(world: World, releases: Iterable[str]) -> dict[str, str]:
    """Give the release that each public key belongs to by the profile."""
    parsed = [(name, world.profile.parse_release(name)) for name in sorted(releases)]
    return {key: name for name, release in parsed if release for key in world.profile.expect(release)}


def _find_stale(world: World, scope: Scope, wanted: Iterable[str]) -> tuple[str, ...]:
    rule = world.profile.pages
    if rule is None:
        return ()
    world.observer.step("pages", "every index page, made anew and compared")
    writer = PageWriter(world, GateKeeper(world.gate, _refuse_to_write), _refuse_to_write, rule)
    mine = _list_pages(world, wanted)
    return tuple(key for key in writer.find_stale() if scope.whole or key in mine)


def _list_pages(world: World, keys: Iterable[str]) -> frozenset[str]:
    """List the pages that show any of `keys`, or a folder above it."""
    rule = world.profile.pages
    folders = affected_folders(keys, root=rule.root) if rule else ()
    return frozenset(key for folder in folders for key in make_page_keys(folder))


def _refuse_to_write() -> None:
    raise LeaseError("an audit writes nothing")
