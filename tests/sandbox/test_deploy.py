"""Everything that the program registers is really there, as it says; what is not provided for stops all."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from pulumi.runtime.mocks import MockCallArgs, MockResourceArgs

from publisher.config import load_config
from publisher.documents.profile import load_profile
from sandbox.cloud.access import ANY_STORE
from sandbox.cloud.maker import CannotMakeError, Cloud
from sandbox.cloud.spelling import Clients, plain
from sandbox.deploy import DEVIATIONS, ROOT, DeployError, Resource, deploy
from sandbox.ministack import REGION
from sandbox.site import AUDITOR, PREFIX, PUBLIC, RM, STAGING, Site, Surroundings, Timing, provision
from tests.sandbox.hands import Hands

BUCKETS = (STAGING, PUBLIC)
BUILDERS = ("source", "windows", "pymanager", "macos")
ROLES = (*BUILDERS, "qa", RM, AUDITOR)
STORE_ACTIONS = "cloudfront-keyvaluestore:"


def registered(site: Site, kind: str) -> list[Resource]:
    return [each for each in site.deployment.resources if each.type.endswith(f":{kind}")]


def one(site: Site, kind: str) -> Resource:
    [found] = registered(site, kind)
    return found


@pytest.mark.parametrize("bucket", BUCKETS)
def test_a_bucket_is_versioned_encrypted_owned_and_closed(root: Hands, bucket: str) -> None:
    closed = root.s3.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"]
    owned = root.s3.get_bucket_ownership_controls(Bucket=bucket)["OwnershipControls"]
    encrypted = root.s3.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]
    assert root.s3.get_bucket_versioning(Bucket=bucket).get("Status") == "Enabled"
    assert closed == dict.fromkeys(
        ["BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"], True
    )
    assert owned["Rules"] == [{"ObjectOwnership": "BucketOwnerEnforced"}]
    assert encrypted["Rules"][0].get("ApplyServerSideEncryptionByDefault") == {"SSEAlgorithm": "AES256"}


def test_only_builders_prefixes_and_pending_copies_expire(root: Hands) -> None:
    rules = {
        (bucket, rule.get("Filter", {}).get("Prefix"), rule.get("Expiration", {}).get("Days"))
        for bucket in BUCKETS
        for rule in root.s3.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"]
    }
    assert rules == {
        *((STAGING, f"{role}/", 60) for role in BUILDERS),
        (STAGING, "", None),
        (PUBLIC, "_pending/", 90),
        (PUBLIC, "", None),
    }


def test_the_buckets_policies_are_the_programs(site: Site, root: Hands) -> None:
    policies = {each.inputs["bucket"]: each.inputs["policy"] for each in registered(site, "BucketPolicy")}
    assert set(policies) == set(BUCKETS)
    for bucket, text in policies.items():
        document = json.loads(root.s3.get_bucket_policy(Bucket=bucket)["Policy"])
        assert document == json.loads(text)
        assert document["Statement"][0]["Sid"] == "NobodyInTheClear"


@pytest.mark.parametrize("role", ROLES)
def test_a_role_has_the_programs_policy_and_trust_and_one_named_deviation(
    site: Site, root: Hands, role: str
) -> None:
    name = site.role_arn(role).rpartition("/")[2]
    [policy] = [each for each in registered(site, "RolePolicy") if each.inputs["role"] == name]
    held: Any = root.iam.get_role(RoleName=name)["Role"]
    trust = held["AssumeRolePolicyDocument"]
    found: Any = root.iam.get_role_policy(RoleName=name, PolicyName="scope")["PolicyDocument"]
    assert trust["Statement"][0]["Principal"] == {"AWS": [site.users[role].arn]}
    assert found == json.loads(policy.inputs["policy"])
    more = {"scope", ANY_STORE} if role in {RM, AUDITOR} else {"scope"}
    assert set(root.iam.list_role_policies(RoleName=name)["PolicyNames"]) == more
    assert root.iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"] == []


@pytest.mark.parametrize("role", [RM, AUDITOR])
def test_the_deviation_allows_nothing_but_the_same_for_any_store(site: Site, root: Hands, role: str) -> None:
    name = site.role_arn(role).rpartition("/")[2]
    scope: Any = root.iam.get_role_policy(RoleName=name, PolicyName="scope")["PolicyDocument"]
    extra: Any = root.iam.get_role_policy(RoleName=name, PolicyName=ANY_STORE)["PolicyDocument"]
    [meant] = [each for each in scope["Statement"] if each["Action"][0].startswith(STORE_ACTIONS)]
    assert meant["Resource"] == site.kvs_arn
    assert extra["Statement"] == [{**meant, "Resource": "*"}]


def test_the_distribution_has_one_behaviour_and_signs_what_it_asks(site: Site, root: Hands) -> None:
    config: Any = root.cloudfront.get_distribution_config(Id=site.distribution_id)["DistributionConfig"]
    [origin] = config["Origins"]["Items"]
    behavior = config["DefaultCacheBehavior"]
    errors = {each["ErrorCode"]: each for each in config["CustomErrorResponses"]["Items"]}
    assert config["Enabled"]
    assert config["HttpVersion"] == "http2and3"
    assert config.get("CacheBehaviors", {}).get("Quantity", 0) == 0
    assert origin["DomainName"] == f"{PUBLIC}.s3.{REGION}.amazonaws.com"
    assert origin["OriginAccessControlId"] == one(site, "OriginAccessControl").id
    assert behavior["ViewerProtocolPolicy"] == "redirect-to-https"
    assert sorted(behavior["AllowedMethods"]["Items"]) == ["GET", "HEAD"]
    assert behavior["CachePolicyId"] == one(site, "CachePolicy").id
    assert behavior["ResponseHeadersPolicyId"] == one(site, "ResponseHeadersPolicy").id
    assert {errors[code]["ResponseCode"] for code in (403, 404)} == {"404"}
    assert {each["ErrorCachingMinTTL"] for each in errors.values()} == {2}
    # The named deviation, with what it is about.
    assert "The distribution is made without its function" in DEVIATIONS
    assert behavior.get("FunctionAssociations", {}).get("Quantity", 0) == 0
    [association] = one(site, "Distribution").inputs["defaultCacheBehavior"]["functionAssociations"]
    assert association["functionArn"].endswith(f":function/{PREFIX}-gate")


def test_what_hangs_on_the_distribution_is_as_the_program_says(site: Site, root: Hands) -> None:
    access: Any = root.cloudfront.get_origin_access_control(Id=one(site, "OriginAccessControl").id)
    cache: Any = root.cloudfront.get_cache_policy(Id=one(site, "CachePolicy").id)
    headers: Any = root.cloudfront.get_response_headers_policy(Id=one(site, "ResponseHeadersPolicy").id)
    access = access["OriginAccessControl"]["OriginAccessControlConfig"]
    cache = cache["CachePolicy"]["CachePolicyConfig"]
    headers = headers["ResponseHeadersPolicy"]["ResponseHeadersPolicyConfig"]["SecurityHeadersConfig"]
    assert (access["SigningBehavior"], access["SigningProtocol"]) == ("always", "sigv4")
    assert (cache["MinTTL"], cache["DefaultTTL"], cache["MaxTTL"]) == (0, 60, 31536000)
    key = cache["ParametersInCacheKeyAndForwardedToOrigin"]
    assert key["QueryStringsConfig"]["QueryStringBehavior"] == "none"
    assert key["EnableAcceptEncodingGzip"] is False
    assert headers["StrictTransportSecurity"]["AccessControlMaxAgeSec"] == 31536000
    assert headers["FrameOptions"]["FrameOption"] == "DENY"


def test_the_gate_is_published_and_its_store_is_there_and_empty(site: Site, root: Hands) -> None:
    name = f"{PREFIX}-gate"
    function = root.cloudfront.get_function(Name=name, Stage="LIVE")
    live = root.cloudfront.describe_function(Name=name, Stage="LIVE")["FunctionSummary"]["FunctionConfig"]
    store = root.cloudfront.describe_key_value_store(Name=name)["KeyValueStore"]
    assert function["FunctionCode"].read() == (ROOT / "infra" / "gate.js").read_bytes()
    assert live.get("KeyValueStoreAssociations", {}).get("Items") == [{"KeyValueStoreARN": site.kvs_arn}]
    assert store["ARN"] == site.kvs_arn


def test_the_page_for_every_miss_is_stored(root: Hands) -> None:
    page = root.s3.get_object(Bucket=PUBLIC, Key="_site/404.html")
    assert (page["ContentType"], page["CacheControl"]) == ("text/html; charset=utf-8", "public, max-age=2")
    assert b"404 Not Found" in page["Body"].read()


def test_the_text_for_the_publisher_is_its_configuration(site: Site) -> None:
    config = load_config(site.config)
    # What follows leads to the others on this machine, whom the program would want to reach by https.
    assert site.config.read_text("utf-8").startswith(site.deployment.outputs["publisherToml"])
    assert (config.staging_bucket, config.public_bucket) == (STAGING, PUBLIC)
    assert (config.times.lag, config.times.settle, config.times.error_ttl) == (1, 4, 2)
    assert set(load_profile(config.profile).roles) == config.roles


def a_stack(site: Site, **changes: object) -> dict[str, object]:
    """Describe a stack beside the site's own, whose builder comes by tokens of an issuer."""
    return {
        "prefix": "other",
        "publicFolders": ["tool"],
        "oidcProviders": [
            {"name": "ci", "issuer": "https://tokens.example", "audience": "sts.amazonaws.com"}
        ],
        "roles": [{"name": "linux", "duty": "delivers", "trust": {"oidc": {"ci": ["repo:tool"]}}}],
        "releaseManagers": {"principals": [site.users[RM].arn]},
        **changes,
    }


