"""The gate's store: what the fake and ministack must do alike, and every request with all its parameters.

Where ministack does otherwise than AWS, `DEVIATIONS` says so, and a test asserts that it really does.
"""

import secrets
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from botocore.awsrequest import AWSPreparedRequest
from botocore.stub import Stubber

from publisher.adapters.kvs import KeyValueStore, make_client
from publisher.core.gate import BATCH, MAX_KEY_BYTES, MAX_VALUE_BYTES, Change, list_paths
from publisher.errors import AccessDeniedError, ConflictError, GoneError, StoreError
from publisher.ports import Gate
from publisher.workflow.gate import GateKeeper
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
from tests.support.fakes import FakeS3

if TYPE_CHECKING:
    from mypy_boto3_cloudfront_keyvaluestore.client import CloudFrontKeyValueStoreClient

Call = Callable[[Gate], object]

DEVIATIONS = {
    "batch_size": "an update of more than 50 entries is made",
    "key_length": "a key of more than 512 bytes is stored",
    "value_length": "a value of more than 1,024 bytes is stored",
    "resource": "a policy on the store's ARN is denied: every call is judged against `*`",
}
ACTIONS = ["DescribeKeyValueStore", "ListKeys", "UpdateKeys"]
STALE = "0" * 36
CALLS: Mapping[str, Call] = {
    "read_etag": lambda gate: gate.read_etag(),
    "read_entries": lambda gate: gate.read_entries(),
    "update": lambda gate: gate.update(Change({"p:a": "1"}), STALE),
}


def allow(actions: list[str], resource: str) -> dict[str, object]:
    names = [f"cloudfront-keyvaluestore:{action}" for action in actions]
    statement = {"Effect": "Allow", "Action": names, "Resource": resource}
    return {"Version": "2012-10-17", "Statement": [statement]}


@dataclass(frozen=True, slots=True)
class Server:
    """The emulated service: who may do everything, and how to become somebody else."""

    ministack: Ministack
    actor: Credentials
    stranger: Credentials

    def new_store(self) -> str:
        """Make a fresh store as root, and answer its ARN."""
        session, endpoint = self.ministack.root_session(), self.ministack.endpoint
        with closing(session.client("cloudfront", endpoint_url=endpoint, config=local_config())) as client:
            name = f"gate-{secrets.token_hex(6)}"
            return client.create_key_value_store(Name=name)["KeyValueStore"]["ARN"]

    def client(self, credentials: Credentials) -> "CloudFrontKeyValueStoreClient":
        """Make a client as the publisher makes it."""
        with acting_as(credentials, self.ministack.endpoint):
            client = make_client(REGION)
        client.meta.events.register("before-send.cloudfront-keyvaluestore", strip_account)
        return client


def strip_account(request: AWSPreparedRequest, **_: object) -> None:
    """Send to the endpoint itself what is meant for the account's own name, which nobody resolves here."""
    host = urlsplit(request.url).netloc
    request.url = request.url.replace(host, host.partition(".")[2], 1)


@pytest.fixture(scope="module")
def server(ministack: Ministack) -> Server:
    return Server(
        ministack,
        ministack.new_user("gate-actor", allow(ACTIONS, "*")),
        ministack.new_user("gate-stranger", allow(["GetKey"], "*")),
    )


@pytest.fixture(scope="module")
def client(server: Server) -> "Generator[CloudFrontKeyValueStoreClient]":
    with closing(server.client(server.actor)) as made:
        yield made


@pytest.fixture(scope="module")
def stranger(server: Server) -> "Generator[CloudFrontKeyValueStoreClient]":
    with closing(server.client(server.stranger)) as made:
        yield made


@pytest.fixture(params=["fake", "ministack"])
def gate(request: pytest.FixtureRequest) -> Gate:
    if request.param == "fake":
        return FakeS3().gate
    return request.getfixturevalue("real")


@pytest.fixture
def real(server: Server, client: "CloudFrontKeyValueStoreClient") -> Gate:
    return KeyValueStore(client, server.new_store())


