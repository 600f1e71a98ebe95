"""What a stack says about the world around its site: signatures, listing, announcement, caches, people."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import checks
from reading import Reader

ENDPOINTS: Mapping[str, tuple[str, str]] = {
    "email": (checks.EMAIL, "an e-mail address"),
    "https": (checks.URL, "an https URL without user name and query"),
    "sqs": (checks.QUEUE, "the ARN of a queue"),
}
"""What an endpoint of each protocol must match, and how that is called."""

MAX_CATEGORY = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Listing:
    """Where rows about public files go. `url` is the site of the release database, empty for a file."""

    kind: Literal["database", "releases.json"]
    url: str


@dataclass(frozen=True, slots=True)
class Announce:
    """Where a finished release is announced; what is empty, or a category of 0, is not used."""

    discourse_url: str
    discourse_category: int
    webhook_url: str


@dataclass(frozen=True, slots=True)
class Subscription:
    """Who is told of hand-overs, holds and promotions; `protocol` is one of `ENDPOINTS`."""

    protocol: str
    endpoint: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """All of it. `outer_caches` are the beginnings of URLs.

    `trust_config` is the path of a file with Sigstore's roots, relative to publisher.toml, or empty.
    """

    trust_config: str
    records: Literal["signed", "unsigned"]
    listing: Listing | None
    announce: Announce | None
    outer_caches: tuple[str, ...]
    notify: tuple[Subscription, ...]


def read_surroundings(reader: Reader) -> Surroundings:
    """Read all of it from a stack's values; whatever is wrong is reported there."""
    unsigned = reader.text("records", "signed|unsigned", "signed or unsigned") == "unsigned"
    notify = tuple(_read_subscription(each) for each in reader.readers("notify", optional=True))
    endpoints = [each.endpoint for each in notify if each.endpoint]
    # SNS has one subscription for each endpoint, which two resources would share.
    for endpoint in sorted({each for each in endpoints if endpoints.count(each) > 1}):
        reader.report("notify", f"{endpoint} twice", "each endpoint once")
    return Surroundings(
        trust_config=reader.text(
            "sigstoreTrustConfig", checks.RELATIVE_PATH, "a path relative to publisher.toml", optional=True
        ),
        records="unsigned" if unsigned else "signed",
        listing=_read_listing(reader.reader("listing", optional=True)),
        announce=_read_announce(reader.reader("announce", optional=True)),
        outer_caches=reader.texts(
            "outerCaches", checks.BASE_URL, "an https URL that ends with a slash", optional=True
        ),
        notify=notify,
    )


def _read_listing(reader: Reader) -> Listing | None:
    if not reader.table:
        return None
    reader.only("kind", "url")
    kind = reader.text("kind", r"database|releases\.json", "database or releases.json")
    url = reader.text(
        "url", checks.BASE_URL, "an https URL that ends with a slash", optional=kind != "database"
    )
    if kind == "releases.json" and url:
        reader.report("url", url, "none: releases.json is stored in the public bucket")
    return Listing("releases.json" if kind == "releases.json" else "database", url)


def _read_announce(reader: Reader) -> Announce | None:
    if not reader.table:
        return None
    reader.only("discourseUrl", "discourseCategory", "webhookUrl")
    announce = Announce(
        discourse_url=reader.text(
            "discourseUrl", checks.BASE_URL, "an https URL that ends with a slash", optional=True
        ),
        discourse_category=reader.number("discourseCategory", 1, MAX_CATEGORY, optional=True),
        webhook_url=reader.text(
            "webhookUrl", checks.URL, "an https URL without user name and query", optional=True
        ),
    )
    halves = {"discourseUrl", "discourseCategory"}
    if not reader.broken & halves and bool(announce.discourse_url) != bool(announce.discourse_category):
        reader.report("discourseUrl", "one of discourseUrl and discourseCategory", "both or neither")
    return announce


def _read_subscription(reader: Reader) -> Subscription:
    reader.only("protocol", "endpoint")
    said = reader.text("protocol", "|".join(ENDPOINTS), f"one of {', '.join(ENDPOINTS)}")
    # An unknown one is reported once: what its endpoint must be nobody knows.
    pattern, expected = ENDPOINTS.get(said, (r"\S+", "an endpoint"))
    return Subscription(said, reader.text("endpoint", pattern, expected))
