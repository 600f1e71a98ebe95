"""Gathers what is known of mutable files: what is staged of them, what is public, where their links lead."""

from collections.abc import Collection, Iterable, Mapping
from itertools import chain

from publisher.core.aliases import follow
from publisher.core.digests import Digest
from publisher.core.gate import WITHDRAWN, path_entry, promotion_entry
from publisher.core.keys import find_problem
from publisher.core.pointers_facts import NOTHING_KNOWN, Claim, PointerFacts
from publisher.core.pointers_links import MAX_BYTES, Site, find_links
from publisher.core.pointers_swap import Verdict, judge_set
from publisher.core.snapshot import SmallObject, Snapshot, StagedPointers, StoredObject
from publisher.core.urls import make_path
from publisher.documents.pointers import read_claims
from publisher.ports import Bucket
from publisher.workflow.world import World


def read_staged_pointers(
    world: World,
    prefix: str,
    file: SmallObject | None,
    objects: Mapping[str, StoredObject],
    mine: Collection[str],
) -> StagedPointers:
    """Read what a role says of its sets, and the bytes of those of `objects` that are mutable and small.

    Whether these are the bytes of the digest that was gathered is for the rules to say.
    """
    keys = [key for key, stored in objects.items() if key in mine and stored.size <= MAX_BYTES]
    found = world.parallel.map(lambda key: world.staging.read(prefix + key), keys)
    return StagedPointers(
        file,
        read_claims(file.data) if file else None,
        {key: each.data for key, each in zip(keys, found, strict=True) if each},
    )


def gather_pointers(world: World, snapshot: Snapshot) -> PointerFacts:
    """Read what the decision about the staged sets of `snapshot` depends on; nothing where none is staged."""
    if not world.profile.pointers:
        return NOTHING_KNOWN
    roles = [staging for release in snapshot.releases for staging in release.roles.values()]
    staged = [staging.pointers for staging in roles if staging.pointers]
    claims = [claim for found in staged for claim in _list_claims(found)]
    promoted = _find_promoted(world, snapshot, claims)
    site = make_site(world)
    if not any(found.file or found.data for found in staged):
        return PointerFacts({}, {}, {}, promoted, frozenset(), site)
    current = read_current(world.public, [key for rule in world.profile.pointers for key in rule.files])
    histories = {rule.name: world.state.read_history(rule.name) for rule in world.profile.pointers}
    return PointerFacts(
        current=current,
        histories={name: found.value for name, found in histories.items() if found},
        owed=_find_owed(snapshot, current),
        promoted=promoted,
        linked=_find_linked(world, snapshot, _find_all_links(staged, site)),
        site=site,
    )


def make_site(world: World) -> Site:
    """Say which URLs lead to public keys: the canonical ones, and where users and the publisher look."""
    prefix = world.profile.key_prefix
    # Those two stand for the top of the bucket, and the profile's for its own folder.
    below = (base + make_path(prefix) for base in (world.site.public_base_url, world.site.cdn_url))
    return Site(tuple(dict.fromkeys((world.profile.base_url, *below))), prefix)


def read_current(bucket: Bucket, keys: Iterable[str]) -> Mapping[str, Digest]:
    """Give the digests of those of `keys` that are there; one that the store does not hold is computed."""
    found = {key: bucket.describe(key) for key in keys}
    return {key: each.digest or bucket.compute_digest(each.version) for key, each in found.items() if each}


def _list_claims(found: StagedPointers) -> Collection[Claim]:
    return found.claims.values() if isinstance(found.claims, Mapping) else ()


def _find_promoted(world: World, snapshot: Snapshot, claims: Iterable[Claim]) -> frozenset[str]:
    """Name the releases that are public, of those that matter: the snapshot's, and what sets wait for."""
    numbers = {release.release.name: release.numbers for release in snapshot.releases}
    for name in chain.from_iterable(claim.requires for claim in claims):
        if name not in numbers:
            hidden = any(not case.withdrawal.unlist for case in world.state.read_cases(name))
            numbers[name] = () if hidden else world.state.list_numbers(name)
    live = {name for promotion in snapshot.live() for name in promotion.plan.names()}
    return frozenset(name for name, found in numbers.items() if found or name in live)


def _find_owed(snapshot: Snapshot, current: Mapping[str, Digest]) -> Mapping[str, tuple[str, ...]]:
    return {
        swap.name: tuple(sorted(promotion.plan.names()))
        for promotion in snapshot.live()
        for swap in promotion.plan.swaps
        if judge_set(swap, current).state is Verdict.SWAP
    }


def _find_all_links(staged: Iterable[StagedPointers], site: Site) -> frozenset[str]:
    links: set[str] = set()
    for key, data in chain.from_iterable(found.data.items() for found in staged):
        try:
            links |= find_links(key, data, site)
        except ValueError:
            # The rules say so, and what to do.
            continue
    return frozenset(links)


def _find_linked(world: World, snapshot: Snapshot, links: frozenset[str]) -> frozenset[str]:
    """Find the links that lead to something public; what is staged now is looked for in the plan instead."""
    entries = snapshot.entries
    known = {*snapshot.public_names, *snapshot.published()}
    staged = {
        key for release in snapshot.releases for staging in release.roles.values() for key in staging.objects
    }

    def is_there(link: str) -> bool:
        key = follow(entries, link)
        if entries.get(promotion_entry(entries.get(path_entry(key), ""))) == WITHDRAWN:
            return False
        if link.endswith("/") or not link:
            return any(name.startswith(key) for name in known) or bool(world.public.list_keys(key))
        if key in known:
            return True
        return key not in staged and find_problem(key) is None and world.public.describe(key) is not None

    ordered = sorted(links)
    found = world.parallel.map(is_there, ordered)
    return frozenset(link for link, there in zip(ordered, found, strict=True) if there)
