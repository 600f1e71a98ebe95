"""What every store must do, asked of the fake, of ministack and of SeaweedFS in the same words.

Where a store does otherwise, `DEVIATIONS` says so, and the test asserts that it really does.
"""

import hashlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
import requests

from publisher.adapters.s3 import S3Public, S3Staging
from publisher.adapters.threads import Threads
from publisher.core.digests import Digest, of_bytes
from publisher.core.plan import Version
from publisher.core.profile import Delivery
from publisher.errors import AccessDeniedError, ConflictError, GoneError, StoreError
from publisher.ports import Bucket, Public, Staging
from sandbox.ministack import LOOPBACK, Credentials, local_config, open_session, reserve_port
from tests.support.backends import CONNECTIONS, MULTIPART, Backend, Looks, Server

DEVIATIONS = {
    "fake": {},
    "ministack": {
        "place_over_existing": "IfNoneMatch on CopyObject is ignored: the object there is replaced",
        "copy_computes_digest": "ChecksumAlgorithm on CopyObject is ignored",
    },
    "seaweedfs": {
        "copy_computes_digest": "ChecksumAlgorithm on CopyObject is ignored",
    },
}

DELIVERY = Delivery("application/x-gzip", "immutable", "public, max-age=31536000, immutable")
OTHER = Delivery("text/plain", "short", "max-age=60")
KEY = "windows/1.0/tool/1.0/tool.exe"
SUMS = "windows/1.0/SHA256SUMS"
STALE = '"00000000000000000000000000000000"'
PENDING = "_pending/1/tool.exe"
READS = ("list_keys", "describe", "read", "compute_digest", "stream", "now")


def stage(backend: Backend, data: bytes, key: str = KEY) -> Version:
    backend.staging.put(key, data)
    return current(backend.staging, key)


def current(bucket: Bucket, key: str) -> Version:
    found = bucket.describe(key)
    assert found is not None
    return found.version


def content(bucket: Bucket, key: str) -> bytes | None:
    found = bucket.read(key)
    return found.data if found else None


def pending(backend: Backend, data: bytes) -> Version:
    """Stage `data` and copy it to a pending key, as what is placed is."""
    return backend.public.copy_staged(stage(backend, data), PENDING, OTHER).version


def place(public: Public, source: Version, key: str) -> Digest | None:
    return public.place(source, key, DELIVERY).digest


def deviates(backend: Backend, name: str) -> bool:
    return name in DEVIATIONS[backend.name]


# list


def test_a_listing_gives_every_key_in_order_however_many_pages_it_takes(backend: Backend) -> None:
    keys = [f"many/{number:04d}" for number in range(1_050)]
    Threads(8).map(lambda key: backend.staging.put(key, b""), reversed(keys))
    assert backend.staging.list_keys("many/") == tuple(keys)


def test_a_listing_gives_only_keys_under_the_prefix_in_byte_order(backend: Backend) -> None:
    for key in ("p/b", "p/a+1", "p/a~ ü.txt", "p/a/b", "p/Z", "pp/x", "q"):
        backend.staging.put(key, b"x")
    assert backend.staging.list_keys("p/") == ("p/Z", "p/a+1", "p/a/b", "p/a~ ü.txt", "p/b")
    assert backend.staging.list_keys("p/a/") == ("p/a/b",)
    assert backend.staging.list_keys("nothing/") == ()


def test_a_listing_leaves_out_what_is_marked_deleted(backend: Backend) -> None:
    stage(backend, b"x")
    backend.staging.mark_deleted(KEY)
    assert backend.staging.list_keys("windows/") == ()


# describe and read


def test_an_absent_object_is_none(backend: Backend) -> None:
    assert backend.staging.describe(KEY) is None
    assert backend.staging.read(KEY) is None


def test_a_description_tells_size_digest_and_version(backend: Backend) -> None:
    backend.staging.put(KEY, b"some bytes")
    found = backend.staging.describe(KEY)
    assert found is not None
    assert (found.size, found.digest) == (10, of_bytes(b"some bytes"))
    assert found.version.key == KEY
    assert found.version.version_id not in {"", "null"}
    assert found.version.etag.strip('"') == hashlib.md5(b"some bytes").hexdigest()


