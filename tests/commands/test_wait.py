"""Waiting: for hand-overs with the rights of whoever waits, and for what is public without any."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from publisher.commands import wait
from publisher.commands.hold import run_hold, run_unhold
from publisher.errors import AccessDeniedError, EdgeError, Exit, StoppedError, StoreError, UsageError
from publisher.outcomes import Waited
from publisher.workflow.waiting import FIRST_PAUSE, LONGEST_PAUSE
from publisher.workflow.world import World
from tests.support.site import OTHER_COMMIT, PKG, PROFILE, RELEASE, TGZ, Site

URLS = tuple(f"https://dl.example.org/{key}" for key in (TGZ, PKG))
LATER = 1000.0


def a_request(*roles: str, timeout: float | None = 0) -> wait.WaitRequest:
    return wait.WaitRequest(RELEASE, roles, timeout)


def run(site: Site, *roles: str, timeout: float | None = 0) -> Waited:
    return wait.run(site.world(), a_request(*roles, timeout=timeout))


def live(site: Site, *, timeout: float | None = 0) -> Waited:
    return wait.run_live(site.world().visitor, a_request(timeout=timeout))


def sleeping(site: Site, act: Callable[[int], None]) -> tuple[World, list[float]]:
    """Make a world in which something happens each time that somebody sleeps."""
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        site.s3.tick(seconds)
        act(len(pauses))

    return replace(site.world(), sleep=sleep), pauses


def deny(*prefixes: str) -> Callable[[str, str], None]:
    def before(request: str, key: str) -> None:
        if key.startswith(prefixes) or request in {"entries", "etag"}:
            raise AccessDeniedError(f"cannot read {key}: AccessDenied")

    return before


def a_site() -> Site:
    site = Site()
    site.open()
    return site


# For hand-overs, with the release manager's eyes.


def test_what_is_handed_over_is_not_waited_for() -> None:
    site = a_site()
    site.stage_all()

    outcome = run(site, timeout=None)

    assert (outcome.status, outcome.arrived, outcome.waiting, outcome.seconds) == (
        Exit.DONE,
        ("linux", "mac"),
        {},
        0,
    )
    assert not outcome.live


def test_waiting_writes_nothing() -> None:
    site = a_site()
    site.s3.writes.clear()

    run(site, timeout=60)

    assert site.s3.writes == []


def test_when_the_time_is_up_it_is_a_refusal_that_names_what_is_missing() -> None:
    site = a_site()
    site.stage("linux", {TGZ: b"x"})
    site.hand_over("linux")

    outcome = run(site, timeout=60)

    assert outcome.status is Exit.REFUSED
    assert outcome.arrived == ("linux",)
    assert outcome.waiting == {"mac": "not handed over"}
    assert outcome.seconds == 60


def test_a_named_role_alone_is_waited_for() -> None:
    site = a_site()
    site.stage("linux", {TGZ: b"x"})
    site.hand_over("linux")

    assert run(site, "linux").status is Exit.DONE
    assert run(site, "mac", "linux").arrived == ("linux",)


def test_each_change_is_told_once() -> None:
    site = a_site()

    def act(times: int) -> None:
        if times == 3:
            site.stage_all()

    world, pauses = sleeping(site, act)

    assert wait.run(world, a_request(timeout=None)).status is Exit.DONE
    assert len(pauses) == 3
    assert site.observer.details == [
        "linux not handed over",
        "mac not handed over",
        "linux handed over",
        "mac handed over",
    ]


def test_pauses_grow_up_to_a_minute_and_end_with_the_time() -> None:
    world, pauses = sleeping(a_site(), lambda times: None)

    wait.run(world, a_request(timeout=LATER))

    assert pauses[0] == FIRST_PAUSE
    assert pauses[:-1] == sorted(pauses[:-1])
    assert max(pauses) == LONGEST_PAUSE
    assert sum(pauses) == LATER


def test_a_change_makes_the_next_looks_frequent_again() -> None:
    site = a_site()

    def act(times: int) -> None:
        if times == 5:
            site.stage("linux", {TGZ: b"x"})
            site.hand_over("linux")

    world, pauses = sleeping(site, act)

    wait.run(world, a_request(timeout=LATER))

    assert pauses[5] == FIRST_PAUSE < pauses[4]


@pytest.mark.parametrize("roles", [(), ("linux",)])
def test_what_is_refused_is_waited_for_with_the_reason(roles: tuple[str, ...]) -> None:
    site = a_site()
    site.stage_all(commit=OTHER_COMMIT)

    outcome = run(site, *roles)

    assert outcome.status is Exit.REFUSED
    assert outcome.waiting["linux"] == f"commit linux/{RELEASE}: commit {OTHER_COMMIT}"


def test_many_reasons_are_shortened() -> None:
    site = a_site()
    site.stage("linux", {TGZ: b"x", **{f"odd{number}.bin": b"" for number in range(4)}})
    site.hand_over("linux")

    assert run(site, "linux").waiting["linux"].endswith(" and 2 more")


def test_a_hold_of_anybody_stops_the_whole_and_that_of_the_role_itself_the_role() -> None:
    site = a_site()
    site.stage_all()
    run_hold(site.world(), RELEASE, "qa", "it hangs")
    run_hold(site.world(), RELEASE, "mac", "wait")

    assert "a hold by qa: it hangs" in run(site).waiting[RELEASE]
    assert run(site).arrived == ()
    assert run(site, "linux").status is Exit.DONE
    assert run(site, "mac").waiting == {"mac": "holds it: wait"}
    for role in ("qa", "mac"):
        run_unhold(site.world(), RELEASE, role)
    assert run(site).status is Exit.DONE


def test_a_release_that_is_not_open_yet_is_waited_for() -> None:
    site = Site()
    site.stage_all()

    assert "not-open" in run(site).waiting[RELEASE]
    site.open()
    assert run(site).status is Exit.DONE


def test_a_release_that_is_public_is_not_waited_for_though_staging_has_expired() -> None:
    site = a_site()
    site.stage_all()
    site.promote()
    for role in ("linux", "mac"):
        site.s3.staging.expire(f"{role}/")

    assert run(site).status is Exit.DONE


def test_a_store_that_does_not_answer_is_waited_for_and_warned_of_once() -> None:
    site = a_site()

    def fail(request: str, key: str) -> None:
        if request == "list":
            raise StoreError("the line is dead")

    def act(times: int) -> None:
        site.s3.before = fail if times < 3 else lambda request, key: None
        if times == 3:
            site.stage_all()

    world, _ = sleeping(site, act)

    assert wait.run(world, a_request(timeout=None)).status is Exit.DONE
    assert site.observer.warnings == ["the line is dead; trying again"]


def test_a_store_that_never_answered_is_named_when_the_time_is_up() -> None:
    site = a_site()

    def fail(request: str, key: str) -> None:
        if request == "list":
            raise StoreError("the line is dead")

    site.s3.before = fail
    assert run(site).waiting == {"store": "no answer yet"}


def test_an_interruption_says_what_is_still_waited_for() -> None:
    site = a_site()
    world, _ = sleeping(site, interrupt)

    with pytest.raises(StoppedError, match="while waiting for linux, mac; nothing was changed"):
        wait.run(world, a_request(timeout=None))


def interrupt(times: int) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("roles", "said"), [(("linus",), "found role 'linus'"), (("qa",), "qa tests")])
def test_only_roles_that_deliver_are_waited_for(roles: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        run(a_site(), *roles)


def test_a_misspelt_release_is_not_waited_for_in_silence() -> None:
    site = a_site()

    with pytest.raises(UsageError) as caught:
        wait.run(site.world(), wait.WaitRequest("1.2.3rc1"))
    assert caught.value.next_step == f"did you mean {RELEASE}?"
    wait.run(site.world(), wait.WaitRequest("1.2.33", timeout=0))
    assert site.observer.warnings == [f"1.2.33 is not open; did you mean {RELEASE}?"]
    wait.run(Site(observer=site.observer).world(), a_request())
    assert site.observer.warnings[-1] == f"{RELEASE} is not open"


# For hand-overs, with the rights of a builder or tester.


def test_a_builder_waits_for_itself_with_its_own_rights() -> None:
    site = a_site()
    site.stage("linux", {TGZ: b"x"})
    site.s3.before = deny("_", "mac/", "qa/")

    assert run(site, "linux").waiting == {"linux": "not handed over"}
    site.hand_over("linux")
    assert run(site, "linux").status is Exit.DONE
    assert "looking at the files of linux alone" in site.observer.warnings[0]


def test_a_builder_that_names_nobody_is_told_to_name_itself() -> None:
    site = a_site()
    site.s3.before = deny("_", "mac/", "qa/")

    for roles in ((), ("mac",)):
        with pytest.raises(AccessDeniedError) as caught:
            run(site, *roles)
        assert "--role NAME" in caught.value.next_step


def test_a_builder_learns_what_its_hand_over_is_missing() -> None:
    site = a_site()
    site.stage("linux", {"odd.bin": b""})
    site.hand_over("linux")
    site.s3.before = deny("_", "mac/")

    assert f"missing {TGZ}" in run(site, "linux").waiting["linux"]


def test_files_without_a_digest_are_read_once_and_without_a_right_on_versions() -> None:
    site = a_site()
    site.s3.staging.store(f"linux/{RELEASE}/{TGZ}", b"in parts", whole=False)
    site.stage("linux", {"odd.bin": b""})
    site.hand_over("linux")
    requests: list[str] = []

    def watch(request: str, key: str) -> None:
        deny("_", "mac/")(request, key)
        requests.append(request)

    site.s3.before = watch
    world, _ = sleeping(site, lambda times: None)

    wait.run(world, a_request("linux", timeout=60))

    assert requests.count("stream") == 1
    assert requests.count("list") > 2


def test_a_file_removed_during_the_look_is_not_counted() -> None:
    site = a_site()
    site.stage("linux", {TGZ: b"x"})
    site.hand_over("linux")

    def remove(request: str, key: str) -> None:
        deny("_", "mac/")(request, key)
        if request == "describe":
            site.s3.staging.mark_deleted(key)

    site.s3.before = remove
    assert "linux" in run(site, "linux").waiting


# For what is public.


def test_a_release_is_live_when_every_required_url_answers_200() -> None:
    site = a_site()
    site.stage_all()
    assert live(site).waiting == dict.fromkeys(URLS, "status 404")
    site.promote()

    outcome = live(site, timeout=None)

    assert (outcome.status, outcome.arrived, outcome.live) == (Exit.DONE, URLS, True)


def test_nothing_but_the_public_site_is_asked() -> None:
    site = Site()
    requests: list[str] = []
    site.s3.before = lambda request, key: requests.append(request)

    outcome = live(site, timeout=30)

    assert set(requests) == {"head"}
    assert outcome.status is Exit.REFUSED


def test_what_was_seen_is_not_asked_for_again() -> None:
    site = Site()
    site.s3.public.store(TGZ, b"x")
    keys: list[str] = []
    site.s3.before = lambda request, key: keys.append(key)

    outcome = live(site, timeout=30)

    assert keys.count(TGZ) == 1
    assert keys.count(PKG) > 2
    assert outcome.waiting == {URLS[1]: "status 404"}
    assert site.observer.details == ["live 1 of 2 URLs answer 200"]


def test_a_site_that_does_not_answer_is_waited_for() -> None:
    site = Site()

    def fail(request: str, key: str) -> None:
        raise EdgeError("no answer")

    site.s3.before = fail
    assert set(live(site).waiting.values()) == {"no answer"}


def test_optional_and_forbidden_files_are_not_waited_for() -> None:
    site = Site(
        profile_text=PROFILE
        + b"""
[[artifact]]
key = "tool/{release}/maybe.pdf"
role = "linux"
required = []
optional = "all"
sidecars = [{ suffix = ".sum" }]

[[artifact]]
key = "tool/{release}/sure.pdf"
role = "linux"
sidecars = [{ suffix = ".sum" }]
"""
    )
    names = {url.rpartition("/")[2] for url in live(site).waiting}
    assert names == {f"tool-{RELEASE}.tgz", f"tool-{RELEASE}.pkg", "sure.pdf", "sure.pdf.sum"}


def test_a_release_of_which_nothing_is_required_is_a_misuse() -> None:
    with pytest.raises(UsageError, match="requires no file"):
        live(Site(profile_text=PROFILE.replace(b'role = "', b'optional = "all"\nrequired = []\nrole = "')))


def test_a_misspelt_release_is_a_misuse_without_asking_anybody() -> None:
    site = Site()
    requests: list[str] = []
    site.s3.before = lambda request, key: requests.append(request)

    with pytest.raises(UsageError, match="expected a version"):
        wait.run_live(site.world().visitor, wait.WaitRequest("1.x"))
    assert requests == []
