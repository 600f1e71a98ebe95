"""The evaluator itself: what the tests of policies stand on."""

from typing import Any

import pytest
from iam import Caller, Request, is_allowed

ME = Caller(arn="arn:aws:iam::1:role/me")


def a_policy(**changes: Any) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::b/*", **changes}
    return {
        "Version": "2012-10-17",
        "Statement": [{key: value for key, value in statement.items() if value is not None}],
    }


def ask(action: str = "s3:GetObject", resource: str = "arn:aws:s3:::b/k", **context: str) -> Request:
    return Request(action, resource, ME, {key.replace("_", ":"): value for key, value in context.items()})


def test_nothing_is_allowed_without_a_statement() -> None:
    assert not is_allowed(ask(), [])


def test_a_matching_statement_allows() -> None:
    assert is_allowed(ask(), [a_policy()])


def test_a_deny_beats_every_allow_wherever_it_stands() -> None:
    deny = a_policy(Effect="Deny")
    assert not is_allowed(ask(), [a_policy(), deny])
    assert not is_allowed(ask(), [a_policy()], a_policy(Effect="Deny", Principal="*"))


def test_a_resource_policy_allows_a_caller_without_policies_of_its_own() -> None:
    assert is_allowed(ask(), [], a_policy(Principal={"AWS": "arn:aws:iam::1:role/me"}))
    assert not is_allowed(ask(), [], a_policy(Principal={"AWS": "arn:aws:iam::1:role/other"}))
    assert not is_allowed(ask(), [], a_policy(Principal={"Service": "cloudfront.amazonaws.com"}))


@pytest.mark.parametrize(
    ("changes", "request_"),
    [
        ({"Action": "S3:get*"}, ask()),
        ({"Action": None, "NotAction": "s3:PutObject"}, ask()),
        ({"Resource": None, "NotResource": "arn:aws:s3:::b/x*"}, ask()),
        ({"Resource": "arn:aws:s3:::b/?"}, ask()),
        ({"Condition": {"StringLike": {"s3:prefix": ["a/*", "b/*"]}}}, ask(s3_prefix="b/c")),
        ({"Condition": {"StringEquals": {"AWS:SourceArn": "x"}}}, ask(aws_SourceArn="x")),
        ({"Condition": {"Bool": {"aws:SecureTransport": "false"}}}, ask(aws_SecureTransport="false")),
        ({"Condition": {"Null": {"s3:if-match": "true"}}}, ask()),
        ({"Condition": {"StringNotEquals": {"s3:prefix": "a"}}}, ask()),
        (
            {"Condition": {"ArnLike": {"aws:SourceArn": "arn:a:b:c:d:*"}}},
            ask(aws_SourceArn="arn:a:b:c:d:e:f"),
        ),
        ({"Condition": {"ArnNotLike": {"aws:SourceArn": "arn:a:*"}}}, ask(aws_SourceArn="arn:a:b:c:d:e")),
    ],
)
def test_what_a_statement_matches(changes: dict[str, Any], request_: Request) -> None:
    assert is_allowed(request_, [a_policy(**changes)])


@pytest.mark.parametrize(
    ("changes", "request_"),
    [
        ({"Action": "s3:GetObject"}, ask("s3:GetObjectVersion")),
        ({"Action": None, "NotAction": "s3:Get*"}, ask()),
        ({"Resource": None, "NotResource": "arn:aws:s3:::b/k*"}, ask()),
        ({"Resource": "arn:aws:s3:::b"}, ask()),
        ({"Resource": "ARN:aws:s3:::b/*"}, ask()),
        ({"Condition": {"StringLike": {"s3:prefix": "a/*"}}}, ask()),
        ({"Condition": {"StringEquals": {"s3:prefix": "a*"}}}, ask(s3_prefix="ab")),
        ({"Condition": {"Bool": {"aws:SecureTransport": "false"}}}, ask()),
        (
            {"Condition": {"Null": {"s3:if-match": "true", "s3:if-none-match": "true"}}},
            ask(**{"s3_if-match": "x"}),
        ),
        ({"Condition": {"StringNotEquals": {"s3:prefix": "a"}}}, ask(s3_prefix="a")),
        (
            {"Condition": {"ArnNotLike": {"aws:SourceArn": "arn:a:b:c:d:*"}}},
            ask(aws_SourceArn="arn:a:b:c:d:e"),
        ),
    ],
)
def test_what_a_statement_does_not_match(changes: dict[str, Any], request_: Request) -> None:
    assert not is_allowed(request_, [a_policy(**changes)])


@pytest.mark.parametrize(
    "changes",
    [
        {"Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}},
        {"NotPrincipal": "*"},
        {"Resource": "arn:aws:s3:::b/${aws:username}"},
    ],
)
def test_what_is_not_known_is_not_judged(changes: dict[str, Any]) -> None:
    with pytest.raises((AssertionError, KeyError)):
        is_allowed(ask(), [a_policy(**changes)])
