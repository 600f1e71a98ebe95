"""`publisher wait`: for automation that polls today: until roles have handed over, or a release is public."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from publisher.core.assess import assess_release
from publisher.core.delivery import RoleAssessment
from publisher.core.digests import Digest
from publisher.core.plan import Version
from publisher.core.profile import Duty, Need, Profile, Release
from publisher.core.refusals import Refusal
from publisher.core.snapshot import ReleaseSnapshot
from publisher.core.status import ReleaseStatus, RoleStatus, Stage, report_status
from publisher.core.urls import make_path
from publisher.errors import AccessDeniedError, EdgeError, Exit, UsageError
from publisher.outcomes import Waited
from publisher.workflow.gather import gather
from publisher.workflow.proofs import check_own_sidecars
from publisher.workflow.releases import check_role, find_close_release, parse_release, suggest_release
from publisher.workflow.staged import gather_staged
from publisher.workflow.waiting import Waiting, wait_until_nothing_is_left
from publisher.workflow.world import Visitor, World

_FOUND = 200
_THEIRS = "a builder can wait for its own role, a tester for those it reads: --role NAME"


@dataclass(frozen=True, slots=True)
class WaitRequest:
    """What is waited for. No `roles` means all that deliver; a `timeout` of None, for ever."""

    release: str
    roles: tuple[str, ...] = ()
    timeout: float | None = None


def run(world: World, request: WaitRequest) -> Waited:
    """Wait until the roles have handed over, and nothing of it is refused.

    With the rights of the release manager the whole release is looked at: attempt, holds, what is public. A
    builder or tester has to name roles whose files it may read, and those files alone are looked at.

    Raises:
        UsageError: Release or role cannot be meant.
        AccessDeniedError: Roles have to be named, or other ones.
    """
    with suggest_release(world, request.release):
        release = parse_release(world.profile, request.release)
    for role in request.roles:
        if check_role(world.profile, role).duty is Duty.TESTS:
            raise UsageError(f"{role} tests and hands nothing over", "name roles that deliver")
    roles = tuple(dict.fromkeys(request.roles)) or world.profile.deliverers()
    visitor = world.visitor
    left, seconds = wait_until_nothing_is_left(
        visitor, _choose_look(world, release, request), _make_teller(visitor, roles), request.timeout
    )
    return Waited(
        release=release.name,
        live=False,
        arrived=tuple(role for role in roles if role not in left and release.name not in left),
        waiting=left,
        seconds=seconds,
        status=Exit.REFUSED if left else Exit.DONE,
    )


def run_live(visitor: Visitor, request: WaitRequest) -> Waited:
    """Wait until every URL that the profile requires of the release answers 200 where users download.

    It needs no credentials: what it sees is what anybody sees.

    Raises:
        UsageError: The release cannot be meant, or the profile requires nothing of it.
    """
    release = parse_release(visitor.profile, request.release)
    urls = [visitor.site.public_base_url + make_path(key) for key in _list_required(visitor.profile, release)]
    if not urls:
        raise UsageError(f"the profile requires no file of {release.name}", "there is nothing to wait for")
    seen: set[str] = set()

    def look() -> Waiting:
        missing = [url for url in urls if url not in seen]
        found = dict(zip(missing, visitor.parallel.map(lambda url: _ask(visitor, url), missing), strict=True))
        seen.update(url for url, fault in found.items() if fault is None)
        return {url: fault for url, fault in found.items() if fault is not None}

    def tell(before: Waiting, left: Waiting) -> None:
        _ = before
        visitor.observer.step("live", f"{len(urls) - len(left)} of {len(urls)} URLs answer {_FOUND}")

    left, seconds = wait_until_nothing_is_left(visitor, look, tell, request.timeout)
    return Waited(
        release=release.name,
        live=True,
        arrived=tuple(url for url in urls if url in seen),
        waiting=left,
        seconds=seconds,
        status=Exit.REFUSED if left else Exit.DONE,
    )


def _choose_look(world: World, release: Release, request: WaitRequest) -> Callable[[], Waiting]:
    try:
        _warn_unless_opened(world, release.name)
    except AccessDeniedError as error:
        if not request.roles:
            raise AccessDeniedError(
                f"these credentials may not see the whole release: {error}", _THEIRS
            ) from error
        world.observer.warn(
            f"looking at the files of {', '.join(request.roles)} alone: "
            "the attempt, holds and what is public are for the release manager to see"
        )
        digests: dict[Version, Digest] = {}
        return lambda: _look_at_staged(world, release, request.roles, digests)
    return lambda: _look_at_all(world, release, request.roles)


def _warn_unless_opened(world: World, name: str) -> None:
    """Tell at once of what is perhaps misspelt, and would be waited for in vain."""
    if world.state.read_release(name) is None:
        close = find_close_release(world, name)
        hint = f"; did you mean {close}?" if close else ""
        world.observer.warn(f"{name} is not open{hint}")


def _look_at_all(world: World, release: Release, roles: tuple[str, ...]) -> Waiting:
    (status,) = report_status(gather(world, [release]), world.profile)
    if status.stage in {Stage.LIVE, Stage.DONE}:
        return {}
    wanted = roles or world.profile.deliverers()
    left = {found.role: _explain(found) for found in status.roles if found.role in wanted}
    if not roles:
        left[release.name] = _join(_list_common(status))
    return {name: why for name, why in left.items() if why}


def _look_at_staged(
    world: World, release: Release, roles: tuple[str, ...], digests: dict[Version, Digest]
) -> Waiting:
    try:
        staged = {role: gather_staged(world, role, release.name, digests) for role in roles}
    except AccessDeniedError as error:
        raise AccessDeniedError(str(error), _THEIRS) from error
    snapshot = ReleaseSnapshot(release, None, None, staged, {}, ())
    snapshot = replace(snapshot, checked=check_own_sidecars(world, snapshot))
    found = assess_release(snapshot, world.profile, {}).roles
    left = {role: _explain(found[role]) for role in roles}
    return {role: why for role, why in left.items() if why}


def _explain(found: RoleStatus | RoleAssessment) -> str:
    """Say why a role is still waited for; nothing, if it is not."""
    if not found.handed_over:
        return "not handed over"
    hold = found.hold if isinstance(found, RoleStatus) else None
    return f"holds it: {hold}" if hold is not None else _join(found.refusals)


def _list_common(status: ReleaseStatus) -> Iterator[Refusal]:
    """List the refusals that are of no role's files: the release is not open, or held."""
    of_roles = {refusal for role in status.roles for refusal in role.refusals}
    return (refusal for refusal in status.refusals if refusal not in of_roles)


def _join(refusals: Iterator[Refusal] | tuple[Refusal, ...]) -> str:
    said = [f"{refusal.rule} {refusal.subject}: {refusal.found}" for refusal in refusals]
    return "; ".join(said[:2]) + (f" and {len(said) - 2} more" if len(said) > 2 else "")


def _make_teller(visitor: Visitor, roles: tuple[str, ...]) -> Callable[[Waiting, Waiting], None]:
    told: dict[str, str] = {}

    def tell(before: Waiting, left: Waiting) -> None:
        for name in dict.fromkeys([*roles, *before, *left]):
            text = left.get(name, "handed over" if name in roles else "nothing in the way")
            if told.get(name) != text:
                told[name] = text
                visitor.observer.step(name, text)

    return tell


def _list_required(profile: Profile, release: Release) -> list[str]:
    expected = profile.expect(release)
    required = {key for key, item in expected.items() if item.need is Need.REQUIRED}
    return [key for key in expected if key in required and (expected[key].artifact or key) in required]


def _ask(visitor: Visitor, url: str) -> str | None:
    try:
        status = visitor.web.head(url).status
    except EdgeError as error:
        return str(error)
    return None if status == _FOUND else f"status {status}"
