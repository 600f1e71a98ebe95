"""The shared session: what is asked again, what is not, and answers that are late, cut or too much."""

import socket
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest
import requests

from publisher.adapters.http import Answer, Http, Limits, NoAnswerError

LOOPBACK = "127.0.0.1"
BODY = b'{"a": 1}'


class Host(ThreadingHTTPServer):
    """Answers with the statuses in `plan`, one after the other, and then 200."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((LOOPBACK, 0), Handler)
        self.url = f"http://{LOOPBACK}:{self.server_port}"
        self.plan: list[int | str] = []
        self.wait = "1"
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.released = Event()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _serve(self) -> None:
        host = self.server
        assert isinstance(host, Host)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        host.requests.append((self.command, self.path, headers, body))
        act = host.plan.pop(0) if host.plan else 200
        if act == "silent":
            host.released.wait(30)
        if act in {"silent", "cut"}:
            self.close_connection = True
            return
        self.send_response(200 if isinstance(act, str) else act)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(BODY)))
        if act in {429, 503}:
            self.send_header("Retry-After", host.wait)
        if act == 302:
            self.send_header("Location", "/elsewhere")
        self.end_headers()
        if act == "short":
            self.close_connection = True
        self.wfile.write(BODY[:3] if act == "short" else BODY)

    do_GET = do_POST = do_PATCH = do_DELETE = do_OPTIONS = _serve  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        return


@pytest.fixture
def host() -> Generator[Host]:
    with Host() as host:
        thread = Thread(target=host.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield host
        finally:
            host.released.set()
            host.shutdown()
            thread.join()


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def http(waits: list[float]) -> Generator[Http]:
    http = Http("agent", limits=Limits(read=20.0, patience=60.0), sleep=waits.append)
    yield http
    http.close()


def test_an_answer_is_given_whole(host: Host, http: Http) -> None:
    answer = http.request("GET", f"{host.url}/a", params={"b": "c d"})

    assert (answer.status, answer.body, answer.read_json()) == (200, BODY, {"a": 1})
    [(method, path, headers, _)] = host.requests
    assert (method, path, headers["user-agent"]) == ("GET", "/a?b=c+d", "agent")


def test_json_and_bytes_are_sent_as_they_are(host: Host, http: Http) -> None:
    http.request("POST", host.url, json={"a": 1})
    http.request("POST", host.url, data=b"raw", headers={"X-A": "b"})

    (_, _, first, body), (_, _, second, raw) = host.requests
    assert (first["content-type"], body) == ("application/json", BODY)
    assert (second["x-a"], raw) == ("b", b"raw")


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
@pytest.mark.parametrize("trouble", [500, 502, 503, 504, "cut"])
def test_a_read_is_asked_again(host: Host, http: Http, method: str, trouble: int | str) -> None:
    host.plan = [trouble]

    assert http.request(method, host.url).status == 200
    assert len(host.requests) == 2


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
@pytest.mark.parametrize("trouble", [500, 502, 503, 504])
def test_a_write_is_sent_once_whatever_is_answered(host: Host, http: Http, method: str, trouble: int) -> None:
    host.plan = [trouble]

    assert http.request(method, host.url).status == trouble
    assert len(host.requests) == 1


@pytest.mark.parametrize("trouble", ["cut", "short"])
def test_a_write_without_a_whole_answer_may_have_arrived(host: Host, http: Http, trouble: str) -> None:
    host.plan = [trouble]

    with pytest.raises(NoAnswerError) as caught:
        http.request("POST", host.url)

    assert caught.value.sent
    assert len(host.requests) == 1


def test_a_silent_service_is_not_waited_for(host: Host) -> None:
    host.plan = ["silent"]

    with pytest.raises(NoAnswerError) as caught:
        Http("agent", limits=Limits(read=0.2)).request("POST", host.url)

    assert caught.value.sent


def test_a_service_that_is_not_there_got_nothing(http: Http) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    with pytest.raises(NoAnswerError) as caught:
        http.request("POST", f"http://127.0.0.1:{port}/")

    assert not caught.value.sent


def test_an_answer_that_takes_too_long_altogether_is_given_up(host: Host) -> None:
    times = iter([0.0, 121.0])

    with pytest.raises(NoAnswerError, match="within 120 s") as caught:
        Http("agent", clock=lambda: next(times)).request("GET", host.url)

    assert caught.value.sent


@pytest.mark.parametrize(("size", "status"), [(len(BODY), 200), (len(BODY) - 1, None)])
def test_an_answer_that_is_too_large_is_given_up(host: Host, size: int, status: int | None) -> None:
    http = Http("agent", limits=Limits(size=size))

    if status is None:
        with pytest.raises(NoAnswerError, match=f"{size} bytes"):
            http.request("GET", host.url)
    else:
        assert http.request("GET", host.url).status == status


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_no_redirect_is_followed(host: Host, http: Http, method: str) -> None:
    host.plan = [302]

    answer = http.request(method, host.url)

    assert (answer.status, answer.headers["location"]) == (302, "/elsewhere")
    assert len(host.requests) == 1


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_throttled_request_waits_as_long_as_it_is_told(
    host: Host, http: Http, waits: list[float], method: str
) -> None:
    host.plan.extend([429, 429])
    host.wait = "7"

    assert http.request(method, host.url).status == 200
    assert waits == [7.0, 7.0]


@pytest.mark.parametrize("wait", ["61", "Wed, 21 Oct 2026 07:28:00 GMT", "-1", "1.5", ""])
def test_a_wait_that_is_too_long_or_not_understood_is_an_answer(
    host: Host, http: Http, waits: list[float], wait: str
) -> None:
    host.plan.append(429)
    host.wait = wait

    assert http.request("POST", host.url).status == 429
    assert (waits, len(host.requests)) == ([], 1)


def test_throttling_is_not_waited_for_without_end(host: Host, http: Http, waits: list[float]) -> None:
    host.plan = [429] * 9

    assert http.request("POST", host.url).status == 429
    assert (waits, len(host.requests)) == ([1.0, 1.0], 3)


def test_only_what_is_signed_carries_credentials(
    host: Host, http: Http, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine {LOOPBACK} login somebody password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))

    def sign(request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = "Token t"
        return request

    http.request("GET", host.url)
    http.request("GET", host.url, sign=sign)
    http.request("GET", host.url)

    assert [headers.get("authorization") for _, _, headers, _ in host.requests] == [None, "Token t", None]


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        ("application/json", b"[1]", [1]),
        ("Application/JSON; charset=utf-8", b"[1]", [1]),
        ("application/problem+json", b"[1]", [1]),
        ("application/json", b"", None),
        ("application/json", b"\xff", None),
        ("text/html", b"[1]", None),
        ("", b"[1]", None),
    ],
)
def test_only_json_is_read_as_json(kind: str, body: bytes, expected: object) -> None:
    assert Answer(200, {"content-type": kind}, body).read_json() == expected
