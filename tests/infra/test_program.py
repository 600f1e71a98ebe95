"""The whole Pulumi program under mocks: what it registers, what it exports, what a preview cannot know."""

import json
import re
import tomllib
from typing import Any

import pytest
from iam import Caller, Request, is_allowed
from program import ACCOUNT, ROOT, UNKNOWN, Registered, Run, run_program

BUCKETS = ["staging", "public"]
EXPORTS = {
    "stagingBucket",
    "publicBucket",
    "distributionId",
    "kvsArn",
    "cdnUrl",
    "publicBaseUrl",
    "roleArns",
    "publisherToml",
}
PUBLIC = "arn:aws:s3:::example-downloads-public"


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    """Run the program once in each way that the tests ask about."""
    return run_program(
        {
            "up": {},
            "preview": {"preview": True},
            "strict": {"enforceCreateOnly": True},
            "slow": {"errorTtlSeconds": 60},
            "trial": {
                "domainNames": None,
                "certificateArn": None,
                "auditors": None,
                "waitForDeployment": False,
                "notify": None,
            },
            "wrong": {"prefix": "Bad", "lagSeconds": "many"},
        }
    )


@pytest.fixture(scope="module")
def up(runs: dict[str, Run]) -> Run:
    return runs["up"]


def test_the_program_runs_to_its_end(runs: dict[str, Run]) -> None:
    assert {name: run.error for name, run in runs.items() if name != "wrong"} == dict.fromkeys(
        ["up", "preview", "strict", "slow", "trial"], ""
    )


def test_a_wrong_configuration_registers_nothing(runs: dict[str, Run]) -> None:
    assert runs["wrong"].resources == []
    assert "prefix" in runs["wrong"].error
    assert "lagSeconds" in runs["wrong"].error


def test_the_program_makes_these_resources_and_no_others(up: Run) -> None:
    count: dict[str, int] = {}
    for each in up.resources:
        kind = each.type.split(":")[-1]
        count[kind] = count.get(kind, 0) + 1
    assert count == {
        "PrivateBucket": 2,
        "Bucket": 2,
        "BucketVersioning": 2,
        "BucketPublicAccessBlock": 2,
        "BucketOwnershipControls": 2,
        "BucketServerSideEncryptionConfiguration": 2,
        "BucketLifecycleConfiguration": 2,
        "BucketPolicy": 2,
        "BucketObjectv2": 1,
        "BucketNotification": 1,
        "Notices": 1,
        "Topic": 1,
        "TopicPolicy": 1,
        "TopicSubscription": 1,
        "GatedSite": 1,
        "KeyValueStore": 1,
        "Function": 1,
        "OriginAccessControl": 1,
        "CachePolicy": 1,
        "ResponseHeadersPolicy": 1,
        "Distribution": 1,
        "OpenIdConnectProvider": 1,
        "ScopedRole": 7,
        "Role": 7,
        "RolePolicy": 7,
    }


def test_no_key_of_the_gates_store_is_managed(up: Run) -> None:
    assert not [each for each in up.resources if "keyvaluestorekey" in each.type.lower()]


@pytest.mark.parametrize("bucket", BUCKETS)
def test_a_bucket_is_closed_owned_encrypted_and_versioned(up: Run, bucket: str) -> None:
    name = f"example-downloads-{bucket}"
    assert up.one("s3/bucket:Bucket", bucket).inputs["bucket"] == name
    closed = up.one("BucketPublicAccessBlock", f"{bucket}-closed").inputs
    assert closed == {
        "bucket": name,
        "blockPublicAcls": True,
        "blockPublicPolicy": True,
        "ignorePublicAcls": True,
        "restrictPublicBuckets": True,
    }
    assert up.one("BucketVersioning", f"{bucket}-versioning").inputs == {
        "bucket": name,
        "versioningConfiguration": {"status": "Enabled"},
    }
    ownership = up.one("BucketOwnershipControls", f"{bucket}-ownership").inputs
    assert ownership["rule"] == {"objectOwnership": "BucketOwnerEnforced"}
    encryption = up.one("BucketServerSideEncryptionConfiguration", f"{bucket}-encryption").inputs
    assert encryption["rules"] == [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "AES256"}}]


