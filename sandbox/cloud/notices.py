"""Makes the topic that people are told through, and has a bucket send to it."""

from collections.abc import Mapping
from typing import Any

from sandbox.cloud.spelling import Clients, Create, Values


def make_topic(aws: Clients, given: Values) -> tuple[str, Values]:
    """Make a topic."""
    made = aws.sns.create_topic(Name=given.pop("name"), Attributes={"DisplayName": given.pop("displayName")})
    return made["TopicArn"], {"arn": made["TopicArn"]}


def set_topic_policy(aws: Clients, given: Values) -> tuple[str, Values]:
    """Give a topic its policy, in place of the one that every topic starts with."""
    topic = given.pop("arn")
    aws.sns.set_topic_attributes(TopicArn=topic, AttributeName="Policy", AttributeValue=given.pop("policy"))
    return topic, {}


def subscribe(aws: Clients, given: Values) -> tuple[str, Values]:
    """Have a topic tell somebody."""
    made = aws.sns.subscribe(
        TopicArn=given.pop("topic"),
        Protocol=given.pop("protocol"),
        Endpoint=given.pop("endpoint"),
        ReturnSubscriptionArn=True,
    )
    return made["SubscriptionArn"], {"arn": made["SubscriptionArn"]}


def set_notifications(aws: Clients, given: Values) -> tuple[str, Values]:
    """Say which objects a bucket tells a topic of, in place of all that it was told before."""
    bucket = given.pop("bucket")
    topics: Any = [_spell_topic(dict(topic)) for topic in given.pop("topics")]
    aws.s3.put_bucket_notification_configuration(
        Bucket=bucket, NotificationConfiguration={"TopicConfigurations": topics}
    )
    return bucket, {}


def _spell_topic(topic: Values) -> Values:
    rules = [
        {"Name": name, "Value": topic.pop(key)}
        for name, key in (("prefix", "filterPrefix"), ("suffix", "filterSuffix"))
        if key in topic
    ]
    spelt = {
        "Id": topic.pop("id"),
        "TopicArn": topic.pop("topicArn"),
        "Events": topic.pop("events"),
        "Filter": {"Key": {"FilterRules": rules}},
    }
    # Passed on, for the client to refuse it: nothing that was asked for is dropped.
    return {**spelt, **topic}


CREATE: Mapping[str, Create] = {
    "aws:s3/bucketNotification:BucketNotification": set_notifications,
    "aws:sns/topic:Topic": make_topic,
    "aws:sns/topicPolicy:TopicPolicy": set_topic_policy,
    "aws:sns/topicSubscription:TopicSubscription": subscribe,
}
