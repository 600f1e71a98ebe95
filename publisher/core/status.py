"""How far releases have come, for people and for automation."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from publisher.core.assess import Assessment, assess_release, read_hold
from publisher.core.decide import refuse_together
from publisher.core.delivery import Standing
from publisher.core.identity import Identity
from publisher.core.mutable import is_all_settled, list_standing, plan_moves, plan_together
from publisher.core.pointers import PointerPlan
from publisher.core.profile import Duty, Profile
from publisher.core.refusals import Refusal
from publisher.core.snapshot import ReleaseSnapshot, Snapshot, Unfinished, select_live
from publisher.core.withdrawals import refuse_withdrawn


class Stage(StrEnum):
    """The stage a release is in."""

    NOT_OPEN = "not open"
    OPEN = "open"
    HANDED_OVER = "handed over"
    HELD = "held"
    READY = "ready"
    PLANNED = "planned"
    LIVE = "live"
    DONE = "done"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class RoleStatus:
    """How one role stands: what of its files is where, what stands in the way, and what to do about it.

    `handed_over_at` is the store's time of its SHA256SUMS, to be shown and never compared. `advice` is None
    where there is nothing to do.
    """

    role: str
    owner: str
    delivers: bool
    handed_over: bool
    handed_over_at: datetime | None
    commit: str | None
    hold: str | None
    counts: Mapping[str, int]
    standing: Mapping[str, Standing]
    refusals: tuple[Refusal, ...]
    advice: str | None

    @property
    def missing(self) -> tuple[str, ...]:
        """Name the required files that are neither staged nor public."""
        return self.list_keys(Standing.MISSING)

    def list_keys(self, standing: Standing) -> tuple[str, ...]:
        """Name the files that stand so."""
        return tuple(key for key, found in self.standing.items() if found is standing)


@dataclass(frozen=True, slots=True)
class ReleaseStatus:
    """How one release stands. `promotion` is the unfinished one, if any; `identities` are who may sign it.

    `pointers` tells of each set of mutable files that is staged, by its name, whether it is public or ready.
    """

    release: str
    kind: str
    stage: Stage
    commit: str | None
    attempt: int
    promotions: int
    promotion: str | None
    roles: tuple[RoleStatus, ...]
    refusals: tuple[Refusal, ...]
    streamed: tuple[str, ...]
    identities: tuple[Identity, ...]
    pointers: Mapping[str, str] = field(default_factory=dict[str, str])


def report_status(snapshot: Snapshot, profile: Profile) -> tuple[ReleaseStatus, ...]:
    """Report on each release of `snapshot`, with every refusal that a promotion would meet now."""
    published = snapshot.published()
    assessments = [assess_release(release, profile, published) for release in snapshot.releases]
    sets = plan_together(snapshot, profile, assessments)
    return tuple(_report(assessment, snapshot, profile, sets) for assessment in assessments)


def _report(assessment: Assessment, snapshot: Snapshot, profile: Profile, sets: PointerPlan) -> ReleaseStatus:
    release = assessment.snapshot
    name = release.release.name
    live = select_live(snapshot.unfinished, [name])
    planned = [promotion for promotion in snapshot.unfinished if name in promotion.plan.names()]
    settled = is_all_settled(release, snapshot, profile)
    refusals = () if settled else _list_refusals(assessment, snapshot, profile, sets)
    withdrawn = refuse_withdrawn(name, release.withdrawn)
    over = settled or bool(live) or bool(withdrawn)
    return ReleaseStatus(
        release=name,
        kind=release.release.kind,
        stage=Stage.WITHDRAWN
        if withdrawn
        else _find_stage(assessment, refusals, live, planned, settled=settled),
        commit=release.state.commit if release.state else None,
        attempt=release.state.attempt if release.state else 0,
        promotions=len(release.numbers) - release.amendments,
        promotion=(live or planned)[0].plan.id if planned else None,
        roles=tuple(_report_role(role, assessment, profile, over=over) for role in assessment.roles),
        refusals=withdrawn or refusals,
        streamed=_list_streamed(release, profile),
        identities=profile.find_identities(release.release),
        pointers=list_standing(release.release, profile, sets),
    )


def _list_refusals(
    assessment: Assessment, snapshot: Snapshot, profile: Profile, sets: PointerPlan
) -> tuple[Refusal, ...]:
    release = assessment.snapshot.release
    keys = [item.expected.key for item in assessment.delivered()]
    fresh = [key for key in keys if key not in snapshot.published()]
    return (
        *assessment.all_refusals(),
        *refuse_together(snapshot, profile, [assessment]),
        *(refusal for refusal in sets.refusals if refusal.subject.endswith(f"/{release.name}")),
        *plan_moves(snapshot, profile, [release], fresh).refusals,
    )


def _find_stage(
    assessment: Assessment,
    refusals: tuple[Refusal, ...],
    live: list[Unfinished],
    planned: list[Unfinished],
    *,
    settled: bool,
) -> Stage:
    if live:
        return Stage.LIVE
    if settled:
        return Stage.DONE
    if assessment.snapshot.state is None:
        return Stage.NOT_OPEN
    if any(refusal.rule == "hold" for refusal in refusals):
        return Stage.HELD
    if not refusals:
        return Stage.PLANNED if planned else Stage.READY
    waiting = any(refusal.rule == "missing" for refusal in refusals)
    return Stage.OPEN if waiting else Stage.HANDED_OVER


def _report_role(role: str, assessment: Assessment, profile: Profile, *, over: bool) -> RoleStatus:
    found = assessment.roles[role]
    rule = profile.roles.get(role)
    staging = assessment.snapshot.roles.get(role)
    hold = read_hold(staging)
    return RoleStatus(
        role=role,
        owner=rule.owner if rule else "release manager's sidecars",
        delivers=rule is None or rule.duty is Duty.DELIVERS,
        handed_over=found.handed_over,
        handed_over_at=staging.sums.modified if staging and staging.sums and found.handed_over else None,
        commit=found.commit,
        hold=hold,
        counts=Counter(str(standing) for standing in found.standing.values()),
        standing=dict(sorted(found.standing.items())),
        refusals=found.refusals,
        # What is public, or will be by itself, is in nobody's hands any more.
        advice=None if over else _advise(role, assessment.snapshot.release.name, hold, found.refusals),
    )


def _advise(role: str, release: str, hold: str | None, refusals: tuple[Refusal, ...]) -> str | None:
    """Say in one line what the role is to do next."""
    cures = tuple(dict.fromkeys(refusal.cure for refusal in refusals))
    if hold is not None:
        cures += (f"once it is cured, {role} runs: publisher unhold {release} --role {role}",)
    if not cures:
        return None
    return cures[0] if len(cures) == 1 else f"{cures[0]} (and {len(cures) - 1} more, see below)"


def _list_streamed(release: ReleaseSnapshot, profile: Profile) -> tuple[str, ...]:
    """Name the files that were read once: without a stored digest, or for an OpenPGP signature."""
    everything = [staging.objects for staging in release.roles.values()] + [release.rm]
    streamed = {key for objects in everything for key, stored in objects.items() if stored.streamed}
    expected = profile.expect(release.release)
    checked = {expected[key].artifact or key for key, found in release.checked.items() if found.streamed}
    return tuple(sorted(streamed | checked))
