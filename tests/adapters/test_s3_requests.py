"""Every request of the S3 adapter with all its parameters, and what is made of every kind of answer."""

import base64
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
from botocore.response import StreamingBody
from botocore.stub import Stubber

from publisher.adapters.s3 import MAX_SMALL_BYTES, S3Public, S3Staging, make_client
from publisher.core.digests import of_bytes
from publisher.core.plan import Version
from publisher.core.profile import Delivery
from publisher.core.snapshot import Copied, Described
from publisher.errors import AccessDeniedError, ConflictError, GoneError, StoreError
from publisher.ports import ReadObject
from sandbox.ministack import Credentials, local_config, open_session
from tests.support.backends import acting_as

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

Params = Mapping[str, Any]
Read = Callable[[S3Staging], object]

KEY = "windows/1.0/tool.exe"
SOURCE = Version(KEY, "v7", '"aa"')
DELIVERY = Delivery("application/x-gzip", "immutable", "max-age=31536000")
MODIFIED = datetime(2026, 6, 1, 12, 0, 0, tzinfo=UTC)
NOW = datetime(2026, 6, 1, 12, 0, 5, tzinfo=UTC)
DATED = {"HTTPHeaders": {"date": "Mon, 01 Jun 2026 12:00:05 GMT"}}
DIGEST = of_bytes(b"text")
SUM = base64.b64encode(bytes.fromhex(DIGEST)).decode()
COMPOSITE = f"{SUM}-2"

HEAD = {"Bucket": "staging", "Key": KEY, "ChecksumMode": "ENABLED"}
GET = {"Bucket": "staging", "Key": KEY}
GET_VERSION = {"Bucket": "staging", "Key": KEY, "VersionId": "v7"}
PINNED = {"Bucket": "staging", "Key": KEY, "IfMatch": '"aa"'}
LIST = {"Bucket": "staging", "Prefix": "windows/"}
PUT = {"Bucket": "staging", "Key": KEY, "Body": b"text", "ChecksumAlgorithm": "SHA256"}
COPY = {
    "Bucket": "public",
    "Key": "tool.exe",
    "CopySource": {"Bucket": "staging", "Key": KEY, "VersionId": "v7"},
    "CopySourceIfMatch": '"aa"',
    "ChecksumAlgorithm": "SHA256",
    "MetadataDirective": "REPLACE",
    "ContentType": "application/x-gzip",
    "CacheControl": "max-age=31536000",
    "TaggingDirective": "REPLACE",
    "StorageClass": "STANDARD",
}
PLACE = {
    **COPY,
    "CopySource": {"Bucket": "public", "Key": KEY, "VersionId": "v7"},
    "IfNoneMatch": "*",
}
COPIED = {"VersionId": "c1", "CopyObjectResult": {"ETag": '"bb"', "ChecksumSHA256": SUM}}
GUARDS = [
    "CopySourceIfMatch",
    "ChecksumAlgorithm",
    "MetadataDirective",
    "ContentType",
    "CacheControl",
    "TaggingDirective",
    "StorageClass",
    "IfNoneMatch",
]


@dataclass(frozen=True, slots=True)
class Desk:
    """Both buckets on one client whose answers are laid out beforehand, in order."""

    stub: Stubber
    staging: S3Staging
    public: S3Public

    def answer(self, operation: str, response: Params, expected: Params) -> None:
        self.stub.add_response(operation, dict(response), dict(expected))

    def refuse(self, operation: str, code: str, status: int, expected: Params) -> None:
        self.stub.add_client_error(
            operation, service_error_code=code, http_status_code=status, expected_params=dict(expected)
        )


