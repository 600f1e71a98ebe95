"""What edges are made from and told: plain values, and their form on the way to another process."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from pydantic import TypeAdapter

from sandbox.ministack import Credentials

GATE = Path(__file__).parents[2] / "infra" / "gate.js"


class StoreMode(StrEnum):
    """What an edge's replica of the KeyValueStore does."""

    NORMAL = "normal"
    FAILING = "failing"
    """Every read throws, as when the store is in trouble."""
    EMPTY = "empty"
    """Every key is missing; what is known comes back when this ends."""
    STALE = "stale"
    """Reads work, changes wait until this ends."""


class Matching(StrEnum):
    """Which paths of a cached answer an invalidation is compared with.

    CloudFront asks for both paths to be given where a function rewrites, and does not say which one counts.
    What passes with `VIEWER` and with `REWRITTEN` does not depend on it.
    """

    EITHER = "either"
    VIEWER = "viewer"
    REWRITTEN = "rewritten"


@dataclass(frozen=True, slots=True)
class Origin:
    """The emulated AWS behind the edges.

    `credentials` may read the store, the distribution, its policies and its invalidations: the CDN's own
    plumbing, not the product.
    """

    endpoint: str
    distribution_id: str
    kvs_arn: str
    credentials: Credentials = field(repr=False)


@dataclass(frozen=True, slots=True)
class EdgeSettings:
    """How every edge begins; `Edge.tune` changes some of it later, for one edge.

    `error_ttl_seconds` overrides what the distribution says. Only what comes into the store after the edges
    have started takes `lag_seconds`.
    """

    gate: str = field(default_factory=lambda: GATE.read_text("utf-8"), repr=False)
    lag_seconds: float = 0.0
    disorder: bool = False
    error_ttl_seconds: float | None = None
    invalidation_delay_seconds: float = 0.0
    matching: Matching = Matching.EITHER
    poll_seconds: float = 0.04


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """What the distribution answers instead of an error, and for how long it keeps that."""

    ttl_seconds: float
    response_code: int | None = None
    page: str | None = None


@dataclass(frozen=True, slots=True)
class PolicyHeader:
    """A header that the response-headers policy puts on every answer."""

    name: str
    value: str
    override: bool


@dataclass(frozen=True, slots=True)
class Deployed:
    """The distribution as it was deployed, as far as an edge follows it."""

    distribution_id: str
    domain_name: str
    root_object: str
    min_ttl: float
    default_ttl: float
    max_ttl: float
    errors: Mapping[int, ErrorRule]
    headers: tuple[PolicyHeader, ...]


@dataclass(frozen=True, slots=True)
class EdgeConfig:
    """All that one edge's process is started with."""

    number: int
    port: int
    control_port: int
    token: str = field(repr=False)
    endpoint: str
    deployed: Deployed
    settings: EdgeSettings


@dataclass(frozen=True, slots=True)
class FeederConfig:
    """All that the feeder's process is started with, but for the credentials."""

    endpoint: str
    distribution_id: str
    kvs_arn: str
    poll_seconds: float
    control_ports: tuple[int, ...]
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Tuning:
    """What to change about an edge; None leaves it as it is.

    `lags` says for keys that begin with a prefix how late they are, before `lag_seconds` and `disorder` do.
    """

    lag_seconds: float | None = None
    lags: Mapping[str, float] | None = None
    disorder: bool | None = None
    mode: StoreMode | None = None
    invalidation_delay_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """Entries of the store that are new, other or (None) gone.

    `at` is a moment of the monotonic clock, which all processes share, at which the change cannot have been
    made yet; None is the store as it was found, and is applied at once.
    """

    at: float | None
    values: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Command:
    """One line to an edge. Every command is answered with an `EdgeStatus`, a `brief` one without lists."""

    token: str = field(repr=False)
    tuning: Tuning = Tuning()
    change: Change | None = None
    invalidate: tuple[str, ...] = ()
    forget: bool = False
    brief: bool = False


@dataclass(frozen=True, slots=True)
class Counters:
    """What an edge has done so far."""

    requests: int = 0
    generated: int = 0
    hits: int = 0
    misses: int = 0
    origin_requests: int = 0
    function_errors: int = 0
    invalidations: int = 0


@dataclass(frozen=True, slots=True)
class EdgeStatus:
    """An edge at this moment: what its replica holds, how much waits to get there, what is cached."""

    fed: bool
    entries: Mapping[str, str]
    waiting: int
    cached: tuple[str, ...]
    counters: Counters


EDGE_CONFIG = TypeAdapter(EdgeConfig)
FEEDER_CONFIG = TypeAdapter(FeederConfig)
COMMAND = TypeAdapter(Command)
STATUS = TypeAdapter(EdgeStatus)