def test_every_write_makes_another_version_even_of_the_same_bytes(backend: Backend) -> None:
    versions = [stage(backend, data) for data in (b"one", b"two", b"one")]
    assert len({version.version_id for version in versions}) == 3
    assert versions[0].etag == versions[2].etag != versions[1].etag


def test_an_object_marked_deleted_is_none_and_its_versions_stay(backend: Backend) -> None:
    version = stage(backend, b"one")
    backend.staging.mark_deleted(KEY)
    assert backend.staging.describe(KEY) is None
    assert backend.staging.read(KEY) is None
    assert backend.store.count(KEY) == 1
    assert backend.staging.compute_digest(version) == of_bytes(b"one")


def test_marking_an_absent_object_deleted_is_no_error(backend: Backend) -> None:
    backend.staging.mark_deleted(KEY)
    assert backend.staging.describe(KEY) is None


def test_a_read_gives_bytes_version_and_the_stores_own_times(backend: Backend) -> None:
    version = stage(backend, b"text\n")
    found = backend.staging.read(KEY)
    assert found is not None
    assert (found.data, found.version_id, found.etag) == (b"text\n", version.version_id, version.etag)
    assert timedelta(seconds=-1) <= found.now - found.modified <= timedelta(minutes=1)
    assert found.now.utcoffset() == found.modified.utcoffset() == timedelta(0)


def test_the_store_tells_its_time(backend: Backend) -> None:
    stage(backend, b"x")
    found = backend.staging.read(KEY)
    assert found is not None
    now = backend.staging.now()
    assert timedelta(0) <= now - found.now <= timedelta(minutes=1)
    assert now.utcoffset() == timedelta(0)
    assert backend.public.now() - now <= timedelta(minutes=1)


@pytest.mark.parametrize("with_digests", [True, False])
def test_a_multipart_object_has_no_digest_until_it_is_streamed(
    backend: Backend,
    with_digests: bool,
) -> None:
    backend.store.put_multipart(KEY, with_digests=with_digests)
    found = backend.staging.describe(KEY)
    assert found is not None
    assert (found.size, found.digest) == (len(MULTIPART), None)
    assert backend.staging.compute_digest(found.version) == of_bytes(MULTIPART)


def test_the_digest_of_an_older_version_is_of_its_own_bytes(backend: Backend) -> None:
    old = stage(backend, b"old")
    stage(backend, b"new")
    assert backend.staging.compute_digest(old) == of_bytes(b"old")


def test_the_digest_of_a_version_that_is_gone_cannot_be_computed(backend: Backend) -> None:
    old = stage(backend, b"old")
    stage(backend, b"new")
    backend.store.destroy(old)
    with pytest.raises(GoneError):
        backend.staging.compute_digest(old)
    with pytest.raises(GoneError):
        backend.staging.compute_digest(replace(old, key="windows/1.0/absent"))


# stream and links


def receive(backend: Backend, source: Version, offset: int = 0) -> bytes:
    return b"".join(backend.staging.stream(source, offset))


@pytest.mark.parametrize("offset", [0, 1, 999, 1000, 2_999_999])
def test_a_stream_gives_the_bytes_from_the_offset_on(backend: Backend, offset: int) -> None:
    data = bytes(range(250)) * 12_000
    version = stage(backend, data)
    assert receive(backend, version, offset) == data[offset:]


def test_a_stream_of_an_object_in_parts_goes_across_them(backend: Backend) -> None:
    backend.store.put_multipart(KEY, with_digests=True)
    version = current(backend.staging, KEY)
    assert receive(backend, version) == MULTIPART
    assert receive(backend, version, len(MULTIPART) - 3) == b"aab"


def test_an_empty_object_is_streamed_as_nothing(backend: Backend) -> None:
    assert receive(backend, stage(backend, b"")) == b""


@pytest.mark.parametrize("offset", [0, 2])
def test_a_stream_of_what_was_written_again_is_refused(backend: Backend, offset: int) -> None:
    old = stage(backend, b"old bytes")
    stage(backend, b"new bytes")
    with pytest.raises(GoneError):
        receive(backend, old, offset)


