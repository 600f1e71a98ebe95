"""Telling a webhook: signed, under one id, until it is taken or refused; and no secret in any message."""

import hashlib
import hmac
import json
import os
from collections.abc import Generator

import pytest

from publisher.adapters.http import Limits
from publisher.adapters.webhook import Webhook, sign
from publisher.errors import AnnounceError
from sandbox.discourse import Fault, Receiver, run_receiver
from sandbox.ministack import reserve_port

SECRET = b"a-very-secret-secret"
ID = "tool-1_2_0-0123456789ab"
EVENT: dict[str, object] = {"id": ID, "title": "Ce est là", "releases": [{"name": "1.2.0", "size": 3}]}
QUICK = Limits(read=0.5)
"""For a receiver that stays silent; the others have all the time that a busy machine may need."""


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


@pytest.fixture
def receiver() -> Generator[Receiver]:
    with run_receiver(secret=SECRET) as running:
        yield running


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def webhook(receiver: Receiver, slept: list[float]) -> Webhook:
    return Webhook(receiver.url, SECRET, sleep=slept.append)


def fail(webhook: Webhook) -> AnnounceError:
    with pytest.raises(AnnounceError) as caught:
        webhook.send(EVENT)
    words = str(caught.value) + caught.value.next_step
    assert SECRET.decode() not in words
    assert "token-in-the-path" not in words
    return caught.value


def test_an_event_arrives_whole_and_signed(receiver: Receiver, webhook: Webhook, slept: list[float]) -> None:
    webhook.send(EVENT)

    assert receiver.events == {ID: EVENT}
    (seen,) = receiver.log
    assert (seen.method, seen.headers["content-type"]) == ("POST", "application/json")
    assert seen.headers["idempotency-key"] == ID
    wanted = hmac.new(SECRET, seen.body, hashlib.sha256).hexdigest()
    assert seen.headers["x-signature-256"] == f"sha256={wanted}" == sign(seen.body, SECRET)
    assert json.loads(seen.body) == EVENT
    assert slept == []


@pytest.mark.parametrize(
    ("fault", "limits"),
    [
        (Fault.FAIL_BEFORE, None),
        (Fault.FAIL_AFTER, None),
        (Fault.DROP_BEFORE, None),
        (Fault.DROP_AFTER, None),
        (Fault.SILENCE_AFTER, QUICK),
    ],
)
def test_an_event_is_sent_until_it_is_taken_and_the_id_tells_that_it_is_one(
    receiver: Receiver, slept: list[float], fault: Fault, limits: Limits | None
) -> None:
    receiver.inject(fault, fault)

    Webhook(receiver.url, SECRET, limits=limits, sleep=slept.append).send(EVENT)

    assert list(receiver.events) == [ID]
    assert len({(seen.headers["idempotency-key"], seen.body) for seen in receiver.log}) == 1
    assert (receiver.count("POST"), slept) == (3, [2.0, 4.0])


def test_a_busy_receiver_is_waited_for_as_it_asks_but_not_for_ever(
    receiver: Receiver, webhook: Webhook, slept: list[float]
) -> None:
    receiver.inject(Fault.THROTTLE)
    webhook.send(EVENT)
    receiver.wait_seconds = 3600
    receiver.inject(Fault.THROTTLE)
    webhook.send(EVENT)

    assert slept == [7.0, 60.0]


def test_the_last_attempt_is_as_good_as_the_first(
    receiver: Receiver, webhook: Webhook, slept: list[float]
) -> None:
    receiver.inject(*[Fault.FAIL_BEFORE] * 3)

    webhook.send(EVENT)

    assert list(receiver.events) == [ID]
    assert slept == [2.0, 4.0, 8.0]


def test_a_receiver_that_stays_broken_is_given_up(receiver: Receiver, webhook: Webhook) -> None:
    receiver.inject(*[Fault.FAIL_BEFORE] * 9)

    error = fail(webhook)

    assert str(error) == "the webhook at 127.0.0.1 did not take the event in 4 attempts: status 500"
    assert "the event keeps its id" in error.next_step
    assert receiver.count("POST") == 4


def test_a_receiver_that_is_not_there_is_given_up(slept: list[float]) -> None:
    with reserve_port() as port:
        hook = Webhook(f"http://127.0.0.1:{port}/token-in-the-path", SECRET, attempts=2, sleep=slept.append)
        assert "in 2 attempts: no answer" in str(fail(hook))
    assert slept == [2.0]


@pytest.mark.parametrize(
    ("status", "cure"), [(401, "same secret"), (403, "same secret"), (404, "address"), (302, "address")]
)
def test_a_refusal_is_not_argued_with(receiver: Receiver, webhook: Webhook, status: int, cure: str) -> None:
    receiver.gone = status

    error = fail(webhook)

    assert f"refused the event: status {status}" in str(error)
    assert cure in error.next_step
    assert (receiver.count("POST"), len(receiver.log)) == (1, 1)


def test_another_secret_is_refused(receiver: Receiver, slept: list[float]) -> None:
    error = fail(Webhook(receiver.url, b"another", sleep=slept.append))

    assert "same secret" in error.next_step
    assert receiver.events == {}


def test_neither_secret_nor_address_is_shown(webhook: Webhook) -> None:
    assert repr(webhook) == "Webhook('the webhook at 127.0.0.1')"


@pytest.mark.parametrize("url", ["http://hook.example.org/token", "hook.example.org", ""])
def test_an_event_does_not_go_out_in_the_clear(url: str) -> None:
    with pytest.raises(AnnounceError, match="is not https") as caught:
        Webhook(url, SECRET)
    assert "token" not in str(caught.value)
    assert (
        repr(Webhook("https://hook.example.org/token", SECRET))
        == "Webhook('the webhook at hook.example.org')"
    )


def test_an_empty_secret_is_none() -> None:
    with pytest.raises(AnnounceError, match="secret is empty"):
        Webhook("https://hook.example.org", b"")
