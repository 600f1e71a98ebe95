"""Who may do what: the table of least privilege, each denial beside the grant that it is told apart from."""

import json
import re
from typing import Any, cast

import pytest
from iam import Caller, Document, Request, is_allowed

from policies import (
    World,
    make_auditor_policy,
    make_builder_policy,
    make_public_bucket_policy,
    make_release_manager_policy,
    make_staging_bucket_policy,
    make_tester_policy,
    make_topic_policy,
)

STAGING = "arn:aws:s3:::example-staging"
PUBLIC = "arn:aws:s3:::example-public"
DISTRIBUTION = "arn:aws:cloudfront::123456789012:distribution/E1"
STORE = "arn:aws:cloudfront::123456789012:key-value-store/0f5c"
TOPIC = "arn:aws:sns:eu-west-1:123456789012:example-notices"
WORLD = World(staging=STAGING, public=PUBLIC, distribution=DISTRIBUTION, store=STORE)

IDENTITIES: dict[str, Document] = {
    "windows": make_builder_policy(WORLD, "windows"),
    "macos": make_builder_policy(WORLD, "macos"),
    "testers": make_tester_policy(WORLD, "testers", ["windows"]),
    "rm": make_release_manager_policy(WORLD),
    "auditor": make_auditor_policy(WORLD),
    "stranger": {"Version": "2012-10-17", "Statement": []},
}
STAGING_POLICY = make_staging_bucket_policy(STAGING)
PUBLIC_POLICY = make_public_bucket_policy(PUBLIC, DISTRIBUTION, create_only=False)
TOPIC_POLICY = make_topic_policy(TOPIC, STAGING)
CREATE_ONLY_POLICY = make_public_bucket_policy(PUBLIC, DISTRIBUTION, create_only=True)
DOCUMENTS: dict[str, Document] = {
    **IDENTITIES,
    "staging bucket": STAGING_POLICY,
    "public bucket": PUBLIC_POLICY,
    "public bucket, create only": CREATE_ONLY_POLICY,
    "topic": TOPIC_POLICY,
}

EXE = "windows/3.14.0b3/python/3.14.0/python-3.14.0b3-amd64.exe"
PKG = "macos/3.14.0b3/python/3.14.0/python-3.14.0b3-macos11.pkg"
KEY = "python/3.14.0/python-3.14.0b3-amd64.exe"


def ask(who: str, action: str, resource: str, **context: str) -> Request:
    given = {"aws:SecureTransport": "true", **{key.replace("__", ":"): text for key, text in context.items()}}
    return Request(action, resource, Caller(arn=f"arn:aws:iam::123456789012:role/{who}"), given)


def may(who: str, action: str, resource: str, **context: str) -> bool:
    """Judge a request of a role by its own policy and the bucket's."""
    bucket = {STAGING: STAGING_POLICY, PUBLIC: PUBLIC_POLICY}.get(resource.split("/")[0])
    return is_allowed(ask(who, action, resource, **context), [IDENTITIES[who]], bucket)


def may_list(who: str, bucket: str, prefix: str | None) -> bool:
    return may(who, "s3:ListBucket", bucket, **({} if prefix is None else {"s3__prefix": prefix}))


