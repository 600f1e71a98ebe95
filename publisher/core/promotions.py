"""How far a promotion has come, judged by its markers and by nothing else."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from publisher.core.plan import Plan, PlannedFile
from publisher.core.refusals import Refusal, Waiver


class Phase(StrEnum):
    """The phases of a promotion: live can only become done, abandoned is the end of one never live."""

    PLANNED = "planned"
    LIVE = "live"
    DONE = "done"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True)
class Mark:
    """live.json, done.json or abandoned.json: who did it, when, and why if there is more to say."""

    schema: Literal[1]
    promotion: str
    who: str
    when: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Record:
    """`_state/records/<release>/<n>.json`: what one promotion made public of one release."""

    schema: Literal[1]
    promotion: str
    release: str
    number: int
    commit: str | None
    attempt: int
    files: tuple[PlannedFile, ...]
    waivers: tuple[Waiver, ...]
    waived: tuple[Refusal, ...]
    profile: str
    profile_digest: str
    plan_digest: str
    promoter: str
    planned: datetime
    finisher: str
    recorded: datetime


def judge_phase(marks: Collection[str], *, gated: bool) -> Phase:
    """Judge a promotion with a plan by the names of its markers and by the gate.

    Done beats live, live beats abandoned. `gated` tells that the gate shows or has withdrawn it.
    """
    if Phase.DONE in marks:
        return Phase.DONE
    if Phase.LIVE in marks or gated:
        return Phase.LIVE
    return Phase.ABANDONED if Phase.ABANDONED in marks else Phase.PLANNED


def make_records(plan: Plan, finisher: str, when: datetime) -> tuple[Record, ...]:
    """Make the record of each release of a plan whose files are all public."""
    return tuple(
        Record(
            schema=plan.schema,
            promotion=plan.id,
            release=release.name,
            number=release.number,
            commit=release.commit,
            attempt=release.attempt,
            files=tuple(file for file in plan.files if file.release == release.name),
            waivers=plan.waivers,
            waived=plan.waived,
            profile=plan.profile,
            profile_digest=plan.profile_digest,
            plan_digest=plan.digest,
            promoter=plan.who,
            planned=plan.when,
            finisher=finisher,
            recorded=when,
        )
        for release in plan.releases
    )