def lifecycle(up: Run, bucket: str) -> dict[str, Any]:
    registered = up.one("BucketLifecycleConfiguration", f"{bucket}-lifecycle")
    assert f"{bucket}-versioning" in registered.depends_on
    assert all(rule["status"] == "Enabled" for rule in registered.inputs["rules"])
    return {rule["id"]: rule for rule in registered.inputs["rules"]}


def test_staging_forgets_what_builders_staged_and_nothing_else(up: Run) -> None:
    rules = lifecycle(up, "staging")
    expiring = {rule["filter"]["prefix"] for rule in rules.values() if "expiration" in rule}
    assert expiring == {"source/", "windows/", "pymanager/", "macos/"}
    assert rules["expire-windows"]["expiration"] == {"days": 60}
    assert rules["expire-windows"]["noncurrentVersionExpiration"] == {"noncurrentDays": 60}
    assert rules["abort-uploads"] == {
        "id": "abort-uploads",
        "status": "Enabled",
        "filter": {"prefix": ""},
        "abortIncompleteMultipartUpload": {"daysAfterInitiation": 7},
    }


def test_the_public_bucket_forgets_hidden_copies_and_nothing_else(up: Run) -> None:
    rules = lifecycle(up, "public")
    assert set(rules) == {"expire-pending", "abort-uploads"}
    assert rules["expire-pending"]["filter"] == {"prefix": "_pending/"}
    assert rules["expire-pending"]["expiration"] == {"days": 90}


def distribution(run: Run) -> dict[str, Any]:
    return run.one("distribution:Distribution").inputs


def test_no_path_leads_around_the_gate(up: Run) -> None:
    inputs = distribution(up)
    assert "orderedCacheBehaviors" not in inputs
    assert len(inputs["origins"]) == 1
    assert inputs["defaultCacheBehavior"]["functionAssociations"] == [
        {
            "eventType": "viewer-request",
            "functionArn": f"arn:aws:cloudfront::{ACCOUNT}:function/example-downloads-gate",
        }
    ]


def test_the_gate_is_the_file_that_the_tests_read_and_has_its_store(up: Run) -> None:
    gate = up.one("function:Function").inputs
    assert gate["code"] == (ROOT / "infra" / "gate.js").read_text()
    assert gate["runtime"] == "cloudfront-js-2.0"
    assert gate["publish"] is True
    assert gate["keyValueStoreAssociations"] == [f"arn:aws:cloudfront::{ACCOUNT}:key-value-store/0f5c"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("s3/bucket:Bucket", "staging"),
        ("s3/bucket:Bucket", "public"),
        ("KeyValueStore", "gate-store"),
        ("function:Function", "gate"),
        ("distribution:Distribution", "distribution"),
    ],
)
def test_what_must_never_be_replaced_is_protected(up: Run, kind: str, name: str) -> None:
    assert up.one(kind, name).protect


def test_names_that_others_know_are_fixed(up: Run) -> None:
    assert up.one("KeyValueStore").inputs["name"] == "example-downloads-gate"
    assert up.one("function:Function").inputs["name"] == "example-downloads-gate"
    unnamed = [
        each for each in up.all("role:Role") if not each.inputs["name"].startswith("example-downloads-")
    ]
    assert unnamed == []


def test_the_origin_is_read_with_signed_requests_only(up: Run) -> None:
    [origin] = distribution(up)["origins"]
    assert origin["domainName"] == "example-downloads-public.s3.eu-west-1.amazonaws.com"
    assert origin["originAccessControlId"] == "origin-access-id"
    control = up.one("OriginAccessControl").inputs
    assert (control["signingBehavior"], control["signingProtocol"]) == ("always", "sigv4")


