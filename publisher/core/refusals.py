"""Refusals and waivers: reasons not to act, as values that every output can show."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

WAIVABLE = frozenset({"missing", "extra", "hold", "pointer"})
"""Rules that the release manager may set aside with a reason on record; no other rule can be."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason not to promote.

    `rule` names the rule, `subject` the thing it stopped at; `--waive rule:subject` is how a person
    refers to it. `cure` says what to do.
    """

    rule: str
    subject: str
    found: str
    expected: str
    cure: str


@dataclass(frozen=True, slots=True)
class Waiver:
    """The release manager's decision to go on against the refusals it matches.

    `subject` is matched as a whole; `*` and `?` stand for others as in file names, brackets for themselves.
    """

    rule: str
    subject: str
    reason: str

    def covers(self, refusal: Refusal) -> bool:
        """Tell whether this waiver sets `refusal` aside."""
        pattern = self.subject.replace("[", "[[]")
        return self.rule in WAIVABLE and self.rule == refusal.rule and fnmatchcase(refusal.subject, pattern)


def apply_waivers(
    refusals: Iterable[Refusal], waivers: Iterable[Waiver]
) -> tuple[tuple[Refusal, ...], tuple[Refusal, ...]]:
    """Split `refusals` into those that stand and those that a waiver covers.

    A waiver that covers nothing becomes a refusal itself: it was meant for a world that is not this one.
    """
    refusals = tuple(refusals)
    waivers = tuple(waivers)
    waived = tuple(r for r in refusals if any(w.covers(r) for w in waivers))
    idle = tuple(_refuse_idle(w) for w in waivers if not any(w.covers(r) for r in refusals))
    return tuple(r for r in refusals if r not in waived) + idle, waived


def _refuse_idle(waiver: Waiver) -> Refusal:
    name = f"{waiver.rule}:{waiver.subject}"
    found, expected = "nothing that it would set aside", "waivers of what stands in the way, and no other"
    if waiver.rule not in WAIVABLE:
        found, expected = f"a waiver of {waiver.rule!r}", f"one of {', '.join(sorted(WAIVABLE))}"
    return Refusal("idle-waiver", name, found, expected, f"run again without --waive {name}")
