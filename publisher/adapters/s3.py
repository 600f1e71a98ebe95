"""Amazon S3: the staging and the public bucket, by single requests whose conditions the store enforces."""

import hashlib
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from publisher.adapters.aws import make_config, opening, translate_error
from publisher.core.digests import Digest, parse_base64, to_base64
from publisher.core.plan import Version
from publisher.core.profile import Delivery
from publisher.core.snapshot import Copied, Described, Listed
from publisher.errors import ConflictError, GoneError, StoreError
from publisher.ports import ReadObject

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

T = TypeVar("T")

MAX_SMALL_BYTES = 16 * 1024**2
"""The most that is read into memory at once; a hand-over of 100,000 files has 14 MB."""

_CHUNK = 1024**2


class _Condition(TypedDict, total=False):
    IfNoneMatch: str


class _Which(TypedDict, total=False):
    VersionId: str


class _From(TypedDict, total=False):
    Range: str


class _Served(TypedDict):
    ChecksumAlgorithm: Literal["SHA256"]
    ContentType: str
    CacheControl: str


def _serve(delivery: Delivery) -> _Served:
    return {
        "ChecksumAlgorithm": "SHA256",
        "ContentType": delivery.content_type,
        "CacheControl": delivery.cache_control,
    }


def make_client(region: str, connections: int) -> "S3Client":
    """Make a client with the usual credential chain, retries and as many connections as threads."""
    # For links: the way of signing whose end S3 enforces for sessions, and the region's own host, since a
    # link is signed for its host and the global one may redirect.
    regional = Config(signature_version="s3v4", s3={"addressing_style": "virtual"})
    config = make_config(connections).merge(regional)
    with opening():
        return boto3.session.Session().client("s3", region_name=region, config=config)


class S3Bucket:
    """A versioned bucket, read."""

    def __init__(self, client: "S3Client", name: str) -> None:
        self.name = name
        self._client = client
        self._digests: dict[Version, Digest] = {}

    def list_keys(self, prefix: str) -> tuple[str, ...]:
        """List every key under `prefix`, in order, however many pages that takes."""
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
        with self._translate(f"list {prefix}*"):
            return tuple(
                found["Key"] for page in pages for found in page.get("Contents", []) if "Key" in found
            )

    def list_objects(self, prefix: str) -> tuple[Listed, ...]:
        """List every object under `prefix`, with its size and when it was written."""
        with self._translate(f"list {prefix}"):
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
            return tuple(
                Listed(item.get("Key", ""), item.get("Size", 0), item["LastModified"])
                for page in pages
                for item in page.get("Contents", [])
                if "LastModified" in item
            )

    def describe(self, key: str) -> Described | None:
        """Describe the current version of `key`, or answer None if there is none."""
        return self._unless_absent(key, lambda: self._describe(key))

    def read(self, key: str) -> ReadObject | None:
        """Read the current version of a small object, or answer None if there is none."""
        return self._unless_absent(key, lambda: self._read(key))

    def compute_digest(self, version: Version) -> Digest:
        """Stream exactly this version and compute its digest; once is enough, for a version never changes."""
        if version in self._digests:
            return self._digests[version]
        with self._translate(f"read {version.key}"):
            answer = self._client.get_object(Bucket=self.name, Key=version.key, VersionId=version.version_id)
            digest = hashlib.sha256()
            for chunk in answer["Body"].iter_chunks(_CHUNK):
                digest.update(chunk)
        # A bucket without versions calls all of them "null".
        if version.version_id != "null":
            self._digests[version] = Digest(digest.hexdigest())
        return Digest(digest.hexdigest())

    def stream(self, source: Version, offset: int) -> Iterator[bytes]:
        """Read a key from byte `offset` on, as long as its current version has the ETag of `source`."""
        part: _From = {"Range": f"bytes={offset}-"} if offset else {}
        try:
            with self._translate(f"read {source.key}"):
                answer = self._client.get_object(
                    Bucket=self.name, Key=source.key, IfMatch=source.etag, **part
                )
                with closing(answer["Body"]) as body:
                    if offset and not answer.get("ContentRange", "").startswith(f"bytes {offset}-"):
                        raise StoreError(f"{self.name} does not answer with the rest of {source.key}")
                    yield from body.iter_chunks(_CHUNK)
        except ConflictError as error:
            raise GoneError(f"{source.key} has been written again meanwhile", "run again") from error

    def now(self) -> datetime:
        """Ask the store for its time."""
        with self._translate("look at the bucket"):
            return _read_date(self._client.head_bucket(Bucket=self.name))

    def _describe(self, key: str, version_id: str | None = None) -> Described:
        which: _Which = {"VersionId": version_id} if version_id else {}
        answer = self._client.head_object(Bucket=self.name, Key=key, ChecksumMode="ENABLED", **which)
        return Described(
            version=Version(key, answer.get("VersionId", "null"), answer["ETag"]),
            size=answer["ContentLength"],
            modified=answer["LastModified"],
            digest=parse_base64(answer.get("ChecksumSHA256", "-")),
            content_type=answer.get("ContentType", ""),
            cache_control=answer.get("CacheControl", ""),
            metadata=answer.get("Metadata", {}),
        )

    def _read(self, key: str) -> ReadObject:
        answer = self._client.get_object(Bucket=self.name, Key=key)
        if answer["ContentLength"] > MAX_SMALL_BYTES:
            answer["Body"].close()
            raise StoreError(
                f"{key} has {answer['ContentLength']:,} bytes, at most {MAX_SMALL_BYTES:,} were expected",
                "look at what was uploaded under that name",
            )
        return ReadObject(
            data=answer["Body"].read(),
            version_id=answer.get("VersionId", "null"),
            etag=answer["ETag"],
            modified=answer["LastModified"],
            now=_read_date(answer),
        )

    def _unless_absent(self, key: str, work: Callable[[], T]) -> T | None:
        try:
            with self._translate(f"read {key}"):
                return work()
        except GoneError:
            return None

    @contextmanager
    def _translate(self, act: str) -> Generator[None]:
        """Turn SDK errors into ours, by code; refused access is never taken for absence."""
        try:
            yield
        except (ClientError, BotoCoreError) as error:
            raise translate_error(error, f"cannot {act} in {self.name}") from error