def test_a_stream_of_what_is_not_there_is_refused(backend: Backend) -> None:
    version = stage(backend, b"bytes")
    backend.staging.mark_deleted(KEY)
    with pytest.raises(GoneError):
        receive(backend, version)


def test_a_stream_of_what_was_written_again_with_the_same_bytes_goes_on(backend: Backend) -> None:
    old = stage(backend, b"bytes")
    stage(backend, b"bytes")
    assert receive(backend, old, 2) == b"tes"


def test_a_link_gives_anybody_the_version_it_was_signed_for(fresh: Backend) -> None:
    old = stage(fresh, b"old")
    link = fresh.staging.sign_link(old, 60)
    stage(fresh, b"new")
    with anonymous() as session:
        answer = session.get(link, timeout=10)
        assert (answer.status_code, answer.content) == (200, b"old")
        assert session.get(link.replace("versionId=", "versionId=x"), timeout=10).status_code >= 400
        assert session.get(link.partition("?")[0], timeout=10).status_code >= 400


def test_a_link_ends(fresh: Backend) -> None:
    link = fresh.staging.sign_link(stage(fresh, b"bytes"), 1)
    assert "X-Amz-Algorithm=AWS4-HMAC-SHA256" in link
    assert "X-Amz-Expires=1" in link
    time.sleep(2.1)
    with anonymous() as session:
        assert session.get(link, timeout=10).status_code == 403


def anonymous() -> requests.Session:
    session = requests.Session()
    session.trust_env = False
    return session


# write


def test_an_upload_stores_the_file_with_its_digest(backend: Backend, tmp_path: Path) -> None:
    file = tmp_path / "tool.exe"
    file.write_bytes(b"\0binary\xff" * 1000)
    backend.staging.upload(KEY, file, of_bytes(file.read_bytes()))
    found = backend.staging.describe(KEY)
    assert found is not None
    assert found.digest == of_bytes(file.read_bytes())
    assert content(backend.staging, KEY) == file.read_bytes()


def test_an_upload_with_another_digest_is_refused_and_stores_nothing(
    backend: Backend, tmp_path: Path
) -> None:
    file = tmp_path / "tool.exe"
    file.write_bytes(b"broken on the way")
    with pytest.raises(StoreError) as caught:
        backend.staging.upload(KEY, file, of_bytes(b"what was built"))
    assert "BadDigest" in str(caught.value)
    assert backend.staging.describe(KEY) is None


def test_a_put_stores_over_what_was_there(backend: Backend) -> None:
    stage(backend, b"one")
    stage(backend, b"two")
    assert content(backend.staging, KEY) == b"two"
    assert backend.store.count(KEY) == 2


def test_an_empty_object_is_one_like_any_other(backend: Backend) -> None:
    version = stage(backend, b"")
    found = backend.staging.describe(KEY)
    assert found is not None
    assert (found.size, found.digest) == (0, of_bytes(b""))
    assert content(backend.staging, KEY) == b""
    assert backend.staging.compute_digest(version) == of_bytes(b"")
    assert backend.public.copy_staged(version, PENDING, DELIVERY).digest == of_bytes(b"")
    assert place(backend.public, current(backend.public, PENDING), "empty") == of_bytes(b"")
    assert content(backend.public, "empty") == b""


def test_a_create_answers_the_etag_of_what_it_stored(backend: Backend) -> None:
    etag = backend.staging.create("_state/lease.json", b"{}")
    assert etag == current(backend.staging, "_state/lease.json").etag


def test_a_second_create_is_a_conflict_and_the_first_content_stays(backend: Backend) -> None:
    backend.staging.create("_state/lease.json", b"first")
    with pytest.raises(ConflictError):
        backend.staging.create("_state/lease.json", b"second")
    assert content(backend.staging, "_state/lease.json") == b"first"
    assert backend.store.count("_state/lease.json") == 1


def test_a_create_over_a_delete_marker_succeeds(backend: Backend) -> None:
    stage(backend, b"one")
    backend.staging.mark_deleted(KEY)
    backend.staging.create(KEY, b"two")
    assert content(backend.staging, KEY) == b"two"


