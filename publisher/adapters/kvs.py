"""The CloudFront KeyValueStore's data plane, which the gate's function reads at every edge."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from publisher.adapters.aws import make_config, opening, translate_error
from publisher.core.gate import BATCH, MAX_KEY_BYTES, MAX_VALUE_BYTES, Change
from publisher.errors import ConflictError, GoneError, StoreError

if TYPE_CHECKING:
    from mypy_boto3_cloudfront_keyvaluestore.client import CloudFrontKeyValueStoreClient


def make_client(region: str) -> "CloudFrontKeyValueStoreClient":
    """Make a client with the usual credential chain; requests are signed for every region (SigV4A)."""
    with opening():
        return boto3.session.Session().client(
            "cloudfront-keyvaluestore", region_name=region, config=make_config(connections=1)
        )


_PAGE = 50
"""The most entries that the service lists at once; it gives ten unless asked for more."""


class KeyValueStore:
    """One store."""

    def __init__(self, client: "CloudFrontKeyValueStoreClient", arn: str) -> None:
        self._client = client
        self._arn = arn

    def read_etag(self) -> str:
        """Read the store's present ETag."""
        with _translate("read the gate's store"):
            return self._client.describe_key_value_store(KvsARN=self._arn)["ETag"]

    def read_entries(self) -> Mapping[str, str]:
        """Read every entry."""
        with _translate("read the gate's entries"):
            pages = self._client.get_paginator("list_keys").paginate(
                KvsARN=self._arn, PaginationConfig={"PageSize": _PAGE}
            )
            return {item["Key"]: item["Value"] for page in pages for item in page.get("Items", [])}

    def update(self, change: Change, etag: str) -> str:
        """Make a change, all of it or none, and answer the new ETag."""
        _check(change)
        try:
            with _translate("change the gate's entries"):
                return self._client.update_keys(
                    KvsARN=self._arn,
                    IfMatch=etag,
                    Puts=[{"Key": key, "Value": value} for key, value in change.puts.items()],
                    Deletes=[{"Key": key} for key in change.deletes],
                )["ETag"]
        except GoneError as error:
            # Perhaps deleting an entry that is not there fails (AWS does not say); then fresh ones help.
            raise ConflictError(str(error)) from error


def _check(change: Change) -> None:
    """Refuse what the service would, before anything is sent: not every emulator of it does."""
    count = len(change.puts) + len(change.deletes)
    if count > BATCH:
        raise StoreError(f"found {count} entries in one update of the gate, expected at most {BATCH}")
    for key, value in change.puts.items():
        if len(key.encode()) > MAX_KEY_BYTES or len(value.encode()) > MAX_VALUE_BYTES:
            raise StoreError(
                f"the gate's entry {key[:80]}… is too long: at most {MAX_KEY_BYTES} bytes for a key "
                f"and {MAX_VALUE_BYTES} for a value are allowed"
            )


@contextmanager
def _translate(act: str) -> Generator[None]:
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise translate_error(error, f"cannot {act}") from error