def write(gate: Gate, puts: Mapping[str, str], *deletes: str) -> str:
    return gate.update(Change(puts, deletes), gate.read_etag())


# --- The contract ----------------------------------------------------------------------------------------


def test_a_fresh_store_has_an_etag_and_no_entries(gate: Gate) -> None:
    assert gate.read_etag()
    assert gate.read_entries() == {}


def test_an_update_answers_the_etag_that_is_read_next(gate: Gate) -> None:
    etag = write(gate, {"p:a": "1"})

    assert etag == gate.read_etag()
    assert gate.read_entries() == {"p:a": "1"}


def test_every_update_changes_the_etag_even_one_that_changes_no_entry(gate: Gate) -> None:
    etags = [gate.read_etag()]
    for _ in range(3):
        etags.append(gate.update(Change({"p:a": "1"}), etags[-1]))

    assert len(set(etags)) == 4


def test_reading_changes_no_etag(gate: Gate) -> None:
    etag = write(gate, {"p:a": "1"})
    gate.read_entries()

    assert gate.read_etag() == gate.read_etag() == etag


def test_an_update_puts_and_deletes_together(gate: Gate) -> None:
    write(gate, {"p:a": "1", "p:b": "1", "p:c": "1"})

    write(gate, {"p:b": "2", "p:d": "1"}, "p:a")

    assert gate.read_entries() == {"p:b": "2", "p:c": "1", "p:d": "1"}


def test_a_stale_etag_is_a_conflict_and_nothing_of_the_update_is_made(gate: Gate) -> None:
    stale = gate.read_etag()
    etag = gate.update(Change({"p:a": "1"}), stale)

    with pytest.raises(ConflictError):
        gate.update(Change({"p:a": "2", "p:b": "2"}, ("p:a",)), stale)

    assert gate.read_entries() == {"p:a": "1"}
    assert gate.read_etag() == etag


def test_a_retry_of_an_update_that_was_applied_is_a_conflict(gate: Gate) -> None:
    etag = gate.read_etag()
    gate.update(Change({"p:a": "1"}), etag)

    with pytest.raises(ConflictError):
        gate.update(Change({"p:a": "1"}), etag)


def test_a_retry_of_a_delete_that_was_applied_is_a_conflict_too(gate: Gate) -> None:
    etag = write(gate, {"p:a": "1"})
    gate.update(Change(deletes=("p:a",)), etag)

    with pytest.raises(ConflictError):
        gate.update(Change(deletes=("p:a",)), etag)


def test_deleting_an_entry_that_is_not_there_is_no_error(gate: Gate) -> None:
    write(gate, {"p:a": "1"})

    write(gate, {"p:b": "1"}, "p:absent")

    assert gate.read_entries() == {"p:a": "1", "p:b": "1"}


@pytest.mark.parametrize("count", [10, 50, 51, 120])
def test_entries_are_all_read_however_many_pages_that_takes(gate: Gate, count: int) -> None:
    entries = {f"p:tool/{number:03d}": str(number) for number in range(count)}
    etag = gate.read_etag()
    left = Change(entries)
    while left:
        batch = left.batch()
        etag = gate.update(batch, etag)
        left = Change({key: value for key, value in left.puts.items() if key not in batch.puts})

    assert gate.read_entries() == entries


def test_keys_and_values_come_back_byte_by_byte(gate: Gate) -> None:
    entries = {
        "owner": "0" * 32,
        "p:" + "k" * 480: "v" * MAX_VALUE_BYTES,
        "p:tool/c++/a_b-1.2%2B.tgz": "a b",
        "d:": "/",
        "s:p1": "live",
        "a:old/é": "ü",
    }
    write(gate, entries)

    assert gate.read_entries() == entries


def test_a_full_update_of_puts_and_deletes_is_made(gate: Gate) -> None:
    old = {f"p:{number}": "1" for number in range(20)}
    write(gate, old)

    write(gate, {f"p:new{number}": "1" for number in range(BATCH - 20)}, *old)

    assert len(gate.read_entries()) == BATCH - 20


