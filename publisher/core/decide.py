"""The decision: from a snapshot of the world to a plan, to every refusal at once, or to nothing to do."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from publisher.core import keys, sums
from publisher.core.aliases import AliasKept
from publisher.core.assess import Assessment, assess_release
from publisher.core.contents import list_contents
from publisher.core.delivery import Delivered
from publisher.core.digests import Digest
from publisher.core.mutable import Moves, is_all_settled, list_handed_over, plan_moves, plan_sets
from publisher.core.plan import SCHEMA, Extras, Look, Plan, PlannedFile, PlannedRelease
from publisher.core.pointers import NAME as POINTERS_NAME
from publisher.core.pointers import PointerPlan, Run
from publisher.core.profile import Profile, PublicRecord, Release
from publisher.core.refusals import Refusal, Waiver, apply_waivers
from publisher.core.signatures import refuse_nobody
from publisher.core.snapshot import ReleaseSnapshot, Snapshot
from publisher.core.withdrawals import refuse_withdrawn


@dataclass(frozen=True, slots=True)
class Refused:
    """Why nothing may be written, every reason of it."""

    refusals: tuple[Refusal, ...]


@dataclass(frozen=True, slots=True)
class NothingToDo:
    """Everything staged is public already."""

    public: int


@dataclass(frozen=True, slots=True)
class Decision:
    """A plan, and how many of the delivered files are public already.

    `streamed` counts the bytes of artifacts that had to be read to know or to check them. `kept` are aliases
    that the releases might have moved and do not.
    """

    plan: Plan
    skipped: int
    streamed: int
    kept: tuple[AliasKept, ...] = ()


@dataclass(frozen=True, slots=True)
class Author:
    """Who plans, with which new promotion id, at what time of the store, and what else is asked for."""

    who: str
    id: str
    when: datetime
    extras: Extras = field(default_factory=Extras)


@dataclass(frozen=True, slots=True)
class _Work:
    """What a plan does: files that it creates, sets that it swaps, aliases that it moves."""

    files: tuple[PlannedFile, ...]
    sets: PointerPlan
    moves: Moves

    def names(self) -> frozenset[str]:
        """Name the releases that have a part in it."""
        swapped = (name for swap in self.sets.swaps for name in swap.releases)
        return frozenset((*(file.release for file in self.files), *swapped))


def plan_promotion(
    snapshot: Snapshot, profile: Profile, waivers: tuple[Waiver, ...], author: Author
) -> Decision | NothingToDo | Refused:
    """Decide what promoting the snapshot's releases would publish, or why it must not happen.

    A key that is public with the staged digest needs no step, so promoting twice is safe. A release that
    was promoted before and has nothing new staged is left alone, whatever is held or missing by now.
    Live promotions of these releases must be finished before this is asked.
    """
    withdrawn = list_withdrawn(snapshot)
    if withdrawn:
        # Nothing else matters until it is restored, and no waiver covers it.
        return Refused(withdrawn)
    published = snapshot.published()
    pending = [release for release in snapshot.releases if not is_all_settled(release, snapshot, profile)]
    settled = sum(_count(release) for release in snapshot.releases if release not in pending)
    if not pending:
        return NothingToDo(settled)
    assessments = [assess_release(release, profile, published) for release in pending]
    work = _plan_work(snapshot, profile, assessments)
    refusals = [
        *(refusal for assessment in assessments for refusal in assessment.all_refusals()),
        *refuse_together(snapshot, profile, assessments),
        *work.sets.refusals,
        *work.moves.refusals,
    ]
    standing, waived = apply_waivers(refusals, waivers)
    if standing:
        return Refused(standing)
    delivered = [item for assessment in assessments for item in assessment.delivered()]
    if not work.names():
        return NothingToDo(settled + len(delivered))
    return Decision(
        replace(_make_plan(snapshot, profile, author, work), waivers=waivers, waived=waived),
        skipped=settled + len(delivered) - len(work.files),
        streamed=sum(item.stored.size for item in delivered if item.stored.streamed)
        + sum(found.streamed for release in pending for found in release.checked.values()),
        kept=work.moves.kept,
    )


def plan_pointers_alone(
    snapshot: Snapshot, profile: Profile, waivers: tuple[Waiver, ...], author: Author
) -> Decision | NothingToDo | Refused:
    """Decide which sets of mutable files of public releases are swapped, and nothing besides.

    What stands in the way of the roles that deliver them, of the releases and of the project counts as ever;
    what others owe does not.
    """
    withdrawn = list_withdrawn(snapshot)
    if withdrawn:
        # Nothing else matters until it is restored, and no waiver covers it.
        return Refused(withdrawn)
    published = snapshot.published()
    pending = [release for release in snapshot.releases if not is_all_settled(release, snapshot, profile)]
    assessments = [assess_release(release, profile, published) for release in pending]
    sets = plan_sets(snapshot, profile, assessments, Run(frozenset(), frozenset()))
    refusals = [
        *(refusal for assessment in assessments for refusal in _list_sets_refusals(assessment, profile)),
        *_refuse_project(snapshot, profile, [release.release for release in pending]),
        *_refuse_records(snapshot, profile, assessments),
        *sets.refusals,
    ]
    standing, waived = apply_waivers(refusals, waivers)
    if standing:
        return Refused(standing)
    if not sets.swaps:
        return NothingToDo(len(sets.settled))
    plan = _make_plan(snapshot, profile, author, _Work((), sets, Moves((), (), ())))
    return Decision(replace(plan, waivers=waivers, waived=waived), skipped=len(sets.settled), streamed=0)


def _list_sets_refusals(assessment: Assessment, profile: Profile) -> tuple[Refusal, ...]:
    roles = list_handed_over(assessment, profile)
    return assessment.refusals + tuple(
        refusal for role in roles for refusal in assessment.roles[role].refusals
    )


def _plan_work(snapshot: Snapshot, profile: Profile, assessments: Sequence[Assessment]) -> _Work:
    files = tuple(_plan_files(assessments, snapshot.published()))
    names = frozenset(file.release for file in files)
    public = {file.key for file in files}
    records = {record.key for record in _list_records(snapshot, profile, assessments)}
    sets = plan_sets(snapshot, profile, assessments, Run(names, frozenset(public | records)))
    work = _Work(files, sets, Moves((), (), ()))
    part = [each.snapshot.release for each in assessments if each.snapshot.release.name in work.names()]
    return replace(work, moves=plan_moves(snapshot, profile, part, public))


def _make_plan(snapshot: Snapshot, profile: Profile, author: Author, work: _Work) -> Plan:
    # A release of which nothing gets public has no part in it: it would count as promoted.
    part = [release for release in snapshot.releases if release.release.name in work.names()]
    full = {file.release for file in work.files}
    return Plan(
        schema=SCHEMA,
        id=author.id,
        releases=tuple(
            planned if planned.name in full else _strip_release(planned)
            for planned in (_plan_release(release, snapshot, profile) for release in part)
        ),
        files=work.files,
        looks=tuple(look for release in part for look in _looks(release)),
        waivers=(),
        waived=(),
        profile=profile.name,
        profile_digest=profile.digest,
        who=author.who,
        when=author.when,
        extras=author.extras,
        pages=profile.pages,
        swaps=work.sets.swaps,
        swap_files=work.sets.files,
        aliases=work.moves.changes,
    )


def _strip_release(release: PlannedRelease) -> PlannedRelease:
    """Leave out of a release what has been done when its files were made public."""
    return replace(release, contents=None, listing=None, signals=())


def list_withdrawn(snapshot: Snapshot) -> tuple[Refusal, ...]:
    """Refuse every release of which something is withdrawn."""
    found = (refuse_withdrawn(release.release.name, release.withdrawn) for release in snapshot.releases)
    return tuple(refusal for refusals in found for refusal in refusals)


def refuse_together(
    snapshot: Snapshot, profile: Profile, assessments: Sequence[Assessment]
) -> tuple[Refusal, ...]:
    """List what stands in the way of the releases besides their own files: series, roles, keys that clash."""
    releases = [assessment.snapshot.release for assessment in assessments]
    return (*_refuse_project(snapshot, profile, releases), *_refuse_keys(snapshot, profile, assessments))


def state_key(release: str) -> str:
    """Give the key of a release's state in the staging bucket."""
    return f"_state/releases/{release}.json"


