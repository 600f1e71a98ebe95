"""Pointers: sets of mutable public files, as the profile, builders and the world know them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from publisher.core.digests import Digest
from publisher.core.plan import PlannedFile
from publisher.core.pointers_facts import Claim, PointerFacts
from publisher.core.pointers_order import Built, Chain, State, order_sets
from publisher.core.pointers_swap import Member, Swap
from publisher.core.profile import PointerRule, Release
from publisher.core.refusals import Refusal
from publisher.core.snapshot import StoredObject

NAME: Final = "POINTERS.json"
"""The file of a hand-over that says what its sets were built from; it is listed, but no artifact."""

RULE: Final = "pointer"
"""The rule of every refusal here. A set has one subject, so a waiver leaves out all of it or nothing."""


@dataclass(frozen=True, slots=True)
class PointerStaging:
    """What one role has handed over of pointers for one release.

    `claims` is what POINTERS.json says, by set; or what is wrong with it; or None where there is none.
    `objects` are the staged files that belong to any set of the profile, by public key; `data` the bytes of
    those not larger than `MAX_BYTES`.
    """

    release: Release
    role: str
    claims: Mapping[str, Claim] | tuple[str, ...] | None = None
    objects: Mapping[str, StoredObject] = field(default_factory=dict[str, StoredObject])
    data: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


@dataclass(frozen=True, slots=True)
class Run:
    """What is planned besides: the releases of the run and the keys that it makes public."""

    releases: frozenset[str]
    keys: frozenset[str]


@dataclass(frozen=True, slots=True)
class PointerPlan:
    """What becomes of the staged sets: `swaps` from `files`, if the `refusals` are set aside.

    A set with a refusal is left out. `settled` names those that are public, or were until others were built
    on them.
    """

    swaps: tuple[Swap, ...]
    files: tuple[PlannedFile, ...]
    refusals: tuple[Refusal, ...]
    settled: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A whole staged set."""

    rule: PointerRule
    release: Release
    claim: Claim
    objects: Mapping[str, StoredObject]
    data: Mapping[str, bytes]

    @property
    def subject(self) -> str:
        """Give the name that a waiver knows it by."""
        return make_subject(self.rule.name, self.release)

    @property
    def built(self) -> Built:
        """Give what it was built from and what it makes of it."""
        return Built(
            tuple(self.claim.base[key] for key in self.rule.files),
            tuple(self.objects[key].digest for key in self.rule.files),
        )


def make_subject(name: str, release: Release) -> str:
    """Give the subject of all refusals of a release's set."""
    return f"{name}/{release.name}"


def find_rule(rules: Iterable[PointerRule], key: str) -> PointerRule | None:
    """Find the set that a public key belongs to."""
    return next((rule for rule in rules if key in rule.files), None)


def read_public(rule: PointerRule, facts: PointerFacts) -> State:
    """Give what the files of a set are now."""
    return tuple(facts.current.get(key) for key in rule.files)


def is_settled(candidate: Candidate, facts: PointerFacts) -> bool:
    """Tell whether a staged set is public already, or was, so that there is nothing to do.

    One that was public before and yet is built on what is public now is none of these: it would go back.
    """
    public, built = read_public(candidate.rule, facts), candidate.built
    known = _list_known(candidate.rule, facts)
    were = all(
        new in {now, *known[key]}
        for key, new, now in zip(candidate.rule.files, built.new, public, strict=True)
    )
    return built.new == public or (were and built.base != public)


def find_returning(candidate: Candidate, facts: PointerFacts) -> tuple[str, ...]:
    """Name the files that a set would take back to what they were before."""
    known = _list_known(candidate.rule, facts)
    return tuple(
        key
        for key in candidate.rule.files
        if candidate.objects[key].digest != facts.current.get(key)
        and candidate.objects[key].digest in known[key]
    )


def order_candidates(candidates: Sequence[Candidate], public: State) -> Chain:
    """Put the sets of one name in the order in which they were built on each other.

    Files that are already what a set makes of them are no obstacle: an earlier run was given up half-way.
    """
    built = {c.subject: c.built for c in candidates}
    made = {each.new for each in built.values()}

    def start(each: Built) -> Built:
        begun = all(now in both for now, *both in zip(public, each.base, each.new, strict=True))
        return Built(public, each.new) if begun and each.base not in made else each

    return order_sets({name: start(each) for name, each in built.items()}, public)


def make_swap(chain: Sequence[Candidate]) -> Swap:
    """Make one swap of sets that were built on each other: from what the first was built from to the last."""
    first, last = chain[0], chain[-1]

    def make(key: str) -> Member:
        base, new = first.claim.base[key], last.objects[key].digest
        between = dict.fromkeys(each.objects[key].digest for each in chain[:-1])
        return Member(key, base, new, tuple(digest for digest in between if digest not in {base, new}))

    names = tuple(each.release.name for each in chain)
    return Swap(last.rule.name, names, tuple(make(key) for key in last.rule.files))


def plan_files(candidate: Candidate) -> Iterator[PlannedFile]:
    """Plan the copies of a set's files, from exactly the staged versions."""
    for key, delivery in candidate.rule.files.items():
        stored = candidate.objects[key]
        yield PlannedFile(
            key=key,
            release=candidate.release.name,
            role=candidate.rule.role,
            digest=stored.digest,
            size=stored.size,
            source=stored.version,
            delivery=delivery,
            sign=False,
            artifact=None,
            row=None,
        )


def _list_known(rule: PointerRule, facts: PointerFacts) -> Mapping[str, Collection[Digest]]:
    history = facts.histories.get(rule.name)
    return {key: history.digests.get(key, ()) if history else () for key in rule.files}
