"""The cache in front of an edge, asked without the publisher: what it keeps, hides and forgets."""

import http.client
import json
import socket
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from urllib.parse import urlsplit

import pytest

from sandbox.ministack import LOOPBACK, reserve_port
from sandbox.outer_cache import HIT_SECONDS, MISS_SECONDS, Counts, Fault, OuterCache, run_outer_cache
from sandbox.outer_cache.cache import Cache, Entry, choose_seconds
from tests.edge.viewer import Viewer, eventually

FILE = "/tool/1.2.0/tool-1.2.0.tgz"
NO_STORE = "no-store, max-age=0"


class Edge(ThreadingHTTPServer):
    """An edge that holds `files`, each with a status; it is asked to wait on paths in `held`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((LOOPBACK, 0), Handler)
        self.url = f"http://{LOOPBACK}:{self.server_port}/"
        self.files: dict[str, tuple[int, bytes]] = {}
        self.seen: list[tuple[str, str]] = []
        self.hold: Mapping[str, Event] = {}
        self.connections = 0
        self.closes = False


class Handler(BaseHTTPRequestHandler):
    """Answers GET only: the cache asks for nothing else."""

    protocol_version = "HTTP/1.1"

    @property
    def edge(self) -> Edge:
        assert isinstance(self.server, Edge)
        return self.server

    def setup(self) -> None:
        super().setup()
        self.edge.connections += 1

    def do_GET(self) -> None:
        status, body = self.edge.files.get(self.path, (404, b"nothing here"))
        self.edge.seen.append((self.command, self.path))
        if self.path in self.edge.hold:
            assert self.edge.hold[self.path].wait(30)
        self.send_response(status)
        for name, value in (
            ("Content-Length", str(len(body))),
            ("Cache-Control", NO_STORE),
            ("ETag", '"e1"'),
            ("X-Cache", "Miss from cloudfront"),
            ("Location", "/elsewhere"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = self.edge.closes

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        return


@dataclass
class Clock:
    """Seconds that pass when told to."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def edge() -> Generator[Edge]:
    with Edge() as running:
        thread = Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def outer(edge: Edge, clock: Clock) -> Generator[OuterCache]:
    with run_outer_cache(edge.url, clock=clock) as running:
        yield running


@pytest.fixture
def bot(outer: OuterCache) -> Generator[Viewer]:
    with closing(Viewer(outer.url)) as viewer:
        yield viewer


# --- What it keeps ---------------------------------------------------------------------------------------


def test_a_miss_from_before_go_live_hides_the_file_until_it_is_purged(
    edge: Edge, outer: OuterCache, bot: Viewer
) -> None:
    assert bot.get(FILE).status == 404

    edge.files[FILE] = (200, b"the file")
    hidden = [bot.get(FILE).status for _ in range(3)]
    purged = bot.ask("PURGE", FILE)
    shown = bot.get(FILE)

    assert hidden == [404] * 3
    assert purged.status == 200
    assert (shown.status, shown.body) == (200, b"the file")


def test_without_a_purge_the_miss_hides_the_file_for_an_hour(edge: Edge, clock: Clock, bot: Viewer) -> None:
    bot.get(FILE)
    edge.files[FILE] = (200, b"the file")

    clock.now += MISS_SECONDS - 1
    assert bot.get(FILE).status == 404
    clock.now += 1
    assert bot.get(FILE).status == 200


def test_how_long_misses_are_kept_can_be_set(edge: Edge, clock: Clock) -> None:
    with run_outer_cache(edge.url, miss_seconds=5, clock=clock) as outer, closing(Viewer(outer.url)) as bot:
        bot.get(FILE)
        edge.files[FILE] = (200, b"the file")
        clock.now += 4
        assert bot.get(FILE).status == 404
        clock.now += 1
        assert bot.get(FILE).status == 200
        outer.miss_seconds = 0
        assert [bot.get("/other").headers["x-cache"] for _ in range(2)] == ["MISS", "MISS"]


def test_a_file_is_kept_for_years_whatever_it_says_itself(edge: Edge, clock: Clock, bot: Viewer) -> None:
    edge.files["/index.json"] = (200, b"old")
    first = bot.get("/index.json")
    edge.files["/index.json"] = (200, b"new")

    clock.now += 4 * 365 * 24 * 3600
    later = bot.get("/index.json")

    assert first.headers["cache-control"] == NO_STORE
    assert (first.headers["x-cache"], first.headers["age"]) == ("MISS", "0")
    assert (later.body, later.headers["x-cache"]) == (b"old", "HIT")
    assert later.headers["age"] == str(4 * 365 * 24 * 3600)
    clock.now += HIT_SECONDS
    assert bot.get("/index.json").body == b"new"