def test_of_creates_that_race_exactly_one_wins(backend: Backend) -> None:
    def create(number: int) -> int | None:
        try:
            backend.staging.create("_state/lease.json", str(number).encode())
        except ConflictError:
            return None
        return number

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        winners = [number for number in pool.map(create, range(16)) if number is not None]
    assert len(winners) == 1
    assert content(backend.staging, "_state/lease.json") == str(winners[0]).encode()


def test_a_replace_with_the_right_etag_answers_the_new_one(backend: Backend) -> None:
    first = backend.staging.create("_state/lease.json", b"first")
    second = backend.staging.replace("_state/lease.json", b"second", first)
    assert second == current(backend.staging, "_state/lease.json").etag != first
    assert content(backend.staging, "_state/lease.json") == b"second"


def test_a_replace_with_a_stale_etag_is_a_conflict_and_changes_nothing(backend: Backend) -> None:
    first = backend.staging.create("_state/lease.json", b"first")
    backend.staging.replace("_state/lease.json", b"second", first)
    with pytest.raises(ConflictError):
        backend.staging.replace("_state/lease.json", b"third", first)
    assert content(backend.staging, "_state/lease.json") == b"second"


def test_a_replace_of_what_is_absent_is_a_conflict(backend: Backend) -> None:
    with pytest.raises(ConflictError):
        backend.staging.replace("_state/lease.json", b"x", STALE)
    version = stage(backend, b"x")
    backend.staging.mark_deleted(KEY)
    with pytest.raises(ConflictError):
        backend.staging.replace(KEY, b"y", version.etag)
    assert backend.staging.describe(KEY) is None


# small public objects


SIG = "tool.exe.sig"


def test_a_small_public_object_is_created_with_its_delivery_and_digest(backend: Backend) -> None:
    etag = backend.public.create(SIG, b"first", DELIVERY)
    found = backend.public.describe(SIG)
    assert found is not None
    assert (found.version.etag, found.digest) == (etag, of_bytes(b"first"))
    assert content(backend.public, SIG) == b"first"
    expected = Looks(DELIVERY.content_type, DELIVERY.cache_control, "STANDARD", {}, {})
    assert backend.store.look(SIG) == expected


def test_a_small_public_object_is_not_created_over_another(backend: Backend) -> None:
    place(backend.public, pending(backend, b"first"), SIG)
    before = current(backend.public, SIG)
    for data in (b"first", b"second"):
        with pytest.raises(ConflictError):
            backend.public.create(SIG, data, DELIVERY)
    assert current(backend.public, SIG) == before


def test_a_small_public_object_is_replaced_with_its_new_delivery_and_digest(backend: Backend) -> None:
    placed = backend.public.place(pending(backend, b"first"), SIG, OTHER).version
    etag = backend.public.replace(SIG, b"second", DELIVERY, placed.etag)
    found = backend.public.describe(SIG)
    assert found is not None
    assert (found.version.etag, found.digest) == (etag, of_bytes(b"second"))
    assert found.version.version_id != placed.version_id
    expected = Looks(DELIVERY.content_type, DELIVERY.cache_control, "STANDARD", {}, {})
    assert backend.store.look(SIG) == expected


def test_a_small_public_object_is_replaced_only_over_the_one_that_was_read(backend: Backend) -> None:
    first = backend.public.create(SIG, b"first", DELIVERY)
    backend.public.replace(SIG, b"second", DELIVERY, first)
    with pytest.raises(ConflictError):
        backend.public.replace(SIG, b"third", DELIVERY, first)
    assert content(backend.public, SIG) == b"second"


def test_a_public_object_that_is_not_there_is_not_replaced(backend: Backend) -> None:
    with pytest.raises(ConflictError):
        backend.public.replace(SIG, b"x", DELIVERY, STALE)
    assert backend.public.describe(SIG) is None


def test_a_public_object_is_streamed_as_a_staged_one_is(backend: Backend) -> None:
    old = backend.public.place(pending(backend, b"old bytes"), SIG, DELIVERY).version
    assert b"".join(backend.public.stream(old, 0)) == b"old bytes"
    assert b"".join(backend.public.stream(old, 4)) == b"bytes"
    backend.public.replace(SIG, b"new bytes", DELIVERY, old.etag)
    with pytest.raises(GoneError):
        list(backend.public.stream(old, 0))


