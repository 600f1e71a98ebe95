"""The only place that prints: the answer on stdout, the conversation on stderr."""

import io
import json
import shlex
import sys
from collections.abc import Iterable, Iterator
from functools import singledispatchmethod
from itertools import groupby
from threading import Lock

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from publisher.answers import make_answer
from publisher.core.decide import Decision
from publisher.core.plan import Plan
from publisher.core.profile import RM
from publisher.core.refusals import WAIVABLE, Refusal
from publisher.core.status import ReleaseStatus, RoleStatus, Stage
from publisher.errors import Exit, PublisherError
from publisher.outcomes import (
    Declined,
    GateRebuilt,
    Held,
    Opened,
    Outcome,
    Planned,
    Promoted,
    Refused,
    Reported,
    Uploaded,
)

_SHOWN = 5
"""How many names of a long list are shown; `--json` lists them all."""


class Output:
    """Prints outcomes and errors, and is the observer that shows a command's progress."""

    def __init__(self, *, as_json: bool, quiet: bool) -> None:
        self._json = as_json
        self._quiet = quiet
        self.out = _make_console(stderr=False)
        self.err = _make_console(stderr=True)
        self._progress: Progress | None = None
        self._task = TaskID(0)
        self._done = 0
        self._lock = Lock()

    def show(self, command: str, outcome: Outcome) -> None:
        """Print a command's outcome."""
        if self._json:
            self._print_json(make_answer(command, outcome))
        elif not (self._quiet and outcome.status is Exit.DONE):
            self._show(outcome)

    def show_plan(self, decision: Decision) -> None:
        """Print what is about to be done, for the release manager to review."""
        console = self.err if self._json else self.out
        for line in _describe_plan(decision):
            console.print(line)

    def show_error(self, command: str, error: PublisherError) -> None:
        """Print what went wrong and what to do next."""
        if self._json:
            answer = {"schema": 1, "command": command, "exit": int(error.exit_status), "result": "error"}
            self._print_json({**answer, "error": str(error), "next": error.next_step})
        self.err.print(Text.assemble(("error: ", "bold red"), str(error)))
        if error.next_step:
            self.err.print(f"  next     {error.next_step}")

    def step(self, name: str, detail: str) -> None:
        """Show that a step begins."""
        if not self._quiet:
            self.err.print(f"  {name:<9}{detail}")

    def warn(self, text: str) -> None:
        """Show a warning, unless there is to be silence."""
        if not self._quiet:
            self.err.print(Text.assemble(("warning: ", "yellow"), text))

    def expect(self, files: int, size: int) -> None:
        """Show a bar, on a terminal only."""
        if self._quiet or not self.err.is_terminal:
            return
        self._progress = Progress(
            BarColumn(),
            TextColumn("{task.fields[done]}/{task.fields[files]} files"),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=self.err,
            transient=True,
        )
        self._done = 0
        self._task = self._progress.add_task("", total=size, done=0, files=files)
        self._progress.start()

    def advance(self, key: str, size: int) -> None:
        """Move the bar."""
        _ = key
        with self._lock:
            if self._progress:
                self._done += 1
                self._progress.update(self._task, advance=size, done=self._done)

    def finish(self) -> None:
        """Take the bar away."""
        if self._progress:
            self._progress.stop()
        self._progress = None

    def _print_json(self, answer: object) -> None:
        self.out.print(json.dumps(answer, indent=2))

    @singledispatchmethod
    def _show(self, outcome: Outcome) -> None:
        raise TypeError(type(outcome))

    @_show.register
    def _(self, outcome: Refused) -> None:
        self._show_finished(outcome.finished)
        count = len(outcome.refusals)
        reasons = "1 reason" if count == 1 else f"{count} reasons"
        self.out.print(Text.assemble(("refused: ", "bold red"), f"{reasons}; nothing was written"))
        self._print_refusals(outcome.refusals, waivable=outcome.waivable)

    @_show.register
    def _(self, outcome: Declined) -> None:
        _ = outcome
        self.out.print("not done: nothing was written")

    @_show.register
    def _(self, outcome: Promoted) -> None:
        self._show_finished(outcome.finished)
        if outcome.plan is None:
            self.out.print(f"nothing to do: {outcome.already_public} staged files are public already")
            return
        plan = outcome.plan
        self.out.print(
            Text.assemble(
                ("promoted ", "bold green"),
                f"{_name(plan)}: {len(plan.files)} files, {format_size(plan.size)} are public",
            )
        )
        self.out.print(f"  plan      {plan.digest}")
        self.out.print(f"  promotion {plan.id}")
        for release in plan.releases:
            self.out.print(f"  record    _state/records/{release.name}/{release.number}.json")
        self.out.print(f"  streamed  {format_size(outcome.streamed)} of artifacts through this machine")

    @_show.register
    def _(self, outcome: Planned) -> None:
        for promotion in outcome.unfinished:
            self.out.print(f"would finish promotion {promotion}, which is live")
        if outcome.decision:
            self.show_plan(outcome.decision)
            names = " ".join(sorted(outcome.decision.plan.names()))
            self.out.print(
                f"nothing was written; next: publisher promote {names} --plan {outcome.decision.plan.digest}"
            )

    @_show.register
    def _(self, outcome: Opened) -> None:
        at = f" at {outcome.commit}" if outcome.commit else ""
        state = "is open" if outcome.changed else "was open already"
        self.out.print(f"{outcome.release} {state}{at}, attempt {outcome.attempt}")

    @_show.register
    def _(self, outcome: Uploaded) -> None:
        where = f"{outcome.role}/{outcome.release}"
        self.out.print(
            f"staged {where}: {len(outcome.uploaded)} files uploaded ({format_size(outcome.size)}), "
            f"{len(outcome.skipped)} there already, {len(outcome.pruned)} removed"
        )
        if outcome.missing:
            self.warn(f"{len(outcome.missing)} required files are missing: {_shorten(outcome.missing)}")
        if outcome.stale:
            self.warn("the earlier hand-over no longer matches; hand over again: --complete")
        self.out.print(
            "handed over: complete" if outcome.handed_over else "not handed over; when complete: --complete"
        )

    @_show.register
    def _(self, outcome: Held) -> None:
        if outcome.reason is None:
            self.out.print(f"{outcome.role} no longer holds {outcome.release}")
        else:
            self.out.print(f"{outcome.role} holds {outcome.release}: {outcome.reason}")

    @_show.register
    def _(self, outcome: Reported) -> None:
        if not outcome.releases:
            self.out.print("no release in progress; open one: publisher open RELEASE --commit SHA")
        for release in outcome.releases:
            self._show_release(release)
        if outcome.lease:
            lease = outcome.lease
            self.out.print(f"lease: {lease['holder']} for {lease['purpose']}, {lease['expires_in_s']} s left")

    @_show.register
    def _(self, outcome: GateRebuilt) -> None:
        live, planned = len(outcome.live), len(outcome.planned)
        self.out.print(f"the gate is rebuilt; unfinished promotions: {live} live, {planned} planned")
        if outcome.releases:
            self.out.print(f"  next     publisher promote {' '.join(outcome.releases)}")

    def _show_release(self, status: ReleaseStatus) -> None:
        at = f" at {status.commit}" if status.commit else ""
        self.out.print(
            Text.assemble(
                (status.release, "bold"), f"  {status.kind}, attempt {status.attempt}{at}: {status.stage}"
            )
        )
        rows = [row for role in status.roles if (row := _make_row(role))]
        for line in _align([("role", "hand-over", "commit", "artifacts"), *rows]):
            self.out.print(f"  {line}")
        if status.streamed:
            self.warn(f"no whole-file digest in the store, so streamed once: {_shorten(status.streamed)}")
        self._print_refusals(status.refusals, waivable=True)
        if status.stage in {Stage.READY, Stage.PLANNED}:
            self.out.print(f"  next: publisher promote {status.release}")

    def _show_finished(self, finished: Iterable[str]) -> None:
        for promotion in finished:
            self.out.print(f"finished promotion {promotion}, which an earlier run left live")

    def _print_refusals(self, refusals: Iterable[Refusal], *, waivable: bool) -> None:
        for group in _group(refusals):
            first = group[0]
            subjects = _shorten([refusal.subject for refusal in group])
            self.out.print(Text.assemble("  ", (f"{first.rule:<11}", "yellow"), subjects))
            self.out.print(f"    found    {_clean(first.found)}")
            self.out.print(f"    expected {_clean(first.expected)}")
            self.out.print(f"    next     {_clean(first.cure)}")
            if waivable and first.rule in WAIVABLE:
                each = " for each of them," if len(group) > 1 else ""
                waiver = shlex.quote(_clean(f"{first.rule}:{first.subject}"))
                self.out.print(f"    or       --waive {waiver}{each} --reason '…'")