@pytest.mark.parametrize(
    ("status", "seconds"),
    [
        (200, HIT_SECONDS),
        (301, HIT_SECONDS),
        (302, HIT_SECONDS),
        (404, 7.0),
        (410, 7.0),
        (403, 0.0),
        (206, 0.0),
        (500, 0.0),
        (503, 0.0),
    ],
)
def test_files_redirects_and_misses_are_kept_and_nothing_else(status: int, seconds: float) -> None:
    assert choose_seconds(status, 7.0) == seconds


@pytest.mark.parametrize(("status", "fetches"), [(404, 1), (410, 1), (301, 1), (403, 2), (503, 2)])
def test_what_is_not_kept_is_asked_for_again(edge: Edge, bot: Viewer, status: int, fetches: int) -> None:
    edge.files[FILE] = (status, b"answer")

    assert [bot.get(FILE).status for _ in range(2)] == [status] * 2
    assert len(edge.seen) == fetches


def test_each_spelling_is_kept_and_forgotten_for_itself(edge: Edge, bot: Viewer) -> None:
    spellings = ["/c%2B%2B/a", "/c++/a", "/c%2b%2b/a", "//c++/a", "/c++/a?", "/c++/a?x=1", "/c++/./a"]
    assert [bot.get(path).status for path in spellings] == [404] * 7
    edge.files = {path: (200, path.encode()) for path in spellings}

    bot.ask("PURGE", "/c++/a")

    assert [bot.get(path).status for path in spellings] == [404, 200, 404, 404, 404, 404, 404]
    sent = [path for _, path in edge.seen]
    # The edge's own server folds leading slashes.
    assert sent == [path.replace("//", "/") for path in spellings] + ["/c++/a"]


def test_a_head_that_misses_hides_the_file_from_a_get_and_the_other_way_round(
    edge: Edge, outer: OuterCache, bot: Viewer
) -> None:
    bot.head("/a")
    bot.get("/b")
    edge.files |= {"/a": (200, b"aaaa"), "/b": (200, b"bb")}

    assert [bot.get("/a").status, bot.head("/b").status] == [404, 404]
    bot.ask("PURGE", "/a")
    looked = bot.head("/a")
    edge.files["/a"] = (200, b"other")

    assert (looked.status, looked.body, looked.headers["content-length"]) == (200, b"", "4")
    assert bot.get("/a").body == b"aaaa"
    assert {method for method, _ in edge.seen} == {"GET"}
    assert outer.counts == Counts(hits=3, fetches=3, purges=1)


def test_a_head_gets_no_body(edge: Edge, outer: OuterCache) -> None:
    edge.files["/a"] = (200, b"aaaa")
    with socket.create_connection((LOOPBACK, urlsplit(outer.url).port or 0), timeout=10) as viewer:
        viewer.sendall(b"HEAD /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        with viewer.makefile("rb") as answer:
            said = answer.read()
    assert said.endswith(b"\r\n\r\n")
    assert b"Content-Length: 4\r\n" in said


def test_what_was_not_asked_for_longest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.outer_cache.cache.MAX_BYTES", 10)
    cache = Cache()
    for target in ("/a", "/b"):
        cache.keep(target, Entry(200, (), b"12345", 0, 10))
    cache.find("/a", 1)
    cache.keep("/c", Entry(200, (), b"12345", 0, 10))
    assert cache.list_targets(1) == ("/a", "/c")


# --- PURGE -----------------------------------------------------------------------------------------------


def test_a_purge_is_confirmed_as_fastly_does_cached_or_not(outer: OuterCache, bot: Viewer) -> None:
    bot.get(FILE)
    replies = [bot.ask("PURGE", FILE) for _ in range(2)]

    for reply in replies:
        assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
        said = json.loads(reply.body)
        assert said.keys() == {"status", "id"}
        assert said["status"] == "ok"
    assert replies[0].body != replies[1].body
    assert (outer.purged, outer.cached) == ((FILE, FILE), ())


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "purge", "FASTLYPURGE"])
def test_no_other_method_is_allowed_or_forgets_anything(
    edge: Edge, outer: OuterCache, bot: Viewer, method: str
) -> None:
    bot.get(FILE)
    reply = bot.send(f"{method} {FILE} HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody".encode())

    assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD, PURGE")
    assert outer.cached == (FILE,)
    # The connection goes on where the body ends.
    assert bot.get(FILE).headers["x-cache"] == "HIT"
    assert len(edge.seen) == 1


