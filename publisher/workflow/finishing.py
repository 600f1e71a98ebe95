"""Finishes promotions that went live, from their plans alone."""

from collections.abc import Iterable, Mapping

from publisher.core.gate import find_gated
from publisher.core.plan import Plan
from publisher.core.refusals import Refusal
from publisher.core.snapshot import Unfinished, select_live
from publisher.errors import PublisherError, UnfinishedError
from publisher.ports import Signer
from publisher.workflow.gate import GateKeeper
from publisher.workflow.lease import LeaseHolder
from publisher.workflow.steps import FINISHED, RESUME, Run, Step, run_steps
from publisher.workflow.world import World

Held = tuple[LeaseHolder, GateKeeper]


def read_live(world: World, releases: Iterable[str]) -> list[Unfinished]:
    """Read the promotions that went live, are not finished, and contain any of `releases`."""
    gated = find_gated(world.gate.read_entries())
    return select_live(world.state.read_unfinished(gated), releases)


def refuse_unfinished(world: World, rule: str, releases: Iterable[str]) -> tuple[Refusal, ...]:
    """Refuse what may only follow a promotion while one of `releases` is live and not finished."""
    releases = tuple(releases)
    return tuple(
        Refusal(
            rule,
            name,
            f"promotion {promotion.plan.id} live and not finished",
            "every promotion of it finished",
            f"run: publisher promote {name}",
        )
        for promotion in read_live(world, releases)
        for name in sorted(promotion.plan.names().intersection(releases))
    )


def finish(
    world: World,
    held: Held,
    plan: Plan,
    signer: Signer | None,
    begun: list[Run],
    *,
    deep: bool,
    given_up: Mapping[str, str] | None = None,
) -> None:
    """Finish one promotion: staging may have expired and the profile may have changed since.

    `begun` gets the run, for whoever has to tell how far it came.

    Raises:
        UnfinishedError: Something is still to be done; running again goes on.
    """
    who = world.caller.who()
    run = Run(world, *held, plan, who, signer, given_up or {}, deep=deep, resumed=True, step=RESUME[0].name)
    begun.append(run)
    complete(run, RESUME)
    run.step = FINISHED


def complete(run: Run, steps: Iterable[Step]) -> None:
    """Do what is left of a live promotion; whatever goes wrong now, something is public."""
    try:
        run_steps(run, steps)
    except Exception as error:
        cure = error.next_step if isinstance(error, PublisherError) else ""
        raise UnfinishedError(
            f"promotion {run.plan.id} is live and not finished: {error}",
            cure or "run the same command again",
        ) from error