def test_a_keeper_lists_and_drops_more_than_one_update_holds(gate: Gate) -> None:
    keys = [f"tool/{number}" for number in range(111)]
    keeper = GateKeeper(gate, lambda: None)

    keeper.write(lambda entries: list_paths(entries, keys, "p1"))
    assert len(gate.read_entries()) == 111
    keeper.write(lambda entries: Change(deletes=list(entries)))

    assert gate.read_entries() == {}


def test_of_two_keepers_neither_writes_over_the_other(gate: Gate) -> None:
    keepers = [GateKeeper(gate, lambda: None) for _ in range(2)]
    for number in range(4):
        wanted = {f"p:{number}": "1"}
        keepers[number % 2].write(
            lambda entries, wanted=wanted: Change() if wanted.items() <= entries.items() else Change(wanted)
        )

    assert set(gate.read_entries()) == {"p:0", "p:1", "p:2", "p:3"}


# --- Rights ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", CALLS)
def test_a_user_without_the_right_to_is_denied_and_changes_nothing(
    server: Server,
    client: "CloudFrontKeyValueStoreClient",
    stranger: "CloudFrontKeyValueStoreClient",
    how: str,
) -> None:
    arn = server.new_store()
    mine, theirs = KeyValueStore(client, arn), KeyValueStore(stranger, arn)
    etag = write(mine, {"p:b": "1"})

    with pytest.raises(AccessDeniedError) as caught:
        CALLS[how](theirs)
    with pytest.raises(AccessDeniedError):
        theirs.update(Change({"p:a": "2"}, ("p:b",)), etag)

    assert "aws sts get-caller-identity" in caught.value.next_step
    assert mine.read_entries() == {"p:b": "1"}
    assert mine.read_etag() == etag


@pytest.mark.parametrize("action", ACTIONS)
def test_each_method_needs_its_own_right_and_no_other(server: Server, action: str) -> None:
    name = f"gate-{secrets.token_hex(4)}"
    user = server.ministack.new_user(name, allow([action], "*"))
    arn = server.new_store()
    denied: dict[str, bool] = {}
    with closing(server.client(user)) as made:
        for how, needs in zip(CALLS, ACTIONS, strict=True):
            try:
                CALLS[how](KeyValueStore(made, arn))
            except AccessDeniedError:
                denied[needs] = True
            except ConflictError:
                denied[needs] = False
            else:
                denied[needs] = False

    assert denied == {needs: needs != action for needs in ACTIONS}


@pytest.mark.parametrize("how", CALLS)
def test_forged_credentials_are_denied(server: Server, how: str) -> None:
    forged = replace(server.actor, secret_access_key="forged")
    with closing(server.client(forged)) as made, pytest.raises(AccessDeniedError):
        CALLS[how](KeyValueStore(made, server.new_store()))


@pytest.mark.parametrize("how", CALLS)
def test_a_store_that_does_not_exist_is_an_error_and_not_an_empty_one(
    client: "CloudFrontKeyValueStoreClient", server: Server, how: str
) -> None:
    absent = server.new_store().rsplit("/", 1)[0] + "/absent"
    with pytest.raises(StoreError, match="ResourceNotFoundException"):
        CALLS[how](KeyValueStore(client, absent))


@pytest.mark.parametrize("how", CALLS)
def test_every_request_says_so_when_the_service_is_not_there(how: str) -> None:
    session = open_session(Credentials("key", "secret"))
    with (
        reserve_port() as port,
        closing(
            session.client(
                "cloudfront-keyvaluestore",
                endpoint_url=f"http://{LOOPBACK}:{port}",
                config=local_config(),
            )
        ) as made,
    ):
        made.meta.events.register("before-send.cloudfront-keyvaluestore", strip_account)
        with pytest.raises(StoreError, match="Could not connect") as caught:
            CALLS[how](KeyValueStore(made, ARN))
    assert type(caught.value) is StoreError


