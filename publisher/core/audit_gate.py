"""The audit of the gate's store: which entries something explains, and which were left behind."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from publisher.core.faults import Fault
from publisher.core.gate import LIVE, OWNER, WITHDRAWN

_EXPECTED: Final = "no entry that nothing explains"
_CURE: Final = "once nobody promotes or withdraws, an administrator takes it out: docs/ops.md, Audit"


@dataclass(frozen=True, slots=True)
class Gated:
    """The entries of the store, and what explains them.

    `live` and `planned` are the ids of unfinished promotions, `withdrawals` those of withdrawals that stand.
    `aliases` are the folders that may be aliases, `adopted` those of them that an adoption wrote. `pages` are
    the folders with an index page, `indexed` those and the ones with another page or that should have one,
    `public` all keys and folders that there are. `lost` tells that the store has no owner although there were
    promotions.
    """

    entries: Mapping[str, str]
    live: Collection[str] = ()
    planned: Collection[str] = ()
    withdrawals: Collection[str] = ()
    aliases: Collection[str] = ()
    adopted: Collection[str] = ()
    pages: Collection[str] = ()
    indexed: Collection[str] = ()
    public: Collection[str] = ()
    lost: bool = False


def judge_gate(gated: Gated, *, whole: bool) -> Iterator[Fault]:
    """Find what is wrong with the store; of its single entries only if the `whole` site was looked at."""
    if gated.lost:
        yield Fault(
            "gate-lost",
            OWNER,
            "a store without an owner, though there were promotions",
            "the store that promotions were made with",
            "run: publisher gate rebuild",
        )
        return
    if not whole:
        return
    for entry, value in sorted(gated.entries.items()):
        problem = _judge_entry(gated, entry, value)
        if problem:
            yield Fault("gate", entry, problem, _EXPECTED, _CURE)
    yield from _judge_absent(gated)


def _judge_entry(gated: Gated, entry: str, value: str) -> str | None:
    if entry == OWNER:
        return None
    kind, _, name = entry.partition(":")
    judge = _JUDGES.get(kind)
    return judge(gated, name, value) if judge else f"{value!r}, and no such entry is ever written"


def _judge_path(gated: Gated, name: str, value: str) -> str | None:
    _ = name
    if value in gated.live or value in gated.planned or value in gated.withdrawals:
        return None
    return f"{value}, which is no unfinished promotion and no withdrawal"


def _judge_promotion(gated: Gated, name: str, value: str) -> str | None:
    known = {LIVE: gated.live, WITHDRAWN: gated.withdrawals}.get(value)
    if known is None:
        return f"{value!r}, expected {LIVE} or {WITHDRAWN}"
    return None if name in known else f"{value}, though it is finished, or was never begun"


def _judge_alias(gated: Gated, name: str, value: str) -> str | None:
    if name not in gated.aliases:
        return f"an alias of {value}/ that neither the profile nor an adoption makes"
    return None if value in gated.public else f"an alias of {value}, where nothing is public"


def _judge_folder(gated: Gated, name: str, value: str) -> str | None:
    _ = value
    return None if name in gated.indexed else "a folder with an index page, and there is none"


_JUDGES: Mapping[str, Callable[[Gated, str, str], str | None]] = {
    "p": _judge_path,
    "s": _judge_promotion,
    "a": _judge_alias,
    "d": _judge_folder,
}


def _judge_absent(gated: Gated) -> Iterator[Fault]:
    for folder in sorted(gated.pages):
        if f"d:{folder}" not in gated.entries:
            found, expected = "a page, but no entry in the gate", "its folder's URL to lead to the page"
            yield Fault("index", f"{folder}/", found, expected, "run: publisher index --all")
    for name in sorted(gated.adopted):
        if f"a:{name}" not in gated.entries:
            found, expected = "no such alias in the gate", "the one that was adopted"
            yield Fault("alias", f"{name}/", found, expected, "run publisher adopt again, with --symlinks")
