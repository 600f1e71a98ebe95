"""How the store's changes reach an edge: late, out of order, or not at all."""

import time
from collections.abc import Callable, Mapping

import pytest

from sandbox.edge import Edge, Edges, StoreMode
from sandbox.edge.replica import Replica
from sandbox.edge.values import Change, Tuning
from tests.edge.site import PAGE_TEXT, Site
from tests.edge.viewer import Viewer, eventually

Connect = Callable[[str], Viewer]


def a_replica(*, seed: int = 1, lag_seconds: float = 0, disorder: bool = False) -> Replica:
    return Replica(seed=seed, lag_seconds=lag_seconds, disorder=disorder)


def time_changes(
    replica: Replica, changes: Mapping[float, Mapping[str, str | None]], until: float
) -> list[str]:
    """Feed changes at their times, and list what is applied as "time key=value"."""
    seen: list[str] = []
    for tenth in range(round(until * 10) + 1):
        now = tenth / 10
        if now in changes:
            replica.receive(Change(now, changes[now]))
        seen += [f"{now} {key}={value}" for key, value in replica.advance(now).items()]
    return seen


def test_a_change_is_applied_after_the_lag_and_all_at_once() -> None:
    replica = a_replica(lag_seconds=2)
    assert time_changes(replica, {1: {"p:a": "1", "p:b": "1"}, 2: {"p:a": None}}, 9) == [
        "3.0 p:a=1",
        "3.0 p:b=1",
        "4.0 p:a=None",
    ]
    assert replica.entries == {"p:b": "1"}


def test_what_was_there_at_first_has_no_lag() -> None:
    replica = a_replica(lag_seconds=2)
    replica.receive(Change(None, {"p:a": "1"}))
    assert replica.advance(0) == {"p:a": "1"}


def test_disorder_mixes_keys_within_the_lag_and_differs_between_edges() -> None:
    values = {f"p:{number}": "1" for number in range(30)}
    orders: list[list[str]] = []
    for seed in (1, 2):
        seen = time_changes(a_replica(seed=seed, lag_seconds=5, disorder=True), {1: values}, 6)
        assert len(seen) == 30
        orders.append([line.split()[1] for line in seen])
    assert orders[0] != orders[1]
    assert orders[0] != [f"{key}=1" for key in values]


def test_a_keys_own_history_stays_in_order_whatever_the_disorder() -> None:
    for seed in range(50):
        changes = {number / 10: {"s:x": str(number)} for number in range(10)}
        seen = time_changes(a_replica(seed=seed, lag_seconds=3, disorder=True), changes, 5)
        values = [int(line.partition("=")[2]) for line in seen]
        assert values == sorted(values)
        assert values[-1] == 9


def test_a_prefix_can_have_a_lag_of_its_own() -> None:
    replica = a_replica(lag_seconds=1)
    replica.tune(Tuning(lags={"s:": 0, "p:b": 3}))
    seen = time_changes(replica, {1: {"p:a": "1", "p:b": "1", "s:x": "live"}}, 9)
    assert seen == ["1.0 s:x=live", "2.0 p:a=1", "4.0 p:b=1"]


def test_a_stale_replica_catches_up_when_it_may() -> None:
    replica = a_replica()
    replica.tune(Tuning(mode=StoreMode.STALE))
    replica.receive(Change(1, {"p:a": "1"}))
    assert replica.advance(5) == {}
    replica.tune(Tuning(mode=StoreMode.NORMAL))
    assert replica.advance(5) == {"p:a": "1"}


def live_file(site: Site, folder: str) -> tuple[str, dict[str, str | None]]:
    """Make a pending file; give its address and the entries that show it."""
    promotion = f"store-{folder.split('.')[1]}"
    site.put(f"_pending/{promotion}/{folder}/a.exe", b"live")
    return f"/{folder}/a.exe", {f"p:{folder}/a.exe": promotion, f"s:{promotion}": "live"}


