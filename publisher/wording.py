"""What people read, as plain text: sizes, times, lists of names, plans, and how roles stand."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby

from publisher.core.announcement_text import format_size as format_size
from publisher.core.decide import Decision
from publisher.core.faults import Fault, Weight
from publisher.core.plan import Plan
from publisher.core.pointers_swap import Swapped, Verdict
from publisher.core.profile import RM
from publisher.core.purging import list_invalidations
from publisher.core.refusals import Refusal
from publisher.core.share import Share
from publisher.core.status import RoleStatus
from publisher.core.withdrawals import Preview

SHOWN = 5
"""How many names of a long list are shown; `--json` lists them all."""


def count_files(count: int) -> str:
    """Write a number of files."""
    return "1 file" if count == 1 else f"{count} files"


def format_time(time: datetime) -> str:
    """Write a moment to the minute; all times are UTC."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def describe_session(share: Share) -> str | None:
    """Warn of a link that ends with the session that signed it, as far as that is known."""
    if not share.session:
        return None
    if share.session_until is None:
        return (
            "these are session credentials: the link ends with the session at the latest, and nothing here "
            "tells when that is (after 12 hours at most for a role's)"
        )
    if share.end == share.until:
        return None
    return f"the link ends with the session that signed it: at {format_time(share.end)}"


def name_plan(plan: Plan) -> str:
    """Name the releases of a plan."""
    return ", ".join(release.name for release in plan.releases)


def describe_withdrawal(preview: Preview) -> Iterator[str]:
    """Say what is about to be withdrawn, hidden from lists or restored, in lines."""
    verb = "restore" if preview.restore else "hide from lists" if preview.unlist else "withdraw"
    yield f"{verb} {count_files(len(preview.files))} of {preview.release}: {clean(preview.reason)}"
    yield f"  files    {shorten([file.key for file in preview.files])}"
    for promotion in preview.ends:
        yield f"  ends     promotion {promotion}, which is live and not finished"


def describe_plan(decision: Decision) -> Iterator[str]:
    """Say what a plan will do, in lines."""
    plan = decision.plan
    yield f"plan {plan.digest}"
    for release in plan.releases:
        files = [file for file in plan.files if file.release == release.name]
        at = f" at {release.commit}" if release.commit else ""
        yield f"  {release.name}, attempt {release.attempt}{at}, promotion number {release.number}"
        roles = sorted({file.role for file in files})
        parts = ", ".join(f"{role} {sum(file.role == role for file in files)}" for role in roles)
        size = format_size(sum(file.size for file in files))
        if files:
            yield f"    create {count_files(len(files))}, {size}: {parts}"
    yield from _describe_mutable(decision)
    if decision.skipped:
        yield f"    skip   {count_files(decision.skipped)}, public already"
    if decision.streamed:
        why = "no whole-file digest in the store, or an OpenPGP signature to check"
        yield f"    streamed {format_size(decision.streamed)}: {why}"
    paths = len(list_invalidations(plan))
    if paths:
        yield f"    forget up to {paths} paths at the CDN, of 1,000 free ones a month"
    for refusal in plan.waived:
        reason = next(waiver.reason for waiver in plan.waivers if waiver.covers(refusal))
        yield f"    waived {refusal.rule}:{refusal.subject} because {reason}"


def describe_swapped(ended: Swapped) -> str:
    """Say how a set of mutable files ended."""
    match ended.state:
        case Verdict.DONE:
            return f"swapped for that of {ended.swap.releases[-1]}"
        case Verdict.SWAP:
            return "given up, not swapped"
        case Verdict.SUPERSEDED:
            mixed = f"; NOT WHOLE, from here are {', '.join(ended.left_behind)}" if ended.left_behind else ""
            return f"superseded by somebody else{mixed}; rebuild it and run: publisher pointers"


def _describe_mutable(decision: Decision) -> Iterator[str]:
    for swap in decision.plan.swaps:
        *before, last = swap.releases
        built = f", built on {', '.join(before)}" if before else ""
        yield f"    swap   {swap.name}, {count_files(len(swap.members))}, as of {last}{built}"
    for alias in decision.plan.aliases:
        yield f"    alias  {alias.name}/ to {alias.target}/" + (f", from {alias.base}/" if alias.base else "")
    for kept in decision.kept:
        yield f"    alias  {kept.name}/ stays: {clean(kept.reason)}"


def group(refusals: Iterable[Refusal]) -> Iterator[list[Refusal]]:
    """Put refusals together that differ in nothing but their subject."""

    def alike(refusal: Refusal) -> tuple[str, str, str, str]:
        return refusal.rule, refusal.found, refusal.expected, refusal.cure

    for _, found in groupby(refusals, alike):
        yield list(found)


def group_faults(faults: Iterable[Fault]) -> Iterator[list[Fault]]:
    """Put faults together that differ in nothing but their subject."""

    def alike(fault: Fault) -> tuple[str, ...]:
        return fault.weight, fault.rule, fault.found, fault.expected, fault.cure

    for _, found in groupby(faults, alike):
        yield list(found)


def describe_weights(faults: Iterable[Fault]) -> str:
    """Count faults by their weight."""
    counts = Counter(fault.weight for fault in faults)
    parts = (
        f"{counts[weight]} {weight}{'' if counts[weight] == 1 else 's'}"
        for weight in Weight
        if counts[weight]
    )
    return ", ".join(parts) or "nothing found"


def shorten(names: Iterable[str], *, shown: int = SHOWN) -> str:
    """List the first of some names, and say how many more there are."""
    names = [clean(name) for name in names]
    more = f" … and {len(names) - shown} more (--json lists all)" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more


def clean(text: str) -> str:
    """Show what cannot be seen: names in a bucket are anybody's, and a terminal obeys some characters."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def describe_role(role: RoleStatus) -> str | None:
    """Say how a role stands; the release manager's needs no word while there are no sidecars."""
    counts = ", ".join(f"{count} {standing}" for standing, count in sorted(role.counts.items()))
    if role.role == RM:
        return counts or None
    if not role.delivers:
        return ", ".join(part for part in ("tests", counts) if part)
    said = "handed over" if role.handed_over else "not handed over"
    when = f" {format_time(role.handed_over_at)}" if role.handed_over_at else ""
    commit = f" at {role.commit[:12]}" if role.commit else ""
    return f"{said}{when}{commit}" + (f": {counts}" if counts else "")
