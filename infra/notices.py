"""Notices: staging tells a topic what happens in it, and the topic tells the people whom the stack names."""

import hashlib

import pulumi
import pulumi_aws as aws

from buckets import PrivateBucket
from config import StackConfig
from events import CREATED, EventFilter, list_filters
from policies import make_topic_policy
from surroundings import Subscription


class Notices(pulumi.ComponentResource):
    """A topic with its policy and subscribers, and what the bucket sends to it.

    The parts must not come apart: S3 tries whether it may publish before it takes a topic. A bucket has one
    list of notifications, so none may be added by hand.
    """

    def __init__(self, name: str, *, config: StackConfig, bucket: PrivateBucket) -> None:
        super().__init__("publish-gate:index:Notices", name)
        child = pulumi.ResourceOptions(parent=self)
        topic = aws.sns.Topic(
            "notices-topic",
            name=f"{config.prefix}-notices",
            # What e-mails come from.
            display_name=config.prefix,
            # Without a key of KMS: S3 may not use the one that AWS manages for topics, and a message holds no
            # more than the key, the size and the maker of an object.
            opts=child,
        )
        document = pulumi.Output.all(topic.arn, bucket.arn).apply(lambda arns: make_topic_policy(*arns))
        policy = aws.sns.TopicPolicy(
            "notices-policy", arn=topic.arn, policy=pulumi.Output.json_dumps(document), opts=child
        )
        for subscription in config.surroundings.notify:
            aws.sns.TopicSubscription(
                _name(subscription),
                topic=topic.arn,
                protocol=subscription.protocol,
                endpoint=subscription.endpoint,
                opts=child,
            )
        builders = [role.name for role in config.roles if role.duty == "delivers"]
        aws.s3.BucketNotification(
            "notices-events",
            bucket=bucket.bucket_name,
            topics=[_tell(topic.arn, each) for each in list_filters(builders)],
            opts=pulumi.ResourceOptions(parent=self, depends_on=[policy]),
        )
        self.register_outputs({"topicArn": topic.arn})


def _name(subscription: Subscription) -> str:
    # By what it is, not by its place in the list: who is taken out must not make all after him confirm again.
    digest = hashlib.sha256(subscription.endpoint.encode()).hexdigest()
    return f"notify-{subscription.protocol}-{digest[:12]}"


def _tell(topic_arn: pulumi.Output[str], wanted: EventFilter) -> aws.s3.BucketNotificationTopicArgsDict:
    told: aws.s3.BucketNotificationTopicArgsDict = {
        "id": wanted.name,
        "topic_arn": topic_arn,
        "events": [CREATED],
        "filter_prefix": wanted.prefix,
    }
    if wanted.suffix:
        told["filter_suffix"] = wanted.suffix
    return told
