"""A cloud in memory: an S3 that passes the same contract suite as the real adapters, a gate, an edge."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from threading import RLock
from typing import TypeVar
from urllib.parse import unquote

from publisher.core.digests import Digest
from publisher.core.gate import BATCH, Change
from publisher.core.plan import Version
from publisher.core.profile import Delivery
from publisher.core.snapshot import Copied, Described, Listed
from publisher.errors import ConflictError, EdgeError, GoneError, StoreError
from publisher.ports import ReadObject, Seen, Session

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class FakeVersion:
    """One stored version; `data` of None is a delete marker."""

    key: str
    version_id: str
    data: bytes | None
    modified: datetime
    delivery: Delivery | None = None
    whole: bool = True
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def etag(self) -> str:
        # Of an object in parts, it is the digest of the parts' digests.
        parts = "" if self.whole else "-2"
        return f'"{hashlib.md5(self.data or b"", usedforsecurity=False).hexdigest()}{parts}"'

    @property
    def digest(self) -> Digest:
        return Digest(hashlib.sha256(self.data or b"").hexdigest())


@dataclass
class FakeS3:
    """Both buckets behind one clock. `before` hears of each request before it is served, and may raise."""

    clock: datetime = datetime(2026, 6, 1, 12, tzinfo=UTC)
    before: Callable[[str, str], None] = lambda request, key: None
    writes: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    lose_answer_of: int | None = None
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.staging = FakeStaging(self, "staging")
        self.public = FakePublic(self, "public")
        self.gate = FakeGate(self)
        self.web = FakeWeb(self, self.gate)
        self.cdn = FakeCdn(self)
        # Held from a condition to the write that depends on it, never while `before` is called.
        self.lock = RLock()

    def note_write(self, request: str, name: str, key: str) -> None:
        self.before(request, key)
        self.writes.append((request, name))

    def give_answer(self, answer: T) -> T:
        """Give the answer to the last write, or what a retry meets if that answer never arrived."""
        if self.lose_answer_of == len(self.writes) - 1:
            raise ConflictError("412 after a retry")
        return answer

    def tick(self, seconds: float) -> None:
        self.clock += timedelta(seconds=seconds)

    def clock_seconds(self) -> float:
        return self.clock.timestamp()

    def next_version(self) -> str:
        return f"v{next(self._numbers)}"


class FakeBucket:
    """Reads of one bucket. A stream comes in pieces of `chunk` bytes."""

    chunk = 4

    def __init__(self, s3: FakeS3, name: str) -> None:
        self.name = name
        self.versions: dict[str, list[FakeVersion]] = {}
        self._s3 = s3

    def list_keys(self, prefix: str) -> tuple[str, ...]:
        self._s3.before("list", prefix)
        return tuple(sorted(key for key in self.versions if key.startswith(prefix) and self.current(key)))

    def list_objects(self, prefix: str) -> tuple[Listed, ...]:
        self._s3.before("list", prefix)
        found = ((key, self.current(key)) for key in sorted(self.versions) if key.startswith(prefix))
        return tuple(Listed(key, len(now.data or b""), now.modified) for key, now in found if now)

    def describe(self, key: str) -> Described | None:
        self._s3.before("describe", key)
        found = self.current(key)
        if found is None:
            return None
        version = Version(key, found.version_id, found.etag)
        delivery = found.delivery or Delivery("", "", "")
        return Described(
            version,
            len(found.data or b""),
            found.modified,
            found.digest if found.whole else None,
            delivery.content_type,
            delivery.cache_control,
            found.metadata,
        )

    def stream(self, source: Version, offset: int) -> Iterator[bytes]:
        self._s3.before("stream", source.key)
        found = self.current(source.key)
        if found is None or found.etag != source.etag:
            raise GoneError(source.key)
        data = found.data or b""
        assert offset == 0 or offset < len(data), "416"
        for start in range(offset, len(data), self.chunk):
            self._s3.before("chunk", source.key)
            yield data[start : start + self.chunk]

    def read(self, key: str) -> ReadObject | None:
        self._s3.before("read", key)
        found = self.current(key)
        if found is None:
            return None
        return ReadObject(found.data or b"", found.version_id, found.etag, found.modified, self._s3.clock)

    def compute_digest(self, version: Version) -> Digest:
        self._s3.before("stream", version.key)
        return self.find(version).digest

    def now(self) -> datetime:
        self._s3.before("now", "")
        return self._s3.clock

    # What follows is for tests: none of it is a request.

    def current(self, key: str) -> FakeVersion | None:
        versions = self.versions.get(key)
        return versions[-1] if versions and versions[-1].data is not None else None

    def find(self, version: Version) -> FakeVersion:
        for found in self.versions.get(version.key, []):
            if found.version_id == version.version_id and found.data is not None:
                return found
        raise GoneError(f"{version.key} {version.version_id}")

    def store(
        self, key: str, data: bytes | None, delivery: Delivery | None = None, *, whole: bool = True
    ) -> FakeVersion:
        stored = FakeVersion(key, self._s3.next_version(), data, self._s3.clock, delivery, whole)
        self.versions.setdefault(key, []).append(stored)
        return stored

    def expire(self, prefix: str) -> None:
        for key in [key for key in self.versions if key.startswith(prefix)]:
            del self.versions[key]

    def digests(self, prefix: str = "") -> dict[str, Digest]:
        found = {key: self.current(key) for key in self.versions if key.startswith(prefix)}
        return {key: version.digest for key, version in sorted(found.items()) if version}

    def _write(self, request: str, key: str) -> None:
        self._s3.note_write(request, f"{self.name}/{key}", key)

    def _answer(self, answer: T) -> T:
        return self._s3.give_answer(answer)


class FakeStaging(FakeBucket):
    """The staging bucket."""

    def upload(self, key: str, path: Path, digest: Digest) -> None:
        self._write("upload", key)
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != digest:
            raise StoreError("BadDigest")
        self.store(key, data)

    def put(self, key: str, data: bytes) -> None:
        self._write("put", key)
        self.store(key, data)

    def mark_deleted(self, key: str) -> None:
        self._write("delete", key)
        self.store(key, None)

    def create(self, key: str, data: bytes) -> str:
        self._write("create", key)
        with self._s3.lock:
            if self.current(key):
                raise ConflictError(key)
            return self._answer(self.store(key, data).etag)

    def replace(self, key: str, data: bytes, etag: str) -> str:
        self._write("replace", key)
        with self._s3.lock:
            found = self.current(key)
            if found is None or found.etag != etag:
                raise ConflictError(key)
            return self._answer(self.store(key, data).etag)

    def sign_link(self, source: Version, seconds: int) -> str:
        return f"https://staging.example.org/{source.key}?versionId={source.version_id}&for={seconds}"


class FakePublic(FakeBucket):
    """The public bucket."""

    def copy_staged(self, source: Version, key: str, delivery: Delivery) -> Copied:
        self._write("copy", key)
        return self._copy(self._s3.staging, source, key, delivery)

    def place(self, source: Version, key: str, delivery: Delivery) -> Copied:
        self._write("place", key)
        return self._place(self, source, key, delivery)

    def create(self, key: str, data: bytes, delivery: Delivery) -> str:
        self._write("create", key)
        with self._s3.lock:
            if self.current(key):
                raise ConflictError(key)
            return self._answer(self.store(key, data, delivery).etag)

    def replace(self, key: str, data: bytes, delivery: Delivery, etag: str) -> str:
        self._write("replace", key)
        with self._s3.lock:
            found = self.current(key)
            if found is None or found.etag != etag:
                raise ConflictError(key)
            return self._answer(self.store(key, data, delivery).etag)

    def _place(self, bucket: FakeBucket, source: Version, key: str, delivery: Delivery) -> Copied:
        with self._s3.lock:
            if self.current(key):
                raise ConflictError(key)
            if bucket.find(source).etag != source.etag:
                # The store answers 412 for either condition, and does not say for which.
                raise ConflictError(f"{source.key} has another ETag")
            return self._answer(self._copy(bucket, source, key, delivery))

    def _copy(self, bucket: FakeBucket, source: Version, key: str, delivery: Delivery) -> Copied:
        found = bucket.find(source)
        if found.etag != source.etag:
            raise GoneError(f"{source.key} has another ETag")
        copy = self.store(key, found.data, delivery)
        return Copied(Version(key, copy.version_id, copy.etag), copy.digest)


class FakeGate:
    """The gate's store, seen by the one edge there is at once."""

    def __init__(self, s3: FakeS3) -> None:
        self.entries: dict[str, str] = {}
        self._etag = 0
        self._s3 = s3

    def read_etag(self) -> str:
        self._s3.before("etag", "")
        return str(self._etag)

    def read_entries(self) -> Mapping[str, str]:
        self._s3.before("entries", "")
        return dict(self.entries)

    def update(self, change: Change, etag: str) -> str:
        label = ",".join(sorted({*change.puts, *(f"-{key}" for key in change.deletes)}))
        self._s3.note_write("update", f"gate/{label}", label)
        assert len(change.puts) + len(change.deletes) <= BATCH
        if etag != str(self._etag):
            raise ConflictError("ETag")
        self.set(change.apply(self.entries))
        return self._s3.give_answer(str(self._etag))

    def set(self, entries: Mapping[str, str]) -> None:
        self.entries = dict(entries)
        self._etag += 1


