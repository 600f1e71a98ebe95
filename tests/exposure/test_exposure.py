"""Invariant 1, through real edges: nothing before go-live, everything in one step, nothing ever blinks."""

import pytest

from sandbox.edge import StoreMode
from sandbox.watch import HIT, Watch, find_blinks, find_early, find_exposure, find_stragglers
from tests.exposure.scene import Scene


def spell_oddly(paths: list[str]) -> list[str]:
    """Spell each path in ways that a bot may try, some of which mean the same key."""
    return [
        spelling
        for path in paths
        for spelling in (
            path.replace("tool", "%74ool", 1),
            path.replace("/", "//", 1),
            f"{path}/",
            f"{path}?x=1",
            f"/.{path}",
            f"/x/..{path}",
            path.replace("t", "%2574", 1),
            path.replace("%2B", "+"),
            f"/_pending{path}",
            f"/%5fpending{path}",
        )
    ]


def check_public_in_one_step(seen: Watch, sent: float, paths: list[str]) -> None:
    for url, polls in seen.polls.items():
        assert len(polls) > 200, f"{url} was polled {len(polls)} times only"
        assert find_early(polls, sent) == []
        assert find_stragglers(polls, paths) == []
        assert find_blinks(polls) == []
        assert set(find_exposure(polls, paths)) == set(paths), f"not everything is public at {url}"


def test_two_releases_appear_in_one_step_at_each_edge_and_nothing_before(scene: Scene) -> None:
    releases = scene.new_release(), scene.new_release()
    for release in releases:
        scene.stage(release)
    paths = scene.paths(*releases)

    seen, sent = scene.promote_watched(*releases, sets=[paths, paths, spell_oddly(paths)])

    for polls in seen.polls.values():
        assert find_early(polls, sent) == []
    canonical = Watch({url: [p for p in polls if p.path in paths] for url, polls in seen.polls.items()})
    check_public_in_one_step(canonical, sent, paths)


@pytest.mark.slow
def test_the_waiting_copies_cannot_be_reached_under_any_spelling_at_any_time(scene: Scene) -> None:
    release = scene.new_release()
    scene.stage(release)
    folder = scene.new_folder()
    with scene.promoting(release, notes=folder / "gate", expect=-9) as process:
        scene.kill_when(process, "mark")
    scene.expire_lease()
    promotion = scene.find_promotion(release)
    pending = [
        spelling
        for path in scene.paths(release)
        for spelling in (
            f"/_pending/{promotion}{path}",
            f"/%5Fpending/{promotion}{path}",
            f"//_pending/{promotion}{path}",
            f"/x/../_pending/{promotion}{path}",
            f"/_pending/{promotion}{path}?x",
            f"/_pending//{promotion}{path}",
        )
    ]

    seen = scene.finish_watched(release, sets=[pending, scene.paths(release)])

    for polls in seen.polls.values():
        assert {poll.status for poll in polls if "pending" in poll.path} == {404}
        assert {poll.status for poll in polls if "pending" not in poll.path} == {HIT}


@pytest.mark.parametrize(
    "disorder",
    [pytest.param(False, marks=pytest.mark.slow, id="in order"), pytest.param(True, id="out of order")],
)
def test_edges_that_lag_as_much_as_the_gate_allows_still_show_one_step(scene: Scene, disorder: bool) -> None:
    release = scene.new_release()
    scene.stage(release)
    lag = scene.sandbox.timing.lag
    # The entry that shows it all is as late as can be: what is placed too early comes before it.
    with scene.tuned(lag_seconds=lag, lags={"s:": lag}, disorder=disorder):
        seen, sent = scene.promote_watched(release)

    check_public_in_one_step(seen, sent, scene.paths(release))


