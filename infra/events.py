"""Which objects that appear in staging people are told of, as plain values; knows nothing of Pulumi.

S3 refuses two filters for the same event if one key could match both, and it does not look at keys to tell:
two filters overlap if one's prefix begins the other's *and* one's suffix ends the other's, and what a filter
leaves out is empty, which begins and ends everything. So `/SHA256SUMS` alone would overlap with `_hold/`
alone. Here each hand-over's filter has its builder's prefix: the names of roles differ (`checks`), hold no
slash and do not begin with `_`. The two of a promotion have one prefix, and suffixes of which neither ends
the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

CREATED = "s3:ObjectCreated:*"
HAND_OVER = "/SHA256SUMS"


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Keys that begin and end so. The `name` is in each message, which otherwise says nothing but the key."""

    name: str
    prefix: str
    suffix: str = ""


def list_filters(builders: Sequence[str]) -> tuple[EventFilter, ...]:
    """List what is told: hand-overs of `builders`, holds, promotions live and done, records, withdrawals.

    A file called SHA256SUMS deeper in a builder's prefix is told too: a filter cannot say how deep. A hold
    that is lifted is an object like one that is put, of no bytes.
    """
    return (
        *(EventFilter(f"hand-over-{builder}", f"{builder}/", HAND_OVER) for builder in builders),
        EventFilter("hold", "_hold/"),
        EventFilter("promotion-live", "_state/promotions/", "/live.json"),
        EventFilter("promotion-done", "_state/promotions/", "/done.json"),
        # Of these the record's key alone names the release.
        EventFilter("record", "_state/records/", ".json"),
        EventFilter("withdrawal", "_state/withdrawals/"),
    )
