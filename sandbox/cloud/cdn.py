"""Makes the CDN: store, function, distribution and the policies that hang on it."""

import secrets
from collections.abc import Mapping
from typing import Any

from sandbox.cloud.spelling import Clients, Create, Values, count, spell

_PLAIN_SETTINGS = ("comment", "defaultRootObject", "enabled", "httpVersion", "priceClass", "restrictions")


def make_store(aws: Clients, given: Values) -> tuple[str, Values]:
    """Make an empty KeyValueStore."""
    made = aws.cloudfront.create_key_value_store(Name=given.pop("name"), Comment=given.pop("comment"))
    store = made["KeyValueStore"]
    return store["Name"], {"arn": store["ARN"]}


def make_function(aws: Clients, given: Values) -> tuple[str, Values]:
    """Make a function, and publish it if that is asked."""
    name = given.pop("name")
    stores: list[Any] = [{"KeyValueStoreARN": arn} for arn in given.pop("keyValueStoreAssociations")]
    made = aws.cloudfront.create_function(
        Name=name,
        FunctionConfig={
            "Comment": given.pop("comment"),
            "Runtime": given.pop("runtime"),
            "KeyValueStoreAssociations": {"Quantity": len(stores), "Items": stores},
        },
        FunctionCode=given.pop("code").encode(),
    )
    if given.pop("publish"):
        aws.cloudfront.publish_function(Name=name, IfMatch=made["ETag"])
    return name, {"arn": made["FunctionSummary"]["FunctionMetadata"]["FunctionARN"]}


def make_origin_access(aws: Clients, given: Values) -> tuple[str, Values]:
    """Make what signs a distribution's questions to its origin."""
    names = ("name", "description", "originAccessControlOriginType", "signingBehavior", "signingProtocol")
    made = aws.cloudfront.create_origin_access_control(
        OriginAccessControlConfig=spell({name: given.pop(name) for name in names})
    )
    identifier = made["OriginAccessControl"]["Id"]
    return identifier, {}


def make_cache_policy(aws: Clients, given: Values) -> tuple[str, Values]:
    """Make a policy of what is cached under which key, and how long."""
    made = aws.cloudfront.create_cache_policy(CachePolicyConfig=_take_all(given))
    return made["CachePolicy"]["Id"], {}


def make_headers_policy(aws: Clients, given: Values) -> tuple[str, Values]:
    """Make a policy of headers that every answer has."""
    made = aws.cloudfront.create_response_headers_policy(ResponseHeadersPolicyConfig=_take_all(given))
    return made["ResponseHeadersPolicy"]["Id"], {}


def make_distribution(aws: Clients, given: Values) -> tuple[str, Values]:
    """Make a distribution, without the functions of its behaviour: see `DEVIATIONS`."""
    # Here a distribution is deployed at once.
    given.pop("waitForDeployment")
    config: Any = {
        **spell({name: given.pop(name) for name in _PLAIN_SETTINGS}),
        # Anything that was there before is another distribution.
        "CallerReference": secrets.token_hex(16),
        "IsIPV6Enabled": given.pop("isIpv6Enabled"),
        "Aliases": count(given.pop("aliases")),
        "Origins": count([_spell_origin(origin) for origin in given.pop("origins")]),
        "DefaultCacheBehavior": _spell_behavior(given.pop("defaultCacheBehavior")),
        "CustomErrorResponses": count([_spell_error(error) for error in given.pop("customErrorResponses")]),
        "ViewerCertificate": _spell_certificate(given.pop("viewerCertificate")),
    }
    config["Restrictions"]["GeoRestriction"]["Quantity"] = 0
    made = aws.cloudfront.create_distribution(DistributionConfig=config)["Distribution"]
    return made["Id"], {"arn": made["ARN"], "domainName": made["DomainName"]}


def _take_all(given: Values) -> Any:
    taken = spell(dict(given))
    given.clear()
    return taken


def _spell_origin(origin: Values) -> Values:
    # AWS wants the older way of access named, and left empty.
    spelt = {**spell(origin), "S3OriginConfig": {"OriginAccessIdentity": ""}}
    return {"Id" if name == "OriginId" else name: value for name, value in spelt.items()}


def _spell_behavior(behavior: Values) -> Values:
    behavior = dict(behavior)
    functions = behavior.pop("functionAssociations")
    if [each["eventType"] for each in functions] != ["viewer-request"]:
        raise ValueError("found other functions than one for viewer-request, which is all that an edge runs")
    methods = {
        **count(behavior.pop("allowedMethods")),
        "CachedMethods": count(behavior.pop("cachedMethods")),
    }
    return {**spell(behavior), "AllowedMethods": methods}


def _spell_error(error: Values) -> Values:
    spelt = spell(error)
    if "ResponseCode" in spelt:
        spelt["ResponseCode"] = str(spelt["ResponseCode"])
    return spelt


def _spell_certificate(certificate: Values) -> Values:
    if certificate != {"cloudfrontDefaultCertificate": True}:
        raise ValueError("found a certificate of one's own, which no emulator can have")
    return {"CloudFrontDefaultCertificate": True}


CREATE: Mapping[str, Create] = {
    "aws:cloudfront/cachePolicy:CachePolicy": make_cache_policy,
    "aws:cloudfront/distribution:Distribution": make_distribution,
    "aws:cloudfront/function:Function": make_function,
    "aws:cloudfront/keyValueStore:KeyValueStore": make_store,
    "aws:cloudfront/originAccessControl:OriginAccessControl": make_origin_access,
    "aws:cloudfront/responseHeadersPolicy:ResponseHeadersPolicy": make_headers_policy,
}
