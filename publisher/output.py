"""The only place that prints: the answer on stdout, the conversation on stderr."""

import codecs
import io
import json
import shlex
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import singledispatchmethod

from rich.console import Console
from rich.text import Text

from publisher.answers import make_answer
from publisher.core.decide import Decision
from publisher.core.delivery import Standing
from publisher.core.faults import Fault, Weight
from publisher.core.refusals import WAIVABLE, Refusal
from publisher.core.status import ReleaseStatus, RoleStatus, Stage
from publisher.core.withdrawals import Preview
from publisher.errors import Exit, PublisherError
from publisher.outcomes import (
    AdoptedTree,
    Amended,
    AnnouncedReleases,
    Attached,
    Audited,
    Declined,
    Drafted,
    Fetched,
    GateRebuilt,
    Held,
    Indexed,
    ListedRelease,
    Opened,
    Outcome,
    Planned,
    Promoted,
    Refused,
    Reported,
    Restored,
    Script,
    Shared,
    SignedReleases,
    Uploaded,
    Verified,
    Waited,
    Withdrawn,
)
from publisher.progress import Progress
from publisher.wording import (
    SHOWN,
    clean,
    count_files,
    describe_plan,
    describe_role,
    describe_session,
    describe_swapped,
    describe_weights,
    describe_withdrawal,
    format_size,
    format_time,
    group,
    group_faults,
    name_plan,
    shorten,
)

_FEW = 3
_SPELL = "publisher-spell"
_SIGNS = {"\N{HORIZONTAL ELLIPSIS}": "...", "\N{MIDDLE DOT}": "-"}


