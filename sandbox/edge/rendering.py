"""From what is cached to what one viewer gets: conditions, ranges, the CDN's own headers; knows no clock."""

import base64
import re
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, cast

from sandbox.edge.cache import Entry
from sandbox.edge.values import Deployed
from sandbox.edge.wire import Answer, Request

# Of the connection to the origin, or what the emulator's own CDN adds.
_DROPPED = {
    *("connection", "keep-alive", "transfer-encoding", "content-length", "date", "age", "via"),
    *("x-cache", "x-amz-cf-pop", "x-amz-cf-id"),
}
_NOT_WITHOUT_BODY = {"content-type", "content-range"}
_RANGE = re.compile(r"bytes=(\d*)-(\d*)", re.ASCII)


def render_entry(entry: Entry, request: Request) -> Answer:
    """Answer from an entry as the request's conditions and range say; conditions come first.

    Several ranges in one request, or one that makes no sense, get the whole.
    """
    headers = tuple(pair for pair in entry.headers if pair[0].lower() not in _DROPPED)
    if entry.status != HTTPStatus.OK:
        return Answer(entry.status, headers, entry.body)
    if _is_unmodified(entry, request):
        kept = tuple(pair for pair in headers if pair[0].lower() not in _NOT_WITHOUT_BODY)
        return Answer(HTTPStatus.NOT_MODIFIED, kept)
    match = _RANGE.fullmatch(request.find("range") or "")
    if match is None or match[0] == "bytes=-" or not _may_range(entry, request):
        return Answer(HTTPStatus.OK, headers, entry.body)
    size = len(entry.body)
    start, end = _read_range(match[1], match[2], size)
    if start >= size:
        return Answer(
            HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, (("Content-Range", f"bytes */{size}"),), b""
        )
    if end <= start:
        return Answer(HTTPStatus.OK, headers, entry.body)
    part = ("Content-Range", f"bytes {start}-{end - 1}/{size}")
    return Answer(HTTPStatus.PARTIAL_CONTENT, (*headers, part), entry.body[start:end])


def render_generated(result: dict[str, Any]) -> Answer:
    """Turn a function's response object into an answer."""
    headers = cast("dict[str, dict[str, Any]]", result.get("headers") or {})
    pairs = [
        (name, str(each["value"]))
        for name, header in headers.items()
        for each in header.get("multiValue") or [header]
    ]
    return Answer(int(result["statusCode"]), tuple(pairs), _read_body(result.get("body") or ""))


def complete(answer: Answer, *, deployed: Deployed, pop: str, x_cache: str, age: int | None) -> Answer:
    """Add what the CDN adds to every answer, and the headers of the response-headers policy."""
    names = {name.lower() for name, _ in answer.headers}
    policy = [each for each in deployed.headers if each.override or each.name.lower() not in names]
    replaced = {each.name.lower() for each in policy}
    own = [
        ("Via", f"1.1 {pop}.cloudfront.test (CloudFront)"),
        ("X-Amz-Cf-Pop", pop),
        ("X-Cache", f"{x_cache} from cloudfront"),
    ]
    if age is not None:
        own.append(("Age", str(age)))
    if "server" not in names:
        own.append(("Server", "CloudFront"))
    kept = [pair for pair in answer.headers if pair[0].lower() not in replaced]
    return Answer(answer.status, (*kept, *((each.name, each.value) for each in policy), *own), answer.body)


def _read_body(body: object) -> bytes:
    if not isinstance(body, dict):
        return str(body).encode()
    known = cast("dict[str, str]", body)
    return base64.b64decode(known["data"]) if known.get("encoding") == "base64" else known["data"].encode()


def _is_unmodified(entry: Entry, request: Request) -> bool:
    wanted = request.find("if-none-match")
    etag = entry.find("etag")
    if wanted is not None:
        tags = [tag.strip().removeprefix("W/") for tag in wanted.split(",")]
        return "*" in tags or (etag is not None and etag.removeprefix("W/") in tags)
    return _is_not_newer(entry.find("last-modified"), request.find("if-modified-since"))


def _may_range(entry: Entry, request: Request) -> bool:
    condition = request.find("if-range")
    if condition is None:
        return True
    if condition.startswith('"'):
        return condition == entry.find("etag")
    return condition == entry.find("last-modified")


def _is_not_newer(modified: str | None, since: str | None) -> bool:
    if modified is None or since is None:
        return False
    try:
        return parsedate_to_datetime(modified) <= parsedate_to_datetime(since)
    except (TypeError, ValueError):
        return False


def _read_range(first: str, last: str, size: int) -> tuple[int, int]:
    if not first:
        # The last so many bytes.
        return (max(size - int(last), 0), size) if int(last) else (size, size)
    return int(first), min(int(last) + 1, size) if last else size
