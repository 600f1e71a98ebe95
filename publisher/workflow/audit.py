"""Gathers what an audit judges, with an auditor's rights: it takes no lease and writes nothing."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from publisher.core.aliases import find_release
from publisher.core.audit_evidence import Evidence, Listing, Looked
from publisher.core.audit_gate import Gated
from publisher.core.contents import Contents, PublicFile, list_contents
from publisher.core.keys import parents
from publisher.core.pages import HTML_NAME
from publisher.core.profile import Release
from publisher.core.withdrawals import find_unlisted
from publisher.errors import ConfigError, ListingError
from publisher.workflow.audit_files import Found, Scope, look_at_files
from publisher.workflow.audit_records import Stored, fold_wanted, judge_stored, read_pointers
from publisher.workflow.audit_state import Said, describe_progress, is_busy, read_said
from publisher.workflow.listing import Lister, count_changes
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
    said = read_said(world, scope)
    known = {**fold_wanted(said.stored, said.adopted), **read_pointers(world, said.swapping)}
    scope = replace(scope, recorded=said.recorded)
    found = look_at_files(world, scope, known, said.cases, said.moving_keys, deep=deep)
    mine = [item for item in said.stored if scope.has(item.release)]
    settled = [item for item in mine if item.release not in said.moving_releases]
    return Evidence(
        now=world.staging.now(),
        busy=is_busy(world),
        gated=_explain(world, said, found),
        unfinished=tuple(describe_progress(world, item) for item in said.unfinished),
        done=said.done,
        records=judge_stored(world, mine),
        wanted=found.wanted,
        found=found.digests,
        problems=found.problems,
        names=found.names,
        expected=found.expected,
        cases=said.cases,
        served=found.served,
        listings=tuple(_look_at_listings(world, settled, find_unlisted(said.cases))),
        stale=found.stale,
        pending=found.pending,
        whole=scope.whole,
    )


def _explain(world: World, said: Said, found: Found) -> Gated:
    return Gated(
        entries=said.entries,
        live={item.plan.id for item in said.live},
        planned={item.plan.id for item in said.unfinished if not item.live},
        withdrawals={name for case in said.cases for name in case.withdrawal.ids},
        aliases={*said.adopted.aliases, *_find_aliases(world, said.entries)},
        adopted=said.adopted.aliases.keys(),
        pages=_find_folders(found.pages),
        indexed=_find_folders({*found.present, *found.stale}),
        public=found.present | {folder for key in found.present for folder in parents(key)},
        lost=said.lost,
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