# copies


def test_a_copy_is_of_the_pinned_version_though_there_is_a_newer_one(backend: Backend) -> None:
    old = stage(backend, b"old")
    stage(backend, b"new")
    copied = backend.public.copy_staged(old, "_pending/1/tool.exe", DELIVERY)
    assert copied.digest == of_bytes(b"old")
    assert copied.version == current(backend.public, "_pending/1/tool.exe")
    assert content(backend.public, "_pending/1/tool.exe") == b"old"


def test_a_copy_is_made_of_a_version_under_a_delete_marker(backend: Backend) -> None:
    version = stage(backend, b"one")
    backend.staging.mark_deleted(KEY)
    assert backend.public.copy_staged(version, "tool.exe", DELIVERY).digest == of_bytes(b"one")


def test_a_copy_carries_its_delivery_and_nothing_else_of_the_source(backend: Backend) -> None:
    backend.store.put_decorated(KEY, b"one")
    copied = backend.public.copy_staged(current(backend.staging, KEY), "_pending/1/tool.exe", DELIVERY)
    expected = Looks(DELIVERY.content_type, DELIVERY.cache_control, "STANDARD", {}, {})
    assert backend.store.look("_pending/1/tool.exe") == expected

    backend.public.copy_staged(current(backend.staging, KEY), "_pending/2/tool.exe", OTHER)
    backend.public.place(current(backend.public, "_pending/2/tool.exe"), "two.exe", DELIVERY)
    assert backend.store.look("two.exe") == expected
    assert copied.version.etag == current(backend.public, "two.exe").etag


def test_a_copy_to_a_pending_key_overwrites_what_is_there(backend: Backend) -> None:
    backend.public.copy_staged(stage(backend, b"one"), "_pending/1/tool.exe", DELIVERY)
    copied = backend.public.copy_staged(stage(backend, b"two"), "_pending/1/tool.exe", DELIVERY)
    assert copied.digest == of_bytes(b"two")
    assert content(backend.public, "_pending/1/tool.exe") == b"two"


def test_a_copy_of_a_multipart_object_has_the_whole_files_digest(backend: Backend) -> None:
    backend.store.put_multipart(KEY, with_digests=True)
    copied = backend.public.copy_staged(current(backend.staging, KEY), "_pending/1/big", DELIVERY)
    if deviates(backend, "copy_computes_digest"):
        assert copied.digest is None
    else:
        assert copied.digest == of_bytes(MULTIPART)
    assert copied.version == current(backend.public, "_pending/1/big")
    assert backend.public.compute_digest(copied.version) == of_bytes(MULTIPART)


def test_a_copy_from_a_version_that_is_gone_says_so(backend: Backend) -> None:
    old = stage(backend, b"old")
    stage(backend, b"new")
    backend.store.destroy(old)
    with pytest.raises(GoneError):
        backend.public.copy_staged(old, "tool.exe", DELIVERY)
    assert backend.public.describe("tool.exe") is None


def test_a_copy_from_a_key_that_was_never_there_says_so(backend: Backend) -> None:
    absent = replace(stage(backend, b"one"), key="windows/1.0/absent")
    with pytest.raises(GoneError):
        backend.public.copy_staged(absent, "tool.exe", DELIVERY)
    assert backend.public.describe("tool.exe") is None


def test_a_copy_from_a_version_with_another_etag_says_that_it_is_gone(backend: Backend) -> None:
    version = replace(stage(backend, b"one"), etag=STALE)
    with pytest.raises(GoneError):
        backend.public.copy_staged(version, "tool.exe", DELIVERY)
    assert backend.public.describe("tool.exe") is None


def test_a_place_creates_the_public_object(backend: Backend) -> None:
    source = pending(backend, b"one")
    assert place(backend.public, source, "tool.exe") == of_bytes(b"one")
    assert content(backend.public, "tool.exe") == b"one"


