"""A Discourse forum: one topic for each external id, found again rather than posted twice.

Discourse keeps external ids unique, deleted topics included, so a request that is repeated makes no second
topic. Still none is: whenever it cannot be known whether a topic was made, the forum is asked for it.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import cast
from urllib.parse import quote, urlsplit

import requests

from publisher.adapters.http import Answer, Http, Limits, NoAnswerError
from publisher.errors import AnnounceError

_MAX_WAIT = 300.0
_PAUSE = 10.0
"""How long to wait for a forum that is busy and does not say for how long."""
_MOVED = frozenset({HTTPStatus.MOVED_PERMANENTLY, HTTPStatus.FOUND})
_TOPIC = re.compile(r"(/t/(?:[^/]+/)?\d+)(?:\.json)?")
_HEADER = re.compile(r"[!-~]+")
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_LONGEST = 300

_AGAIN = "run again: a topic that was made after all is found by its external id"
_ADDRESS = "check the forum's address; it has to be the one that it does not redirect"
_KEY = "check the key, its user, and that the user may post in the category"


class Discourse:
    """One category of one forum, as one user.

    Args:
        base_url: Where the forum is, with its folder if it has one. It has to be HTTPS, but on this machine.
        key: An API key, global or with the scopes topics:read and topics:write. It appears in no message.
        user: The name of the user that the key acts for.
        category: The category's number.
        tags: Names of tags for the topic.
        user_agent: How the publisher calls itself.
        limits: How long to wait for an answer.
        max_wait: How long to wait in all while the forum says it is busy, in seconds.
        sleep: How to wait.

    Raises:
        AnnounceError: The address, the key or the user cannot be right.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        user: str,
        category: int,
        *,
        tags: Sequence[str] = (),
        user_agent: str = "publish-gate",
        limits: Limits | None = None,
        max_wait: float = _MAX_WAIT,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        _check_settings(base_url, key, user)
        self._url = base_url.rstrip("/")
        self._key = key
        self._category = category
        self._tags = tuple(tags)
        self._max_wait = max_wait
        self._sleep = sleep
        self._headers = {"Api-Key": key, "Api-Username": user}
        # How long the forum asks to wait may stand in the answer's body, so that is seen to here.
        self._http = Http(user_agent, limits=replace(limits or Limits(), patience=0.0), sleep=sleep)

    def __repr__(self) -> str:
        return f"Discourse({self._url!r}, category={self._category})"

    def find(self, external_id: str) -> str | None:
        """Give the URL of the topic with this external id, or None if there is none that can be seen.

        Raises:
            AnnounceError: The forum did not say.
        """
        path = f"/t/external_id/{quote(external_id, safe='')}.json"
        answer = self._ask("GET", path)
        if answer.status in _MOVED:
            return self._read_location(answer)
        # Any web server says 404; only a forum's own means that there is no such topic.
        if answer.status == HTTPStatus.NOT_FOUND and _read(answer).get("error_type") == "not_found":
            return None
        raise self._translate(answer, "cannot look for the topic")

    def post(self, title: str, body: str, external_id: str) -> str:
        """Post a topic, unless it is there already, and give its URL.

        `body` is Markdown. A topic that is there is left as it is.

        Raises:
            AnnounceError: It was not posted, or waits for approval, or that cannot be known; it says which.
        """
        there = self.find(external_id)
        if there is not None:
            return there
        topic: dict[str, object] = {
            "title": title,
            "raw": body,
            "category": self._category,
            "external_id": external_id,
        }
        if self._tags:
            topic["tags"] = list(self._tags)
        try:
            answer = self._ask("POST", "/posts.json", topic)
        except _LostError as error:
            if not error.sent:
                raise
            return self._read_back(external_id, error)
        if answer.status == HTTPStatus.OK:
            return self._read_posted(answer, external_id)
        error = self._translate(answer, "the topic was not posted")
        if answer.status == HTTPStatus.UNPROCESSABLE_ENTITY:
            return self._read_refused(external_id, answer, error)
        if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return self._read_back(external_id, error)
        raise error

    def _read_posted(self, answer: Answer, external_id: str) -> str:
        post = _read(answer)
        if post.get("action") == "enqueued":
            raise AnnounceError(
                "the topic is not to be seen yet: it waits for a moderator's approval",
                "have it approved, then run again; before that, a second run would queue it twice",
            )
        slug, number = post.get("topic_slug"), post.get("topic_id")
        if isinstance(slug, str) and isinstance(number, int):
            return f"{self._url}/t/{slug}/{number}"
        return self._read_back(external_id, self._translate(answer, "found an answer without a topic"))

    def _read_refused(self, external_id: str, answer: Answer, error: AnnounceError) -> str:
        """Look for the topic whatever the reason is said to be: it is in the forum's language."""
        there = self.find(external_id)
        if there is not None:
            return there
        if any("already been taken" in reason for reason in _list_reasons(answer)):
            raise AnnounceError(
                f"{error}; yet no topic with external id {external_id} is to be seen",
                "a deleted topic keeps its external id: have a moderator restore it",
            )
        raise error

    def _read_back(self, external_id: str, error: AnnounceError) -> str:
        """Look for the topic after an answer that leaves open whether it was made."""
        try:
            there = self.find(external_id)
        except AnnounceError as second:
            message = f"it cannot be known whether the topic was posted: {error}; then {second}"
            raise AnnounceError(message, _AGAIN) from second
        if there is None:
            raise AnnounceError(f"{error}; the topic is not there", _AGAIN) from error
        return there

    def _ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Answer:
        """Make a request, and again while the forum is busy: it says so before it does anything."""
        waited = 0.0
        while True:
            answer = self._send(method, path, body)
            if answer.status != HTTPStatus.TOO_MANY_REQUESTS:
                return answer
            pause = _read_pause(answer)
            if waited + pause > self._max_wait:
                message = f"the forum is busy and asks to wait {pause:.0f} s more"
                raise AnnounceError(message, f"run again in {pause:.0f} s")
            self._sleep(pause)
            waited += pause

    def _send(self, method: str, path: str, body: Mapping[str, object] | None) -> Answer:
        try:
            return self._http.request(method, self._url + path, json=body, sign=self._sign)
        except NoAnswerError as error:
            raise _LostError(self._hide(str(error)), sent=error.sent) from error

    def _sign(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers.update(self._headers)
        return request

    def _read_location(self, answer: Answer) -> str:
        # Behind a proxy, scheme and host may be those that the forum sees; only the path is sure.
        path = urlsplit(answer.headers.get("location", "")).path.removeprefix(urlsplit(self._url).path)
        found = _TOPIC.fullmatch(path)
        if found is None:
            raise self._translate(answer, "cannot look for the topic")
        return self._url + found[1]

    def _translate(self, answer: Answer, what: str) -> AnnounceError:
        status = answer.status
        reasons = "; ".join(_list_reasons(answer))
        message = self._hide(f"{what}: {self._url} answered {status} {reasons}".rstrip())
        if status == HTTPStatus.FORBIDDEN:
            return AnnounceError(message, _KEY)
        if status == HTTPStatus.NOT_FOUND or status in _MOVED:
            return AnnounceError(message, _ADDRESS)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return AnnounceError(message, _AGAIN)
        return AnnounceError(message, "correct what the forum says, then run again")

    def _hide(self, message: str) -> str:
        return message.replace(self._key, "[key]")


class _LostError(AnnounceError):
    """There was no answer; if it was `sent`, what was asked for may have been done."""

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message, _AGAIN)
        self.sent = sent


