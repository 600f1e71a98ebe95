"""Takes an existing tree in: it writes down what lies there, and changes nothing in public but aliases."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from publisher.core.adoption import (
    Adopted,
    AdoptedFile,
    Adoption,
    adopt_object,
    find_type,
    judge_again,
    judge_type,
    select_objects,
    split_parts,
)
from publisher.core.faults import Fault
from publisher.core.gate import Change, find_gated
from publisher.core.snapshot import Described, Listed
from publisher.core.symlinks import Links, parse_links, resolve_links
from publisher.errors import PublisherError, UnfinishedError
from publisher.workflow.audit_files import find_own_pages, list_own
from publisher.workflow.audit_records import fold_wanted, read_adopted, read_stored
from publisher.workflow.lease import hold_lease
from publisher.workflow.world import World


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree as it was found: what of it is still to be adopted, and the `faults` that were found.

    `links` are the aliases that its links become. `already` counts the objects that were adopted before.
    """

    prefix: str
    adopted: Adopted
    todo: tuple[Described, ...]
    links: Links
    already: int
    faults: tuple[Fault, ...]

    @property
    def streamed(self) -> int:
        """Give the bytes that have to be read, since the store holds no digest of them."""
        return sum(found.size for found in self.todo if found.digest is None)


def read_tree(world: World, prefix: str, links: str) -> Tree:
    """Read what lies below `prefix` (empty: everything) and is not adopted yet; `links` are its symlinks.

    Nothing is written, and no bytes of files are read.
    """
    world.observer.step("list", f"what is public below {prefix or 'the top'}")
    adopted = read_adopted(world)
    objects = world.public.list_objects(f"{prefix}/" if prefix else "")
    known = _find_known(world, objects)
    selected, faults = select_objects(objects, adopted.files, known)
    found = _describe(world, selected)
    types = (judge_type(item, find_type(item.version.key, world.profile.content_types)) for item in found)
    linked, bad = parse_links(links, prefix)
    public = {item.key for item in objects}
    if linked:
        # A link may lead out of the tree.
        public.update(world.public.list_keys(""))
    resolved = resolve_links(linked, public, world.gate.read_entries() if linked else {})
    return Tree(
        prefix=prefix,
        adopted=adopted,
        todo=found,
        links=resolved,
        already=sum(item.key in adopted.files for item in objects) - _count_again(found, adopted.files),
        faults=(*faults, *(fault for fault in types if fault), *bad, *resolved.faults),
    )


def adopt_tree(world: World, tree: Tree) -> tuple[tuple[AdoptedFile, ...], tuple[Fault, ...]]:
    """Write down what is to be adopted, part by part, and answer the files and what came in between.

    Digests that the store does not hold are computed from the bytes. A run that breaks off has adopted the
    parts that it wrote; the next one goes on after them.
    """
    who = world.caller.who()
    files: list[AdoptedFile] = []
    faults: list[Fault] = []
    observer = world.observer
    observer.step("adopt", f"{tree.streamed:,} bytes to be read for their digests")
    observer.expect(len(tree.todo), sum(found.size for found in tree.todo))
    try:
        for part in split_parts(tree.todo):
            read = world.parallel.map(lambda found: _read(world, found), part)
            bad = [fault for file in read if (fault := judge_again(file, tree.adopted.files.get(file.key)))]
            names = {fault.subject for fault in bad}
            good = tuple(file for file in read if file.key not in names)
            if good:
                _write(world, tree.prefix, good, {}, who)
            files += good
            faults += bad
    finally:
        observer.finish()
    return tuple(files), tuple(faults)


def adopt_links(world: World, tree: Tree) -> tuple[str, ...]:
    """Write the aliases into the gate that are not there, on record first, and name them.

    Raises:
        LeaseError: Another holds the lease; everything else is adopted.
        UnfinishedError: Some aliases may be there, others not; running again goes on.
    """
    wanted = tree.links.aliases
    if not wanted:
        return ()
    new = {name: target for name, target in wanted.items() if tree.adopted.aliases.get(name) != target}
    with hold_lease(world, f"adopt {tree.prefix}") as (lease, keeper):
        lease.check()
        if new:
            _write(world, tree.prefix, (), new, world.caller.who())
        missing = _find_missing(world.gate.read_entries(), wanted)
        try:
            keeper.write(lambda entries: Change(_find_missing(entries, wanted)))
        except PublisherError as error:
            raise UnfinishedError(
                f"some aliases may be there, and others not: {error}", "run the same command again"
            ) from error
    return tuple(sorted(entry.removeprefix("a:") for entry in missing))


def _find_missing(entries: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    return {f"a:{name}": target for name, target in wanted.items() if f"a:{name}" not in entries}


def _find_known(world: World, objects: Iterable[Listed]) -> frozenset[str]:
    """Name the keys that something else looks after: what was promoted or is live, and what is our own."""
    stored = read_stored(world)
    keys = {item.key for item in objects}
    live = world.state.read_unfinished(find_gated(world.gate.read_entries()))
    owed = {file.key for item in live for file in item.plan.files}
    own = list_own(world, [(item.release, item.number) for item in stored]) | find_own_pages(world, keys)
    return frozenset(fold_wanted(stored, Adopted()).keys() | own | owed)


def _describe(world: World, selected: Iterable[Listed]) -> tuple[Described, ...]:
    selected = tuple(selected)
    world.observer.step("look", f"how {len(selected)} objects are served")
    found = world.parallel.map(world.public.describe, [item.key for item in selected])
    return tuple(item for item in found if item)


def _count_again(found: Iterable[Described], adopted: Mapping[str, AdoptedFile]) -> int:
    return sum(item.version.key in adopted for item in found)


def _read(world: World, found: Described) -> AdoptedFile:
    digest = found.digest or world.public.compute_digest(found.version)
    world.observer.advance(found.version.key, found.size)
    return adopt_object(found, digest)


def _write(
    world: World, prefix: str, files: tuple[AdoptedFile, ...], aliases: Mapping[str, str], who: str
) -> None:
    adoption = Adoption(1, world.new_id(), prefix, files, aliases, who, world.staging.now())
    world.state.write_adoption(adoption)
