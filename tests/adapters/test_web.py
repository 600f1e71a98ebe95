"""The public site over HTTP: what is asked, what is made of the answers, and of answers that do not come."""

import os
from collections.abc import Callable, Generator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread

import pytest

from publisher.adapters.threads import Threads
from publisher.adapters.web import MAX_SMALL_BYTES, Web
from publisher.core.digests import of_bytes
from publisher.errors import EdgeError
from publisher.ports import Seen
from sandbox.ministack import LOOPBACK, reserve_port

BODY = b"the bytes of a file"
LARGE = os.urandom(1024) * (9 * 1024)
ETAG = '"0123456789abcdef0123456789abcdef"'
QUICK = (2.0, 0.2)


class Host(ThreadingHTTPServer):
    """A site on loopback. It notes each request, and answers by the first segment of the path."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((LOOPBACK, 0), Handler)
        self.url = f"http://{LOOPBACK}:{self.server_port}"
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.released = Event()
        self.lock = Lock()

    def count(self, path: str) -> int:
        return sum(found == path for _, found, _ in self.requests)


class Handler(BaseHTTPRequestHandler):
    """Answers in one of the ways that a site may."""

    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._note()
        self._act()

    def do_GET(self) -> None:
        self._note()
        self._act()

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        return

    @property
    def host(self) -> Host:
        assert isinstance(self.server, Host)
        return self.server

    def _note(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.host.lock:
            self.host.requests.append((self.command, self.path, headers))

    def _act(self) -> None:
        acts: dict[str, Callable[[], None]] = {
            "file": lambda: self._send(200, BODY),
            "large": lambda: self._send(200, LARGE),
            "empty": lambda: self._send(200, b""),
            "absent": lambda: self._send(404, b"no such file"),
            "withdrawn": lambda: self._send(410, b""),
            "packed": lambda: self._send(200, BODY, Content_Encoding="gzip"),
            "pieces": self._send_in_pieces,
            "breaking": self._break_in_pieces,
            "endless": self._send_without_end,
            "refused": lambda: self._send(403, b""),
            "moved": lambda: self._send(301, b"", Location="/file"),
            "broken": lambda: self._send(503, b"", Retry_After="30"),
            "sizeless": self._send_without_size,
            "closing": self._close,
            "silent": self._stay_silent,
            "truncated": self._truncate,
            "stalling": self._stall,
            "faltering": self._falter,
        }
        acts[self.path.split("/")[1]]()

    def _send(self, status: int, body: bytes, **headers: str) -> None:
        self._begin(status, len(body), **headers)
        if self.command == "GET":
            self.wfile.write(body)

    def _begin(self, status: int, size: int, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(size))
        self.send_header("ETag", ETAG)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def _send_without_size(self) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()

    def _send_in_pieces(self) -> None:
        self._begin_pieces()
        for number in range(0, len(BODY), 5):
            self._send_piece(BODY[number : number + 5])
        self._send_piece(b"")

    def _break_in_pieces(self) -> None:
        self.close_connection = True
        self._begin_pieces()
        self._send_piece(BODY[:5])

    def _send_without_end(self) -> None:
        """Send more than is ever read into memory, to whoever goes on reading."""
        self.close_connection = True
        self._begin_pieces()
        with suppress(OSError):
            while not self.host.released.is_set():
                self._send_piece(LARGE)

    def _begin_pieces(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _send_piece(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _close(self) -> None:
        self.close_connection = True

    def _stay_silent(self) -> None:
        self.close_connection = True
        self.host.released.wait(30)

    def _truncate(self) -> None:
        self.close_connection = True
        self._begin(200, len(BODY))
        self.wfile.write(BODY[:5])

    def _stall(self) -> None:
        self._truncate()
        self.wfile.flush()
        self.host.released.wait(30)

    def _falter(self) -> None:
        """Close the first connection without an answer, and answer on the next."""
        if self.host.count(self.path) == 1:
            self._close()
        else:
            self._send(200, BODY)


@pytest.fixture(scope="module")
def running() -> Generator[Host]:
    with Host() as host:
        thread = Thread(target=host.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield host
        host.released.set()
        host.shutdown()
        thread.join()


@pytest.fixture
def host(running: Host, monkeypatch: pytest.MonkeyPatch) -> Host:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    running.requests.clear()
    return running


@pytest.fixture
def web() -> Web:
    return Web(4, "publish-gate/test", timeouts=QUICK)


# --- Headers ---------------------------------------------------------------------------------------------


def test_a_look_tells_status_size_and_etag(host: Host, web: Web) -> None:
    assert web.head(f"{host.url}/file") == Seen(200, len(BODY), ETAG)
    assert [(method, path) for method, path, _ in host.requests] == [("HEAD", "/file")]


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("/empty", Seen(200, 0, ETAG)),
        ("/absent", Seen(404, 12, ETAG)),
        ("/refused", Seen(403, 0, ETAG)),
        ("/sizeless", Seen(200, None, None)),
    ],
)
def test_any_answer_is_an_answer(host: Host, web: Web, path: str, seen: Seen) -> None:
    assert web.head(host.url + path) == seen


def test_a_busy_site_is_an_answer_like_any_other_and_nobody_waits_as_it_asks(host: Host, web: Web) -> None:
    assert web.head(f"{host.url}/broken") == Seen(503, 0, ETAG)
    assert host.count("/broken") == 1


def test_a_redirect_is_an_answer_and_not_followed(host: Host, web: Web) -> None:
    assert web.head(f"{host.url}/moved") == Seen(301, 0, ETAG)
    with pytest.raises(EdgeError, match="/moved answered 301"):
        web.compute_digest(f"{host.url}/moved")
    assert host.count("/file") == 0


def test_it_asks_for_files_as_they_are_stored_and_says_who_asks(host: Host, web: Web) -> None:
    web.head(f"{host.url}/file")
    web.compute_digest(f"{host.url}/file")

    assert [headers["accept-encoding"] for _, _, headers in host.requests] == ["identity"] * 2
    assert [headers["user-agent"] for _, _, headers in host.requests] == ["publish-gate/test"] * 2


def test_it_asks_as_anybody_whatever_this_machine_has_for_that_host(
    host: Host, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "netrc"
    file.write_text(f"machine {LOOPBACK} login someone password something\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(file))

    web.head(f"{host.url}/file")
    web.compute_digest(f"{host.url}/file")

    assert not any("authorization" in headers for _, _, headers in host.requests)


def test_a_path_goes_out_as_it_was_encoded(host: Host, web: Web) -> None:
    web.head(f"{host.url}/file/c%2B%2B/a_b-1.0.tgz")

    assert host.count("/file/c%2B%2B/a_b-1.0.tgz") == 1


# --- Digests ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "data"), [("/file", BODY), ("/large", LARGE), ("/empty", b"")])
def test_a_digest_is_of_all_bytes_that_are_served(host: Host, web: Web, path: str, data: bytes) -> None:
    assert web.compute_digest(host.url + path) == of_bytes(data)
    assert [method for method, _, _ in host.requests] == ["GET"]


@pytest.mark.parametrize(("path", "status"), [("/absent", 404), ("/refused", 403), ("/broken", 503)])
def test_an_error_page_has_no_digest(host: Host, web: Web, path: str, status: int) -> None:
    with pytest.raises(EdgeError, match=f"{path} answered {status}"):
        web.compute_digest(host.url + path)


def test_a_body_that_ends_too_early_has_no_digest(host: Host, web: Web) -> None:
    with pytest.raises(EdgeError, match="/truncated broke off"):
        web.compute_digest(f"{host.url}/truncated")


def test_a_body_that_stops_coming_has_no_digest(host: Host, web: Web) -> None:
    with pytest.raises(EdgeError, match="/stalling broke off"):
        web.compute_digest(f"{host.url}/stalling")


# --- Small files, whole ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "data"),
    [("/file", BODY), ("/large", LARGE), ("/empty", b""), ("/pieces", BODY), ("/packed", BODY)],
)
def test_a_small_file_is_read_whole_and_as_it_is_stored(host: Host, web: Web, path: str, data: bytes) -> None:
    assert web.read(host.url + path) == data
    assert [method for method, _, _ in host.requests] == ["GET"]


@pytest.mark.parametrize("path", ["/absent", "/refused", "/withdrawn"])
def test_a_file_that_is_not_there_is_none(host: Host, web: Web, path: str) -> None:
    assert web.read(host.url + path) is None


@pytest.mark.parametrize(("path", "status"), [("/broken", 503), ("/moved", 301)])
def test_another_answer_is_neither_a_file_nor_its_absence(
    host: Host, web: Web, path: str, status: int
) -> None:
    with pytest.raises(EdgeError, match=f"{path} answered {status}"):
        web.read(host.url + path)
    assert host.count("/file") == 0


@pytest.mark.parametrize("path", ["/truncated", "/breaking", "/stalling", "/closing/read", "/silent"])
def test_a_file_of_which_a_part_came_is_no_file(host: Host, web: Web, path: str) -> None:
    with pytest.raises(EdgeError, match=f"{path} broke off"):
        web.read(host.url + path)


def test_a_file_that_is_not_small_is_not_read_to_its_end(host: Host, web: Web) -> None:
    with pytest.raises(EdgeError, match=f"/endless has more than {MAX_SMALL_BYTES:,} bytes"):
        web.read(f"{host.url}/endless")


# --- No answer -------------------------------------------------------------------------------------------


def test_a_site_that_closes_without_an_answer_is_asked_three_times_more(host: Host, web: Web) -> None:
    with pytest.raises(EdgeError, match=r"no answer from .*/closing"):
        web.head(f"{host.url}/closing")
    assert host.count("/closing") == 4


def test_one_connection_that_breaks_does_no_harm(host: Host, web: Web) -> None:
    assert web.head(f"{host.url}/faltering") == Seen(200, len(BODY), ETAG)
    assert host.count("/faltering") == 2


def test_a_download_is_not_begun_again_by_itself(host: Host, web: Web) -> None:
    with pytest.raises(EdgeError, match="/closing/get broke off"):
        web.compute_digest(f"{host.url}/closing/get")
    assert host.count("/closing/get") == 1


def test_a_site_that_never_answers_is_not_waited_for_without_end(host: Host, web: Web) -> None:
    with pytest.raises(EdgeError, match=r"no answer from .*/silent"):
        web.head(f"{host.url}/silent")
    with pytest.raises(EdgeError, match="/silent broke off"):
        web.compute_digest(f"{host.url}/silent")


def test_a_site_that_is_not_there_is_no_absence(host: Host, web: Web) -> None:
    with reserve_port() as port:
        url = f"http://{LOOPBACK}:{port}/file"
        with pytest.raises(EdgeError, match="no answer from"):
            web.head(url)
        with pytest.raises(EdgeError, match="broke off"):
            web.compute_digest(url)


@pytest.mark.parametrize("url", ["ftp://dl.example.org/file", "http://", "nothing"])
def test_what_is_no_url_of_a_site_is_an_error_of_ours(web: Web, url: str) -> None:
    with pytest.raises(EdgeError):
        web.head(url)


def test_one_session_serves_many_threads(host: Host, web: Web) -> None:
    found = Threads(4).map(lambda number: web.head(f"{host.url}/file/{number}"), range(40))

    assert set(found) == {Seen(200, len(BODY), ETAG)}
    assert len(host.requests) == 40
