"""Invalidations: every request with all its parameters, and how a real control plane takes them."""

import secrets
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from botocore.stub import Stubber

from publisher.adapters.cloudfront import MAX_PATHS, CloudFront, make_client
from publisher.errors import AccessDeniedError, EdgeError, StoreError
from publisher.ports import Cdn
from sandbox.ministack import (
    LOOPBACK,
    REGION,
    Credentials,
    Ministack,
    local_config,
    open_session,
    reserve_port,
)
from tests.support.backends import acting_as

if TYPE_CHECKING:
    from mypy_boto3_cloudfront.client import CloudFrontClient
    from mypy_boto3_cloudfront.type_defs import DistributionConfigTypeDef

Call = Callable[[Cdn], object]

PATHS = ("/tool/1.0/", "/tool/1.0/c%2B%2B.tgz")
CREATE = {
    "DistributionId": "E1",
    "InvalidationBatch": {"Paths": {"Quantity": 2, "Items": list(PATHS)}, "CallerReference": "p1-1"},
}
GET = {"DistributionId": "E1", "Id": "I1"}
CALLS: Mapping[str, Call] = {
    "invalidate": lambda cdn: cdn.invalidate(PATHS, "p1-1"),
    "is_invalidated": lambda cdn: cdn.is_invalidated("I1"),
}
REQUESTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "invalidate": ("create_invalidation", CREATE),
    "is_invalidated": ("get_invalidation", GET),
}


def answered(status: str = "InProgress", identity: str = "I1") -> dict[str, Any]:
    batch = {"Paths": {"Quantity": 0}, "CallerReference": "p1-1"}
    created = "2026-06-01T12:00:00Z"
    return {
        "Invalidation": {
            "Id": identity,
            "Status": status,
            "CreateTime": created,
            "InvalidationBatch": batch,
        }
    }


@dataclass(frozen=True, slots=True)
class Desk:
    """The adapter on a client whose answers are laid out beforehand, in order."""

    stub: Stubber
    cdn: Cdn

    def answer(self, operation: str, response: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
        self.stub.add_response(operation, dict(response), dict(expected))

    def refuse(self, operation: str, code: str, status: int, expected: Mapping[str, Any]) -> None:
        self.stub.add_client_error(
            operation, service_error_code=code, http_status_code=status, expected_params=dict(expected)
        )


@pytest.fixture(scope="module")
def offline() -> "Generator[CloudFrontClient]":
    session = open_session(Credentials("key", "secret"))
    # The stub answers everything; if it ever did not, nobody listens on the discard port.
    endpoint = "http://127.0.0.1:9"
    with closing(session.client("cloudfront", endpoint_url=endpoint, config=local_config())) as made:
        yield made


@pytest.fixture
def desk(offline: "CloudFrontClient") -> Generator[Desk]:
    with Stubber(offline) as stub:
        yield Desk(stub, CloudFront(offline, "E1"))
        stub.assert_no_pending_responses()


# --- Requests --------------------------------------------------------------------------------------------


def test_an_invalidation_names_its_paths_and_reference_and_answers_its_id(desk: Desk) -> None:
    desk.answer("create_invalidation", answered(), CREATE)

    assert desk.cdn.invalidate(PATHS, "p1-1") == "I1"


@pytest.mark.parametrize("count", [1, MAX_PATHS])
def test_as_many_paths_as_may_be_under_way_are_sent_at_once(desk: Desk, count: int) -> None:
    paths = [f"/{number}" for number in range(count)]
    batch = {"Paths": {"Quantity": count, "Items": paths}, "CallerReference": "r"}
    desk.answer("create_invalidation", answered(), {"DistributionId": "E1", "InvalidationBatch": batch})

    assert desk.cdn.invalidate(paths, "r") == "I1"


def test_too_many_paths_are_never_sent(desk: Desk) -> None:
    # Nothing is laid out, so that a request would be another error.
    with pytest.raises(EdgeError, match="found 3001 paths to invalidate, expected at most 3000"):
        desk.cdn.invalidate([f"/{number}" for number in range(MAX_PATHS + 1)], "r")


@pytest.mark.parametrize(
    ("status", "complete"), [("Completed", True), ("InProgress", False), ("completed", False), ("", False)]
)
def test_whether_an_invalidation_is_complete_is_asked_once(desk: Desk, status: str, complete: bool) -> None:
    # A second request would find nothing laid out.
    desk.answer("get_invalidation", answered(status), GET)

    assert desk.cdn.is_invalidated("I1") is complete


def test_an_invalidation_under_way_is_asked_for_anew_each_time(desk: Desk) -> None:
    for status in ("InProgress", "InProgress", "Completed"):
        desk.answer("get_invalidation", answered(status), GET)

    assert [desk.cdn.is_invalidated("I1") for _ in range(3)] == [False, False, True]


# --- Errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", CALLS)
@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        ("AccessDenied", 403, AccessDeniedError),
        ("ExpiredToken", 403, AccessDeniedError),
        ("SignatureDoesNotMatch", 403, AccessDeniedError),
        ("NoSuchDistribution", 404, StoreError),
        ("TooManyInvalidationsInProgress", 400, StoreError),
        ("InvalidationBatchAlreadyExists", 400, StoreError),
        ("Throttling", 400, StoreError),
        ("InternalError", 500, StoreError),
    ],
)
def test_an_error_is_told_by_its_code_in_making_and_in_looking(
    desk: Desk, how: str, code: str, status: int, error: type[StoreError]
) -> None:
    operation, expected = REQUESTS[how]
    desk.refuse(operation, code, status, expected)

    with pytest.raises(StoreError, match=code) as caught:
        CALLS[how](desk.cdn)
    assert type(caught.value) is error
    assert str(caught.value).startswith("cannot ")