# --- Where the emulator deviates -------------------------------------------------------------------------


def test_each_deviation_of_the_emulator_is_real(
    server: Server, client: "CloudFrontKeyValueStoreClient"
) -> None:
    arn = server.new_store()
    found: list[str] = []

    def put(entries: Mapping[str, str]) -> None:
        etag = client.describe_key_value_store(KvsARN=arn)["ETag"]
        puts = [{"Key": key, "Value": value} for key, value in entries.items()]
        client.update_keys(KvsARN=arn, IfMatch=etag, Puts=puts)  # pyright: ignore[reportArgumentType]

    put({str(number): "" for number in range(BATCH + 1)})
    found.append("batch_size")
    put({"k" * (MAX_KEY_BYTES + 1): ""})
    found.append("key_length")
    put({"k": "v" * (MAX_VALUE_BYTES + 1)})
    found.append("value_length")
    owner = server.ministack.new_user(f"gate-{secrets.token_hex(4)}", allow(ACTIONS, arn))
    with closing(server.client(owner)) as made:
        try:
            KeyValueStore(made, arn).read_etag()
        except AccessDeniedError:
            found.append("resource")

    assert found == list(DEVIATIONS)


# --- Requests --------------------------------------------------------------------------------------------

ARN = "arn:aws:cloudfront::123456789012:key-value-store/gate"
LIST = {"KvsARN": ARN, "MaxResults": 50}
UPDATE = {
    "KvsARN": ARN,
    "IfMatch": "e1",
    "Puts": [{"Key": "p:a", "Value": "p1"}],
    "Deletes": [{"Key": "p:b"}, {"Key": "p:c"}],
}
UPDATED = {"ItemCount": 1, "TotalSizeInBytes": 5, "ETag": "e2"}
CHANGE = Change({"p:a": "p1"}, ("p:b", "p:c"))


