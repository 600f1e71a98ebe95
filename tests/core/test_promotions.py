"""How far a promotion is, and what its records say."""

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from itertools import combinations

import pytest

from publisher.core.promotions import Phase, judge_phase, make_records
from tests.support.builders import COMMIT, NOON, RELEASE, a_file, a_plan, a_refusal, a_waiver

MARKS = (Phase.LIVE, Phase.DONE, Phase.ABANDONED)


@pytest.mark.parametrize(
    ("marks", "phase"),
    [
        ((), Phase.PLANNED),
        ((Phase.ABANDONED,), Phase.ABANDONED),
        ((Phase.LIVE,), Phase.LIVE),
        ((Phase.LIVE, Phase.ABANDONED), Phase.LIVE),
        ((Phase.LIVE, Phase.DONE), Phase.DONE),
        ((Phase.DONE,), Phase.DONE),
        (("live",), Phase.LIVE),
    ],
)
def test_done_beats_live_and_live_beats_abandoned(marks: Collection[str], phase: Phase) -> None:
    assert judge_phase(marks, gated=False) is phase


@pytest.mark.parametrize(
    "marks", [marks for length in range(len(MARKS) + 1) for marks in combinations(MARKS, length)]
)
def test_a_promotion_that_the_gate_shows_or_has_withdrawn_is_live_unless_it_is_done(
    marks: Collection[str],
) -> None:
    phase = judge_phase(marks, gated=True)

    assert phase is (Phase.DONE if Phase.DONE in marks else Phase.LIVE)


def test_each_release_of_a_plan_has_a_record_of_its_own_files() -> None:
    mine, other = a_file(f"{RELEASE}/a"), a_file("1.2.1/a", release="1.2.1")
    plan = a_plan(mine, other, releases=(RELEASE, "1.2.1"))

    records = make_records(plan, "the finisher", NOON)

    assert [(record.release, record.files) for record in records] == [(RELEASE, (mine,)), ("1.2.1", (other,))]


def test_a_record_says_who_planned_who_finished_and_against_what() -> None:
    waiver, refusal = a_waiver("missing:*"), a_refusal()
    plan = replace(a_plan(waivers=(waiver,)), waived=(refusal,))
    later = NOON + timedelta(hours=1)

    (record,) = make_records(plan, "the finisher", later)

    assert (record.promotion, record.plan_digest) == (plan.id, plan.digest)
    assert (record.number, record.commit, record.attempt) == (1, COMMIT, 1)
    assert (record.promoter, record.planned) == (plan.who, NOON)
    assert (record.finisher, record.recorded) == ("the finisher", later)
    assert (record.waivers, record.waived) == ((waiver,), (refusal,))
    assert (record.profile, record.profile_digest) == (plan.profile, plan.profile_digest)