def test_an_answer_on_its_way_while_a_purge_comes_is_kept_all_the_same(
    edge: Edge, outer: OuterCache, bot: Viewer
) -> None:
    released = Event()
    edge.hold = {FILE: released}
    with closing(Viewer(outer.url)) as slow:
        answers: list[int] = []
        thread = Thread(target=lambda: answers.append(slow.get(FILE).status))
        thread.start()
        assert eventually(lambda: len(edge.seen) == 1)
        edge.files[FILE] = (200, b"the file")
        assert bot.ask("PURGE", FILE).status == 200
        released.set()
        thread.join()

    assert answers == [404]
    assert bot.get(FILE).status == 404
    bot.ask("PURGE", FILE)
    assert bot.get(FILE).status == 200


def test_who_asks_for_what_is_being_fetched_waits_for_it(edge: Edge, outer: OuterCache) -> None:
    released = Event()
    edge.hold = {FILE: released}
    edge.files[FILE] = (200, b"the file")
    answers: list[str] = []

    def ask() -> None:
        with closing(Viewer(outer.url)) as viewer:
            answers.append(viewer.get(FILE).headers["x-cache"])

    threads = [Thread(target=ask) for _ in range(5)]
    for thread in threads:
        thread.start()
    assert eventually(lambda: len(edge.seen) == 1)
    released.set()
    for thread in threads:
        thread.join()

    assert sorted(answers) == ["HIT"] * 4 + ["MISS"]
    assert len(edge.seen) == 1


def test_who_waits_for_what_is_not_kept_asks_for_himself(edge: Edge, outer: OuterCache, bot: Viewer) -> None:
    released = Event()
    edge.hold = {FILE: released}
    edge.files[FILE] = (403, b"not now")
    answers: list[int] = []

    def ask() -> None:
        with closing(Viewer(outer.url)) as viewer:
            answers.append(viewer.get(FILE).status)

    threads = [Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
        assert eventually(lambda: len(edge.seen) == 1)
        # Whoever came before this one has been heard.
        bot.ask("PURGE", "/other")
    released.set()
    for thread in threads:
        thread.join()

    assert answers == [403, 403]
    assert len(edge.seen) == 2


# --- What goes wrong -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "status"), [(Fault.REFUSE, 403), (Fault.THROTTLE, 429), (Fault.FAIL, 503), (Fault.LIE, 200)]
)
def test_a_purge_that_goes_wrong_forgets_nothing_and_the_next_one_does(
    outer: OuterCache, bot: Viewer, fault: Fault, status: int
) -> None:
    bot.get(FILE)
    outer.inject(fault)

    reply = bot.ask("PURGE", FILE)
    assert (reply.status, reply.headers.get("retry-after")) == (status, "2" if status == 429 else None)
    assert (outer.cached, outer.counts) == ((FILE,), Counts(fetches=1, faults=1))

    assert bot.ask("PURGE", FILE).status == 200
    assert (outer.cached, outer.counts) == ((), Counts(fetches=1, purges=1, faults=1))


@pytest.mark.parametrize(("fault", "kept"), [(Fault.DROP, (FILE,)), (Fault.DROP_AFTER, ())])
def test_a_connection_may_end_before_or_after_a_purge(
    outer: OuterCache, bot: Viewer, fault: Fault, kept: tuple[str, ...]
) -> None:
    bot.get(FILE)
    outer.inject(None, fault)
    bot.ask("PURGE", "/other")

    with pytest.raises(http.client.RemoteDisconnected):
        bot.ask("PURGE", FILE)
    assert outer.cached == kept


