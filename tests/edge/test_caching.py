"""What an edge keeps, for how long, and what an invalidation takes away."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from sandbox.edge import Edges
from sandbox.edge.cache import Cache, Entry, choose_ttl, make_matcher
from sandbox.edge.values import Deployed, ErrorRule, Matching
from tests.edge.site import ERROR_TTL, PAGE_TEXT, Site
from tests.edge.viewer import Viewer, eventually

Connect = Callable[[str], Viewer]


def deployed(min_ttl: float = 0) -> Deployed:
    return Deployed("E1", "d.cloudfront.net", "", min_ttl, 60, 1000, {404: ErrorRule(7)}, ())


def test_a_file_is_fetched_once_and_then_served_from_the_cache(
    site: Site, viewer: Viewer, folder: str
) -> None:
    site.put(f"{folder}/a.exe", b"old")
    first, second = viewer.get(f"/{folder}/a.exe"), viewer.get(f"/{folder}/a.exe")
    assert (first.status, first.cache, first.body) == (200, "Miss", b"old")
    assert (second.status, second.cache, second.body) == (200, "Hit", b"old")
    assert "age" not in first.headers
    assert second.headers["age"] == "0"
    assert second.headers["etag"] == first.headers["etag"]
    assert second.headers["cache-control"] == "public, max-age=31536000, immutable"


def test_an_immutable_file_is_kept_although_the_bucket_has_another(
    site: Site, viewer: Viewer, folder: str
) -> None:
    site.put(f"{folder}/a.exe", b"old")
    assert viewer.get(f"/{folder}/a.exe").body == b"old"
    site.put(f"{folder}/a.exe", b"new")
    assert viewer.get(f"/{folder}/a.exe").body == b"old"


@pytest.mark.parametrize(
    "directive", ["no-store", "no-cache", "private", "max-age=0", "s-maxage=0,max-age=9"]
)
def test_what_says_so_is_not_kept(site: Site, viewer: Viewer, folder: str, directive: str) -> None:
    site.put(f"{folder}/latest.json", b"old", directive)
    assert viewer.get(f"/{folder}/latest.json").body == b"old"
    site.put(f"{folder}/latest.json", b"new", directive)
    again = viewer.get(f"/{folder}/latest.json")
    assert (again.cache, again.body) == ("Miss", b"new")


def test_a_short_lived_file_is_fetched_again_in_time(site: Site, viewer: Viewer, folder: str) -> None:
    site.put(f"{folder}/index.html", b"old", "max-age=2")
    assert viewer.get(f"/{folder}/index.html").body == b"old"
    site.put(f"{folder}/index.html", b"new", "max-age=2")
    assert viewer.get(f"/{folder}/index.html").body == b"old"
    assert eventually(lambda: viewer.get(f"/{folder}/index.html").body == b"new")


def test_a_miss_is_kept_for_the_error_ttl_and_not_longer(site: Site, viewer: Viewer, folder: str) -> None:
    began = time.monotonic()
    miss = viewer.get(f"/{folder}/a.exe")
    assert (miss.status, miss.body, miss.cache) == (404, PAGE_TEXT, "Error")
    site.put(f"{folder}/a.exe", b"there")
    while viewer.get(f"/{folder}/a.exe").status != 200:
        assert time.monotonic() < began + ERROR_TTL + 5
        time.sleep(0.01)
    assert time.monotonic() >= began + ERROR_TTL


def test_a_miss_looks_the_same_whatever_is_missing(viewer: Viewer, folder: str) -> None:
    varying = {"date", "age"}
    answers = [
        viewer.get(path) for path in (f"/{folder}/a.exe", "/_pending/id/a.exe", "/%2e%2e/x", "//", "/a\\b")
    ]
    for answer in answers:
        assert (answer.status, answer.body) == (404, PAGE_TEXT)
        assert {k: v for k, v in answer.headers.items() if k not in varying} == {
            k: v for k, v in answers[0].headers.items() if k not in varying
        }


def test_query_string_and_cookies_make_no_second_copy(site: Site, viewer: Viewer, folder: str) -> None:
    site.put(f"{folder}/a.exe", b"x")
    assert viewer.get(f"/{folder}/a.exe?a=1").cache == "Miss"
    assert viewer.get(f"/{folder}/a.exe?b=2&b", Cookie="c=d; e").cache == "Hit"
    assert viewer.get(f"/{folder}/a.exe").cache == "Hit"


def test_the_two_edges_are_independent(site: Site, edges: Edges, connect: Connect, folder: str) -> None:
    one, two = (connect(url) for url in edges.urls)
    site.put(f"{folder}/a.exe", b"old")
    assert one.get(f"/{folder}/a.exe").body == b"old"
    site.put(f"{folder}/a.exe", b"new")
    assert (one.get(f"/{folder}/a.exe").body, two.get(f"/{folder}/a.exe").body) == (b"old", b"new")
    assert one.get("/").headers["x-amz-cf-pop"] != two.get("/").headers["x-amz-cf-pop"]


def test_viewers_who_wait_for_the_same_miss_cost_one_request(
    site: Site, edges: Edges, connect: Connect, folder: str
) -> None:
    site.put(f"{folder}/a.exe", b"x" * 100_000)
    viewers = [connect(edges.urls[0]) for _ in range(8)]
    before = edges.edges[0].status().counters

    def get(viewer: Viewer) -> bytes:
        return viewer.get(f"/{folder}/a.exe").body

    with ThreadPoolExecutor(8) as threads:
        bodies = set(threads.map(get, viewers))
    assert bodies == {b"x" * 100_000}
    after = edges.edges[0].status().counters
    assert after.origin_requests - before.origin_requests == 1
    assert after.requests - before.requests == 8


@pytest.mark.parametrize("pattern", ["/{}/a.exe", "/{}/*", "/{}*"])
def test_an_invalidation_reaches_every_edge_and_nothing_else(
    site: Site, edges: Edges, connect: Connect, folder: str, pattern: str
) -> None:
    viewers = [connect(url) for url in edges.urls]
    paths = f"/{folder}/a.exe", f"/other/{folder}/a.exe"
    for path in paths:
        site.put(path[1:], b"old")
    assert {viewer.get(path).body for viewer in viewers for path in paths} == {b"old"}
    for path in paths:
        site.put(path[1:], b"new")
    site.invalidate(pattern.format(folder))
    for viewer in viewers:
        assert eventually(lambda viewer=viewer: viewer.get(paths[0]).body == b"new")
        assert viewer.get(paths[1]).body == b"old"


def test_an_invalidation_takes_a_miss_away_too(site: Site, edges: Edges, viewer: Viewer, folder: str) -> None:
    before = edges.edges[0].status().counters.invalidations
    assert viewer.get(f"/{folder}/").status == 404
    site.invalidate(f"/{folder}/")
    assert eventually(lambda: edges.edges[0].status().counters.invalidations > before)
    assert f"/{folder}/" not in edges.edges[0].status().cached


def test_an_invalidation_takes_its_time(site: Site, edges: Edges, viewer: Viewer, folder: str) -> None:
    edges.edges[0].tune(invalidation_delay_seconds=0.5)
    site.put(f"{folder}/a.exe", b"old")
    viewer.get(f"/{folder}/a.exe")
    site.put(f"{folder}/a.exe", b"new")
    began = time.monotonic()
    site.invalidate(f"/{folder}/a.exe")
    assert eventually(lambda: viewer.get(f"/{folder}/a.exe").body == b"new")
    assert time.monotonic() - began >= 0.5


def test_a_viewers_path_and_the_rewritten_one_are_both_known(
    site: Site, edges: Edges, viewer: Viewer, folder: str
) -> None:
    site.put(f"{folder}/index.html", b"old")
    site.write_seen(edges, {f"d:{folder}": "1"})
    for path in (f"/{folder}/", f"/{folder}/index.html"):
        assert viewer.get(f"/{folder}/").status == 200
        assert f"/{folder}/index.html" in edges.edges[0].status().cached
        site.invalidate(path)
        assert eventually(lambda: f"/{folder}/index.html" not in edges.edges[0].status().cached)


@pytest.mark.parametrize(
    ("matching", "pattern", "is_reached"),
    [
        (Matching.EITHER, "/a/", True),
        (Matching.EITHER, "/a/index.html", True),
        (Matching.VIEWER, "/a/", True),
        (Matching.VIEWER, "/a/index.html", False),
        (Matching.REWRITTEN, "/a/", False),
        (Matching.REWRITTEN, "/a/index.html", True),
        (Matching.EITHER, "/b/", False),
    ],
)
def test_which_path_counts_can_be_chosen(matching: Matching, pattern: str, *, is_reached: bool) -> None:
    cache = Cache(matching)
    cache.keep("/a/index.html", Entry(200, (), b"", 0, 10, {"/a/"}))
    cache.invalidate([pattern])
    assert (cache.find("/a/index.html", 1) is None) is is_reached


@pytest.mark.parametrize(
    ("pattern", "path", "is_matched"),
    [
        ("/a", "/a", True),
        ("/a", "/a/", False),
        ("/A", "/a", False),
        ("/a*", "/ab/c", True),
        ("/*", "/a", True),
        ("*", "/a", False),
        ("a", "/a", False),
        ("/*/b", "/a/b", False),
        ("/a%2Bb", "/a+b", False),
    ],
)
def test_paths_are_compared_letter_by_letter(pattern: str, path: str, *, is_matched: bool) -> None:
    assert make_matcher([pattern])([path]) is is_matched


@pytest.mark.parametrize(
    ("status", "value", "min_ttl", "seconds"),
    [
        (200, None, 0, 60),
        (200, "public", 0, 60),
        (200, "max-age=5", 0, 5),
        (200, 's-maxage="7", max-age=5', 0, 7),
        (200, "max-age=99999", 0, 1000),
        (200, "max-age=5", 30, 30),
        (200, "no-store", 0, 0),
        (200, "no-store, max-age=5", 30, 30),
        (200, "max-age=soon", 0, 60),
        (404, "max-age=500", 0, 7),
        (500, None, 0, 10),
    ],
)
def test_how_long_an_answer_is_kept(status: int, value: str | None, min_ttl: float, seconds: float) -> None:
    headers = () if value is None else (("Cache-Control", value),)
    assert choose_ttl(status, headers, deployed(min_ttl)) == seconds


def test_what_was_not_asked_for_longest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.edge.cache.MAX_BYTES", 10)
    cache = Cache(Matching.EITHER)
    for key in ("/a", "/b"):
        cache.keep(key, Entry(200, (), b"12345", 0, 10))
    cache.find("/a", 1)
    cache.keep("/c", Entry(200, (), b"12345", 0, 10))
    assert cache.list_keys(1) == ("/a", "/c")
