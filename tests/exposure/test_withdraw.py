"""Withdrawals through real edges: gone in one step, under every spelling, and back in one."""

import time
from collections.abc import Sequence

import pytest

from sandbox.watch import HIT, Watch, watch
from tests.exposure.scene import Scene

GONE = 410


def spell_again(paths: Sequence[str]) -> list[str]:
    """Spell each path in other ways that mean the same file."""
    return [
        spelling
        for path in paths
        for spelling in (
            path.replace("tool", "%74ool", 1),
            path.replace("/", "/%74", 1).replace("%74t", "%74", 1),
            f"{path}?x=1",
            path.replace("%2B", "+"),
        )
    ]


def watch_command(scene: Scene, release: str, verb: str) -> Watch:
    """Run a command on a release while every edge is polled for every spelling of its files."""
    paths = scene.paths(release)
    with watch(scene.sandbox.urls, [paths, spell_again(paths)], scene.new_folder()) as seen:
        time.sleep(0.5)
        scene.run("rm", verb, release, "--reason", "a fault", "--confirm", release)
        time.sleep(0.5)
    return seen


def wait_until_live(scene: Scene, release: str) -> None:
    """Wait until every edge has heard that a promotion is live."""
    for _ in range(200):
        if scene.ask(release) == {HIT}:
            return
        time.sleep(0.05)
    pytest.fail("an edge does not hear of it")


def check_one_step(seen: Watch, before: int, after: int, paths: Sequence[str]) -> None:
    """Check that each edge changed all its answers from one status to the other at once, and for good."""
    wanted = {*paths, *spell_again(paths)}
    for url, polls in seen.polls.items():
        assert {poll.status for poll in polls} == {before, after}, url
        first = min(poll.end for poll in polls if poll.status == after)
        assert [poll for poll in polls if poll.start > first and poll.status != after] == []
        last = max(poll.start for poll in polls if poll.status == before)
        assert {poll.path for poll in polls if poll.start > last} == wanted


@pytest.mark.parametrize(
    "disorder", [pytest.param(False, id="at once"), pytest.param(True, marks=pytest.mark.slow, id="late")]
)
def test_a_release_is_gone_in_one_step_at_each_edge_and_back_in_one(scene: Scene, disorder: bool) -> None:
    release = scene.new_release()
    scene.stage(release)
    scene.run("rm", "promote", release, "--yes")
    assert scene.ask(release) == {HIT}
    lag = scene.sandbox.timing.lag if disorder else 0

    with scene.tuned(lag_seconds=lag, disorder=disorder):
        gone = watch_command(scene, release, "withdraw")
        back = watch_command(scene, release, "restore")

    check_one_step(gone, HIT, GONE, scene.paths(release))
    check_one_step(back, GONE, HIT, scene.paths(release))
    assert "nothing to do" in scene.run("rm", "promote", release, "--yes")


@pytest.mark.slow
def test_what_a_dead_promotion_left_live_is_gone_in_one_step_too(scene: Scene) -> None:
    release = scene.new_release()
    scene.stage(release)
    with scene.promoting(release, notes=scene.new_folder() / "gate", expect=-9) as process:
        scene.kill_when(process, "place")
    wait_until_live(scene, release)

    # Its lease has not expired: the withdrawal takes it over.
    gone = watch_command(scene, release, "withdraw")
    back = watch_command(scene, release, "restore")

    check_one_step(gone, HIT, GONE, scene.paths(release))
    check_one_step(back, GONE, HIT, scene.paths(release))
    assert "nothing to do" in scene.run("rm", "promote", release, "--yes")


@pytest.mark.slow
def test_one_file_is_gone_and_the_others_do_not_blink(scene: Scene) -> None:
    release = scene.new_release()
    scene.stage(release)
    scene.run("rm", "promote", release, "--yes")
    path, *others = scene.paths(release)
    with watch(scene.sandbox.urls, [[path], others], scene.new_folder()) as seen:
        time.sleep(0.5)
        scene.run("rm", "withdraw", release, path[1:], "--reason", "a fault", "--confirm", release)
        time.sleep(0.5)

    for polls in seen.polls.values():
        assert {poll.status for poll in polls if poll.path in others} == {HIT}
        assert {poll.status for poll in polls if poll.path == path} == {HIT, GONE}
    assert "withdrawn" in scene.run("rm", "promote", release, "--yes", expect=3)