def test_an_update_is_seen_within_the_lag_and_each_edge_has_its_own(
    site: Site, edges: Edges, connect: Connect, folder: str
) -> None:
    lag = 1.5
    edges.edges[1].tune(lag_seconds=lag)
    path, entries = live_file(site, folder)
    quick, slow = (connect(url) for url in edges.urls)
    began = time.monotonic()
    site.write(entries)
    written = time.monotonic()
    assert eventually(lambda: quick.get(path).status == 200)
    assert slow.get(path).status == 404
    assert time.monotonic() < began + lag, "this machine is too slow for the test"
    assert eventually(lambda: slow.get(path).status == 200)
    # The moment is known to the feeder's interval only, and is taken to be the earliest.
    assert began + lag - 0.5 <= time.monotonic() <= written + lag + 1.5


def test_disorder_shows_one_file_before_another_but_nothing_early(
    site: Site, edges: Edges, viewer: Viewer, folder: str
) -> None:
    promotion = f"disorder-{folder.split('.')[1]}"
    keys = [f"{folder}/{number}.exe" for number in range(12)]
    for key in keys:
        site.put(f"_pending/{promotion}/{key}", b"live")
    edges.edges[0].tune(lag_seconds=1, disorder=True, lags={"s:": 0})
    site.write({f"s:{promotion}": "live", **{f"p:{key}": promotion for key in keys}})
    counts: list[int] = []
    while not counts or counts[-1] < len(keys):
        counts.append(sum(viewer.get(f"/{key}").status == 200 for key in keys))
        assert len(counts) < 1000
    assert len(set(counts)) > 3
    assert counts == sorted(counts)


def test_after_a_wait_of_one_lag_all_files_appear_in_one_step(
    site: Site, edges: Edges, viewer: Viewer, folder: str
) -> None:
    promotion = f"step-{folder.split('.')[1]}"
    keys = [f"{folder}/{number}.exe" for number in range(12)]
    for key in keys:
        site.put(f"_pending/{promotion}/{key}", b"live")
    lag = 0.6
    edges.edges[0].tune(lag_seconds=lag, disorder=True)
    site.write({f"p:{key}": promotion for key in keys})
    time.sleep(lag)
    site.write({f"s:{promotion}": "live"})
    statuses: list[int] = []
    while statuses[-len(keys) :] != [200] * len(keys):
        statuses += [viewer.get(f"/{key}").status for key in keys]
        assert len(statuses) < 10_000
    assert statuses == sorted(statuses, reverse=True)
    assert statuses[0] == 404


@pytest.mark.parametrize("mode", [StoreMode.FAILING, StoreMode.EMPTY, StoreMode.STALE])
def test_a_store_in_trouble_means_late_never_early(
    site: Site, edges: Edges, viewer: Viewer, folder: str, mode: StoreMode
) -> None:
    path, entries = live_file(site, folder)
    site.put(f"{folder}/other.exe", b"public all along")
    edge = edges.edges[0]
    edge.tune(mode=mode)
    site.write(entries)
    assert eventually(lambda: edges.edges[1].status().entries.items() >= entries.items())
    late = viewer.get(path)
    assert (late.status, late.body) == (404, PAGE_TEXT)
    assert viewer.get(f"/{folder}/other.exe").body == b"public all along"
    edge.tune(mode=StoreMode.NORMAL)
    assert eventually(lambda: viewer.get(path).body == b"live")


@pytest.mark.parametrize("mode", [StoreMode.FAILING, StoreMode.EMPTY])
def test_a_store_that_breaks_after_go_live_hides_what_is_not_placed(
    site: Site, edges: Edges, viewer: Viewer, folder: str, mode: StoreMode
) -> None:
    path, entries = live_file(site, folder)
    site.write_seen(edges, entries)
    assert viewer.get(path).status == 200
    edges.edges[0].tune(mode=mode)
    assert viewer.get(path).status == 404


def test_a_stale_store_goes_on_serving_what_it_knows(
    site: Site, edges: Edges, viewer: Viewer, folder: str
) -> None:
    path, entries = live_file(site, folder)
    site.write_seen(edges, entries)
    edge: Edge = edges.edges[0]
    edge.tune(mode=StoreMode.STALE)
    site.write(dict.fromkeys(entries))
    assert eventually(lambda: edge.status().waiting == len(entries))
    assert viewer.get(path).status == 200


def test_a_store_of_several_pages_arrives_whole(site: Site, edges: Edges, folder: str) -> None:
    entries: dict[str, str | None] = {f"p:{folder}/{number}": "x" for number in range(120)}
    site.write_seen(edges, entries)
    site.write_seen(edges, dict.fromkeys(entries))