class Output:
    """Prints outcomes and errors, and is the observer that shows a command's progress."""

    def __init__(self, *, as_json: bool, quiet: bool) -> None:
        self._json = as_json
        self._quiet = quiet
        self.out = _make_console(stderr=False)
        self.err = _make_console(stderr=True)
        self._progress = Progress(self.err, silent=quiet)

    def show(self, command: str, outcome: Outcome) -> None:
        """Print a command's outcome."""
        if self._json:
            self._print_json(make_answer(command, outcome))
        elif isinstance(outcome, Shared | Script) or not (self._quiet and outcome.status is Exit.DONE):
            self._show(outcome)

    def show_plan(self, decision: Decision) -> None:
        """Print what is about to be done, for the release manager to review."""
        console = self.err if self._json else self.out
        for line in describe_plan(decision):
            console.print(line)

    def show_withdrawal(self, preview: Preview) -> None:
        """Print what is about to be withdrawn or restored, for the release manager to confirm."""
        for line in describe_withdrawal(preview):
            self.err.print(line)

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
            self._say(f"  {name:<8} {detail}")

    def note(self, text: str) -> None:
        """Show what came of the step under way."""
        if not self._quiet:
            self._say(f"  {'':8} {clean(text)}")

    def warn(self, text: str) -> None:
        """Show a warning, unless there is to be silence."""
        if not self._quiet:
            self._say(Text.assemble(("warning: ", "yellow"), text))

    def _say(self, text: str | Text) -> None:
        # Nobody may be listening any more; that must not stop what is being done.
        with suppress(OSError):
            self.err.print(text)

    def expect(self, files: int, size: int) -> None:
        """Show how far `files` are: by a bar on a terminal, now and then by a line elsewhere."""
        self._progress.begin(files, size)

    def advance(self, key: str, size: int) -> None:
        """Count one more file as done, and the bytes of it that were not counted yet."""
        _ = key
        self._progress.move(size, files=1)

    def move(self, size: int) -> None:
        """Count some bytes of a file."""
        self._progress.move(size)

    def finish(self) -> None:
        """Take the bar away."""
        self._progress.end()

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
        nothing = "nothing else" if outcome.finished else "nothing"
        self.out.print(Text.assemble(("refused: ", "bold red"), f"{reasons}; {nothing} was written"))
        self._print_refusals(outcome.refusals, waivable=outcome.waivable)

    @_show.register
    def _(self, outcome: Declined) -> None:
        self._show_finished(outcome.finished)
        self.out.print(f"not done: nothing {'else ' if outcome.finished else ''}was written")

    @_show.register
    def _(self, outcome: Promoted) -> None:
        self._show_finished(outcome.finished)
        if outcome.plan is None:
            self.out.print(f"nothing to do: {count_files(outcome.already_public)} staged, public already")
            return
        plan = outcome.plan
        self.out.print(
            Text.assemble(
                ("promoted ", "bold green"),
                f"{name_plan(plan)}: {count_files(len(plan.files))}, {format_size(plan.size)} made public",
            )
        )
        for ended in outcome.swapped:
            self.out.print(f"  pointers  {ended.swap.name}: {describe_swapped(ended)}")
        for alias in plan.aliases:
            self.out.print(f"  alias     {alias.name}/ to {alias.target}/")
        self.out.print(f"  plan      {plan.digest}")
        self.out.print(f"  promotion {plan.id}")
        for release in plan.releases:
            public = f", public as {release.record.key}" if release.record else ""
            self.out.print(f"  record    _state/records/{release.name}/{release.number}.json{public}")
            for identity in release.identities:
                self.out.print(f"  verify    {release.name} by {clean(str(identity))}")
        self.out.print(f"  streamed  {format_size(outcome.streamed)} of artifacts through this machine")

    @_show.register
    def _(self, outcome: Planned) -> None:
        for promotion in outcome.unfinished:
            self.out.print(f"would finish promotion {promotion}, which is live")
        if outcome.decision:
            self.show_plan(outcome.decision)
            self.out.print(f"nothing was written; next: {_write_command(outcome)}")

    @_show.register
    def _(self, outcome: Opened) -> None:
        at = f" at {outcome.commit}" if outcome.commit else ""
        state = "is open" if outcome.changed else "was open already"
        self.out.print(f"{outcome.release} {state}{at}, attempt {outcome.attempt}")

    @_show.register
    def _(self, outcome: Uploaded) -> None:
        where = f"{outcome.role}/{outcome.release}"
        self.out.print(
            f"staged {where}: {count_files(len(outcome.uploaded))} uploaded ({format_size(outcome.size)}), "
            f"{len(outcome.skipped)} there already, {len(outcome.pruned)} removed"
        )
        if outcome.missing:
            self.warn(f"{count_files(len(outcome.missing))} required and missing: {shorten(outcome.missing)}")
        if outcome.stale:
            self.warn("the earlier hand-over no longer matches; hand over again: --complete")
        if outcome.handed_over:
            self.out.print("handed over: complete")
        elif outcome.stands:
            self.out.print("the earlier hand-over still stands")
        else:
            self.out.print("not handed over; when complete: --complete")

    @_show.register
    def _(self, outcome: Held) -> None:
        if outcome.reason is None:
            self.out.print(f"{outcome.role} no longer holds {outcome.release}")
        else:
            self.out.print(f"{outcome.role} holds {outcome.release}: {outcome.reason}")

    @_show.register
    def _(self, outcome: Fetched) -> None:
        self.out.print(
            f"fetched {outcome.release} into {clean(outcome.folder)}: {count_files(len(outcome.fetched))} "
            f"({format_size(outcome.size)}), {len(outcome.skipped)} there already"
        )
        for role in outcome.pending:
            self.warn(f"{role} has not handed over yet: its files may still change")
        if outcome.unlisted:
            self.warn(f"not in their role's SHA256SUMS: {shorten(outcome.unlisted)}")
        if outcome.unverified:
            self.warn(f"nothing tells the digest of {shorten(outcome.unverified)}: not verified")

    @_show.register
    def _(self, outcome: Shared) -> None:
        share = outcome.share
        if not self._quiet:
            self.err.print(f"{share.key} of {share.role}, until {format_time(share.end)}")
            self.err.print(f"  digest   sha256:{share.digest}")
            self.err.print(f"  record   {outcome.record}")
        ends = describe_session(share)
        if ends:
            self.warn(ends)
        self.out.print(outcome.url)

    @_show.register
    def _(self, outcome: SignedReleases) -> None:
        for found in outcome.releases:
            self.out.print(
                f"{found.release}: {count_files(len(found.signed))} signed, {len(found.already)} before"
            )
            if found.waiting:
                self.warn(f"not handed over yet, so not signed: {shorten(found.waiting)}")

    @_show.register
    def _(self, outcome: Verified) -> None:
        if outcome.refusals:
            self.out.print(f"{outcome.release}: not everything is good")
            self._print_refusals(outcome.refusals, waivable=False)
        if outcome.public:
            say = "1 record says" if outcome.records == 1 else f"{outcome.records} records say"
            self.out.print(f"{outcome.release}: {count_files(len(outcome.files))} public as {say}")
            if outcome.gone:
                self.out.print(f"  withdrawn {count_files(len(outcome.gone))}, and gone")
        else:
            self.out.print(f"{outcome.release}: {count_files(len(outcome.files))} verified")
        for identity in outcome.identities:
            self.out.print(f"  signed by {clean(str(identity))}")

    @_show.register
    def _(self, outcome: Attached) -> None:
        state = "is staged" if outcome.changed else "was staged already"
        self.out.print(f"{outcome.key} {state}, sha256:{outcome.digest}")

    @_show.register
    def _(self, outcome: Amended) -> None:
        state = "is amended" if outcome.changed else "was amended already"
        self.out.print(f"{outcome.key} {state}, sha256:{outcome.digest}")

    @_show.register
    def _(self, outcome: ListedRelease) -> None:
        counts = ", ".join(f"{count} {kind}" for kind, count in outcome.changes.items())
        verb = "would be" if outcome.dry_run else "are"
        changes = counts or "nothing to change"
        self.out.print(f"{outcome.release}: {outcome.rows} rows {verb} listed: {changes}")

    @_show.register
    def _(self, outcome: AnnouncedReleases) -> None:
        state = "announced" if outcome.changed else "announced before"
        where = f": {', '.join(outcome.urls)}" if outcome.urls else ""
        self.out.print(f"{', '.join(outcome.releases)} {state}{where}")

    @_show.register
    def _(self, outcome: Drafted) -> None:
        if outcome.path and not self._quiet:
            self.err.print(f"the entry's path: {outcome.path}")
        self.out.print(outcome.text.rstrip("\n"))

    @_show.register
    def _(self, outcome: Indexed) -> None:
        what = ", ".join(outcome.releases) or "the whole tree"
        self.out.print(f"index pages of {what}: {count_files(len(outcome.written))} written")

    @_show.register
    def _(self, outcome: Waited) -> None:
        if not outcome.waiting:
            state = "is live" if outcome.live else f"is handed over by {', '.join(outcome.arrived)}"
            self.out.print(f"{outcome.release} {state}, after {outcome.seconds} s")
            return
        self.out.print(f"{outcome.release}: the time is up after {outcome.seconds} s; still waiting:")
        waiting = tuple(outcome.waiting.items())
        for name, why in waiting[:SHOWN]:
            self.out.print(f"  {clean(name)}: {clean(why)}")
        if len(waiting) > SHOWN:
            self.out.print(f"  … and {len(waiting) - SHOWN} more (--json lists all)")

    @_show.register
    def _(self, outcome: Script) -> None:
        self.out.print(outcome.text)

    @_show.register
    def _(self, outcome: Withdrawn) -> None:
        what = "hidden from lists" if outcome.unlist else "withdrawn"
        state = "" if outcome.changed else " already"
        self.out.print(f"{outcome.release}: {count_files(len(outcome.keys))} {what}{state}")
        for withdrawal in outcome.withdrawals:
            self.out.print(f"  withdrawal {withdrawal}")
        for promotion in outcome.ended:
            self.out.print(f"  ended      promotion {promotion}")
        self.out.print(f"  back       publisher restore {outcome.release} --reason '…'")

    @_show.register
    def _(self, outcome: Restored) -> None:
        if outcome.changed:
            self.out.print(f"{outcome.release}: {count_files(len(outcome.keys))} restored")
        else:
            self.out.print(f"nothing to do: nothing of {outcome.release} is withdrawn")

    @_show.register
    def _(self, outcome: Reported) -> None:
        for name in outcome.unknown:
            self.warn(f"{clean(name)} was opened once and is no release by the present profile")
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
        if outcome.withdrawn:
            self.out.print(f"  withdrawals that stand: {len(outcome.withdrawn)}")
        if outcome.releases:
            self.out.print(f"  next     publisher promote {' '.join(outcome.releases)}")

    @_show.register
    def _(self, outcome: Audited) -> None:
        what = ", ".join(outcome.releases) or "the whole site"
        how = "downloaded" if outcome.deep else "looked at"
        records = "1 record" if outcome.records == 1 else f"{outcome.records} records"
        found = describe_weights(outcome.faults)
        self.out.print(f"audit of {what}: {count_files(outcome.files)} {how}, {records}; {found}")
        self._print_faults(outcome.faults)

    @_show.register
    def _(self, outcome: AdoptedTree) -> None:
        verb = "would adopt" if outcome.dry_run else "adopted"
        self.out.print(
            f"{verb} {count_files(len(outcome.files))}, {format_size(outcome.size)}, of "
            f"{clean(outcome.prefix) or 'the whole site'}; {outcome.already} adopted before"
        )
        if outcome.streamed:
            read = "to be read" if outcome.dry_run else "read"
            self.out.print(f"  {format_size(outcome.streamed)} {read}: the store holds no digest of them")
        if outcome.aliases:
            self.out.print(f"  aliases  {shorten(outcome.aliases)}")
        self._print_faults(outcome.faults)
        if not outcome.dry_run:
            self.out.print("  next     publisher audit")

    def _print_faults(self, faults: Iterable[Fault]) -> None:
        for alike in group_faults(faults):
            first = alike[0]
            subjects = shorten([fault.subject for fault in alike])
            style = "red" if first.weight is Weight.FAULT else "yellow"
            self.out.print(Text.assemble("  ", (f"{first.weight} {first.rule} ", style), subjects))
            self.out.print(f"    found    {clean(first.found)}")
            self.out.print(f"    expected {clean(first.expected)}")
            self.out.print(f"    next     {clean(first.cure)}")

    def _show_release(self, status: ReleaseStatus) -> None:
        at = f" at {status.commit}" if status.commit else ""
        self.out.print(
            Text.assemble(
                (status.release, "bold"), f"  {status.kind}, attempt {status.attempt}{at}: {status.stage}"
            )
        )
        for role in status.roles:
            self._show_role(role)
        if status.streamed:
            self.warn(
                "no whole-file digest in the store, or an OpenPGP signature to check, so streamed once: "
                f"{shorten(status.streamed)}"
            )
        for name, standing in status.pointers.items():
            self.out.print(f"  pointers  {name}: {standing}")
        for identity in status.identities:
            self.out.print(f"  signed by {clean(str(identity))}")
        self._print_refusals(status.refusals, waivable=True)
        if status.stage in {Stage.READY, Stage.PLANNED}:
            self.out.print(f"  next: publisher promote {status.release}")
        if status.stage is Stage.LIVE:
            self.out.print(f"  next: publisher promote {status.release}, which finishes what is live")

    def _show_role(self, role: RoleStatus) -> None:
        line = describe_role(role)
        if line is None:
            return
        self.out.print(Text.assemble("  ", (role.role, "bold"), f"  {line}"))
        for standing in (Standing.MISSING, Standing.DIFFERS, Standing.EXTRA):
            names = role.list_keys(standing)
            if names:
                self.out.print(f"    {standing:<8} {shorten(names, shown=_FEW)}")
        if role.hold is not None:
            self.out.print(f"    {'held':<8} {clean(role.hold)}")
        if role.advice:
            self.out.print(f"    {'next':<8} {clean(role.advice)}")

    def _show_finished(self, finished: Iterable[str]) -> None:
        for promotion in finished:
            self.out.print(f"finished promotion {promotion}, which an earlier run left live")

    def _print_refusals(self, refusals: Iterable[Refusal], *, waivable: bool) -> None:
        for alike in group(refusals):
            first = alike[0]
            subjects = shorten([refusal.subject for refusal in alike])
            self.out.print(Text.assemble("  ", (f"{first.rule:<10} ", "yellow"), subjects))
            self.out.print(f"    found    {clean(first.found)}")
            self.out.print(f"    expected {clean(first.expected)}")
            self.out.print(f"    next     {clean(first.cure)}")
            if waivable and first.rule in WAIVABLE:
                each = " for each of them," if len(alike) > 1 else ""
                waiver = shlex.quote(clean(f"{first.rule}:{first.subject}"))
                self.out.print(f"    or       --waive {waiver}{each} --reason '…'")