class S3Staging(S3Bucket):
    """The staging bucket."""

    def upload(self, key: str, path: Path, digest: Digest) -> None:
        """Store a file in one request; the store itself refuses bytes that do not match `digest`."""
        with self._translate(f"upload {key}"), path.open("rb") as file:
            self._client.put_object(Bucket=self.name, Key=key, Body=file, ChecksumSHA256=to_base64(digest))

    def put(self, key: str, data: bytes) -> None:
        """Store a small text, whatever was there before."""
        with self._translate(f"write {key}"):
            self._client.put_object(Bucket=self.name, Key=key, Body=data, ChecksumAlgorithm="SHA256")

    def mark_deleted(self, key: str) -> None:
        """Put a delete marker over `key`; its versions stay."""
        with self._translate(f"delete {key}"):
            self._client.delete_object(Bucket=self.name, Key=key)

    def create(self, key: str, data: bytes) -> str:
        """Store a small object where there is none, and answer its ETag."""
        with self._translate(f"create {key}"):
            return self._client.put_object(
                Bucket=self.name, Key=key, Body=data, ChecksumAlgorithm="SHA256", IfNoneMatch="*"
            )["ETag"]

    def replace(self, key: str, data: bytes, etag: str) -> str:
        """Store a small object over the version with `etag`, and answer the new ETag."""
        try:
            with self._translate(f"replace {key}"):
                return self._client.put_object(
                    Bucket=self.name, Key=key, Body=data, ChecksumAlgorithm="SHA256", IfMatch=etag
                )["ETag"]
        except GoneError as error:
            # S3 answers 404, not 412, when there is nothing to compare the ETag with.
            raise ConflictError(str(error)) from error

    def sign_link(self, source: Version, seconds: int) -> str:
        """Sign a link by which anybody can download exactly this version; no request is made."""
        with self._translate(f"sign a link to {source.key}"):
            return self._client.generate_presigned_url(
                "get_object",
                Params={"Bucket": self.name, "Key": source.key, "VersionId": source.version_id},
                ExpiresIn=seconds,
            )


class S3Public(S3Bucket):
    """The public bucket. Every copy is one CopyObject, so that it is whole, pinned and made by the store."""

    def __init__(self, client: "S3Client", name: str, staging: str) -> None:
        super().__init__(client, name)
        self._staging = staging

    def copy_staged(self, source: Version, key: str, delivery: Delivery) -> Copied:
        """Copy a staged version to `key`, over whatever is there."""
        try:
            return self._copy(self._staging, source, key, delivery, {})
        except ConflictError as error:
            raise GoneError(f"{source.key} is no longer the pinned version") from error

    def place(self, source: Version, key: str, delivery: Delivery) -> Copied:
        """Copy a pending version of this bucket to `key`, which must not exist."""
        return self._copy(self.name, source, key, delivery, {"IfNoneMatch": "*"})

    def create(self, key: str, data: bytes, delivery: Delivery) -> str:
        """Store a small object where there is none, and answer its ETag."""
        with self._translate(f"create {key}"):
            return self._client.put_object(
                Bucket=self.name, Key=key, Body=data, IfNoneMatch="*", **_serve(delivery)
            )["ETag"]

    def replace(self, key: str, data: bytes, delivery: Delivery, etag: str) -> str:
        """Store a small object over the version with `etag`, and answer the new ETag."""
        try:
            with self._translate(f"replace {key}"):
                return self._client.put_object(
                    Bucket=self.name, Key=key, Body=data, IfMatch=etag, **_serve(delivery)
                )["ETag"]
        except GoneError as error:
            # S3 answers 404, not 412, when there is nothing to compare the ETag with.
            raise ConflictError(str(error)) from error

    def _copy(
        self, bucket: str, source: Version, key: str, delivery: Delivery, condition: _Condition
    ) -> Copied:
        with self._translate(f"copy {source.key} to {key}"):
            answer = self._client.copy_object(
                Bucket=self.name,
                Key=key,
                CopySource={"Bucket": bucket, "Key": source.key, "VersionId": source.version_id},
                CopySourceIfMatch=source.etag,
                ChecksumAlgorithm="SHA256",
                MetadataDirective="REPLACE",
                ContentType=delivery.content_type,
                CacheControl=delivery.cache_control,
                TaggingDirective="REPLACE",
                StorageClass="STANDARD",
                **condition,
            )
            result = answer["CopyObjectResult"]
            digest = parse_base64(result.get("ChecksumSHA256", "-"))
            # Some stores leave out the quotes here, and only here.
            etag = '"' + result.get("ETag", "").strip('"') + '"'
            version = Version(key, answer.get("VersionId", "null"), etag)
            if digest is None:
                # Not every store tells the checksum of a copy in its answer; one HEAD does.
                digest = self._describe(key, version.version_id).digest
        return Copied(version, digest)


def _read_date(answer: Mapping[str, Any]) -> datetime:
    """Read the store's time from an answer's Date header."""
    return parsedate_to_datetime(answer["ResponseMetadata"]["HTTPHeaders"]["date"]).astimezone(UTC)
