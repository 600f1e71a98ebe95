"""A topic tells of hand-overs, holds and promotions, and of nothing else: seen in a queue that listens."""

import json
import secrets
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from sandbox.deploy import Deployment, deploy
from sandbox.ministack import Credentials, local_config
from sandbox.site import RM, Site
from tests.sandbox.hands import Hands

PREFIX = "told"
STAGING = f"{PREFIX}-staging"
SUMS = "linux/1.0/SHA256SUMS"


@dataclass(frozen=True)
class Told:
    """A stack that tells a queue, with a session of each of its roles."""

    deployment: Deployment
    topic: str
    builder: Hands
    tester: Hands
    manager: Hands
    sqs: Any
    queue: str

    def hear(self, count: int) -> list[dict[str, Any]]:
        """Wait for `count` messages about objects, and answer those and whatever else comes soon after."""
        heard: list[dict[str, Any]] = []
        while len(heard) < count and (records := self._receive(seconds=15)) is not None:
            heard += records
        return heard + (self._receive(seconds=1) or [])

    def _receive(self, *, seconds: int) -> list[dict[str, Any]] | None:
        """Take messages out of the queue; None if there was none for so long."""
        answer = self.sqs.receive_message(
            QueueUrl=self.queue, MaxNumberOfMessages=10, WaitTimeSeconds=seconds
        )
        messages = answer.get("Messages", [])
        for each in messages:
            self.sqs.delete_message(QueueUrl=self.queue, ReceiptHandle=each["ReceiptHandle"])
        # What S3 sends to try a topic has no records.
        bodies = [json.loads(json.loads(each["Body"])["Message"]) for each in messages]
        return [record for body in bodies for record in body.get("Records", [])] if messages else None


def service_client(site: Site, service: str) -> Any:
    session = cast("Any", site.server.root_session())
    return session.client(service, endpoint_url=site.server.endpoint, config=local_config())


