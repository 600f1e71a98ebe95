"""A receiver of webhooks: checks the signature, and takes each id once."""

import hashlib
import hmac
import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import cast

from sandbox.discourse.serving import Reply, Seen, Service, serve


class Receiver(Service):
    """Keeps in `events` what came, by id; `gone` is the status it answers with once it is not 0."""

    def __init__(self, *, secret: bytes) -> None:
        super().__init__()
        self.url = f"{self.base}/hook/token-in-the-path"
        self.events: dict[str, Mapping[str, object]] = {}
        self.gone = 0
        self._secret = secret

    def answer(self, seen: Seen) -> Reply:
        """Take an event."""
        if self.gone:
            return Reply(self.gone, "no", {"Location": f"{self.base}/elsewhere"} if self.gone < 400 else {})
        wanted = "sha256=" + hmac.new(self._secret, seen.body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(wanted, seen.headers.get("x-signature-256", "")):
            return Reply(403, "signature")
        event = cast("Mapping[str, object]", json.loads(seen.body))
        if seen.headers.get("idempotency-key") != event["id"]:
            return Reply(400, "id")
        self.events.setdefault(str(event["id"]), event)
        return Reply(202, "")


@contextmanager
def run_receiver(*, secret: bytes) -> Generator[Receiver]:
    """Run a receiver until the block ends."""
    receiver = Receiver(secret=secret)
    with serve(receiver):
        yield receiver
