"""A tree of public keys with its pages, served on loopback as the CDN serves it."""

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

from publisher.core.pages import HTML_NAME, Entry, ObjectFacts, list_tree, make_page_keys
from publisher.core.pages_render import HTML_TYPE, JSON_TYPE, render_html, render_json

NAMES = Path(__file__).parents[1] / "data/cpython-3.14.0-ftp-names.txt"
ODD = "python/odd"
MANY = "python/many"
RELEASE = "python/3.14.0"
START = datetime(2024, 10, 15, 18, 30, tzinfo=UTC)
SIZES = (22_673_883, 833, 3_721, 5_431, 29_112_000, 4_200_000_000, 0, 1)
ODD_NAMES = (
    "c++-1.0+local.2.tar.gz",
    "+",
    "-",
    "...a",
    "~tilde",
    "a&b;<i>.txt",
    "quote\"'.txt",
    "blank in name",
    "percent%2Bsign",
    "query?x=1#y",
    "javascript:alert(1)",
    "ünï.txt",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-",
    "an-artifact-with-a-name-that-is-much-longer-than-those-of-any-release-so-far-" + "x" * 120 + ".tar.xz",
)


def make_objects() -> Mapping[str, ObjectFacts]:
    """Make a release as CPython's server lists it, its neighbours, odd names, and 10,000 files."""
    keys: list[str] = []
    for line in NAMES.read_text("utf-8").splitlines():
        keys += (
            [f"{RELEASE}/{line}core.msi", f"{RELEASE}/{line}exe.msi"]
            if line[-1] == "/"
            else [f"{RELEASE}/{line}"]
        )
    keys += [
        f"python/3.{minor}.{micro}/Python-3.{minor}.{micro}.tgz"
        for minor in range(7, 14)
        for micro in range(12)
    ]
    keys += [f"{ODD}/{name}" for name in ODD_NAMES] + [f"{ODD}/folder+1/x"]
    keys += [f"{MANY}/Python-3.{n % 40}.{n // 40}.tgz" for n in range(10_000)]
    return {
        key: ObjectFacts(SIZES[n % len(SIZES)] + n * (n % 3), START + timedelta(hours=7 * (n % 999)))
        for n, key in enumerate(keys)
    }


def make_site(
    objects: Mapping[str, ObjectFacts],
) -> tuple[Mapping[str, bytes], Mapping[str, tuple[Entry, ...]]]:
    """Give every key's bytes, pages included, and what each page shows."""
    tree = list_tree(objects, is_hidden=lambda key: False)
    site = dict.fromkeys(objects, b"x")
    for folder, entries in tree.items():
        html_key, json_key = make_page_keys(folder)
        site[html_key] = render_html(folder, entries, generation=1, title="Python downloads")
        site[json_key] = render_json(folder, entries, generation=1)
    return site, tree


class Site(ThreadingHTTPServer):
    """Serves a bucket as the gate does: a folder's URL gives its page."""

    def __init__(self, objects: Mapping[str, bytes], headers: Mapping[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects = objects
        self.headers = headers

    def find(self, path: str) -> tuple[int, bytes, str]:
        """Give status, body and content type of what stands at the path of a URL."""
        key = unquote(path.partition("?")[0])[1:]
        if key == "favicon.ico":
            return 204, b"", "image/x-icon"
        if key == "" or key.endswith("/"):
            key += HTML_NAME
        if key not in self.objects:
            return 404, b"", "text/plain"
        kinds = {"html": HTML_TYPE, "json": JSON_TYPE}
        return 200, self.objects[key], kinds.get(key.rpartition(".")[2], "application/octet-stream")


class Handler(BaseHTTPRequestHandler):
    """Answers one request of a `Site`."""

    server: Site  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_GET(self) -> None:
        status, body, kind = self.server.find(self.path)
        self.send_response(status)
        fixed = {"Content-Type": kind, "Content-Length": str(len(body))}
        for name, value in {**self.server.headers, **fixed}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay silent."""


@contextmanager
def serve(objects: Mapping[str, bytes], headers: Mapping[str, str]) -> Generator[str]:
    """Serve `objects` and give the URL of their root, without a slash."""
    server = Site(objects, headers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
