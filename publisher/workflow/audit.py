"""Gathers what an audit judges, with an auditor's rights: it takes no lease and writes nothing."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from publisher.core.adoption import Adopted
from publisher.core.aliases import find_release
from publisher.core.audit_evidence import Evidence, Listing, Looked, Progress
from publisher.core.audit_gate import Gated
from publisher.core.contents import Contents, PublicFile, list_contents
from publisher.core.gate import OWNER, find_gated
from publisher.core.keys import parents
from publisher.core.lease import seconds_left
from publisher.core.pages import HTML_NAME
from publisher.core.profile import Release
from publisher.core.promotions import Phase
from publisher.core.snapshot import Unfinished
from publisher.core.withdrawals import Case, find_unlisted
from publisher.errors import ConfigError, ListingError
from publisher.workflow.audit_files import Found, Scope, look_at_files
from publisher.workflow.audit_records import (
    Stored,
    fold_wanted,
    judge_stored,
    read_adopted,
    read_pointers,
    read_stored,
)
from publisher.workflow.listing import Lister, count_changes
from publisher.workflow.steps import find_owed
from publisher.workflow.world import World

_ROUNDS = 2
"""How often all is looked at once more, because something was promoted or withdrawn meanwhile."""


def gather_evidence(world: World, releases: Iterable[Release], *, deep: bool) -> Evidence:
    """Read everything that an audit of `releases` judges; of the whole site, if there are none.

    Args:
        world: The ports; only methods that read are called.
        releases: What the audit is of.
        deep: Download every file where users do, and compare its digest.
    """
    scope = Scope(frozenset(release.name for release in releases))
    events = world.state.list_events()
    for _ in range(_ROUNDS):
        evidence = _gather(world, scope, deep=deep)
        before, events = events, world.state.list_events()
        if events == before:
            return evidence
        world.observer.warn("something was promoted or withdrawn meanwhile; looking again")
    return _gather(world, scope, deep=deep)


def _gather(world: World, scope: Scope, *, deep: bool) -> Evidence:
    world.observer.step("state", "promotions, records and the gate")
    entries = world.gate.read_entries()
    marks = world.state.read_marks()
    unfinished = tuple(
        item for item in world.state.read_unfinished(find_gated(entries)) if scope.has_any(item.plan.names())
    )
    stored = read_stored(world)
    adopted = read_adopted(world)
    cases = tuple(case for case in world.state.read_cases() if scope.has(case.withdrawal.release))
    done = _read_done(world, marks, scope)
    recorded = {(name, number) for name, numbers in done.items() for number in numbers}
    recorded.update((item.release, item.number) for item in stored)
    recorded.update((case.withdrawal.release, case.withdrawal.number) for case in cases)
    scope = replace(scope, recorded=frozenset(recorded))
    live = [file.key for item in unfinished if item.live for file in item.plan.files]
    known = {**fold_wanted(stored, adopted), **read_pointers(world, _list_moving(unfinished))}
    found = look_at_files(world, scope, known, cases, live, deep=deep)
    settled = [
        item for item in stored if scope.has(item.release) and item.release not in _name_live(unfinished)
    ]
    lost = OWNER not in entries and bool(marks)
    return Evidence(
        now=world.staging.now(),
        busy=_is_busy(world),
        gated=_explain(world, entries, (*unfinished, *cases), adopted, found, lost=lost),
        unfinished=tuple(_describe(world, item) for item in unfinished),
        done=done,
        records=judge_stored(world, [item for item in stored if scope.has(item.release)]),
        wanted=found.wanted,
        found=found.digests,
        problems=found.problems,
        names=found.names,
        expected=found.expected,
        cases=cases,
        served=found.served,
        listings=tuple(_look_at_listings(world, settled, find_unlisted(cases))),
        stale=found.stale,
        pending=found.pending,
        whole=scope.whole,
    )


def _list_moving(unfinished: Iterable[Unfinished]) -> frozenset[str]:
    """List the mutable files that live promotions are still to swap."""
    plans = (item.plan for item in unfinished if item.live)
    return frozenset(member.key for plan in plans for swap in plan.swaps for member in swap.members)


def _name_live(unfinished: Iterable[Unfinished]) -> frozenset[str]:
    """Name the releases of which a live promotion is still to be listed."""
    return frozenset(name for item in unfinished if item.live for name in item.plan.names())


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
        keys=tuple(file.key for file in item.plan.files) if item.live else (),
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
        pages=_find_folders(found.pages),
        indexed=_find_folders({*found.present, *found.stale}),
        public=found.present | {folder for key in found.present for folder in parents(key)},
        lost=lost,
    )


def _find_folders(pages: Iterable[str]) -> frozenset[str]:
    """Name the folders that these HTML pages are of."""
    named = (key.rpartition("/") for key in pages)
    return frozenset(folder for folder, _, name in named if name == HTML_NAME)


def _find_aliases(world: World, entries: Mapping[str, str]) -> Iterator[str]:
    """Name the aliases that lead where a rule of the profile would have them."""
    for entry, target in entries.items():
        kind, _, name = entry.partition(":")
        rules = world.profile.aliases if kind == "a" else ()
        if any(find_release(rule, name, target, world.profile.parse_release) for rule in rules):
            yield name


def _look_at_listings(world: World, stored: Iterable[Stored], hidden: frozenset[str]) -> Iterator[Listing]:
    if world.database is None or world.profile.listing is None:
        return
    stored = tuple(stored)
    world.observer.step("listing", "the rows of each release")
    for name in dict.fromkeys(item.release for item in stored):
        release = world.profile.parse_release(name)
        mine = [item for item in stored if item.release == name]
        if release is None or any(item.value is None for item in mine):
            continue
        contents = list_contents(world.profile, release)
        files = _list_files(contents, mine, hidden)
        try:
            lister = Lister(
                world, world.database(), contents, world.profile.listing, when=world.staging.now()
            )
            gone = any(hidden & item.wanted.keys() for item in mine)
            changes = count_changes(lister.compare(files) if gone else lister.plan(files).changes)
        except (ConfigError, ListingError) as error:
            # What nobody could look at is no proof that anything is wrong, nor that all is well.
            yield Listing(name, Looked.BLIND, str(error))
            continue
        if changes:
            found = ", ".join(f"{count} to be {what}" for what, count in changes.items())
            given_up = any("listing" in item.given_up for item in mine)
            yield Listing(name, Looked.DIFFERS, found, given_up)


def _list_files(contents: Contents, stored: Iterable[Stored], hidden: Collection[str]) -> list[PublicFile]:
    """List what the records of a release say is public, but for what is `hidden`."""
    wanted = {key: item for each in stored for key, item in each.wanted.items() if key not in hidden}
    return [
        PublicFile(entry, wanted[entry.key].size, wanted[entry.key].digest)
        for entry in contents.entries
        if entry.key in wanted
    ]
