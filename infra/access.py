"""Roles: who may come (`trust`), and what the role may do (one inline policy, from `policies`)."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import pulumi
import pulumi_aws as aws

from config import OidcProvider, Role, StackConfig, Trust
from policies import (
    Policy,
    World,
    make_auditor_policy,
    make_builder_policy,
    make_release_manager_policy,
    make_tester_policy,
)
from trust import Federation, make_trust_policy

RELEASE_MANAGER = "_rm"
AUDITOR = "_auditor"


@dataclass(frozen=True, slots=True)
class _Plan:
    key: str
    resource: str
    trust: Trust
    make_policy: Callable[[World], Policy]


class ScopedRole(pulumi.ComponentResource):
    """An IAM role with its trust and its only policy; neither is of use alone."""

    arn: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        *,
        role_name: str,
        session_seconds: int,
        trust: pulumi.Output[str],
        policy: pulumi.Output[str],
    ) -> None:
        super().__init__("publish-gate:index:ScopedRole", name)
        role = aws.iam.Role(
            name,
            name=role_name,
            assume_role_policy=trust,
            max_session_duration=session_seconds,
            opts=pulumi.ResourceOptions(parent=self),
        )
        aws.iam.RolePolicy(
            f"{name}-policy",
            name="scope",
            role=role.name,
            policy=policy,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.arn = role.arn
        self.register_outputs({"arn": self.arn})


def make_roles(config: StackConfig, world: pulumi.Output[World]) -> Mapping[str, ScopedRole]:
    """Make a role for each builder and tester, for the release managers, and for auditors if there are any.

    The answer is keyed by role name; `RELEASE_MANAGER` and `AUDITOR` cannot be the name of another.
    """
    provider_arns = {provider.name: _find_provider(provider) for provider in config.oidc_providers}
    return {
        plan.key: ScopedRole(
            plan.resource,
            role_name=f"{config.prefix}-{plan.resource}",
            session_seconds=config.max_session_seconds,
            trust=_write_trust(config, plan.trust, provider_arns),
            policy=pulumi.Output.json_dumps(world.apply(plan.make_policy)),
        )
        for plan in _plan_roles(config)
    }


def _plan_roles(config: StackConfig) -> Iterator[_Plan]:
    for role in config.roles:
        yield _Plan(role.name, f"role-{role.name}", role.trust, _choose_policy(role))
    yield _Plan(RELEASE_MANAGER, "release-manager", config.release_managers, make_release_manager_policy)
    if config.auditors:
        yield _Plan(AUDITOR, "auditor", config.auditors, make_auditor_policy)


def _choose_policy(role: Role) -> Callable[[World], Policy]:
    if role.duty == "tests":
        return partial(make_tester_policy, role=role.name, reads=role.reads)
    return partial(make_builder_policy, role=role.name)


def _find_provider(provider: OidcProvider) -> pulumi.Output[str]:
    # An account has one provider for each issuer, so it may be there already, for somebody else's sake.
    if provider.arn:
        return pulumi.Output.from_input(provider.arn)
    made = aws.iam.OpenIdConnectProvider(
        f"oidc-{provider.name}", url=provider.issuer, client_id_lists=[provider.audience]
    )
    return made.arn


def _write_trust(
    config: StackConfig, trust: Trust, provider_arns: Mapping[str, pulumi.Output[str]]
) -> pulumi.Output[str]:
    providers = [provider for provider in config.oidc_providers if provider.name in trust.subjects]

    def write(arns: list[str]) -> str:
        federations = [
            Federation(
                name=provider.name,
                provider_arn=arn,
                issuer=provider.issuer,
                audience=provider.audience,
                subjects=trust.subjects[provider.name],
            )
            for provider, arn in zip(providers, arns, strict=True)
        ]
        return json.dumps(make_trust_policy(federations, trust.principals, require_mfa=trust.require_mfa))

    return pulumi.Output.all(*(provider_arns[provider.name] for provider in providers)).apply(write)
