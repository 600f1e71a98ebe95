"""Faults: what an audit or an adoption found, as values that every output can show."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

FEW: Final = 3
"""How many names a text gives as examples."""


class Weight(StrEnum):
    """What a fault asks for: that somebody acts, that somebody looks, or nothing; the worst first."""

    FAULT = "fault"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is not as it should be (or, of less weight, worth knowing), and what to do about it."""

    rule: str
    subject: str
    found: str
    expected: str
    cure: str
    weight: Weight = Weight.FAULT