def format_size(size: int) -> str:
    """Write a number of bytes for people, in decimal units."""
    amount = float(size)
    for unit in ("bytes", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.2f} GB"


def _make_console(*, stderr: bool) -> Console:
    file = sys.stderr if stderr else sys.stdout
    console = Console(file=file, highlight=False, markup=False, emoji=False, soft_wrap=True)
    # A name that the terminal's encoding cannot show must not hide what is said about it.
    if isinstance(file, io.TextIOWrapper):
        file.reconfigure(errors="backslashreplace")
    return console


def _name(plan: Plan) -> str:
    return ", ".join(release.name for release in plan.releases)


def _describe_plan(decision: Decision) -> Iterator[str]:
    plan = decision.plan
    yield f"plan {plan.digest}"
    for release in plan.releases:
        files = [file for file in plan.files if file.release == release.name]
        at = f" at {release.commit}" if release.commit else ""
        yield f"  {release.name}, attempt {release.attempt}{at}, promotion number {release.number}"
        roles = sorted({file.role for file in files})
        parts = ", ".join(f"{role} {sum(file.role == role for file in files)}" for role in roles)
        yield f"    create {len(files)} files, {format_size(sum(file.size for file in files))}: {parts}"
    if decision.skipped:
        yield f"    skip   {decision.skipped} files that are public already"
    if decision.streamed:
        yield f"    streamed {format_size(decision.streamed)}: no whole-file digest in the store"
    for refusal in plan.waived:
        reason = next(waiver.reason for waiver in plan.waivers if waiver.covers(refusal))
        yield f"    waived {refusal.rule}:{refusal.subject} because {reason}"


def _group(refusals: Iterable[Refusal]) -> Iterator[list[Refusal]]:
    """Put refusals together that differ in nothing but their subject."""

    def alike(refusal: Refusal) -> tuple[str, str, str, str]:
        return refusal.rule, refusal.found, refusal.expected, refusal.cure

    for _, group in groupby(refusals, alike):
        yield list(group)


def _shorten(names: Iterable[str]) -> str:
    names = [_clean(name) for name in names]
    more = f" … and {len(names) - _SHOWN} more (--json lists all)" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _clean(text: str) -> str:
    """Show what cannot be seen: names in a bucket are anybody's, and a terminal obeys some characters."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def _make_row(role: RoleStatus) -> tuple[str, ...] | None:
    """Write a role's line of a status; the release manager's needs none while there are no sidecars."""
    counts = ", ".join(f"{count} {standing}" for standing, count in sorted(role.counts.items()))
    if role.role == RM and not counts:
        return None
    said = ("yes" if role.handed_over else "no") if role.delivers else "tests"
    return role.role, f"{said}, holds" if role.hold else said, (role.commit or "")[:12], counts


def _align(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    rows = list(rows)
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
