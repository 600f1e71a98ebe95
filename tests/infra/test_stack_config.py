"""What a stack's configuration may say, and that everything wrong with it is said at once."""

import re
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from program import PROJECT, load_defaults, load_example, load_schema, make_config

from config import SCHEMA, StackConfig
from reading import StackConfigError

ROLE: dict[str, Any] = {"name": "windows", "duty": "delivers", "trust": {"oidc": {"github": ["repo:a/b:x"]}}}
RM = {"principals": ["arn:aws:iam::123456789012:user/rm"]}
USER = "arn:aws:iam::123456789012:user/expert"


def load(**changes: Any) -> StackConfig:
    config = make_config(changes)
    return StackConfig.read(lambda key: config.get(f"{PROJECT}:{key}"), region=config.get("aws:region", ""))


def problems(**changes: Any) -> tuple[str, ...]:
    with pytest.raises(StackConfigError) as caught:
        load(**changes)
    return caught.value.problems


def a_role(**changes: Any) -> dict[str, Any]:
    return {**ROLE, **changes}


def test_the_example_stack_is_a_valid_one() -> None:
    config = load()
    assert [role.name for role in config.roles] == ["source", "windows", "pymanager", "macos", "testers"]
    assert config.name_bucket("staging") == "example-downloads-staging"
    assert config.roles[3].trust.require_mfa
    assert config.auditors is not None


def test_a_stack_needs_no_more_than_what_has_no_default() -> None:
    required = {key for key, entry in load_schema().items() if "default" not in entry}
    assert required == {"prefix", "publicFolders", "roles", "releaseManagers"}
    example = load_example()
    bare = {key: None for key in example if key not in {*required, "aws:region"}}
    config = load(**bare, roles=[a_role(trust={"principals": [USER]})])
    assert config.auditors is None
    assert config.domain_names == ()
    assert (config.lag_seconds, config.settle_seconds, config.error_ttl_seconds) == (60, 120, 10)


def test_the_configuration_is_frozen() -> None:
    config = load()
    with pytest.raises(FrozenInstanceError):
        config.prefix = "other"  # pyright: ignore[reportAttributeAccessIssue]


def test_every_problem_is_named_at_once() -> None:
    found = problems(
        prefix="Bad_Prefix",
        profile=None,
        lagSeconds="many",
        settleSeconds=5,
        domainNames=[],
        roles=[a_role(name="Windows"), a_role(duty="builds", spelling=1)],
        releaseManagers={},
        **{"aws:region": None},
    )
    named = [problem.split(":")[0] for problem in found]
    assert named == [
        "aws",
        "prefix",
        "profile",
        "roles[0].name",
        "roles[1].spelling",
        "roles[1].duty",
        "releaseManagers.oidc",
        "lagSeconds",
        "certificateArn, domainNames",
        "settleSeconds",
    ]
    assert all("found" in problem and "expected" in problem for problem in found)


@pytest.mark.parametrize("name", ["windows", "a", "mac-os2", "x" * 32])
def test_a_role_name_that_is_fine(name: str) -> None:
    assert load(roles=[a_role(name=name)]).roles[0].name == name


NO_NAMES = ["", "_rm", "Windows", "2mac", "-x", "a_b", "a/b", "a*", "x" * 33, "\u00e9", "a\n", None, 7]


@pytest.mark.parametrize("name", NO_NAMES)
def test_a_role_name_that_is_not(name: object) -> None:
    assert any(problem.startswith("roles[0].name: ") for problem in problems(roles=[a_role(name=name)]))


def test_no_role_name_begins_another_or_comes_twice() -> None:
    [problem] = problems(roles=[a_role(), a_role(name="windows-arm")])
    assert "'windows', which begins 'windows-arm'" in problem
    assert any("twice" in problem for problem in problems(roles=[a_role(), a_role()]))
    assert load(roles=[a_role(), a_role(name="arm-windows")])


def test_no_role_is_called_like_a_folder_of_public_keys() -> None:
    [problem] = problems(roles=[a_role(name="python")])
    assert "a folder of public keys" in problem
    assert load(roles=[a_role(name="python")], publicFolders=["downloads"])


