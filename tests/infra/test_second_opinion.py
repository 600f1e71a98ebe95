"""The same table judged by an evaluator that is not ours, the emulator's; skipped where there is none."""

from typing import Any

import pytest
from test_policies import (
    IDENTITIES,
    PUBLIC,
    PUBLIC_POLICY,
    STAGING,
    STAGING_POLICY,
    TABLE,
    TOPIC,
    TOPIC_POLICY,
    may,
)

evaluator: Any = pytest.importorskip("ministack.core.iam_evaluator")

ACCOUNT = "123456789012"


def judge(who: str, action: str, resource: str) -> bool:
    context = evaluator.EvalContext(
        principal_arn=f"arn:aws:iam::{ACCOUNT}:role/{who}",
        principal_type="AssumedRole",
        principal_account=ACCOUNT,
        action=action,
        resource_arn=resource,
        region="us-east-1",
        source_ip="192.0.2.1",
        secure_transport=True,
    )
    answer = evaluator.evaluate(context, [evaluator.parse_policy_document(dict(IDENTITIES[who]))])
    bucket = {STAGING: STAGING_POLICY, PUBLIC: PUBLIC_POLICY}.get(resource.split("/")[0])
    if bucket:
        answer = evaluator.combine_resource_policy(answer, context, dict(bucket), ACCOUNT)
    return answer.decision == "Allow"


@pytest.mark.parametrize("who", IDENTITIES)
def test_two_evaluators_agree(who: str) -> None:
    rights = [(action, resource) for action, resource, _ in TABLE]
    assert [judge(who, *right) for right in rights] == [may(who, *right) for right in rights]


@pytest.mark.parametrize(
    ("bucket", "account", "allowed"),
    [(STAGING, ACCOUNT, True), (PUBLIC, ACCOUNT, False), (STAGING, "210987654321", False)],
)
def test_two_evaluators_agree_about_who_tells_the_topic(bucket: str, account: str, allowed: bool) -> None:
    context = evaluator.EvalContext(
        principal_arn="*",
        principal_type="Service",
        principal_account="",
        action="sns:Publish",
        resource_arn=TOPIC,
        region="eu-west-1",
        service_context={"aws:sourcearn": bucket, "aws:sourceaccount": account},
    )
    answer = evaluator.evaluate_resource_policy(dict(TOPIC_POLICY), context, service="s3.amazonaws.com")
    assert (answer.decision == "Allow") is allowed