def test_viewers_get_https_with_a_current_tls_and_http_versions(up: Run) -> None:
    inputs = distribution(up)
    # Old http links go on working; nothing but the redirect is served over plain http.
    assert inputs["defaultCacheBehavior"]["viewerProtocolPolicy"] == "redirect-to-https"
    assert inputs["viewerCertificate"]["minimumProtocolVersion"] == "TLSv1.2_2021"
    assert inputs["viewerCertificate"]["sslSupportMethod"] == "sni-only"
    assert inputs["httpVersion"] == "http2and3"
    assert inputs["aliases"] == ["downloads.example.org"]


def test_a_trial_without_a_certificate_uses_the_cdns_own(runs: dict[str, Run]) -> None:
    inputs = distribution(runs["trial"])
    assert inputs["viewerCertificate"] == {"cloudfrontDefaultCertificate": True}
    assert inputs["waitForDeployment"] is False
    assert runs["trial"].outputs["publicBaseUrl"] == "https://d111.cloudfront.net/"
    assert "_auditor" not in runs["trial"].outputs["roleArns"]


def test_every_miss_looks_the_same_and_is_soon_forgotten(up: Run) -> None:
    errors = {each["errorCode"]: each for each in distribution(up)["customErrorResponses"]}
    assert {each["errorCachingMinTtl"] for each in errors.values()} == {10}
    for code in (403, 404):
        assert (errors[code]["responseCode"], errors[code]["responsePagePath"]) == (404, "/_site/404.html")
    page = up.one("BucketObjectv2").inputs
    assert page["key"] == "_site/404.html"
    assert page["cacheControl"] == "public, max-age=10"


def test_caches_outside_the_cdn_forget_a_miss_soon_however_long_edges_remember_it(
    runs: dict[str, Run],
) -> None:
    errors = distribution(runs["slow"])["customErrorResponses"]
    assert {each["errorCachingMinTtl"] for each in errors} == {60}
    assert runs["slow"].one("BucketObjectv2").inputs["cacheControl"] == "public, max-age=10"


def test_only_the_path_is_in_the_cache_key(up: Run) -> None:
    policy = up.one("cachePolicy:CachePolicy").inputs
    assert (policy["minTtl"], policy["maxTtl"]) == (0, 31536000)
    assert policy["parametersInCacheKeyAndForwardedToOrigin"] == {
        "cookiesConfig": {"cookieBehavior": "none"},
        "headersConfig": {"headerBehavior": "none"},
        "queryStringsConfig": {"queryStringBehavior": "none"},
        "enableAcceptEncodingBrotli": False,
        "enableAcceptEncodingGzip": False,
    }
    behavior = distribution(up)["defaultCacheBehavior"]
    assert behavior["compress"] is False
    assert behavior["allowedMethods"] == behavior["cachedMethods"] == ["GET", "HEAD"]
    assert "originRequestPolicyId" not in behavior


def test_every_answer_has_the_security_headers(up: Run) -> None:
    headers = up.one("ResponseHeadersPolicy").inputs["securityHeadersConfig"]
    assert headers["strictTransportSecurity"] == {"accessControlMaxAgeSec": 31536000, "override": True}
    assert headers["contentTypeOptions"] == {"override": True}
    assert "default-src 'none'" in headers["contentSecurityPolicy"]["contentSecurityPolicy"]
    assert distribution(up)["defaultCacheBehavior"]["responseHeadersPolicyId"] == "headers-id"


def test_the_public_buckets_policy_names_this_distribution(up: Run) -> None:
    policy = up.document("BucketPolicy", "public-policy")
    arn = f"arn:aws:cloudfront::{ACCOUNT}:distribution/E1"

    def reads(source: str, action: str = "s3:GetObject", resource: str = f"{PUBLIC}/x") -> bool:
        context = {"aws:SourceArn": source, "aws:SecureTransport": "true"}
        return is_allowed(
            Request(action, resource, Caller(service="cloudfront.amazonaws.com"), context), [], policy
        )

    assert reads(arn)
    assert not reads(f"{arn}2")
    assert not reads(arn, "s3:ListBucket", PUBLIC)
    assert "public-closed" in up.one("BucketPolicy", "public-policy").depends_on