class FileOf:
    """Equals an open file that holds these bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __eq__(self, other: object) -> bool:
        read: Callable[[], bytes] | None = getattr(other, "read", None)
        return read is not None and read() == self._data

    __hash__ = None  # pyright: ignore[reportAssignmentType]


@pytest.fixture(scope="module")
def client() -> "Generator[S3Client]":
    session = open_session(Credentials("key", "secret"))
    # The stub answers everything; if it ever did not, nobody listens on the discard port.
    with closing(session.client("s3", endpoint_url="http://127.0.0.1:9", config=local_config())) as s3:
        yield s3


@pytest.fixture
def desk(client: "S3Client") -> Generator[Desk]:
    with Stubber(client) as stub:
        yield Desk(stub, S3Staging(client, "staging"), S3Public(client, "public", "staging"))
        stub.assert_no_pending_responses()


def body(data: bytes) -> StreamingBody:
    return StreamingBody(BytesIO(data), len(data))


# reads


def test_a_listing_follows_the_token_to_the_next_page(desk: Desk) -> None:
    first = {"Contents": [{"Key": "windows/a"}], "IsTruncated": True, "NextContinuationToken": "t"}
    desk.answer("list_objects_v2", first, LIST)
    desk.answer(
        "list_objects_v2",
        {"Contents": [{"Key": "windows/b"}], "IsTruncated": False},
        {**LIST, "ContinuationToken": "t"},
    )
    assert desk.staging.list_keys("windows/") == ("windows/a", "windows/b")


def test_a_listing_of_nothing_is_empty(desk: Desk) -> None:
    desk.answer("list_objects_v2", {"IsTruncated": False}, LIST)
    assert desk.staging.list_keys("windows/") == ()


def test_a_description_asks_for_the_stored_checksum(desk: Desk) -> None:
    answer = {"VersionId": "v7", "ETag": '"aa"', "ContentLength": 4, "LastModified": MODIFIED}
    desk.answer("head_object", {**answer, "ChecksumSHA256": SUM, "ChecksumType": "FULL_OBJECT"}, HEAD)
    assert desk.staging.describe(KEY) == Described(SOURCE, 4, MODIFIED, DIGEST)


def test_a_description_tells_how_an_object_is_served_and_what_its_writer_said_of_it(desk: Desk) -> None:
    answer = {"VersionId": "v7", "ETag": '"aa"', "ContentLength": 4, "LastModified": MODIFIED}
    served = {"ContentType": "text/plain", "CacheControl": "max-age=60", "Metadata": {"mtime": "1.5"}}
    desk.answer("head_object", {**answer, **served}, HEAD)

    found = desk.staging.describe(KEY)

    assert found == Described(SOURCE, 4, MODIFIED, None, "text/plain", "max-age=60", {"mtime": "1.5"})


@pytest.mark.parametrize("kind", ["COMPOSITE", "FULL_OBJECT"])
def test_a_composite_checksum_is_never_a_digest_whatever_the_store_calls_it(desk: Desk, kind: str) -> None:
    answer = {"VersionId": "v7", "ETag": '"aa"', "ContentLength": 4, "LastModified": MODIFIED}
    desk.answer("head_object", {**answer, "ChecksumSHA256": COMPOSITE, "ChecksumType": kind}, HEAD)
    assert desk.staging.describe(KEY) == Described(SOURCE, 4, MODIFIED, None)


def test_another_checksum_is_no_digest(desk: Desk) -> None:
    answer = {"VersionId": "v7", "ETag": '"aa"', "ContentLength": 4, "LastModified": MODIFIED}
    desk.answer("head_object", {**answer, "ChecksumCRC64NVME": "bm90IG91cnM="}, HEAD)
    assert desk.staging.describe(KEY) == Described(SOURCE, 4, MODIFIED, None)


def test_a_read_gives_the_answers_date_as_the_stores_time(desk: Desk) -> None:
    desk.answer(
        "get_object",
        {
            "Body": body(b"text"),
            "ContentLength": 4,
            "VersionId": "v7",
            "ETag": '"aa"',
            "LastModified": MODIFIED,
            "ResponseMetadata": DATED,
        },
        GET,
    )
    assert desk.staging.read(KEY) == ReadObject(b"text", "v7", '"aa"', MODIFIED, NOW)


def test_a_small_object_that_is_not_small_is_refused_unread(desk: Desk) -> None:
    stream = body(b"text")
    desk.answer(
        "get_object",
        {"Body": stream, "ContentLength": MAX_SMALL_BYTES + 1, "ResponseMetadata": DATED},
        GET,
    )
    with pytest.raises(StoreError, match="16,777,217 bytes, at most 16,777,216") as caught:
        desk.staging.read(KEY)
    assert caught.value.next_step == "look at what was uploaded under that name"
    # The raw stream is closed, so that the connection does not hang on the bytes that nobody reads.
    with pytest.raises(ValueError, match="closed"):
        stream.read()


def test_a_digest_is_computed_of_the_version_asked_for(desk: Desk) -> None:
    desk.answer("get_object", {"Body": body(b"text")}, GET_VERSION)
    assert desk.staging.compute_digest(SOURCE) == DIGEST


def test_a_digest_of_a_version_is_computed_once(desk: Desk) -> None:
    desk.answer("get_object", {"Body": body(b"text")}, GET_VERSION)
    assert [desk.staging.compute_digest(SOURCE) for _ in range(2)] == [DIGEST, DIGEST]


def test_a_digest_of_what_has_no_version_is_computed_each_time(desk: Desk) -> None:
    source = Version(KEY, "null", '"aa"')
    for _ in range(2):
        desk.answer("get_object", {"Body": body(b"text")}, {**GET_VERSION, "VersionId": "null"})
        assert desk.staging.compute_digest(source) == DIGEST


def test_a_stream_from_the_start_names_the_etag_and_no_range(desk: Desk) -> None:
    desk.answer("get_object", {"Body": body(b"text")}, PINNED)
    assert b"".join(desk.staging.stream(SOURCE, 0)) == b"text"


def test_a_stream_of_the_rest_names_the_range_and_the_etag(desk: Desk) -> None:
    desk.answer(
        "get_object",
        {"Body": body(b"xt"), "ContentRange": "bytes 2-3/4"},
        {**PINNED, "Range": "bytes=2-"},
    )
    assert b"".join(desk.staging.stream(SOURCE, 2)) == b"xt"


@pytest.mark.parametrize("answered", [{}, {"ContentRange": "bytes 0-3/4"}])
def test_an_answer_with_another_range_is_not_appended(desk: Desk, answered: Params) -> None:
    desk.answer("get_object", {"Body": body(b"text"), **answered}, {**PINNED, "Range": "bytes=2-"})
    with pytest.raises(StoreError, match="does not answer with the rest"):
        list(desk.staging.stream(SOURCE, 2))


@pytest.mark.parametrize(("code", "status"), [("PreconditionFailed", 412), ("NoSuchKey", 404)])
def test_a_stream_of_another_or_no_object_is_gone(desk: Desk, code: str, status: int) -> None:
    desk.refuse("get_object", code, status, PINNED)
    with pytest.raises(GoneError):
        list(desk.staging.stream(SOURCE, 0))


def test_a_stream_that_breaks_off_says_so_after_what_came(desk: Desk) -> None:
    desk.answer("get_object", {"Body": StreamingBody(BytesIO(b"te"), 4)}, PINNED)
    came: list[bytes] = []
    with pytest.raises(StoreError, match=f"cannot read {KEY}"):
        came.extend(desk.staging.stream(SOURCE, 0))


def test_a_public_object_is_streamed_like_a_staged_one(desk: Desk) -> None:
    desk.answer("get_object", {"Body": body(b"text")}, {**PINNED, "Bucket": "public"})
    assert b"".join(desk.public.stream(SOURCE, 0)) == b"text"


def test_the_stores_time_is_the_date_of_an_answer(desk: Desk) -> None:
    desk.answer("head_bucket", {"ResponseMetadata": DATED}, {"Bucket": "staging"})
    assert desk.staging.now() == NOW


DENIED_READS: dict[str, tuple[str, Params, str, Read]] = {
    "list_keys": ("list_objects_v2", LIST, "AccessDenied", lambda staging: staging.list_keys("windows/")),
    "describe": ("head_object", HEAD, "403", lambda staging: staging.describe(KEY)),
    "read": ("get_object", GET, "AccessDenied", lambda staging: staging.read(KEY)),
    "compute_digest": (
        "get_object",
        GET_VERSION,
        "AccessDenied",
        lambda staging: staging.compute_digest(SOURCE),
    ),
    "stream": ("get_object", PINNED, "AccessDenied", lambda staging: list(staging.stream(SOURCE, 0))),
    "now": ("head_bucket", {"Bucket": "staging"}, "403", lambda staging: staging.now()),
}


@pytest.mark.parametrize("how", DENIED_READS)
def test_a_403_on_a_read_is_refused_access_and_never_absence(desk: Desk, how: str) -> None:
    operation, expected, code, read = DENIED_READS[how]
    desk.refuse(operation, code, 403, expected)
    with pytest.raises(AccessDeniedError) as caught:
        read(desk.staging)
    assert "aws sts get-caller-identity" in caught.value.next_step


@pytest.mark.parametrize(
    "code", ["InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken"]
)
def test_credentials_that_are_not_valid_are_refused_access(desk: Desk, code: str) -> None:
    desk.refuse("get_object", code, 403, GET)
    with pytest.raises(AccessDeniedError):
        desk.staging.read(KEY)


@pytest.mark.parametrize(("operation", "code"), [("head_object", "404"), ("get_object", "NoSuchKey")])
def test_a_404_on_a_read_is_absence(desk: Desk, operation: str, code: str) -> None:
    expected = {"head_object": HEAD, "get_object": GET}[operation]
    desk.refuse(operation, code, 404, expected)
    read = {"head_object": desk.staging.describe, "get_object": desk.staging.read}[operation]
    assert read(KEY) is None


def test_a_bucket_that_does_not_exist_is_no_absence(desk: Desk) -> None:
    desk.refuse("get_object", "NoSuchBucket", 404, GET)
    with pytest.raises(StoreError, match="NoSuchBucket"):
        desk.staging.read(KEY)


@pytest.mark.parametrize("code", ["SlowDown", "InternalError", "503"])
def test_any_other_error_says_what_could_not_be_done_and_where(desk: Desk, code: str) -> None:
    desk.refuse("head_object", code, 503, HEAD)
    with pytest.raises(StoreError, match=f"cannot read {KEY} in staging: {code}") as caught:
        desk.staging.describe(KEY)
    assert type(caught.value) is StoreError


# writes


def test_an_upload_sends_the_digest_for_the_store_to_check(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "tool.exe"
    file.write_bytes(b"text")
    expected = {"Bucket": "staging", "Key": KEY, "Body": FileOf(b"text"), "ChecksumSHA256": SUM}
    desk.answer("put_object", {}, expected)
    desk.staging.upload(KEY, file, DIGEST)


def test_a_put_has_no_condition(desk: Desk) -> None:
    desk.answer("put_object", {}, PUT)
    desk.staging.put(KEY, b"text")


def test_marking_deleted_names_no_version(desk: Desk) -> None:
    desk.answer("delete_object", {}, {"Bucket": "staging", "Key": KEY})
    desk.staging.mark_deleted(KEY)


def test_a_create_is_conditional_on_absence(desk: Desk) -> None:
    desk.answer("put_object", {"ETag": '"bb"'}, {**PUT, "IfNoneMatch": "*"})
    assert desk.staging.create(KEY, b"text") == '"bb"'


def test_a_replace_is_conditional_on_the_etag(desk: Desk) -> None:
    desk.answer("put_object", {"ETag": '"bb"'}, {**PUT, "IfMatch": '"aa"'})
    assert desk.staging.replace(KEY, b"text", '"aa"') == '"bb"'


def write(how: str, public: S3Public) -> str:
    """Make one of the writes to a public key."""
    if how == "create":
        return public.create("tool.exe.sig", b"text", DELIVERY)
    return public.replace("tool.exe.sig", b"text", DELIVERY, '"aa"')


SERVE = {
    "Bucket": "public",
    "Key": "tool.exe.sig",
    "Body": b"text",
    "ChecksumAlgorithm": "SHA256",
    "ContentType": "application/x-gzip",
    "CacheControl": "max-age=31536000",
}
SERVED: Mapping[str, Params] = {
    "create": {**SERVE, "IfNoneMatch": "*"},
    "replace": {**SERVE, "IfMatch": '"aa"'},
}


@pytest.mark.parametrize("how", SERVED)
def test_a_small_public_object_is_one_conditional_request_with_its_delivery(desk: Desk, how: str) -> None:
    desk.answer("put_object", {"ETag": '"bb"'}, SERVED[how])
    assert write(how, desk.public) == '"bb"'


@pytest.mark.parametrize(("how", "guard"), [(how, guard) for how, sent in SERVED.items() for guard in sent])
def test_these_tests_notice_each_parameter_of_a_public_write(
    client: "S3Client", how: str, guard: str
) -> None:
    without = {name: value for name, value in SERVED[how].items() if name != guard}
    with Stubber(client) as stub:
        stub.add_response("put_object", {"ETag": '"bb"'}, without)
        with pytest.raises(StoreError, match="Error getting response stub"):
            write(how, S3Public(client, "public", "staging"))


@pytest.mark.parametrize("how", SERVED)
def test_a_public_write_without_the_right_to_is_denied(desk: Desk, how: str) -> None:
    desk.refuse("put_object", "AccessDenied", 403, SERVED[how])
    with pytest.raises(AccessDeniedError):
        write(how, desk.public)


CONFLICTS = [("PreconditionFailed", 412), ("412", 412), ("ConditionalRequestConflict", 409), ("409", 409)]


@pytest.mark.parametrize(("code", "status"), CONFLICTS)
def test_a_condition_that_does_not_hold_is_a_conflict(desk: Desk, code: str, status: int) -> None:
    desk.refuse("put_object", code, status, {**PUT, "IfNoneMatch": "*"})
    with pytest.raises(ConflictError):
        desk.staging.create(KEY, b"text")
    desk.refuse("put_object", code, status, {**PUT, "IfMatch": '"aa"'})
    with pytest.raises(ConflictError):
        desk.staging.replace(KEY, b"text", '"aa"')
    desk.refuse("copy_object", code, status, PLACE)
    with pytest.raises(ConflictError):
        desk.public.place(SOURCE, "tool.exe", DELIVERY)
    for how, sent in SERVED.items():
        desk.refuse("put_object", code, status, sent)
        with pytest.raises(ConflictError):
            write(how, desk.public)


def test_a_replace_of_what_is_absent_is_a_conflict_though_s3_says_404(desk: Desk) -> None:
    desk.refuse("put_object", "NoSuchKey", 404, {**PUT, "IfMatch": '"aa"'})
    with pytest.raises(ConflictError):
        desk.staging.replace(KEY, b"text", '"aa"')
    desk.refuse("put_object", "NoSuchKey", 404, SERVED["replace"])
    with pytest.raises(ConflictError):
        write("replace", desk.public)


# links


def sign_offline(region: str, *, custom: bool) -> str:
    """Sign a link with a client as the publisher makes it, which cannot send anything."""

    def refuse(**_: object) -> None:
        pytest.fail("a request was sent")

    # Nobody listens on the discard port.
    with acting_as(Credentials("key", "secret"), "http://127.0.0.1:9"), pytest.MonkeyPatch.context() as patch:
        if not custom:
            patch.delenv("AWS_ENDPOINT_URL")
        with closing(make_client(region, 1)) as made:
            made.meta.events.register("before-send.s3", refuse)
            return S3Staging(made, "staging-bucket").sign_link(SOURCE, 60)


@pytest.mark.parametrize("region", ["eu-west-1", "us-west-2"])
def test_a_link_names_the_buckets_own_host_in_its_region(region: str) -> None:
    link = urlsplit(sign_offline(region, custom=False))

    assert (link.scheme, link.netloc) == ("https", f"staging-bucket.s3.{region}.amazonaws.com")
    assert link.path == f"/{KEY}"
    query = parse_qs(link.query)
    assert query["versionId"] == ["v7"]
    assert query["X-Amz-Expires"] == ["60"]
    assert f"/{region}/s3/aws4_request" in query["X-Amz-Credential"][0]
    assert query["X-Amz-SignedHeaders"] == ["host"]


def test_a_link_to_an_endpoint_by_address_names_the_bucket_in_its_path() -> None:
    link = urlsplit(sign_offline("eu-west-1", custom=True))

    assert (link.scheme, link.netloc) == ("http", "127.0.0.1:9")
    assert link.path == f"/staging-bucket/{KEY}"
    assert parse_qs(link.query)["versionId"] == ["v7"]


# copies


def copy(how: str, public: S3Public) -> Copied:
    acts = {"copy_staged": public.copy_staged, "place": public.place}
    return acts[how](SOURCE, "tool.exe", DELIVERY)


COPIES: Mapping[str, Params] = {"copy_staged": COPY, "place": PLACE}


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_is_one_request_that_is_pinned_and_carries_only_its_delivery(desk: Desk, how: str) -> None:
    desk.answer("copy_object", COPIED, COPIES[how])
    assert copy(how, desk.public) == Copied(Version("tool.exe", "c1", '"bb"'), DIGEST)


@pytest.mark.parametrize(
    ("how", "guard"),
    [(how, guard) for how, sent in COPIES.items() for guard in GUARDS if guard in sent],
)
def test_these_tests_notice_each_guard_of_a_copy(client: "S3Client", how: str, guard: str) -> None:
    without = {name: value for name, value in COPIES[how].items() if name != guard}
    with Stubber(client) as stub:
        stub.add_response("copy_object", COPIED, without)
        with pytest.raises(StoreError, match="Error getting response stub"):
            copy(how, S3Public(client, "public", "staging"))


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_whose_answer_tells_no_digest_is_looked_at_once_by_its_version(desk: Desk, how: str) -> None:
    answer = {"VersionId": "c1", "CopyObjectResult": {"ETag": '"bb"'}}
    desk.answer("copy_object", answer, COPIES[how])
    desk.answer(
        "head_object",
        {
            "VersionId": "c1",
            "ETag": '"bb"',
            "ContentLength": 4,
            "LastModified": MODIFIED,
            "ChecksumSHA256": SUM,
        },
        {"Bucket": "public", "Key": "tool.exe", "ChecksumMode": "ENABLED", "VersionId": "c1"},
    )
    assert copy(how, desk.public) == Copied(Version("tool.exe", "c1", '"bb"'), DIGEST)


def test_a_composite_checksum_of_a_copy_is_no_digest(desk: Desk) -> None:
    answer = {"VersionId": "c1", "CopyObjectResult": {"ETag": '"bb"', "ChecksumSHA256": COMPOSITE}}
    desk.answer("copy_object", answer, COPY)
    desk.answer(
        "head_object",
        {
            "VersionId": "c1",
            "ETag": '"bb"',
            "ContentLength": 4,
            "LastModified": MODIFIED,
            "ChecksumSHA256": COMPOSITE,
        },
        {"Bucket": "public", "Key": "tool.exe", "ChecksumMode": "ENABLED", "VersionId": "c1"},
    )
    assert copy("copy_staged", desk.public).digest is None


def test_an_etag_without_quotes_is_given_them(desk: Desk) -> None:
    answer = {"VersionId": "c1", "CopyObjectResult": {"ETag": "bb", "ChecksumSHA256": SUM}}
    desk.answer("copy_object", answer, COPY)
    assert copy("copy_staged", desk.public).version.etag == '"bb"'


@pytest.mark.parametrize("code", ["NoSuchKey", "NoSuchVersion"])
@pytest.mark.parametrize("how", COPIES)
def test_a_source_that_is_not_there_is_gone(desk: Desk, how: str, code: str) -> None:
    desk.refuse("copy_object", code, 404, COPIES[how])
    with pytest.raises(GoneError):
        copy(how, desk.public)


def test_a_source_that_is_another_is_gone_where_there_is_no_other_condition(desk: Desk) -> None:
    desk.refuse("copy_object", "PreconditionFailed", 412, COPY)
    with pytest.raises(GoneError, match="no longer the pinned version"):
        copy("copy_staged", desk.public)


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_without_the_right_to_is_denied(desk: Desk, how: str) -> None:
    desk.refuse("copy_object", "AccessDenied", 403, COPIES[how])
    with pytest.raises(AccessDeniedError):
        copy(how, desk.public)
