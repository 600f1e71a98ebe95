"""Purging caches in front of the CDN: what is sent, which answers are good, and how long one is patient."""

import os
from collections.abc import Generator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread

import pytest
import requests

from publisher.adapters.outer_cache import HttpPurge
from publisher.adapters.threads import Threads
from publisher.core.purging import list_purges
from publisher.errors import EdgeError
from sandbox.ministack import LOOPBACK, reserve_port
from sandbox.outer_cache import Fault, OuterCache, run_outer_cache
from tests.edge.viewer import eventually

QUICK = (2.0, 0.3)
"""For a cache that stays silent; the others have all the time that a busy machine may need."""


class Host(ThreadingHTTPServer):
    """Any server on loopback: it notes each request, and answers with the number that ends the path."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((LOOPBACK, 0), Handler)
        self.url = f"http://{LOOPBACK}:{self.server_port}"
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.headers: Mapping[str, str] = {}
        self.body = b"said"
        self.connections = 0
        self.hung_up = 0
        self.lock = Lock()


class Handler(BaseHTTPRequestHandler):
    """Takes PURGE, and nothing else."""

    protocol_version = "HTTP/1.1"

    @property
    def host(self) -> Host:
        assert isinstance(self.server, Host)
        return self.server

    def setup(self) -> None:
        super().setup()
        with self.host.lock:
            self.host.connections += 1

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:
            # Whoever has read enough is not there any more.
            with self.host.lock:
                self.host.hung_up += 1

    def do_PURGE(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.host.lock:
            self.host.requests.append((self.command, self.path, headers))
        _, _, last = self.path.partition("?")[0].rpartition("/")
        status = int(last) if last.isdigit() else 200
        self.send_response(status)
        body = b"" if status == 204 else self.host.body
        for name, value in {"Content-Length": str(len(body)), **self.host.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        return


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


@pytest.fixture
def host() -> Generator[Host]:
    with Host() as running:
        thread = Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def purger(slept: list[float]) -> HttpPurge:
    return HttpPurge("publish-gate/test", 4, sleep=slept.append)


def fail(purger: HttpPurge, url: str) -> EdgeError:
    with pytest.raises(EdgeError) as caught:
        purger.purge(url)
    assert url in str(caught.value)
    assert caught.value.next_step
    return caught.value


# --- What is sent ----------------------------------------------------------------------------------------


def test_a_purge_goes_to_exactly_that_url_and_says_who_asks(host: Host, purger: HttpPurge) -> None:
    paths = ["/", "/a/b_c-1.0.tgz", "/c%2B%2B/x", "/c++/x", "/a?b=c"]
    for path in paths:
        purger.purge(host.url + path)

    assert [(method, path) for method, path, _ in host.requests] == [("PURGE", path) for path in paths]
    assert {headers["user-agent"] for _, _, headers in host.requests} == {"publish-gate/test"}
    assert host.connections == 1


def test_it_asks_as_anybody_whatever_this_machine_or_the_cache_would_have_it_say(
    host: Host, purger: HttpPurge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "netrc"
    file.write_text(f"machine {LOOPBACK} login someone password something\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(file))
    host.headers = {"Set-Cookie": "session=1; Path=/"}

    purger.purge(f"{host.url}/a")
    purger.purge(f"{host.url}/a")
    requests.request("PURGE", f"{host.url}/a", timeout=5)

    *ours, other = [headers for _, _, headers in host.requests]
    # The file would have worked, had we let it.
    assert "authorization" in other
    assert not any(headers.keys() & {"authorization", "cookie"} for headers in ours)


def test_many_threads_share_it(host: Host, slept: list[float]) -> None:
    purger = HttpPurge("publish-gate/test", 4, sleep=slept.append)
    urls = [f"{host.url}/{name}" for name in ("a", "b", "c", "d") * 20]

    Threads(4).map(purger.purge, urls)

    assert sorted(host.url + path for _, path, _ in host.requests) == sorted(urls)
    assert host.connections <= 4
    assert slept == []


# --- Answers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [200, 202, 204, 404, 412])
def test_what_was_forgotten_or_never_known_is_purged(
    host: Host, purger: HttpPurge, slept: list[float], status: int
) -> None:
    purger.purge(f"{host.url}/{status}")

    assert len(host.requests) == 1
    assert slept == []


@pytest.mark.parametrize(
    ("status", "cure"),
    [
        (401, "without credentials"),
        (403, "without credentials"),
        (405, "without credentials"),
        (501, "without credentials"),
        (301, "url_prefix"),
        (308, "url_prefix"),
        (201, "see what answers there"),
        (400, "see what answers there"),
        (410, "see what answers there"),
        (505, "see what answers there"),
    ],
)
def test_a_refusal_is_not_argued_with(
    host: Host, purger: HttpPurge, slept: list[float], status: int, cure: str
) -> None:
    host.headers = {"Location": "/200"}

    error = fail(purger, f"{host.url}/{status}")

    assert str(error) == f"{host.url}/{status} answered {status} to PURGE"
    assert cure in error.next_step
    assert len(host.requests) == 1
    assert slept == []


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_cache_in_trouble_is_asked_four_times(
    host: Host, purger: HttpPurge, slept: list[float], status: int
) -> None:
    error = fail(purger, f"{host.url}/{status}")

    assert str(error) == f"{host.url}/{status} was not purged in 4 attempts: status {status}"
    assert "run the same command again" in error.next_step
    assert len(host.requests) == 4
    assert slept == [0.5, 1.0, 2.0]


def test_a_long_answer_is_not_read_to_its_end(host: Host, purger: HttpPurge) -> None:
    # As from a server that knows nothing of PURGE and sends the file.
    host.body = bytes(32 * 1024**2)

    purger.purge(f"{host.url}/a")
    purger.purge(f"{host.url}/a")

    assert eventually(lambda: host.hung_up == 2)
    assert host.connections == 2


@pytest.mark.parametrize("connection", ["close", "keep-alive"])
def test_an_answer_that_breaks_off_or_stalls_has_said_its_status(
    host: Host, slept: list[float], connection: str
) -> None:
    host.headers = {"Content-Length": "1000", "Connection": connection}
    purger = HttpPurge("publish-gate/test", 1, QUICK, sleep=slept.append)

    purger.purge(f"{host.url}/a")
    error = fail(purger, f"{host.url}/403")

    assert "answered 403" in str(error)
    assert len(host.requests) == 2
    assert slept == []


# --- Throttling ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "pauses"),
    [("0", [0.5, 1.0, 2.0]), ("1", [1.0, 1.0, 2.0]), (" 10 ", [10.0] * 3), ("soon", [0.5, 1.0, 2.0])],
)
def test_a_throttling_cache_is_waited_for_as_it_asks(
    host: Host, purger: HttpPurge, slept: list[float], asked: str, pauses: list[float]
) -> None:
    host.headers = {"Retry-After": asked}

    fail(purger, f"{host.url}/429")

    assert slept == pauses


def test_but_not_for_ever(host: Host, purger: HttpPurge, slept: list[float]) -> None:
    host.headers = {"Retry-After": "11"}

    error = fail(purger, f"{host.url}/429")

    assert str(error).endswith("/429 answered 429 to PURGE and asks to wait 11 s")
    assert error.next_step == "run the same command again in 11 s"
    assert (len(host.requests), slept) == (1, [])


def test_a_cache_in_trouble_does_not_know_how_long(host: Host, purger: HttpPurge, slept: list[float]) -> None:
    host.headers = {"Retry-After": "3600"}

    fail(purger, f"{host.url}/503")

    assert slept == [0.5, 1.0, 2.0]


# --- No answer -------------------------------------------------------------------------------------------


def test_a_cache_that_is_not_there_is_given_up(purger: HttpPurge, slept: list[float]) -> None:
    with reserve_port() as port:
        error = fail(purger, f"http://{LOOPBACK}:{port}/a")

    assert "was not purged in 4 attempts: no answer" in str(error)
    assert slept == [0.5, 1.0, 2.0]


@pytest.mark.parametrize("url", ["ftp://dl.example.org/a", "http://", "nothing", "http://a b/c"])
def test_what_is_no_url_of_a_cache_is_not_tried_again(
    purger: HttpPurge, slept: list[float], url: str
) -> None:
    assert "url_prefix" in fail(purger, url).next_step
    assert slept == []


# --- With the sandbox's cache ----------------------------------------------------------------------------


@pytest.fixture
def outer() -> Generator[OuterCache]:
    # What is behind it does not matter: nobody reads.
    with reserve_port() as port, run_outer_cache(f"http://{LOOPBACK}:{port}/") as running:
        yield running


@pytest.mark.parametrize("fault", [Fault.FAIL, Fault.THROTTLE, Fault.DROP, Fault.DROP_AFTER])
@pytest.mark.parametrize("times", [1, 3])
def test_one_url_is_purged_however_the_first_attempts_go(
    outer: OuterCache, purger: HttpPurge, slept: list[float], fault: Fault, times: int
) -> None:
    outer.inject(*[fault] * times)

    purger.purge(f"{outer.url}a")

    assert outer.purged[-1] == "/a"
    assert outer.counts.faults == len(slept) == times
    if fault is Fault.THROTTLE:
        assert slept == [2.0] * times


@pytest.mark.parametrize("fault", [Fault.FAIL, Fault.DROP])
def test_four_attempts_that_go_wrong_are_enough(
    outer: OuterCache, purger: HttpPurge, slept: list[float], fault: Fault
) -> None:
    outer.inject(*[fault] * 4)

    fail(purger, f"{outer.url}a")

    assert (outer.purged, outer.counts.faults, len(slept)) == ((), 4, 3)


def test_a_silent_cache_is_not_waited_for_without_end(outer: OuterCache, slept: list[float]) -> None:
    outer.inject(Fault.SILENCE)

    HttpPurge("publish-gate/test", 1, QUICK, sleep=slept.append).purge(f"{outer.url}a")

    assert outer.purged == ("/a",)
    assert slept == [0.5]


def test_one_that_does_not_take_it_from_us_is_named(outer: OuterCache, purger: HttpPurge) -> None:
    outer.inject(Fault.REFUSE)

    assert "answered 403 to PURGE" in str(fail(purger, f"{outer.url}a"))
    assert outer.purged == ()


def test_the_urls_of_keys_arrive_as_users_spell_them(outer: OuterCache, purger: HttpPurge) -> None:
    for url in list_purges(["c++/index.html", "c++/a.tgz"], [outer.url]):
        purger.purge(url)

    assert outer.purged == (
        *("/c%2B%2B/index.html", "/c++/index.html", "/c%2B%2B/", "/c++/", "/c%2B%2B", "/c++"),
        *("/c%2B%2B/a.tgz", "/c++/a.tgz"),
    )
