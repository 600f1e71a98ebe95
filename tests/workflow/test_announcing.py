"""Announcing: once, after the listing was read back, from the plan alone, whatever was interrupted."""

from dataclasses import replace
from typing import NoReturn

import pytest

from publisher.commands import promote
from publisher.core.announced import Announced
from publisher.core.announcement import make_external_id
from publisher.documents.state import encode
from publisher.errors import AnnounceError, ConfigError, Exit, StoreError, UnfinishedError
from publisher.outcomes import AnnouncedReleases, Promoted, Refused
from publisher.workflow.announcing import find_announced
from publisher.workflow.state import LEASE_KEY
from publisher.workflow.world import World
from tests.support.listing_fake import SLUG, TAG, ListedSite, a_listed_site, a_release_row, url
from tests.support.site import PKG, RELEASE, TGZ, expected_public, say_yes

ID = make_external_id([RELEASE], project="Tool")
OTHER = "1.2.4"
PROSE = "# Here it is\n\nAt last, with {{ size tool-1.2.3.pkg }}.\n\n{{ files }}\n"


class CrashError(BaseException):
    """The process is gone."""


def die_at(site: ListedSite, wanted: str, ending: str = "") -> None:
    dead = False

    def die(request: str, key: str) -> None:
        nonlocal dead
        dead = dead or (request == wanted and key.endswith(ending))
        if dead:
            raise CrashError

    site.s3.before = die


def revive(site: ListedSite) -> None:
    site.s3.before = lambda request, key: None
    site.s3.tick(121)


def refuse_at(site: ListedSite, wanted: str, error: Exception) -> None:
    def refuse(request: str, key: str) -> None:
        if request == wanted:
            raise error

    site.s3.before = refuse


def a_site_of_two() -> ListedSite:
    site = a_listed_site()
    site.database.add(a_release_row(f"Tool {OTHER}", "tool-124"))
    site.open(OTHER)
    site.stage_all(release=OTHER)
    return site


def body(site: ListedSite) -> str:
    (topic,) = site.forum.topics.values()
    return topic[1]


# --- What is posted ----------------------------------------------------------------------------------------


def test_a_first_promotion_posts_a_draft_with_the_facts_of_what_is_public() -> None:
    site = a_listed_site()

    assert isinstance(site.run(), Promoted)

    assert list(site.forum.topics) == [ID]
    for key, digest in expected_public().items():
        assert url(key) in body(site)
        assert digest in body(site)
    (event,) = site.hook.events
    assert event["id"] == ID
    note = site.world().state.read_announced(RELEASE)
    assert note is not None
    assert (note.releases, note.external_id) == ((RELEASE,), ID)
    assert note.url == f"https://forum.example.org/t/{ID}"


def test_it_is_posted_after_the_rows_were_read_back_and_shown_to_be_there() -> None:
    site = a_listed_site()
    site.run()

    names = [request for request, _ in site.requests]
    last_write = len(names) - names[::-1].index("db-write") - 1
    post = names.index("forum-post")
    assert "db-files" in names[last_write:post]
    assert post < names.index("hook-send")


def test_nothing_is_posted_when_the_rows_could_not_be_written() -> None:
    site = a_listed_site()
    refuse_at(site, "db-write", StoreError("the line is dead"))

    with pytest.raises(UnfinishedError):
        site.run()

    assert site.forum.posts == 0
    assert site.hook.events == []


def test_two_releases_of_one_promotion_are_one_post_and_one_event() -> None:
    site = a_site_of_two()

    assert isinstance(site.run(RELEASE, OTHER), Promoted)

    assert list(site.forum.topics) == [make_external_id([RELEASE, OTHER], project="Tool")]
    assert url(TGZ) in body(site)
    assert url(TGZ.replace(RELEASE, OTHER)) in body(site)
    assert len(site.hook.events) == 1
    assert len(site.state("/announced/")) == 2


# --- Once --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "ending"),
    [
        ("forum-post", ""),
        ("forum-posted", ""),
        ("hook-send", ""),
        ("hook-sent", ""),
        ("create", f"announced/{RELEASE}.json"),
        ("create", f"announced/{OTHER}.json"),
        ("create", "done.json"),
    ],
)
def test_a_crash_anywhere_around_the_post_makes_no_second_one(request_: str, ending: str) -> None:
    site = a_site_of_two()
    die_at(site, request_, ending)
    with pytest.raises(CrashError):
        site.run(RELEASE, OTHER)
    revive(site)

    assert isinstance(site.run(RELEASE, OTHER), Promoted)

    assert site.forum.posts == len(site.forum.topics) == 1
    assert len({str(event["id"]) for event in site.hook.events}) == 1
    assert len(site.state("/announced/")) == 2


