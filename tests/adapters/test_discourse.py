"""Announcing on a Discourse forum: one topic at most, whatever is lost, and no key in any message."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from publisher.adapters.discourse import Discourse
from publisher.adapters.http import Limits
from publisher.errors import AnnounceError
from sandbox.discourse import DiscourseServer, Fault, Reply, Seen, run_discourse
from sandbox.ministack import reserve_port

KEY = "0123456789abcdef-a-very-secret-key"
USER = "release-bot"
TITLE = "Tool 1.2.0 is now available"
BODY = "Now available: Tool 1.2.0, with all of its files."
ID = "tool-1_2_0-0123456789ab"
QUICK = Limits(read=0.5)
"""For a forum that stays silent; the others have all the time that a busy machine may need."""


class Clock:
    """Sleeps in no time, and knows how long."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


@pytest.fixture
def forum() -> Generator[DiscourseServer]:
    with run_discourse(key=KEY, user=USER) as server:
        yield server


@pytest.fixture
def clock() -> Clock:
    return Clock()


def connect(forum: DiscourseServer, clock: Clock, limits: Limits | None = None) -> Discourse:
    return Discourse(forum.url, KEY, USER, 1, limits=limits, sleep=clock.sleep, max_wait=60.0)


@pytest.fixture
def discourse(forum: DiscourseServer, clock: Clock) -> Discourse:
    return connect(forum, clock)


def fail(discourse: Discourse, title: str = TITLE, external_id: str = ID) -> AnnounceError:
    with pytest.raises(AnnounceError) as caught:
        discourse.post(title, BODY, external_id)
    assert KEY not in str(caught.value) + caught.value.next_step
    return caught.value


# --- One topic -------------------------------------------------------------------------------------------


def test_a_topic_is_posted_and_found_by_its_external_id(forum: DiscourseServer, discourse: Discourse) -> None:
    assert discourse.find(ID) is None

    url = discourse.post(TITLE, BODY, ID)

    assert url == f"{forum.url}/t/tool-1-2-0-is-now-available/1"
    assert discourse.find(ID) == url
    (topic,) = forum.forum.topics
    assert (topic.title, topic.raw, topic.external_id) == (TITLE, BODY, ID)
    assert (topic.category, topic.user, topic.tags) == (1, USER, ())


def test_it_is_posted_once_although_asked_twice(forum: DiscourseServer, discourse: Discourse) -> None:
    first = discourse.post(TITLE, BODY, ID)

    assert discourse.post("Another title for the same", "Another body, long enough.", ID) == first
    assert forum.count("POST") == 1
    assert forum.forum.topics[0].raw == BODY


def test_other_releases_get_another_topic(forum: DiscourseServer, discourse: Discourse) -> None:
    assert discourse.post(TITLE, BODY, ID) != discourse.post("Tool 1.2.1 is now available", BODY, "other")
    assert len(forum.forum.topics) == 2


def test_tags_are_sent_where_there_are_any(forum: DiscourseServer) -> None:
    Discourse(forum.url, KEY, USER, 1, tags=["release", "beta"]).post(TITLE, BODY, ID)

    assert forum.forum.topics[0].tags == ("release", "beta")


def test_it_says_who_asks_and_as_whom(forum: DiscourseServer) -> None:
    Discourse(forum.url, KEY, USER, 1, user_agent="publish-gate/test").post(TITLE, BODY, ID)

    for seen in forum.log:
        assert (seen.headers["api-key"], seen.headers["api-username"]) == (KEY, USER)
        assert seen.headers["user-agent"] == "publish-gate/test"


@pytest.mark.parametrize("believed", ["http://inside:3000", "https://inside"])
def test_the_urls_are_of_the_forum_that_is_asked(clock: Clock, believed: str) -> None:
    with run_discourse(key=KEY, user=USER, folder="/forum") as server:
        server.believed = believed
        discourse = connect(server, clock)

        assert discourse.post(TITLE, BODY, ID) == f"{server.base}/forum/t/tool-1-2-0-is-now-available/1"
        assert discourse.find(ID) == f"{server.base}/forum/t/tool-1-2-0-is-now-available/1"


# --- Answers that are lost -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "limits"),
    [(Fault.FAIL_AFTER, None), (Fault.DROP_AFTER, None), (Fault.SILENCE_AFTER, QUICK)],
)
def test_a_topic_whose_answer_was_lost_is_found(
    forum: DiscourseServer, clock: Clock, fault: Fault, limits: Limits | None
) -> None:
    discourse = connect(forum, clock, limits)
    forum.inject(fault)

    assert discourse.post(TITLE, BODY, ID) == f"{forum.url}/t/tool-1-2-0-is-now-available/1"
    assert (len(forum.forum.topics), forum.count("POST")) == (1, 1)


