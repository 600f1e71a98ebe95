"""The stack's configuration: one frozen value, checked at once. Nothing else touches `pulumi.Config`."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Self

import pulumi

import checks
from reading import Reader, StackConfigError
from surroundings import Surroundings, read_surroundings

SCHEMA: Mapping[str, str] = {
    "announce": "object",
    "auditors": "object",
    "certificateArn": "string",
    "domainNames": "array",
    "enforceCreateOnly": "boolean",
    "errorTtlSeconds": "integer",
    "lagSeconds": "integer",
    "listing": "object",
    "maxSessionSeconds": "integer",
    "notify": "array",
    "oidcProviders": "array",
    "outerCaches": "array",
    "pendingDays": "integer",
    "planLifeDays": "integer",
    "prefix": "string",
    "priceClass": "string",
    "profile": "string",
    "publicBaseUrl": "string",
    "publicBucket": "string",
    "publicFolders": "array",
    "records": "string",
    "releaseManagers": "object",
    "roles": "array",
    "settleSeconds": "integer",
    "sigstoreTrustConfig": "string",
    "stagingBucket": "string",
    "stagingDays": "integer",
    "stagingNoncurrentDays": "integer",
    "waitForDeployment": "boolean",
}
"""Every value that the program reads, with its type in `Pulumi.yaml`, where the defaults and meanings are."""


@dataclass(frozen=True, slots=True)
class OidcProvider:
    """An issuer of tokens. `arn` is that of an existing provider, or empty: then the program makes one."""

    name: str
    issuer: str
    audience: str
    arn: str


@dataclass(frozen=True, slots=True)
class Trust:
    """Who may assume a role: exact token subjects by provider name, and ARNs of AWS principals."""

    subjects: Mapping[str, tuple[str, ...]]
    principals: tuple[str, ...]
    require_mfa: bool


@dataclass(frozen=True, slots=True)
class Role:
    """A builder (`delivers`) or tester (`tests`). `reads` names the roles whose files a tester fetches."""

    name: str
    duty: Literal["delivers", "tests"]
    reads: tuple[str, ...]
    trust: Trust


@dataclass(frozen=True, slots=True)
class StackConfig:
    """What ops decides about one stack. The meaning of each value is described in `Pulumi.yaml`."""

    region: str
    prefix: str
    staging_bucket: str
    public_bucket: str
    profile: str
    public_folders: tuple[str, ...]
    oidc_providers: tuple[OidcProvider, ...]
    roles: tuple[Role, ...]
    release_managers: Trust
    auditors: Trust | None
    max_session_seconds: int
    domain_names: tuple[str, ...]
    certificate_arn: str
    public_base_url: str
    price_class: str
    staging_days: int
    staging_noncurrent_days: int
    plan_life_days: int
    pending_days: int
    lag_seconds: int
    settle_seconds: int
    error_ttl_seconds: int
    enforce_create_only: bool
    wait_for_deployment: bool
    surroundings: Surroundings

    @classmethod
    def load(cls) -> Self:
        """Read the configuration of the stack that is being deployed.

        Raises:
            StackConfigError: Something is missing, mistyped or contradictory; every problem is named.
        """
        return cls.read(pulumi.Config().get, region=pulumi.Config("aws").get("region") or "")

    @classmethod
    def read(cls, get: Callable[[str], str | None], *, region: str) -> Self:
        """Read the configuration through `get`, which answers what a stack file says about a name, as text.

        Raises:
            StackConfigError: Something is missing, mistyped or contradictory; every problem is named.
        """
        given = {key: _parse(text, kind) for key, kind in SCHEMA.items() if (text := get(key)) is not None}
        reader = Reader({**given, "aws:region": region})
        config = cls(
            region=reader.text("aws:region", checks.REGION, "a region such as eu-west-1"),
            prefix=reader.text("prefix", checks.PREFIX, "2 to 20 of a-z 0-9 -, a letter first"),
            staging_bucket=reader.text(
                "stagingBucket", checks.BUCKET, "a bucket name without dots", optional=True
            ),
            public_bucket=reader.text(
                "publicBucket", checks.BUCKET, "a bucket name without dots", optional=True
            ),
            profile=reader.text("profile"),
            public_folders=reader.texts("publicFolders", checks.SEGMENT, "a folder name without slashes"),
            oidc_providers=tuple(
                _read_provider(each) for each in reader.readers("oidcProviders", optional=True)
            ),
            roles=tuple(_read_role(each) for each in reader.readers("roles")),
            release_managers=_read_trust(reader.reader("releaseManagers")),
            auditors=_read_trust(reader.reader("auditors")) if reader.table.get("auditors") else None,
            max_session_seconds=reader.number("maxSessionSeconds", 3600, 43200),
            domain_names=reader.texts("domainNames", checks.DOMAIN, "a domain name", optional=True),
            certificate_arn=reader.text(
                "certificateArn", checks.CERTIFICATE, "the ARN of a certificate in us-east-1", optional=True
            ),
            public_base_url=reader.text(
                "publicBaseUrl", checks.BASE_URL, "an https URL that ends with a slash", optional=True
            ),
            price_class=reader.text(
                "priceClass", r"PriceClass_(All|200|100)", "PriceClass_All, _200 or _100"
            ),
            staging_days=reader.number("stagingDays", 1, 3650),
            staging_noncurrent_days=reader.number("stagingNoncurrentDays", 1, 3650),
            plan_life_days=reader.number("planLifeDays", 1, 365),
            pending_days=reader.number("pendingDays", 90, 3650),
            lag_seconds=reader.number("lagSeconds", 1, 3600),
            settle_seconds=reader.number("settleSeconds", 1, 86400),
            error_ttl_seconds=reader.number("errorTtlSeconds", 0, 300),
            enforce_create_only=reader.flag("enforceCreateOnly"),
            wait_for_deployment=reader.flag("waitForDeployment"),
            surroundings=read_surroundings(reader),
        )
        problems = [*reader.problems, *checks.find_contradictions(config, reader.broken)]
        if problems:
            raise StackConfigError(problems)
        return config

    def name_bucket(self, purpose: Literal["staging", "public"]) -> str:
        """Give the name of a bucket: the configured one, or the prefix and what it is for."""
        configured = self.staging_bucket if purpose == "staging" else self.public_bucket
        return configured or f"{self.prefix}-{purpose}"


def _read_provider(reader: Reader) -> OidcProvider:
    reader.only("name", "issuer", "audience", "arn")
    return OidcProvider(
        name=reader.text("name", checks.NAME, "a name of a-z 0-9 -, a letter first"),
        issuer=reader.text("issuer", checks.ISSUER, "an https URL without query and last slash"),
        audience=reader.text("audience", checks.EXACT, "one audience"),
        arn=reader.text("arn", checks.PROVIDER, "the ARN of an OIDC provider", optional=True),
    )


def _read_role(reader: Reader) -> Role:
    reader.only("name", "duty", "reads", "trust")
    duty = reader.text("duty", "delivers|tests", "delivers or tests")
    return Role(
        name=reader.text("name", checks.NAME, "a name of a-z 0-9 -, a letter first"),
        duty="tests" if duty == "tests" else "delivers",
        reads=reader.texts("reads", checks.NAME, "the name of a role", optional=True),
        trust=_read_trust(reader.reader("trust")),
    )


def _read_trust(reader: Reader) -> Trust:
    reader.only("oidc", "principals", "requireMfa")
    subjects = reader.reader("oidc", optional=True)
    trust = Trust(
        subjects={
            name: subjects.texts(name, checks.EXACT, "exact subjects, without * and ?")
            for name in subjects.table
        },
        principals=reader.texts(
            "principals", checks.PRINCIPAL, "the ARN of an IAM user or role, without * and ?", optional=True
        ),
        require_mfa=reader.flag("requireMfa", optional=True),
    )
    if not reader.table.get("oidc") and not reader.table.get("principals"):
        reader.report("oidc", "nobody", "subjects of an OIDC provider, or principals")
    return trust


def _parse(text: str, kind: str) -> object:
    # The engine hands every value over as text; whatever is no text is JSON.
    if kind == "string":
        return text
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
