"""HTTP between a viewer and an edge: methods, conditions, ranges, headers, and requests that are none."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http import HTTPStatus

import pytest

from sandbox.edge import Edges
from sandbox.edge.cache import Entry
from sandbox.edge.rendering import render_entry, render_generated
from sandbox.edge.wire import Request
from tests.edge.site import SECURITY, Site
from tests.edge.viewer import Viewer

Connect = Callable[[str], Viewer]
BODY = b"0123456789"
ETAG = '"781e5e245d69b566979b86e28d23f2c7"'
MODIFIED = "Mon, 02 Nov 2026 10:00:00 GMT"
VARYING = {"date", "age", "x-cache"}


def ask(**headers: str) -> Request:
    values = {name.replace("_", "-"): (value,) for name, value in headers.items()}
    return Request("GET", "/a", "", values, keeps_alive=True)


def an_entry(status: int = 200, body: bytes = BODY) -> Entry:
    headers = (("ETag", ETAG), ("Last-Modified", MODIFIED), ("Content-Type", "text/plain"), ("Via", "x"))
    return Entry(status, headers, body, 0, 10)


@pytest.mark.parametrize("path", ["{}/a.exe", "{}/missing", "_pending/x", "{}/gone", "{}/dir"])
def test_head_is_get_without_a_body(site: Site, edges: Edges, viewer: Viewer, folder: str, path: str) -> None:
    site.put(f"{folder}/a.exe", BODY)
    site.write_seen(
        edges, {f"p:{folder}/gone": "head-gone", "s:head-gone": "withdrawn", f"d:{folder}/dir": "1"}
    )
    for first, second in (("GET", "HEAD"), ("HEAD", "GET")):
        edges.edges[0].forget()
        one, two = (viewer.ask(method, "/" + path.format(folder)) for method in (first, second))
        head, get = (one, two) if first == "HEAD" else (two, one)
        assert head.status == get.status
        assert {k: v for k, v in head.headers.items() if k not in VARYING} == {
            k: v for k, v in get.headers.items() if k not in VARYING
        }
        assert head.body == b""
        assert int(get.headers["content-length"]) == len(get.body)


def test_a_part_and_the_news_that_nothing_changed_come_from_the_cache(
    site: Site, edges: Edges, viewer: Viewer, folder: str
) -> None:
    site.put(f"{folder}/a.exe", BODY)
    path = f"/{folder}/a.exe"
    whole = viewer.get(path)
    site.delete(path[1:])
    part = viewer.get(path, Range="bytes=2-4")
    assert (part.status, part.body, part.headers["content-range"]) == (206, b"234", "bytes 2-4/10")
    same = viewer.get(path, If_None_Match=whole.headers["etag"])
    assert (same.status, same.body, same.cache) == (304, b"", "Hit")
    assert same.headers["etag"] == whole.headers["etag"]
    assert viewer.get(path, If_None_Match='"other"').body == BODY
    assert viewer.get(path, Range="bytes=99-").status == 416
    assert viewer.head(path, Range="bytes=2-4").headers["content-length"] == "3"


@pytest.mark.parametrize(
    ("wanted", "status", "body"),
    [
        ("bytes=0-0", 206, b"0"),
        ("bytes=7-", 206, b"789"),
        ("bytes=-3", 206, b"789"),
        ("bytes=-99", 206, BODY),
        ("bytes=5-99", 206, b"56789"),
        ("bytes=10-", 416, b""),
        ("bytes=-0", 416, b""),
        ("bytes=5-2", 200, BODY),
        ("bytes=-", 200, BODY),
        ("bytes=0-1,3-4", 200, BODY),
        ("lines=0-1", 200, BODY),
        ("bytes=٣-٤", 200, BODY),
    ],
)
def test_a_range_gets_its_part_or_the_whole(wanted: str, status: int, body: bytes) -> None:
    answer = render_entry(an_entry(), ask(range=wanted))
    assert (answer.status, answer.body) == (status, body)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"if_none_match": ETAG}, 304),
        ({"if_none_match": f'"x", W/{ETAG}'}, 304),
        ({"if_none_match": "*"}, 304),
        ({"if_none_match": '"x"'}, 200),
        ({"if_none_match": '"x"', "if_modified_since": MODIFIED}, 200),
        ({"if_modified_since": MODIFIED}, 304),
        ({"if_modified_since": "Sun, 01 Nov 2026 10:00:00 GMT"}, 200),
        ({"if_modified_since": "soon"}, 200),
        ({"if_none_match": ETAG, "range": "bytes=0-1"}, 304),
        ({"if_range": ETAG, "range": "bytes=0-1"}, 206),
        ({"if_range": '"x"', "range": "bytes=0-1"}, 200),
        ({"if_range": MODIFIED, "range": "bytes=0-1"}, 206),
        ({"if_range": "Sun, 01 Nov 2026 10:00:00 GMT", "range": "bytes=0-1"}, 200),
    ],
)
def test_conditions_come_before_ranges(headers: dict[str, str], status: int) -> None:
    assert render_entry(an_entry(), ask(**headers)).status == status


def test_an_error_knows_no_conditions_and_no_ranges() -> None:
    answer = render_entry(an_entry(404), ask(if_none_match="*", range="bytes=0-1"))
    assert (answer.status, answer.body) == (404, BODY)
    assert "Via" not in dict(answer.headers)


def test_a_function_may_answer_with_a_body() -> None:
    headers = {"set-x": {"value": "1", "multiValue": [{"value": "1"}, {"value": "2"}]}}
    encoded = {"encoding": "base64", "data": "aGk="}
    assert render_generated({"statusCode": 200, "headers": headers, "body": encoded}).body == b"hi"
    assert render_generated({"statusCode": 200, "body": {"encoding": "text", "data": "hi"}}).body == b"hi"
    answer = render_generated({"statusCode": 403, "headers": headers, "body": "no"})
    assert (answer.body, answer.headers) == (b"no", (("set-x", "1"), ("set-x", "2")))


def test_every_answer_has_the_security_headers(
    site: Site, edges: Edges, connect: Connect, folder: str
) -> None:
    site.put(f"{folder}/a.exe", BODY)
    site.write_seen(edges, {f"p:{folder}/gone": "sec-gone", "s:sec-gone": "withdrawn", f"d:{folder}": "1"})
    requests = {
        200: f"GET /{folder}/a.exe HTTP/1.1",
        301: f"GET /{folder} HTTP/1.1",
        404: f"GET /{folder}/missing HTTP/1.1",
        410: f"GET /{folder}/gone HTTP/1.1",
        403: "POST / HTTP/1.1",
        400: "GET nowhere HTTP/1.1",
        414: f"GET /{'a' * 9000} HTTP/1.1",
    }
    for status, line in requests.items():
        answer = connect(edges.urls[0]).send(f"{line}\r\nHost: x\r\n\r\n".encode())
        assert answer.status == status
        assert answer.headers.items() >= SECURITY.items()


def test_a_refused_request_ends_the_connection_and_no_other(
    site: Site, edges: Edges, viewer: Viewer, connect: Connect, folder: str
) -> None:
    other = connect(edges.urls[0])
    assert other.get("/").status
    # What follows the refused one must not be taken for a request.
    smuggled = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 60\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"
    assert viewer.send(smuggled).status == HTTPStatus.FORBIDDEN
    with pytest.raises(OSError, match=r".*"):
        viewer.get("/")
    assert other.get("/").status


def test_very_long_and_odd_paths_are_misses_like_any_other(viewer: Viewer) -> None:
    for path in (
        "/" + "a" * 8000,
        "/" + "%61" * 2000,
        "/" + "/" * 1000,
        "/a%",
        "/%00",
        "/a/../../b",
        "/'\"<>|^`",
    ):
        assert viewer.get(path).status == 404, path


def test_bytes_beyond_ascii_reach_the_function_and_no_object(viewer: Viewer) -> None:
    assert viewer.get("/\xc3\xa9").status in {400, 404}


def test_many_requests_on_kept_connections_are_all_answered(site: Site, edges: Edges, folder: str) -> None:
    site.put(f"{folder}/a.exe", BODY)
    before = edges.edges[0].status().counters.requests

    def poll(number: int) -> set[tuple[int, bytes]]:
        with closing(Viewer(edges.urls[0])) as viewer:
            return {
                (answer.status, answer.body)
                for answer in (viewer.get(f"/{folder}/a.exe?{number}") for _ in range(100))
            }

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(poll, range(8)))
    assert answers == [{(200, BODY)}] * 8
    assert edges.edges[0].status().counters.requests - before == 800
