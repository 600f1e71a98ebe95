"""`publisher adopt`: take an existing tree in, so that it goes on serving and is watched from now on."""

from dataclasses import dataclass
from pathlib import Path

from publisher.core.faults import Fault, Weight
from publisher.errors import Exit, UsageError
from publisher.outcomes import AdoptedTree
from publisher.workflow.adopting import adopt_links, adopt_tree, read_tree
from publisher.workflow.world import World


@dataclass(frozen=True, slots=True)
class AdoptRequest:
    """What the command line asks for. `prefix` is a folder of the public bucket, `.` all of it.

    `symlinks` names a file with the tree's symbolic links, one `link -> target` a line.
    """

    prefix: str
    symlinks: str | None
    dry_run: bool


def run(world: World, request: AdoptRequest) -> AdoptedTree:
    """Write down every object of a tree with its digest; a dry run says what that would be.

    No object is written or changed. Safe to run again: it goes on after what is written down already.

    Raises:
        UsageError: There is nothing in that folder, or the file of links cannot be read.
        LeaseError: Another holds the lease, which is needed for aliases alone; all else is adopted.
    """
    prefix = "/".join(part for part in request.prefix.split("/") if part not in {"", "."})
    tree = read_tree(world, prefix, _read_links(request.symlinks))
    if not tree.todo and not tree.already and not tree.faults and not tree.links.aliases:
        raise UsageError(
            f"found nothing to adopt in {request.prefix}", "name a folder of the public bucket, or . for all"
        )
    if request.dry_run:
        return AdoptedTree(
            prefix=prefix,
            files=tuple(found.version.key for found in tree.todo),
            size=sum(found.size for found in tree.todo),
            streamed=tree.streamed,
            already=tree.already,
            aliases=tuple(sorted(tree.links.aliases)),
            faults=tree.faults,
            dry_run=True,
            status=_judge(tree.faults),
        )
    files, drift = adopt_tree(world, tree)
    aliases = adopt_links(world, tree)
    faults = (*drift, *tree.faults)
    return AdoptedTree(
        prefix=prefix,
        files=tuple(file.key for file in files),
        size=sum(file.size for file in files),
        streamed=tree.streamed,
        already=tree.already,
        aliases=aliases,
        faults=faults,
        dry_run=False,
        status=_judge(faults),
    )


def _judge(faults: tuple[Fault, ...]) -> Exit:
    return Exit.REFUSED if any(fault.weight is Weight.FAULT for fault in faults) else Exit.DONE


def _read_links(path: str | None) -> str:
    if path is None:
        return ""
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cure = "correct the file's name, or write it as UTF-8"
        raise UsageError(f"cannot read {path}: {error}", cure) from error
