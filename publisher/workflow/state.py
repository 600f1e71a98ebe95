"""The documents under `_state/`: typed reading, and writing that is create-only or compare-and-swap."""

import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from publisher.core.adoption import Adoption
from publisher.core.announced import Announced
from publisher.core.decide import state_key
from publisher.core.lease import Lease
from publisher.core.plan import Plan
from publisher.core.pointers_swap import History, Swap, extend_history, history_key
from publisher.core.promotions import AnyRecord, Mark, Phase, judge_phase
from publisher.core.share import Share
from publisher.core.snapshot import ReleaseState, Unfinished
from publisher.core.withdrawals import (
    Case,
    CaseMark,
    Course,
    Restoration,
    Withdrawal,
    find_ended,
    find_unlisted,
    judge_course,
)
from publisher.documents.adoption import read_adoption, write_adoption
from publisher.documents.state import decode, encode
from publisher.documents.statement import extract_payload, read_statement
from publisher.errors import ConflictError, StoreError
from publisher.ports import Staging

T = TypeVar("T")

LEASE_KEY = "_state/lease.json"
_PROMOTIONS = "_state/promotions/"
_RELEASES = "_state/releases/"
_TRIES = 3
_RECORDS = "_state/records/"
_SHARES = "_state/shares/"
_ANNOUNCED = "_state/announced/"
_WITHDRAWALS = "_state/withdrawals/"
_ADOPTED = "_state/adopted/"


