"""Reads publisher.toml: where the buckets are, and which profile's rules hold."""

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from publisher.core.gate import Times
from publisher.documents.problems import explain
from publisher.errors import ConfigError

_CURE = "correct the file; ops can export it again"


@dataclass(frozen=True, slots=True)
class ListingSite:
    """Where releases are listed: in the release database at `url`, or in releases.json beside the files."""

    kind: Literal["database", "releases.json"]
    url: str | None = None


@dataclass(frozen=True, slots=True)
class AnnounceSite:
    """Where releases are announced; secrets come from the environment."""

    discourse_url: str | None = None
    discourse_category: int | None = None
    webhook_url: str | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """The site that this publisher serves. `roles` names the roles that have credentials.

    `trust_config` says which Sigstore is trusted and used; None means the public one, as pinned here.
    """

    profile: Path
    region: str
    staging_bucket: str
    public_bucket: str
    distribution_id: str
    kvs_arn: str
    public_base_url: str
    cdn_url: str
    times: Times
    roles: frozenset[str]
    trust_config: Path | None = None
    signed_records: bool = True
    listing: ListingSite | None = None
    announce: AnnounceSite = field(default_factory=AnnounceSite)
    outer_caches: tuple[str, ...] = ()


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Aws(_Table):
    region: str
    staging_bucket: str
    public_bucket: str
    distribution_id: str
    kvs_arn: str


def _check_url(text: str) -> str:
    if not re.fullmatch(r"https?://[^/\s]+/(\S*/)?", text):
        raise ValueError("expected an http(s) URL that ends with a slash")
    return text


Url = Annotated[str, AfterValidator(_check_url)]


class _Site(_Table):
    public_base_url: Url
    cdn_url: Url


class _Gate(_Table):
    lag_seconds: Annotated[int, Field(ge=0)]
    settle_seconds: Annotated[int, Field(ge=0)]
    error_ttl_seconds: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.settle_seconds < 2 * self.error_ttl_seconds:
            raise ValueError("expected settle_seconds of at least twice error_ttl_seconds")
        return self


class _Sigstore(_Table):
    trust_config: str | None = None
    records: Literal["signed", "unsigned"] = "signed"


class _Listing(_Table):
    kind: Literal["database", "releases.json"]
    url: Url | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.kind == "database") != (self.url is not None):
            raise ValueError("expected a url for a database, and none for releases.json")
        return self


class _Announce(_Table):
    discourse_url: Url | None = None
    discourse_category: int | None = None
    webhook_url: str | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.discourse_url is None) != (self.discourse_category is None):
            raise ValueError("expected discourse_url and discourse_category, or neither")
        return self


class _OuterCache(_Table):
    url_prefix: Url


class _ConfigFile(_Table):
    schema_: Literal[1] = Field(alias="schema")
    profile: str
    aws: _Aws
    site: _Site
    gate: _Gate
    sigstore: _Sigstore = _Sigstore()
    listing: _Listing | None = None
    announce: _Announce = _Announce()
    outer_cache: list[_OuterCache] = []
    roles: list[Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]]


def load_config(path: Path) -> Config:
    """Read and check the configuration at `path`.

    Raises:
        ConfigError: The file cannot be read, or something in it is wrong; every problem is named.
    """
    try:
        tables = _ConfigFile.model_validate(tomllib.loads(path.read_text("utf-8")))
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}: {error.strerror}",
            "name it: --config FILE, or PUBLISHER_CONFIG in the environment",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}", _CURE) from error
    except ValidationError as error:
        raise ConfigError(explain(str(path), _ConfigFile, error), _CURE) from error
    return Config(
        profile=path.parent / tables.profile,
        region=tables.aws.region,
        staging_bucket=tables.aws.staging_bucket,
        public_bucket=tables.aws.public_bucket,
        distribution_id=tables.aws.distribution_id,
        kvs_arn=tables.aws.kvs_arn,
        public_base_url=tables.site.public_base_url,
        cdn_url=tables.site.cdn_url,
        times=Times(
            lag=tables.gate.lag_seconds,
            settle=tables.gate.settle_seconds,
            error_ttl=tables.gate.error_ttl_seconds,
        ),
        roles=frozenset(tables.roles),
        trust_config=path.parent / tables.sigstore.trust_config if tables.sigstore.trust_config else None,
        signed_records=tables.sigstore.records == "signed",
        listing=ListingSite(tables.listing.kind, tables.listing.url) if tables.listing else None,
        announce=AnnounceSite(
            tables.announce.discourse_url, tables.announce.discourse_category, tables.announce.webhook_url
        ),
        outer_caches=tuple(cache.url_prefix for cache in tables.outer_cache),
    )