class FakeWeb:
    """The public site as the gate's function shows it."""

    def __init__(self, s3: FakeS3, gate: FakeGate) -> None:
        self._s3 = s3
        self._gate = gate

    def head(self, url: str) -> Seen:
        key = unquote(url.split("/", 3)[3])
        self._s3.before("head", key)
        if self.is_gone(key):
            return Seen(410, 0, None)
        found = self.find(key)
        if found is None:
            return Seen(404, 0, None)
        return Seen(200, len(found.data or b""), found.etag)

    def read(self, url: str) -> bytes | None:
        key = unquote(url.split("/", 3)[3])
        self._s3.before("get", key)
        found = self.find(key)
        return found.data if found else None

    def compute_digest(self, url: str) -> Digest:
        key = unquote(url.split("/", 3)[3])
        self._s3.before("get", key)
        found = self.find(key)
        if found is None:
            raise EdgeError(f"{url} answered {410 if self.is_gone(key) else 404}")
        return found.digest

    def is_gone(self, key: str) -> bool:
        return self._gate.entries.get(f"s:{self._gate.entries.get(f'p:{key}')}") == "withdrawn"

    def find(self, key: str) -> FakeVersion | None:
        if self.is_gone(key):
            return None
        promotion = self._gate.entries.get(f"p:{key}")
        if self._gate.entries.get(f"s:{promotion}") == "live":
            return self._s3.public.current(f"_pending/{promotion}/{key}")
        return self._s3.public.current(key)


