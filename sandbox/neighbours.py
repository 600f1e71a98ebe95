"""What of others a site works with, all on loopback: Sigstore, a release database, a forum, signals."""

import json
import re
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from publisher.core.identity import Identity
from publisher.core.profile import Profile
from sandbox.discourse import DiscourseServer, Forum, run_discourse
from sandbox.release_db import ReleaseDbServer, run_release_db
from sandbox.sigstore import RELEASE_MANAGER, LocalSigstore, Login, run_sigstore

TRUST_CONFIG = "sigstore.json"
TOKEN = "5a" * 20
FORUM_KEY = "f0" * 32
_USER, _KEY = "rm", "api-key"
_BOT, _CATEGORY = "release-bot", 4


@dataclass
class Outside:
    """URLs of others that a profile waits for; those in `silent` (host and path) do not answer yet."""

    url: str
    silent: set[str] = field(default_factory=set[str])
    asked: list[str] = field(default_factory=list[str])

    def move(self, url: str) -> str:
        """Give the address under which this stands in for `url`."""
        parts = urlsplit(url.replace("{", "%7B").replace("}", "%7D"))
        path = f"{parts.netloc}{parts.path}".replace("%7B", "{").replace("%7D", "}")
        return self.url + path


@dataclass(frozen=True, slots=True)
class Neighbours:
    """All of it. `login` is who the release manager is to Sigstore."""

    sigstore: LocalSigstore
    login: Login
    database: ReleaseDbServer
    forum: DiscourseServer
    outside: Outside

    def rewrite(self, profile: str, rules: Profile) -> str:
        """Give the text of a profile with the signals of others moved to this machine."""
        for rule in rules.signals:
            profile = profile.replace(json.dumps(rule.url), json.dumps(self.outside.move(rule.url)))
        return profile

    def write_config(self, rules: Profile) -> str:
        """Write the tables of publisher.toml that lead here; the program itself insists on https."""
        announce = (
            "[announce]\n"
            f"discourse_url = {json.dumps(self.forum.url + '/')}\n"
            f"discourse_category = {_CATEGORY}\n"
        )
        listing = f'[listing]\nkind = "database"\nurl = {json.dumps(self.database.url + "/")}\n'
        return f"\n{listing if rules.listing else ''}\n{announce}"

    def credentials(self) -> dict[str, str]:
        """Give what the release manager has in the environment for the database and the forum."""
        return {
            "PUBLISHER_LISTING_TOKEN": TOKEN,
            "PUBLISHER_LISTING_API_KEY": f"{_USER}:{_KEY}",
            "PUBLISHER_DISCOURSE_KEY": FORUM_KEY,
            "PUBLISHER_DISCOURSE_USER": _BOT,
        }


@contextmanager
def run_neighbours(rules: Profile) -> Generator[Neighbours]:
    """Run what a site for `rules` works with until the block ends."""
    with ExitStack() as stack:
        login = find_login(rules)
        forum = Forum(categories=(_CATEGORY,))
        yield Neighbours(
            sigstore=stack.enter_context(run_sigstore(login=login)),
            login=login,
            database=stack.enter_context(run_release_db(token=TOKEN, key=_KEY, name=_USER)),
            forum=stack.enter_context(run_discourse(key=FORUM_KEY, user=_BOT, forum=forum)),
            outside=stack.enter_context(run_outside()),
        )


def find_login(rules: Profile) -> Login:
    """Choose who the release manager is: who may sign the releases of the profile's last series but one.

    The last series is often still in the making. Where nobody may sign, anybody will do.
    """
    accepted = rules.accepted
    named = [*accepted.series.values()][-2:] or [accepted.everywhere]
    identities: tuple[Identity, ...] = named[0]
    return Login(identities[0].name, identities[0].issuer) if identities else RELEASE_MANAGER


@contextmanager
def run_outside() -> Generator[Outside]:
    """Answer for everybody else, 200 to whatever is asked, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            path = self.path.lstrip("/")
            outside.asked.append(path)
            silent = any(re.fullmatch(pattern, path) for pattern in outside.silent)
            self.send_response(404 if silent else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object, **_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        outside = Outside(f"http://127.0.0.1:{server.server_port}/")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield outside
        finally:
            server.shutdown()
            thread.join()