def hold_key(role: str, release: str) -> str:
    """Give the key of a role's hold in the staging bucket."""
    return f"_hold/{role}/{release}"


def _count(release: ReleaseSnapshot) -> int:
    return sum(len(staging.objects) for staging in release.roles.values()) + len(release.rm)


def _refuse_project(snapshot: Snapshot, profile: Profile, releases: Iterable[Release]) -> Iterator[Refusal]:
    for release in releases:
        yield from profile.refuse_series(release, snapshot.today)
        yield from refuse_nobody(profile, release, signed_records=snapshot.signed_records)
    if snapshot.gate_lost:
        yield Refusal(
            "gate",
            "the gate's store",
            "no owner key in it, though there were promotions",
            "the store that promotions were made with",
            "ops looks what became of it; then run: publisher gate rebuild",
        )
    for role in profile.roles:
        if role not in snapshot.provisioned:
            yield Refusal(
                "provision",
                role,
                "a role of the profile without credentials",
                f"one of the stack's: {', '.join(sorted(snapshot.provisioned)) or 'none yet'}",
                "ops adds the role to the stack and runs: pulumi up",
            )


def _refuse_keys(
    snapshot: Snapshot, profile: Profile, assessments: Sequence[Assessment]
) -> Iterator[Refusal]:
    """Refuse keys that may not become public; for those that are public already it is too late."""
    published = snapshot.published()
    claims: dict[str, list[str]] = {}
    for assessment in assessments:
        for item in assessment.delivered():
            name = assessment.snapshot.release.name
            # Two bundles of one artifact, by its builder and the release manager, are refused elsewhere.
            if item.expected.key not in published and name not in claims.setdefault(item.expected.key, []):
                claims[item.expected.key].append(name)
    rename = "correct the key's template in the profile, then stage the file under its new key"
    records = {record.key for record in _list_records(snapshot, profile, assessments)}
    for key in (*claims, *records):
        problem = keys.find_problem(key)
        if problem:
            yield Refusal("key", key, problem, "a key that may be public", rename)
    taken = snapshot.public_names | published.keys()
    for key, other, why in keys.find_conflicts([*claims, *sorted(records)], taken):
        yield Refusal("key", key, f"{other}: {why}", "keys that can stand beside each other", rename)
    yield from _refuse_shared(claims)
    yield from _refuse_records(snapshot, profile, assessments)