# Who may do it is named; everybody else in IDENTITIES must not.
TABLE = [
    ("s3:PutObject", f"{STAGING}/{EXE}", {"windows"}),
    ("s3:PutObject", f"{STAGING}/windows/3.14.0b3/SHA256SUMS", {"windows"}),
    ("s3:PutObject", f"{STAGING}/{PKG}", {"macos"}),
    ("s3:PutObject", f"{STAGING}/windows-arm/3.14.0b3/x", set[str]()),
    ("s3:PutObject", f"{STAGING}/windows", set[str]()),
    ("s3:PutObject", f"{STAGING}/testers/3.14.0b3/x", set[str]()),
    ("s3:AbortMultipartUpload", f"{STAGING}/{EXE}", {"windows"}),
    ("s3:ListMultipartUploadParts", f"{STAGING}/{EXE}", {"windows"}),
    ("s3:GetObject", f"{STAGING}/{EXE}", {"windows", "testers", "rm", "auditor"}),
    ("s3:GetObjectVersion", f"{STAGING}/{EXE}", {"testers", "rm", "auditor"}),
    ("s3:GetObject", f"{STAGING}/{PKG}", {"macos", "rm", "auditor"}),
    ("s3:DeleteObject", f"{STAGING}/{EXE}", {"windows"}),
    ("s3:DeleteObjectVersion", f"{STAGING}/{EXE}", set[str]()),
    ("s3:PutObject", f"{STAGING}/_hold/windows/3.14.0b3", {"windows"}),
    ("s3:PutObject", f"{STAGING}/_hold/testers/3.14.0b3", {"testers"}),
    ("s3:DeleteObject", f"{STAGING}/_hold/windows/3.14.0b3", set[str]()),
    ("s3:DeleteObjectVersion", f"{STAGING}/_hold/windows/3.14.0b3", set[str]()),
    ("s3:GetObject", f"{STAGING}/_hold/windows/3.14.0b3", {"rm", "auditor"}),
    ("s3:PutObject", f"{STAGING}/_rm/3.14.0b3/{KEY}.sigstore", {"rm"}),
    ("s3:GetObject", f"{STAGING}/_rm/3.14.0b3/{KEY}.sigstore", {"rm", "auditor"}),
    ("s3:PutObject", f"{STAGING}/_state/lease.json", {"rm"}),
    ("s3:GetObject", f"{STAGING}/_state/lease.json", {"rm", "auditor"}),
    ("s3:DeleteObject", f"{STAGING}/_state/lease.json", set[str]()),
    ("s3:PutObject", f"{STAGING}/_state/withdrawals/0a.json", {"rm"}),
    ("s3:GetObject", f"{STAGING}/_state/withdrawals/0a.json", {"rm", "auditor"}),
    ("s3:GetObjectVersion", f"{STAGING}/_hold/testers/3.14.0b3", {"rm", "auditor"}),
    ("s3:PutObject", f"{STAGING}/_other/x", set[str]()),
    ("s3:AbortMultipartUpload", f"{STAGING}/_rm/3.14.0b3/x", set[str]()),
    ("s3:AbortMultipartUpload", f"{PUBLIC}/{KEY}", {"rm"}),
    ("s3:ListBucketVersions", STAGING, {"rm", "auditor"}),
    ("s3:PutObject", f"{PUBLIC}/_pending/0a/{KEY}", {"rm"}),
    ("s3:PutObject", f"{PUBLIC}/{KEY}", {"rm"}),
    ("s3:PutObject", f"{PUBLIC}/index.html", {"rm"}),
    ("s3:PutObject", f"{PUBLIC}/python/3.14.0/index.html", {"rm"}),
    # A write on condition of what is there is a read as well.
    ("s3:GetObject", f"{PUBLIC}/python/3.14.0/index.html", {"rm", "auditor"}),
    ("s3:PutObject", f"{PUBLIC}/_site/404.html", set[str]()),
    ("s3:GetObject", f"{PUBLIC}/{KEY}", {"rm", "auditor"}),
    ("s3:GetObjectVersion", f"{PUBLIC}/_pending/0a/{KEY}", {"rm", "auditor"}),
    ("s3:ListBucket", PUBLIC, {"rm", "auditor"}),
    ("s3:DeleteObject", f"{PUBLIC}/{KEY}", set[str]()),
    ("s3:DeleteObject", f"{PUBLIC}/_pending/0a/{KEY}", set[str]()),
    ("s3:DeleteObjectVersion", f"{PUBLIC}/{KEY}", set[str]()),
    ("s3:PutBucketPolicy", PUBLIC, set[str]()),
    ("s3:PutObjectAcl", f"{PUBLIC}/{KEY}", set[str]()),
    ("s3:PutLifecycleConfiguration", STAGING, set[str]()),
    ("cloudfront-keyvaluestore:GetKey", STORE, {"rm", "auditor"}),
    ("cloudfront-keyvaluestore:ListKeys", STORE, {"rm", "auditor"}),
    ("cloudfront-keyvaluestore:DescribeKeyValueStore", STORE, {"rm", "auditor"}),
    ("cloudfront-keyvaluestore:UpdateKeys", STORE, {"rm"}),
    ("cloudfront-keyvaluestore:PutKey", STORE, set[str]()),
    ("cloudfront-keyvaluestore:DeleteKey", STORE, set[str]()),
    ("cloudfront-keyvaluestore:UpdateKeys", f"{STORE}-other", set[str]()),
    ("cloudfront:CreateInvalidation", DISTRIBUTION, {"rm"}),
    ("cloudfront:GetInvalidation", DISTRIBUTION, {"rm", "auditor"}),
    ("cloudfront:CreateInvalidation", f"{DISTRIBUTION}X", set[str]()),
    ("cloudfront:UpdateDistribution", DISTRIBUTION, set[str]()),
    ("cloudfront:UpdateFunction", "arn:aws:cloudfront::123456789012:function/gate", set[str]()),
    ("cloudfront:ListInvalidations", DISTRIBUTION, {"auditor"}),
    ("sns:Publish", TOPIC, set[str]()),
    ("sns:Subscribe", TOPIC, set[str]()),
    ("s3:PutBucketNotification", STAGING, set[str]()),
    ("sts:AssumeRole", "arn:aws:iam::123456789012:role/windows", set[str]()),
]