def test_a_post_whose_answer_is_lost_stops_the_run_and_is_found_by_the_next() -> None:
    site = a_listed_site()
    site.forum.loses = True
    with pytest.raises(UnfinishedError, match="cannot be known"):
        site.run()
    revive(site)

    assert isinstance(site.run(), Promoted)
    assert site.forum.posts == 1
    assert len(site.hook.events) == 1


def test_a_release_that_was_announced_with_another_is_left_out_of_a_later_post() -> None:
    site = a_site_of_two()
    world = site.world()
    note = Announced(1, (RELEASE,), ID, None, "somebody", site.s3.clock)
    world.state.write_announced(RELEASE, note)

    assert isinstance(site.run(RELEASE, OTHER), Promoted)

    assert list(site.forum.topics) == [make_external_id([OTHER], project="Tool")]
    assert world.state.read_announced(RELEASE) == note


def test_one_note_counts_for_all_releases_of_its_post() -> None:
    site = a_site_of_two()
    world = site.world()
    note = Announced(1, (RELEASE, OTHER), ID, None, "somebody", site.s3.clock)
    world.state.write_announced(RELEASE, note)

    assert find_announced(world, (RELEASE, OTHER)) == {RELEASE: note, OTHER: note}
    assert find_announced(world, ("1.2.5",)) == {}
    assert isinstance(site.run(RELEASE, OTHER), Promoted)
    assert site.forum.posts == 0
    # The note that a dead run still owed.
    assert world.state.read_announced(OTHER) == note


def test_a_late_file_of_a_release_from_before_the_gate_announces_nothing() -> None:
    """Its first record is not its first file: people know of it."""
    site = a_listed_site()
    site.s3.public.store(PKG, b"first " + PKG.encode())

    assert isinstance(site.run(), Promoted)

    assert site.database.find(SLUG).is_published
    assert site.forum.posts == 0
    assert site.hook.events == []


# --- The release manager's own text ------------------------------------------------------------------------


def test_prose_is_posted_with_its_facts_filled_in() -> None:
    site = a_listed_site()

    assert isinstance(site.run(prose=PROSE), Promoted)

    ((title, text),) = site.forum.topics.values()
    assert title == "Here it is"
    assert text.startswith("At last, with 31 bytes.")
    assert url(TGZ) in text


@pytest.mark.parametrize(
    "prose", ["{{ size tool-1.2.3.exe }}", "{{ fils }}", "{{ files 9.9.9 }}", "{{ files"]
)
def test_prose_with_a_wrong_placeholder_is_refused_while_nothing_is_public(prose: str) -> None:
    site = a_listed_site()
    site.s3.writes.clear()

    outcome = site.run(prose=prose)

    assert isinstance(outcome, Refused)
    assert outcome.status == Exit.REFUSED
    assert {refusal.rule for refusal in outcome.refusals} == {"prose"}
    assert site.s3.writes == []
    assert site.database.writes == []


def test_prose_is_not_looked_at_where_announcing_is_given_up() -> None:
    site = a_listed_site()

    assert isinstance(site.run(prose="{{ fils }}", given_up={"announce": "by hand this time"}), Promoted)
    assert site.forum.posts == 0
    assert site.hook.events == []


def test_what_is_wrong_with_rows_and_prose_is_told_at_once() -> None:
    site = a_listed_site(row=False)

    outcome = site.run(prose="{{ fils }}")

    assert isinstance(outcome, Refused)
    assert [refusal.rule for refusal in outcome.refusals] == ["listing", "prose"]


def test_a_run_on_another_machine_posts_the_same_text_without_the_file() -> None:
    whole = a_listed_site()
    whole.run(prose=PROSE)
    site = a_listed_site()
    die_at(site, "forum-post")
    with pytest.raises(CrashError):
        site.run(prose=PROSE)
    revive(site)
    site.s3.tick(3 * 86400)

    # Another person, who knows of no file, and the profile may say anything by now.
    world = site.world("other")
    outcome = promote.run(world, promote.PromoteRequest((RELEASE,)), say_yes)

    assert isinstance(outcome, Promoted)
    assert site.forum.topics == whole.forum.topics


def test_a_draft_says_the_same_whenever_it_is_posted() -> None:
    whole = a_listed_site()
    whole.run()
    site = a_listed_site()
    die_at(site, "forum-post")
    with pytest.raises(CrashError):
        site.run()
    revive(site)
    site.s3.tick(3 * 86400)

    site.run()

    assert site.forum.topics == whole.forum.topics


