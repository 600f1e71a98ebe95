"""Reads publisher.toml: where the buckets are, and which profile's rules hold."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from publisher.documents.problems import explain
from publisher.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Config:
    """The site that this publisher serves. `roles` names the roles that have credentials."""

    profile: Path
    region: str
    staging_bucket: str
    public_bucket: str
    roles: frozenset[str]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Aws(_Table):
    region: str
    staging_bucket: str
    public_bucket: str


class _ConfigFile(_Table):
    schema_: Literal[1] = Field(alias="schema")
    profile: str
    aws: _Aws
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
        raise ConfigError(f"{path} is not TOML: {error}") from error
    except ValidationError as error:
        raise ConfigError(explain(str(path), _ConfigFile, error)) from error
    return Config(
        profile=path.parent / tables.profile,
        region=tables.aws.region,
        staging_bucket=tables.aws.staging_bucket,
        public_bucket=tables.aws.public_bucket,
        roles=frozenset(tables.roles),
    )
