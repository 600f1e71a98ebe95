"""What an audit looks at: everything that was found, as plain values to be judged."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from publisher.core.audit_gate import Gated
from publisher.core.digests import Digest
from publisher.core.identity import Rejected
from publisher.core.promotions import Amendment, AnyRecord
from publisher.core.withdrawals import Case


class Looked(StrEnum):
    """What came of looking at something outside: it was as it should be, is not, or nobody could look."""

    DIFFERS = "differs"
    BLIND = "blind"


@dataclass(frozen=True, slots=True)
class Progress:
    """A promotion that has not ended. `since` is when it went live, or was planned.

    `keys` are the public keys of a live one, `owed` those of them that are not placed; `numbers` are those
    that its records are to have.
    """

    id: str
    releases: tuple[str, ...]
    live: bool
    since: datetime
    keys: tuple[str, ...] = ()
    owed: tuple[str, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """A stored record: what verifying it said, its digest, and that of its public copy.

    `public_key` is None where records stay in the staging bucket, `public` where there is no copy. `readable`
    tells whether it says anything at all.
    """

    release: str
    number: int
    problem: Rejected | None
    digest: Digest
    public_key: str | None
    public: Digest | None
    readable: bool = True


@dataclass(frozen=True, slots=True)
class Wanted:
    """What should be at a public key, and what says so; `release` is None where no release is known.

    `version_id` names the version that was adopted.
    """

    digest: Digest
    size: int
    by: str
    release: str | None = None
    version_id: str | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """What came of comparing the listing of a release; `given_up` tells that its record says so."""

    release: str
    state: Looked
    found: str
    given_up: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that was looked at, as it was found.

    `busy` tells that somebody holds the lease. `done` gives the numbers of the records that finished
    promotions wrote. `wanted` and `found` are what should be and is in the public bucket, `problems` what is
    wrong with URLs, by key; all but the first as far as was looked. `names` are the other keys that were
    seen, `expected` gives the release whose files some of them are by the profile. `cases` are withdrawals,
    and `served` what withdrawn keys answer instead of 410. `stale` are index pages, `pending` counts waiting
    copies by promotion. `whole` tells that all of the site was looked at.
    """

    now: datetime
    busy: bool
    gated: Gated
    unfinished: tuple[Progress, ...]
    done: Mapping[str, frozenset[int]]
    records: tuple[FoundRecord, ...]
    wanted: Mapping[str, Wanted]
    found: Mapping[str, Digest]
    problems: Mapping[str, str]
    names: frozenset[str]
    expected: Mapping[str, str]
    cases: tuple[Case, ...] = ()
    served: Mapping[str, str] = field(default_factory=dict[str, str])
    listings: tuple[Listing, ...] = ()
    stale: tuple[str, ...] = ()
    pending: Mapping[str, int] = field(default_factory=dict[str, int])
    whole: bool = True


def fold_files(records: Iterable[AnyRecord]) -> dict[str, Wanted]:
    """Give what each public key of a release should hold, by its records in their order.

    What is withdrawn stays in the bucket.
    """
    wanted: dict[str, Wanted] = {}
    for record in records:
        files = (record,) if isinstance(record, Amendment) else record.files
        wanted.update(
            (file.key, Wanted(file.digest, file.size, "by its record", record.release)) for file in files
        )
    return wanted
