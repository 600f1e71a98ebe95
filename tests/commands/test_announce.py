"""`publisher announce`: one post for what is public and listed, never a second one; and its forms."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from publisher import cli
from publisher.commands import announce
from publisher.commands.announce import AnnounceRequest
from publisher.core.announcement import make_external_id
from publisher.errors import AnnounceError, ConfigError, Exit, LeaseError, UnfinishedError, UsageError
from publisher.outcomes import AnnouncedReleases, Drafted, Outcome, Promoted, Refused
from publisher.settings import Settings
from publisher.workflow.world import World
from tests.support.listing_fake import SLUG, TAG, ListedSite, a_listed_site, a_release_row, url
from tests.support.site import PKG, RELEASE, TGZ, expected_public

OTHER = "1.2.4"
ID = make_external_id([RELEASE], project="Tool")
GIVEN_UP = {"announce": "by hand"}


class CrashError(BaseException):
    """The process is gone."""


def a_public_site(*names: str) -> ListedSite:
    """Make a site whose releases are public and listed, and not announced."""
    site = a_listed_site()
    for name in names:
        site.database.add(a_release_row(f"Tool {name}", f"tool-{name.replace('.', '')}"))
        site.open(name)
        site.stage_all(release=name)
    assert isinstance(site.run(RELEASE, *names, given_up=GIVEN_UP), Promoted)
    assert site.forum.posts == 0
    site.s3.writes.clear()
    return site


def run_cli(site: ListedSite, line: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    def connect(settings: Settings) -> World:
        return replace(site.world(), observer=settings.make_output())

    capsys.readouterr()
    status = cli.run(shlex.split(line), Settings(connect=connect))
    streams = capsys.readouterr()
    return status, streams.out, streams.err


def refusals_of(outcome: Outcome) -> list[tuple[str, str]]:
    assert isinstance(outcome, Refused)
    assert outcome.status == Exit.REFUSED
    assert not outcome.waivable
    return [(refusal.rule, refusal.subject) for refusal in outcome.refusals]


# --- Once --------------------------------------------------------------------------------------------------


def test_a_release_is_announced_once_though_it_is_asked_for_twice() -> None:
    site = a_public_site()

    first, second = site.announce(), site.announce()

    assert isinstance(first, AnnouncedReleases)
    assert isinstance(second, AnnouncedReleases)
    assert (first.changed, second.changed) == (True, False)
    assert first.urls == second.urls == (f"https://forum.example.org/t/{ID}",)
    assert site.forum.posts == 1
    assert len(site.hook.events) == 1


def test_what_a_promotion_announced_is_not_announced_again_whatever_the_words(tmp_path: Path) -> None:
    site = a_listed_site()
    site.run()
    text = tmp_path / "post.md"
    text.write_text("# Other words\n", "utf-8")

    outcome = site.announce(prose=str(text))

    assert isinstance(outcome, AnnouncedReleases)
    assert not outcome.changed
    assert site.forum.posts == 1


def test_several_releases_are_one_post_with_one_url() -> None:
    site = a_public_site(OTHER)

    outcome = site.announce(RELEASE, OTHER)
    again = site.announce(OTHER, RELEASE)

    assert isinstance(outcome, AnnouncedReleases)
    assert isinstance(again, AnnouncedReleases)
    assert len(outcome.urls) == 1
    assert again.urls == outcome.urls
    assert not again.changed
    ((title, body),) = site.forum.topics.values()
    assert RELEASE in title
    assert OTHER in title
    assert url(PKG.replace(RELEASE, OTHER)) in body
    assert len(site.state("/announced/")) == 2


def test_a_post_about_a_release_that_was_announced_and_another_is_refused() -> None:
    site = a_public_site(OTHER)
    site.announce(RELEASE)

    outcome = site.announce(RELEASE, OTHER)

    assert refusals_of(outcome) == [("announce", RELEASE)]
    assert site.forum.posts == 1
    assert isinstance(site.announce(OTHER), AnnouncedReleases)
    assert site.forum.posts == 2


def test_one_release_of_a_post_about_two_is_announced_by_it() -> None:
    site = a_public_site(OTHER)
    site.announce(RELEASE, OTHER)

    outcome = site.announce(OTHER)

    assert isinstance(outcome, AnnouncedReleases)
    assert not outcome.changed
    assert site.forum.posts == 1


@pytest.mark.parametrize("request_", ["forum-post", "forum-posted", "hook-send", "hook-sent"])
def test_a_crash_around_the_post_is_finished_by_a_rerun(request_: str) -> None:
    site = a_public_site()

    def die(request: str, key: str) -> None:
        nonlocal dead
        dead = dead or request == request_
        if dead:
            raise CrashError

    dead = False
    site.s3.before = die
    with pytest.raises(CrashError):
        site.announce()
    site.s3.before = lambda request, key: None
    with pytest.raises(LeaseError):
        site.announce()
    site.s3.tick(121)

    assert isinstance(site.announce(), AnnouncedReleases)

    assert site.forum.posts == 1
    assert {str(event["id"]) for event in site.hook.events} == {ID}
    assert len(site.state("/announced/")) == 1


# --- Not yet -----------------------------------------------------------------------------------------------


def test_a_release_of_which_nothing_is_public_is_refused() -> None:
    site = a_listed_site()

    outcome = site.announce()

    assert refusals_of(outcome) == [("announce", RELEASE)]
    assert site.forum.posts == 0


def test_a_release_whose_rows_differ_from_what_is_public_is_refused_until_they_do_not() -> None:
    site = a_listed_site()
    site.run(given_up={"listing": "it is down", **GIVEN_UP})

    outcome = site.announce()

    assert refusals_of(outcome) == [("listing", RELEASE)]
    assert isinstance(outcome, Refused)
    assert outcome.refusals[0].cure == f"run: publisher list {RELEASE}"
    assert site.forum.posts == 0
    site.list_rows()
    assert isinstance(site.announce(), AnnouncedReleases)
    assert site.forum.posts == 1


def test_a_release_that_the_database_does_not_have_is_refused() -> None:
    site = a_public_site()
    site.database.releases.clear()

    assert refusals_of(site.announce()) == [("listing", RELEASE)]
    assert site.forum.posts == 0


def test_a_site_without_a_database_announces_what_is_public() -> None:
    site = a_public_site()
    world = replace(site.world(), database=None)
    site.database.releases.clear()

    assert isinstance(announce.run(world, AnnounceRequest((RELEASE,), None, False)), AnnouncedReleases)
    assert site.forum.posts == 1


def test_a_signal_that_is_missing_is_refused_until_it_answers() -> None:
    site = a_public_site()
    site.statuses[TAG] = 404

    outcome = site.announce()

    assert refusals_of(outcome) == [("outside", TAG)]
    assert site.s3.writes == []
    site.statuses.clear()
    assert isinstance(site.announce(), AnnouncedReleases)


def test_a_promotion_that_is_not_finished_comes_first() -> None:
    site = a_listed_site()

    def refuse(request: str, key: str) -> None:
        if request == "forum-post":
            raise AnnounceError("the forum is busy", "run again")

    site.s3.before = refuse
    with pytest.raises(UnfinishedError):
        site.run()
    site.s3.before = lambda request, key: None

    outcome = site.announce()

    assert refusals_of(outcome) == [("announce", RELEASE)]
    assert isinstance(outcome, Refused)
    assert outcome.refusals[0].cure == f"run: publisher promote {RELEASE}"
    assert isinstance(site.run(), Promoted)
    assert site.forum.posts == 1


def test_nowhere_to_announce_is_a_misuse_and_a_draft_is_not() -> None:
    site = a_public_site()
    world = replace(site.world(), forum=None, hook=None)

    with pytest.raises(UsageError, match="nowhere to announce"):
        announce.run(world, AnnounceRequest((RELEASE,), None, False))
    assert isinstance(announce.run(world, AnnounceRequest((RELEASE,), None, True)), Drafted)


def test_a_secret_that_is_missing_posts_nothing() -> None:
    site = a_public_site()

    def missing() -> NoReturn:
        raise ConfigError("PUBLISHER_DISCOURSE_KEY is not set", "set it")

    world = replace(site.world(), forum=missing)

    with pytest.raises(ConfigError) as caught:
        announce.run(world, AnnounceRequest((RELEASE,), None, False))

    assert caught.value.exit_status == Exit.MISUSED
    assert site.hook.events == []


def test_a_webhook_that_fails_after_the_post_says_that_something_public_changed() -> None:
    site = a_public_site()

    def refuse(request: str, key: str) -> None:
        if request == "hook-send":
            raise AnnounceError("refused", "check the secret")

    site.s3.before = refuse
    with pytest.raises(UnfinishedError, match="posted at https") as caught:
        site.announce()
    assert caught.value.exit_status == Exit.UNFINISHED
    site.s3.before = lambda request, key: None

    assert isinstance(site.announce(), AnnouncedReleases)
    assert site.forum.posts == 1
    assert len(site.hook.events) == 1


def test_a_post_that_is_refused_says_that_nothing_public_changed() -> None:
    site = a_public_site()

    def refuse(request: str, key: str) -> None:
        if request == "forum-post":
            raise AnnounceError("refused", "correct it")

    site.s3.before = refuse
    with pytest.raises(AnnounceError) as caught:
        site.announce()
    assert caught.value.exit_status == Exit.FAILED
    assert site.hook.events == []


# --- The text ----------------------------------------------------------------------------------------------


def test_a_file_is_posted_with_its_facts_filled_in(tmp_path: Path) -> None:
    site = a_public_site()
    text = tmp_path / "post.md"
    text.write_text("# Out now\n\n{{ digest tool-1.2.3.tgz }}\n", "utf-8")

    site.announce(prose=str(text))

    ((title, body),) = site.forum.topics.values()
    assert title == "Out now"
    assert expected_public()[TGZ] in body


def test_prose_with_a_wrong_placeholder_is_refused_with_its_line(tmp_path: Path) -> None:
    site = a_public_site()
    text = tmp_path / "post.md"
    text.write_text("# Out now\n\n{{ digest tool-1.2.3.exe }}\n", "utf-8")

    for dry_run in (True, False):
        assert refusals_of(site.announce(prose=str(text), dry_run=dry_run)) == [("prose", "line 3")]
    assert site.forum.posts == 0
    assert site.s3.writes == []


def test_a_dry_run_prints_the_text_and_posts_nothing_even_before_it_is_listed() -> None:
    site = a_listed_site()
    site.run(given_up={"listing": "later", **GIVEN_UP})
    site.s3.writes.clear()

    outcome = site.announce(dry_run=True)

    assert isinstance(outcome, Drafted)
    assert outcome.path is None
    assert outcome.text.startswith(f"# Tool {RELEASE} is now available\n")
    assert expected_public()[TGZ] in outcome.text
    assert site.s3.writes == []
    assert site.forum.posts == 0
    assert site.hook.events == []


@pytest.mark.parametrize("form", announce.FORMS)
def test_each_form_is_printed_by_a_dry_run(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    site = a_public_site()

    status, out, err = run_cli(
        site, f"announce {RELEASE} --dry-run --form {form} --author Ann --tag releases --tag tool", capsys
    )

    assert status == 0
    assert url(TGZ) in out
    assert site.forum.posts == 0
    if form == "blog":
        assert "content/posts/tool-123/index.md" in err
        head = out.split("---\n")[1]
        assert "author: 'Ann'" in head
        assert "tags:\n  - 'releases'\n  - 'tool'\n" in head
    else:
        assert out.startswith(f"# Tool {RELEASE} is now available")


@pytest.mark.parametrize("form", ["blog", "plain"])
def test_a_form_to_be_printed_is_never_posted_by_mistake(
    form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    site = a_public_site()

    status, _, err = run_cli(site, f"announce {RELEASE} --form {form}", capsys)

    assert status == 2
    assert "--dry-run" in err
    assert site.forum.posts == 0
    assert run_cli(site, f"announce {RELEASE} --form post", capsys)[0] == 0
    assert site.forum.posts == 1


def test_it_says_where_and_whether_it_was_announced_before(capsys: pytest.CaptureFixture[str]) -> None:
    site = a_public_site()

    first = run_cli(site, f"announce {RELEASE}", capsys)
    second = run_cli(site, f"announce {RELEASE} --json", capsys)

    assert first[:2] == (0, f"{RELEASE} announced: https://forum.example.org/t/{ID}\n")
    answer = json.loads(second[1])
    assert (answer["exit"], answer["result"], answer["changed"]) == (0, "announced", False)
    assert answer["urls"] == [f"https://forum.example.org/t/{ID}"]


def test_a_name_that_is_no_release_is_a_misuse(capsys: pytest.CaptureFixture[str]) -> None:
    site = a_public_site()

    assert run_cli(site, "announce nonsense", capsys)[0] == 2
    assert run_cli(site, "announce", capsys)[0] == 2
    assert site.forum.posts == 0
    assert site.database.find(SLUG).is_published


def test_a_dry_run_shows_the_text_of_what_is_handed_over_before_it_is_public() -> None:
    site = a_listed_site()

    outcome = site.announce(dry_run=True)

    assert isinstance(outcome, Drafted)
    assert TGZ.rpartition("/")[2] in outcome.text
    assert PKG.rpartition("/")[2] in outcome.text
    assert site.s3.writes == [] or all(not name.startswith("public/") for _, name in site.s3.writes)
    # Posting it is another matter.
    assert refusals_of(site.announce()) == [("announce", RELEASE)]


def test_the_command_that_a_dry_run_shows_repeats_what_it_was_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = a_listed_site(row=False)
    text = tmp_path / "post it.md"
    text.write_text("It is here.\n", "utf-8")
    asked = f"promote {RELEASE} --create-release --announce-from {shlex.quote(str(text))}"

    status, out, _ = run_cli(site, f"{asked} --give-up outside --reason 'the tag follows' --dry-run", capsys)

    assert status == 0
    shown = out.rpartition("next: publisher ")[2].strip()
    assert {"--create-release", "--announce-from", "--give-up", "--plan"} <= set(shlex.split(shown))
    assert run_cli(site, f"{shown} --yes", capsys)[0] == 0
    assert site.forum.posts == 1
