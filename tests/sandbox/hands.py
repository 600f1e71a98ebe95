"""What somebody can try at the emulated AWS, with whatever credentials, each attempt under a short name."""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING

from botocore.config import Config
from botocore.exceptions import ClientError

from sandbox.ministack import Credentials, local_config
from sandbox.site import KVS_ENDPOINT, PREFIX, Site

if TYPE_CHECKING:
    from mypy_boto3_cloudfront.client import CloudFrontClient
    from mypy_boto3_cloudfront_keyvaluestore.client import CloudFrontKeyValueStoreClient
    from mypy_boto3_iam.client import IAMClient
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_sts.client import STSClient

_NUMBERS = count(1)


@dataclass(frozen=True)
class Hands:
    """The clients of one holder of credentials. All speak TLS, unless `clear`."""

    site: Site
    credentials: Credentials
    clear: bool = False
    config: Config = field(default_factory=local_config)

    @cached_property
    def s3(self) -> "S3Client":
        return self.site.server.root_session().client(
            "s3",
            endpoint_url=self._endpoint,
            verify=str(self.site.trust),
            config=self.config,
            aws_access_key_id=self.credentials.access_key_id,
            aws_secret_access_key=self.credentials.secret_access_key,
            aws_session_token=self.credentials.token,
        )

    @cached_property
    def iam(self) -> "IAMClient":
        return self.site.server.root_session().client(
            "iam",
            endpoint_url=self._endpoint,
            verify=str(self.site.trust),
            config=self.config,
            aws_access_key_id=self.credentials.access_key_id,
            aws_secret_access_key=self.credentials.secret_access_key,
            aws_session_token=self.credentials.token,
        )

    @cached_property
    def sts(self) -> "STSClient":
        return self.site.server.root_session().client(
            "sts",
            endpoint_url=self._endpoint,
            verify=str(self.site.trust),
            config=self.config,
            aws_access_key_id=self.credentials.access_key_id,
            aws_secret_access_key=self.credentials.secret_access_key,
            aws_session_token=self.credentials.token,
        )

    @cached_property
    def cloudfront(self) -> "CloudFrontClient":
        return self.site.server.root_session().client(
            "cloudfront",
            endpoint_url=self._endpoint,
            verify=str(self.site.trust),
            config=self.config,
            aws_access_key_id=self.credentials.access_key_id,
            aws_secret_access_key=self.credentials.secret_access_key,
            aws_session_token=self.credentials.token,
        )

    @cached_property
    def kvs(self) -> "CloudFrontKeyValueStoreClient":
        return self.site.server.root_session().client(
            "cloudfront-keyvaluestore",
            endpoint_url=KVS_ENDPOINT,
            verify=str(self.site.trust),
            config=self.config.merge(Config(proxies={"https": self.site.proxy})),
            aws_access_key_id=self.credentials.access_key_id,
            aws_secret_access_key=self.credentials.secret_access_key,
            aws_session_token=self.credentials.token,
        )

    @property
    def _endpoint(self) -> str:
        return self.site.server.endpoint if self.clear else self.site.endpoint

    def put(self, place: str) -> None:
        bucket, key = split(place)
        self.s3.put_object(Bucket=bucket, Key=key, Body=b"x")

    def create(self, place: str) -> None:
        """Put an object that must not be there yet."""
        bucket, key = split(place)
        self.s3.put_object(Bucket=bucket, Key=f"{key}.{next(_NUMBERS)}", Body=b"x", IfNoneMatch="*")

    def upload_in_parts(self, place: str) -> None:
        bucket, key = split(place)
        upload = self.s3.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"]
        self.s3.upload_part(Bucket=bucket, Key=key, UploadId=upload, PartNumber=1, Body=b"x")
        self.s3.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload)

    def get(self, place: str) -> None:
        bucket, key = split(place)
        self.s3.get_object(Bucket=bucket, Key=key)["Body"].read()

    def get_version(self, place: str) -> None:
        bucket, key = split(place)
        self.s3.get_object(Bucket=bucket, Key=key, VersionId=self.find_version(place))["Body"].read()

    def list(self, place: str) -> None:
        bucket, prefix = split(place)
        self.s3.list_objects_v2(Bucket=bucket, Prefix=prefix)

    def list_versions(self, place: str) -> None:
        bucket, prefix = split(place)
        self.s3.list_object_versions(Bucket=bucket, Prefix=prefix)

    def delete(self, place: str) -> None:
        """Put a delete marker on an object."""
        bucket, key = split(place)
        self.s3.delete_object(Bucket=bucket, Key=key)

    def delete_version(self, place: str) -> None:
        bucket, key = split(place)
        self.s3.delete_object(Bucket=bucket, Key=key, VersionId=self.find_version(place))

    def find_version(self, place: str) -> str:
        """Find the newest version, whoever may know it."""
        bucket, key = split(place)
        head = Hands(self.site, self.site.server.root).s3.head_object(Bucket=bucket, Key=key)
        return head["VersionId"]

    def copy(self, places: str) -> None:
        """Copy on the server; `places` are the source and the target with an arrow between."""
        source, target = places.split(" -> ")
        bucket, key = split(target)
        from_bucket, from_key = split(source)
        self.s3.copy_object(Bucket=bucket, Key=key, CopySource={"Bucket": from_bucket, "Key": from_key})

    def change_policy(self, bucket: str) -> None:
        self.s3.delete_bucket_policy(Bucket=f"{PREFIX}-{bucket}")

    def read_gate(self, _: str) -> None:
        self.kvs.describe_key_value_store(KvsARN=self.site.kvs_arn)
        self.kvs.list_keys(KvsARN=self.site.kvs_arn)

    def get_gate_key(self, key: str) -> None:
        self.kvs.get_key(KvsARN=self.site.kvs_arn, Key=key)

    def write_gate(self, key: str) -> None:
        # The ETag is not what is tried here, so it comes from somebody who may read it.
        etag = Hands(self.site, self.site.server.root).kvs.describe_key_value_store(KvsARN=self.site.kvs_arn)
        self.kvs.update_keys(
            KvsARN=self.site.kvs_arn, IfMatch=etag["ETag"], Puts=[{"Key": key, "Value": "x"}]
        )

    def invalidate(self, path: str) -> None:
        self.cloudfront.create_invalidation(
            DistributionId=self.site.distribution_id,
            InvalidationBatch={
                "Paths": {"Quantity": 1, "Items": [path]},
                "CallerReference": f"{path} {next(_NUMBERS)}",
            },
        )

    def list_invalidations(self, _: str) -> None:
        self.cloudfront.list_invalidations(DistributionId=self.site.distribution_id)

    def assume(self, role: str) -> None:
        self.sts.assume_role(RoleArn=self.site.role_arn(role), RoleSessionName="tried")

    def change_role(self, role: str) -> None:
        self.iam.delete_role_policy(RoleName=self.site.role_arn(role).rpartition("/")[2], PolicyName="scope")

    def attempt(self, what: str, where: str) -> str:
        """Try something, and answer `done` or the code of the refusal."""
        try:
            getattr(self, what.replace(" ", "_"))(where)
        except ClientError as error:
            return error.response.get("Error", {}).get("Code", "")
        return "done"


def split(place: str) -> tuple[str, str]:
    """Take a bucket's purpose and a key apart, and give the bucket's real name."""
    purpose, _, key = place.partition(":")
    return f"{PREFIX}-{purpose}", key
