"""Makes buckets, what hangs on them, and the objects that the program itself puts there."""

from collections.abc import Mapping

from sandbox.cloud.spelling import Clients, Create, Values, spell
from sandbox.ministack import REGION


def make_bucket(aws: Clients, given: Values) -> tuple[str, Values]:
    """Make a bucket; it starts as AWS's do, private and closed."""
    bucket = given.pop("bucket")
    aws.s3.create_bucket(Bucket=bucket)
    return bucket, {
        "arn": f"arn:aws:s3:::{bucket}",
        "bucketRegionalDomainName": f"{bucket}.s3.{REGION}.amazonaws.com",
    }


def set_versioning(aws: Clients, given: Values) -> tuple[str, Values]:
    """Switch versioning on or off."""
    bucket = given.pop("bucket")
    aws.s3.put_bucket_versioning(
        Bucket=bucket, VersioningConfiguration=spell(given.pop("versioningConfiguration"))
    )
    return bucket, {}


def set_public_access_block(aws: Clients, given: Values) -> tuple[str, Values]:
    """Close a bucket to the public."""
    bucket = given.pop("bucket")
    names = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
    aws.s3.put_public_access_block(
        Bucket=bucket,
        PublicAccessBlockConfiguration=spell({name: given.pop(name) for name in names if name in given}),
    )
    return bucket, {}


def set_ownership(aws: Clients, given: Values) -> tuple[str, Values]:
    """Say whose the objects are."""
    bucket = given.pop("bucket")
    aws.s3.put_bucket_ownership_controls(
        Bucket=bucket, OwnershipControls={"Rules": [spell(given.pop("rule"))]}
    )
    return bucket, {}


def set_encryption(aws: Clients, given: Values) -> tuple[str, Values]:
    """Say how objects are encrypted at rest."""
    bucket = given.pop("bucket")
    aws.s3.put_bucket_encryption(
        Bucket=bucket, ServerSideEncryptionConfiguration={"Rules": spell(given.pop("rules"))}
    )
    return bucket, {}


def set_lifecycle(aws: Clients, given: Values) -> tuple[str, Values]:
    """Say how long what lives."""
    bucket = given.pop("bucket")
    aws.s3.put_bucket_lifecycle_configuration(
        Bucket=bucket, LifecycleConfiguration={"Rules": spell(given.pop("rules"))}
    )
    return bucket, {}


def attach_policy(aws: Clients, given: Values) -> tuple[str, Values]:
    """Give a bucket its policy."""
    bucket = given.pop("bucket")
    aws.s3.put_bucket_policy(Bucket=bucket, Policy=given.pop("policy"))
    return bucket, {}


def put_object(aws: Clients, given: Values) -> tuple[str, Values]:
    """Store an object whose text the program has."""
    bucket, key = given.pop("bucket"), given.pop("key")
    aws.s3.put_object(
        Bucket=bucket,
        Key=key,
        Body=given.pop("content").encode(),
        **spell({name: given.pop(name) for name in ("contentType", "cacheControl") if name in given}),
    )
    return f"{bucket}/{key}", {}


CREATE: Mapping[str, Create] = {
    "aws:s3/bucket:Bucket": make_bucket,
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": set_lifecycle,
    "aws:s3/bucketObjectv2:BucketObjectv2": put_object,
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": set_ownership,
    "aws:s3/bucketPolicy:BucketPolicy": attach_policy,
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": set_public_access_block,
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": set_encryption,
    "aws:s3/bucketVersioning:BucketVersioning": set_versioning,
}
