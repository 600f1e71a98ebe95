"""What a run changes besides placing files: the sets of mutable files that it swaps, the aliases it moves."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from publisher.core.aliases import AliasChange, AliasKept, plan_aliases, refuse_shadowed
from publisher.core.assess import Assessment, is_settled
from publisher.core.pointers import Candidate, PointerPlan, PointerStaging, Run, make_subject
from publisher.core.pointers import is_settled as is_set_settled
from publisher.core.pointers_facts import PointerFacts
from publisher.core.pointers_plan import plan_pointers
from publisher.core.pointers_rules import read_set, refuse_unknown
from publisher.core.profile import Profile, Release
from publisher.core.refusals import Refusal
from publisher.core.snapshot import ReleaseSnapshot, RoleStaging, Snapshot


@dataclass(frozen=True, slots=True)
class Moves:
    """Which aliases a run moves, which stay and why, and the keys that an alias would hide."""

    changes: tuple[AliasChange, ...]
    kept: tuple[AliasKept, ...]
    refusals: tuple[Refusal, ...]


def is_all_settled(release: ReleaseSnapshot, snapshot: Snapshot, profile: Profile) -> bool:
    """Tell whether a release was promoted before and has nothing new staged, mutable files included."""
    pointers = {(role, key) for role in profile.roles for key in profile.list_pointers(role)}
    return is_settled(release, snapshot.published(), pointers) and not any(
        _is_unsettled(staging, profile, snapshot.pointers)
        for staging in _list_staged(release, profile, release.roles)
    )


def plan_sets(
    snapshot: Snapshot, profile: Profile, assessments: Iterable[Assessment], run: Run
) -> PointerPlan:
    """Decide which staged sets are swapped; of a role that has not handed over, nothing counts."""
    staged = [
        staging
        for assessment in assessments
        for staging in _list_staged(
            assessment.snapshot,
            profile,
            [role for role, found in assessment.roles.items() if found.handed_over],
        )
    ]
    return plan_pointers(staged, profile.pointers, snapshot.pointers, run)


def plan_together(snapshot: Snapshot, profile: Profile, assessments: Sequence[Assessment]) -> PointerPlan:
    """Decide about the sets as if all of these releases were promoted together, all that is ready of them."""
    names = frozenset(assessment.snapshot.release.name for assessment in assessments)
    keys = frozenset(item.expected.key for each in assessments for item in each.delivered())
    return plan_sets(snapshot, profile, assessments, Run(names, keys))


def list_standing(release: Release, profile: Profile, sets: PointerPlan) -> Mapping[str, str]:
    """Tell of each set that is staged for a release whether it is public, ready or refused."""
    refused = {refusal.subject for refusal in sets.refusals}
    ready = {make_subject(swap.name, release) for swap in sets.swaps if release.name in swap.releases}
    standing: dict[str, str] = {}
    for rule in profile.pointers:
        subject = make_subject(rule.name, release)
        for word, subjects in (("public", sets.settled), ("ready", ready), ("refused", refused)):
            if subject in subjects:
                standing[rule.name] = word
    return standing


def plan_moves(
    snapshot: Snapshot, profile: Profile, releases: Iterable[Release], keys: Collection[str]
) -> Moves:
    """Decide which aliases move once `releases` are public, with `keys` of them new."""
    public = {*keys, *snapshot.published()}
    changes, kept = plan_aliases(
        profile.aliases, releases, snapshot.entries, parse=profile.parse_release, public=public
    )
    return Moves(changes, kept, refuse_shadowed(keys, snapshot.entries, changes))


def list_handed_over(assessment: Assessment, profile: Profile) -> tuple[str, ...]:
    """Name the roles that have staged anything of a set."""
    found = _list_staged(assessment.snapshot, profile, assessment.roles)
    return tuple(staging.role for staging in found if staging.objects or staging.claims is not None)


def _list_staged(
    release: ReleaseSnapshot, profile: Profile, roles: Iterable[str]
) -> Iterator[PointerStaging]:
    for role in roles:
        mine = profile.list_pointers(role)
        if mine:
            yield _make_staging(release, role, release.roles.get(role, RoleStaging({})), mine)


def _make_staging(
    release: ReleaseSnapshot, role: str, staging: RoleStaging, mine: Collection[str]
) -> PointerStaging:
    objects = {key: stored for key, stored in staging.objects.items() if key in mine}
    said = staging.pointers
    return PointerStaging(
        release.release, role, said.claims if said else None, objects, said.data if said else {}
    )


def _is_unsettled(staging: PointerStaging, profile: Profile, facts: PointerFacts) -> bool:
    """Tell whether something of a role's sets was neither public before nor is public now."""
    rules = [rule for rule in profile.pointers if rule.role == staging.role]
    if staging.claims is None:
        # Staging expires file by file, so what is left of a set may have nobody to speak for it.
        return not all(
            facts.knows(rule.name, key, staging.objects[key].digest)
            for rule in rules
            for key in staging.objects.keys() & rule.files.keys()
        )
    found: Sequence[Candidate | tuple[Refusal, ...]] = [read_set(rule, staging, facts) for rule in rules]
    return any(refuse_unknown(rules, staging)) or any(
        not is_set_settled(each, facts) if isinstance(each, Candidate) else bool(each) for each in found
    )
