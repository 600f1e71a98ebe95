"""The engine around the deployed function, and the event that it is given."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest

from sandbox.edge import StoreMode
from sandbox.edge.event import make_event
from sandbox.edge.function import Function, FunctionError
from sandbox.edge.values import Deployed
from sandbox.edge.wire import parse_request

ECHO = """import cf from 'cloudfront';
const store = cf.kvs();
async function handler(event) {
  let value;
  try { value = await store.get(event.key); } catch (error) { value = 'threw ' + error.message; }
  return { value, exists: await store.exists(event.key).catch(() => 'threw') };
}
"""


def run(
    code: str,
    event: Mapping[str, object],
    entries: Mapping[str, str | None] | None = None,
    mode: StoreMode = StoreMode.NORMAL,
) -> dict[str, Any]:
    async def main() -> dict[str, Any]:
        function = Function(code)
        function.change(entries or {})
        function.set_mode(mode)
        return function.run(event)

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("key", "mode", "value", "exists"),
    [
        ("p:a", StoreMode.NORMAL, "1", True),
        ("p:b", StoreMode.NORMAL, "threw KeyNotFound", False),
        ("__proto__", StoreMode.NORMAL, "threw KeyNotFound", False),
        ("p:a", StoreMode.STALE, "1", True),
        ("p:a", StoreMode.EMPTY, "threw KeyNotFound", False),
        ("p:a", StoreMode.FAILING, "threw InternalError", "threw"),
    ],
)
def test_the_function_reads_its_edges_replica(
    key: str, mode: StoreMode, value: str, *, exists: bool | str
) -> None:
    assert run(ECHO, {"key": key}, {"p:a": "1"}, mode) == {"value": value, "exists": exists}


def test_entries_with_any_name_come_and_go() -> None:
    async def main() -> list[object]:
        function = Function(ECHO)
        seen: list[object] = []
        for value in ("'\"\\\u2028${x}", None):
            function.change({"__proto__": value})
            seen.append(function.run({"key": "__proto__"})["value"])
        return seen

    assert asyncio.run(main()) == ["'\"\\\u2028${x}", "threw KeyNotFound"]


def test_a_function_need_not_be_asynchronous() -> None:
    assert run("function handler(event) { return event; }", {"uri": "/"}) == {"uri": "/"}


@pytest.mark.parametrize(
    "body",
    ["throw new Error('x');", "return undefined;", "return 'text';", "return null;", "return missing;"],
)
def test_a_function_that_fails_is_reported(body: str) -> None:
    with pytest.raises(FunctionError):
        run(f"async function handler(event) {{ {body} }}", {})


def test_a_promise_that_is_never_kept_is_a_failure() -> None:
    with pytest.raises(FunctionError):
        run("function handler(event) { return new Promise(() => {}); }", {})


def test_the_event_is_cloudfronts() -> None:
    head = "GET /%61//b?x=1&y=&x=2 HTTP/1.1\r\nHost: h\r\nA: 1\r\na: 2\r\nCookie: c=d=e; f\r\n\r\n"
    deployed = Deployed("E1", "d1.cloudfront.net", "", 0, 60, 1000, {}, ())
    event = cast("dict[str, Any]", make_event(parse_request(head), deployed))
    assert event["version"] == "1.0"
    assert event["viewer"] == {"ip": "127.0.0.1"}
    assert event["context"].items() >= {"distributionId": "E1", "eventType": "viewer-request"}.items()
    assert event["request"] == {
        "method": "GET",
        "uri": "/%61//b",
        "querystring": {
            "x": {"value": "1", "multiValue": [{"value": "1"}, {"value": "2"}]},
            "y": {"value": ""},
        },
        "headers": {
            "host": {"value": "h"},
            "a": {"value": "1", "multiValue": [{"value": "1"}, {"value": "2"}]},
        },
        "cookies": {"c": {"value": "d=e"}, "f": {"value": ""}},
    }
