"""`publisher status`: how far releases have come, and what to do next."""

from collections.abc import Iterable

from publisher.core.gate import find_gated
from publisher.core.lease import seconds_left
from publisher.core.status import Stage, report_status
from publisher.core.withdrawals import Course
from publisher.errors import Exit
from publisher.outcomes import Reported
from publisher.workflow.gather import gather
from publisher.workflow.releases import parse_releases, suggest_opened, suggest_release
from publisher.workflow.world import World


def run(world: World, names: Iterable[str], *, check: bool) -> Reported:
    """Report on the named releases, or on every open one that was not promoted, or not wholly.

    Args:
        world: The ports.
        names: Release names; none means all in progress.
        check: Answer with `Exit.REFUSED` unless each of them is ready, planned or done.

    Raises:
        UsageError: A name is no release of this project.
    """
    names = tuple(names)
    unknown: tuple[str, ...] = ()
    if not names:
        opened = _find_in_progress(world)
        names = tuple(name for name in opened if world.profile.parse_release(name))
        unknown = tuple(name for name in opened if name not in names)
    with suggest_release(world, *names):
        parsed = parse_releases(world.profile, names)
    snapshot = gather(world, parsed)
    releases = report_status(snapshot, world.profile)
    settled = {Stage.READY, Stage.PLANNED, Stage.DONE}
    waiting = check and any(release.stage not in settled for release in releases)
    suggest_opened(world, (refusal for release in releases for refusal in release.refusals))
    return Reported(releases, _read_lease(world), unknown, Exit.REFUSED if waiting else Exit.DONE)


def _find_in_progress(world: World) -> tuple[str, ...]:
    unfinished = world.state.read_unfinished(find_gated(world.gate.read_entries()))
    waiting = {name for promotion in unfinished for name in promotion.plan.names()}
    cases = world.state.read_cases()
    waiting |= {case.withdrawal.release for case in cases if case.course is not Course.WITHDRAWN}
    opened = world.state.list_releases()
    return tuple(name for name in opened if name in waiting or not world.state.list_numbers(name))


def _read_lease(world: World) -> dict[str, str | int] | None:
    stored = world.state.read_lease()
    left = seconds_left(stored.value, stored.modified, stored.now) if stored else 0
    if stored is None or not left:
        return None
    return {"holder": stored.value.holder, "purpose": stored.value.purpose, "expires_in_s": left}
