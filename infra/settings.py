"""Writes `publisher.toml`, the text through which this program tells the publisher what it made; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from config import StackConfig
    from surroundings import Surroundings

Value = str | int | Sequence[str]

HEAD = "# Written by `pulumi up`; what is edited by hand here is lost at the next one.\n"


@dataclass(frozen=True, slots=True)
class Made:
    """What only the cloud knows about a stack. The URL ends with a slash."""

    distribution_id: str
    kvs_arn: str
    cdn_url: str


def choose_base_url(config: StackConfig, cdn_url: str) -> str:
    """Say where users download: as configured, else at the first own domain, else at the CDN's name."""
    if config.public_base_url:
        return config.public_base_url
    named = [name for name in config.domain_names if not name.startswith("*.")]
    return f"https://{named[0]}/" if named else cdn_url


def write_settings(config: StackConfig, made: Made) -> str:
    """Write what the publisher must know about a stack, in its format, schema 1. Nothing in it is secret.

    A table about something that the stack does not have is left out.
    """
    tables: Mapping[str, Mapping[str, Value]] = {
        "": {"schema": 1, "profile": config.profile, "roles": [role.name for role in config.roles]},
        "aws": {
            "region": config.region,
            "staging_bucket": config.name_bucket("staging"),
            "public_bucket": config.name_bucket("public"),
            "distribution_id": made.distribution_id,
            "kvs_arn": made.kvs_arn,
        },
        "site": {"public_base_url": choose_base_url(config, made.cdn_url), "cdn_url": made.cdn_url},
        "gate": {
            "lag_seconds": config.lag_seconds,
            "settle_seconds": config.settle_seconds,
            "error_ttl_seconds": config.error_ttl_seconds,
        },
        **_list_optional_tables(config.surroundings),
    }
    written = [_write_table(title, values) for title, values in tables.items()]
    # With brackets of its own, the title of a table is that of a list of tables.
    written += [
        _write_table("[outer_cache]", {"url_prefix": prefix}) for prefix in config.surroundings.outer_caches
    ]
    return HEAD + "\n".join(written)


def _list_optional_tables(around: Surroundings) -> Mapping[str, Mapping[str, Value]]:
    tables: dict[str, Mapping[str, Value]] = {
        "sigstore": {
            "trust_config": around.trust_config,
            # What the publisher does anyway is left out.
            "records": "" if around.records == "signed" else around.records,
        }
    }
    if around.listing:
        tables["listing"] = {"kind": around.listing.kind, "url": around.listing.url}
    if around.announce:
        tables["announce"] = {
            "discourse_url": around.announce.discourse_url,
            "discourse_category": around.announce.discourse_category,
            "webhook_url": around.announce.webhook_url,
        }
    given = {
        title: {name: value for name, value in table.items() if value} for title, table in tables.items()
    }
    return {title: table for title, table in given.items() if table}


def _write_table(title: str, values: Mapping[str, Value]) -> str:
    lines = [f"[{title}]"] if title else []
    lines += [f"{name} = {_write(value)}" for name, value in values.items()]
    return "".join(f"{line}\n" for line in lines)


def _write(value: Value) -> str:
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        # JSON's escapes are TOML's too, save for what lies beyond ASCII, which stays as it is, and for DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    return f"[{', '.join(_write(item) for item in value)}]"
