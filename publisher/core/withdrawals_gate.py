"""What a withdrawal changes in the gate's store: its keys first, which hides nothing, then one entry."""

from collections.abc import Iterable, Mapping

from publisher.core.gate import WITHDRAWN, Change, list_paths, path_entry, promotion_entry
from publisher.core.withdrawals import Withdrawal

_PATH = path_entry("")


def find_listed(entries: Mapping[str, str], promotion: str) -> frozenset[str]:
    """Name the public keys that the gate lists as those of `promotion`."""
    return frozenset(
        key.removeprefix(_PATH)
        for key, value in entries.items()
        if key.startswith(_PATH) and value == promotion
    )


def is_closed(entries: Mapping[str, str], withdrawal: Withdrawal) -> bool:
    """Tell whether the gate answers 410 for what is listed as this withdrawal's."""
    return entries.get(promotion_entry(withdrawal.id)) == WITHDRAWN


def list_keys(entries: Mapping[str, str], withdrawal: Withdrawal) -> Change:
    """List its files as its own; they are served as before until it is closed.

    But for those of promotions that are withdrawn whole: they may not be at their public keys.
    """
    keys = (key for key in withdrawal.keys if entries.get(path_entry(key)) not in withdrawal.whole)
    return list_paths(entries, keys, withdrawal.id)


def close(entries: Mapping[str, str], withdrawal: Withdrawal) -> Change:
    """Withdraw all that is listed as its own, or as a promotion's that is withdrawn whole: in one step."""
    wanted = {promotion_entry(name): WITHDRAWN for name in withdrawal.ids}
    return Change({key: value for key, value in wanted.items() if entries.get(key) != value})


def list_rest(entries: Mapping[str, str], withdrawal: Withdrawal) -> Change:
    """List as its own, once it is closed, also what was listed as a promotion's."""
    return list_paths(entries, withdrawal.keys, withdrawal.id)


def drop_whole(entries: Mapping[str, str], withdrawal: Withdrawal) -> Change:
    """Drop the entries of promotions withdrawn whole, whose keys are listed as its own by now."""
    return _drop(entries, map(promotion_entry, withdrawal.whole))


def reopen(entries: Mapping[str, str], withdrawals: Iterable[Withdrawal]) -> Change:
    """Let the files of `withdrawals` be served again, in one step."""
    return _drop(entries, (promotion_entry(name) for found in withdrawals for name in found.ids))


def drop_listed(entries: Mapping[str, str], withdrawals: Iterable[Withdrawal]) -> Change:
    """Drop the keys of withdrawals that are open again."""
    ids = {name for found in withdrawals for name in found.ids}
    return Change(deletes=[key for key, value in entries.items() if key.startswith(_PATH) and value in ids])


def _drop(entries: Mapping[str, str], keys: Iterable[str]) -> Change:
    return Change(deletes=[key for key in keys if key in entries])