def test_a_tester_reads_builders_and_a_builder_reads_nobody() -> None:
    tester = a_role(name="testers", duty="tests", reads=["windows"])
    assert load(roles=[a_role(), tester]).roles[1].reads == ("windows",)
    assert "'macos', expected one of windows" in problems(roles=[a_role(), {**tester, "reads": ["macos"]}])[0]
    other = a_role(name="qa", duty="tests", reads=["testers"])
    assert "'testers', expected one of windows" in problems(roles=[a_role(), tester, other])[0]
    assert (
        "expected none: it delivers" in problems(roles=[a_role(), a_role(name="macos", reads=["windows"])])[0]
    )


@pytest.mark.parametrize(
    "trust",
    [
        {"oidc": {"github": ["repo:a/*"]}},
        {"oidc": {"github": ["repo:a/b?"]}},
        {"oidc": {"github": []}},
        {"oidc": {"github": [""]}},
        {"oidc": {"github": "repo:a/b"}},
        {"oidc": {"gitlab": ["x"]}},
        {"oidc": ["x"]},
        {"principals": ["arn:aws:iam::123456789012:root"]},
        {"principals": ["arn:aws:iam::123456789012:user/*"]},
        {"principals": ["123456789012"]},
        {"principals": ["*"]},
        {"principals": [USER, USER]},
        {"principals": [USER], "requireMfa": "yes"},
        {"principals": [USER], "mfa": True},
        {"requireMfa": True},
        {},
        None,
    ],
)
def test_a_trust_that_is_vague_is_refused(trust: object) -> None:
    assert problems(roles=[a_role(trust=trust)])


@pytest.mark.parametrize(
    "principal",
    [
        USER,
        "arn:aws:iam::123456789012:role/aws-reserved/sso.amazonaws.com/eu-west-1/AWSReservedSSO_RM_0123456789abcdef",
        "arn:aws-us-gov:iam::123456789012:user/path/rm",
    ],
)
def test_people_are_named_by_their_user_or_role(principal: str) -> None:
    assert load(roles=[a_role(trust={"principals": [principal]})]).roles[0].trust.principals == (principal,)


def test_nobody_is_release_manager_and_in_another_role() -> None:
    shared = {"oidc": {"github": ["repo:a/b:x"]}}
    assert "who is a release manager too" in problems(roles=[a_role()], releaseManagers=shared)[0]
    assert "who is a release manager too" in problems(roles=[a_role(trust=RM)], releaseManagers=RM)[0]
    # Two builders' roles can be one person's, and the subject of another issuer is somebody else.
    assert load(roles=[a_role(), a_role(name="macos")])
    assert load(roles=[a_role()], releaseManagers={"oidc": {"azure": ["repo:a/b:x"]}})


SSO = "aws-reserved/sso.amazonaws.com/eu-west-1/AWSReservedSSO_RM_0"
SSO_ROLE = f"arn:aws:iam::123456789012:role/{SSO}"
SESSION = "arn:aws:sts::123456789012:assumed-role/AWSReservedSSO_RM_0"


@pytest.mark.parametrize(
    ("builder", "manager"), [(SSO_ROLE, f"{SESSION}/ann"), (f"{SESSION}/ann", SSO_ROLE), (SSO_ROLE, SSO_ROLE)]
)
def test_a_role_and_its_session_are_not_taken_for_two_people(builder: str, manager: str) -> None:
    [problem] = problems(
        roles=[a_role(trust={"principals": [builder]})], releaseManagers={"principals": [manager]}
    )
    assert builder in problem
    assert "who is a release manager too" in problem


@pytest.mark.parametrize(
    ("builder", "manager"),
    [
        (f"{SESSION}/ann", f"{SESSION}/bob"),
        (SSO_ROLE.replace("123456789012", "210987654321"), f"{SESSION}/ann"),
        (SSO_ROLE.replace("_RM_", "_Windows_"), SSO_ROLE),
        (USER, f"{SESSION}/expert"),
    ],
)
def test_different_people_stay_different(builder: str, manager: str) -> None:
    assert load(roles=[a_role(trust={"principals": [builder]})], releaseManagers={"principals": [manager]})


OWN = "arn:aws:iam::123456789012:role/example-downloads"


@pytest.mark.parametrize("principal", [f"{OWN}-release-manager", f"{OWN}-role-windows", f"{OWN}-auditor"])
def test_no_role_of_the_stack_leads_to_another(principal: str) -> None:
    [problem] = problems(roles=[a_role(), a_role(name="macos", trust={"principals": [principal]})])
    assert problem.startswith("roles.macos.trust.principals: ")
    assert problems(roles=[a_role()], releaseManagers={"principals": [principal]})
    session = f"{principal.replace(':iam:', ':sts:').replace(':role/', ':assumed-role/')}/ann"
    assert problems(roles=[a_role(trust={"principals": [session]})])
    assert load(roles=[a_role(trust={"principals": [f"{OWN}-ci"]})])