def _list_records(
    snapshot: Snapshot, profile: Profile, assessments: Iterable[Assessment]
) -> Iterator[PublicRecord]:
    for assessment in assessments:
        number = next_number(assessment.snapshot, snapshot)
        record = profile.place_record(assessment.snapshot.release, number)
        if record is not None:
            yield record


def _refuse_records(
    snapshot: Snapshot, profile: Profile, assessments: Iterable[Assessment]
) -> Iterator[Refusal]:
    """Refuse a release whose record could not become public: something else has its key."""
    for assessment in assessments:
        release = assessment.snapshot.release
        record = profile.place_record(release, next_number(assessment.snapshot, snapshot))
        if record and record.key in snapshot.public_names | profile.expect(release).keys():
            yield Refusal(
                "key",
                record.key,
                "a file there already, or one of the release",
                "no object at the key of the record",
                "correct [record] of the profile, or ops looks whose object it is",
            )


def _refuse_shared(claims: Mapping[str, Sequence[str]]) -> Iterator[Refusal]:
    for key, releases in claims.items():
        if len(releases) > 1:
            yield Refusal(
                "key",
                key,
                f"it in {' and '.join(releases)}",
                "each key in one release",
                "promote one of them; in the profile, put {release} into the key's template",
            )


def _plan_files(assessments: Iterable[Assessment], published: Mapping[str, Digest]) -> Iterator[PlannedFile]:
    for assessment in assessments:
        for item in assessment.delivered():
            if item.expected.key not in published:
                yield _plan_file(item, assessment.snapshot.release.name)


def _plan_file(item: Delivered, release: str) -> PlannedFile:
    expected, stored = item.expected, item.stored
    return PlannedFile(
        key=expected.key,
        release=release,
        role=expected.role,
        digest=stored.digest,
        size=stored.size,
        source=stored.version,
        delivery=expected.delivery,
        sign=expected.sign,
        artifact=expected.artifact,
        row=expected.row,
    )


def next_number(release: ReleaseSnapshot, snapshot: Snapshot) -> int:
    """Give the number of the release's next record, those of live promotions counted."""
    live = (
        planned.number
        for promotion in snapshot.live()
        for planned in promotion.plan.releases
        if planned.name == release.release.name
    )
    return 1 + max([*release.numbers, *live], default=0)


def _plan_release(release: ReleaseSnapshot, snapshot: Snapshot, profile: Profile) -> PlannedRelease:
    number = next_number(release, snapshot)
    state = release.state
    return PlannedRelease(
        release.release.name,
        state.commit if state else None,
        state.attempt if state else 0,
        number,
        identities=profile.find_identities(release.release),
        recorders=profile.find_recorders(release.release),
        record=profile.place_record(release.release, number),
        contents=list_contents(profile, release.release),
        listing=profile.listing,
        signals=profile.list_signals(release.release),
    )


def _looks(release: ReleaseSnapshot) -> Iterator[Look]:
    name = release.release.name
    yield Look(state_key(name), release.state_version)
    for role, staging in sorted(release.roles.items()):
        prefix = f"{role}/{name}"
        yield Look(f"{prefix}/{sums.NAME}", staging.sums and staging.sums.version_id)
        yield Look(f"{prefix}/{sums.COMMIT_NAME}", staging.commit and staging.commit.version_id)
        if staging.pointers is not None:
            said = staging.pointers.file
            yield Look(f"{prefix}/{POINTERS_NAME}", said and said.version_id)
        yield Look(hold_key(role, name), staging.hold and staging.hold.version_id)