def test_a_place_over_an_object_is_a_conflict_and_changes_nothing(backend: Backend) -> None:
    place(backend.public, pending(backend, b"first"), "tool.exe")
    before = current(backend.public, "tool.exe")
    source = pending(backend, b"second")
    if deviates(backend, "place_over_existing"):
        place(backend.public, source, "tool.exe")
        assert content(backend.public, "tool.exe") == b"second"
        return
    with pytest.raises(ConflictError):
        place(backend.public, source, "tool.exe")
    assert current(backend.public, "tool.exe") == before


def test_a_place_from_what_is_gone_says_so(backend: Backend) -> None:
    source = pending(backend, b"one")
    for gone in (replace(source, version_id="0" * len(source.version_id)), replace(source, key="absent")):
        with pytest.raises(GoneError):
            place(backend.public, gone, "tool.exe")
    assert backend.public.describe("tool.exe") is None


def test_a_place_of_another_etag_is_a_conflict_for_stores_do_not_say_which_condition_failed(
    backend: Backend,
) -> None:
    source = replace(pending(backend, b"one"), etag=STALE)
    with pytest.raises(ConflictError):
        place(backend.public, source, "tool.exe")
    assert backend.public.describe("tool.exe") is None


# errors


def act(how: str, bucket: Staging, version: Version) -> object:
    """Make one read."""
    acts = {
        "list_keys": lambda: bucket.list_keys("windows/"),
        "describe": lambda: bucket.describe(version.key),
        "read": lambda: bucket.read(version.key),
        "compute_digest": lambda: bucket.compute_digest(version),
        "stream": lambda: list(bucket.stream(version, 0)),
        "now": bucket.now,
    }
    return acts[how]()


@pytest.mark.parametrize("how", READS)
def test_a_read_without_the_right_to_is_denied_and_never_absence(
    server: Server, fresh: Backend, how: str
) -> None:
    version = stage(fresh, b"private")
    assert act(how, fresh.staging, version) is not None
    with pytest.raises(AccessDeniedError) as caught:
        act(how, S3Staging(server.stranger, fresh.staging.name), version)
    assert "aws sts get-caller-identity" in caught.value.next_step


def test_a_write_without_the_right_to_is_denied_and_changes_nothing(
    server: Server, fresh: Backend, tmp_path: Path
) -> None:
    version = stage(fresh, b"one")
    file = tmp_path / "file"
    file.write_bytes(b"two")
    staging = S3Staging(server.stranger, fresh.staging.name)
    public = S3Public(server.stranger, fresh.public.name, fresh.staging.name)
    for write in writes(staging, public, version, file):
        with pytest.raises(AccessDeniedError):
            write()
    assert current(fresh.staging, KEY) == version
    assert fresh.public.list_keys("") == ()


def test_every_request_says_so_when_the_store_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"two")
    version = Version(KEY, "v1", STALE)
    session = open_session(Credentials("key", "secret"))
    with (
        reserve_port() as port,
        closing(session.client("s3", endpoint_url=f"http://{LOOPBACK}:{port}", config=local_config())) as s3,
    ):
        staging, public = S3Staging(s3, "staging"), S3Public(s3, "public", "staging")
        requests = [partial(act, how, staging, version) for how in READS]
        for request in [*requests, *writes(staging, public, version, file)]:
            with pytest.raises(StoreError, match="Could not connect") as caught:
                request()
            assert not isinstance(caught.value, AccessDeniedError | ConflictError | GoneError)


def writes(staging: Staging, public: Public, version: Version, file: Path) -> list[Callable[[], object]]:
    """List every write of the ports, to be made one by one."""
    return [
        lambda: staging.upload(KEY, file, of_bytes(b"two")),
        lambda: staging.put(KEY, b"two"),
        lambda: staging.mark_deleted(KEY),
        lambda: staging.create("new", b"two"),
        lambda: staging.replace(KEY, b"two", version.etag),
        lambda: public.copy_staged(version, "tool.exe", DELIVERY),
        lambda: public.place(version, "tool.exe", DELIVERY),
        lambda: public.create("new", b"two", DELIVERY),
        lambda: public.replace("tool.exe", b"two", DELIVERY, version.etag),
    ]
