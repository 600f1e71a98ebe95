"""What the work needs of the outside: one protocol for each system, at most one write per method.

Every method may raise `StoreError`; `AccessDeniedError` is never "absent". Keys are those of the bucket.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeVar

from publisher.core.digests import Digest
from publisher.core.gate import Change
from publisher.core.identity import Identity, Rejected, Signed, Statement
from publisher.core.listing import FoundFile, FoundRelease
from publisher.core.listing_changes import Change as ListingChange
from publisher.core.plan import Version
from publisher.core.profile import Delivery
from publisher.core.snapshot import Copied, Described, Listed

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ReadObject:
    """A small object, whole. `modified` and `now` are the store's own times, to the second."""

    data: bytes
    version_id: str
    etag: str
    modified: datetime
    now: datetime


class Bucket(Protocol):
    """A versioned bucket, read."""

    name: str

    def list_keys(self, prefix: str) -> tuple[str, ...]:
        """List every key under `prefix`, in order, however many pages that takes."""
        ...

    def list_objects(self, prefix: str) -> tuple[Listed, ...]:
        """List every object under `prefix`, as `list_keys`, with its size and when it was written."""
        ...

    def describe(self, key: str) -> Described | None:
        """Describe the current version of `key`, or answer None if there is none."""
        ...

    def read(self, key: str) -> ReadObject | None:
        """Read the current version of a small object, or answer None if there is none."""
        ...

    def compute_digest(self, version: Version) -> Digest:
        """Stream exactly this version and compute its digest.

        Raises:
            GoneError: That version is not there any more.
        """
        ...

    def stream(self, source: Version, offset: int) -> Iterator[bytes]:
        """Read a key from byte `offset` on, as long as its current version has the ETag of `source`.

        It needs no right on versions, which builders have not. `offset` has to be less than the size, but
        for 0. Errors come while it is iterated, perhaps after some bytes.

        Raises:
            GoneError: The key has been written again since, or is gone.
        """
        ...

    def now(self) -> datetime:
        """Ask the store for its time."""
        ...


class Staging(Bucket, Protocol):
    """The staging bucket, written by builders and, for sidecars and state, by the release manager."""

    def upload(self, key: str, path: Path, digest: Digest) -> None:
        """Store a file in one request; the store itself refuses bytes that do not match `digest`."""
        ...

    def put(self, key: str, data: bytes) -> None:
        """Store a small text, whatever was there before."""
        ...

    def mark_deleted(self, key: str) -> None:
        """Put a delete marker over `key`; its versions stay."""
        ...

    def create(self, key: str, data: bytes) -> str:
        """Store a small object where there is none, and answer its ETag.

        Raises:
            ConflictError: There is one, perhaps from a first try of this very request.
        """
        ...

    def replace(self, key: str, data: bytes, etag: str) -> str:
        """Store a small object over the version with `etag`, and answer the new ETag.

        Raises:
            ConflictError: The current version is another, perhaps from a first try of this very request.
        """
        ...

    def sign_link(self, source: Version, seconds: int) -> str:
        """Sign a link by which anybody can download exactly this version; no request is made.

        It is as good as the credentials that signed it: it ends with them, if they end earlier.
        """
        ...


class Public(Bucket, Protocol):
    """The public bucket. All copies are made by the store, of exactly the version and ETag given.

    They carry nothing of the source but its bytes: media type and cache class come from `delivery`.
    Each answers with the copy and the digest that the store computed of it.

    Raises of each method:
        GoneError: The source is not there any more.
    """

    def copy_staged(self, source: Version, key: str, delivery: Delivery) -> Copied:
        """Copy a staged version to `key`, over whatever is there: for keys that nobody can reach.

        Raises:
            GoneError: Also if the source is not the pinned one.
        """
        ...

    def place(self, source: Version, key: str, delivery: Delivery) -> Copied:
        """Copy a pending version of this bucket to `key`, which must not exist.

        Raises:
            ConflictError: Something is there, or the source is not the pinned one: stores do not say which.
        """
        ...

    def create(self, key: str, data: bytes, delivery: Delivery) -> str:
        """Store a small object where there is none, and answer its ETag.

        Raises:
            ConflictError: There is one, perhaps from a first try of this very request.
        """
        ...

    def replace(self, key: str, data: bytes, delivery: Delivery, etag: str) -> str:
        """Store a small object over the version with `etag`, and answer the new ETag.

        Raises:
            ConflictError: The current version is another, perhaps from a first try of this very request.
        """
        ...


class Gate(Protocol):
    """The CDN's key-value store, read by the gate's function at every edge some seconds later."""

    def read_etag(self) -> str:
        """Read the store's present ETag."""
        ...

    def read_entries(self) -> Mapping[str, str]:
        """Read every entry."""
        ...

    def update(self, change: Change, etag: str) -> str:
        """Make a change of at most `core.gate.BATCH` entries, all or none, and answer the new ETag.

        Raises:
            ConflictError: The store's ETag is another, perhaps through a first try of this very request; or
                an entry to be deleted is not there, if the store minds.
        """
        ...


class Cdn(Protocol):
    """The content delivery network's control plane."""

    def invalidate(self, paths: Sequence[str], reference: str) -> str:
        """Let every edge forget these URL paths, and answer the invalidation's id.

        The same `reference` with the same paths is the same invalidation, made once.
        """
        ...

    def is_invalidated(self, invalidation: str) -> bool:
        """Tell whether an invalidation is complete."""
        ...


@dataclass(frozen=True, slots=True)
class Seen:
    """What a URL answered: the status, and of what it serves the size in bytes and the ETag."""

    status: int
    size: int | None
    etag: str | None


