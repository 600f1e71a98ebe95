"""Reads how the distribution was deployed: where it is, what it does about errors, its two policies."""

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

from sandbox.edge.values import Deployed, ErrorRule, Origin, PolicyHeader
from sandbox.ministack import local_config, open_session

if TYPE_CHECKING:
    from mypy_boto3_cloudfront.client import CloudFrontClient
    from mypy_boto3_cloudfront.type_defs import ResponseHeadersPolicySecurityHeadersConfigTypeDef


def read_deployed(origin: Origin, *, error_ttl_seconds: float | None) -> Deployed:
    """Read the distribution, its cache policy and its response-headers policy from the emulated AWS.

    It must have one behavior, with a cache policy. `error_ttl_seconds` goes before what it says itself.
    """
    session = open_session(origin.credentials)
    with closing(session.client("cloudfront", endpoint_url=origin.endpoint, config=local_config())) as client:
        distribution = client.get_distribution(Id=origin.distribution_id)["Distribution"]
        config = distribution["DistributionConfig"]
        behavior = config["DefaultCacheBehavior"]
        policy = client.get_cache_policy(Id=behavior.get("CachePolicyId", ""))["CachePolicy"][
            "CachePolicyConfig"
        ]
        return Deployed(
            distribution_id=origin.distribution_id,
            domain_name=distribution["DomainName"],
            root_object=config.get("DefaultRootObject", ""),
            min_ttl=policy["MinTTL"],
            default_ttl=policy.get("DefaultTTL", 86400),
            max_ttl=policy.get("MaxTTL", 31536000),
            errors=_read_errors(cast("Mapping[str, Any]", config), error_ttl_seconds),
            headers=_read_headers(client, behavior.get("ResponseHeadersPolicyId")),
        )


def _read_errors(config: Mapping[str, Any], ttl: float | None) -> dict[int, ErrorRule]:
    items: list[dict[str, Any]] = config.get("CustomErrorResponses", {}).get("Items", [])
    return {
        item["ErrorCode"]: ErrorRule(
            item.get("ErrorCachingMinTTL", 10) if ttl is None else ttl,
            int(item["ResponseCode"]) if item.get("ResponseCode") else None,
            item.get("ResponsePagePath") or None,
        )
        for item in items
    }


def _read_headers(client: "CloudFrontClient", policy_id: str | None) -> tuple[PolicyHeader, ...]:
    if not policy_id:
        return ()
    policy = client.get_response_headers_policy(Id=policy_id)["ResponseHeadersPolicy"]
    config = policy["ResponseHeadersPolicyConfig"]
    custom = config.get("CustomHeadersConfig", {}).get("Items", [])
    return (
        *_read_security(config.get("SecurityHeadersConfig", {})),
        *(PolicyHeader(item["Header"], item["Value"], item["Override"]) for item in custom),
    )


def _read_security(security: "ResponseHeadersPolicySecurityHeadersConfigTypeDef") -> list[PolicyHeader]:
    found: list[PolicyHeader] = []
    if content := security.get("ContentSecurityPolicy"):
        found.append(
            PolicyHeader("Content-Security-Policy", content["ContentSecurityPolicy"], content["Override"])
        )
    if options := security.get("ContentTypeOptions"):
        found.append(PolicyHeader("X-Content-Type-Options", "nosniff", options["Override"]))
    if frame := security.get("FrameOptions"):
        found.append(PolicyHeader("X-Frame-Options", frame["FrameOption"], frame["Override"]))
    if referrer := security.get("ReferrerPolicy"):
        found.append(PolicyHeader("Referrer-Policy", referrer["ReferrerPolicy"], referrer["Override"]))
    if transport := security.get("StrictTransportSecurity"):
        value = f"max-age={transport['AccessControlMaxAgeSec']}"
        value += "; includeSubDomains" if transport.get("IncludeSubdomains") else ""
        value += "; preload" if transport.get("Preload") else ""
        found.append(PolicyHeader("Strict-Transport-Security", value, transport["Override"]))
    return found
