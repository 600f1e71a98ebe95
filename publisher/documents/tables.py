"""The tables of a profile as they stand in its TOML, checked one by one."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from publisher.core import keys
from publisher.core.profile import placeholders

DEFAULT_CLASSES = {"immutable": "public, max-age=31536000, immutable"}
DEFAULT_KINDS: Mapping[str, Mapping[str, list[str]]] = {"release": {}}


def _check_template(text: str) -> str:
    placeholders(text)
    return text


def _check_suffix(text: str) -> str:
    if not text.startswith(".") or "/" in text or keys.find_problem(text):
        raise ValueError("expected a dot and letters, digits or . _ + -, such as '.spdx.json'")
    return text


def _check_base_url(text: str) -> str:
    if not re.fullmatch(r"https?://[^/\s]+/(\S*/)?", text):
        raise ValueError("expected an http(s) URL that ends with a slash")
    return text


def _check_key_prefix(text: str) -> str:
    if text and (not text.endswith("/") or keys.find_problem(text[:-1])):
        raise ValueError("expected nothing, or a folder with its trailing slash")
    return text


def _check_fingerprint(text: str) -> str:
    plain = text.replace(" ", "").upper()
    if not re.fullmatch(r"[0-9A-F]{40}|[0-9A-F]{64}", plain):
        raise ValueError("expected a whole fingerprint, 40 or 64 hex digits")
    return plain


def _wrap_word(value: object) -> object:
    return [value] if isinstance(value, str) else value


Template = Annotated[str, AfterValidator(_check_template)]
Suffix = Annotated[str, AfterValidator(_check_suffix)]
RoleName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
Words = Annotated[list[str], BeforeValidator(_wrap_word)]
"""A list of words; a single one may stand without brackets."""
Fingerprint = Annotated[str, AfterValidator(_check_fingerprint)]
Status = Literal["feature", "prerelease", "bugfix", "security", "end-of-life"]


class Table(BaseModel):
    """What all tables have in common: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ProjectTable(Table):
    """[project]."""

    name: str
    version: str
    base_url: Annotated[str, AfterValidator(_check_base_url)]
    key_prefix: Annotated[str, AfterValidator(_check_key_prefix)] = ""


class SeriesTable(Table):
    """One series of [series]."""

    status: Status
    since: date | None = None
    until: date | None = None


class SignerTable(Table):
    """Who may sign: a certificate's name and its issuer, never one without the other."""

    name: Annotated[str, Field(min_length=1)]
    issuer: Annotated[str, Field(min_length=1)]


class RoleTable(Table):
    """One role of [roles]."""

    owner: str = ""
    duty: Literal["delivers", "tests"] = "delivers"
    reads: list[RoleName] = []
    signers: list[SignerTable] = []


class RowTable(Table):
    """The row of an artifact in the release database."""

    name: Template
    os: str
    description: Template = ""
    button: bool = False


class SidecarTable(Table):
    """A file about an artifact."""

    suffix: Suffix
    format: Literal["file", "spdx", "openpgp"] = "file"
    by: Literal["role", "rm"] = "role"
    need: Literal["required", "optional"] = "required"
    cache_class: str | None = Field(alias="class", default=None)
    since: str | None = None
    until: str | None = None


class ArtifactTable(Table):
    """One [[artifact]]."""

    key: Template
    each: dict[str, Annotated[list[str], Field(min_length=1)]] = {}
    role: RoleName
    required: Words = []
    optional: Words = []
    since: str | None = None
    until: str | None = None
    cache_class: str = Field(alias="class", default="immutable")
    content_type: str | None = None
    sign: bool | Words = False
    sidecars: list[SidecarTable] = []
    row: RowTable | None = None


class SigningTable(Table):
    """[signing]: what is made for each artifact that is signed."""

    bundle: Suffix = ".sigstore.json"
    signature: Suffix | None = None
    certificate: Suffix | None = None
    cache_class: str | None = Field(alias="class", default=None)


class IdentityTable(Table):
    """[identity]: whose signatures count."""

    issuers: dict[str, Annotated[str, Field(pattern=r"^https://\S+$")]] = {}
    accepted: list[SignerTable] = []
    series: dict[str, list[SignerTable]] = {}
    release: dict[str, list[SignerTable]] = {}
    records: list[SignerTable] = []


class OpenPgpTable(Table):
    """[openpgp]: the file of certificates, and which of them count for a series."""

    keys: str
    accepted: list[Fingerprint] = []
    series: dict[str, list[Fingerprint]] = {}


class RecordTable(Table):
    """[record]: where records become public."""

    key: Template
    cache_class: str = Field(alias="class", default="immutable")


class ListingTable(Table):
    """[listing]: rows in the release database; without `release_name` there is no database."""

    slug: list[Template] = ["{release}", "{row}"]
    release_name: Template | None = None
    release_slug: Template | None = None
    version: int = 1
    pre_kinds: list[str] = []
    notes: dict[str, Template] = {}
    systems: dict[str, str] = {}
    source: str = "source"
    url_prefix: Annotated[str, AfterValidator(_check_base_url)] | None = None


class PagesTable(Table):
    """[pages]: index pages of the folders, unless `show` is false."""

    show: bool = True
    title: str | None = None


class OutsideTable(Table):
    """One [[outside]]: what others have to show first."""

    name: Annotated[str, Field(min_length=1)]
    url: Annotated[Template, Field(pattern=r"^https?://")]
    kinds: Words = []


class PointerTable(Table):
    """One [[pointer]]: a set of mutable public files, in the order in which they are written."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
    role: RoleName
    files: Annotated[list[str], Field(min_length=1)]
    required: Words = []
    cache_class: str = Field(alias="class")


class AliasTable(Table):
    """One [[alias]]: a folder that stands for the newest release's."""

    name: Annotated[Template, Field(pattern=r"./$")]
    to: Annotated[Template, Field(pattern=r"./$")]
    kinds: Annotated[Words, Field(min_length=1)]
    since: str | None = None
    until: str | None = None


class HandOverTable(Table):
    """[handover]."""

    commit: bool = False


class ProfileFile(Table):
    """The whole file."""

    schema_: Literal[1] = Field(alias="schema")
    project: ProjectTable
    kinds: dict[str, dict[str, Words]] = Field(default_factory=dict)
    series: dict[str, SeriesTable] = {}
    roles: dict[RoleName, RoleTable]
    classes: dict[str, str] = DEFAULT_CLASSES
    content_types: dict[Suffix, str] = {}
    artifact: list[ArtifactTable]
    signing: SigningTable = SigningTable()
    identity: IdentityTable = IdentityTable()
    openpgp: OpenPgpTable | None = None
    record: RecordTable | None = None
    listing: ListingTable = ListingTable()
    outside: list[OutsideTable] = []
    pages: PagesTable = PagesTable()
    pointer: list[PointerTable] = []
    alias: list[AliasTable] = []
    handover: HandOverTable = HandOverTable()
