"""The stores that one contract suite runs against, each as two fresh buckets."""

import json
import os
import secrets
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypedDict

import pytest

from publisher.adapters.s3 import S3Public, S3Staging, make_client
from publisher.core.plan import Version
from publisher.ports import Public, Staging
from sandbox.ministack import INLINE, LOOPBACK, REGION, Credentials, Ministack, local_config, open_session
from tests.support.fakes import FakeS3
from tests.support.seaweed import Seaweed

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef

BACKENDS = ("fake", "ministack", "seaweedfs")
REAL = ("ministack", "seaweedfs")
CONNECTIONS = 16

PART = 5 * 1024**2
"""The smallest part of a multipart upload that is not the last."""

MULTIPART = b"a" * PART + b"b"
PREFIX = "t-"


class _Extra(TypedDict, total=False):
    ChecksumAlgorithm: Literal["SHA256"]


class _Where(TypedDict):
    Bucket: str
    Key: str


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

    def put_multipart(self, key: str, *, with_digests: bool) -> None:
        """Stage `MULTIPART` in two parts, with the SHA-256 of each or without."""
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
    allow: Callable[[str, str], None]


class FakeStore:
    """The fake's back door."""

    def __init__(self, s3: FakeS3) -> None:
        self._s3 = s3

    def put_multipart(self, key: str, *, with_digests: bool) -> None:
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

    def put_multipart(self, key: str, *, with_digests: bool) -> None:
        extra: _Extra = {"ChecksumAlgorithm": "SHA256"} if with_digests else {}
        where: _Where = {"Bucket": self._staging, "Key": key}
        upload = self._client.create_multipart_upload(**where, **extra)["UploadId"]
        parts: list[CompletedPartTypeDef] = []
        for number, data in enumerate((MULTIPART[:PART], MULTIPART[PART:]), start=1):
            part = self._client.upload_part(**where, **extra, UploadId=upload, PartNumber=number, Body=data)
            done: CompletedPartTypeDef = {"PartNumber": number, "ETag": part["ETag"]}
            if with_digests:
                done["ChecksumSHA256"] = part["ChecksumSHA256"]
            parts.append(done)
        self._client.complete_multipart_upload(**where, UploadId=upload, MultipartUpload={"Parts": parts})

    def put_decorated(self, key: str, data: bytes) -> None:
        self._client.put_object(
            Bucket=self._staging,
            Key=key,
            Body=data,
            ContentType="text/html",
            CacheControl="no-store",
            Metadata={"builder": "windows"},
            Tagging="team=windows",
        )

    def look(self, key: str) -> Looks:
        head = self._client.head_object(Bucket=self._public, Key=key)
        tags = self._client.get_object_tagging(Bucket=self._public, Key=key)["TagSet"]
        return Looks(
            content_type=head["ContentType"],
            cache_control=head["CacheControl"],
            # S3 names every class but the usual one.
            storage_class=head.get("StorageClass", "STANDARD"),
            metadata=head["Metadata"],
            tags={tag["Key"]: tag["Value"] for tag in tags},
        )

    def count(self, key: str) -> int:
        found = self._client.list_object_versions(Bucket=self._staging, Prefix=key)
        return len(found.get("Versions", []))

    def destroy(self, version: Version) -> None:
        self._client.delete_object(Bucket=self._staging, Key=version.key, VersionId=version.version_id)


def make_fake() -> Backend:
    """Make two fresh buckets in memory."""
    s3 = FakeS3()
    return Backend("fake", s3.staging, s3.public, FakeStore(s3))


def make_backend(server: Server) -> Backend:
    """Make two fresh, versioned buckets, that `server.actor` may use."""
    run = secrets.token_hex(6)
    staging, public = f"{PREFIX}{run}-staging", f"{PREFIX}{run}-public"
    for bucket in (staging, public):
        server.setup.create_bucket(Bucket=bucket)
        server.setup.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    server.allow(staging, public)
    return Backend(
        name=server.name,
        staging=S3Staging(server.actor, staging),
        public=S3Public(server.actor, public, staging),
        store=S3Store(server.setup, staging, public),
    )


@contextmanager
def open_ministack(ministack: Ministack) -> Generator[Server]:
    """Give ministack's clients; the one that acts is an IAM user, for root is above all policies."""
    elsewhere = _allow(["s3:*"], ["arn:aws:s3:::elsewhere", "arn:aws:s3:::elsewhere/*"])
    actor = ministack.new_user("actor", elsewhere)
    stranger = ministack.new_user("stranger", elsewhere)
    session = ministack.root_session()
    with (
        closing(session.client("iam", endpoint_url=ministack.endpoint, config=local_config())) as iam,
        _open_clients(ministack.endpoint, ministack.root, actor, stranger) as clients,
    ):

        def allow(staging: str, public: str) -> None:
            policy = json.dumps(allow_buckets(staging, public))
            iam.put_user_policy(UserName="actor", PolicyName=INLINE, PolicyDocument=policy)

        yield Server("ministack", *clients, allow)


@contextmanager
def open_seaweed(seaweed: Seaweed) -> Generator[Server]:
    """Give SeaweedFS's clients; who acts may use any bucket, but administer none."""
    with _open_clients(seaweed.endpoint, seaweed.setup, seaweed.actor, seaweed.stranger) as clients:
        yield Server("seaweedfs", *clients, lambda staging, public: None)


def allow_buckets(staging: str, public: str) -> dict[str, object]:
    """Write the policy for exactly these two buckets."""
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": "s3:ListBucket",
                "Resource": [f"arn:aws:s3:::{staging}", f"arn:aws:s3:::{public}"],
            },
            {
                "Effect": "Allow",
                "Action": ["s3:GetObject", "s3:GetObjectVersion", "s3:PutObject"],
                "Resource": [f"arn:aws:s3:::{staging}/*", f"arn:aws:s3:::{public}/*"],
            },
            {"Effect": "Allow", "Action": "s3:DeleteObject", "Resource": f"arn:aws:s3:::{staging}/*"},
        ],
    }


@contextmanager
def acting_as(credentials: Credentials, endpoint: str) -> Generator[None]:
    """Make the usual credential chain find these, and AWS at `endpoint`, until the block ends."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.upper().startswith("AWS_")]:
            patch.delenv(name)
        patch.setenv("AWS_ACCESS_KEY_ID", credentials.access_key_id)
        patch.setenv("AWS_SECRET_ACCESS_KEY", credentials.secret_access_key)
        if credentials.token:
            patch.setenv("AWS_SESSION_TOKEN", credentials.token)
        patch.setenv("AWS_ENDPOINT_URL", endpoint)
        patch.setenv("AWS_CONFIG_FILE", os.devnull)
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        patch.setenv("NO_PROXY", LOOPBACK)
        yield


@contextmanager
def _open_clients(
    endpoint: str, setup: Credentials, actor: Credentials, stranger: Credentials
) -> "Generator[tuple[S3Client, S3Client, S3Client]]":
    with ExitStack() as stack:
        root = open_session(setup).client("s3", endpoint_url=endpoint, config=local_config())
        stack.enter_context(closing(root))
        made: list[S3Client] = []
        for credentials in (actor, stranger):
            with acting_as(credentials, endpoint):
                # The clients under test are made as the publisher makes them.
                made.append(stack.enter_context(closing(make_client(REGION, CONNECTIONS))))
        yield root, made[0], made[1]


def _allow(actions: list[str], resources: list[str]) -> dict[str, object]:
    statement = {"Effect": "Allow", "Action": actions, "Resource": resources}
    return {"Version": "2012-10-17", "Statement": [statement]}