class Web(Protocol):
    """The public site as anybody sees it, without credentials. Redirects are answers like any other."""

    def head(self, url: str) -> Seen:
        """Ask for a URL's headers.

        Raises:
            EdgeError: There was no answer.
        """
        ...

    def read(self, url: str) -> bytes | None:
        """Download a small file whole; None where there is none (status 403, 404 or 410).

        Raises:
            EdgeError: It answered anything else but 200, was too large, or broke off.
        """
        ...

    def compute_digest(self, url: str) -> Digest:
        """Download a URL and compute the digest of what it serves.

        Raises:
            EdgeError: It answered anything but 200, or broke off.
        """
        ...


@dataclass(frozen=True, slots=True)
class Session:
    """Credentials that end by themselves. `until` is None where only their issuer knows when."""

    until: datetime | None


class Verifier(Protocol):
    """Checks Sigstore bundles offline, against the trust root in use; no method raises for a bad bundle."""

    def verify(self, bundle: bytes, digest: Digest, accepted: Collection[Identity]) -> Signed | Rejected:
        """Check that `bundle` signs exactly `digest`, by one of the `accepted` identities."""
        ...

    def open_statement(self, bundle: bytes, accepted: Collection[Identity]) -> Statement | Rejected:
        """Check that `bundle` is a signed in-toto statement by one of the `accepted` identities, and open it.

        What the statement says is not looked at.
        """
        ...


class Signer(Protocol):
    """One login: one identity token and one certificate, for some minutes. Safe to share by threads."""

    identity: Identity

    def sign(self, digest: Digest) -> bytes:
        """Sign a digest and answer the bundle, as JSON.

        Raises:
            SigningError: It could not be signed, or not in time; nothing is to be cleaned up.
            LoginError: The certificate is over; only another login helps.
        """
        ...

    def sign_statement(self, statement: bytes) -> bytes:
        """Sign an in-toto statement (its JSON) and answer the bundle, as JSON. Raises as `sign`."""
        ...


class SigningService(Protocol):
    """Where the release manager logs in to sign."""

    def log_in(self) -> Signer:
        """Get an identity token from the environment, the CI or a browser, and a certificate for it.

        Raises:
            LoginError: Nobody is logged in.
            SigningError: The certificate authority did not answer, or not in time.
        """
        ...


class OpenPgp(Protocol):
    """Checks detached OpenPGP signatures with the project's own keys; it does not raise for a bad one."""

    def verify(self, path: Path, signature: bytes, accepted: Collection[str]) -> str | Rejected:
        """Check that `signature` (armored or not) signs the file at `path` by a key of `accepted`.

        `accepted` are full fingerprints of certificates, in upper-case hex; a key counts as it was when the
        signature was made, so one that has expired since is good. Answers the certificate's fingerprint.
        """
        ...


class ReleaseDatabase(Protocol):
    """The database that a site's download pages are made from. Every method may raise `ListingError`.

    What is read is complete and belongs to what was asked for; it is an error otherwise. One writer at a
    time.
    """

    def check_access(self) -> None:
        """Check that the credentials in use may write."""
        ...

    def read_systems(self) -> Collection[str]:
        """Read the slugs of the operating systems that rows may name."""
        ...

    def find_release(self, slug: str) -> FoundRelease | None:
        """Find a release, published or not."""
        ...

    def list_releases(self, version: int) -> tuple[FoundRelease, ...]:
        """List every release of a family, published or not."""
        ...

    def read_files(self, release: int) -> tuple[FoundFile, ...]:
        """Read every file row of a release, by its id."""
        ...

    def find_file(self, slug: str) -> FoundFile | None:
        """Find the file row with a slug, whichever release it belongs to."""
        ...

    def apply(self, change: ListingChange) -> None:
        """Make one change with one write; to be read back. Deleting what is gone already is no error.

        Raises:
            ListingError: It was refused, and nothing was written.
            ListingUnknownError: It may have been made or not: read, and plan again.
        """
        ...


class Announcer(Protocol):
    """A forum: at most one topic for each external id."""

    def find(self, external_id: str) -> str | None:
        """Give the URL of the topic with this external id, or None if there is none that can be seen.

        Raises:
            AnnounceError: The forum did not say; never to be read as "absent".
        """
        ...

    def post(self, title: str, body: str, external_id: str) -> str:
        """Post a topic (`body` is Markdown), unless it is there already, and give its URL.

        One write at most: an answer that is lost is settled by looking. Safe to run again.

        Raises:
            AnnounceError: It was not posted, waits for approval, or it cannot be known; the message tells.
        """
        ...


class Hook(Protocol):
    """A receiver of events, told at least once, always under the event's own id."""

    def send(self, event: Mapping[str, object]) -> None:
        """Deliver an event; its `id` tells the receiver that it has it already.

        Raises:
            AnnounceError: It was refused or not taken; it may have arrived all the same.
        """
        ...


class Purger(Protocol):
    """Caches in front of the CDN that forget single URLs; safe to share by threads."""

    def purge(self, url: str) -> None:
        """Let the cache that answers for `url` forget exactly this spelling of it; safe to repeat.

        That it took the request is all that is known: whether it helped shows in what it serves afterwards.

        Raises:
            EdgeError: It was refused, or not taken in several attempts.
        """
        ...


class Caller(Protocol):
    """Who is asking."""

    def who(self) -> str:
        """Give the ARN of the credentials in use."""
        ...

    def session(self) -> Session | None:
        """Tell when the credentials in use end, or answer None if they are lasting ones."""
        ...


class Parallel(Protocol):
    """How independent requests are made: side by side, or one after the other in tests."""

    def map(self, work: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """Do `work` on every item and answer in their order; the first error ends it."""
        ...

    def stopping(self) -> bool:
        """Tell work that takes long whether it is for nothing: the map was ended by an error or a person."""
        ...
