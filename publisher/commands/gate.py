"""`publisher gate rebuild`: make the gate's store say again what `_state/` says."""

from functools import partial

from publisher.core.aliases import AliasChange, restore
from publisher.core.gate import find_gated, list_paths, show
from publisher.core.promotions import Phase
from publisher.core.withdrawals import Course
from publisher.core.withdrawals_gate import close, drop_whole, list_rest
from publisher.outcomes import GateRebuilt
from publisher.workflow.edge import wait
from publisher.workflow.gate import claim_lost_gate
from publisher.workflow.lease import hold_lease
from publisher.workflow.steps import find_owed
from publisher.workflow.world import World


def run_rebuild(world: World) -> GateRebuilt:
    """Give the store an owner key, hide again what is withdrawn, and show what live promotions still owe.

    A promotion that went live in the lost store and died before it wrote that down cannot be told from one
    that never went live: it stays hidden, and the release manager decides by running promote.

    Raises:
        LeaseError: Another holds the lease.
    """
    with hold_lease(world, "gate rebuild", claim=claim_lost_gate) as (lease, keeper):
        withdrawn = [
            case.withdrawal
            for case in world.state.read_cases()
            if case.course is not Course.RESTORING and not case.withdrawal.unlist
        ]
        for withdrawal in withdrawn:
            # In this order each file is gone as soon as it is listed, not only when all of them are.
            keeper.write(partial(close, withdrawal=withdrawal))
            keeper.write(partial(list_rest, withdrawal=withdrawal))
            if withdrawal.whole:
                wait(world, lease.check, world.times.lag)
                keeper.write(partial(drop_whole, withdrawal=withdrawal))
        keeper.write(partial(restore, changes=_list_alias_changes(world)))
        unfinished = world.state.read_unfinished(find_gated(world.gate.read_entries()))
        for promotion in unfinished:
            if promotion.live:
                owed = [file.key for file in find_owed(world, promotion.plan)]
                keeper.write(partial(list_paths, keys=owed, promotion=promotion.plan.id))
                if owed:
                    keeper.write(partial(show, promotion=promotion.plan.id))
    return GateRebuilt(
        live=tuple(promotion.plan.id for promotion in unfinished if promotion.live),
        planned=tuple(promotion.plan.id for promotion in unfinished if not promotion.live),
        withdrawn=tuple(withdrawal.id for withdrawal in withdrawn),
        releases=tuple(sorted({name for promotion in unfinished for name in promotion.plan.names()})),
    )


def _list_alias_changes(world: World) -> list[AliasChange]:
    """List how promotions that went live have moved aliases, in the order in which they were planned."""
    ended = {Phase.LIVE, Phase.DONE}
    marks = world.state.read_marks()
    names = [promotion for promotion, found in marks.items() if "plan" in found and ended & found]
    plans = world.parallel.map(world.state.read_plan, names)
    return [change for plan in sorted(plans, key=lambda plan: plan.when) for change in plan.aliases]
