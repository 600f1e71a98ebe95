"""Who is asking: answered by a real STS, with credentials that are good, expired, forged or missing."""

import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from botocore.config import Config

from publisher.adapters.sts import StsCaller
from publisher.errors import AccessDeniedError, StoreError
from publisher.ports import Session
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

TRUST = (
    '{"Version":"2012-10-17","Statement":'
    '[{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"sts:AssumeRole"}]}'
)


@pytest.fixture(scope="module")
def user(ministack: Ministack) -> Credentials:
    statement = {
        "Effect": "Allow",
        "Action": "sts:AssumeRole",
        "Resource": "arn:aws:iam::000000000000:role/*",
    }
    return ministack.new_user("identified", {"Version": "2012-10-17", "Statement": [statement]})


def test_a_user_is_named_by_its_arn(ministack: Ministack, user: Credentials) -> None:
    with acting_as(user, ministack.endpoint):
        assert StsCaller(REGION).who() == "arn:aws:iam::000000000000:user/identified"


def test_it_is_asked_once(ministack: Ministack, user: Credentials) -> None:
    identity = StsCaller(REGION)
    with acting_as(user, ministack.endpoint):
        identity.who()
    with reserve_port() as port, acting_as(user, f"http://{LOOPBACK}:{port}"):
        assert identity.who() == user.arn


@pytest.fixture(scope="module")
def role(ministack: Ministack) -> str:
    session = ministack.root_session()
    with closing(session.client("iam", endpoint_url=ministack.endpoint, config=local_config())) as iam:
        return iam.create_role(RoleName="manager", AssumeRolePolicyDocument=TRUST)["Role"]["Arn"]


def assume(role: str, user: Credentials, endpoint: str, seconds: int) -> Credentials:
    # The emulator allows sessions shorter than the SDK would ask for.
    config = local_config().merge(Config(parameter_validation=False))
    with closing(open_session(user).client("sts", endpoint_url=endpoint, config=config)) as sts:
        answer = sts.assume_role(RoleArn=role, RoleSessionName="rm", DurationSeconds=seconds)
    found = answer["Credentials"]
    return Credentials(found["AccessKeyId"], found["SecretAccessKey"], token=found["SessionToken"])


def test_a_role_session_is_named_by_its_arn(ministack: Ministack, user: Credentials, role: str) -> None:
    with acting_as(assume(role, user, ministack.endpoint, 900), ministack.endpoint):
        assert StsCaller(REGION).who() == "arn:aws:sts::000000000000:assumed-role/manager/rm"


def test_a_session_that_has_expired_is_refused(ministack: Ministack, user: Credentials, role: str) -> None:
    session = assume(role, user, ministack.endpoint, 1)
    time.sleep(1.2)
    with (
        acting_as(session, ministack.endpoint),
        pytest.raises(AccessDeniedError, match="ExpiredToken") as caught,
    ):
        StsCaller(REGION).who()
    assert "log in again" in caught.value.next_step


def test_credentials_that_are_forged_or_unknown_are_refused(ministack: Ministack, user: Credentials) -> None:
    for wrong in (replace(user, secret_access_key="forged"), Credentials("AKIAUNKNOWN", "unknown")):
        with acting_as(wrong, ministack.endpoint), pytest.raises(AccessDeniedError) as caught:
            StsCaller(REGION).who()
        assert "log in again" in caught.value.next_step


def test_no_credentials_at_all_are_refused(ministack: Ministack) -> None:
    with acting_as(Credentials("", ""), ministack.endpoint), pytest.raises(AccessDeniedError) as caught:
        StsCaller(REGION).who()
    assert "AWS_PROFILE" in caught.value.next_step


def test_a_network_that_is_down_says_nothing_about_credentials(
    user: Credentials, monkeypatch: pytest.MonkeyPatch
) -> None:
    def configure(**_: object) -> Config:
        # Five attempts, as the adapter asks for, take many seconds.
        return Config(retries={"total_max_attempts": 1})

    monkeypatch.setattr("publisher.adapters.sts.Config", configure)
    with (
        reserve_port() as port,
        acting_as(user, f"http://{LOOPBACK}:{port}"),
        pytest.raises(StoreError, match="cannot be asked") as caught,
    ):
        StsCaller(REGION).who()
    assert not isinstance(caught.value, AccessDeniedError)
    assert caught.value.next_step == "check the network"


def test_lasting_credentials_are_no_session(user: Credentials) -> None:
    with acting_as(user, "http://127.0.0.1:9"):
        assert StsCaller(REGION).session() is None


def test_a_session_does_not_tell_when_it_ends_unless_its_issuer_did(
    user: Credentials, monkeypatch: pytest.MonkeyPatch
) -> None:
    with acting_as(replace(user, token="token"), "http://127.0.0.1:9"):
        assert StsCaller(REGION).session() == Session(None)
        monkeypatch.setenv("AWS_CREDENTIAL_EXPIRATION", "2126-01-02T03:04:05Z")
        found = StsCaller(REGION).session()
    assert found is not None
    assert found.until == datetime(2126, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_without_credentials_there_is_no_session(user: Credentials, monkeypatch: pytest.MonkeyPatch) -> None:
    with acting_as(user, "http://127.0.0.1:9"):
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
        assert StsCaller(REGION).session() is None


def test_credentials_that_have_ended_are_said_to_be_invalid(
    user: Credentials, monkeypatch: pytest.MonkeyPatch
) -> None:
    with acting_as(replace(user, token="token"), "http://127.0.0.1:9"):
        monkeypatch.setenv("AWS_CREDENTIAL_EXPIRATION", "2016-01-02T03:04:05Z")
        with pytest.raises(AccessDeniedError, match="not valid"):
            StsCaller(REGION).session()
