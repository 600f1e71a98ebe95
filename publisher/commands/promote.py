"""`publisher promote`: decide, show, ask, then make everything public; run again, it finishes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from publisher.core import decide
from publisher.core.decide import Author, Decision, NothingToDo, plan_promotion
from publisher.core.gate import drop_paths
from publisher.core.plan import Extras, Plan, find_plan
from publisher.core.pointers_swap import list_swapped
from publisher.core.profile import Profile, Release
from publisher.core.promotions import Mark, Phase
from publisher.core.refusals import Refusal, Waiver
from publisher.core.snapshot import Snapshot, Unfinished, select_live
from publisher.errors import Exit, MovedError, PublisherError, StoppedError, UnfinishedError, UsageError
from publisher.outcomes import Declined, Outcome, Planned, Promoted, Refused
from publisher.ports import Signer
from publisher.workflow.afterwards import refuse_announcement, refuse_listing
from publisher.workflow.finishing import Held, complete, finish, read_live
from publisher.workflow.gate import GateKeeper
from publisher.workflow.gather import gather
from publisher.workflow.lease import LeaseHolder, hold_lease
from publisher.workflow.records import log_in_to_finish, needs_login, refuse_recorder
from publisher.workflow.releases import parse_releases, suggest_opened, suggest_release
from publisher.workflow.steps import AFTER_LIVE, BEFORE_LIVE, FINISHED, GO_LIVE, Run, run_steps
from publisher.workflow.world import World

Confirm = Callable[[Decision], bool]
Planner = Callable[[Snapshot, Profile, tuple[Waiver, ...], Author], Decision | NothingToDo | decide.Refused]


@dataclass(frozen=True, slots=True)
class PromoteRequest:
    """What the release manager asks for.

    `plan` pins the digest of a plan reviewed earlier; `deep` has every file downloaded and compared.
    `given_up` names steps after go-live to be left out, each with the reason. `options` are the words that
    asked for all this, for whoever is told to run it again. `planner` decides what there is
    to be done, and `command` is what asks for it.
    """

    releases: tuple[str, ...]
    waivers: tuple[Waiver, ...] = ()
    plan: str | None = None
    dry_run: bool = False
    deep: bool = False
    extras: Extras = field(default_factory=Extras)
    given_up: Mapping[str, str] = field(default_factory=dict[str, str])
    options: tuple[str, ...] = ()
    planner: Planner = plan_promotion
    command: str = "promote"


def run(world: World, request: PromoteRequest, confirm: Confirm) -> Outcome:
    """Promote the requested releases in one promotion, finishing first what an earlier run left live.

    Raises:
        UsageError: A name is no release of this project.
        LeaseError: Another holds the lease.
        UnfinishedError: Something is public and not everything is done; running again finishes it.
        StoppedError: A person stopped it; the message says whether anything is public.
    """
    begun: list[Run] = []
    try:
        return _run(world, request, confirm, begun)
    except KeyboardInterrupt:
        raise StoppedError(_describe_stop(begun)) from None


def _describe_stop(begun: list[Run]) -> str:
    """Say whether anything is public, by the step that was under way when a person stopped the promotion."""
    if not begun:
        return "interrupted before anything was made public"
    run = begun[-1]
    if run.step == FINISHED:
        return f"interrupted after promotion {run.plan.id}, which an earlier run had left live, was finished"
    if run.step == GO_LIVE:
        state = "it may be public by now, or not; running again finds out, and finishes it if it is"
    elif run.step in {"", *(step.name for step in BEFORE_LIVE)}:
        state = "nothing of it is public"
    else:
        state = "it is live, all of it can be downloaded, and it is not finished"
    return f"interrupted at step {run.step or 'plan'} of promotion {run.plan.id}: {state}"


def _run(world: World, request: PromoteRequest, confirm: Confirm, begun: list[Run]) -> Outcome:
    releases = _parse(world, request)
    # Before anything is gathered: finishing needs neither staging nor profile, and must not wait for them.
    live = tuple(promotion.plan.id for promotion in read_live(world, request.releases))
    if not live:
        return _decide(world, request, releases, confirm, begun)
    if request.dry_run:
        return Planned(None, live, request.releases, request.command, request.options)
    signers = {
        promotion.plan.id: log_in_to_finish(world, promotion.plan)
        for promotion in read_live(world, request.releases)
    }
    with hold_lease(world, f"finish {', '.join(request.releases)}") as held:
        for promotion in read_live(world, request.releases):
            finish(
                world,
                held,
                promotion.plan,
                signers.get(promotion.plan.id),
                begun,
                deep=request.deep,
                given_up=request.given_up,
            )
    try:
        releases = releases or parse_releases(world.profile, request.releases)
        # What was waived for the finished promotion need not be waived for what is left.
        request = replace(request, waivers=_find_needed(world, request, releases))
        outcome = _decide(world, request, releases, confirm, begun)
    except PublisherError as error:
        said = f"promotion {', '.join(live)} is finished; what was staged since is not promoted: {error}"
        raise UnfinishedError(said, error.next_step or "run the same command again") from error
    if isinstance(outcome, Promoted):
        return replace(outcome, finished=live)
    if isinstance(outcome, Refused | Declined):
        # Something public has changed, whatever is refused now.
        return replace(outcome, finished=live, status=Exit.UNFINISHED)
    return outcome


def _parse(world: World, request: PromoteRequest) -> tuple[Release, ...]:
    """Take the names apart; none, if they are no releases any more and one that is live is to be finished."""
    try:
        with suggest_release(world, *request.releases):
            return parse_releases(world.profile, request.releases)
    except UsageError:
        if not read_live(world, request.releases):
            raise
        return ()


def _find_needed(world: World, request: PromoteRequest, releases: tuple[Release, ...]) -> tuple[Waiver, ...]:
    if not request.waivers:
        return ()
    author = Author("", "", world.staging.now())
    decision = request.planner(gather(world, releases), world.profile, (), author)
    refusals = decision.refusals if isinstance(decision, decide.Refused) else ()
    return tuple(waiver for waiver in request.waivers if any(map(waiver.covers, refusals)))


def _decide(
    world: World, request: PromoteRequest, releases: tuple[Release, ...], confirm: Confirm, begun: list[Run]
) -> Outcome:
    """Decide, show, ask and promote, now that nothing of these releases is live and unfinished."""
    author = Author(world.caller.who(), world.new_id(), world.staging.now(), request.extras)
    snapshot = gather(world, releases)
    _warn_of_others(world, snapshot)
    decision = request.planner(snapshot, world.profile, request.waivers, author)
    if isinstance(decision, decide.Refused):
        suggest_opened(world, decision.refusals)
        return Refused(decision.refusals)
    if isinstance(decision, NothingToDo):
        return Promoted(None, (), decision.public, 0)
    if request.plan is not None and request.plan != decision.plan.digest:
        return Refused((_refuse_moved_plan(request.plan, decision.plan.digest),))
    afterwards = _refuse_afterwards(world, decision.plan, request)
    if afterwards:
        return Refused(afterwards, waivable=False)
    if request.dry_run:
        return Planned(decision, (), request.releases, request.command, request.options)
    if not confirm(decision):
        return Declined()
    # Before anything is public, and before the lease: a browser waits for a person.
    signer = world.signing().log_in() if needs_login(world, decision.plan) else None
    refusals = refuse_recorder(decision.plan, signer) if signer else ()
    if refusals:
        return Refused(refusals)
    with hold_lease(world, f"{request.command} {', '.join(request.releases)}") as held:
        return _promote(world, held, request, releases, decision, signer, begun)


def _refuse_afterwards(world: World, plan: Plan, request: PromoteRequest) -> tuple[Refusal, ...]:
    """Refuse now what the steps after go-live would stop at: rows that cannot be, prose that is not good."""
    refusals = () if "listing" in request.given_up else refuse_listing(world, plan)
    return refusals + (() if "announce" in request.given_up else refuse_announcement(world, plan))


def _promote(
    world: World,
    held: Held,
    request: PromoteRequest,
    releases: tuple[Release, ...],
    shown: Decision,
    signer: Signer | None,
    begun: list[Run],
) -> Outcome:
    """Decide again now that nobody else can promote, and go through with exactly what was shown.

    `begun` gets the run, for whoever has to tell how far it came.
    """
    author = Author(shown.plan.who, shown.plan.id, world.staging.now(), request.extras)
    snapshot = gather(world, releases)
    decision = request.planner(snapshot, world.profile, request.waivers, author)
    if isinstance(decision, decide.Refused):
        return Refused(decision.refusals)
    if isinstance(decision, NothingToDo) or _find_live(snapshot, releases):
        return Refused((_refuse_overtaken(shown.plan),))
    if decision.plan.digest != shown.plan.digest:
        return Refused((_refuse_moved_plan(shown.plan.digest, decision.plan.digest),))
    moved = decision.plan.find_moved(shown.plan)
    if moved:
        return Refused(tuple(_refuse_moved(key) for key in moved))
    plan = _store_plan(world, *held, decision.plan, snapshot)
    run = Run(world, *held, plan, author.who, signer, request.given_up, deep=request.deep)
    begun.append(run)
    try:
        run_steps(run, BEFORE_LIVE)
    except MovedError as error:
        return Refused(tuple(_refuse_moved(key) for key in error.keys))
    complete(run, AFTER_LIVE)
    streamed = decision.streamed + run.streamed
    return Promoted(
        run.plan, (), decision.skipped, streamed, swapped=list_swapped(run.plan.swaps, run.swapped)
    )


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
