"""What is known of pointers before anything is decided: what builders claim, and how the world is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from publisher.core.digests import Digest
from publisher.core.pointers_links import Site
from publisher.core.pointers_swap import History


@dataclass(frozen=True, slots=True)
class Claim:
    """What a builder says of a set: each file's digest that it was built from (None: absent).

    It waits for the releases that it `requires`, besides its own.
    """

    base: Mapping[str, Digest | None]
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PointerFacts:
    """What the world looks like to pointers.

    `current` gives the digests of the public ones, `histories` what is known of those before, by set. `owed`
    names the sets that a live promotion has yet to swap, and its releases. `promoted` are the releases that
    are public, `linked` those of the links in staged sets that lead to something public.
    """

    current: Mapping[str, Digest]
    histories: Mapping[str, History]
    owed: Mapping[str, tuple[str, ...]]
    promoted: frozenset[str]
    linked: frozenset[str]
    site: Site

    def knows(self, rule: str, key: str, digest: Digest) -> bool:
        """Tell whether a file of the set `rule` is public with `digest`, or was, or was passed over."""
        history = self.histories.get(rule)
        return self.current.get(key) == digest or (
            history is not None and digest in history.digests.get(key, ())
        )


NOTHING_KNOWN: Final = PointerFacts({}, {}, {}, frozenset(), frozenset(), Site(()))
"""What is known where nothing was asked, because the profile has no sets."""