def test_an_error_after_some_looks_is_told_by_its_code_too(desk: Desk) -> None:
    desk.answer("get_invalidation", answered("InProgress"), GET)
    desk.refuse("get_invalidation", "AccessDenied", 403, GET)

    assert not desk.cdn.is_invalidated("I1")
    with pytest.raises(AccessDeniedError, match=r"^cannot look at invalidation I1: AccessDenied"):
        desk.cdn.is_invalidated("I1")


@pytest.mark.parametrize("how", CALLS)
def test_every_request_says_so_when_the_service_is_not_there(how: str) -> None:
    session = open_session(Credentials("key", "secret"))
    with (
        reserve_port() as port,
        closing(
            session.client("cloudfront", endpoint_url=f"http://{LOOPBACK}:{port}", config=local_config())
        ) as made,
        pytest.raises(StoreError, match="Could not connect") as caught,
    ):
        CALLS[how](CloudFront(made, "E1"))
    assert type(caught.value) is StoreError


# --- On a control plane ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plane:
    """A distribution on ministack, as its owner and as somebody else sees it."""

    id: str
    owner: Cdn
    stranger: Cdn
    root: "CloudFrontClient"

    def paths(self, invalidation: str) -> list[str]:
        found = self.root.get_invalidation(DistributionId=self.id, Id=invalidation)["Invalidation"]
        return found["InvalidationBatch"]["Paths"].get("Items", [])

    def count(self) -> int:
        listed = self.root.list_invalidations(DistributionId=self.id)["InvalidationList"]
        return len(listed.get("Items", []))


@pytest.fixture(scope="module")
def plane(ministack: Ministack) -> Generator[Plane]:
    session, endpoint = ministack.root_session(), ministack.endpoint
    with closing(session.client("cloudfront", endpoint_url=endpoint, config=local_config())) as root:
        distribution = root.create_distribution(DistributionConfig=a_config())["Distribution"]
        owner = ministack.new_user("cdn-owner", allow(distribution["ARN"]))
        stranger = ministack.new_user("cdn-stranger", allow(f"{distribution['ARN']}0"))
        clients: list[CloudFrontClient] = []
        for credentials in (owner, stranger):
            with acting_as(credentials, endpoint):
                clients.append(make_client(REGION))
        with closing(clients[0]), closing(clients[1]):
            cdns = [CloudFront(client, distribution["Id"]) for client in clients]
            yield Plane(distribution["Id"], cdns[0], cdns[1], root)


def a_config() -> "DistributionConfigTypeDef":
    return {
        "CallerReference": secrets.token_hex(6),
        "Comment": "",
        "Enabled": True,
        "Origins": {"Quantity": 1, "Items": [{"Id": "o", "DomainName": "b.s3.us-east-1.amazonaws.com"}]},
        "DefaultCacheBehavior": {"TargetOriginId": "o", "ViewerProtocolPolicy": "https-only"},
    }


def allow(arn: str) -> dict[str, object]:
    actions = ["cloudfront:CreateInvalidation", "cloudfront:GetInvalidation"]
    statement = {"Effect": "Allow", "Action": actions, "Resource": arn}
    return {"Version": "2012-10-17", "Statement": [statement]}


def wait_until_complete(cdn: Cdn, invalidation: str) -> None:
    end = time.monotonic() + 60
    while not cdn.is_invalidated(invalidation):
        assert time.monotonic() < end, "not complete after a minute"
        time.sleep(0.5)


def test_an_invalidation_is_made_of_exactly_the_paths_and_becomes_complete(plane: Plane) -> None:
    made = plane.owner.invalidate(PATHS, secrets.token_hex(8))
    wait_until_complete(plane.owner, made)

    assert plane.paths(made) == list(PATHS)


def test_the_same_reference_with_the_same_paths_is_the_same_invalidation(plane: Plane) -> None:
    reference = secrets.token_hex(8)
    before = plane.count()

    first = plane.owner.invalidate(PATHS, reference)

    assert plane.owner.invalidate(PATHS, reference) == first
    assert plane.count() == before + 1


def test_another_reference_with_the_same_paths_is_another_invalidation(plane: Plane) -> None:
    first = plane.owner.invalidate(PATHS, secrets.token_hex(8))

    assert plane.owner.invalidate(PATHS, secrets.token_hex(8)) != first


def test_the_same_reference_with_other_paths_is_refused(plane: Plane) -> None:
    reference = secrets.token_hex(8)
    plane.owner.invalidate(PATHS, reference)

    with pytest.raises(StoreError, match="InvalidationBatchAlreadyExists"):
        plane.owner.invalidate(PATHS[:1], reference)


def test_who_has_rights_on_another_distribution_may_neither_invalidate_nor_look(plane: Plane) -> None:
    made = plane.owner.invalidate(PATHS, secrets.token_hex(8))
    before = plane.count()

    with pytest.raises(AccessDeniedError):
        plane.stranger.invalidate(PATHS, secrets.token_hex(8))
    with pytest.raises(AccessDeniedError) as caught:
        plane.stranger.is_invalidated(made)
    assert "aws sts get-caller-identity" in caught.value.next_step
    assert plane.count() == before


def test_an_invalidation_that_does_not_exist_is_an_error_and_not_incomplete(plane: Plane) -> None:
    with pytest.raises(StoreError, match="NoSuchInvalidation"):
        plane.owner.is_invalidated("I0")
