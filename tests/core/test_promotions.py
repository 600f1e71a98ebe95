"""How far a promotion is, and what its records say."""

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from itertools import combinations

import pytest

from publisher.core.digests import of_bytes
from publisher.core.promotions import (
    Amendment,
    Phase,
    Record,
    find_amended,
    fold,
    judge_phase,
    make_records,
)
from tests.support.builders import (
    COMMIT,
    NOON,
    RELEASE,
    SIG,
    SIGNER,
    TGZ,
    a_file,
    a_plan,
    a_refusal,
    a_stored,
    a_waiver,
)

ONE, TWO, THREE = (of_bytes(data) for data in (b"one", b"two", b"three"))
MARKS = (Phase.LIVE, Phase.DONE, Phase.ABANDONED)


def a_record(**files: str) -> Record:
    """Make the record of a promotion of files, given as the text of each by its name."""
    plan = a_plan(*(a_file(name, data) for name, data in files.items()))
    (record,) = make_records(plan, "the finisher", NOON, {})
    return record


def an_amendment(key: str, before: str, after: str) -> Amendment:
    stored = a_stored(after, f"_rm/{RELEASE}/{key}")
    return Amendment(
        schema=1,
        release=RELEASE,
        number=2,
        key=key,
        artifact=TGZ,
        replaces=of_bytes(before.encode()),
        digest=stored.digest,
        size=stored.size,
        source=stored.version,
        reason="it was of the release candidate",
        who="an ARN",
        when=NOON,
    )


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

    records = make_records(plan, "the finisher", NOON, {})

    assert [(record.release, record.files) for record in records] == [(RELEASE, (mine,)), ("1.2.1", (other,))]


def test_a_record_says_who_planned_who_finished_and_against_what() -> None:
    waiver, refusal = a_waiver("missing:*"), a_refusal()
    plan = replace(a_plan(waivers=(waiver,)), waived=(refusal,))
    later = NOON + timedelta(hours=1)

    (record,) = make_records(plan, "the finisher", later, {})

    assert (record.promotion, record.plan_digest) == (plan.id, plan.digest)
    assert (record.number, record.commit, record.attempt) == (1, COMMIT, 1)
    assert (record.promoter, record.planned) == (plan.who, NOON)
    assert (record.finisher, record.recorded) == ("the finisher", later)
    assert (record.waivers, record.waived) == ((waiver,), (refusal,))
    assert (record.profile, record.profile_digest) == (plan.profile, plan.profile_digest)


def test_a_record_names_whose_signatures_counted() -> None:
    plan = a_plan()
    signed = replace(plan, releases=tuple(replace(r, identities=(SIGNER,)) for r in plan.releases))

    assert [record.identities for record in make_records(plan, "the finisher", NOON, {})] == [()]
    assert [record.identities for record in make_records(signed, "the finisher", NOON, {})] == [(SIGNER,)]


def test_a_record_says_which_steps_were_given_up_and_why() -> None:
    given_up = {"listing": "the database is down"}

    assert [record.given_up for record in make_records(a_plan(), "the finisher", NOON, {})] == [{}]
    assert [record.given_up for record in make_records(a_plan(), "the finisher", NOON, given_up)] == [
        given_up
    ]


def test_the_files_of_all_records_are_what_should_be_public() -> None:
    assert fold([]) == {}
    assert fold([a_record(a="one", b="two"), a_record(c="three")]) == {"a": ONE, "b": TWO, "c": THREE}


def test_an_amendment_counts_from_where_it_stands_among_the_records() -> None:
    records = [a_record(a="one", b="one"), an_amendment("b", "one", "two")]

    assert fold(records) == {"a": ONE, "b": TWO}
    assert fold([*records, an_amendment("b", "two", "three")]) == {"a": ONE, "b": THREE}
    assert fold([*records, a_record(c="three")]) == {"a": ONE, "b": TWO, "c": THREE}


def test_every_digest_that_a_sidecar_had_before_it_was_amended_is_known() -> None:
    first, second = an_amendment(SIG, "one", "two"), an_amendment(SIG, "two", "three")
    other = an_amendment(f"{SIG}2", "three", "one")

    assert find_amended([a_record(a="one")]) == {}
    assert find_amended([a_record(a="one"), first, other, second]) == {
        SIG: {ONE, TWO},
        f"{SIG}2": {THREE},
    }
