"""Waivers: what the release manager may set aside, and what nobody can."""

import pytest

from publisher.core.refusals import Refusal, apply_waivers
from tests.support.builders import EXE, TGZ, a_refusal, a_waiver


@pytest.mark.parametrize("rule", ["missing", "extra", "hold", "pointer"])
def test_a_waivable_refusal_is_set_aside_by_its_waiver(rule: str) -> None:
    refusal = a_refusal(rule)

    assert apply_waivers([refusal], [a_waiver(f"{rule}:{TGZ}")]) == ((), (refusal,))


@pytest.mark.parametrize(
    "rule",
    [
        "digest",
        "role",
        "commit",
        "attempt",
        "public",
        "hand-over",
        "key",
        "series",
        "provision",
        "not-open",
        "signature",
        "sbom",
        "identity",
        "alias",
    ],
)
def test_no_other_refusal_can_be_waived(rule: str) -> None:
    refusal = a_refusal(rule)
    standing, waived = apply_waivers([refusal], [a_waiver(f"{rule}:{TGZ}")])

    assert waived == ()
    assert standing == (
        refusal,
        Refusal(
            "idle-waiver",
            f"{rule}:{TGZ}",
            f"a waiver of {rule!r}",
            "one of extra, hold, missing, pointer",
            f"run again without --waive {rule}:{TGZ}",
        ),
    )


def test_a_refusal_without_a_waiver_stands() -> None:
    assert apply_waivers([a_refusal()], []) == ((a_refusal(),), ())


def test_a_waiver_of_another_rule_or_subject_sets_nothing_aside() -> None:
    refusals = [a_refusal("missing", TGZ), a_refusal("extra", EXE)]
    waivers = [a_waiver(f"extra:{TGZ}"), a_waiver(f"missing:{EXE}")]
    standing, waived = apply_waivers(refusals, waivers)

    assert waived == ()
    assert [(refusal.rule, refusal.subject) for refusal in standing] == [
        ("missing", TGZ),
        ("extra", EXE),
        ("idle-waiver", f"extra:{TGZ}"),
        ("idle-waiver", f"missing:{EXE}"),
    ]


def test_a_waiver_that_sets_nothing_aside_stands_in_the_way_itself() -> None:
    (refusal,), _ = apply_waivers([], [a_waiver("hold:qa/1.2.0")])

    assert refusal == Refusal(
        "idle-waiver",
        "hold:qa/1.2.0",
        "nothing that it would set aside",
        "waivers of what stands in the way, and no other",
        "run again without --waive hold:qa/1.2.0",
    )


@pytest.mark.parametrize(
    ("subject", "pattern", "covers"),
    [
        ("windows/1.2.0", "windows/*", True),
        ("a/b.exe", "a/?.exe", True),
        ("a/b.exe", "*", True),
        ("a/b.exe", "a/b", False),
        ("A/b.exe", "a/b.exe", False),
        ("a/copy[1].exe", "a/copy[1].exe", True),
        ("a/copy1.exe", "a/copy[1].exe", False),
        ("a/[!x].exe", "a/[!x]*", True),
    ],
)
def test_a_waiver_matches_a_whole_subject_by_stars_and_question_marks(
    subject: str, pattern: str, covers: bool
) -> None:
    assert a_waiver(f"extra:{pattern}").covers(a_refusal("extra", subject)) is covers


def test_one_waiver_can_set_several_refusals_aside_and_two_the_same_one() -> None:
    refusals = (a_refusal("missing", "a"), a_refusal("missing", "b"))

    assert apply_waivers(refusals, [a_waiver("missing:*"), a_waiver("missing:a")]) == ((), refusals)