@pytest.mark.parametrize(
    ("fault", "limits"),
    [
        (Fault.FAIL_BEFORE, None),
        (Fault.DROP_BEFORE, None),
        (Fault.READ_ONLY, None),
        (Fault.SILENCE_BEFORE, QUICK),
    ],
)
def test_a_topic_that_was_not_made_is_an_error_and_the_next_run_makes_it(
    forum: DiscourseServer, clock: Clock, fault: Fault, limits: Limits | None
) -> None:
    discourse = connect(forum, clock, limits)
    forum.inject(fault)

    error = fail(discourse)

    assert "the topic is not there" in str(error)
    assert "run again" in error.next_step
    assert (forum.forum.topics, forum.count("POST")) == ([], 1)
    assert discourse.post(TITLE, BODY, ID).endswith("/1")


def test_what_cannot_be_known_is_said_and_settled_by_the_next_run(
    forum: DiscourseServer, discourse: Discourse
) -> None:
    forum.inject(Fault.DROP_AFTER)
    # The look before passes, the one after does not, however often it is asked again.
    forum.inject(None, *[Fault.FAIL_BEFORE] * 4, method="GET")

    error = fail(discourse)

    assert "it cannot be known whether the topic was posted" in str(error)
    assert "answered 500" in str(error)
    assert discourse.post(TITLE, BODY, ID).endswith("/1")
    assert (len(forum.forum.topics), forum.count("POST")) == (1, 1)


def test_a_topic_that_another_run_makes_meanwhile_is_found(
    forum: DiscourseServer, discourse: Discourse
) -> None:
    answer = forum.answer

    def be_late(seen: Seen) -> Reply:
        if seen.method == "POST":
            forum.forum.create(USER, {"title": TITLE, "raw": BODY, "category": 1, "external_id": ID})
        return answer(seen)

    forum.answer = be_late

    assert discourse.post(TITLE, f"{BODY} From another machine.", ID).endswith("/1")
    assert [topic.raw for topic in forum.forum.topics] == [BODY]
    assert forum.count("POST") == 1


def test_a_forum_that_is_not_there_posted_nothing(clock: Clock) -> None:
    with reserve_port() as port:
        discourse = Discourse(f"http://127.0.0.1:{port}", KEY, USER, 1, sleep=clock.sleep)
        with pytest.raises(AnnounceError, match="no answer from"):
            discourse.post(TITLE, BODY, ID)


def test_a_forum_that_goes_away_before_the_post_got_nothing(
    forum: DiscourseServer, discourse: Discourse
) -> None:
    answer = forum.answer

    def hang_up(seen: Seen) -> Reply:
        forum.server_close()
        reply = answer(seen)
        return Reply(reply.status, reply.body, {"Connection": "close"})

    forum.answer = hang_up

    assert "the topic is not there" not in str(fail(discourse))
    assert [seen.method for seen in forum.log] == ["GET"]


# --- Refusals --------------------------------------------------------------------------------------------


def test_a_post_that_waits_for_approval_is_an_error(forum: DiscourseServer, discourse: Discourse) -> None:
    forum.forum.moderated = True

    error = fail(discourse)

    assert "waits for a moderator's approval" in str(error)
    assert "a second run would queue it twice" in error.next_step
    assert (forum.forum.topics, len(forum.forum.queue)) == ([], 1)


def test_a_deleted_topic_is_not_posted_again(forum: DiscourseServer, discourse: Discourse) -> None:
    discourse.post(TITLE, BODY, ID)
    forum.forum.delete(ID)
    forum.forum.forget()

    error = fail(discourse)

    assert "External has already been taken" in str(error)
    assert "restore it" in error.next_step
    assert len(forum.forum.topics) == 1


@pytest.mark.parametrize(
    ("title", "external_id", "reason"),
    [
        ("Short", ID, "Title is too short"),
        ("T" * 256, ID, "Title is too long"),
        (TITLE, "3.14", "External is invalid"),
        (TITLE, "x" * 51, "External is too long"),
    ],
)
def test_what_the_forum_minds_is_passed_on(
    discourse: Discourse, forum: DiscourseServer, title: str, external_id: str, reason: str
) -> None:
    if external_id == "3.14":
        # No route has such an id: the forum's own 404 says so.
        assert discourse.find(external_id) is None

    error = fail(discourse, title, external_id)

    assert reason in str(error)
    assert "answered 422" in str(error)
    assert error.next_step == "correct what the forum says, then run again"
    assert forum.forum.topics == []


def test_a_title_that_is_taken_is_no_topic_of_ours(forum: DiscourseServer, discourse: Discourse) -> None:
    discourse.post(TITLE, BODY, "other")

    assert "Title has already been used" in str(fail(discourse))


