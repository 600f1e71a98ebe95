"""The stand-in's server: both versions of the API, the pages, a log, and troubles on demand."""

import html
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from sandbox.release_db.tables import Tables
from sandbox.release_db.v1 import V1, V1Api, find_user
from sandbox.release_db.v2 import RefusedError, V2Api, authenticate, authorize
from sandbox.release_db.values import (
    Entry,
    Fault,
    Reply,
    Request,
    Row,
    User,
    is_write,
    reply_json,
    reply_page,
)

_LOOPBACK = "127.0.0.1"
_PAGES = "/downloads/release/"
_DAY, _HOUR = 86393, 3548
_SOON = 1
_BEFORE = {Fault.FAIL_BEFORE, Fault.CUT_BEFORE, Fault.SILENT_BEFORE, Fault.THROTTLE}
_CUT = {Fault.CUT_BEFORE, Fault.CUT_AFTER}
_SILENT = {Fault.SILENT_BEFORE, Fault.SILENT_AFTER}


class ReleaseDbServer:
    """The running stand-in.

    `log` has every request in the order of the answers. `quotas` are the requests left to v2 users, to v2's
    anonymous clients and to v1, each of them; `modern` of `v2` is the site after its upgrade.
    """

    def __init__(self, url: str, users: list[User]) -> None:
        self.url = url
        self.users = users
        self.tables = Tables()
        self.v1 = V1Api(self.tables)
        self.v2 = V2Api(self.tables, url)
        self.log: list[Entry] = []
        self.quotas = {"user": 3000, "anonymous": 100, "v1": 600}
        self.stopping = threading.Event()
        self._used: Counter[str] = Counter()
        self._faults: dict[int, Fault] = {}
        self._writes = 0
        self._lock = threading.Lock()

    def fail(self, number: int, fault: Fault) -> None:
        """Let the `number`th write from now (1: the next) meet `fault`."""
        with self._lock:
            self._faults[self._writes + number] = fault

    def writes(self) -> list[Entry]:
        """Give the writes in the log."""
        return [entry for entry in self.log if entry.is_write]

    def add_release(self, name: str, slug: str, **fields: Any) -> int:
        """Put a release there, as somebody in the site's administration would, and give its id."""
        row: Row = {
            "name": name,
            "slug": slug,
            "version": 3,
            "is_published": False,
            "is_latest": False,
            "release_date": self.tables.now(),
            "pre_release": False,
            "release_page": None,
            "release_notes_url": "",
            "show_on_download_page": True,
            **fields,
        }
        number = self.tables.new_id()
        self.tables.releases[number] = {"id": number, **row}
        return number

    def answer(self, request: Request) -> tuple[Reply | None, str]:
        """Answer a request (None: not at all), and name who made it."""
        fault = self._find_fault(request)
        if fault and fault in _BEFORE:
            return self._trouble(fault), ""
        reply, name = self._dispatch(request)
        if fault is Fault.GARBLE:
            return Reply(reply.status, b"<h1>Welcome</h1>"), name
        return (self._trouble(fault) if fault else reply), name

    def _find_fault(self, request: Request) -> Fault | None:
        if not is_write(request.method):
            return None
        with self._lock:
            self._writes += 1
            return self._faults.pop(self._writes, None)

    def _trouble(self, fault: Fault) -> Reply | None:
        if fault in _SILENT:
            self.stopping.wait(60)
        if fault in _SILENT | _CUT:
            return None
        return _throttle(_SOON) if fault is Fault.THROTTLE else reply_page()

    def _dispatch(self, request: Request) -> tuple[Reply, str]:
        if request.path.startswith(_PAGES):
            return self._show_page(request.path.removeprefix(_PAGES).strip("/")), ""
        if not request.path.endswith("/") and request.path.startswith("/api/"):
            return Reply(301, headers={"Location": f"{request.path}/"}), ""
        if request.path.startswith(V1):
            return self._dispatch_v1(request)
        return self._dispatch_v2(request)

    def _dispatch_v1(self, request: Request) -> tuple[Reply, str]:
        user, refusal = find_user(request, self.users)
        name = user.name if user else ""
        if refusal:
            return refusal, name
        if self._is_over("v1", name or request.address):
            return Reply(429, headers={"Retry-After": str(_HOUR)}), name
        return self.v1.answer(request, user), name

    def _dispatch_v2(self, request: Request) -> tuple[Reply, str]:
        name = ""
        try:
            user = authenticate(request.headers.get("authorization", ""), self.users)
            name = user.name if user else ""
            authorize(request, user)
            if self._is_over("user" if user else "anonymous", name or request.address):
                return _throttle(_DAY), name
            return self.v2.answer(request, user), name
        except RefusedError as error:
            return error.reply, name

    def _is_over(self, quota: str, key: str) -> bool:
        with self._lock:
            self._used[f"{quota} {key}"] += 1
            return self._used[f"{quota} {key}"] > self.quotas[quota]

    def _show_page(self, slug: str) -> Reply:
        """Show a release's page, which a draft has as well."""
        release = next((row for row in self.tables.releases.values() if row["slug"] == slug), None)
        if release is None:
            return Reply(404, b"<h1>Not found</h1>")
        rows = [row for row in self.tables.files.values() if row["release"] == release["id"]]
        lines = (
            f'<tr><td><a href="{html.escape(row["url"])}">{html.escape(row["name"])}</a></td>'
            f"<td>{row['sha256_sum']}</td></tr>"
            for row in rows
        )
        title = html.escape(release["name"])
        return Reply(200, f"<h1>{title}</h1><table>{''.join(lines)}</table>".encode())


def _throttle(seconds: int) -> Reply:
    detail = f"Request was throttled. Expected available in {seconds} seconds."
    return reply_json(429, {"detail": detail}, Retry_After=str(seconds))


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, users: list[User]) -> None:
        handler = type("_HandlerOfSite", (_Handler,), {})
        super().__init__((_LOOPBACK, 0), handler)
        self.site = handler.site = ReleaseDbServer(f"http://{_LOOPBACK}:{self.server_port}", users)


class _Handler(BaseHTTPRequestHandler):
    """Reads a request, and sends what the site answers, if it does."""

    protocol_version = "HTTP/1.1"
    site: ReleaseDbServer
    # The head and the body of an answer go out in one piece each; waiting for more would only delay them.
    disable_nagle_algorithm = True

    def _serve(self) -> None:
        site = self.site
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Request(
            method=self.command,
            path=parts.path,
            query=tuple(parse_qsl(parts.query, keep_blank_values=True)),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=body,
            address=self.client_address[0],
        )
        reply, name = site.answer(request)
        status = reply.status if reply else 0
        site.log.append(
            Entry(self.command, parts.path, parts.query, body.decode(errors="replace"), name, status)
        )
        if reply is None:
            self.close_connection = True
            return
        self._send(reply)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_HEAD = _serve  # noqa: N815

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(reply.body)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def run_release_db(
    *, token: str, key: str = "key", name: str = "rm", others: tuple[User, ...] = ()
) -> Generator[ReleaseDbServer]:
    """Run the stand-in, with a staff user who has `token` and, for v1, `key`, until the block ends."""
    with _Http([User(name, token, key), *others]) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server.site
        finally:
            server.site.stopping.set()
            server.shutdown()
            thread.join()
