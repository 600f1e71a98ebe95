"""What people read: sizes, groups of refusals, plans, and progress."""

import io
import sys
from dataclasses import replace

import pytest

from publisher.core.decide import Decision
from publisher.core.refusals import Refusal
from publisher.errors import PublisherError
from publisher.outcomes import Declined, GateRebuilt, Held, Opened, Planned, Promoted, Refused
from publisher.output import Output
from publisher.wording import format_size
from tests.support.builders import RELEASE, a_file, a_plan, a_waiver

Captured = pytest.CaptureFixture[str]


def an_output(*, quiet: bool = False) -> Output:
    return Output(as_json=False, quiet=quiet)


def a_missing(subject: str, cure: str = "upload it") -> Refusal:
    return Refusal("missing", subject, "nothing", "it staged", cure)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (1_000_000, "1.0 MB"),
        (29_123_456, "29.1 MB"),
        (5 * 1000**3, "5.00 GB"),
        (2500 * 1000**3, "2500.00 GB"),
    ],
)
def test_sizes_are_in_decimal_units(size: int, text: str) -> None:
    assert format_size(size) == text


def test_refusals_that_differ_only_in_their_subject_are_put_together(capsys: Captured) -> None:
    refusals = (a_missing("a"), a_missing("b"), a_missing("c", "ask the builder"))

    an_output().show("promote", Refused(refusals))

    assert capsys.readouterr().out.splitlines() == [
        "refused: 3 reasons; nothing was written",
        "  missing    a, b",
        "    found    nothing",
        "    expected it staged",
        "    next     upload it",
        "    or       --waive missing:a for each of them, --reason '…'",
        "  missing    c",
        "    found    nothing",
        "    expected it staged",
        "    next     ask the builder",
        "    or       --waive missing:c --reason '…'",
    ]


def test_a_long_group_is_shortened(capsys: Captured) -> None:
    an_output().show("promote", Refused(tuple(a_missing(str(number)) for number in range(7))))

    assert "  missing    0, 1, 2, 3, 4 … and 2 more (--json lists all)\n" in capsys.readouterr().out


def test_one_reason_is_one_reason(capsys: Captured) -> None:
    an_output().show("promote", Refused((a_missing("a"),)))

    assert capsys.readouterr().out.startswith("refused: 1 reason; nothing was written\n")


def test_a_waiver_can_be_pasted_whatever_the_subject_is(capsys: Captured) -> None:
    an_output().show("promote", Refused((a_missing("it's [odd].bin"),)))

    assert """--waive 'missing:it'"'"'s [odd].bin' --reason""" in capsys.readouterr().out


@pytest.mark.parametrize("refusal", [Refusal("digest", "a", "x", "y", "z"), a_missing("a")])
def test_no_waiver_is_suggested_where_none_helps(capsys: Captured, refusal: Refusal) -> None:
    an_output().show("upload", Refused((refusal,), waivable=False))
    an_output().show("promote", Refused((Refusal("digest", "a", "x", "y", "z"),)))

    assert "--waive" not in capsys.readouterr().out


def test_a_plan_tells_releases_files_by_role_what_is_skipped_streamed_and_waived(capsys: Captured) -> None:
    plan = a_plan(
        a_file(), replace(a_file("other"), role="windows", size=2_000_000), waivers=(a_waiver("missing:*"),)
    )
    # What is waived is part of what the digest stands for.
    plan = replace(plan, waived=(a_missing("a"),))

    an_output().show_plan(Decision(plan, skipped=3, streamed=1500))

    assert capsys.readouterr().out.splitlines() == [
        f"plan {plan.digest}",
        f"  {RELEASE}, attempt 1 at {'c' * 40}, promotion number 1",
        "    create 2 files, 2.0 MB: source 1, windows 1",
        "    skip   3 files, public already",
        "    streamed 1.5 kB: no whole-file digest in the store, or an OpenPGP signature to check",
        "    waived missing:a because known and accepted",
    ]


def test_a_dry_run_names_live_promotions_that_would_be_finished_first(capsys: Captured) -> None:
    an_output().show("promote", Planned(None, ("p1",), ("1.2.3",)))

    assert capsys.readouterr().out == "would finish promotion p1, which is live\n"


def test_promotions_that_were_finished_first_are_named(capsys: Captured) -> None:
    an_output().show("promote", Refused((a_missing("a"),), ("p1",)))
    an_output().show("promote", Promoted(None, ("p2",), 2, 0))
    an_output().show("promote", Declined(("p3",)))

    out = capsys.readouterr().out
    assert "finished promotion p1, which an earlier run left live" in out
    assert "finished promotion p2, which an earlier run left live" in out
    assert (
        "finished promotion p3, which an earlier run left live\nnot done: nothing else was written\n" in out
    )


def test_a_no_says_that_nothing_was_written(capsys: Captured) -> None:
    an_output().show("promote", Declined())

    assert capsys.readouterr().out == "not done: nothing was written\n"


def test_a_rebuilt_gate_names_what_to_run_next(capsys: Captured) -> None:
    an_output().show("gate rebuild", GateRebuilt(("p1",), (), (RELEASE,)))

    out = capsys.readouterr().out
    assert "1 live, 0 planned" in out
    assert f"next     publisher promote {RELEASE}" in out


def test_a_release_without_a_commit_is_shown_without_one(capsys: Captured) -> None:
    an_output().show("open", Opened(RELEASE, None, 1, changed=False))

    assert capsys.readouterr().out == f"{RELEASE} was open already, attempt 1\n"


def test_an_error_without_a_next_step_is_one_line(capsys: Captured) -> None:
    an_output().show_error("open", PublisherError("it failed"))

    streams = capsys.readouterr()
    assert streams.err == "error: it failed\n"
    assert streams.out == ""


def test_long_lines_are_left_whole_for_pasting(capsys: Captured) -> None:
    an_output().show_error("open", PublisherError("word " * 60))

    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(("quiet", "lines"), [(False, 2), (True, 0)])
def test_steps_and_warnings_are_lines_of_stderr_unless_quiet(
    capsys: Captured, *, quiet: bool, lines: int
) -> None:
    output = an_output(quiet=quiet)

    output.step("copy", "promotion p1")
    output.warn("a [b] c")
    output.expect(2, 10)
    output.advance("a", 5)
    output.finish()

    streams = capsys.readouterr()
    assert streams.out == ""
    assert len(streams.err.splitlines()) == lines
    assert quiet or "warning: a [b] c" in streams.err


def test_a_long_name_of_a_step_is_kept_apart_from_what_is_said(capsys: Captured) -> None:
    an_output().step("pymanager", "not handed over")

    assert capsys.readouterr().err == "  pymanager not handed over\n"


def test_a_bar_is_shown_on_a_terminal_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Screen()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stderr", screen)
    output = an_output()

    output.expect(2, 10)
    output.advance("a", 5)
    output.finish()
    output.finish()

    assert "1/2 files" in screen.getvalue()


class GoneError(BrokenPipeError):
    """Nobody reads any more."""


class Gone(io.StringIO):
    """A stream whose reader went away."""

    def write(self, text: str) -> int:
        raise GoneError


def test_a_reader_that_went_away_does_not_stop_what_is_being_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Gone())
    monkeypatch.setattr(sys, "stdout", Gone())
    output = Output(as_json=False, quiet=False)

    output.step("go live", "one key")
    output.warn("something")
    output.step("place", "files")
    output.show("hold", Held("1.2.3", "qa", "wait"))