def a_provider(**changes: Any) -> dict[str, Any]:
    return {
        "name": "github",
        "issuer": "https://token.example.org",
        "audience": "sts.amazonaws.com",
        **changes,
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"issuer": "http://token.example.org"},
        {"issuer": "https://token.example.org/"},
        {"issuer": "https://token.example.org/?x=1"},
        {"audience": ""},
        {"audience": "*"},
        {"name": "Git Hub"},
        {"arn": "arn:aws:iam::123456789012:oidc-provider/other.example.org"},
        {"arn": "arn:aws:iam::123456789012:role/x"},
        {"audiences": ["x"]},
    ],
)
def test_a_provider_that_is_wrong(changes: dict[str, Any]) -> None:
    assert problems(oidcProviders=[a_provider(**changes)], roles=[a_role()])


def test_an_existing_provider_belongs_to_its_issuer() -> None:
    arn = "arn:aws:iam::123456789012:oidc-provider/token.example.org"
    assert load(oidcProviders=[a_provider(arn=arn)], roles=[a_role()]).oidc_providers[0].arn == arn


def test_an_issuer_has_one_provider() -> None:
    twice = [a_provider(), a_provider(name="again")]
    assert any("twice" in problem for problem in problems(oidcProviders=twice, roles=[a_role()]))


@pytest.mark.parametrize(
    "changes",
    [
        {"stagingDays": 29},
        {"stagingNoncurrentDays": 29},
        {"planLifeDays": 61},
        {"pendingDays": 89},
        {"pendingDays": 90, "planLifeDays": 91, "stagingDays": 100, "stagingNoncurrentDays": 100},
        {"settleSeconds": 19},
        {"errorTtlSeconds": 61},
        {"stagingDays": 60.5},
        {"stagingDays": True},
        {"lagSeconds": 0},
        {"enforceCreateOnly": "perhaps"},
        # IAM gives no role less than an hour, and none more than twelve.
        {"maxSessionSeconds": 3599},
        {"maxSessionSeconds": 43201},
        {"priceClass": "cheap"},
        {"publicBaseUrl": "https://example.org/ftp"},
        {"publicBaseUrl": "http://example.org/"},
        {"certificateArn": "arn:aws:acm:eu-west-1:123456789012:certificate/x"},
        {"certificateArn": ""},
        {"stagingBucket": "Bucket"},
        # No certificate of S3 covers a host with more labels.
        {"publicBucket": "downloads.example.org"},
        {"stagingBucket": "same-name", "publicBucket": "same-name"},
        {"publicFolders": []},
        {"publicFolders": ["a/b"]},
        {"roles": []},
        {"roles": None},
        {"roles": "windows"},
    ],
)
def test_a_value_that_is_wrong_or_contradicts_another(changes: dict[str, Any]) -> None:
    assert problems(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"stagingDays": 30, "stagingNoncurrentDays": 30, "pendingDays": 90},
        {"settleSeconds": 20},
        {"errorTtlSeconds": 60},
        {"publicBaseUrl": "https://www.example.org/ftp/"},
        {"domainNames": [], "certificateArn": ""},
    ],
)
def test_values_at_the_edge_of_what_is_allowed(changes: dict[str, Any]) -> None:
    assert load(**changes)


def test_the_schema_names_what_the_program_reads_and_nothing_else() -> None:
    assert {key: entry["type"] for key, entry in load_schema().items()} == SCHEMA


@pytest.mark.parametrize(("key", "entry"), load_schema().items())
def test_every_value_is_described_as_the_engine_wants_it(key: str, entry: dict[str, Any]) -> None:
    assert re.fullmatch(r"[a-z][A-Za-z]+", key)
    assert len(entry["description"]) > 20
    assert set(entry) <= {"type", "items", "default", "description"}
    assert ("items" in entry) == (entry["type"] == "array")
    kinds = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}
    assert type(entry.get("default", kinds[entry["type"]]())) is kinds[entry["type"]]


def test_the_example_explains_values_that_exist() -> None:
    assert set(load_example()) <= {*SCHEMA, "aws:region"}
    assert not set(load_example()) & set(load_defaults()) - {
        "oidcProviders", "domainNames", "certificateArn", "auditors",
        "listing", "announce", "outerCaches", "notify",
    }  # fmt: skip
