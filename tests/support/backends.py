"""The stores that one contract suite runs against: the fake, ministack and SeaweedFS, each as two fresh buckets."""

import os
import secrets
from collections.abc import Generator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pytest

from publisher.adapters.s3 import S3Public, S3Staging, make_client
from publisher.core.plan import Version
from publisher.ports import Public, Staging
from sandbox.ministack import INLINE, REGION, Credentials, Ministack, local_config, open_session
from tests.support.fakes import FakeS3
from tests.support.seaweed import Seaweed

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

BACKENDS = ("fake", "ministack", "seaweedfs")
REAL = ("ministack", "seaweedfs")
CONNECTIONS = 16

PART = 5 * 1024**2
"""The smallest part of a multipart upload that is not the last."""

MULTIPART = b"a" * PART + b"b"
DECORATION = {"metadata": {"builder": "windows"}, "tags": {"team": "windows"}}


@dataclass(frozen=True, slots=True)
class Looks:
    """What a public object carries besides its bytes."""

    content_type: str
    cache_control: str
    storage_class: str
    metadata: Mapping[str, str]
    tags: Mapping[str, str]


class Store(Protocol):
    """What tests do to a store behind the ports' back."""

    def put_multipart(self, key: str, algorithm: str | None) -> None:
        """Stage `MULTIPART` in two parts, with that checksum of each or none."""
        ...

    def put_decorated(self, key: str, data: bytes) -> None:
        """Stage an object with user metadata, tags, media type and cache class."""
        ...

    def look(self, key: str) -> Looks:
        """Tell what the public object carries."""
        ...

    def count(self, key: str) -> int:
        """Count the versions of the staged `key`, without delete markers."""
        ...

    def destroy(self, version: Version) -> None:
        """Delete one staged version for good."""
        ...


@dataclass(frozen=True, slots=True)
class Backend:
    """Two fresh buckets of one store."""

    name: str
    staging: Staging
    public: Public
    store: Store


@dataclass(frozen=True, slots=True)
class Server:
    """A real store for a whole session: who sets up, who acts, and who may do nothing."""

    name: str
    setup: "S3Client"
    actor: "S3Client"
    stranger: "S3Client"


class FakeStore:
    """The fake's back door."""

    def __init__(self, s3: FakeS3) -> None:
        self._s3 = s3

    def put_multipart(self, key: str, algorithm: str | None) -> None:
        self._s3.staging.store(key, MULTIPART, whole=False)

    def put_decorated(self, key: str, data: bytes) -> None:
        # The fake knows no metadata and no tags, so that none can be carried over.
        self._s3.staging.store(key, data)

    def look(self, key: str) -> Looks:
        found = self._s3.public.current(key)
        assert found is not None
        assert found.delivery is not None
        return Looks(found.delivery.content_type, found.delivery.cache_control, "STANDARD", {}, {})

    def count(self, key: str) -> int:
        return sum(version.data is not None for version in self._s3.staging.versions[key])

    def destroy(self, version: Version) -> None:
        versions = self._s3.staging.versions[version.key]
        versions.remove(self._s3.staging.find(version))


class S3Store:
    """A real store's back door: its administrator."""

    def __init__(self, client: "S3Client", staging: str, public: str) -> None:
        self._client = client
        self._staging = staging
        self._public = public

    def put_multipart(self, key: str, algorithm: str | None) -> None:
        if algorithm == "SHA256":
            upload = self._client.create_multipart_upload(
                Bucket=self._staging, Key=key, ChecksumAlgorithm="SHA256"
            )["UploadId"]
        else:
            upload = self._client.create_multipart_upload(Bucket=self._staging, Key=key)["UploadId"]
        first = self._put_part(key, upload, 1, MULTIPART[:PART], algorithm)
        second = self._put_part(key, upload, 2, MULTIPART[PART:], algorithm)
        self._client.complete_multipart_upload(
            Bucket=self._staging, Key=key, UploadId=upload, MultipartUpload={"Parts": [first, second]}
        )

    def _put_part(self, key: str, upload: str, number: int, data: bytes, algorithm: str | None) -> ...:
        ...
