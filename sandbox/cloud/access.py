"""Makes roles with their policies, and issuers of tokens."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.cloud.spelling import Clients, Create, Values

ANY_STORE = "sandbox-any-store"
"""The name of the statement that stands in for one about a KeyValueStore: see `DEVIATIONS`."""


def make_role(aws: Clients, given: Values) -> tuple[str, Values]:
    """Make a role with its trust."""
    made = aws.iam.create_role(
        RoleName=given.pop("name"),
        AssumeRolePolicyDocument=given.pop("assumeRolePolicy"),
        MaxSessionDuration=given.pop("maxSessionDuration"),
    )["Role"]
    return made["RoleName"], {"arn": made["Arn"]}


def attach_role_policy(aws: Clients, given: Values) -> tuple[str, Values]:
    """Give a role its inline policy as it is, and beside it what the emulator needs to understand it."""
    role, name, document = given.pop("role"), given.pop("name"), given.pop("policy")
    aws.iam.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=document)
    widened = list(_widen(json.loads(document)))
    if widened:
        aws.iam.put_role_policy(
            RoleName=role,
            PolicyName=ANY_STORE,
            PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": widened}),
        )
    return f"{role}:{name}", {}


def make_oidc_provider(aws: Clients, given: Values) -> tuple[str, Values]:
    """Make an issuer of tokens known."""
    arn = aws.iam.create_open_id_connect_provider(
        Url=given.pop("url"), ClientIDList=given.pop("clientIdLists")
    )["OpenIDConnectProviderArn"]
    return arn, {"arn": arn}


def _widen(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for statement in document["Statement"]:
        actions = statement["Action"]
        names = [actions] if isinstance(actions, str) else actions
        stores = [name for name in names if name.startswith("cloudfront-keyvaluestore:")]
        if stores:
            yield {**statement, "Action": stores, "Resource": "*"}


CREATE: Mapping[str, Create] = {
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": make_oidc_provider,
    "aws:iam/role:Role": make_role,
    "aws:iam/rolePolicy:RolePolicy": attach_role_policy,
}
