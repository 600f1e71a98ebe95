"""The CDN: the gate's store and function, and the one distribution in front of the public bucket."""

from pathlib import Path

import pulumi
import pulumi_aws as aws

from buckets import PrivateBucket
from config import StackConfig
from policies import FIXED_PAGE

GATE = Path(__file__).with_name("gate.js")

# Other statuses that an origin answers with. CloudFront keeps them for ten seconds unless told otherwise.
OTHER_ERRORS = (400, 500, 502, 503, 504)

# Files that somebody uploaded must not run scripts under the site's name.
CONTENT_POLICY = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'"
)


class GatedSite(pulumi.ComponentResource):
    """The public bucket as the world sees it: every request meets the gate first.

    Store, function and distribution must not come apart, and none of them is ever replaced: others point at
    the distribution's name, and the store's entries are the publisher's alone (this program puts none there).
    So their names are fixed, and they are protected.
    """

    store_arn: pulumi.Output[str]
    distribution_arn: pulumi.Output[str]
    distribution_id: pulumi.Output[str]
    cdn_url: pulumi.Output[str]

    def __init__(self, name: str, *, config: StackConfig, bucket: PrivateBucket) -> None:
        super().__init__("publish-gate:index:GatedSite", name)
        kept = pulumi.ResourceOptions(parent=self, protect=True)
        store = aws.cloudfront.KeyValueStore(
            "gate-store", name=f"{config.prefix}-gate", comment="Which public keys are gated", opts=kept
        )
        function = aws.cloudfront.Function(
            "gate",
            name=f"{config.prefix}-gate",
            comment="Hides what no promotion has made public",
            runtime="cloudfront-js-2.0",
            code=GATE.read_text(encoding="utf-8"),
            key_value_store_associations=[store.arn],
            publish=True,
            opts=kept,
        )
        distribution = aws.cloudfront.Distribution(
            "distribution",
            enabled=True,
            comment=f"{config.prefix} downloads",
            aliases=list(config.domain_names),
            default_root_object="index.html",
            http_version="http2and3",
            is_ipv6_enabled=True,
            price_class=config.price_class,
            wait_for_deployment=config.wait_for_deployment,
            origins=[self._make_origin(config, bucket)],
            # The only behaviour. Another one would be a path that leads around the gate.
            default_cache_behavior=self._make_behavior(config, function),
            custom_error_responses=_map_errors(config.error_ttl_seconds),
            restrictions={"geo_restriction": {"restriction_type": "none"}},
            viewer_certificate=_choose_certificate(config),
            opts=kept,
        )
        self.store_arn = store.arn
        self.distribution_arn = distribution.arn
        self.distribution_id = distribution.id
        self.cdn_url = pulumi.Output.concat("https://", distribution.domain_name, "/")
        self.register_outputs({"distributionId": self.distribution_id, "kvsArn": self.store_arn})

    def _make_origin(
        self, config: StackConfig, bucket: PrivateBucket
    ) -> aws.cloudfront.DistributionOriginArgsDict:
        access = aws.cloudfront.OriginAccessControl(
            "origin-access",
            name=f"{config.prefix}-public",
            description="Signs what the distribution asks the public bucket for",
            origin_access_control_origin_type="s3",
            signing_behavior="always",
            signing_protocol="sigv4",
            opts=pulumi.ResourceOptions(parent=self),
        )
        return {
            "origin_id": "public",
            "domain_name": bucket.regional_domain_name,
            "origin_access_control_id": access.id,
        }

    def _make_behavior(
        self, config: StackConfig, function: aws.cloudfront.Function
    ) -> aws.cloudfront.DistributionDefaultCacheBehaviorArgsDict:
        child = pulumi.ResourceOptions(parent=self)
        # An object's own Cache-Control says how long it is kept, within these bounds. The key is the path
        # alone: no query string, cookie, header or encoding makes a second copy.
        cache = aws.cloudfront.CachePolicy(
            "cache",
            name=f"{config.prefix}-by-path",
            comment="By path alone, as long as the object says",
            min_ttl=0,
            default_ttl=60,
            max_ttl=31536000,
            parameters_in_cache_key_and_forwarded_to_origin={
                "cookies_config": {"cookie_behavior": "none"},
                "headers_config": {"header_behavior": "none"},
                "query_strings_config": {"query_string_behavior": "none"},
                "enable_accept_encoding_brotli": False,
                "enable_accept_encoding_gzip": False,
            },
            opts=child,
        )
        headers = aws.cloudfront.ResponseHeadersPolicy(
            "headers",
            name=f"{config.prefix}-security",
            comment="On every answer, errors included",
            security_headers_config={
                "content_security_policy": {"content_security_policy": CONTENT_POLICY, "override": True},
                "content_type_options": {"override": True},
                "frame_options": {"frame_option": "DENY", "override": True},
                "referrer_policy": {"referrer_policy": "strict-origin-when-cross-origin", "override": True},
                "strict_transport_security": {"access_control_max_age_sec": 31536000, "override": True},
            },
            opts=child,
        )
        return {
            "target_origin_id": "public",
            "viewer_protocol_policy": "redirect-to-https",
            "allowed_methods": ["GET", "HEAD"],
            "cached_methods": ["GET", "HEAD"],
            "compress": False,
            "cache_policy_id": cache.id,
            "response_headers_policy_id": headers.id,
            "function_associations": [{"event_type": "viewer-request", "function_arn": function.arn}],
        }


def _map_errors(ttl: int) -> list[aws.cloudfront.DistributionCustomErrorResponseArgsDict]:
    # The distribution may not list, so S3 answers 403 for an absent key. Hidden and absent must look alike.
    missing: list[aws.cloudfront.DistributionCustomErrorResponseArgsDict] = [
        {
            "error_code": code,
            "response_code": 404,
            "response_page_path": f"/{FIXED_PAGE}",
            "error_caching_min_ttl": ttl,
        }
        for code in (403, 404)
    ]
    return [*missing, *({"error_code": code, "error_caching_min_ttl": ttl} for code in OTHER_ERRORS)]


def _choose_certificate(config: StackConfig) -> aws.cloudfront.DistributionViewerCertificateArgsDict:
    if config.certificate_arn:
        return {
            "acm_certificate_arn": config.certificate_arn,
            "minimum_protocol_version": "TLSv1.2_2021",
            "ssl_support_method": "sni-only",
        }
    # With its own certificate CloudFront also speaks older versions of TLS, and no setting changes that.
    return {"cloudfront_default_certificate": True}
