"""What the Pulumi program grants and exports is what the publisher asks for and reads: no less, no more."""

import inspect
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, cast

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from iam import Caller, Document, Request, is_allowed
from program import PROJECT, Run, make_config, run_program

import checks
from config import StackConfig
from publisher import ports
from publisher.adapters import cloudfront, kvs, s3
from publisher.config import Config, load_config
from publisher.core.digests import of_bytes
from publisher.core.gate import Change
from publisher.core.plan import Version
from publisher.core.profile import Delivery
from publisher.documents.profile import parse_profile
from publisher.errors import ConfigError
from reading import StackConfigError
from settings import Made, write_settings
from tests.contract.rights import ACCOUNT, CALLS, Arguments, Asked, Names, Right
from tests.contract.story import AUDITOR, RM, Story, tell
from tests.support.site import PROFILE

PERSON = {"principals": [f"arn:aws:iam::{ACCOUNT}:user/somebody"]}
MANAGER = {"principals": [f"arn:aws:iam::{ACCOUNT}:user/manager"]}
STACK: dict[str, Any] = {
    "prefix": "tool",
    "publicFolders": ["tool"],
    "profile": "profiles/tool.toml",
    "oidcProviders": [],
    "roles": [
        {"name": "linux", "duty": "delivers", "trust": PERSON},
        {"name": "mac", "duty": "delivers", "trust": PERSON},
        {"name": "qa", "duty": "tests", "reads": ["linux", "mac"], "trust": PERSON},
    ],
    "releaseManagers": MANAGER,
    "auditors": PERSON,
}
ODD_PROFILE = 'a "folder"\\n/pro\tfile # \u00e9\U0001f40d.toml'
RESOURCES = {
    "linux": "role-linux", "mac": "role-mac", "qa": "role-qa", RM: "release-manager", AUDITOR: "auditor",
}  # fmt: skip
BUILDERS = {"linux", "mac"}
WITHOUT_RIGHTS = {
    "Bucket", "Caller", "Web", "Parallel", "Verifier", "Signer", "SigningService", "OpenPgp",
    "ReleaseDatabase", "Announcer", "Hook", "Purger",
}  # fmt: skip
"""Protocols that need none: what other ones extend, what anybody may ask, what is not AWS."""

PORTS: Mapping[str, type] = {
    "staging": ports.Staging, "public": ports.Public, "gate": ports.Gate, "cdn": ports.Cdn,
}  # fmt: skip


METHODS = {
    (port, name)
    for port, protocol in PORTS.items()
    for name, _ in inspect.getmembers(protocol, inspect.isfunction)
    if not name.startswith("_")
}
UNTOLD = {
    ("staging", "list_objects"),
    ("public", "compute_digest"),
    ("staging", "stream"),
    ("staging", "sign_link"),
}
"""What the story has no use for: methods meant for the other bucket, or for those who fetch or share."""


@pytest.fixture(scope="module")
def runs() -> Mapping[str, Run]:
    """Run the program once in each way that the tests ask about."""
    return run_program(
        {
            "free": STACK,
            "create only": {**STACK, "enforceCreateOnly": True},
            "odd": {
                **STACK,
                "profile": ODD_PROFILE,
                "stagingBucket": "a-staging",
                "publicBucket": "the-public-one",
                "publicBaseUrl": 'https://www.example.org/"ftp"/\\x/',
                "lagSeconds": 7,
                "settleSeconds": 33,
                "errorTtlSeconds": 11,
            },
        }
    )


def load(run: Run, folder: Path) -> Config:
    """Load what a run of the program exported as people do: written to a file."""
    path = folder / "publisher.toml"
    path.write_text(run.outputs["publisherToml"], "utf-8")
    return load_config(path)


def load_text(text: str) -> Config:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "publisher.toml"
        path.write_text(text, "utf-8")
        return load_config(path)


# The text.