class FakeCdn:
    """A control plane that only remembers."""

    def __init__(self, s3: FakeS3) -> None:
        self.invalidated: list[tuple[str, ...]] = []
        self._s3 = s3

    def invalidate(self, paths: Sequence[str], reference: str) -> str:
        self._s3.before("invalidate", reference)
        self.invalidated.append(tuple(paths))
        return reference

    def is_invalidated(self, invalidation: str) -> bool:
        self._s3.before("wait", invalidation)
        return True


class FakeCaller:
    """A caller with a fixed ARN."""

    def __init__(
        self, arn: str = "arn:aws:iam::123456789012:user/rm", session: Session | None = None
    ) -> None:
        self._arn = arn
        self._session = session

    def who(self) -> str:
        return self._arn

    def session(self) -> Session | None:
        return self._session


class Serial:
    """Requests one after the other, so that a crash can be put before each."""

    def map(self, work: Callable[[T], R], items: Iterable[T]) -> list[R]:
        return [work(item) for item in items]

    def stopping(self) -> bool:
        return False


@dataclass
class Silent:
    """An observer that only remembers."""

    steps: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])
    done: list[str] = field(default_factory=list[str])
    details: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    moved: int = 0

    def step(self, name: str, detail: str) -> None:
        self.steps.append(name)
        self.details.append(f"{name} {detail}")

    def expect(self, files: int, size: int) -> None:
        return

    def advance(self, key: str, size: int) -> None:
        self.done.append(key)

    def move(self, size: int) -> None:
        self.moved += size

    def finish(self) -> None:
        return

    def note(self, text: str) -> None:
        self.notes.append(text)

    def warn(self, text: str) -> None:
        self.warnings.append(text)