def test_conditions_on_writes_are_enforced_only_where_asked_for(runs: dict[str, Run]) -> None:
    def sids(name: str) -> list[str]:
        return [each["Sid"] for each in runs[name].document("BucketPolicy", "public-policy")["Statement"]]

    assert "NobodyOverwritesBlindly" not in sids("up")
    assert "NobodyOverwritesBlindly" in sids("strict")
    assert "NobodyInTheClear" in json.dumps(runs["up"].document("BucketPolicy", "staging-policy"))


def test_each_role_has_its_own_policy(up: Run) -> None:
    def may(resource: str, action: str, target: str) -> bool:
        policy = up.document("RolePolicy", f"{resource}-policy")
        return is_allowed(Request(action, target), [policy])

    staging = "arn:aws:s3:::example-downloads-staging"
    writers = [
        each.name for each in up.all("role:Role") if may(each.name, "s3:PutObject", f"{staging}/macos/x")
    ]
    assert writers == ["role-macos"]
    assert may("role-testers", "s3:GetObject", f"{staging}/windows/x")
    assert not may("role-testers", "s3:GetObject", f"{staging}/pymanager/x")
    assert may("release-manager", "cloudfront-keyvaluestore:UpdateKeys", up.outputs["kvsArn"])
    assert not may("auditor", "cloudfront-keyvaluestore:UpdateKeys", up.outputs["kvsArn"])
    assert all(each.inputs["role"] == f"example-downloads-{each.parent}" for each in up.all("RolePolicy"))


def test_each_role_trusts_those_whom_the_stack_names(up: Run) -> None:
    def trust(name: str) -> dict[str, Any]:
        document = up.document("role:Role", name, "assumeRolePolicy")
        [statement] = document["Statement"]
        return statement

    azure = "vstoken.dev.azure.com/00000000-0000-0000-0000-000000000000"
    # The provider that the program makes, and the one that the account has already.
    assert trust("role-windows")["Principal"] == {
        "Federated": f"arn:aws:iam::{ACCOUNT}:oidc-provider/{azure}"
    }
    assert trust("role-windows")["Condition"]["StringEquals"] == {
        f"{azure}:aud": "api://AzureADTokenExchange",
        f"{azure}:sub": ["sc://example/release/staging-windows"],
    }
    assert trust("role-source")["Principal"]["Federated"].endswith("/token.actions.githubusercontent.com")
    assert trust("role-macos")["Condition"] == {"Bool": {"aws:MultiFactorAuthPresent": "true"}}
    assert "AWSReservedSSO_ReleaseManagers" in trust("release-manager")["Principal"]["AWS"][0]
    assert up.one("OpenIdConnectProvider").inputs == {
        "url": f"https://{azure}",
        "clientIdLists": ["api://AzureADTokenExchange"],
    }


def test_staging_tells_the_topic_of_events_and_the_topic_tells_whom_the_stack_names(up: Run) -> None:
    topic = f"arn:aws:sns:eu-west-1:{ACCOUNT}:example-downloads-notices"
    assert up.one("topic:Topic").inputs == {
        "name": "example-downloads-notices",
        "displayName": "example-downloads",
    }
    assert up.one("TopicSubscription").inputs == {
        "topic": topic,
        "protocol": "email",
        "endpoint": "release-managers@example.org",
    }
    notification = up.one("BucketNotification")
    assert notification.inputs["bucket"] == "example-downloads-staging"
    told = {
        each["id"]: (each["filterPrefix"], each.get("filterSuffix")) for each in notification.inputs["topics"]
    }
    assert told == {
        **{
            f"hand-over-{name}": (f"{name}/", "/SHA256SUMS")
            for name in ("source", "windows", "pymanager", "macos")
        },
        "hold": ("_hold/", None),
        "promotion-live": ("_state/promotions/", "/live.json"),
        "promotion-done": ("_state/promotions/", "/done.json"),
        "record": ("_state/records/", ".json"),
        "withdrawal": ("_state/withdrawals/", None),
    }
    for each in notification.inputs["topics"]:
        assert (each["topicArn"], each["events"]) == (topic, ["s3:ObjectCreated:*"])
    # S3 tries the topic before it accepts it.
    assert "notices-policy" in notification.depends_on