def test_before_go_live_another_text_is_another_plan() -> None:
    site = a_listed_site()
    die_at(site, "update", "s:00000000000000000000000000000002")
    with pytest.raises(CrashError):
        site.run(prose=PROSE)
    revive(site)

    assert isinstance(site.run(prose="# Another\n"), Promoted)

    assert len(site.state("/abandoned.json")) == 1
    ((title, _),) = site.forum.topics.values()
    assert title == "Another"


# --- Found while nothing is public -------------------------------------------------------------------------


def missing() -> NoReturn:
    raise ConfigError("PUBLISHER_DISCOURSE_KEY is not set", "set it")


def with_missing(world: World, part: str) -> World:
    return replace(world, forum=missing) if part == "forum" else replace(world, hook=missing)


@pytest.mark.parametrize("part", ["forum", "hook"])
def test_a_secret_that_is_missing_is_found_while_nothing_is_public(part: str) -> None:
    site = a_listed_site()
    world = with_missing(site.world(), part)
    site.s3.writes.clear()

    with pytest.raises(ConfigError) as caught:
        promote.run(world, promote.PromoteRequest((RELEASE,)), say_yes)

    assert caught.value.exit_status == Exit.MISUSED
    assert site.s3.writes == []


@pytest.mark.parametrize("part", ["forum", "hook"])
def test_it_is_not_needed_by_a_promotion_that_announces_nothing(part: str) -> None:
    site = a_listed_site()
    site.run()
    site.stage_late()

    world = with_missing(site.world(), part)

    outcome = promote.run(world, promote.PromoteRequest((RELEASE,)), say_yes)
    assert isinstance(outcome, Promoted)
    assert outcome.plan is not None


def test_a_forum_that_does_not_take_the_key_is_found_while_nothing_is_public() -> None:
    site = a_listed_site()
    refuse_at(site, "forum-find", AnnounceError("403", "check the key"))
    site.s3.writes.clear()

    with pytest.raises(AnnounceError) as caught:
        site.run()

    assert caught.value.exit_status == Exit.FAILED
    assert site.s3.writes == []
    # Which can be given up, as everything after go-live can.
    assert isinstance(site.run(given_up={"announce": "the forum is down"}), Promoted)


def test_a_site_without_forum_and_webhook_announces_nothing() -> None:
    site = a_listed_site()
    world = replace(site.world(), forum=None, hook=None)

    outcome = promote.run(world, promote.PromoteRequest((RELEASE,)), say_yes)

    assert isinstance(outcome, Promoted)
    assert site.state("/announced/") == []


def test_a_site_with_a_webhook_alone_tells_it_once() -> None:
    site = a_listed_site()
    world = replace(site.world(), forum=None)

    promote.run(world, promote.PromoteRequest((RELEASE,)), say_yes)

    assert len(site.hook.events) == 1
    note = world.state.read_announced(RELEASE)
    assert note is not None
    assert note.url is None


# --- Half-way ----------------------------------------------------------------------------------------------


def test_a_webhook_that_fails_after_the_post_leaves_it_unfinished_and_the_next_run_goes_on() -> None:
    site = a_listed_site()
    refuse_at(site, "hook-send", AnnounceError("the webhook refused the event", "check the secret"))
    with pytest.raises(UnfinishedError, match="webhook refused") as caught:
        site.run()
    assert caught.value.next_step == "check the secret"
    revive(site)

    assert isinstance(site.run(), Promoted)
    assert site.forum.posts == 1
    assert len(site.hook.events) == 1


def test_nothing_is_posted_without_the_lease() -> None:
    site = a_listed_site()

    def lose(request: str, key: str) -> None:
        # Another run took over, just before the post.
        if request == "forum-find" and site.live():
            stored = site.world().state.read_lease()
            assert stored is not None
            stolen = replace(stored.value, token="f" * 32, holder="somebody else")
            site.s3.staging.store(LEASE_KEY, encode(stolen))

    site.s3.before = lose
    with pytest.raises(UnfinishedError, match="somebody else"):
        site.run()

    assert site.forum.posts == 0
    assert site.hook.events == []
    assert site.state("/announced/") == []


def test_announcing_given_up_is_done_later_by_its_own_command() -> None:
    site = a_listed_site()
    site.statuses[TAG] = 404
    site.run(given_up={"outside": "the tag follows", "announce": "tomorrow"})
    site.statuses.clear()

    assert isinstance(site.announce(), AnnouncedReleases)
    assert site.forum.posts == 1