@pytest.mark.parametrize(("action", "resource", "who"), TABLE)
def test_each_right_is_held_by_those_who_need_it_and_by_nobody_else(
    action: str, resource: str, who: set[str]
) -> None:
    assert {name for name in IDENTITIES if may(name, action, resource)} == who


@pytest.mark.parametrize(
    ("who", "prefix", "allowed"),
    [
        ("windows", "windows/", True),
        ("windows", "windows/3.14.0b3/", True),
        ("windows", None, False),
        ("windows", "", False),
        ("windows", "win", False),
        ("windows", "windows", False),
        ("windows", "windows-arm/", False),
        ("windows", "macos/", False),
        ("windows", "_hold/windows/", False),
        ("testers", "windows/3.14.0b3/", True),
        ("testers", "macos/", False),
        ("testers", "testers/", False),
        ("testers", None, False),
        ("rm", None, True),
        ("rm", "windows/", True),
        ("auditor", None, True),
        ("stranger", "windows/", False),
    ],
)
def test_staging_is_listed_only_as_far_as_a_role_reaches(who: str, prefix: str | None, allowed: bool) -> None:
    assert may_list(who, STAGING, prefix) is allowed


def test_a_tester_that_reads_nothing_can_still_hold() -> None:
    policy = make_tester_policy(WORLD, "testers", [])
    assert is_allowed(ask("testers", "s3:PutObject", f"{STAGING}/_hold/testers/3.14.0b3"), [policy])
    assert not is_allowed(ask("testers", "s3:GetObject", f"{STAGING}/{EXE}"), [policy])


@pytest.mark.parametrize(
    ("action", "resource"), [("s3:PutObject", f"{STAGING}/{EXE}"), ("s3:ListBucket", STAGING)]
)
def test_nobody_is_heard_in_the_clear(action: str, resource: str) -> None:
    assert may("windows", action, resource, s3__prefix="windows/")
    assert not may("windows", action, resource, s3__prefix="windows/", aws__SecureTransport="false")
    assert may("rm", "s3:GetObject", f"{PUBLIC}/{KEY}")
    assert not may("rm", "s3:GetObject", f"{PUBLIC}/{KEY}", aws__SecureTransport="false")


def as_cloudfront(action: str, resource: str, source: str | None = DISTRIBUTION) -> bool:
    context = {"aws:SecureTransport": "true", **({"AWS:SourceArn": source} if source else {})}
    request = Request(action, resource, Caller(service="cloudfront.amazonaws.com"), context)
    return is_allowed(request, [], PUBLIC_POLICY)


def test_only_the_one_distribution_reads_the_public_bucket() -> None:
    assert as_cloudfront("s3:GetObject", f"{PUBLIC}/{KEY}")
    assert not as_cloudfront("s3:GetObject", f"{PUBLIC}/{KEY}", f"{DISTRIBUTION}2")
    assert not as_cloudfront("s3:GetObject", f"{PUBLIC}/{KEY}", None)
    other = Request(
        "s3:GetObject", f"{PUBLIC}/{KEY}", Caller(service="s3.amazonaws.com"), {"AWS:SourceArn": DISTRIBUTION}
    )
    assert not is_allowed(other, [], PUBLIC_POLICY)


@pytest.mark.parametrize("action", ["s3:GetObjectVersion", "s3:PutObject", "s3:DeleteObject"])
def test_the_distribution_reads_current_objects_and_does_nothing_else(action: str) -> None:
    assert not as_cloudfront(action, f"{PUBLIC}/{KEY}")


def test_the_distribution_cannot_list_the_bucket() -> None:
    assert not as_cloudfront("s3:ListBucket", PUBLIC)
    assert not as_cloudfront("s3:GetObject", PUBLIC)


@pytest.mark.parametrize("bucket", [STAGING_POLICY, PUBLIC_POLICY, CREATE_ONLY_POLICY])
def test_nobody_unknown_reads_a_bucket(bucket: Document) -> None:
    for resource in (f"{PUBLIC}/{KEY}", f"{STAGING}/{EXE}", PUBLIC, STAGING):
        for action in ("s3:GetObject", "s3:ListBucket", "s3:PutObject"):
            assert not is_allowed(
                Request(action, resource, Caller(), {"aws:SecureTransport": "true"}), [], bucket
            )


