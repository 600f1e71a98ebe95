"""Looking at public URLs as users do: right at once, right after a while, right once forgotten, or named."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from publisher.core.digests import Digest, display, of_bytes
from publisher.core.lease import RENEW_AFTER, SECONDS
from publisher.core.plan import PlannedFile, Version
from publisher.errors import AccessDeniedError, EdgeError, LeaseError, StoreError
from publisher.ports import Seen
from publisher.workflow.edge import look, wait
from publisher.workflow.lease import hold_lease
from publisher.workflow.state import LEASE_KEY
from publisher.workflow.world import Site as PublicSite
from publisher.workflow.world import World
from tests.support.builders import a_file
from tests.support.fakes import FakeS3
from tests.support.site import TIMES, Site

CDN = "https://cdn.example.org/"
PUBLIC = "https://dl.example.org/"
A, B = "tool/a", "tool/b"
DATA = {A: "the bytes of a", B: "and of b"}
ABSENT = Seen(404, 0, None)
PATIENCE = TIMES.lag + 2 * TIMES.error_ttl


@dataclass
class Edge:
    """The public site; some URLs answer otherwise until a moment, or until enough was invalidated."""

    s3: FakeS3
    wrong: dict[str, Seen] = field(default_factory=dict[str, Seen])
    until: datetime | None = None
    invalidations: int = 1
    silent: set[str] = field(default_factory=set[str])
    digests: dict[str, Digest] = field(default_factory=dict[str, Digest])
    heads: list[str] = field(default_factory=list[str])
    gets: list[str] = field(default_factory=list[str])

    def head(self, url: str) -> Seen:
        self.heads.append(url)
        if url in self.silent:
            raise EdgeError(f"no answer from {url}")
        return self.wrong[url] if url in self.wrong and self._lags() else self.s3.web.head(url)

    def compute_digest(self, url: str) -> Digest:
        self.gets.append(url)
        return self.digests.get(url) or self.s3.web.compute_digest(url)

    def _lags(self) -> bool:
        if self.until is not None:
            return self.s3.clock < self.until
        return len(self.s3.cdn.invalidated) < self.invalidations


@dataclass
class SlowCdn:
    """A control plane whose invalidations are complete once each was asked for often enough, or never."""

    s3: FakeS3
    after: int | None
    asked: list[tuple[str, datetime]] = field(default_factory=list[tuple[str, datetime]])

    def invalidate(self, paths: Sequence[str], reference: str) -> str:
        return self.s3.cdn.invalidate(paths, reference)

    def is_invalidated(self, invalidation: str) -> bool:
        self.s3.cdn.is_invalidated(invalidation)
        self.asked.append((invalidation, self.s3.clock))
        count = sum(asked == invalidation for asked, _ in self.asked)
        return self.after is not None and count >= self.after


class Desk:
    """Two placed files, and a look at them."""

    def __init__(self, base: str = PUBLIC) -> None:
        self.site = Site()
        self.s3 = self.site.s3
        self.edge = Edge(self.s3)
        self.world: World = replace(self.site.world(), web=self.edge, site=PublicSite(CDN, base))
        self.files: dict[PlannedFile, Version] = {}
        for key, data in DATA.items():
            stored = self.s3.public.store(key, data.encode())
            self.files[a_file(key, data)] = Version(key, stored.version_id, stored.etag)
        self.checks: list[datetime] = []
        self.references: list[str] = []
        self.s3.before = self._note

    def look(self, *, deep: bool = False, check: Callable[[], None] | None = None) -> int:
        return look(self.world, check or self._check, self.files, promotion="p1", deep=deep)

    def fail(self, *, deep: bool = False) -> str:
        with pytest.raises(EdgeError) as caught:
            self.look(deep=deep)
        assert caught.value.next_step
        return str(caught.value)

    def seen(self, key: str) -> Seen:
        """Give what is right for a key."""
        return self.s3.web.head(CDN + key)

    def slow(self, after: int | None) -> SlowCdn:
        """Make invalidations take a while, or for ever."""
        cdn = SlowCdn(self.s3, after)
        self.world = replace(self.world, cdn=cdn)
        return cdn

    def waited(self, began: datetime) -> float:
        return (self.s3.clock - began).total_seconds()

    def _check(self) -> None:
        self.checks.append(self.s3.clock)

    def _note(self, request: str, key: str) -> None:
        if request == "invalidate":
            self.references.append(key)


def lose_lease() -> None:
    raise LeaseError("lost")


def forgotten(*paths: str) -> tuple[str, ...]:
    """Give what is invalidated for these paths of lower-case keys, in order."""
    return (*(f"/_pending/p1/{path}" for path in paths), *(f"/{path}" for path in paths))


# --- Right -----------------------------------------------------------------------------------------------


def test_files_that_are_right_at_once_are_asked_for_once_at_either_place_and_nobody_waits() -> None:
    desk = Desk()
    began = desk.s3.clock

    assert desk.look() == 0

    assert desk.edge.heads == [CDN + A, CDN + B, PUBLIC + A, PUBLIC + B]
    assert desk.waited(began) == 0
    assert desk.edge.gets == []
    assert desk.s3.cdn.invalidated == []


def test_where_users_download_from_the_cdn_itself_each_url_is_asked_for_once() -> None:
    desk = Desk(base=CDN)

    desk.look()

    assert desk.edge.heads == [CDN + A, CDN + B]


def test_no_files_are_right() -> None:
    desk = Desk()
    desk.files.clear()

    assert desk.look() == 0

    assert desk.edge.heads == []


def test_an_edge_that_lags_is_waited_for_and_only_what_was_wrong_is_asked_for_again() -> None:
    desk = Desk(base=CDN)
    began = desk.s3.clock
    desk.edge.wrong = {CDN + B: ABSENT}
    desk.edge.until = began + timedelta(seconds=3)

    desk.look()

    assert desk.edge.heads == [CDN + A, CDN + B, CDN + B, CDN + B, CDN + B]
    assert desk.waited(began) == 3
    assert desk.s3.cdn.invalidated == []


@pytest.mark.parametrize("base", [CDN, PUBLIC])
def test_a_miss_that_an_edge_remembers_may_last_for_lag_and_twice_its_memory(base: str) -> None:
    desk = Desk()
    began = desk.s3.clock
    desk.edge.wrong = {base + A: ABSENT}
    desk.edge.until = began + timedelta(seconds=PATIENCE)

    desk.look()

    assert desk.waited(began) == PATIENCE
    assert desk.s3.cdn.invalidated == []


def test_a_weak_etag_of_the_file_is_right() -> None:
    desk = Desk()
    seen = desk.seen(A)
    desk.edge.wrong = {CDN + A: replace(seen, etag=f"W/{seen.etag}")}

    assert desk.look() == 0

    assert desk.edge.gets == []
    assert desk.s3.cdn.invalidated == []


@pytest.mark.parametrize("etag", ['"bb"', 'W/"bb"', '"aa-2"', "", None])
def test_an_etag_that_alone_differs_is_settled_by_the_bytes(etag: str | None) -> None:
    desk = Desk()
    began = desk.s3.clock
    desk.edge.wrong = {CDN + A: replace(desk.seen(A), etag=etag)}

    assert desk.look() == len(DATA[A])

    assert desk.edge.heads == [CDN + A, CDN + B, PUBLIC + A, PUBLIC + B]
    assert desk.edge.gets == [CDN + A]
    assert desk.waited(began) == 0
    assert desk.s3.cdn.invalidated == []
    assert desk.site.observer.warnings == []


def test_what_was_downloaded_for_an_etag_is_counted_for_each_file_at_either_place() -> None:
    desk = Desk()
    desk.edge.wrong = {
        url: replace(desk.seen(key), etag='"bb"')
        for url, key in ((CDN + A, A), (PUBLIC + A, A), (PUBLIC + B, B))
    }

    assert desk.look() == 2 * len(DATA[A]) + len(DATA[B])

    assert desk.edge.gets == [CDN + A, PUBLIC + A, PUBLIC + B]


def test_the_lease_is_looked_at_before_each_download_for_an_etag() -> None:
    desk = Desk()
    desk.edge.wrong = {CDN + A: replace(desk.seen(A), etag='"bb"')}

    with pytest.raises(LeaseError):
        desk.look(check=lose_lease)
    assert desk.edge.gets == []


# --- Invalidation ----------------------------------------------------------------------------------------


def test_what_stays_wrong_is_invalidated_once_and_then_right() -> None:
    desk = Desk()
    began = desk.s3.clock
    desk.edge.wrong = {CDN + A: ABSENT}

    desk.look()

    assert desk.s3.cdn.invalidated == [forgotten(A)]
    assert desk.waited(began) == PATIENCE
    assert desk.site.observer.warnings == [f"1 URLs are invalidated: {CDN}{A}: status 404"]
    assert desk.edge.heads[-3:] == [CDN + A, PUBLIC + A, PUBLIC + B]


def test_invalidated_paths_are_sorted_and_encoded_as_the_edge_knows_them() -> None:
    desk = Desk(base=CDN)
    stored = desk.s3.public.store("tool/a+1", b"x")
    desk.files = {a_file("tool/a+1", "x"): Version("tool/a+1", stored.version_id, stored.etag), **desk.files}
    desk.edge.wrong = {f"{CDN}tool/a%2B1": ABSENT, CDN + B: ABSENT}
    # The fake takes paths as keys.
    stored_again = desk.s3.public.store("tool/a%2B1", b"x")

    desk.look()

    assert stored_again.etag == stored.etag
    assert desk.s3.cdn.invalidated == [forgotten("tool/a%2B1", "tool/b")]


def test_paths_of_both_kinds_are_sorted_together() -> None:
    desk = Desk(base=CDN)
    stored = desk.s3.public.store("Tool/z", b"x")
    desk.files = {**desk.files, a_file("Tool/z", "x"): Version("Tool/z", stored.version_id, stored.etag)}
    desk.edge.wrong = {CDN + B: ABSENT, CDN + "Tool/z": ABSENT}

    desk.look()

    assert desk.s3.cdn.invalidated == [
        ("/Tool/z", "/_pending/p1/Tool/z", "/_pending/p1/tool/b", "/tool/b"),
    ]


@pytest.mark.parametrize(("count", "sizes"), [(1000, [2000]), (1001, [2000, 2]), (2001, [2000, 2000, 2])])
def test_at_most_1000_keys_are_invalidated_at_once_and_the_next_when_those_are_complete(
    count: int, sizes: list[int]
) -> None:
    desk = Desk(base=CDN)
    desk.files.clear()
    keys = [f"tool/{number:04}" for number in range(count)]
    for key in keys:
        stored = desk.s3.public.store(key, b"x")
        desk.files[a_file(key, "x")] = Version(key, stored.version_id, stored.etag)
    desk.edge.wrong = {CDN + key: ABSENT for key in keys}
    desk.edge.invalidations = len(sizes)
    desk.slow(after=2)
    asked: list[tuple[str, str]] = []
    desk.s3.before = lambda request, key: (
        asked.append((request, key)) if request in {"invalidate", "wait"} else None
    )

    desk.look()

    made = desk.s3.cdn.invalidated
    assert [len(paths) for paths in made] == sizes
    assert all(paths == tuple(sorted(paths)) for paths in made)
    assert sorted(path for paths in made for path in paths) == list(forgotten(*keys))
    # A key's two paths are forgotten together.
    assert made == [forgotten(*keys[part : part + 1000]) for part in range(0, count, 1000)]
    assert [request for request, _ in asked] == ["invalidate", "wait", "wait"] * len(sizes)
    references = [reference for request, reference in asked if request == "invalidate"]
    assert len(set(references)) == len(sizes)
    assert [reference for _, reference in asked] == [r for r in references for _ in range(3)]


def test_an_invalidation_is_waited_for_before_the_next_look() -> None:
    desk = Desk(base=CDN)
    desk.edge.wrong = {CDN + A: ABSENT}
    asked: list[str] = []

    def note(request: str, key: str) -> None:
        if request in {"invalidate", "wait"}:
            asked.append(f"{request} {key} after {len(desk.edge.heads)} looks")

    desk.s3.before = note
    desk.look()

    looks = 2 + PATIENCE
    assert [line.split()[0] for line in asked] == ["invalidate", "wait"]
    assert len({line.split()[1] for line in asked}) == 1
    assert all(line.endswith(f"after {looks} looks") for line in asked)
    assert len(desk.edge.heads) == looks + 1


@pytest.mark.parametrize("after", [1, 2, 7, 120])
def test_an_invalidation_is_asked_for_every_five_seconds_until_it_is_complete(after: int) -> None:
    desk = Desk(base=CDN)
    began = desk.s3.clock
    desk.edge.wrong = {CDN + A: ABSENT}
    cdn = desk.slow(after)

    desk.look()

    made = began + timedelta(seconds=PATIENCE)
    assert [at for _, at in cdn.asked] == [made + timedelta(seconds=5 * number) for number in range(after)]
    assert {invalidation for invalidation, _ in cdn.asked} == set(desk.references)
    assert len(desk.references) == 1
    # The lease is looked at before each question.
    assert {at for _, at in cdn.asked} <= set(desk.checks)
    assert desk.waited(began) == PATIENCE + 5 * (after - 1)
    assert len(desk.edge.heads) == 2 + PATIENCE + 1


def test_an_invalidation_that_is_never_complete_is_the_edges_fault() -> None:
    desk = Desk()
    began = desk.s3.clock
    desk.edge.wrong = {CDN + A: ABSENT}
    cdn = desk.slow(after=None)

    message = desk.fail()

    assert message == f"invalidation {desk.references[0]} is not complete"
    assert len(cdn.asked) == 120
    assert desk.waited(began) == PATIENCE + 595
    assert len(desk.s3.cdn.invalidated) == 1
    assert len(desk.edge.heads) == 2 + PATIENCE


def test_of_several_invalidations_none_follows_one_that_is_never_complete() -> None:
    desk = Desk(base=CDN)
    for number in range(1000):
        stored = desk.s3.public.store(f"tool/{number}", b"x")
        version = Version(stored.key, stored.version_id, stored.etag)
        desk.files[a_file(stored.key, "x")] = version
    desk.edge.wrong = {CDN + file.key: ABSENT for file in desk.files}
    desk.slow(after=None)

    assert desk.fail() == f"invalidation {desk.references[0]} is not complete"
    assert len(desk.s3.cdn.invalidated) == 1


@pytest.mark.parametrize(("after", "questions"), [(0, 0), (1, 1), (5, 1), (6, 2), (60, 12)])
def test_a_lease_that_is_lost_during_a_long_invalidation_stops_it(after: int, questions: int) -> None:
    desk = Desk()
    began = desk.s3.clock
    desk.edge.wrong = {CDN + A: ABSENT}
    cdn = desk.slow(after=None)
    lost = began + timedelta(seconds=PATIENCE + after)

    def check() -> None:
        if desk.s3.cdn.invalidated and desk.s3.clock >= lost:
            lose_lease()

    with pytest.raises(LeaseError):
        desk.look(check=check)

    assert len(cdn.asked) == questions
    assert 0 <= desk.waited(began) - PATIENCE - after < 5
    assert len(desk.s3.cdn.invalidated) == 1
    assert len(desk.edge.heads) == 2 + PATIENCE


def test_no_two_looks_share_a_reference_for_the_cdn_would_take_the_second_for_a_retry() -> None:
    desk = Desk()
    desk.edge.wrong = {CDN + A: ABSENT, PUBLIC + A: ABSENT}
    desk.edge.invalidations = 2

    with pytest.raises(EdgeError):
        desk.look()
    desk.look()

    assert len(desk.references) == 2
    assert len(set(desk.references)) == 2
    assert all(reference.startswith("p1-") for reference in desk.references)


def test_an_outer_cache_that_stays_wrong_is_invalidated_for_itself() -> None:
    desk = Desk()
    desk.edge.wrong = {CDN + A: ABSENT, PUBLIC + A: ABSENT}
    right_at_cdn = desk.edge.wrong.pop

    def follow(request: str, key: str) -> None:
        if request == "wait" and len(desk.s3.cdn.invalidated) == 1:
            desk.edge.invalidations = 2
            right_at_cdn(CDN + A)

    desk.s3.before = follow
    desk.look()

    assert desk.s3.cdn.invalidated == [forgotten(A), forgotten(A)]


@pytest.mark.parametrize("request_", ["invalidate", "wait"])
@pytest.mark.parametrize("error", [StoreError("no"), AccessDeniedError("no"), EdgeError("no")])
def test_an_invalidation_that_fails_ends_the_look(request_: str, error: Exception) -> None:
    desk = Desk()
    desk.edge.wrong = {CDN + A: ABSENT}

    def fail(request: str, key: str) -> None:
        if request == request_:
            raise error

    desk.s3.before = fail
    with pytest.raises(type(error), match="no"):
        desk.look()


# --- Wrong -----------------------------------------------------------------------------------------------


RIGHT = Seen(200, len(DATA[A]), FakeS3().public.store(A, DATA[A].encode()).etag)


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (replace(RIGHT, size=3), "3 bytes instead of 14 bytes"),
        (replace(RIGHT, size=None), "no size instead of 14 bytes"),
        (replace(RIGHT, status=403), "status 403"),
        (replace(RIGHT, status=301), "status 301"),
    ],
    ids=["size", "no size", "refused", "redirect"],
)
def test_what_is_still_wrong_after_an_invalidation_is_named_with_what_was_found(
    found: Seen, fault: str
) -> None:
    desk = Desk()
    began = desk.s3.clock
    desk.edge.invalidations = 99
    desk.edge.wrong = {CDN + A: found}

    message = desk.fail()

    assert message.startswith(f"1 URLs do not serve what was placed:\n  {CDN}{A}: {fault}")
    assert B not in message
    assert desk.waited(began) == 2 * PATIENCE
    assert len(desk.s3.cdn.invalidated) == 1
    assert desk.edge.gets == []


@pytest.mark.parametrize("etag", ['"bb"', None])
def test_an_etag_that_differs_with_other_bytes_is_invalidated_and_then_named_with_both_digests(
    etag: str | None,
) -> None:
    desk = Desk()
    began = desk.s3.clock
    other = of_bytes(b"other bytes!!!")
    desk.edge.invalidations = 99
    desk.edge.wrong = {CDN + A: replace(RIGHT, etag=etag)}
    desk.edge.digests = {CDN + A: other}

    message = desk.fail()

    fault = f"{CDN}{A}: {display(other)} instead of {display(of_bytes(DATA[A].encode()))}"
    assert message == f"1 URLs do not serve what was placed:\n  {fault}"
    assert desk.site.observer.warnings == [f"1 URLs are invalidated: {fault}"]
    assert desk.s3.cdn.invalidated == [forgotten(A)]
    assert desk.waited(began) == 2 * PATIENCE
    assert set(desk.edge.gets) == {CDN + A}


def test_other_bytes_that_an_invalidation_makes_right_are_right_though_the_etag_still_differs() -> None:
    desk = Desk(base=CDN)
    desk.edge.invalidations = 99
    desk.edge.wrong = {CDN + A: replace(RIGHT, etag='"bb"')}
    desk.edge.digests = {CDN + A: of_bytes(b"other bytes!!!")}

    def follow(request: str, key: str) -> None:
        if request == "wait":
            desk.edge.digests.clear()

    desk.s3.before = follow
    downloaded = desk.look()

    assert desk.s3.cdn.invalidated == [forgotten(A)]
    # Each download counts, also those whose bytes were wrong.
    assert downloaded == len(DATA[A]) * len(desk.edge.gets) > len(DATA[A])


def test_every_wrong_url_is_named_and_users_are_not_looked_for_where_the_cdn_is_wrong() -> None:
    desk = Desk()
    desk.edge.invalidations = 99
    desk.edge.wrong = {CDN + A: ABSENT, CDN + B: Seen(503, None, None), PUBLIC + A: ABSENT}

    message = desk.fail()

    assert message.splitlines()[1:] == [f"  {CDN}{A}: status 404", f"  {CDN}{B}: status 503"]
    assert not any(url.startswith(PUBLIC) for url in desk.edge.heads)


def test_a_url_that_users_have_and_the_cdn_does_not_is_named_as_theirs() -> None:
    desk = Desk()
    desk.edge.invalidations = 99
    desk.edge.wrong = {PUBLIC + A: ABSENT}

    assert f"{PUBLIC}{A}: status 404" in desk.fail()


def test_a_url_that_does_not_answer_is_asked_again_and_named_in_the_end() -> None:
    desk = Desk()
    desk.edge.silent = {CDN + A}

    assert f"{CDN}{A}: no answer from {CDN}{A}" in desk.fail()
    assert desk.edge.heads.count(CDN + A) == 2 * (PATIENCE + 1)


# --- Deep ------------------------------------------------------------------------------------------------


def test_a_deep_look_downloads_every_file_and_compares_its_digest() -> None:
    desk = Desk()
    began = desk.s3.clock

    assert desk.look(deep=True) == 2 * (len(DATA[A]) + len(DATA[B]))

    assert desk.edge.gets == [CDN + A, CDN + B, PUBLIC + A, PUBLIC + B]
    assert desk.checks == [began] * 4


def test_a_deep_look_downloads_no_more_when_the_lease_is_lost() -> None:
    desk = Desk()

    def check() -> None:
        if len(desk.edge.gets) == 3:
            lose_lease()

    with pytest.raises(LeaseError):
        desk.look(deep=True, check=check)
    assert desk.edge.gets == [CDN + A, CDN + B, PUBLIC + A]


def test_a_deep_look_that_has_to_settle_an_etag_downloads_no_file_twice() -> None:
    desk = Desk(base=CDN)
    desk.edge.wrong = {CDN + A: replace(RIGHT, etag='"bb"')}

    assert desk.look(deep=True) == len(DATA[A]) + len(DATA[B])

    assert desk.edge.gets == [CDN + A, CDN + B]


def test_a_deep_look_finds_bytes_that_differ_though_size_and_etag_do_not() -> None:
    desk = Desk()
    other = of_bytes(b"other bytes!!!")
    desk.edge.digests = {CDN + A: other}
    assert desk.look() == 0

    message = desk.fail(deep=True)

    assert f"{CDN}{A}: {display(other)} instead of {display(of_bytes(DATA[A].encode()))}" in message


def test_a_deep_look_downloads_nothing_whose_headers_are_wrong() -> None:
    desk = Desk()
    desk.edge.wrong = {CDN + A: ABSENT}
    desk.edge.invalidations = 99

    assert "status 404" in desk.fail(deep=True)
    assert CDN + A not in desk.edge.gets


@pytest.mark.parametrize("deep", [True, False])
def test_a_download_that_breaks_off_is_a_fault_like_any_other(deep: bool) -> None:
    desk = Desk()
    desk.edge.wrong = {} if deep else {CDN + A: replace(RIGHT, etag='"bb"')}
    desk.edge.invalidations = 99

    def break_off(request: str, key: str) -> None:
        if request == "get" and key == A:
            raise EdgeError("it broke off")

    desk.s3.before = break_off

    assert f"{CDN}{A}: it broke off" in desk.fail(deep=deep)


# --- Waiting ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "checked"),
    [(0, []), (-1, []), (5, [5]), (30, [30]), (31, [30, 31]), (75, [30, 60, 75]), (0.5, [0.5])],
)
def test_a_wait_looks_at_the_lease_on_the_way_and_at_its_end(seconds: float, checked: list[float]) -> None:
    desk = Desk()
    began = desk.s3.clock

    wait(desk.world, lambda: desk.checks.append(desk.s3.clock), seconds)

    assert [(at - began).total_seconds() for at in desk.checks] == checked
    assert desk.waited(began) == max(0, seconds)


def test_a_wait_much_longer_than_a_lease_lives_keeps_it() -> None:
    desk = Desk()
    with hold_lease(desk.world, "promote 1.2.3") as (lease, _):
        desk.s3.writes.clear()
        wait(desk.world, lease.check, 10 * SECONDS)
        lease.check()

        renewed = [name for request, name in desk.s3.writes if request == "replace"]
        assert set(renewed) == {f"staging/{LEASE_KEY}"}
        assert 10 * SECONDS / RENEW_AFTER / 2 <= len(renewed) <= 10 * SECONDS / RENEW_AFTER


def test_a_wait_ends_when_the_lease_is_lost() -> None:
    desk = Desk()
    began = desk.s3.clock

    with pytest.raises(LeaseError):
        wait(desk.world, lose_lease, 600)
    assert desk.waited(began) == 30


def test_a_look_that_has_to_wait_ends_when_the_lease_is_lost() -> None:
    desk = Desk()
    desk.edge.wrong = {CDN + A: ABSENT}

    with pytest.raises(LeaseError):
        desk.look(check=lose_lease)
    assert desk.s3.cdn.invalidated == []
