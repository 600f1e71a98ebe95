"""`publisher hold` and `publisher unhold`: a role stops a release, and lets it go."""

from publisher.core.decide import hold_key
from publisher.core.profile import Duty
from publisher.errors import StoreError, UsageError
from publisher.outcomes import Held
from publisher.workflow.releases import check_role, parse_release
from publisher.workflow.world import World


def run_hold(world: World, name: str, role: str, reason: str) -> Held:
    """Stop a release for a reason, until the same role lifts it or the release manager overrides it.

    Raises:
        UsageError: The name is no release, the role is none of the profile, or the reason is empty.
    """
    _check(world, name, role)
    if not reason.strip():
        raise UsageError("found an empty reason, expected what is wrong", "say it: --reason '…'")
    world.staging.put(hold_key(role, name), reason.strip().encode() + b"\n")
    if not _is_anything_staged(world, name, role):
        world.observer.warn(
            f"nothing that {role} may see is staged for {name}: is that the release you mean?"
        )
    return Held(name, role, reason.strip())


def run_unhold(world: World, name: str, role: str) -> Held:
    """Lift a role's own hold by writing an empty one over it; the versions keep what was said.

    Raises:
        UsageError: The name is no release, or the role is none of the profile.
    """
    _check(world, name, role)
    world.staging.put(hold_key(role, name), b"")
    return Held(name, role, None)


def _is_anything_staged(world: World, name: str, role: str) -> bool:
    """Tell whether a hold is on a release that exists; who may not look is not in the wrong."""
    rule = world.profile.roles[role]
    seen = [*rule.reads, *([role] if rule.duty is Duty.DELIVERS else [])]
    try:
        return any(world.staging.list_keys(f"{other}/{name}/") for other in seen)
    except StoreError:
        return True


def _check(world: World, name: str, role: str) -> None:
    parse_release(world.profile, name)
    check_role(world.profile, role)