def test_not_even_an_administrator_deletes_a_version_of_a_public_key() -> None:
    admin = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    request = ask("admin", "s3:DeleteObjectVersion", f"{PUBLIC}/{KEY}")
    assert is_allowed(request, [admin])
    assert not is_allowed(request, [admin], PUBLIC_POLICY)
    # A marker, which ops needs to clear a foreign object away, is no deletion.
    assert is_allowed(ask("admin", "s3:DeleteObject", f"{PUBLIC}/{KEY}"), [admin], PUBLIC_POLICY)


@pytest.mark.parametrize(
    ("key", "context", "allowed"),
    [
        (KEY, {}, False),
        (KEY, {"s3__if-none-match": "*"}, True),
        ("index.html", {"s3__if-match": "abc"}, True),
        ("python/3.14.0/index.html", {"s3__if-match": "abc"}, True),
        ("python/3.14.0/index.html", {"s3__if-none-match": "*"}, True),
        ("python/3.14.0/index.html", {}, False),
        (f"_pending/0a/{KEY}", {}, True),
        ("_pending", {}, False),
        # The parts of a large upload carry no condition, and create nothing.
        (KEY, {"s3__ObjectCreationOperation": "false"}, True),
    ],
)
def test_create_only_refuses_a_write_without_condition(
    key: str, context: dict[str, str], allowed: bool
) -> None:
    request = ask(
        "rm", "s3:PutObject", f"{PUBLIC}/{key}", **{"s3__ObjectCreationOperation": "true", **context}
    )
    assert is_allowed(request, [IDENTITIES["rm"]], CREATE_ONLY_POLICY) is allowed
    assert is_allowed(request, [IDENTITIES["rm"]], PUBLIC_POLICY)


def publishes(
    *,
    service: str | None = "s3.amazonaws.com",
    bucket: str | None = STAGING,
    account: str | None = "123456789012",
    action: str = "sns:Publish",
    topic: str = TOPIC,
) -> bool:
    context = {"aws:SourceArn": bucket, "aws:SourceAccount": account}
    given = {name: value for name, value in context.items() if value}
    return is_allowed(Request(action, topic, Caller(service=service), given), [], TOPIC_POLICY)


def test_the_staging_bucket_of_this_account_tells_the_topic() -> None:
    assert publishes()


@pytest.mark.parametrize(
    "change",
    [
        {"bucket": PUBLIC},
        {"bucket": f"{STAGING}-2"},
        {"bucket": None},
        # The bucket's name, taken by somebody else after it was given up.
        {"account": "210987654321"},
        {"account": None},
        {"service": "cloudfront.amazonaws.com"},
        {"service": None},
        {"action": "sns:Subscribe"},
        {"topic": f"{TOPIC}-2"},
    ],
)
def test_nobody_else_tells_the_topic_anything(change: dict[str, Any]) -> None:
    assert not publishes(**change)


STATEMENTS = [
    (name, statement)
    for name, document in DOCUMENTS.items()
    for statement in cast("list[dict[str, Any]]", document["Statement"])
]


def list_resources(statement: dict[str, Any]) -> list[str]:
    resources = statement.get("Resource", statement.get("NotResource"))
    return [resources] if isinstance(resources, str) else cast("list[str]", resources)


@pytest.mark.parametrize(("name", "document"), DOCUMENTS.items())
def test_every_statement_has_an_id_of_its_own(name: str, document: Document) -> None:
    sids = [statement["Sid"] for statement in document["Statement"]]
    assert len(sids) == len(set(sids)), name
    assert all(re.fullmatch(r"[A-Za-z0-9]+", sid) for sid in sids)


@pytest.mark.parametrize(("name", "statement"), STATEMENTS)
def test_no_statement_reaches_for_everything(name: str, statement: dict[str, Any]) -> None:
    for resource in list_resources(statement):
        assert resource.startswith(("arn:aws:s3:::example-", DISTRIBUTION, STORE, TOPIC)), name
    if statement["Effect"] == "Allow":
        assert "*" not in json.dumps(statement["Action"]), name
        assert statement.get("Principal") != "*", name
        # IAM's wildcards cross slashes, so one is safe at the end alone.
        for resource in list_resources(statement):
            assert "*" not in resource[:-1], name


@pytest.mark.parametrize("name", [name for name in IDENTITIES if name != "stranger"])
def test_no_role_can_assume_another(name: str) -> None:
    assert "sts:" not in json.dumps(IDENTITIES[name])


@pytest.mark.parametrize(("name", "document"), DOCUMENTS.items())
def test_every_policy_fits_the_limits(name: str, document: Document) -> None:
    # 10,240 characters for all inline policies of a role, 20,480 bytes for a bucket's policy.
    assert len(json.dumps(document)) < 10_240, name