def test_the_topics_policy_names_the_staging_bucket_and_the_account(up: Run) -> None:
    policy = up.document("TopicPolicy", "notices-policy")
    topic = up.one("TopicPolicy").inputs["arn"]

    def publishes(bucket: str, account: str = ACCOUNT) -> bool:
        context = {"aws:SourceArn": f"arn:aws:s3:::{bucket}", "aws:SourceAccount": account}
        return is_allowed(
            Request("sns:Publish", topic, Caller(service="s3.amazonaws.com"), context), [], policy
        )

    assert publishes("example-downloads-staging")
    assert not publishes("example-downloads-public")
    assert not publishes("example-downloads-staging", "210987654321")


def test_nobody_is_told_anything_unless_the_stack_names_somebody(runs: dict[str, Run]) -> None:
    kinds = {each.type.split(":")[-1] for each in runs["trial"].resources}
    assert not kinds & {"Notices", "Topic", "TopicPolicy", "TopicSubscription", "BucketNotification"}
    assert kinds >= {"Bucket", "Role"}


def test_exports_are_these(up: Run) -> None:
    assert set(up.outputs) == EXPORTS
    assert set(up.outputs["roleArns"]) == {
        "source", "windows", "pymanager", "macos", "testers", "_rm", "_auditor",
    }  # fmt: skip
    settings = tomllib.loads(up.outputs["publisherToml"])
    assert settings["aws"]["distribution_id"] == up.outputs["distributionId"] == "E1"
    assert settings["aws"]["kvs_arn"] == up.outputs["kvsArn"]
    assert settings["site"] == {
        "public_base_url": up.outputs["publicBaseUrl"],
        "cdn_url": up.outputs["cdnUrl"],
    }


def test_every_export_is_a_value_and_no_hole(up: Run) -> None:
    # A forgotten await or an output that the mocks do not know would be rendered, not raised.
    text = json.dumps([up.outputs, [each.inputs for each in up.resources]])
    assert not re.findall(r"Output\[|<pulumi|null|None|04da6b54|not known", text)


def test_a_preview_registers_the_same_and_knows_nothing_that_aws_decides(
    runs: dict[str, Run],
) -> None:
    def outline(run: Run) -> set[tuple[str, str, str, bool, tuple[str, ...]]]:
        def one(each: Registered) -> tuple[str, str, str, bool, tuple[str, ...]]:
            return each.type, each.name, each.parent, each.protect, tuple(sorted(each.inputs))

        return {one(each) for each in run.resources}

    preview = runs["preview"]
    assert outline(preview) == outline(runs["up"])
    assert set(preview.outputs) == EXPORTS
    unknown = {name for name, value in preview.outputs.items() if value == UNKNOWN}
    assert unknown == EXPORTS - {"stagingBucket", "publicBucket"}
    assert preview.one("BucketPolicy", "public-policy").inputs["policy"] == UNKNOWN
    assert distribution(preview)["origins"][0]["domainName"] == UNKNOWN
    assert preview.one("function:Function").inputs["keyValueStoreAssociations"] in (UNKNOWN, [UNKNOWN])
    assert UNKNOWN not in json.dumps([each.inputs for each in preview.all("LifecycleConfiguration")])