@dataclass(frozen=True, slots=True)
class Desk:
    """The adapter on a client whose answers are laid out beforehand, in order."""

    stub: Stubber
    gate: Gate

    def answer(self, operation: str, response: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
        self.stub.add_response(operation, dict(response), dict(expected))

    def refuse(
        self, operation: str, code: str, status: int, expected: Mapping[str, Any], message: str = ""
    ) -> None:
        self.stub.add_client_error(
            operation,
            service_error_code=code,
            service_message=message,
            http_status_code=status,
            expected_params=dict(expected),
        )


@pytest.fixture(scope="module")
def offline() -> "Generator[CloudFrontKeyValueStoreClient]":
    session = open_session(Credentials("key", "secret"))
    # The stub answers everything; if it ever did not, nobody listens on the discard port.
    endpoint = "http://127.0.0.1:9"
    with closing(
        session.client("cloudfront-keyvaluestore", endpoint_url=endpoint, config=local_config())
    ) as made:
        yield made


@pytest.fixture
def desk(offline: "CloudFrontKeyValueStoreClient") -> Generator[Desk]:
    with Stubber(offline) as stub:
        yield Desk(stub, KeyValueStore(offline, ARN))
        stub.assert_no_pending_responses()


def describe(etag: str) -> dict[str, Any]:
    return {"ETag": etag, "ItemCount": 0, "TotalSizeInBytes": 0, "KvsARN": ARN, "Created": 0}


def test_the_etag_is_that_of_the_data_plane(desk: Desk) -> None:
    desk.answer("describe_key_value_store", describe("e1"), {"KvsARN": ARN})

    assert desk.gate.read_etag() == "e1"


def test_entries_are_listed_in_the_largest_pages_there_are(desk: Desk) -> None:
    first = {"Items": [{"Key": "a", "Value": "1"}], "NextToken": "t"}
    desk.answer("list_keys", first, LIST)
    desk.answer("list_keys", {"Items": [{"Key": "b", "Value": "2"}]}, {**LIST, "NextToken": "t"})

    assert desk.gate.read_entries() == {"a": "1", "b": "2"}


def test_an_empty_page_in_between_does_not_end_the_listing(desk: Desk) -> None:
    desk.answer("list_keys", {"NextToken": "t"}, LIST)
    desk.answer("list_keys", {"Items": [{"Key": "b", "Value": "2"}]}, {**LIST, "NextToken": "t"})

    assert desk.gate.read_entries() == {"b": "2"}


def test_an_update_is_one_request_with_its_condition(desk: Desk) -> None:
    desk.answer("update_keys", UPDATED, UPDATE)

    assert desk.gate.update(CHANGE, "e1") == "e2"


def test_these_tests_notice_the_condition_of_an_update(offline: "CloudFrontKeyValueStoreClient") -> None:
    with Stubber(offline) as stub:
        stub.add_response("update_keys", UPDATED, {**UPDATE, "IfMatch": "e2"})
        with pytest.raises(StoreError, match="Error getting response stub"):
            KeyValueStore(offline, ARN).update(CHANGE, "e1")


def test_an_update_sends_50_entries_at_the_limits_of_key_and_value(desk: Desk) -> None:
    long = "é" * (MAX_KEY_BYTES // 2)
    puts = {long: "v" * MAX_VALUE_BYTES, **{str(number): "" for number in range(29)}}
    deletes = [f"-{number}" for number in range(20)]
    desk.answer(
        "update_keys",
        UPDATED,
        {
            "KvsARN": ARN,
            "IfMatch": "e1",
            "Puts": [{"Key": key, "Value": value} for key, value in puts.items()],
            "Deletes": [{"Key": key} for key in deletes],
        },
    )

    assert desk.gate.update(Change(puts, deletes), "e1") == "e2"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (Change({str(n): "" for n in range(51)}), "found 51 entries in one update"),
        (Change(deletes=[str(n) for n in range(51)]), "found 51 entries in one update"),
        (Change({str(n): "" for n in range(30)}, [f"-{n}" for n in range(21)]), "found 51 entries"),
        (Change({"k" * 513: ""}), "the gate's entry k+… is too long"),
        (Change({"é" * 257: ""}), "the gate's entry é+… is too long"),
        (Change({"k": "v" * 1025}), "the gate's entry k… is too long"),
        (Change({"k": "é" * 513}), "the gate's entry k… is too long"),
    ],
    ids=["puts", "deletes", "both", "key", "key in bytes", "value", "value in bytes"],
)
def test_what_the_service_would_not_take_is_never_sent(desk: Desk, change: Change, problem: str) -> None:
    # Nothing is laid out, so that a request would be another error.
    with pytest.raises(StoreError, match=problem) as caught:
        desk.gate.update(change, "e1")
    assert type(caught.value) is StoreError


REQUESTS: Mapping[str, tuple[str, Mapping[str, Any], Call]] = {
    "read_etag": ("describe_key_value_store", {"KvsARN": ARN}, lambda gate: gate.read_etag()),
    "read_entries": ("list_keys", LIST, lambda gate: gate.read_entries()),
    "update": ("update_keys", UPDATE, lambda gate: gate.update(CHANGE, "e1")),
}


@pytest.mark.parametrize("how", REQUESTS)
@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        ("AccessDeniedException", 403, AccessDeniedError),
        ("ExpiredTokenException", 403, AccessDeniedError),
        ("UnrecognizedClientException", 403, AccessDeniedError),
        ("InvalidSignatureException", 403, AccessDeniedError),
        ("MissingAuthenticationTokenException", 403, AccessDeniedError),
        ("ConflictException", 409, ConflictError),
        ("InternalServerException", 500, StoreError),
        ("ValidationException", 400, StoreError),
        ("ServiceQuotaExceededException", 402, StoreError),
        ("ThrottlingException", 400, StoreError),
    ],
)
def test_an_error_says_what_could_not_be_done_and_is_told_by_its_code(
    desk: Desk, how: str, code: str, status: int, error: type[StoreError]
) -> None:
    operation, expected, call = REQUESTS[how]
    desk.refuse(operation, code, status, expected)

    with pytest.raises(
        StoreError, match=f"^cannot (read|change) the gate's (store|entries): {code}"
    ) as caught:
        call(desk.gate)
    assert type(caught.value) is error


