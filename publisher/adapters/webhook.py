"""A webhook: an event as signed JSON, delivered at least once and always under the same id.

The receiver gets a POST whose headers are `Idempotency-Key`, the event's id, which the signed body holds too,
and `X-Signature-256`, `sha256=` and the HMAC-SHA256 of the body's bytes in hex, as GitHub signs its webhooks.
An answer that is lost is asked for again, so the same event may come twice: the receiver tells by the id.
"""

import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from urllib.parse import urlsplit

from publisher.adapters.http import Answer, Http, Limits, NoAnswerError
from publisher.errors import AnnounceError

ID = "Idempotency-Key"
SIGNATURE = "X-Signature-256"

_ATTEMPTS = 4
_MAX_PAUSE = 60.0
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True, slots=True)
class _Failure:
    reason: str
    pause: float


class Webhook:
    """One receiver.

    Args:
        url: Where to deliver. It has to be HTTPS, but on this machine.
        secret: What both sides know. It appears in no message.
        user_agent: How the publisher calls itself.
        limits: How long to wait for an answer.
        attempts: How many requests to make at most.
        sleep: How to wait between them.

    Raises:
        AnnounceError: The address or the secret cannot be right.
    """

    def __init__(
        self,
        url: str,
        secret: bytes,
        *,
        user_agent: str = "publish-gate",
        limits: Limits | None = None,
        attempts: int = _ATTEMPTS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
            raise AnnounceError("the webhook's address is not https://…", "correct the webhook's address")
        if not secret:
            raise AnnounceError("the webhook's secret is empty", "give the secret that the receiver knows")
        self._url = url
        # Query and path of a webhook are often a secret themselves.
        self._name = f"the webhook at {parts.hostname}"
        self._secret = secret
        self._attempts = attempts
        self._sleep = sleep
        # What a busy receiver asks to wait is seen to here, among the pauses.
        self._http = Http(user_agent, limits=replace(limits or Limits(), patience=0.0), sleep=sleep)

    def __repr__(self) -> str:
        return f"Webhook({self._name!r})"

    def send(self, event: Mapping[str, object]) -> None:
        """Deliver an event, named by its own `id`; sending it again is safe as far as the receiver tells ids.

        Without an answer, or while the receiver fails or is busy, it is sent again after growing pauses.

        Raises:
            AnnounceError: It was refused, or not taken in all attempts; it may have arrived all the same.
        """
        data = json.dumps(event, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode("ascii")
        headers = {
            "Content-Type": "application/json",
            ID: str(event["id"]),
            SIGNATURE: sign(data, self._secret),
        }
        found = self._deliver(data, headers)
        for attempt in range(1, self._attempts):
            if found is None:
                return
            self._sleep(min(max(2.0**attempt, found.pause), _MAX_PAUSE))
            found = self._deliver(data, headers)
        if found is not None:
            message = f"{self._name} did not take the event in {self._attempts} attempts: {found.reason}"
            raise AnnounceError(message, "see to the receiver, then run again: the event keeps its id")

    def _deliver(self, data: bytes, headers: Mapping[str, str]) -> _Failure | None:
        """Make one attempt, and answer why it has to be made again."""
        try:
            answer = self._http.request("POST", self._url, data=data, headers=headers)
        except NoAnswerError:
            # The error's own words hold the whole address.
            return _Failure("no answer", 0.0)
        if HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
            return None
        reason = f"status {answer.status}"
        if not _is_passing(answer):
            raise AnnounceError(f"{self._name} refused the event: {reason}", _cure(answer))
        return _Failure(reason, answer.read_wait() or 0.0)


def sign(data: bytes, secret: bytes) -> str:
    """Sign a body as the receiver has to check it."""
    return f"sha256={hmac.new(secret, data, hashlib.sha256).hexdigest()}"


def _is_passing(answer: Answer) -> bool:
    passing = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}
    return answer.status in passing or answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _cure(answer: Answer) -> str:
    if answer.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return "check that the receiver knows the same secret"
    return "check the webhook's address with whoever runs the receiver"
