"""`publisher pointers`: the sets of mutable files of releases that are public, and nothing besides."""

from dataclasses import dataclass, field

from publisher.commands import promote
from publisher.commands.promote import Confirm, PromoteRequest
from publisher.core.decide import plan_pointers_alone
from publisher.core.refusals import Waiver
from publisher.outcomes import Outcome
from publisher.workflow.world import World


@dataclass(frozen=True, slots=True)
class PointersRequest:
    """What the release manager asks for; see `PromoteRequest`."""

    releases: tuple[str, ...]
    waivers: tuple[Waiver, ...] = field(default=())
    plan: str | None = None
    dry_run: bool = False


def run(world: World, request: PointersRequest, confirm: Confirm) -> Outcome:
    """Swap the sets that these releases have staged, in a promotion that places no file.

    It is planned, reviewed, recorded and finished like any other, and finishes first what an earlier run left
    live. It raises what `promote.run` raises.
    """
    wanted = PromoteRequest(
        request.releases,
        request.waivers,
        request.plan,
        request.dry_run,
        planner=plan_pointers_alone,
        command="pointers",
    )
    return promote.run(world, wanted, confirm)