@pytest.mark.slow
def test_a_late_file_of_a_live_release_appears_and_the_others_never_blink(scene: Scene) -> None:
    release = scene.new_release()
    scene.stage(release)
    scene.run("rm", "promote", release, "--yes")
    scene.stage_late(release)
    late = f"/tool/{release}/late.txt"

    seen, sent = scene.promote_watched(release, sets=[scene.paths(release), [late]])

    for polls in seen.polls.values():
        assert find_early([poll for poll in polls if poll.path == late], sent) == []
        assert {poll.status for poll in polls if poll.path != late} == {HIT}
        assert find_blinks(polls) == []
        assert late in find_exposure(polls, [late])


@pytest.mark.parametrize("step", [pytest.param("copy", marks=pytest.mark.slow), "gate"])
def test_a_promotion_killed_before_go_live_shows_nothing_and_a_rerun_shows_all(
    scene: Scene, step: str
) -> None:
    release = scene.new_release()
    scene.stage(release)
    folder = scene.new_folder()
    with scene.promoting(release, notes=folder / "gate", expect=-9) as process:
        scene.kill_when(process, step)
    scene.expire_lease()

    assert scene.ask(release) == {404}
    seen, sent = scene.promote_watched(release)

    check_public_in_one_step(seen, sent, scene.paths(release))


@pytest.mark.parametrize(
    "step",
    [
        "place",
        pytest.param("settle", marks=pytest.mark.slow),
        pytest.param("look", marks=pytest.mark.slow),
        pytest.param("record", marks=pytest.mark.slow),
    ],
)
def test_a_promotion_killed_after_go_live_stays_public_and_a_rerun_finishes(scene: Scene, step: str) -> None:
    release = scene.new_release()
    scene.stage(release)
    folder = scene.new_folder()
    with scene.promoting(release, notes=folder / "gate", expect=-9) as process:
        scene.kill_when(process, step)
    scene.expire_lease()
    assert scene.ask(release) == {HIT}

    seen = scene.finish_watched(release)

    for polls in seen.polls.values():
        assert {poll.status for poll in polls} == {HIT}
        assert find_blinks(polls) == []
    assert "nothing to do" in scene.run("rm", "promote", release, "--yes")


@pytest.mark.parametrize(
    "mode",
    [
        StoreMode.FAILING,
        pytest.param(StoreMode.EMPTY, marks=pytest.mark.slow),
        pytest.param(StoreMode.STALE, marks=pytest.mark.slow),
    ],
)
def test_edges_whose_store_is_out_of_order_are_late_and_never_early_and_never_blink(
    scene: Scene, mode: StoreMode
) -> None:
    release = scene.new_release()
    scene.stage(release)
    with scene.tuned(mode=mode):
        seen, sent = scene.promote_watched(release)

    for polls in seen.polls.values():
        assert find_early(polls, sent) == []
        assert find_blinks(polls) == []
        # Placed files are there for everybody, whatever the store does.
        assert set(find_exposure(polls, scene.paths(release))) == set(scene.paths(release))


@pytest.mark.slow
def test_edges_that_lag_more_than_the_gate_allows_are_late_and_never_early_and_never_blink(
    scene: Scene,
) -> None:
    release = scene.new_release()
    scene.stage(release)
    late = {f"p:tool/{release}/tool": 4.0, "s:": 2.5}
    with scene.tuned(lag_seconds=3, lags=late):
        seen, sent = scene.promote_watched(release)

    for polls in seen.polls.values():
        assert find_early(polls, sent) == []
        assert find_blinks(polls) == []
        assert set(find_exposure(polls, scene.paths(release))) == set(scene.paths(release))


@pytest.mark.slow
def test_a_promotion_that_is_told_to_end_gives_the_lease_back_and_a_rerun_finishes(scene: Scene) -> None:
    release = scene.new_release()
    scene.stage(release)
    with scene.promoting(release, notes=scene.new_folder() / "gate", expect=130) as process:
        scene.wait_for(process, "settle")
        process.terminate()

    assert scene.ask(release) == {HIT}
    assert "finished promotion" in scene.run("rm", "promote", release, "--yes")
