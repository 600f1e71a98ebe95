"""Refusals and waivers: reasons not to act, as values that every output can show."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

WAIVABLE = frozenset({"missing", "extra", "hold"})
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

    `subject` is matched as a whole, with `*` and `?` as in file names.
    """

    rule: str
    subject: str
    reason: str

    def covers(self, refusal: Refusal) -> bool:
        """Tell whether this waiver sets `refusal` aside."""
        return (
            self.rule in WAIVABLE and self.rule == refusal.rule and fnmatchcase(refusal.subject, self.subject)
        )


def apply_waivers(
    refusals: Iterable[Refusal], waivers: Iterable[Waiver]
) -> tuple[tuple[Refusal, ...], tuple[Refusal, ...]]:
    """Split `refusals` into those that stand and those that a waiver covers.

    A waiver that covers nothing becomes a refusal itself: it was meant for a world that is not this one.
    """
    refusals = tuple(refusals)
    waivers = tuple(waivers)
    waived = tuple(r for r in refusals if any(w.covers(r) for w in waivers))
    idle = tuple(
        Refusal(
            rule="idle-waiver",
            subject=f"{waiver.rule}:{waiver.subject}",
            found="nothing that it would set aside",
            expected="a waiver for each thing that stands in the way, and no other",
            cure=f"run again without --waive {waiver.rule}:{waiver.subject}",
        )
        for waiver in waivers
        if not any(waiver.covers(refusal) for refusal in refusals)
    )
    return tuple(r for r in refusals if r not in waived) + idle, waived
