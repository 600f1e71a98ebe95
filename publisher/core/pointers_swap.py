"""Swaps: what a promotion makes of a set of mutable public files, and how far it has got with one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from publisher.core.digests import Digest

SCHEMA: Final = 1


class Verdict(StrEnum):
    """What is left to do with something mutable. Superseded: it was moved on by somebody else meanwhile."""

    SWAP = "swap"
    DONE = "done"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a set: the digest that it is swapped from (None: there is no such file yet) and to.

    `passed` are digests that sets of the same run gave it in between; they were never public by themselves.
    """

    key: str
    base: Digest | None
    new: Digest
    passed: tuple[Digest, ...] = ()


@dataclass(frozen=True, slots=True)
class Swap:
    """A set to be swapped, its members in the order in which they are written.

    `releases` names whose set it is: the last one's bytes, which were built on the others', in their order.
    Two runs meet at the first member that both of them change, so the one that always changes comes first.
    """

    name: str
    releases: tuple[str, ...]
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a swap has got: of each member, what is left to do with it."""

    swap: Swap
    verdicts: Mapping[str, Verdict]

    @property
    def state(self) -> Verdict:
        """Sum up: superseded if any member is, else to be swapped if any member is, else done."""
        found = self.verdicts.values()
        return next((v for v in (Verdict.SUPERSEDED, Verdict.SWAP) if v in found), Verdict.DONE)

    @property
    def due(self) -> Member | None:
        """Give the one member that may be written now; none, if the set is done or superseded.

        Whoever lost the first member leaves the others alone: that is what keeps a set whole.
        """
        if self.state is not Verdict.SWAP:
            return None
        return next(m for m in self.swap.members if self.verdicts[m.key] is Verdict.SWAP)

    @property
    def superseded(self) -> tuple[str, ...]:
        """Name the members that somebody else has moved on."""
        return tuple(key for key, verdict in self.verdicts.items() if verdict is Verdict.SUPERSEDED)

    @property
    def left_behind(self) -> tuple[str, ...]:
        """Name the members that this swap brought into a set which is superseded: it may not be whole."""
        if self.state is not Verdict.SUPERSEDED:
            return ()
        changed = (m.key for m in self.swap.members if m.base != m.new)
        return tuple(key for key in changed if self.verdicts[key] is Verdict.DONE)


@dataclass(frozen=True, slots=True)
class Swapped:
    """How a swap ended: done, superseded (see `Progress`), or still to be made, for it was given up."""

    swap: Swap
    state: Verdict
    superseded: tuple[str, ...] = ()
    left_behind: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """`_state/pointers/<set>.json`: by key, every digest that is, was or was passed over on the way."""

    schema: Literal[1]
    name: str
    digests: Mapping[str, tuple[Digest, ...]]


def judge_swap(current: str | None, base: str | None, new: str) -> Verdict:
    """Judge what is left of swapping `base` for `new` where `current` is now; None means that nothing is.

    It looks at nothing else, so it says the same to a first run and to one that was cut off and runs again.
    """
    if current == new:
        return Verdict.DONE
    return Verdict.SWAP if current == base else Verdict.SUPERSEDED


def judge_set(swap: Swap, current: Mapping[str, Digest]) -> Progress:
    """Judge how far `swap` has got, by the digests that its keys have now; a key without one is absent.

    A file that an earlier run left at a digest in between is as good as at its base: the last bytes of the
    swap were built on it.
    """
    return Progress(swap, {m.key: _judge_member(m, current.get(m.key)) for m in swap.members})


def _judge_member(member: Member, current: Digest | None) -> Verdict:
    base = current if current in member.passed else member.base
    return judge_swap(current, base, member.new)


def history_key(name: str) -> str:
    """Give the key of a set's history in the staging bucket."""
    return f"_state/pointers/{name}.json"


def extend_history(history: History | None, swap: Swap) -> History:
    """Add a swap that is done. Adding it again changes nothing; one that is superseded is not to be added."""
    digests = dict(history.digests) if history else {}
    for m in swap.members:
        seen = (*digests.get(m.key, ()), *((m.base,) if m.base else ()), *m.passed, m.new)
        digests[m.key] = tuple(dict.fromkeys(seen))
    return History(SCHEMA, swap.name, digests)


def is_recorded(history: History | None, swap: Swap) -> bool:
    """Tell whether a swap is done by its history, whatever others have made of the set since."""
    return history is not None and extend_history(history, swap) == history


def list_swapped(swaps: Iterable[Swap], found: Iterable[Swapped]) -> tuple[Swapped, ...]:
    """Give how each of `swaps` ended by what was `found`, or that it is still to be made."""
    ends = {each.swap.name: each for each in found}
    return tuple(ends.get(swap.name, Swapped(swap, Verdict.SWAP)) for swap in swaps)
