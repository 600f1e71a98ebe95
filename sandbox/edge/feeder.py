"""Carries the store's changes and the invalidations to the edges: `python -m sandbox.edge.feeder CONFIG`.

One process for all edges: it looks often, and each edge takes its time by itself. Credentials come by the
environment. Ends only by being killed.
"""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from botocore.awsrequest import AWSPreparedRequest
from botocore.exceptions import BotoCoreError, ClientError

from sandbox.edge.control import Line
from sandbox.edge.values import FEEDER_CONFIG, Change, Command, FeederConfig
from sandbox.ministack import Credentials, local_config, open_session

if TYPE_CHECKING:
    from mypy_boto3_cloudfront.client import CloudFrontClient
    from mypy_boto3_cloudfront_keyvaluestore.client import CloudFrontKeyValueStoreClient

_PAGE = 50
_START_SECONDS = 20
_AFTER_ERROR_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Seen:
    """The store at one moment; `at` is when the last look that found exactly this began."""

    etag: str
    entries: Mapping[str, str]
    at: float


class StoreWatcher:
    """Looks at the store; costs one small request while nothing has changed."""

    def __init__(self, client: "CloudFrontKeyValueStoreClient", arn: str) -> None:
        self._client = client
        self._arn = arn
        self._seen: Seen | None = None

    def look(self) -> Change | None:
        """Give what has changed since the last look; at first all there is."""
        began = time.monotonic()
        etag = self._read_etag()
        before = self._seen
        if before is not None and before.etag == etag:
            self._seen = Seen(etag, before.entries, began)
            return None
        began, etag, entries = self._read_all(etag)
        self._seen = Seen(etag, entries, began)
        if before is None:
            return Change(None, entries)
        values: dict[str, str | None] = {key: None for key in before.entries if key not in entries}
        values |= {key: value for key, value in entries.items() if before.entries.get(key) != value}
        return Change(before.at, values) if values else None

    def _read_all(self, etag: str) -> tuple[float, str, dict[str, str]]:
        # A listing of several pages is of one moment only if the ETag is the same before and after.
        while True:
            entries = self._list()
            began = time.monotonic()
            again = self._read_etag()
            if again == etag:
                return began, etag, entries
            etag = again

    def _read_etag(self) -> str:
        return self._client.describe_key_value_store(KvsARN=self._arn)["ETag"]

    def _list(self) -> dict[str, str]:
        pages = self._client.get_paginator("list_keys").paginate(
            KvsARN=self._arn, PaginationConfig={"PageSize": _PAGE}
        )
        return {item["Key"]: item["Value"] for page in pages for item in page.get("Items", [])}


class InvalidationWatcher:
    """Looks for invalidations; those there were at first concern nobody."""

    def __init__(self, client: "CloudFrontClient", distribution_id: str) -> None:
        self._client = client
        self._id = distribution_id
        self._known = set(self._list())

    def look(self) -> list[tuple[str, ...]]:
        """Give the paths of each invalidation that is new since the last look."""
        new = [each for each in self._list() if each not in self._known]
        found = [self._read(each) for each in new]
        self._known.update(new)
        return found

    def _list(self) -> list[str]:
        answer = self._client.list_invalidations(DistributionId=self._id)
        return [item["Id"] for item in answer["InvalidationList"].get("Items", [])]

    def _read(self, invalidation_id: str) -> tuple[str, ...]:
        answer = self._client.get_invalidation(DistributionId=self._id, Id=invalidation_id)
        return tuple(answer["Invalidation"]["InvalidationBatch"]["Paths"].get("Items", []))


def strip_account(request: AWSPreparedRequest, **_: object) -> None:
    """Send what is meant for the account's own host name to the endpoint itself.

    The signature is over the name that stays in the Host header.
    """
    host = urlsplit(request.url).netloc
    request.url = request.url.replace(host, host.partition(".")[2], 1)


def run(config: FeederConfig, credentials: Credentials) -> None:
    """Feed the edges without end. What fails at first is raised; after that it is printed and tried again."""
    session = open_session(credentials)
    data = session.client("cloudfront-keyvaluestore", endpoint_url=config.endpoint, config=local_config())
    data.meta.events.register("before-send.cloudfront-keyvaluestore", strip_account)
    control = session.client("cloudfront", endpoint_url=config.endpoint, config=local_config())
    store = StoreWatcher(data, config.kvs_arn)
    invalidations = InvalidationWatcher(control, config.distribution_id)
    lines = [_open(port) for port in config.control_ports]
    feed(lines, Command(config.token, change=store.look(), brief=True))
    while True:
        time.sleep(config.poll_seconds)
        try:
            for patterns in invalidations.look():
                feed(lines, Command(config.token, invalidate=patterns, brief=True))
            if change := store.look():
                feed(lines, Command(config.token, change=change, brief=True))
        except (BotoCoreError, ClientError) as error:
            print(f"cannot look: {error}", flush=True)
            time.sleep(_AFTER_ERROR_SECONDS)


def feed(lines: Sequence[Line], command: Command) -> None:
    """Tell every edge that is still there."""
    for line in lines:
        try:
            line.send(command)
        except OSError as error:
            print(f"cannot tell an edge: {error}", flush=True)


def _open(port: int) -> Line:
    end = time.monotonic() + _START_SECONDS
    while True:
        try:
            return Line(port)
        except ConnectionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


if __name__ == "__main__":
    run(
        FEEDER_CONFIG.validate_json(Path(sys.argv[1]).read_bytes()),
        Credentials(
            os.environ["AWS_ACCESS_KEY_ID"],
            os.environ["AWS_SECRET_ACCESS_KEY"],
            token=os.environ.get("AWS_SESSION_TOKEN"),
        ),
    )