@pytest.mark.parametrize("name", ["free", "odd"])
def test_everything_that_the_program_exports_arrives(
    runs: Mapping[str, Run], name: str, tmp_path: Path
) -> None:
    config, outputs = load(runs[name], tmp_path), runs[name].outputs

    assert (config.staging_bucket, config.public_bucket) == (
        outputs["stagingBucket"],
        outputs["publicBucket"],
    )
    assert (config.distribution_id, config.kvs_arn) == (outputs["distributionId"], outputs["kvsArn"])
    assert (config.public_base_url, config.cdn_url) == (outputs["publicBaseUrl"], outputs["cdnUrl"])
    assert config.region == "eu-west-1"
    assert config.roles == {role for role in outputs["roleArns"] if not role.startswith("_")}


def test_odd_names_and_all_times_arrive_as_they_are(runs: Mapping[str, Run], tmp_path: Path) -> None:
    config = load(runs["odd"], tmp_path)

    assert config.profile == tmp_path / ODD_PROFILE
    assert (config.staging_bucket, config.public_bucket) == ("a-staging", "the-public-one")
    assert config.public_base_url == 'https://www.example.org/"ftp"/\\x/'
    assert (config.times.lag, config.times.settle, config.times.error_ttl) == (7, 33, 11)


def test_the_profile_is_found_beside_the_file_and_not_where_the_publisher_runs(
    runs: Mapping[str, Run], tmp_path: Path
) -> None:
    assert load(runs["free"], tmp_path).profile == tmp_path / "profiles" / "tool.toml"


MADE = Made("E1", f"arn:aws:cloudfront::{ACCOUNT}:key-value-store/x", "https://d1.cloudfront.net/")


def read_stack(**changes: Any) -> StackConfig:
    config = make_config({**STACK, **changes})
    return StackConfig.read(lambda key: config.get(f"{PROJECT}:{key}"), region="eu-west-1")


def has_times(lag: int, settle: int, error_ttl: int) -> tuple[bool, bool]:
    """Tell whether the program and the publisher, in this order, accept these times."""
    try:
        stack = read_stack(lagSeconds=lag, settleSeconds=settle, errorTtlSeconds=error_ttl)
    except StackConfigError:
        stack = None
    fine = read_stack()
    text = write_settings(
        replace(fine, lag_seconds=lag, settle_seconds=settle, error_ttl_seconds=error_ttl), MADE
    )
    try:
        load_text(text)
    except ConfigError:
        return stack is not None, False
    return stack is not None, True


@settings(deadline=None)
@given(st.integers(1, 3600), st.integers(1, 700), st.integers(0, 300))
def test_the_program_and_the_publisher_allow_the_same_times(lag: int, settle: int, error_ttl: int) -> None:
    stack, publisher = has_times(lag, settle, error_ttl)
    assert stack == publisher


@pytest.mark.parametrize(
    "times", [(1, 1, 0), (3600, 86400, 300), (60, 20, 10), (60, 19, 10), (1, 599, 300), (1, 600, 300)]
)
def test_they_do_so_at_the_limits_too(times: tuple[int, int, int]) -> None:
    stack, publisher = has_times(*times)
    assert stack == publisher


@pytest.mark.parametrize("times", [(-1, 20, 10), (60, -1, 0), (60, 20, -1)])
def test_what_the_publisher_refuses_is_never_provisioned(times: tuple[int, int, int]) -> None:
    assert has_times(*times) == (False, False)


@settings(deadline=None)
@given(st.from_regex(checks.NAME, fullmatch=True))
def test_a_role_that_can_be_provisioned_can_be_in_a_profile_and_is_known_by_its_name(name: str) -> None:
    assume(name not in {"linux", "qa", "tool"})
    roles = [{"name": name, "duty": "delivers", "trust": PERSON}]
    assert load_text(write_settings(read_stack(roles=roles), MADE)).roles == {name}
    profile = PROFILE.decode().replace("[roles.mac]", f"[roles.{name}]").replace('"mac"', f'"{name}"')
    assert name in parse_profile(profile.encode(), "tool.toml").roles


