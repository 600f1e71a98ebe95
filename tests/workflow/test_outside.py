"""Outside signals: nothing is listed or announced before they answer, or before that is given up."""

import json

import pytest

from publisher.core.profile import Signal
from publisher.errors import EdgeError, Exit, UnfinishedError
from publisher.outcomes import Promoted
from publisher.workflow.outside import find_silent, wait_for_signals
from tests.support.listing_fake import TAG, ListedSite, a_listed_site
from tests.support.site import expected_public

SIGNALS = (Signal("git tag", TAG), Signal("documentation", "https://git.example.org/docs"))


def keep_lease() -> None:
    """Stand for a lease that is still held."""


def test_signals_that_answer_are_not_waited_for() -> None:
    site = a_listed_site()
    begun = site.s3.clock

    wait_for_signals(site.world(), keep_lease, SIGNALS)

    assert site.s3.clock == begun
    assert find_silent(site.world(), SIGNALS) == ()


@pytest.mark.parametrize("status", [403, 404, 410, 429, 500, 503])
def test_a_signal_that_answers_with_trouble_is_silent(status: int) -> None:
    site = a_listed_site()
    site.statuses[TAG] = status

    assert find_silent(site.world(), SIGNALS) == ((SIGNALS[0], f"status {status}"),)


@pytest.mark.parametrize("status", [200, 301, 302, 303, 307, 308])
def test_a_redirect_is_an_answer(status: int) -> None:
    site = a_listed_site()
    site.statuses[TAG] = status

    assert find_silent(site.world(), SIGNALS) == ()


def test_a_signal_without_an_answer_is_silent_and_says_why() -> None:
    site = a_listed_site()

    def drop(request: str, key: str) -> None:
        if request == "signal" and key == TAG:
            raise EdgeError("no answer from git.example.org")

    site.s3.before = drop

    assert find_silent(site.world(), SIGNALS) == ((SIGNALS[0], "no answer from git.example.org"),)


def test_a_signal_that_comes_within_a_minute_is_waited_for_with_the_lease_held() -> None:
    site = a_listed_site()
    site.statuses[TAG] = 404
    checks = 0

    def check() -> None:
        nonlocal checks
        checks += 1
        if checks == 3:
            site.statuses.clear()

    wait_for_signals(site.world(), check, SIGNALS)

    assert checks == 3
    # What answered once is not asked again.
    assert [key for request, key in site.requests if request == "signal"].count(SIGNALS[1].url) == 1


def test_signals_that_do_not_come_are_named_with_their_answers_and_what_to_do() -> None:
    site = a_listed_site()
    site.statuses.update({signal.url: 404 for signal in SIGNALS})

    with pytest.raises(EdgeError) as caught:
        wait_for_signals(site.world(), keep_lease, SIGNALS)

    for signal in SIGNALS:
        assert f"{signal.name}: {signal.url}: status 404" in str(caught.value)
    assert "--give-up outside" in caught.value.next_step


def test_a_promotion_without_its_signal_is_unfinished_and_lists_and_announces_nothing() -> None:
    site = a_listed_site()
    site.statuses[TAG] = 404

    with pytest.raises(UnfinishedError, match="git tag") as caught:
        site.run()

    assert caught.value.exit_status == Exit.UNFINISHED
    assert "--give-up outside" in caught.value.next_step
    assert site.public() == expected_public()
    assert site.database.writes == []
    assert site.forum.posts == 0
    assert site.hook.events == []


def test_once_it_answers_a_rerun_finishes() -> None:
    site = a_listed_site()
    site.statuses[TAG] = 404
    with pytest.raises(UnfinishedError):
        site.run()
    site.statuses.clear()

    assert isinstance(site.run(), Promoted)
    check_listed(site)


def test_the_signal_can_be_given_up_on_record_and_the_rest_is_done() -> None:
    site = a_listed_site()
    site.statuses[TAG] = 404
    with pytest.raises(UnfinishedError):
        site.run()

    assert isinstance(site.run(given_up={"outside": "the tag follows tonight"}), Promoted)

    check_listed(site)
    done = site.s3.staging.current(site.state("/done.json")[0])
    assert done is not None
    assert json.loads(done.data or b"")["given_up"] == {"outside": "the tag follows tonight"}


def check_listed(site: ListedSite) -> None:
    assert site.database.rows("tool-123")
    assert site.database.find("tool-123").is_published
    assert site.forum.posts == 1
    assert len(site.state("/done.json")) == 1