@pytest.mark.parametrize(("key", "category"), [("wrong", 1), (KEY, 7)])
def test_a_key_or_category_that_is_wrong_is_an_error(forum: DiscourseServer, key: str, category: int) -> None:
    discourse = Discourse(forum.url, key, USER, category)

    with pytest.raises(AnnounceError) as caught:
        discourse.post(TITLE, BODY, ID)

    if key == KEY:
        assert "answered 400 You supplied invalid parameters to the request: category" in str(caught.value)
    else:
        assert "answered 403" in str(caught.value)
        assert "check the key" in caught.value.next_step
        # A key that is refused is never taken for a topic that is not there.
        assert forum.count("POST") == 0
    assert forum.forum.topics == []


def test_an_address_without_a_forum_is_no_forum_without_the_topic(
    forum: DiscourseServer, clock: Clock
) -> None:
    with run_discourse(key=KEY, user=USER, folder="/forum") as server:
        discourse = Discourse(server.base, KEY, USER, 1, sleep=clock.sleep)
        with pytest.raises(AnnounceError, match="answered 404") as caught:
            discourse.find(ID)
        assert "address" in caught.value.next_step
        assert server.count("POST") == 0


def test_a_redirect_is_not_followed(forum: DiscourseServer, discourse: Discourse) -> None:
    forum.answer = lambda seen: Reply(301, "", {"Location": "https://other.example.org/login"})

    with pytest.raises(AnnounceError, match="answered 301") as caught:
        discourse.find(ID)

    assert "does not redirect" in caught.value.next_step
    assert forum.count("GET") == 1


@pytest.mark.parametrize(
    "body", ["fine", {"id": 1}, [1], {"topic_id": "1", "topic_slug": "x"}, {"errors": "no list"}]
)
def test_an_answer_that_is_none_is_not_taken_for_a_topic(
    forum: DiscourseServer, discourse: Discourse, body: object
) -> None:
    look = forum.answer
    forum.answer = lambda seen: Reply(200, body) if seen.method == "POST" else look(seen)

    assert "found an answer without a topic" in str(fail(discourse))


# --- Throttling ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "pause"), [(Fault.THROTTLE, 7.0), (Fault.THROTTLE_IN_BODY, 7.0), (Fault.THROTTLE_MUTE, 10.0)]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_busy_forum_is_waited_for_as_long_as_it_asks(
    forum: DiscourseServer, discourse: Discourse, clock: Clock, fault: Fault, pause: float, method: str
) -> None:
    forum.inject(fault, fault, method=method)

    assert discourse.post(TITLE, BODY, ID).endswith("/1")
    assert clock.slept == [pause, pause]
    assert len(forum.forum.topics) == 1


def test_a_forum_that_is_busy_for_too_long_is_not_waited_for(
    forum: DiscourseServer, discourse: Discourse, clock: Clock
) -> None:
    forum.wait_seconds = 25
    forum.inject(*[Fault.THROTTLE] * 3)

    error = fail(discourse)

    assert "asks to wait 25 s more" in str(error)
    assert error.next_step == "run again in 25 s"
    assert (clock.slept, forum.forum.topics) == ([25.0, 25.0], [])


def test_a_wait_of_nothing_is_a_second(forum: DiscourseServer, discourse: Discourse, clock: Clock) -> None:
    forum.wait_seconds = 0
    forum.inject(Fault.THROTTLE_IN_BODY)

    discourse.post(TITLE, BODY, ID)

    assert clock.slept == [1.0]


# --- Settings --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["", f"{KEY}\n", f" {KEY}", f"{KEY}\u20ac"])
def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(AnnounceError, match="found an API key that is empty or has blanks") as caught:
        Discourse("https://forum.example.org", key, USER, 1)
    assert KEY not in str(caught.value)
    with pytest.raises(AnnounceError, match="found an API user"):
        Discourse("https://forum.example.org", KEY, key, 1)


@pytest.mark.parametrize("url", ["http://forum.example.org", "forum.example.org", "ftp://127.0.0.1", ""])
def test_the_key_does_not_go_out_in_the_clear(url: str) -> None:
    with pytest.raises(AnnounceError, match=r"expected https://"):
        Discourse(url, KEY, USER, 1)


def test_the_key_is_not_shown(forum: DiscourseServer, discourse: Discourse) -> None:
    assert repr(discourse) == f"Discourse('{forum.url}', category=1)"
    forum.answer = lambda seen: Reply(403, {"errors": [f"who is {KEY}?"], "error_type": "invalid_access"})

    with pytest.raises(AnnounceError, match=r"who is \[key\]\?"):
        discourse.find(ID)


def test_nothing_of_this_machine_is_sent_along(
    forum: DiscourseServer, discourse: Discourse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "netrc"
    file.write_text("machine 127.0.0.1 login someone password something\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(file))

    discourse.post(TITLE, BODY, ID)

    assert not any("authorization" in seen.headers for seen in forum.log)
