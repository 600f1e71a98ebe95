"""Every access policy of the program as a plain function of names to a dictionary; knows nothing of Pulumi.

One statement for one intent, named by its `Sid`. What no statement allows is denied, so the grants that
are not here are as deliberate as those that are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Statement = dict[str, object]
Policy = dict[str, object]

PENDING = "_pending"
FIXED_PAGE = "_site/404.html"

_READ_STORE = (
    "cloudfront-keyvaluestore:DescribeKeyValueStore",
    "cloudfront-keyvaluestore:GetKey",
    "cloudfront-keyvaluestore:ListKeys",
)
# Batches alone: the single-key writes are no part of the publisher's protocol.
_WRITE_STORE = "cloudfront-keyvaluestore:UpdateKeys"
# Aborting an upload removes no object; without the right to do so, a failed one is paid for until it expires.
_PUT = ("s3:AbortMultipartUpload", "s3:ListMultipartUploadParts", "s3:PutObject")
_READ_VERSIONS = ("s3:GetObject", "s3:GetObjectVersion")


@dataclass(frozen=True, slots=True)
class World:
    """The ARNs that policies speak about."""

    staging: str
    public: str
    distribution: str
    store: str


def make_builder_policy(world: World, role: str) -> Policy:
    """Let `role` deliver into its own prefix and hold a release; it deletes no version."""
    own = _below(world.staging, f"{role}/")
    return _document(
        _allow("ListOwnPrefix", "s3:ListBucket", world.staging, _when_listing([role])),
        _allow("DeliverIntoOwnPrefix", _PUT, own),
        _allow("ReadOwnPrefix", "s3:GetObject", own),
        # In a versioned bucket this only puts a marker. Versions need s3:DeleteObjectVersion.
        _allow("MarkOwnMistakesDeleted", "s3:DeleteObject", own),
        _hold(world, role),
    )


def make_tester_policy(world: World, role: str, reads: Sequence[str]) -> Policy:
    """Let `role` read what the roles in `reads` staged, and hold a release."""
    statements = [_hold(world, role)]
    if reads:
        prefixes = [_below(world.staging, f"{name}/") for name in reads]
        statements += [
            _allow("ListWhatIsTested", "s3:ListBucket", world.staging, _when_listing(reads)),
            _allow("ReadWhatIsTested", _READ_VERSIONS, prefixes),
        ]
    return _document(*statements)


def make_release_manager_policy(world: World) -> Policy:
    """Let the release manager read all of staging, place files and move the gate; delete nothing."""
    return _document(
        *_read_buckets(world),
        _allow(
            "KeepStateAndSidecars",
            "s3:PutObject",
            [_below(world.staging, "_rm/"), _below(world.staging, "_state/")],
        ),
        # In parts too: the way out, if S3 should refuse conditional copies under `create_only`.
        _allow("PlaceFiles", _PUT, _below(world.public)),
        _deny("NeverTheFixedPage", "s3:PutObject", _below(world.public, FIXED_PAGE)),
        _allow("MoveTheGate", (*_READ_STORE, _WRITE_STORE), world.store),
        _allow(
            "ForgetCachedPaths",
            ("cloudfront:CreateInvalidation", "cloudfront:GetInvalidation"),
            world.distribution,
        ),
    )


def make_auditor_policy(world: World) -> Policy:
    """Let an auditor read everything and write nothing."""
    return _document(
        *_read_buckets(world),
        _allow("ReadTheGate", _READ_STORE, world.store),
        _allow(
            "ReadInvalidations",
            ("cloudfront:GetInvalidation", "cloudfront:ListInvalidations"),
            world.distribution,
        ),
    )


def make_staging_bucket_policy(staging: str) -> Policy:
    """Refuse requests in the clear; who may do what is said by the roles."""
    return _document(_deny_plain_http(staging))


def make_public_bucket_policy(public: str, distribution: str, *, create_only: bool) -> Policy:
    """Let this one distribution read objects, and nobody delete a version.

    The distribution may not list: an absent key answers 403, as a hidden one does.

    Args:
        public: The bucket's ARN.
        distribution: The ARN of the distribution that may read.
        create_only: Also refuse writes that name no condition on what is there.
    """
    statements = [
        _deny_plain_http(public),
        _deny("NobodyDeletesVersions", "s3:DeleteObjectVersion", _below(public), principal="*"),
        {
            **_allow("OnlyTheDistributionReads", "s3:GetObject", _below(public)),
            "Principal": {"Service": "cloudfront.amazonaws.com"},
            "Condition": {"StringEquals": {"AWS:SourceArn": distribution}},
        },
    ]
    if create_only:
        statements.append(_deny_blind_writes(public))
    return _document(*statements)


def make_topic_policy(topic: str, staging: str) -> Policy:
    """Let S3 publish what happens in this one bucket of the topic's own account, and nobody else publish.

    Names of buckets are free again once a bucket is gone, so its ARN alone could be somebody else's.
    """
    account = topic.split(":")[4]
    return _document(
        {
            **_allow("OnlyStagingPublishes", "sns:Publish", topic),
            "Principal": {"Service": "s3.amazonaws.com"},
            "Condition": {
                "ArnEquals": {"aws:SourceArn": staging},
                "StringEquals": {"aws:SourceAccount": account},
            },
        }
    )


def _read_buckets(world: World) -> tuple[Statement, Statement]:
    return (
        _allow("ListBuckets", ("s3:ListBucket", "s3:ListBucketVersions"), [world.staging, world.public]),
        _allow("ReadVersions", _READ_VERSIONS, [_below(world.staging), _below(world.public)]),
    )


def _hold(world: World, role: str) -> Statement:
    return _allow("HoldReleases", "s3:PutObject", _below(world.staging, f"_hold/{role}/"))


def _deny_plain_http(bucket: str) -> Statement:
    return _deny(
        "NobodyInTheClear",
        "s3:*",
        [bucket, _below(bucket)],
        principal="*",
        condition={"Bool": {"aws:SecureTransport": "false"}},
    )


def _deny_blind_writes(public: str) -> Statement:
    # Public keys are created (If-None-Match), pointers are swapped (If-Match). Copies below _pending/ may be
    # made again, and the fixed page is this program's. Of an upload in parts only the end has the condition.
    return {
        "Sid": "NobodyOverwritesBlindly",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:PutObject",
        "NotResource": [_below(public, f"{PENDING}/"), _below(public, FIXED_PAGE)],
        "Condition": {
            "Null": {"s3:if-none-match": "true", "s3:if-match": "true"},
            "Bool": {"s3:ObjectCreationOperation": "true"},
        },
    }


def _when_listing(roles: Sequence[str]) -> Mapping[str, object]:
    return {"StringLike": {"s3:prefix": [f"{role}/*" for role in roles]}}


def _below(bucket: str, key: str = "") -> str:
    return f"{bucket}/{key}" if key and not key.endswith("/") else f"{bucket}/{key}*"


def _allow(
    sid: str,
    actions: str | Sequence[str],
    resources: str | Sequence[str],
    condition: Mapping[str, object] | None = None,
) -> Statement:
    statement: Statement = {
        "Sid": sid,
        "Effect": "Allow",
        "Action": actions if isinstance(actions, str) else list(actions),
        "Resource": resources if isinstance(resources, str) else list(resources),
    }
    if condition:
        statement["Condition"] = dict(condition)
    return statement


def _deny(
    sid: str,
    actions: str | Sequence[str],
    resources: str | Sequence[str],
    *,
    principal: str | None = None,
    condition: Mapping[str, object] | None = None,
) -> Statement:
    statement = {**_allow(sid, actions, resources, condition), "Effect": "Deny"}
    return {**statement, "Principal": principal} if principal else statement


def _document(*statements: Statement) -> Policy:
    return {"Version": "2012-10-17", "Statement": list(statements)}
