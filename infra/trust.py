"""Who may assume a role, as plain functions of names to a dictionary; knows nothing of Pulumi."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from policies import Policy, Statement


@dataclass(frozen=True, slots=True)
class Federation:
    """Who may come from one OIDC issuer: exact subjects of the tokens that it makes for one audience."""

    name: str
    provider_arn: str
    issuer: str
    audience: str
    subjects: tuple[str, ...]


def make_trust_policy(
    federations: Iterable[Federation], principals: Sequence[str], *, require_mfa: bool
) -> Policy:
    """Let exact subjects of OIDC issuers and named AWS principals assume a role.

    Args:
        federations: The issuers, each with its subjects.
        principals: ARNs of IAM users, or of the roles that a single sign-on gives to people.
        require_mfa: Ask `principals` for a second factor; issuers have rules of their own.

    Raises:
        ValueError: Nobody is named, which IAM would refuse much later.
    """
    statements = [_trust_issuer(federation) for federation in federations]
    if principals:
        people: Statement = {
            "Sid": "TrustPeople",
            "Effect": "Allow",
            "Principal": {"AWS": list(principals)},
            "Action": "sts:AssumeRole",
        }
        if require_mfa:
            people["Condition"] = {"Bool": {"aws:MultiFactorAuthPresent": "true"}}
        statements.append(people)
    if not statements:
        raise ValueError("a role that nobody may assume")
    return {"Version": "2012-10-17", "Statement": statements}


def _trust_issuer(federation: Federation) -> Statement:
    # IAM names an issuer by its URL without the scheme.
    issuer = federation.issuer.removeprefix("https://")
    words = re.split(r"[^A-Za-z0-9]", federation.name)
    return {
        "Sid": "TrustIssuer" + "".join(word.capitalize() for word in words),
        "Effect": "Allow",
        "Principal": {"Federated": federation.provider_arn},
        "Action": "sts:AssumeRoleWithWebIdentity",
        # Exact: in `repo:org/name:ref:...` a wildcard soon admits other branches, or pull requests.
        "Condition": {
            "StringEquals": {
                f"{issuer}:aud": federation.audience,
                f"{issuer}:sub": list(federation.subjects),
            }
        },
    }
