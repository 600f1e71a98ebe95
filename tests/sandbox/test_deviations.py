"""Each deviation is still needed: a test that fails here says that the emulator has become better."""

import http.client
import json
import secrets
from collections.abc import Mapping
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import ClientError

from sandbox.cloud.access import ANY_STORE
from sandbox.ministack import Credentials, local_config
from sandbox.site import PUBLIC, RM, Site
from tests.sandbox.hands import Hands


def assume(site: Site, user: Credentials, role: str) -> Hands:
    made = Hands(site, user).sts.assume_role(RoleArn=role, RoleSessionName="tried")["Credentials"]
    return Hands(site, Credentials(made["AccessKeyId"], made["SecretAccessKey"], "", made["SessionToken"]))


def test_a_policy_that_names_the_store_allows_nothing(site: Site, root: Hands) -> None:
    name = f"narrow-{secrets.token_hex(4)}"
    manager = site.role_arn(RM).rpartition("/")[2]
    trust: Any = root.iam.get_role(RoleName=manager)["Role"]
    role = root.iam.create_role(
        RoleName=name, AssumeRolePolicyDocument=json.dumps(trust["AssumeRolePolicyDocument"])
    )["Role"]["Arn"]
    for policy in ("scope", ANY_STORE):
        document: Any = root.iam.get_role_policy(RoleName=manager, PolicyName=policy)["PolicyDocument"]
        root.iam.put_role_policy(RoleName=name, PolicyName=policy, PolicyDocument=json.dumps(document))
    narrow = assume(site, site.users[RM], role)
    assert narrow.attempt("read_gate", "") == "done"
    root.iam.delete_role_policy(RoleName=name, PolicyName=ANY_STORE)
    assert narrow.attempt("read_gate", "") == "AccessDeniedException"


def test_a_distribution_with_the_gates_function_answers_503(site: Site, root: Hands) -> None:
    config: Any = root.cloudfront.get_distribution_config(Id=site.distribution_id)["DistributionConfig"]
    function: Any = root.cloudfront.describe_function(Name="sandbox-gate", Stage="LIVE")["FunctionSummary"]
    association = {
        "EventType": "viewer-request",
        "FunctionARN": function["FunctionMetadata"]["FunctionARN"],
    }
    config["DefaultCacheBehavior"]["FunctionAssociations"] = {"Quantity": 1, "Items": [association]}
    config["CallerReference"] = secrets.token_hex(8)
    gated = root.cloudfront.create_distribution(DistributionConfig=config)["Distribution"]["DomainName"]
    with closing(http.client.HTTPConnection(urlsplit(site.server.endpoint).netloc, timeout=20)) as connection:
        connection.request("GET", "/_site/404.html", headers={"Host": gated, "X-Forwarded-Proto": "https"})
        assert connection.getresponse().status == http.client.SERVICE_UNAVAILABLE


def test_a_user_whom_a_role_trusts_needs_permission_to_ask(site: Site, root: Hands) -> None:
    name = f"trusted-{secrets.token_hex(4)}"
    elsewhere = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::elsewhere/*"}
    ask = {"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": "*"}
    user = site.server.new_user(name, {"Version": "2012-10-17", "Statement": [elsewhere]})
    trust = {"Effect": "Allow", "Principal": {"AWS": user.arn}, "Action": "sts:AssumeRole"}
    role = root.iam.create_role(
        RoleName=name,
        AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]}),
    )["Role"]["Arn"]
    with pytest.raises(ClientError, match="AccessDenied"):
        assume(site, user, role)
    root.iam.put_user_policy(
        UserName=name,
        PolicyName="ask",
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [ask]}),
    )
    assume(site, user, role)


def test_the_statement_about_create_only_writes_is_deployed_and_denies_nothing(
    root: Hands, hands: Mapping[str, Hands]
) -> None:
    statements = json.loads(root.s3.get_bucket_policy(Bucket=PUBLIC)["Policy"])["Statement"]
    assert "NobodyOverwritesBlindly" in {statement["Sid"] for statement in statements}
    assert hands[RM].attempt("put", "public:python/blind") == "done"


def test_nobody_is_asked_to_confirm_that_he_wants_e_mails(site: Site) -> None:
    session: Any = site.server.root_session()
    with closing(session.client("sns", endpoint_url=site.server.endpoint, config=local_config())) as sns:
        topic = sns.create_topic(Name=f"topic-{secrets.token_hex(4)}")["TopicArn"]
        sns.subscribe(TopicArn=topic, Protocol="email", Endpoint="somebody@example.org")
        [held] = sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
    # On AWS this is `PendingConfirmation` until a link in an e-mail was followed.
    assert held["SubscriptionArn"].startswith(f"{topic}:")


def test_filters_of_events_that_s3_refuses_are_taken(site: Site, root: Hands) -> None:
    session: Any = site.server.root_session()
    bucket = f"told-twice-{secrets.token_hex(4)}"
    root.s3.create_bucket(Bucket=bucket)
    with closing(session.client("sns", endpoint_url=site.server.endpoint, config=local_config())) as sns:
        topic = sns.create_topic(Name=bucket)["TopicArn"]
    twice: Any = {"TopicConfigurations": [{"TopicArn": topic, "Events": ["s3:ObjectCreated:*"]}] * 2}
    root.s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration=twice)
    held: Any = root.s3.get_bucket_notification_configuration(Bucket=bucket)
    assert len(held["TopicConfigurations"]) == len(twice["TopicConfigurations"])