@pytest.fixture(scope="module")
def told(site: Site) -> Generator[Told]:
    with closing(service_client(site, "sqs")) as sqs:
        queue = sqs.create_queue(QueueName=f"{PREFIX}-queue")["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        topic = arn.replace(":sqs:", ":sns:").replace(f"{PREFIX}-queue", f"{PREFIX}-notices")
        statement = {
            "Effect": "Allow",
            "Principal": {"Service": "sns.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": arn,
            "Condition": {"ArnEquals": {"aws:SourceArn": topic}},
        }
        document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": document})
        deployment = deploy(site.server, a_stack(site, arn))
        yield Told(
            deployment=deployment,
            topic=topic,
            builder=assume(site, deployment, user="windows", role="linux"),
            tester=assume(site, deployment, user="qa", role="qa"),
            manager=assume(site, deployment, user=RM, role="_rm"),
            sqs=sqs,
            queue=queue,
        )


def a_stack(site: Site, queue: str) -> dict[str, object]:
    """Describe a stack beside the site's own, with its users."""

    def trust(user: str) -> dict[str, list[str]]:
        return {"principals": [site.users[user].arn]}

    return {
        "prefix": PREFIX,
        "publicFolders": ["tool"],
        "roles": [
            {"name": "linux", "duty": "delivers", "trust": trust("windows")},
            {"name": "qa", "duty": "tests", "reads": ["linux"], "trust": trust("qa")},
        ],
        "releaseManagers": trust(RM),
        "notify": [
            {"protocol": "sqs", "endpoint": queue},
            {"protocol": "email", "endpoint": "people@example.org"},
        ],
    }


def assume(site: Site, deployment: Deployment, *, user: str, role: str) -> Hands:
    made = Hands(site, site.users[user]).sts.assume_role(
        RoleArn=deployment.outputs["roleArns"][role], RoleSessionName="told"
    )["Credentials"]
    return Hands(site, Credentials(made["AccessKeyId"], made["SecretAccessKey"], "", made["SessionToken"]))


def put(hands: Hands, key: str, body: bytes = b"x") -> None:
    hands.s3.put_object(Bucket=STAGING, Key=key, Body=body)


def outline(heard: list[dict[str, Any]]) -> list[tuple[str, str, int]]:
    return sorted(
        (each["s3"]["configurationId"], each["s3"]["object"]["key"], each["s3"]["object"]["size"])
        for each in heard
    )


def test_a_hand_over_is_told_and_the_files_before_it_are_not(told: Told) -> None:
    put(told.builder, "linux/1.0/tool/1.0/tool.tar.gz")
    put(told.builder, "linux/1.0/COMMIT")
    put(told.builder, SUMS, b"sums")
    put(told.builder, "linux/1.0/tool/1.0/late.tar.gz")
    put(told.builder, SUMS, b"other sums")
    assert outline(told.hear(2)) == [("hand-over-linux", SUMS, 4), ("hand-over-linux", SUMS, 10)]


def test_a_hold_and_its_end_are_told(told: Told) -> None:
    put(told.tester, "_hold/qa/1.0", b"crashes on start")
    put(told.tester, "_hold/qa/1.0", b"")
    assert outline(told.hear(2)) == [("hold", "_hold/qa/1.0", 0), ("hold", "_hold/qa/1.0", 16)]


def test_what_a_promotion_does_in_public_is_told_and_its_preparations_are_not(told: Told) -> None:
    for key in (
        "lease.json",
        "releases/1.0.json",
        "promotions/0f5c/plan.json",
        "promotions/0f5c/abandoned.json",
    ):
        put(told.manager, f"_state/{key}")
    put(told.manager, "_rm/1.0/tool/1.0/tool.tar.gz.sigstore")
    for key in (
        "promotions/0f5c/live.json",
        "promotions/0f5c/done.json",
        "records/1.0/1.json",
        "withdrawals/a.json",
    ):
        put(told.manager, f"_state/{key}")
    assert outline(told.hear(4)) == [
        ("promotion-done", "_state/promotions/0f5c/done.json", 1),
        ("promotion-live", "_state/promotions/0f5c/live.json", 1),
        ("record", "_state/records/1.0/1.json", 1),
        ("withdrawal", "_state/withdrawals/a.json", 1),
    ]


def test_a_message_holds_nothing_of_what_is_in_the_object(told: Told) -> None:
    secret = secrets.token_hex(16)
    put(told.tester, "_hold/qa/1.1", secret.encode())
    heard = told.hear(1)
    assert outline(heard) == [("hold", "_hold/qa/1.1", 32)]
    assert secret not in json.dumps(heard)
    # Nor anything of the session that put it.
    assert told.tester.credentials.access_key_id not in json.dumps(heard)


def test_no_other_bucket_can_be_made_to_tell_the_topic(told: Told, root: Hands) -> None:
    wanted: Any = {"TopicConfigurations": [{"TopicArn": told.topic, "Events": ["s3:ObjectCreated:*"]}]}
    with pytest.raises(ClientError, match="Unable to validate the following destination"):
        root.s3.put_bucket_notification_configuration(
            Bucket=f"{PREFIX}-public", NotificationConfiguration=wanted
        )
    held: Any = root.s3.get_bucket_notification_configuration(Bucket=STAGING)
    assert {each["TopicArn"] for each in held["TopicConfigurations"]} == {told.topic}


@pytest.mark.parametrize("who", ["builder", "tester", "manager"])
def test_no_role_publishes_or_subscribes_by_itself(told: Told, site: Site, who: str) -> None:
    session: Any = site.server.root_session()
    held: Credentials = getattr(told, who).credentials
    sns = session.client(
        "sns",
        endpoint_url=site.server.endpoint,
        config=local_config(),
        aws_access_key_id=held.access_key_id,
        aws_secret_access_key=held.secret_access_key,
        aws_session_token=held.token,
    )
    with closing(sns):
        with pytest.raises(ClientError, match="not authorized"):
            sns.publish(TopicArn=told.topic, Message="forged")
        with pytest.raises(ClientError, match="not authorized"):
            sns.subscribe(TopicArn=told.topic, Protocol="email", Endpoint="curious@example.org")


def test_the_topic_is_as_the_program_says(told: Told, site: Site) -> None:
    [policy] = [each for each in told.deployment.resources if each.type.endswith(":TopicPolicy")]
    with closing(service_client(site, "sns")) as sns:
        attributes = sns.get_topic_attributes(TopicArn=told.topic)["Attributes"]
        subscribed = sns.list_subscriptions_by_topic(TopicArn=told.topic)["Subscriptions"]
    assert json.loads(attributes["Policy"]) == json.loads(policy.inputs["policy"])
    assert attributes["DisplayName"] == PREFIX
    assert sorted(each["Protocol"] for each in subscribed) == ["email", "sqs"]


def test_a_stack_that_names_nobody_has_no_topic(site: Site, root: Hands) -> None:
    assert not [each for each in site.deployment.resources if each.type.startswith("aws:sns/")]
    held = root.s3.get_bucket_notification_configuration(Bucket="sandbox-staging")
    assert "TopicConfigurations" not in held
