"""Reads every record and adoption that is stored, and verifies records with their public copies."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from publisher.core.adoption import Adopted, fold_adoptions
from publisher.core.audit_evidence import FoundRecord, Wanted, fold_files
from publisher.core.digests import of_bytes
from publisher.core.identity import Rejected
from publisher.core.promotions import AnyRecord, Record
from publisher.core.refusals import Refusal
from publisher.errors import StoreError
from publisher.workflow.records import judge_record
from publisher.workflow.world import World


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored record: its bytes, and what it says, signed or not; None if it says nothing."""

    release: str
    number: int
    data: bytes
    value: AnyRecord | None

    @property
    def wanted(self) -> Mapping[str, Wanted]:
        """Give what should be at the public keys that it names."""
        return fold_files([self.value] if self.value else [])

    @property
    def given_up(self) -> Collection[str]:
        """Name the steps that were left out."""
        return self.value.given_up if isinstance(self.value, Record) else ()


def read_stored(world: World) -> tuple[Stored, ...]:
    """Read every record of every release, in their order; nothing is verified."""
    numbered = [
        (release, number)
        for release in world.state.list_recorded()
        for number in world.state.list_numbers(release)
    ]
    return tuple(world.parallel.map(lambda pair: _read(world, *pair), numbered))


def read_adopted(world: World) -> Adopted:
    """Read everything that was ever adopted."""
    return fold_adoptions(world.parallel.map(world.state.read_adoption, world.state.list_adoptions()))


def fold_wanted(stored: Iterable[Stored], adopted: Adopted) -> dict[str, Wanted]:
    """Give what should be at every public key; what was promoted counts more than what was adopted."""
    wanted = {
        key: Wanted(file.digest, file.size, "as it was adopted", version_id=file.version_id)
        for key, file in adopted.files.items()
    }
    for item in stored:
        wanted.update(item.wanted)
    return wanted


def read_pointers(world: World, moving: Collection[str]) -> dict[str, Wanted]:
    """Give what mutable files should hold, by the last swap; not those that are `moving` right now."""
    wanted: dict[str, Wanted] = {}
    for rule in world.profile.pointers:
        history = world.state.read_history(rule.name)
        if history:
            last = {key: digests[-1] for key, digests in history.value.digests.items() if key not in moving}
            wanted.update((key, Wanted(digest, 0, "by the last swap")) for key, digest in last.items())
    return wanted


def judge_stored(world: World, stored: Iterable[Stored]) -> tuple[FoundRecord, ...]:
    """Verify records as anybody would, and look for their public copies."""
    # Once, before threads ask for it: it takes a second to make.
    _ = world.verifier() if world.signed_records else None
    return tuple(world.parallel.map(lambda item: _judge(world, item), stored))


def _read(world: World, release: str, number: int) -> Stored:
    try:
        found = world.state.read_record(release, number)
    except StoreError:
        # Not to be understood, or not to be read: its bytes tell which.
        return Stored(release, number, world.state.read_record_bytes(release, number), None)
    return Stored(release, number, found.data, found.value) if found else Stored(release, number, b"", None)


def _judge(world: World, item: Stored) -> FoundRecord:
    key = f"_state/records/{item.release}/{item.number}.json"
    release = world.profile.parse_release(item.release)
    if release is None:
        problem = Rejected(f"{item.release}, which is no release by the present profile", "one that it knows")
        readable = item.value is not None
        digest = of_bytes(item.data)
        return FoundRecord(item.release, item.number, problem, digest, None, None, readable=readable)
    judged = judge_record(world.visitor, release, item.number, key, item.data)
    place = world.profile.place_record(release, item.number)
    copy = world.public.read(place.key) if place else None
    return FoundRecord(
        release=item.release,
        number=item.number,
        problem=Rejected(judged.found, judged.expected, judged.cure) if isinstance(judged, Refusal) else None,
        digest=of_bytes(item.data),
        public_key=place.key if place else None,
        public=of_bytes(copy.data) if copy else None,
        readable=item.value is not None,
    )
