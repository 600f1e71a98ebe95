"""Signs the records of what was made public, stores them, and publishes them beside it."""

from collections.abc import Callable, Iterable, Iterator
from itertools import count

from publisher.core.digests import display, of_bytes
from publisher.core.identity import Identity, Rejected
from publisher.core.plan import Plan
from publisher.core.profile import PublicRecord, Release
from publisher.core.promotions import Amendment, AnyRecord, Record
from publisher.core.refusals import Refusal
from publisher.core.signatures import refuse_identity
from publisher.core.urls import make_path
from publisher.documents.statement import is_signed, read_statement, write_statement
from publisher.errors import (
    ConflictError,
    LoginError,
    SigningError,
    StoreError,
    UnfinishedError,
    UsageError,
)
from publisher.ports import Signer
from publisher.workflow.purging import purge
from publisher.workflow.world import Visitor, World

_TRIES = 3


def needs_login(world: World, plan: Plan) -> bool:
    """Tell whether a record of `plan` is still to be signed; a stored one is never signed anew."""
    return world.signed_records and any(
        world.state.read_record(release.name, release.number) is None for release in plan.releases
    )


def refuse_recorder(plan: Plan, signer: Signer) -> tuple[Refusal, ...]:
    """Refuse a login whose signature would not count for each record of `plan`."""
    return tuple(
        refusal
        for release in plan.releases
        for refusal in refuse_identity(release.recorders, release.name, signer.identity)
    )


def log_in_to_finish(world: World, plan: Plan) -> Signer | None:
    """Log in for the records of a promotion that is live; without a login all else is still finished."""
    if not needs_login(world, plan):
        return None
    try:
        signer = world.signing().log_in()
    except SigningError as error:
        world.observer.warn(f"the record cannot be signed: {error}")
        return None
    refusals = refuse_recorder(plan, signer)
    for refusal in refusals:
        world.observer.warn(
            f"the record cannot be signed: found {refusal.found}, expected {refusal.expected}"
        )
    return None if refusals else signer


def write_record(
    world: World,
    check_lease: Callable[[], None],
    record: AnyRecord,
    *,
    signer: Signer | None,
    recorders: Iterable[Identity],
    public: PublicRecord | None,
) -> None:
    """Sign and store a record, unless it is stored, and publish what is stored.

    Raises:
        LoginError: It has to be signed, and nobody is logged in any more.
        UnfinishedError: Another record has its number, or another object its public key.
    """
    stored = world.state.read_record(record.release, record.number)
    if stored is None:
        data = _sign(world, record, signer, tuple(recorders))
        check_lease()
        stored = world.state.write_record(record.release, record.number, data)
    if _name(stored.value) != _name(record):
        raise UnfinishedError(
            f"record {record.number} of {record.release} is of another promotion, amendment or withdrawal",
            "ask ops to look into _state/records/",
        )
    if public is not None:
        check_lease()
        _publish(world, public, stored.data)
        # Its name can be guessed, and a miss remembered.
        purge(world, check_lease, [public.key])


def publish_amendments(
    world: World, check_lease: Callable[[], None], release: Release, numbers: Iterable[int]
) -> None:
    """Publish every amendment that is stored: a run may have ended between the two.

    Raises:
        UnfinishedError: Another object has the public key of one.
    """
    for number in numbers:
        stored = world.state.read_record(release.name, number)
        public = world.profile.place_record(release, number)
        if public is not None and stored is not None and isinstance(stored.value, Amendment):
            check_lease()
            _publish(world, public, stored.data)


def read_public_records(
    visitor: Visitor, release: Release
) -> tuple[tuple[AnyRecord, ...], tuple[Refusal, ...]]:
    """Read and verify the public records of a release, from the first to the last that there is.

    One that is missing between two others is refused.

    Raises:
        UsageError: The project's records are not public.
    """
    found = tuple(_read_all(visitor, release))
    records = tuple(record for record in found if not isinstance(record, Refusal))
    refusals = tuple(refusal for refusal in found if isinstance(refusal, Refusal))
    if not found:
        cure = f"correct the version, or finish it: publisher promote {release.name}"
        key = _place(visitor, release, 1).key
        refusals = (Refusal("record", key, "no record", "the record of a finished promotion", cure),)
    return records, refusals


