"""What is a request, and that nothing of its path is changed in reading it."""

import asyncio

import pytest

from sandbox.edge.wire import BadRequestError, Request, parse_request, read_request


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("GET / HTTP/1.1", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b", 400),
        ("GET  / HTTP/1.1\r\nHost: a", 400),
        ("GET / HTTP/2\r\nHost: a", 400),
        ("GET /a b HTTP/1.1\r\nHost: a", 400),
        ("GET /\x7f HTTP/1.1\r\nHost: a", 400),
        ("GET a HTTP/1.1\r\nHost: a", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n folded", 400),
        ("GET / HTTP/1.1\r\nHost : a", 400),
        ("OPTIONS * HTTP/1.1\r\nHost: a", 403),
        ("PUT / HTTP/1.1\r\nHost: a", 403),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5", 403),
        ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked", 403),
        (f"GET /{'a' * 8192} HTTP/1.1\r\nHost: a", 414),
    ],
)
def test_what_is_no_request_is_refused(head: str, status: int) -> None:
    with pytest.raises(BadRequestError) as caught:
        parse_request(f"{head}\r\n\r\n")
    assert caught.value.status == status


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("/", "/", ""),
        ("//a//", "//a//", ""),
        ("/../%2e%2E/%zz/\\\xff#x", "/../%2e%2E/%zz/\\\xff#x", ""),
        ("/a?b?c", "/a", "b?c"),
        ("http://x/a//b?c", "/a//b", "c"),
        ("HTTPS://x", "/", ""),
        ("/a/http://x/b", "/a/http://x/b", ""),
    ],
)
def test_a_path_is_taken_as_it_was_sent(target: str, path: str, query: str) -> None:
    request = parse_request(f"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")
    assert (request.path, request.query) == (path, query)


@pytest.mark.parametrize(
    ("version", "connection", "keeps"),
    [("1.1", "", True), ("1.1", "Close", False), ("1.0", "", False), ("1.0", "Keep-Alive", True)],
)
def test_a_connection_is_kept_as_the_viewer_wishes(version: str, connection: str, *, keeps: bool) -> None:
    head = f"GET / HTTP/{version}\r\nHost: a\r\nConnection: {connection}\r\n\r\n"
    assert parse_request(head).keeps_alive is keeps


def test_a_head_without_end_is_refused_and_a_broken_off_one_is_none() -> None:
    async def read(data: bytes) -> Request | None:
        reader = asyncio.StreamReader(limit=100)
        reader.feed_data(data)
        reader.feed_eof()
        return await read_request(reader)

    with pytest.raises(BadRequestError):
        asyncio.run(read(b"GET / HTTP/1.1\r\n" + b"x" * 200))
    assert asyncio.run(read(b"GET / HT")) is None
