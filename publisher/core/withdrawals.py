"""Withdrawals: which public files are taken out of sight, why, and how far that has come.

A withdrawal is judged by its markers alone, and by the last of them that is there, in this order:

* `withdrawal.json`: being withdrawn. It has ended the promotions that it names, so nothing is listed or
  announced for them any more; its release cannot be promoted.
* `done.json`: withdrawn, and recorded.
* `restored.json`: being restored; nothing but a restoration can go on from here.
* `over.json`: restored, and recorded. It counts for nothing any more.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import get_close_matches
from enum import StrEnum
from typing import Literal

from publisher.core.digests import Digest, display
from publisher.core.refusals import Refusal


@dataclass(frozen=True, slots=True)
class WithdrawnFile:
    """One public file; `artifact` is the key that a sidecar is about. `size` in bytes."""

    key: str
    digest: Digest
    size: int
    artifact: str | None = None


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """What one withdrawal takes out of sight; `number` is that of its record among its release's.

    `promotions` were live and not finished: it ends them. Of these, `whole` are withdrawn by their own
    entries of the gate, in the same step. `unlist` leaves the files where they are, and only hides them from
    index pages and listing. Stored in `_state/withdrawals/<release>/<id>/`, and as a signed record.
    """

    schema: Literal[1]
    id: str
    release: str
    number: int
    files: tuple[WithdrawnFile, ...]
    promotions: tuple[str, ...]
    whole: tuple[str, ...]
    unlist: bool
    reason: str
    who: str
    when: datetime

    @property
    def keys(self) -> tuple[str, ...]:
        """List the public keys that it is about."""
        return tuple(file.key for file in self.files)

    @property
    def ids(self) -> tuple[str, ...]:
        """List the ids under which its files may be listed in the gate."""
        return (self.id, *self.whole)


@dataclass(frozen=True, slots=True)
class Restoration:
    """How the withdrawal `id` was taken back; `number` and `files` as in a `Withdrawal`."""

    schema: Literal[1]
    id: str
    release: str
    number: int
    files: tuple[WithdrawnFile, ...]
    unlist: bool
    reason: str
    who: str
    when: datetime


@dataclass(frozen=True, slots=True)
class CaseMark:
    """done.json or over.json: who brought a withdrawal, or its restoration, to its end."""

    schema: Literal[1]
    withdrawal: str
    who: str
    when: datetime


class Course(StrEnum):
    """How far a withdrawal has come."""

    WITHDRAWING = "withdrawing"
    WITHDRAWN = "withdrawn"
    RESTORING = "restoring"
    OVER = "over"


def judge_course(marks: Collection[str]) -> Course:
    """Judge a withdrawal by the names of its markers: the last one counts, whatever else is there."""
    if "over" in marks:
        return Course.OVER
    if "restored" in marks:
        return Course.RESTORING
    return Course.WITHDRAWN if "done" in marks else Course.WITHDRAWING


@dataclass(frozen=True, slots=True)
class Case:
    """A withdrawal, how far it has come, and its restoration, if it is being taken back."""

    withdrawal: Withdrawal
    course: Course
    restoration: Restoration | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """What is about to be done to a release, to be confirmed. `ends` are live promotions that it ends."""

    release: str
    files: tuple[WithdrawnFile, ...]
    ends: tuple[str, ...]
    unlist: bool
    restore: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """The files that a person means. `unknown` gives what a name may have meant, `several` what it fits."""

    files: tuple[WithdrawnFile, ...]
    unknown: Mapping[str, str | None]
    several: Mapping[str, tuple[str, ...]]


def choose_files(names: Collection[str], files: Mapping[str, WithdrawnFile]) -> Chosen:
    """Choose files by their keys or the ends of these, such as file names; without a name, all.

    The sidecars of a chosen artifact go with it: a signature of what is gone is of no use.
    """
    if not names:
        return Chosen(tuple(files[key] for key in sorted(files)), {}, {})
    fitting = {name: _find_fitting(name, files) for name in dict.fromkeys(names)}
    keys = {found[0] for found in fitting.values() if len(found) == 1}
    chosen = tuple(files[key] for key in sorted(files) if key in keys or files[key].artifact in keys)
    return Chosen(
        chosen,
        {name: _find_close(name, files) for name, found in fitting.items() if not found},
        {name: found for name, found in fitting.items() if len(found) > 1},
    )


def _find_fitting(name: str, files: Collection[str]) -> tuple[str, ...]:
    if name in files:
        return (name,)
    return tuple(sorted(key for key in files if key.endswith(f"/{name}")))


def _find_close(name: str, files: Collection[str]) -> str | None:
    names = sorted(key.rpartition("/")[2] for key in files)
    return next(iter(get_close_matches(name.rpartition("/")[2], names, n=1)), None)


def find_uncovered(
    files: Iterable[WithdrawnFile], cases: Iterable[Case], *, unlist: bool
) -> tuple[WithdrawnFile, ...]:
    """Find the files that no standing withdrawal does as much for: to be only hidden from lists is less."""
    covered = {key for case in cases if unlist or not case.withdrawal.unlist for key in case.withdrawal.keys}
    return tuple(file for file in files if file.key not in covered)


def find_unlisted(cases: Iterable[Case]) -> frozenset[str]:
    """Name the keys that neither pages nor listing show."""
    return frozenset(
        key for case in cases if case.course is not Course.RESTORING for key in case.withdrawal.keys
    )


def find_ended(cases: Iterable[Case]) -> frozenset[str]:
    """Name the promotions that withdrawals have ended."""
    return frozenset(promotion for case in cases for promotion in case.withdrawal.promotions)


def find_next_number(used: Iterable[int], cases: Iterable[Case]) -> int:
    """Give the number of a release's next record, from those in use and those of its standing withdrawals."""
    promised = [case.withdrawal.number for case in cases]
    promised += [case.restoration.number for case in cases if case.restoration]
    return 1 + max([*used, *promised], default=0)


