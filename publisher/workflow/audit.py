"""Gathers what an audit judges, with an auditor's rights: it takes no lease and writes nothing."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from publisher.core.adoption import Adopted
from publisher.core.aliases import find_release
from publisher.core.audit import Evidence, Listing, Looked, Progress
from publisher.core.audit_gate import Gated
from publisher.core.contents import PublicFile, list_contents
from publisher.core.gate import OWNER, find_gated
from publisher.core.keys import parents
from publisher.core.lease import seconds_left
from publisher.core.profile import Release
from publisher.core.promotions import Phase
from publisher.core.snapshot import Unfinished
from publisher.core.withdrawals import Case, find_unlisted
from publisher.errors import ConfigError, ListingError
from publisher.workflow.audit_files import Found, Scope, look_at_files
from publisher.workflow.audit_records import Stored, judge_stored, read_adopted, read_stored
from publisher.workflow.listing import Lister, count_changes
from publisher.workflow.steps import find_owed
from publisher.workflow.world import World


def gather_evidence(world: World, releases: Iterable[Release], *, deep: bool) -> Evidence:
    """Read everything that an audit of `releases` judges; of the whole site, if there are none.

    Args:
        world: The ports; only methods that read are called.
        releases: What the audit is of.
        deep: Download every file where users do, and compare its digest.
    """
    scope = Scope(frozenset(release.name for release in releases))
    world.observer.step("state", "promotions, records and the gate")
    entries = world.gate.read_entries()
    marks = world.state.read_marks()
    unfinished = tuple(
        item for item in world.state.read_unfinished(find_gated(entries)) if scope.has_any(item.plan.names())
    )
    stored = read_stored(world)
    adopted = read_adopted(world)
    cases = tuple(case for case in world.state.read_cases() if scope.has(case.withdrawal.release))
    found = look_at_files(world, scope, stored, adopted, cases, deep=deep)
    lost = OWNER not in entries and bool(marks)
    return Evidence(
        now=world.staging.now(),
        busy=_is_busy(world),
        gated=_explain(world, entries, (*unfinished, *cases), adopted, found, lost=lost),
        unfinished=tuple(_describe(world, item) for item in unfinished),
        done=_read_done(world, marks, scope),
        records=judge_stored(world, [item for item in stored if scope.has(item.release)]),
        wanted=found.wanted,
        found=found.digests,
        problems=found.problems,
        names=found.names,
        expected=found.expected,
        cases=cases,
        served=found.served,
        listings=tuple(_look_at_listings(world, scope, stored, find_unlisted(cases))),
        stale=found.stale,
        pending=found.pending,
        whole=scope.whole,
    )


def _is_busy(world: World) -> bool:
    stored = world.state.read_lease()
    return stored is not None and bool(seconds_left(stored.value, stored.modified, stored.now))


def _describe(world: World, item: Unfinished) -> Progress:
    mark = world.state.read_mark(item.plan.id, Phase.LIVE) if item.live else None
    return Progress(
        id=item.plan.id,
        releases=tuple(release.name for release in item.plan.releases),
        live=item.live,
        since=mark.when if mark else item.plan.when,
        owed=tuple(file.key for file in find_owed(world, item.plan)) if item.live else (),
        numbers={release.name: release.number for release in item.plan.releases},
    )


def _read_done(
    world: World, marks: Mapping[str, frozenset[str]], scope: Scope
) -> Mapping[str, frozenset[int]]:
    """Give the numbers of the records that finished promotions must have written, by release."""
    done = [promotion for promotion, found in sorted(marks.items()) if {"plan", Phase.DONE} <= found]
    numbers: dict[str, frozenset[int]] = {}
    for plan in world.parallel.map(world.state.read_plan, done):
        for release in plan.releases:
            if scope.has(release.name):
                numbers[release.name] = numbers.get(release.name, frozenset()) | {release.number}
    return numbers


def _explain(
    world: World,
    entries: Mapping[str, str],
    explaining: Iterable[Unfinished | Case],
    adopted: Adopted,
    found: Found,
    *,
    lost: bool,
) -> Gated:
    explaining = tuple(explaining)
    promotions = [item for item in explaining if isinstance(item, Unfinished)]
    cases = [item for item in explaining if isinstance(item, Case)]
    return Gated(
        entries=entries,
        live={item.plan.id for item in promotions if item.live},
        planned={item.plan.id for item in promotions if not item.live},
        withdrawals={name for case in cases for name in case.withdrawal.ids},
        aliases={*adopted.aliases, *_find_aliases(world, entries)},
        adopted=adopted.aliases.keys(),
        pages=found.pages,
        public=found.present | {folder for key in found.present for folder in parents(key)},
        lost=lost,
    )


def _find_aliases(world: World, entries: Mapping[str, str]) -> Iterator[str]:
    """Name the aliases that lead where a rule of the profile would have them."""
    for entry, target in entries.items():
        kind, _, name = entry.partition(":")
        rules = world.profile.aliases if kind == "a" else ()
        if any(find_release(rule, name, target, world.profile.parse_release) for rule in rules):
            yield name


def _look_at_listings(
    world: World, scope: Scope, stored: Iterable[Stored], hidden: Collection[str]
) -> Iterator[Listing]:
    if world.database is None or world.profile.listing is None:
        return
    stored = [item for item in stored if scope.has(item.release)]
    world.observer.step("listing", "the rows of each release")
    for name in dict.fromkeys(item.release for item in stored):
        release = world.profile.parse_release(name)
        mine = [item for item in stored if item.release == name]
        if release is None or any(item.value is None for item in mine):
            continue
        try:
            found = _find_changes(world, release, mine, hidden)
        except (ConfigError, ListingError) as error:
            # What nobody could look at is no proof that anything is wrong, nor that all is well.
            yield Listing(name, Looked.BLIND, str(error))
            continue
        if found:
            given_up = any("listing" in item.given_up for item in mine)
            yield Listing(name, Looked.DIFFERS, found, given_up)


def _find_changes(world: World, release: Release, stored: Iterable[Stored], hidden: Collection[str]) -> str:
    """Say by how much the rows of a release differ from what its records say is public and not `hidden`."""
    if world.database is None or world.profile.listing is None:
        return ""
    contents = list_contents(world.profile, release)
    wanted = {key: item for each in stored for key, item in each.wanted.items()}
    files = [
        PublicFile(entry, wanted[entry.key].size, wanted[entry.key].digest)
        for entry in contents.entries
        if entry.key in wanted and entry.key not in hidden
    ]
    lister = Lister(world, world.database(), contents, world.profile.listing, when=world.staging.now())
    changes = count_changes(lister.plan(files).changes)
    return ", ".join(f"{count} to be {what}" for what, count in changes.items())
