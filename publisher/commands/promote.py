"""`publisher promote`: decide, show, ask, then make everything public; run again, it finishes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from publisher.core import decide
from publisher.core.decide import Author, Decision, NothingToDo, plan_promotion
from publisher.core.gate import drop_paths, find_gated
from publisher.core.plan import Plan, find_plan
from publisher.core.profile import Release
from publisher.core.promotions import Mark, Phase
from publisher.core.refusals import Refusal, Waiver
from publisher.core.snapshot import Snapshot, Unfinished, select_live
from publisher.errors import MovedError, PublisherError, UnfinishedError
from publisher.outcomes import Declined, Outcome, Planned, Promoted, Refused
from publisher.workflow.gate import GateKeeper
from publisher.workflow.gather import gather
from publisher.workflow.lease import LeaseHolder, hold_lease
from publisher.workflow.releases import parse_releases
from publisher.workflow.steps import AFTER_LIVE, BEFORE_LIVE, RESUME, Run, Step, run_steps
from publisher.workflow.world import World

Confirm = Callable[[Decision], bool]
Held = tuple[LeaseHolder, GateKeeper]


@dataclass(frozen=True, slots=True)
class PromoteRequest:
    """What the release manager asks for.

    `plan` pins the digest of a plan reviewed earlier; `deep` has every file downloaded and compared.
    """

    releases: tuple[str, ...]
    waivers: tuple[Waiver, ...] = ()
    plan: str | None = None
    dry_run: bool = False
    deep: bool = False


def run(world: World, request: PromoteRequest, confirm: Confirm) -> Outcome:
    """Promote the requested releases in one promotion, finishing first what an earlier run left live.

    Raises:
        UsageError: A name is no release of this project.
        LeaseError: Another holds the lease.
        UnfinishedError: Something is public and not everything is done; running again finishes it.
    """
    releases = parse_releases(world.profile, request.releases)
    author = Author(world.identity.who(), world.new_id(), world.staging.now())
    snapshot = gather(world, releases)
    live = tuple(promotion.plan.id for promotion in _find_live(snapshot, releases))
    if request.dry_run and live:
        return Planned(None, live)
    if live:
        with hold_lease(world, f"finish {', '.join(request.releases)}") as held:
            _finish(world, held, request, author.who)
        snapshot = gather(world, releases)
    _warn_of_others(world, snapshot)
    decision = plan_promotion(snapshot, world.profile, request.waivers, author)
    if isinstance(decision, decide.Refused):
        return Refused(decision.refusals, live)
    if isinstance(decision, NothingToDo):
        return Promoted(None, live, decision.public, 0)
    if request.plan is not None and request.plan != decision.plan.digest:
        return Refused((_refuse_moved_plan(request.plan, decision.plan.digest),), live)
    if request.dry_run:
        return Planned(decision, ())
    if not confirm(decision):
        return Declined()
    with hold_lease(world, f"promote {', '.join(request.releases)}") as held:
        return _promote(world, held, request, decision, live)


def _promote(
    world: World, held: Held, request: PromoteRequest, shown: Decision, finished: tuple[str, ...]
) -> Outcome:
    """Decide again now that nobody else can promote, and go through with exactly what was shown."""
    releases = parse_releases(world.profile, request.releases)
    author = Author(shown.plan.who, shown.plan.id, world.staging.now())
    snapshot = gather(world, releases)
    decision = plan_promotion(snapshot, world.profile, request.waivers, author)
    if isinstance(decision, decide.Refused):
        return Refused(decision.refusals, finished)
    if isinstance(decision, NothingToDo) or _find_live(snapshot, releases):
        return Refused((_refuse_overtaken(shown.plan),), finished)
    if decision.plan.digest != shown.plan.digest:
        return Refused((_refuse_moved_plan(shown.plan.digest, decision.plan.digest),), finished)
    plan = _store_plan(world, *held, decision.plan, snapshot)
    run = Run(world, *held, plan, author.who, deep=request.deep)
    try:
        run_steps(run, BEFORE_LIVE)
    except MovedError as error:
        return Refused(tuple(_refuse_moved(key) for key in error.keys), finished)
    _complete(run, AFTER_LIVE)
    streamed = decision.streamed + run.streamed
    return Promoted(run.plan, finished, decision.skipped, streamed)


def _finish(world: World, held: Held, request: PromoteRequest, who: str) -> None:
    """Finish from the plans alone: staging may have expired and the profile may have changed since."""
    gated = find_gated(world.gate.read_entries())
    for promotion in select_live(world.state.read_unfinished(gated), request.releases):
        _complete(Run(world, *held, promotion.plan, who, deep=request.deep), RESUME)


def _complete(run: Run, steps: Iterable[Step]) -> None:
    """Do what is left of a live promotion; whatever goes wrong now, something is public."""
    try:
        run_steps(run, steps)
    except Exception as error:
        cure = error.next_step if isinstance(error, PublisherError) else ""
        raise UnfinishedError(
            f"promotion {run.plan.id} is live and not finished: {error}",
            cure or "run the same command again",
        ) from error


def _store_plan(world: World, lease: LeaseHolder, keeper: GateKeeper, plan: Plan, snapshot: Snapshot) -> Plan:
    """Go on with an earlier plan that is the same in everything; abandon those that are not."""
    earlier = [
        promotion.plan
        for promotion in snapshot.unfinished
        if not promotion.live and promotion.plan.names() & plan.names()
    ]
    same = find_plan(plan, earlier)
    for other in earlier:
        if other != same:
            keeper.write(partial(drop_paths, promotion=other.id))
            lease.check()
            reason = f"the intent is now {plan.digest}"
            world.state.mark(Phase.ABANDONED, Mark(1, other.id, plan.who, plan.when, reason))
    if same:
        return same
    lease.check()
    world.state.write_plan(plan)
    return plan


def _find_live(snapshot: Snapshot, releases: Iterable[Release]) -> list[Unfinished]:
    return select_live(snapshot.unfinished, (release.name for release in releases))


def _warn_of_others(world: World, snapshot: Snapshot) -> None:
    for promotion in snapshot.live():
        names = ", ".join(sorted(promotion.plan.names()))
        world.observer.warn(
            f"a promotion of {names} is live and not finished; run: publisher promote {names}"
        )


def _refuse_moved_plan(pinned: str, found: str) -> Refusal:
    return Refusal("plan", pinned, found, pinned, "review the plan again: publisher promote --dry-run")


def _refuse_overtaken(plan: Plan) -> Refusal:
    return Refusal(
        "plan", plan.digest, "another promotion of it meanwhile", "none", "run the same command again"
    )


def _refuse_moved(key: str) -> Refusal:
    return Refusal("moved", key, "another version than the plan's", "no change since the plan", "run again")