@pytest.mark.parametrize("how", ["read_etag", "read_entries"])
def test_a_store_that_is_gone_is_never_an_empty_one(desk: Desk, how: str) -> None:
    operation, expected, call = REQUESTS[how]
    desk.refuse(operation, "ResourceNotFoundException", 404, expected)

    with pytest.raises(GoneError):
        call(desk.gate)


def test_an_update_that_finds_nothing_to_delete_is_a_conflict_so_that_the_keeper_reads_again(
    desk: Desk,
) -> None:
    desk.answer("describe_key_value_store", describe("e1"), {"KvsARN": ARN})
    desk.answer("list_keys", {"Items": [{"Key": "p:b", "Value": "p1"}, {"Key": "p:c", "Value": "p1"}]}, LIST)
    delete = {**UPDATE, "Puts": [], "Deletes": [{"Key": "p:b"}, {"Key": "p:c"}]}
    desk.refuse("update_keys", "ResourceNotFoundException", 404, delete)
    desk.answer("describe_key_value_store", describe("e2"), {"KvsARN": ARN})
    desk.answer("list_keys", {"Items": [{"Key": "p:c", "Value": "p1"}]}, LIST)
    desk.answer("update_keys", UPDATED, {**delete, "IfMatch": "e2", "Deletes": [{"Key": "p:c"}]})

    GateKeeper(desk.gate, lambda: None).write(lambda entries: Change(deletes=list(entries)))


@pytest.mark.parametrize("code", ["ValidationException", "UnknownError"])
@pytest.mark.parametrize(
    "message",
    [
        "Pre-Condition failed",
        "Pre-condition failed.",
        "pre-condition failed",
        "1: PRE-CONDITION FAILED (ETag)",
    ],
)
def test_a_condition_that_failed_is_a_conflict_whatever_code_the_service_gives_it(
    desk: Desk, code: str, message: str
) -> None:
    desk.refuse("update_keys", code, 400, UPDATE, message)

    with pytest.raises(ConflictError) as caught:
        desk.gate.update(CHANGE, "e1")
    assert str(caught.value) == f"cannot change the gate's entries: PreconditionFailed {message}"


@pytest.mark.parametrize("message", ["", "Key is too long", "Pre-Condition", "failed condition"])
def test_any_other_validation_error_is_no_conflict(desk: Desk, message: str) -> None:
    desk.refuse("update_keys", "ValidationException", 400, UPDATE, message)

    with pytest.raises(StoreError, match=f"ValidationException {message}".rstrip()) as caught:
        desk.gate.update(CHANGE, "e1")
    assert type(caught.value) is StoreError


def test_a_keeper_whose_condition_failed_reads_again_and_writes_on_what_it_then_finds(desk: Desk) -> None:
    checks: list[str] = []
    put = {"KvsARN": ARN, "Puts": [{"Key": "p:a", "Value": "p1"}], "Deletes": []}
    desk.answer("describe_key_value_store", describe("e1"), {"KvsARN": ARN})
    desk.answer("list_keys", {"Items": []}, LIST)
    both = [*put["Puts"], {"Key": "p:b", "Value": "p1"}]
    stale = {**put, "IfMatch": "e1", "Puts": both}
    desk.refuse("update_keys", "ValidationException", 400, stale, "Pre-Condition failed")
    desk.answer("describe_key_value_store", describe("e2"), {"KvsARN": ARN})
    desk.answer("list_keys", {"Items": [{"Key": "p:b", "Value": "p1"}]}, LIST)
    desk.answer("update_keys", UPDATED, {**put, "IfMatch": "e2"})

    keeper = GateKeeper(desk.gate, lambda: checks.append("checked"))

    assert keeper.write(lambda entries: list_paths(entries, ["a", "b"], "p1"))
    # The lease is looked at before either update, and before it is found that nothing is left.
    assert len(checks) == 3