def make_restoration(case: Case, number: int, reason: str, who: str, when: datetime) -> Restoration:
    """Make the restoration of one withdrawal; one that was begun stays as it is."""
    found = case.withdrawal
    return case.restoration or Restoration(
        1, found.id, found.release, number, found.files, found.unlist, reason, who, when
    )


def refuse_withdrawn(name: str, cases: Iterable[Case]) -> tuple[Refusal, ...]:
    """Refuse to work on a release of which something is withdrawn, or not wholly restored."""
    return tuple(
        Refusal(
            "withdrawn",
            name,
            _describe(case),
            "nothing of it withdrawn",
            f"to take it back: publisher restore {name} --reason '…'",
        )
        for case in cases
    )


def _describe(case: Case) -> str:
    found = case.withdrawal
    count = "1 file" if len(found.files) == 1 else f"{len(found.files)} files"
    if case.course is Course.RESTORING:
        return f"{count} of it being restored, which is not finished"
    said = (
        f"{count} of it {'hidden from lists' if found.unlist else 'withdrawn'} by {found.who}: {found.reason}"
    )
    return said if case.course is Course.WITHDRAWN else f"{said} (not finished)"


def refuse_restoring(name: str, cases: Iterable[Case]) -> tuple[Refusal, ...]:
    """Refuse to withdraw more of a release that is being restored."""
    restoring = [case for case in cases if case.course is Course.RESTORING]
    cure = f"finish that first: publisher restore {name} --reason '…'"
    return tuple(
        replace(refusal, expected="no restoration under way", cure=cure)
        for refusal in refuse_withdrawn(name, restoring)
    )


def refuse_changed(case: Case, found: Mapping[str, Digest]) -> tuple[Refusal, ...]:
    """Refuse to show files again that are no longer in the public bucket as they were withdrawn."""
    return tuple(
        Refusal(
            "drift",
            file.key,
            display(found[file.key]) if file.key in found else "no such public object",
            f"{display(file.digest)}, as it was withdrawn",
            "ops puts that version back, from the bucket's versions or from staging; then run again",
        )
        for file in case.withdrawal.files
        if found.get(file.key) != file.digest
    )