def _check_settings(base_url: str, key: str, user: str) -> None:
    parts = urlsplit(base_url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise AnnounceError(
            f"found {base_url!r} as the forum's address, expected https://…", "correct the forum's address"
        )
    for what, value in (("key", key), ("user", user)):
        # requests would show what it cannot send.
        if not _HEADER.fullmatch(value):
            raise AnnounceError(
                f"found an API {what} that is empty or has blanks or other characters than ASCII",
                f"give the {what} of the forum without anything around it",
            )


def _read(answer: Answer) -> Mapping[str, object]:
    data: object = answer.read_json()
    return cast("Mapping[str, object]", data) if isinstance(data, dict) else {}


def _list_reasons(answer: Answer) -> list[str]:
    errors = _read(answer).get("errors")
    if isinstance(errors, list):
        return [str(error)[:_LONGEST] for error in cast("list[object]", errors)]
    return []


def _read_pause(answer: Answer) -> float:
    """Tell how long to wait: by the header, else by the body, else some seconds; never not at all."""
    told = answer.read_wait()
    extras = _read(answer).get("extras")
    if told is None and isinstance(extras, dict):
        seconds = cast("Mapping[str, object]", extras).get("wait_seconds")
        told = float(seconds) if isinstance(seconds, int | float) else None
    return _PAUSE if told is None else max(1.0, told)
