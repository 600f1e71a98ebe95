"""The forum's API as far as announcing needs it: a topic by its external id, and a new topic."""

import json
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import cast
from urllib.parse import parse_qsl, urlsplit

from sandbox.discourse.forum import BadRequestError, Forum
from sandbox.discourse.serving import Fault, Reply, Seen, Service, serve

_BY_EXTERNAL_ID = re.compile(r"/t/external_id/([\w-]+)\.json", re.ASCII)
_TOPIC = re.compile(r"/t/[^/]+/(\d+)\.json", re.ASCII)
_DENIED = "You are not permitted to view the requested resource. The API username or key is invalid."


class DiscourseServer(Service):
    """A forum in `folder`, if it has one, that takes one key for one user."""

    def __init__(self, *, key: str, user: str, folder: str = "", forum: Forum | None = None) -> None:
        super().__init__()
        self.forum = forum or Forum()
        self.url = self.base + folder
        # What the forum believes to be its own address; behind some proxies it is another.
        self.believed = self.base
        self._folder = folder
        self._credentials = (key, user.lower())

    def answer(self, seen: Seen) -> Reply:
        """Answer as Discourse does."""
        path = urlsplit(seen.path).path
        if not path.startswith(self._folder):
            return Reply(404, "no forum here")
        path = path.removeprefix(self._folder)
        given = (seen.headers.get("api-key"), seen.headers.get("api-username", "").lower())
        known = given == self._credentials
        if given[0] is not None and not known:
            return _refuse(403, _DENIED, "invalid_access")
        if seen.method == "POST" and path == "/posts.json":
            if not known:
                return _refuse(403, "You need to be logged in to do that.", "not_logged_in")
            return self._create(seen)
        return self._show(path)

    def throttle(self, fault: Fault) -> Reply:
        """Answer as one of Discourse's two limiters: of an action, in JSON, or of all requests, in text."""
        seconds = self.wait_seconds
        if fault is Fault.THROTTLE:
            text = f"Slow down, too many requests from this IP address.\nRetry again in {seconds} seconds."
            code = "ip_10_secs_limit"
            return Reply(429, text, {"Retry-After": str(seconds), "Discourse-Rate-Limit-Error-Code": code})
        told = f"Please wait {seconds} seconds before trying again."
        body = {
            "errors": [f"You have performed this action too many times. {told}"],
            "error_type": "rate_limit",
        }
        if fault is Fault.THROTTLE_IN_BODY:
            return Reply(429, {**body, "extras": {"wait_seconds": seconds}})
        return Reply(429, body)

    def fail(self, fault: Fault) -> Reply:
        """Answer as in read-only mode, or with a web server's error page."""
        if fault is Fault.READ_ONLY:
            return _refuse(503, "The site is in read only mode. Interactions are disabled.", "read_only")
        return Reply(
            500, "<html><h1>Oops</h1>The software powering this forum has an unexpected problem.</html>"
        )

    def _show(self, path: str) -> Reply:
        by_external_id = _BY_EXTERNAL_ID.fullmatch(path)
        by_id = _TOPIC.fullmatch(path)
        if by_external_id:
            topic = self.forum.find(by_external_id[1])
            if topic is not None:
                there = f"{self.believed}{self._folder}/t/{topic.slug}/{topic.id}.json?page="
                return Reply(301, "", {"Location": there})
        if by_id:
            for topic in self.forum.topics:
                if topic.id == int(by_id[1]) and not topic.deleted:
                    return Reply(200, {"id": topic.id, "title": topic.title, "slug": topic.slug})
        return _refuse(404, "The requested URL or resource could not be found.", "not_found")

    def _create(self, seen: Seen) -> Reply:
        try:
            answer = self.forum.create(seen.headers["api-username"], _read_params(seen))
        except BadRequestError as error:
            message = f"You supplied invalid parameters to the request: {error}"
            return _refuse(400, message, "invalid_parameters")
        # Without errors, and unless it is queued, a new post is the whole answer.
        body = answer.get("post", answer)
        return Reply(200 if answer.get("success") else 422, body)


@contextmanager
def run_discourse(
    *, key: str, user: str = "release-bot", folder: str = "", forum: Forum | None = None
) -> Generator[DiscourseServer]:
    """Run a forum until the block ends."""
    server = DiscourseServer(key=key, user=user, folder=folder, forum=forum)
    with serve(server):
        yield server


def _read_params(seen: Seen) -> Mapping[str, object]:
    if seen.headers.get("content-type", "").startswith("application/json"):
        return cast("Mapping[str, object]", json.loads(seen.body))
    return dict(parse_qsl(seen.body.decode()))


def _refuse(status: int, message: str, kind: str) -> Reply:
    return Reply(status, {"errors": [message], "error_type": kind})