def _read_all(visitor: Visitor, release: Release) -> Iterator[AnyRecord | Refusal]:
    for number in count(1):
        public = _place(visitor, release, number)
        data = _read(visitor, public)
        if data is not None:
            yield judge_record(visitor, release, number, public.key, data)
            continue
        # The site gives no list: a number that is missing shows by the one after it.
        following = _place(visitor, release, number + 1)
        if _read(visitor, following) is None:
            return
        cure = f"finish what was interrupted: publisher promote {release.name}, or amend again"
        yield Refusal("record", public.key, "no record", f"the one before {following.key}", cure)


def judge_record(
    visitor: Visitor, release: Release, number: int, key: str, data: bytes
) -> AnyRecord | Refusal:
    """Verify that `data`, found at `key`, is the record of that release and number, and read it."""
    found = _open(visitor, data, key, visitor.profile.find_recorders(release))
    if isinstance(found, Rejected):
        cure = found.hint or "ops looks who wrote it; nothing that it says is believed"
        return Refusal("record", key, found.found, found.expected, cure)
    if (found.release, found.number) != (release.name, number):
        said = f"the record {found.number} of {found.release}"
        return Refusal("record", key, said, "its own", "ops looks who wrote it")
    return found


def _place(visitor: Visitor, release: Release, number: int) -> PublicRecord:
    public = visitor.profile.place_record(release, number)
    if public is None:
        raise UsageError(
            f"the records of {visitor.profile.name} are not public", "see [record] of the profile"
        )
    return public


def _read(visitor: Visitor, public: PublicRecord) -> bytes | None:
    return visitor.web.read(visitor.site.public_base_url + make_path(public.key))


def _open(visitor: Visitor, data: bytes, key: str, recorders: tuple[Identity, ...]) -> AnyRecord | Rejected:
    try:
        if not visitor.signed_records and not is_signed(data, key):
            visitor.observer.warn(f"{key} is not signed: anybody who can write there may have made it")
            return read_statement(data, key)
        opened = visitor.verifier().open_statement(data, recorders)
        return opened if isinstance(opened, Rejected) else read_statement(opened.payload, key)
    except StoreError as error:
        return Rejected(str(error), "a record as promote writes it")


def _sign(world: World, record: AnyRecord, signer: Signer | None, recorders: tuple[Identity, ...]) -> bytes:
    statement = write_statement(record)
    if not world.signed_records:
        world.observer.warn(
            f"record {record.number} of {record.release} is not signed: publisher.toml says so"
        )
        return statement
    if signer is None:
        raise LoginError(
            f"record {record.number} of {record.release} is to be signed, and nobody is logged in",
            "log in when it asks: run the same command again",
        )
    bundle = signer.sign_statement(statement)
    found = world.verifier().open_statement(bundle, recorders)
    if isinstance(found, Rejected):
        raise SigningError(
            f"the record that was signed is not good: found {found.found}, expected {found.expected}",
            found.hint or "run the same command again",
        )
    if read_statement(found.payload, "the record") != record:
        raise SigningError("the record that was signed is not the one that was to be", "run again")
    return bundle


def _publish(world: World, public: PublicRecord, data: bytes) -> None:
    """Create the public copy; a conflict alone does not prove that something is there."""
    for _ in range(_TRIES):
        try:
            world.public.create(public.key, data, public.delivery)
        except ConflictError as error:
            found = world.public.read(public.key)
            if found is not None and found.data != data:
                raise UnfinishedError(
                    f"{public.key}: found {display(of_bytes(found.data))}, "
                    "expected the record that is stored",
                    "ops looks whose object it is; then run again",
                ) from error
            if found is not None:
                return
        else:
            return
    raise StoreError(f"{public.key} could not be created: the store keeps answering conflict", "run again")


def _name(record: AnyRecord) -> tuple[str, str]:
    """Name what a record is of: a promotion, the new digest of one sidecar, a withdrawal or its end."""
    if isinstance(record, Amendment):
        return record.key, record.digest
    if isinstance(record, Record):
        return "", record.promotion
    return type(record).__name__, record.id
