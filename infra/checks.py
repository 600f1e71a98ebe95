"""What a stack's values may look like, and which of them contradict each other; pure, and knows no Pulumi."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import permutations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from config import StackConfig, Trust

NAME = r"[a-z][a-z0-9-]{0,31}"
PREFIX = r"[a-z][a-z0-9-]{0,18}[a-z0-9]"
REGION = r"[a-z]{2}(-[a-z]+)+-\d"
# Without the dots that S3 allows: such a name is no host that the certificate of S3 covers.
BUCKET = r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]"
SEGMENT = r"[A-Za-z0-9._+-]+"
DOMAIN = r"(\*\.)?([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}"
CERTIFICATE = r"arn:aws[a-z-]*:acm:us-east-1:\d{12}:certificate/[a-z0-9-]+"
# No user names, which come with passwords, and no queries, which hold keys.
BASE_URL = r"https://[^/\s?#@]+/([^\s?#]*/)?"
URL = r"https://[^/\s?#@]+(/[^\s?#]*)?"
RELATIVE_PATH = r"(?!/)\S(.*\S)?"
EMAIL = r"[^@\s]+@[^@\s]+\.[^@\s]+"
QUEUE = r"arn:aws[a-z-]*:sqs:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,80}"
ISSUER = r"https://[^\s?#]*[^\s?#/]"
EXACT = r"[^\s*?]([^*?]*[^\s*?])?"
PROVIDER = r"arn:aws[a-z-]*:iam::\d{12}:oidc-provider/\S+"
# Never an account's `:root`: that would hand the decision to every policy of the account.
PRINCIPAL = r"arn:aws[a-z-]*:(iam::\d{12}:(user|role)|sts::\d{12}:assumed-role)/[A-Za-z0-9_+=,.@/-]+"

Rule = Callable[["StackConfig"], Iterator[str]]


def find_contradictions(config: StackConfig, broken: AbstractSet[str]) -> list[str]:
    """List what is wrong between values, leaving out rules about a value that is in `broken` already."""
    return [problem for rule, needs in RULES.items() if not broken & set(needs) for problem in rule(config)]


def check_role_names(config: StackConfig) -> Iterator[str]:
    """A name is once, no folder of public keys, and no beginning of another name.

    Policies end their prefixes with a slash; people, and the tools they use, forget it.
    """
    names = [role.name for role in config.roles if role.name]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"roles: found {name!r} twice, expected each name once"
    for name, other in permutations(sorted(set(names)), 2):
        if other.startswith(name):
            yield f"roles: found {name!r}, which begins {other!r} as well; expected names that begin no other"
    for name in sorted(set(names) & set(config.public_folders)):
        yield f"roles: found {name!r}, a folder of public keys; expected a name that no public key has"


def check_reads(config: StackConfig) -> Iterator[str]:
    """Testers read what builders deliver; a builder sees nobody else's prefix."""
    delivering = {role.name for role in config.roles if role.duty == "delivers"}
    for role in config.roles:
        if role.duty == "delivers" and role.reads:
            yield f"roles.{role.name}.reads: found {', '.join(role.reads)}, expected none: it delivers"
            continue
        for name in role.reads:
            if name not in delivering:
                known = ", ".join(sorted(delivering))
                yield f"roles.{role.name}.reads: found {name!r}, expected one of {known}"


def check_providers(config: StackConfig) -> Iterator[str]:
    """An account has one provider for each issuer, and IAM puts the issuer into the provider's ARN."""
    names = [provider.name for provider in config.oidc_providers]
    issuers = [provider.issuer for provider in config.oidc_providers]
    for text in sorted({text for text in (*names, *issuers) if text and (names + issuers).count(text) > 1}):
        yield f"oidcProviders: found {text!r} twice, expected each name and issuer once"
    for provider in config.oidc_providers:
        host = provider.issuer.removeprefix("https://")
        if provider.arn and host and not provider.arn.endswith(f":oidc-provider/{host}"):
            yield f"oidcProviders.{provider.name}.arn: found {provider.arn}, expected one of issuer {host}"