def test_a_silent_cache_answers_others_and_ends_with_its_block(edge: Edge) -> None:
    with run_outer_cache(edge.url) as outer:
        address = urlsplit(outer.url)
        assert address.port is not None
        with (
            socket.create_connection((LOOPBACK, address.port), timeout=0.2) as waiting,
            closing(Viewer(outer.url)) as bot,
        ):
            outer.inject(Fault.SILENCE)
            waiting.sendall(b"PURGE / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert eventually(lambda: outer.counts.faults == 1)
            with pytest.raises(TimeoutError):
                waiting.recv(1)
            assert bot.get(FILE).status == 404
            assert outer.purged == ()


def test_faults_do_not_touch_those_who_read(outer: OuterCache, bot: Viewer) -> None:
    outer.inject(Fault.DROP)
    assert [bot.get(FILE).status, bot.head(FILE).status] == [404, 404]


def test_an_edge_that_does_not_answer_is_a_503_that_is_not_kept(clock: Clock) -> None:
    with reserve_port() as port, run_outer_cache(f"http://{LOOPBACK}:{port}/", clock=clock) as outer:
        with closing(Viewer(outer.url)) as bot:
            assert bot.get(FILE).status == 503
        assert outer.cached == ()


def test_an_edge_that_ends_its_connections_is_asked_over_new_ones(edge: Edge, bot: Viewer) -> None:
    assert [bot.get(f"/{number}").status for number in range(3)] == [404] * 3
    assert edge.connections == 1
    edge.closes = True
    assert [bot.get(f"/{number}").status for number in range(3, 6)] == [404] * 3
    assert edge.connections == 3


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET\r\n\r\n", 400),
        (b"GET tool HTTP/1.1\r\n\r\n", 400),
        (b"GET /\xff HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/2\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 40_000 + b"\r\n\r\n", 431),
    ],
)
def test_what_is_no_request_is_refused(bot: Viewer, request_: bytes, status: int) -> None:
    assert bot.send(request_).status == status


@pytest.mark.parametrize(
    ("head", "goes_on"),
    [
        ("GET /a HTTP/1.1\r\nHost: x", "keep-alive"),
        ("GET http://x/a HTTP/1.1\r\nHost: x", "keep-alive"),
        ("GET /a HTTP/1.1\r\nConnection: close", "close"),
        ("GET /a HTTP/1.0\r\nHost: x", "close"),
        ("GET /a HTTP/1.0\r\nconnection: Keep-Alive", "keep-alive"),
    ],
)
def test_a_connection_goes_on_as_the_viewer_wants(edge: Edge, bot: Viewer, head: str, goes_on: str) -> None:
    assert bot.send(f"{head}\r\n\r\n".encode()).headers["connection"] == goes_on
    assert edge.seen == [("GET", "/a")]


def test_everything_can_be_forgotten_at_once(edge: Edge, outer: OuterCache, bot: Viewer) -> None:
    for path in ("/a", "/b"):
        bot.get(path)
    assert outer.cached == ("/a", "/b")
    outer.forget()
    assert outer.cached == ()
    bot.get("/a")
    assert len(edge.seen) == 3


def test_nobody_answers_after_the_block_and_it_ends_quietly(
    edge: Edge, caplog: pytest.LogCaptureFixture
) -> None:
    with run_outer_cache(edge.url) as outer:
        bot = Viewer(outer.url)
        assert bot.get(FILE).status == 404
    assert caplog.records == []
    with closing(bot), pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        bot.get(FILE)
    with pytest.raises(ConnectionError):
        Viewer(outer.url)


def test_the_origin_may_have_a_folder(edge: Edge) -> None:
    edge.files["/ftp/a"] = (200, b"in a folder")
    with run_outer_cache(f"{edge.url}ftp/") as outer, closing(Viewer(outer.url)) as bot:
        assert bot.get("/a").body == b"in a folder"


@pytest.mark.parametrize("url", ["https://127.0.0.1/", "127.0.0.1:80", "http:///x"])
def test_an_origin_that_cannot_be_asked_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="expected http"), run_outer_cache(url):
        pytest.fail("it ran")


def test_many_viewers_are_served_over_one_connection_each(edge: Edge, outer: OuterCache) -> None:
    edge.files |= {f"/{number}": (200, str(number).encode()) for number in range(20)}

    def poll(done: Callable[[bytes], None]) -> None:
        with closing(Viewer(outer.url)) as viewer:
            for number in range(20):
                done(viewer.get(f"/{number}").body)

    bodies: list[bytes] = []
    threads = [Thread(target=poll, args=(bodies.append,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(bodies) == sorted(str(number).encode() for number in range(20) for _ in range(8))
    assert (outer.counts.fetches, outer.counts.hits) == (20, 140)