def test_a_stack_with_an_issuer_of_tokens_is_deployed_within_seconds(site: Site, root: Hands) -> None:
    before = os.times()
    deployment = deploy(site.server, a_stack(site))
    after = os.times()
    [provider] = [each for each in deployment.resources if each.type.endswith(":OpenIdConnectProvider")]
    found = root.iam.get_open_id_connect_provider(OpenIDConnectProviderArn=provider.id)
    assert found["ClientIDList"] == ["sts.amazonaws.com"]
    role: Any = root.iam.get_role(RoleName="other-role-linux")["Role"]
    assert role["AssumeRolePolicyDocument"]["Statement"][0]["Principal"] == {"Federated": provider.id}
    # Seconds of the processor: those of the clock depend on what else this machine does.
    assert after.children_user + after.children_system - before.children_user - before.children_system < 5


def test_a_stack_that_the_program_refuses_is_told_with_its_words(site: Site) -> None:
    with pytest.raises(DeployError, match="settleSeconds: found 3, expected at least 20"):
        deploy(site.server, a_stack(site, prefix="refused", settleSeconds=3))


def test_a_failure_is_not_passed_over_though_the_program_goes_on(site: Site, tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text(
        "import pulumi\nimport pulumi_aws as aws\n\n"
        "aws.sqs.Queue('queue')\n"
        "aws.s3.Bucket('bucket', bucket='some-bucket')\n"
        "pulumi.export('done', True)\n",
        "utf-8",
    )
    with pytest.raises(DeployError, match=r"aws:sqs/queue:Queue queue: .* a type that nothing here makes"):
        deploy(site.server, {}, program=tmp_path)


def test_a_profile_that_names_a_role_as_the_sandbox_does_is_refused(site: Site, tmp_path: Path) -> None:
    profile = tmp_path / "profile.toml"
    profile.write_text(
        (ROOT / "profiles" / "plain.toml").read_text("utf-8").replace("maintainer", RM), "utf-8"
    )
    around = Surroundings(site.trust, site.proxy, site.neighbours)
    with pytest.raises(DeployError, match="found a role called rm or auditor"):
        provision(site.server, tmp_path, profile, surroundings=around, timing=Timing())


def a_resource(kind: str, inputs: dict[str, Any], existing: str | None = None) -> MockResourceArgs:
    return MockResourceArgs(kind, "name", inputs, resource_id=existing, custom=True)


BUCKET = "aws:s3/bucket:Bucket"
VERSIONING = "aws:s3/bucketVersioning:BucketVersioning"


@pytest.mark.parametrize(
    ("resource", "problem"),
    [
        (a_resource("aws:sqs/queue:Queue", {}), "found a type that nothing here makes"),
        (
            a_resource(BUCKET, {"bucket": "some-bucket-a", "objectLockEnabled": True}),
            "found inputs that nothing here reads: objectLockEnabled",
        ),
        (a_resource(BUCKET, {}), "KeyError"),
        (
            a_resource(VERSIONING, {"bucket": STAGING, "versioningConfiguration": {"state": "On"}}),
            "ParamValidationError",
        ),
        (
            a_resource(VERSIONING, {"bucket": "no-such", "versioningConfiguration": {"status": "Enabled"}}),
            "NoSuchBucket",
        ),
        (a_resource(BUCKET, {"bucket": STAGING}, existing=STAGING), "found one that is to be imported"),
    ],
)
def test_what_is_not_provided_for_stops_the_deployment(
    root: Hands, resource: MockResourceArgs, problem: str
) -> None:
    cloud = Cloud(Clients(root.s3, root.iam, root.cloudfront, sns=None))
    with pytest.raises(Exception, match=r"."):
        cloud.new_resource(resource)
    assert problem in cloud.failure
    # And nothing more is made.
    with pytest.raises(CannotMakeError, match="another resource has failed"):
        cloud.new_resource(a_resource(BUCKET, {"bucket": "some-bucket-b"}))
    assert problem in cloud.failure


def test_the_provider_answers_no_questions(root: Hands) -> None:
    cloud = Cloud(Clients(root.s3, root.iam, root.cloudfront, sns=None))
    with pytest.raises(CannotMakeError, match="found a call of aws:index/getRegion:getRegion, expected none"):
        cloud.call(MockCallArgs("aws:index/getRegion:getRegion", {}, ""))
    assert cloud.failure


def test_whole_numbers_arrive_whole_at_any_depth() -> None:
    assert repr(plain({"a": [1.0, {"b": 60.0}], "c": 0.5, "d": True})) == repr(
        {"a": [1, {"b": 60}], "c": 0.5, "d": True}
    )
