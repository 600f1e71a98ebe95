"""The order of sets that were built on each other, and those that have no place in one."""

from collections.abc import Mapping
from dataclasses import dataclass

from publisher.core.digests import Digest

State = tuple[Digest | None, ...]
"""What the files of a set are at one time, in the set's order; None where there is no such file."""


@dataclass(frozen=True, slots=True)
class Built:
    """What a staged set was built from, and what it makes of it."""

    base: State
    new: State


@dataclass(frozen=True, slots=True)
class Chain:
    """Which staged sets lead from what is public to what shall be, one built on the other, in `order`.

    The others have no place in it: `forks` were built from the same, `circle` on each other, `stale` from
    what is neither public nor staged, and `after` on one of these, which it names.
    """

    order: tuple[str, ...]
    forks: tuple[str, ...]
    circle: tuple[str, ...]
    stale: tuple[str, ...]
    after: Mapping[str, str]


def order_sets(sets: Mapping[str, Built], public: State) -> Chain:
    """Put `sets` (by their names) in the order in which they were built, beginning at what is `public`."""
    order, forks = _walk(sets, public)
    left = [name for name in sorted(sets) if name not in order and name not in forks]
    below = {name: maker for name in left if (maker := _find_maker(name, sets))}
    circle = tuple(name for name in below if _is_endless(name, below))
    return Chain(
        order=order,
        forks=forks,
        circle=circle,
        stale=tuple(name for name in left if name not in below),
        after={name: maker for name, maker in below.items() if name not in circle},
    )


def _walk(sets: Mapping[str, Built], public: State) -> tuple[tuple[str, ...], tuple[str, ...]]:
    order: list[str] = []
    at = public
    while True:
        following = [name for name in sorted(sets) if sets[name].base == at and name not in order]
        if len(following) != 1:
            return tuple(order), tuple(following)
        order += following
        at = sets[following[0]].new


def _find_maker(name: str, sets: Mapping[str, Built]) -> str | None:
    """Find the other set that makes what `name` was built from."""
    makers = (other for other in sorted(sets) if other != name and sets[other].new == sets[name].base)
    return next(makers, None)


def _is_endless(name: str, below: Mapping[str, str]) -> bool:
    """Tell whether going down from `name` never ends."""
    seen: set[str] = set()
    while name in below and name not in seen:
        seen.add(name)
        name = below[name]
    return name in seen