def prepare_streams() -> None:
    """Let both streams take any text: what their encoding lacks is spelt out, whoever prints it."""
    codecs.register_error(_SPELL, _spell_out)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_SPELL)


def _write_command(outcome: Planned) -> str:
    """Write the command that promotes exactly what a dry run has shown."""
    words = ["publisher", outcome.command, *outcome.releases]
    if outcome.decision:
        plan = outcome.decision.plan
        words += [word for waiver in plan.waivers for word in ("--waive", f"{waiver.rule}:{waiver.subject}")]
        words += (
            ["--reason", plan.waivers[0].reason] if plan.waivers and "--reason" not in outcome.options else []
        )
        words += [*outcome.options, "--plan", plan.digest]
    return shlex.join(words)


class _Console(Console):
    """A console whose reader may go away: what is being done goes on without it."""

    def on_broken_pipe(self) -> None:
        self.quiet = True


def _make_console(*, stderr: bool) -> Console:
    prepare_streams()
    file = sys.stderr if stderr else sys.stdout
    return _Console(file=file, highlight=False, markup=False, emoji=False, soft_wrap=True)


def _spell_out(error: UnicodeError) -> tuple[str | bytes, int]:
    """Spell in ASCII what a stream's encoding lacks: our own signs as they look, all else by its number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    spelt = (_SIGNS.get(letter) or letter.encode("ascii", "backslashreplace").decode() for letter in text)
    return "".join(spelt), error.end