def check_trust(config: StackConfig) -> Iterator[str]:
    """Everybody comes from a known provider, and nobody is both release manager and in another role.

    Who could assume both could write what he promotes.
    """
    known = {provider.name: provider for provider in config.oidc_providers}
    for where, trust in _list_trusts(config).items():
        for name in trust.subjects:
            if name not in known:
                yield f"{where}.oidc: found {name!r}, expected one of oidcProviders ({', '.join(known)})"
    managers = tuple(_list_identities(config.release_managers))
    for role in config.roles:
        for identity in _list_identities(role.trust):
            if any(_is_same(identity, manager) for manager in managers):
                where = f"roles.{role.name}.trust"
                yield f"{where}: found {identity}, expected nobody who is a release manager too"


def check_own_roles(config: StackConfig) -> Iterator[str]:
    """Nobody comes from a role of this very stack: whoever has that one would have both."""
    names = {f"{config.prefix}-{name}" for name in ("release-manager", "auditor")}
    names |= {f"{config.prefix}-role-{role.name}" for role in config.roles}
    for where, trust in _list_trusts(config).items():
        for principal in trust.principals:
            if _find_role(principal)[1] in names:
                yield f"{where}.principals: found {principal}, expected nobody from a role of this stack"


def check_names(config: StackConfig) -> Iterator[str]:
    """The two buckets differ."""
    if config.name_bucket("staging") == config.name_bucket("public"):
        yield f"publicBucket: found {config.name_bucket('public')!r} for both buckets, expected two names"


def check_domains(config: StackConfig) -> Iterator[str]:
    """Own domain names and their certificate come together."""
    if bool(config.domain_names) != bool(config.certificate_arn):
        yield "certificateArn, domainNames: found one of the two, expected both or neither"


def check_staging_days(config: StackConfig) -> Iterator[str]:
    """A plan pins versions in staging; they must be there for as long as a plan may be unfinished."""
    for key, days in (
        ("stagingDays", config.staging_days),
        ("stagingNoncurrentDays", config.staging_noncurrent_days),
        ("pendingDays", config.pending_days),
    ):
        if days < config.plan_life_days:
            yield f"{key}: found {days}, expected at least planLifeDays ({config.plan_life_days})"


def check_seconds(config: StackConfig) -> Iterator[str]:
    """A gate entry is dropped only when every cached miss of the plain key has run out, and then some."""
    least = 2 * config.error_ttl_seconds
    if config.settle_seconds < least:
        yield f"settleSeconds: found {config.settle_seconds}, expected at least {least} (2 errorTtlSeconds)"


RULES: Mapping[Rule, tuple[str, ...]] = {
    check_role_names: (),
    check_reads: (),
    check_providers: (),
    check_trust: (),
    check_own_roles: ("prefix",),
    check_names: ("prefix", "stagingBucket", "publicBucket"),
    check_domains: ("domainNames", "certificateArn"),
    check_staging_days: ("stagingDays", "stagingNoncurrentDays", "pendingDays", "planLifeDays"),
    check_seconds: ("settleSeconds", "errorTtlSeconds"),
}
"""Each rule, with the values without which it says nothing true. The others leave out what is empty."""


def _list_trusts(config: StackConfig) -> Mapping[str, Trust]:
    trusts = {f"roles.{role.name}.trust": role.trust for role in config.roles}
    trusts["releaseManagers"] = config.release_managers
    if config.auditors:
        trusts["auditors"] = config.auditors
    return trusts


def _list_identities(trust: Trust) -> Iterator[str]:
    yield from trust.principals
    for provider, subjects in trust.subjects.items():
        for subject in subjects:
            yield f"{provider} {subject}"


def _is_same(identity: str, other: str) -> bool:
    """Tell whether two identities can be one: they are equal, or one is a role and the other its session."""
    if identity == other:
        return True
    roles = _find_role(identity), _find_role(other)
    return roles[0] == roles[1] != ("", "") and (":assumed-role/" in identity) != (":assumed-role/" in other)


def _find_role(identity: str) -> tuple[str, str]:
    """Give account and name of the role that an identity is, or is a session of; empty if it is neither."""
    account, _, resource = identity.removeprefix("arn:").partition("::")[2].partition(":")
    kind, *names = resource.split("/")
    if kind == "role":
        return account, names[-1]
    return (account, names[0]) if kind == "assumed-role" else ("", "")
