"""`publisher hold` and `publisher unhold`: a role stops a release, and lets it go."""

from publisher.core.decide import hold_key
from publisher.errors import UsageError
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
    return Held(name, role, reason.strip())


def run_unhold(world: World, name: str, role: str) -> Held:
    """Lift a role's own hold by writing an empty one over it; the versions keep what was said.

    Raises:
        UsageError: The name is no release, or the role is none of the profile.
    """
    _check(world, name, role)
    world.staging.put(hold_key(role, name), b"")
    return Held(name, role, None)


def _check(world: World, name: str, role: str) -> None:
    parse_release(world.profile, name)
    check_role(world.profile, role)
