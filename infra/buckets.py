"""The two buckets: what both have in common, and how long which part of each one lives."""

from collections.abc import Sequence

import pulumi
import pulumi_aws as aws

from policies import FIXED_PAGE, PENDING

ABORT_UPLOADS_AFTER_DAYS = 7
FIXED_PAGE_SECONDS = 10

Rule = aws.s3.BucketLifecycleConfigurationRuleArgsDict


class PrivateBucket(pulumi.ComponentResource):
    """A bucket that is versioned, encrypted, owned by its owner alone, and closed to the public.

    The parts must not come apart: each one alone is a leak or a loss.
    """

    arn: pulumi.Output[str]
    bucket_name: pulumi.Output[str]
    regional_domain_name: pulumi.Output[str]
    versioning: aws.s3.BucketVersioning

    def __init__(self, name: str, *, bucket_name: str, lifecycle: Sequence[Rule]) -> None:
        super().__init__("publish-gate:index:PrivateBucket", name)
        child = pulumi.ResourceOptions(parent=self)
        bucket = aws.s3.Bucket(
            name, bucket=bucket_name, opts=pulumi.ResourceOptions(parent=self, protect=True)
        )
        self.versioning = aws.s3.BucketVersioning(
            f"{name}-versioning",
            bucket=bucket.bucket,
            versioning_configuration={"status": "Enabled"},
            opts=child,
        )
        self._closed = aws.s3.BucketPublicAccessBlock(
            f"{name}-closed",
            bucket=bucket.bucket,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            opts=child,
        )
        aws.s3.BucketOwnershipControls(
            f"{name}-ownership",
            bucket=bucket.bucket,
            rule={"object_ownership": "BucketOwnerEnforced"},
            opts=child,
        )
        aws.s3.BucketServerSideEncryptionConfiguration(
            f"{name}-encryption",
            bucket=bucket.bucket,
            rules=[{"apply_server_side_encryption_by_default": {"sse_algorithm": "AES256"}}],
            opts=child,
        )
        # S3 refuses rules about noncurrent versions until there can be some.
        aws.s3.BucketLifecycleConfiguration(
            f"{name}-lifecycle",
            bucket=bucket.bucket,
            rules=[*lifecycle, _abort_uploads()],
            opts=pulumi.ResourceOptions(parent=self, depends_on=[self.versioning]),
        )
        self.arn = bucket.arn
        self.bucket_name = bucket.bucket
        self.regional_domain_name = bucket.bucket_regional_domain_name
        self.register_outputs({"arn": self.arn, "bucketName": self.bucket_name})

    def attach_policy(self, name: str, document: pulumi.Input[str]) -> None:
        """Give the bucket its one policy."""
        # S3 answers a conflict when a bucket's policy and its public access block change at the same time.
        aws.s3.BucketPolicy(
            name,
            bucket=self.bucket_name,
            policy=document,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[self._closed]),
        )


def expire_builders(roles: Sequence[str], *, days: int, noncurrent_days: int) -> list[Rule]:
    """Let staged files go, below builders' prefixes alone: `_hold/`, `_rm/` and `_state/` stay."""
    return [_expire(f"expire-{role}", f"{role}/", days, noncurrent_days) for role in roles]


def expire_pending(days: int) -> list[Rule]:
    """Let the copies of finished and abandoned promotions go. Public keys have no rule and stay for good."""
    return [_expire("expire-pending", f"{PENDING}/", days, days)]


def put_fixed_page(bucket: PrivateBucket, *, error_ttl_seconds: int) -> None:
    """Store the page that every miss answers, whatever its reason."""
    aws.s3.BucketObjectv2(
        "fixed-page",
        bucket=bucket.bucket_name,
        key=FIXED_PAGE,
        content="<!doctype html>\n<title>404 Not Found</title>\n<h1>404 Not Found</h1>\n",
        content_type="text/html; charset=utf-8",
        # Every miss carries this header: it must not keep a file away once it is there. The edges' own memory
        # of misses is set at the distribution, and would be lengthened, but never shortened, by this.
        cache_control=f"public, max-age={min(error_ttl_seconds, FIXED_PAGE_SECONDS)}",
        opts=pulumi.ResourceOptions(parent=bucket, depends_on=[bucket.versioning]),
    )


def _expire(rule: str, prefix: str, days: int, noncurrent_days: int) -> Rule:
    return {
        "id": rule,
        "status": "Enabled",
        "filter": {"prefix": prefix},
        "expiration": {"days": days},
        "noncurrent_version_expiration": {"noncurrent_days": noncurrent_days},
    }


def _abort_uploads() -> Rule:
    return {
        "id": "abort-uploads",
        "status": "Enabled",
        "filter": {"prefix": ""},
        "abort_incomplete_multipart_upload": {"days_after_initiation": ABORT_UPLOADS_AFTER_DAYS},
    }
