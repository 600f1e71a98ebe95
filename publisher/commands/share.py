"""`publisher share`: a link by which somebody outside can download one staged file, on record."""

from dataclasses import dataclass
from datetime import timedelta

from publisher.core.profile import RM
from publisher.core.selecting import Selection, list_readable, select
from publisher.core.share import MAX_HOURS, Share
from publisher.errors import UsageError
from publisher.outcomes import Outcome, Refused, Shared
from publisher.workflow.releases import parse_release, suggest_release
from publisher.workflow.staged import StagedFile, find_staged
from publisher.workflow.world import World


@dataclass(frozen=True, slots=True)
class ShareRequest:
    """What the release manager asks for. `name` is a public key or the end of one."""

    release: str
    name: str
    hours: int
    reason: str


def run(world: World, request: ShareRequest) -> Outcome:
    """Sign a link to exactly the version that is staged now, once it stands in `_state/shares/` who may.

    Raises:
        UsageError: Release or file cannot be meant, or the hours or the reason.
    """
    with suggest_release(world, request.release):
        release = parse_release(world.profile, request.release)
    _check(world, request)
    readable = list_readable(world.profile, None)
    selection = select(world.profile, release, [request.name], readable)
    if not isinstance(selection, Selection):
        return Refused(selection, waivable=False)
    found = find_staged(world, release, selection)
    if found.refusals:
        return Refused(found.refusals, waivable=False)
    (file,) = found.files
    share = _make_share(world, request, file)
    record = world.state.write_share(share)
    link = world.staging.sign_link(file.stored.version, request.hours * 3600)
    return Shared(share, record, link)


def _check(world: World, request: ShareRequest) -> None:
    if not 1 <= request.hours <= MAX_HOURS:
        raise UsageError(
            f"found {request.hours} hours, expected 1 to {MAX_HOURS}", "share it again when that is over"
        )
    if not request.reason.strip():
        raise UsageError("found an empty reason, expected for whom and what for", "say it: --reason '…'")
    if request.name in {*world.profile.roles, RM}:
        raise UsageError(
            f"found role {request.name!r}, expected one file", f"see: publisher status {request.release}"
        )


def _make_share(world: World, request: ShareRequest, file: StagedFile) -> Share:
    now = world.staging.now()
    session = world.caller.session()
    return Share(
        schema=1,
        id=world.new_id(),
        release=request.release,
        role=file.role,
        key=file.key,
        version_id=file.stored.version.version_id,
        digest=file.stored.digest or world.staging.compute_digest(file.stored.version),
        size=file.stored.size,
        who=world.caller.who(),
        reason=request.reason.strip(),
        when=now,
        until=now + timedelta(hours=request.hours),
        session=session is not None,
        session_until=session.until if session else None,
    )
