"""A site to put edges in front of, deployed as `infra/cdn.py` says but for the function."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from sandbox.edge import Edges, Origin
from sandbox.edge.feeder import strip_account
from sandbox.ministack import REGION, Ministack, local_config
from tests.edge.viewer import eventually

if TYPE_CHECKING:
    from mypy_boto3_cloudfront.client import CloudFrontClient
    from mypy_boto3_cloudfront_keyvaluestore.client import CloudFrontKeyValueStoreClient
    from mypy_boto3_s3.client import S3Client

BUCKET = "downloads"
PAGE = "_site/404.html"
PAGE_TEXT = b"<h1>Not here</h1>"
ERROR_TTL = 0.6
IMMUTABLE = "public, max-age=31536000, immutable"
SECURITY = {
    "content-security-policy": "default-src 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "strict-origin-when-cross-origin",
    "strict-transport-security": "max-age=31536000",
}


@dataclass(frozen=True)
class Site:
    """Bucket, distribution and store, as root has them at hand."""

    origin: Origin
    s3: "S3Client"
    cloudfront: "CloudFrontClient"
    store: "CloudFrontKeyValueStoreClient"

    def put(self, key: str, body: bytes, cache_control: str = IMMUTABLE) -> None:
        self.s3.put_object(
            Bucket=BUCKET,
            Key=key,
            Body=body,
            CacheControl=cache_control,
            ContentType="application/octet-stream",
        )

    def delete(self, key: str) -> None:
        self.s3.delete_object(Bucket=BUCKET, Key=key)

    def write(self, entries: Mapping[str, str | None]) -> None:
        """Put and delete (None) entries of the store in one update."""
        arn = self.origin.kvs_arn
        self.store.update_keys(
            KvsARN=arn,
            IfMatch=self.store.describe_key_value_store(KvsARN=arn)["ETag"],
            Puts=[{"Key": key, "Value": value} for key, value in entries.items() if value is not None],
            Deletes=[{"Key": key} for key, value in entries.items() if value is None],
        )

    def write_seen(self, edges: Edges, entries: Mapping[str, str | None]) -> None:
        """Write to the store and wait until every edge has it."""
        self.write(entries)
        for edge in edges.edges:
            held = partial(_holds, edge.status, entries)
            assert eventually(held), edge.status()

    def invalidate(self, *paths: str) -> None:
        self.cloudfront.create_invalidation(
            DistributionId=self.origin.distribution_id,
            InvalidationBatch={
                "CallerReference": str(time.monotonic_ns()),
                "Paths": {"Quantity": len(paths), "Items": list(paths)},
            },
        )


def _holds(status: Callable[[], Any], entries: Mapping[str, str | None]) -> bool:
    held = status().entries
    return all(held.get(key) == value for key, value in entries.items())


def provision(server: Ministack) -> Site:
    """Make bucket, store and distribution as root."""
    session = server.root_session()
    endpoint, config = server.endpoint, local_config()
    s3 = session.client("s3", endpoint_url=endpoint, config=config)
    cloudfront = session.client("cloudfront", endpoint_url=endpoint, config=config)
    store = session.client("cloudfront-keyvaluestore", endpoint_url=endpoint, config=config)
    store.meta.events.register("before-send.cloudfront-keyvaluestore", strip_account)
    s3.create_bucket(Bucket=BUCKET)
    distribution = _make_distribution(cloudfront)
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "cloudfront.amazonaws.com"},
                "Action": "s3:GetObject",
                "Resource": f"arn:aws:s3:::{BUCKET}/*",
                "Condition": {"StringEquals": {"AWS:SourceArn": distribution["ARN"]}},
            }
        ],
    }
    s3.put_bucket_policy(Bucket=BUCKET, Policy=json.dumps(policy))
    arn = cloudfront.create_key_value_store(Name="gate")["KeyValueStore"]["ARN"]
    origin = Origin(server.endpoint, distribution["Id"], arn, server.root)
    site = Site(origin, s3, cloudfront, store)
    site.put(PAGE, PAGE_TEXT, "public, max-age=300")
    return site


def _make_distribution(cloudfront: "CloudFrontClient") -> Mapping[str, Any]:
    access = cloudfront.create_origin_access_control(
        OriginAccessControlConfig={
            "Name": "public",
            "SigningProtocol": "sigv4",
            "SigningBehavior": "always",
            "OriginAccessControlOriginType": "s3",
        }
    )["OriginAccessControl"]["Id"]
    config: dict[str, Any] = {
        "CallerReference": "site",
        "Comment": "downloads",
        "Enabled": True,
        "DefaultRootObject": "index.html",
        "Origins": {
            "Quantity": 1,
            "Items": [
                {
                    "Id": "public",
                    "DomainName": f"{BUCKET}.s3.{REGION}.amazonaws.com",
                    "OriginAccessControlId": access,
                    "S3OriginConfig": {"OriginAccessIdentity": ""},
                }
            ],
        },
        "DefaultCacheBehavior": {
            "TargetOriginId": "public",
            "ViewerProtocolPolicy": "redirect-to-https",
            "AllowedMethods": {"Quantity": 2, "Items": ["GET", "HEAD"]},
            "Compress": False,
            "CachePolicyId": _make_cache_policy(cloudfront),
            "ResponseHeadersPolicyId": _make_headers_policy(cloudfront),
        },
        "CustomErrorResponses": {
            "Quantity": 2,
            "Items": [
                {
                    "ErrorCode": code,
                    "ResponseCode": "404",
                    "ResponsePagePath": f"/{PAGE}",
                    "ErrorCachingMinTTL": 10,
                }
                for code in (403, 404)
            ],
        },
    }
    return cast(
        "Mapping[str, Any]",
        cloudfront.create_distribution(DistributionConfig=cast("Any", config))["Distribution"],
    )


def _make_cache_policy(cloudfront: "CloudFrontClient") -> str:
    answer = cloudfront.create_cache_policy(
        CachePolicyConfig={
            "Name": "by-path",
            "MinTTL": 0,
            "DefaultTTL": 60,
            "MaxTTL": 31536000,
            "ParametersInCacheKeyAndForwardedToOrigin": {
                "EnableAcceptEncodingGzip": False,
                "EnableAcceptEncodingBrotli": False,
                "HeadersConfig": {"HeaderBehavior": "none"},
                "CookiesConfig": {"CookieBehavior": "none"},
                "QueryStringsConfig": {"QueryStringBehavior": "none"},
            },
        }
    )
    return answer["CachePolicy"]["Id"]


def _make_headers_policy(cloudfront: "CloudFrontClient") -> str:
    answer = cloudfront.create_response_headers_policy(
        ResponseHeadersPolicyConfig={
            "Name": "security",
            "SecurityHeadersConfig": {
                "ContentSecurityPolicy": {
                    "Override": True,
                    "ContentSecurityPolicy": SECURITY["content-security-policy"],
                },
                "ContentTypeOptions": {"Override": True},
                "FrameOptions": {"Override": True, "FrameOption": "DENY"},
                "ReferrerPolicy": {"Override": True, "ReferrerPolicy": "strict-origin-when-cross-origin"},
                "StrictTransportSecurity": {"Override": True, "AccessControlMaxAgeSec": 31536000},
            },
        }
    )
    return answer["ResponseHeadersPolicy"]["Id"]