@dataclass(frozen=True, slots=True)
class Stored(Generic[T]):
    """A document with what it takes to replace it, and the store's times."""

    value: T
    version_id: str
    etag: str
    modified: datetime
    now: datetime


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record as it is stored, in a bundle or bare, and what it says."""

    data: bytes
    value: AnyRecord


class StateStore:
    """The publisher's own state in the staging bucket."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging

    def read_lease(self) -> Stored[Lease] | None:
        """Read the lease, held or free; None before the very first promotion."""
        return self._read(Lease, LEASE_KEY)

    def write_lease(self, lease: Lease, etag: str | None) -> str:
        """Write the lease over the one with `etag` (None: where there is none) and answer its ETag.

        Raises:
            ConflictError: Somebody else wrote it, or a first try of this request did.
        """
        if etag is None:
            return self._staging.create(LEASE_KEY, encode(lease))
        return self._staging.replace(LEASE_KEY, encode(lease), etag)

    def read_release(self, name: str) -> Stored[ReleaseState] | None:
        """Read the state of a release, or answer None if it was never opened."""
        return self._read(ReleaseState, state_key(name))

    def write_release(self, state: ReleaseState, etag: str | None) -> None:
        """Write the state of a release over the one with `etag` (None: where there is none)."""
        key = state_key(state.release)
        try:
            if etag is None:
                self._staging.create(key, encode(state))
            else:
                self._staging.replace(key, encode(state), etag)
        except ConflictError:
            if not self._is_there(key, state):
                raise

    def list_releases(self) -> tuple[str, ...]:
        """Name every release that was ever opened."""
        keys = self._staging.list_keys(_RELEASES)
        return tuple(key.removeprefix(_RELEASES).removesuffix(".json") for key in keys)

    def has_promotions(self) -> bool:
        """Tell whether anything was ever promoted, or was to be."""
        return bool(self._staging.list_keys(_PROMOTIONS))

    def read_unfinished(self, gated: Collection[str]) -> tuple[Unfinished, ...]:
        """Read every promotion that is neither done nor abandoned, nor ended by a withdrawal.

        Args:
            gated: The promotions that the gate shows or has withdrawn.
        """
        unfinished: list[Unfinished] = []
        ended = find_ended(self.read_cases())
        for promotion, found in sorted(self.read_marks().items()):
            phase = judge_phase(found, gated=promotion in gated, ended=promotion in ended)
            if "plan" in found and phase in {Phase.PLANNED, Phase.LIVE}:
                unfinished.append(Unfinished(self.read_plan(promotion), live=phase is Phase.LIVE))
        return tuple(unfinished)

    def list_events(self) -> frozenset[str]:
        """Name all that tells of promotions, amendments and withdrawals: each of them adds to it."""
        prefixes = (_PROMOTIONS, _WITHDRAWALS, _RECORDS)
        return frozenset(key for prefix in prefixes for key in self._staging.list_keys(prefix))

    def read_marks(self) -> Mapping[str, frozenset[str]]:
        """Name the documents that each promotion has: its plan and its markers."""
        marks: dict[str, frozenset[str]] = {}
        for key in self._staging.list_keys(_PROMOTIONS):
            promotion, _, mark = key.removeprefix(_PROMOTIONS).partition("/")
            marks[promotion] = marks.get(promotion, frozenset()) | {mark.removesuffix(".json")}
        return marks

    def read_mark(self, promotion: str, phase: Phase) -> Mark | None:
        """Read a promotion's marker, or answer None if it has none for this phase."""
        stored = self._read(Mark, f"{_PROMOTIONS}{promotion}/{phase}.json")
        return stored.value if stored else None

    def read_plan(self, promotion: str) -> Plan:
        """Read the plan of a promotion."""
        key = f"{_PROMOTIONS}{promotion}/plan.json"
        stored = self._read(Plan, key)
        if stored is None:
            raise StoreError(f"{key} is gone", "restore it from the bucket's versions")
        return stored.value

    def write_plan(self, plan: Plan) -> None:
        """Write the plan of a new promotion."""
        self._create_once(f"{_PROMOTIONS}{plan.id}/plan.json", plan)

    def mark(self, phase: Phase, mark: Mark) -> None:
        """Write a promotion's marker; one that is there already stays as it is."""
        self._create_or_read(f"{_PROMOTIONS}{mark.promotion}/{phase}.json", mark)

    def list_recorded(self) -> tuple[str, ...]:
        """Name every release that has a record."""
        keys = self._staging.list_keys(_RECORDS)
        return tuple(dict.fromkeys(key.removeprefix(_RECORDS).partition("/")[0] for key in keys))

    def list_numbers(self, release: str) -> tuple[int, ...]:
        """Give the numbers of a release's recorded promotions."""
        prefix = f"{_RECORDS}{release}/"
        keys = self._staging.list_keys(prefix)
        return tuple(sorted(_read_number(key, prefix) for key in keys))

    def read_record(self, release: str, number: int) -> StoredRecord | None:
        """Read a record as it is stored, and what it says; no signature is verified."""
        key = f"{_RECORDS}{release}/{number}.json"
        found = self._staging.read(key)
        if found is None:
            return None
        return StoredRecord(found.data, read_statement(extract_payload(found.data, key), key))

    def read_record_bytes(self, release: str, number: int) -> bytes:
        """Read a record as it is stored, whatever it is; nothing where there is none."""
        found = self._staging.read(f"{_RECORDS}{release}/{number}.json")
        return found.data if found else b""

    def read_records(self, release: str, numbers: Iterable[int]) -> tuple[AnyRecord, ...]:
        """Read the records of a release with these numbers, in their order."""
        found = (self.read_record(release, number) for number in sorted(numbers))
        return tuple(stored.value for stored in found if stored)

    def write_record(self, release: str, number: int, data: bytes) -> StoredRecord:
        """Write a record, signed or not, and answer it; one that is there already stays, and is answered."""
        key = f"{_RECORDS}{release}/{number}.json"
        for _ in range(_TRIES):
            try:
                self._staging.create(key, data)
            except ConflictError:
                stored = self.read_record(release, number)
                if stored is not None:
                    return stored
            else:
                return StoredRecord(data, read_statement(extract_payload(data, key), key))
        raise StoreError(f"{key} could not be created: the store keeps answering conflict", "run again")

    def write_share(self, share: Share) -> str:
        """Write down a link that is about to be given away, and answer the key of its record."""
        key = f"{_SHARES}{share.id}.json"
        self._create_once(key, share)
        return key

    def list_unlisted(self) -> frozenset[str]:
        """Name the public keys that no page shows, since they were withdrawn or are to be hidden."""
        return find_unlisted(self.read_cases())

    def read_cases(self, release: str | None = None) -> tuple[Case, ...]:
        """Read the withdrawals that are not over, of one release or of all, in the order of their records."""
        marks: dict[str, set[str]] = {}
        for key in self._staging.list_keys(_WITHDRAWALS if release is None else f"{_WITHDRAWALS}{release}/"):
            folder, _, mark = key.rpartition("/")
            marks.setdefault(folder, set()).add(mark.removesuffix(".json"))
        cases = [
            self._read_case(folder, judge_course(found))
            for folder, found in marks.items()
            if judge_course(found) is not Course.OVER
        ]
        return tuple(sorted(cases, key=lambda case: (case.withdrawal.release, case.withdrawal.number)))

    def write_withdrawal(self, withdrawal: Withdrawal) -> None:
        """Write down a withdrawal: from here on it can only be finished, or restored."""
        self._create_once(f"{_name_case(withdrawal)}/withdrawal.json", withdrawal)

    def write_restoration(self, restoration: Restoration) -> Restoration:
        """Write down that a withdrawal is taken back, and answer the restoration that is there."""
        return self._create_or_read(f"{_name_case(restoration)}/restored.json", restoration)

    def mark_case(self, case: Withdrawal | Restoration, mark: CaseMark) -> None:
        """Write that a withdrawal is done, or its restoration over; a mark that is there already stays."""
        name = "done" if isinstance(case, Withdrawal) else "over"
        self._create_or_read(f"{_name_case(case)}/{name}.json", mark)

    def _read_case(self, folder: str, course: Course) -> Case:
        found = self._read(Withdrawal, f"{folder}/withdrawal.json")
        if found is None:
            raise StoreError(f"{folder}/withdrawal.json is gone", "restore it from the bucket's versions")
        restoring = course is Course.RESTORING
        restored = self._read(Restoration, f"{folder}/restored.json") if restoring else None
        return Case(found.value, course, restored.value if restored else None)

    def read_history(self, name: str) -> Stored[History] | None:
        """Read what the files of a set of mutable ones have been, or answer None if none was ever swapped."""
        return self._read(History, history_key(name))

    def extend_history(self, swap: Swap) -> None:
        """Add a swap that is done to the history of its set; one that is in it already changes nothing."""
        for _ in range(_TRIES):
            stored = self.read_history(swap.name)
            before = stored.value if stored else None
            after = extend_history(before, swap)
            if after == before:
                return
            with suppress(ConflictError):
                self._write_history(after, stored.etag if stored else None)
                return
        key = history_key(swap.name)
        raise StoreError(f"{key} could not be written: the store keeps answering conflict", "run again")

    def _write_history(self, history: History, etag: str | None) -> None:
        key = history_key(history.name)
        if etag is None:
            self._staging.create(key, encode(history))
        else:
            self._staging.replace(key, encode(history), etag)

    def read_announced(self, release: str) -> Announced | None:
        """Read in which post a release was announced, or answer None if it was not."""
        stored = self._read(Announced, f"{_ANNOUNCED}{release}.json")
        return stored.value if stored else None

    def write_announced(self, release: str, note: Announced) -> None:
        """Note that a release was announced; an earlier note stays."""
        self._create_or_read(f"{_ANNOUNCED}{release}.json", note)

    def list_adoptions(self) -> tuple[str, ...]:
        """Name the documents of every part of a tree that was adopted."""
        return self._staging.list_keys(_ADOPTED)

    def read_adoption(self, key: str) -> Adoption:
        """Read one of these documents."""
        found = self._staging.read(key)
        if found is None:
            raise StoreError(f"{key} was removed just now", "run again")
        return read_adoption(found.data, key)

    def write_adoption(self, adoption: Adoption) -> None:
        """Write down what was adopted, under an id that is new."""
        key = f"{_ADOPTED}{adoption.id}.json"
        try:
            self._staging.create(key, write_adoption(adoption))
        except ConflictError:
            # The first try of this very request may have been applied without an answer.
            if self.read_adoption(key) != adoption:
                raise

    def _create_once(self, key: str, value: Plan | Share | Withdrawal) -> None:
        try:
            self._staging.create(key, encode(value))
        except ConflictError:
            if not self._is_there(key, value):
                raise

    def _create_or_read(self, key: str, value: T) -> T:
        """Create a document, or read the one that is there; a conflict alone does not prove that one is."""
        for _ in range(_TRIES):
            try:
                self._staging.create(key, encode(value))
            except ConflictError:
                stored = self._read(type(value), key)
                if stored is not None:
                    return stored.value
            else:
                return value
        raise StoreError(f"{key} could not be created: the store keeps answering conflict", "run again")

    def _is_there(self, key: str, value: object) -> bool:
        """Tell, after a conflict, whether a first try of this very request was applied without an answer."""
        stored = self._read(type(value), key)
        return stored is not None and stored.value == value

    def _read(self, kind: type[T], key: str) -> Stored[T] | None:
        found = self._staging.read(key)
        if found is None:
            return None
        value = decode(kind, found.data, key)
        return Stored(value, found.version_id, found.etag, found.modified, found.now)


def _name_case(case: Withdrawal | Restoration) -> str:
    return f"{_WITHDRAWALS}{case.release}/{case.id}"


def _read_number(key: str, prefix: str) -> int:
    name = key.removeprefix(prefix)
    if not re.fullmatch(r"[1-9][0-9]*\.json", name):
        raise StoreError(f"found {key}, expected {prefix}<number>.json", "ask ops to look into _state/")
    return int(name.removesuffix(".json"))