@pytest.mark.parametrize("name", ["_rm", "Mac", "2mac", "a/b", "a_b", "", "ma c"])
def test_a_name_that_no_profile_can_have_is_never_provisioned(name: str) -> None:
    text = write_settings(read_stack(), MADE).replace('"mac"', json.dumps(name))
    with pytest.raises(ConfigError):
        load_text(text)
    with pytest.raises(StackConfigError):
        read_stack(roles=[{"name": name, "duty": "delivers", "trust": PERSON}])


@settings(deadline=None)
@given(st.from_regex(checks.BASE_URL, fullmatch=True))
def test_a_url_that_the_program_takes_the_publisher_takes_as_well(url: str) -> None:
    assert load_text(write_settings(read_stack(publicBaseUrl=url), MADE)).public_base_url == url


# The rights.


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Tell the whole story once."""
    return tell(tmp_path_factory.mktemp("story"))


@pytest.fixture(scope="module")
def names(runs: Mapping[str, Run], tmp_path_factory: pytest.TempPathFactory) -> Names:
    """Give the names as the publisher learns them."""
    return Names(load(runs["free"], tmp_path_factory.mktemp("config")))


def may(run: Run, role: str, right: Right, names: Names) -> bool:
    """Judge a request by the role's policies and the bucket's, all as the program registered them."""
    identity: list[Document] = [run.document("RolePolicy", f"{RESOURCES[role]}-policy")]
    bucket = right.resource.split("/")[0]
    policies = {names.bucket(name): f"{name}-policy" for name in ("staging", "public")}
    resource = run.document("BucketPolicy", policies[bucket]) if bucket in policies else None
    context = {"aws:SecureTransport": "true", **right.context}
    caller = Caller(arn=f"arn:aws:iam::{ACCOUNT}:role/tool-{RESOURCES[role]}")
    return is_allowed(Request(right.action, right.resource, caller, context), identity, resource)


def who_should(right: Right, names: Names) -> set[str]:
    """Say who alone may do this, from what the roles are for and without a look at any policy."""
    readers = {RM, AUDITOR}
    if not right.resource.startswith(names.bucket("staging")):
        is_read = "Get" in right.action or "List" in right.action or "Describe" in right.action
        return readers if is_read else {RM}
    below = right.resource.removeprefix(names.bucket("staging")).lstrip("/")
    first, _, rest = (below or right.context.get("s3:prefix", "")).partition("/")
    match right.action, first:
        case "s3:GetObject" | "s3:ListBucket", "linux" | "mac":
            return {*readers, first, "qa"}
        case "s3:GetObjectVersion", "linux" | "mac":
            return {*readers, "qa"}
        case "s3:GetObject" | "s3:GetObjectVersion" | "s3:ListBucket", _:
            return readers
        case "s3:PutObject" | "s3:DeleteObject", "linux" | "mac":
            return {first}
        case "s3:PutObject", "_hold":
            return {rest.split("/")[0]}
        case "s3:PutObject", "_rm" | "_state":
            return {RM}
        case _:
            raise AssertionError(f"nobody said who may {right}")


def collect(asked: Iterable[Asked], names: Names) -> dict[tuple[str, str, str], tuple[Asked, Right]]:
    """Give each different request once, by role, action and what kind of thing it is done to."""
    found: dict[tuple[str, str, str], tuple[Asked, Right]] = {}
    for each in asked:
        for right in names.find_rights(each):
            target = f"{right.resource} {sorted(right.context.items())}"
            found[each.role, right.action, target] = (each, right)
    return found


def test_every_port_method_that_speaks_to_aws_has_its_rights_in_the_table() -> None:
    protocols = {
        name
        for name, member in inspect.getmembers(ports, inspect.isclass)
        if Protocol in member.__mro__ and member.__module__ == ports.__name__
    }
    assert protocols == WITHOUT_RIGHTS | {protocol.__name__ for protocol in PORTS.values()}
    assert set(CALLS) >= METHODS


def test_the_story_calls_every_port_method_that_a_promotion_needs(story: Story) -> None:
    called = {(asked.port, asked.method) for asked in story.asked}
    assert METHODS - called <= UNTOLD
    assert {asked.role for asked in story.asked} == set(RESOURCES)


@pytest.mark.parametrize("policy", ["free", "create only"])
def test_who_makes_a_request_may_and_all_others_may_not(
    runs: Mapping[str, Run], story: Story, names: Names, policy: str
) -> None:
    requests = collect(story.asked, names)
    assert len(requests) > 100
    for asked, right in requests.values():
        allowed = {role for role in RESOURCES if may(runs[policy], role, right, names)}
        assert asked.role in allowed, (asked, right)
        assert allowed == who_should(right, names), (asked, right)


def test_nobody_makes_a_request_in_the_clear(runs: Mapping[str, Run], story: Story, names: Names) -> None:
    for asked, right in collect(story.asked, names).values():
        if right.action.startswith("s3:"):
            clear = replace(right, context={**right.context, "aws:SecureTransport": "false"})
            assert not may(runs["free"], asked.role, clear, names), (asked, right)


def test_a_write_to_a_public_key_without_its_condition_is_refused_where_that_is_enforced(
    runs: Mapping[str, Run], story: Story, names: Names
) -> None:
    placed = [
        asked
        for asked in story.asked
        if asked.port == "public" and asked.method in {"place", "create", "replace"}
    ]
    for asked in placed:
        [write] = [right for right in names.find_rights(asked) if right.action == "s3:PutObject"]
        blind = replace(write, context={"s3:ObjectCreationOperation": "true"})
        assert may(runs["free"], RM, blind, names)
        assert not may(runs["create only"], RM, blind, names)
    assert {asked.method for asked in placed} == {"place", "create", "replace"}


def test_a_builder_is_never_surprised_by_forbidden_where_absent_was_meant(story: Story) -> None:
    # Who may not list a whole bucket gets 403, not 404, for a key that is not there.
    looks = [asked for asked in story.asked if asked.method in {"describe", "read"}]
    others = {asked.role for asked in looks if asked.absent}
    assert others <= {RM, AUDITOR}
    assert {asked.role for asked in looks} & BUILDERS, "no builder looked at anything"


def test_neither_builder_nor_tester_asks_for_more_than_its_own_part(story: Story) -> None:
    for asked in story.asked:
        if asked.role in {*BUILDERS, "qa"}:
            assert asked.port == "staging"
            # The store's time is that of a bucket, which only those who read all of it may ask.
            assert asked.method != "now"
            key = asked.arguments.get("key", asked.arguments.get("prefix", ""))
            tested = [f"{role}/" for role in BUILDERS if asked.role == "qa" and asked.method == "list_keys"]
            assert key.startswith((f"{asked.role}/", f"_hold/{asked.role}/", *tested))


BY_HAND = {
    ("builder", "DeliverIntoOwnPrefix", "s3:AbortMultipartUpload"): "aws s3 cp gives up a large upload",
    ("builder", "DeliverIntoOwnPrefix", "s3:ListMultipartUploadParts"): "other tools go on with one",
    ("tester", "ReadWhatIsTested", "s3:GetObject"): "aws s3 sync and publisher fetch",
    ("tester", "ReadWhatIsTested", "s3:GetObjectVersion"): "the very version that a plan names",
    (RM, "ListBuckets", "s3:ListBucketVersions"): "what was overwritten, such as what a hold said",
    (RM, "PlaceFiles", "s3:AbortMultipartUpload"): "copies in parts, if conditional copies are refused",
    (RM, "PlaceFiles", "s3:ListMultipartUploadParts"): "the same",
    (RM, "MoveTheGate", "cloudfront-keyvaluestore:GetKey"): "one entry, looked up by a person",
}
"""What a role may although the publisher does not ask for it, and what for. Auditors read everything."""


def is_below(pattern: str, resource: str) -> bool:
    return resource.startswith(pattern[:-1]) if pattern.endswith("*") else resource == pattern


def as_list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def test_no_role_has_a_right_that_nobody_needs(runs: Mapping[str, Run], story: Story, names: Names) -> None:
    used = {
        (asked.role, right.action, right.resource) for asked, right in collect(story.asked, names).values()
    }
    idle: set[tuple[str, str, str]] = set()
    for role, resource in RESOURCES.items():
        kind = {"linux": "builder", "mac": "builder", "qa": "tester"}.get(role, role)
        for statement in runs["free"].document("RolePolicy", f"{resource}-policy")["Statement"]:
            for action in as_list(statement["Action"]):
                for pattern in as_list(statement["Resource"]):
                    needed = any(
                        (role, action) == (who, what) and is_below(pattern, where)
                        for who, what, where in used
                    )
                    if statement["Effect"] == "Allow" and not needed and role != AUDITOR:
                        idle.add((kind, statement["Sid"], action))
    assert idle == set(BY_HAND)


# The table itself, against what the adapters send.


class SentError(BaseException):
    """The request was seen, and goes no further."""


def make_adapters(region: str, names: Names) -> Mapping[str, tuple[Any, Any]]:
    """Give the real adapter of each port with its client."""
    config = names.config
    storage, store, cdn = s3.make_client(region, 1), kvs.make_client(region), cloudfront.make_client(region)
    return {
        "staging": (s3.S3Staging(storage, config.staging_bucket), storage),
        "public": (s3.S3Public(storage, config.public_bucket, config.staging_bucket), storage),
        "gate": (kvs.KeyValueStore(store, config.kvs_arn), store),
        "cdn": (cloudfront.CloudFront(cdn, config.distribution_id), cdn),
    }


@pytest.mark.parametrize(("port", "method"), sorted(METHODS))
def test_the_table_says_what_the_adapters_send(
    port: str, method: str, names: Names, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    file = tmp_path / "file"
    file.write_bytes(b"x")
    samples: dict[str, object] = {
        "key": "linux/1/x", "prefix": "linux/", "path": file, "digest": of_bytes(b"x"), "data": b"x",
        "version": Version("linux/1/x", "v1", '"e"'), "source": Version("linux/1/x", "v1", '"e"'),
        "etag": '"e"', "delivery": Delivery("text/plain", "short", "max-age=1"),
        "change": Change({"owner": "x"}), "paths": ("/x",), "reference": "r", "invalidation": "I1",
        "offset": 0, "seconds": 60,
    }  # fmt: skip
    given: Arguments = {
        name: samples[name]
        for name in inspect.signature(getattr(PORTS[port], method)).parameters
        if name != "self"
    }
    adapter, client = make_adapters("eu-west-1", names)[port]
    sent: list[tuple[str, Mapping[str, Any]]] = []

    def see(model: Any, params: Mapping[str, Any], **_: object) -> None:
        sent.append((model.name, params))
        raise SentError

    client.meta.events.register("before-call.*.*", see)
    call = CALLS[port, method]
    if call.operation is None:
        getattr(adapter, method)(**given)
        assert not sent
        return
    with pytest.raises(SentError):
        begin(getattr(adapter, method)(**given))

    [(operation, params)] = sent
    assert operation == call.operation
    if operation in {"PutObject", "CopyObject"}:
        check_conditions(call.rights(names, given), cast("Mapping[str, str]", params["headers"]))
    query = cast("Mapping[str, str]", params["query_string"])
    if operation in {"GetObject", "HeadObject"}:
        [right] = call.rights(names, given)
        assert ("versionId" in query) == (right.action == "s3:GetObjectVersion")
    if operation == "ListObjectsV2":
        assert query["prefix"] == call.rights(names, given)[0].context["s3:prefix"]


def begin(answer: object) -> None:
    """Ask for the first piece of an answer that comes in pieces, with which the request is made."""
    next(cast("Iterator[object]", answer))


def check_conditions(rights: Iterable[Right], headers: Mapping[str, str]) -> None:
    """Compare the conditions in a request's headers with the context that the table gives to its write."""
    wanted = {
        f"s3:{name.lower()}": headers[name]
        for name in headers
        if name.lower() in {"if-match", "if-none-match"}
    }
    given = {
        name: value
        for right in rights
        if right.action == "s3:PutObject"
        for name, value in right.context.items()
        if name != "s3:ObjectCreationOperation"
    }
    assert wanted == given
