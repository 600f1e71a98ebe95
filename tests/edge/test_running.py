"""Edges start whole or not at all, keep to themselves, and are gone in the end."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from sandbox.edge import Edges, EdgeSettings, run_edges
from sandbox.edge.control import Line
from sandbox.edge.origin import Fetched, OriginClient
from sandbox.edge.values import Command
from sandbox.ministack import LOOPBACK, ServerError, reserve_port
from tests.edge.site import Site
from tests.edge.viewer import Viewer, eventually
from tests.sandbox.processes import in_group, needs_proc

OPEN_GATE = "async function handler(event) { return event.request; }"
LISTEN = "0A"


def is_listened_to(url: str) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((LOOPBACK, urlsplit(url).port or 0)) == 0


def groups_of(edges: Edges) -> list[int]:
    return [edges.feeder_pid, *(edge.pid for edge in edges.edges)]


def listening_of(pid: int) -> set[str]:
    """Give the hexadecimal addresses that a process listens on."""
    links = [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir() if path.is_symlink()]
    sockets = {link[8:-1] for link in links if link.startswith("socket:[")}
    found: set[str] = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTEN and fields[9] in sockets:
                found.add(fields[1].rpartition(":")[0])
    return found


@needs_proc
def test_edges_listen_on_loopback_only(shared_edges: Edges) -> None:
    addresses = {
        group: {address for pid in in_group(group) for address in listening_of(pid)}
        for group in groups_of(shared_edges)
    }
    assert addresses.pop(shared_edges.feeder_pid) == set()
    assert set(map(frozenset, addresses.values())) == {frozenset({"0100007F"})}


def test_an_edge_that_dies_does_not_take_the_others_with_it(site: Site, tmp_path: Path) -> None:
    with run_edges(site.origin, EdgeSettings(), tmp_path, 2) as edges:
        os.killpg(edges.edges[0].pid, signal.SIGKILL)
        for value in ("1", None, "2"):
            site.write({"d:survivor": value})
            assert eventually(lambda value=value: edges.edges[1].status().entries.get("d:survivor") == value)


@needs_proc
def test_nothing_is_left_after_the_block(site: Site, tmp_path: Path) -> None:
    with run_edges(site.origin, EdgeSettings(), tmp_path, 2) as edges:
        assert len(edges.urls) == len(set(edges.urls)) == 2
        groups = groups_of(edges)
        assert all(in_group(group) for group in groups)
    assert not any(in_group(group) for group in groups)
    assert not any(is_listened_to(url) for url in edges.urls)


KILLED = """
import sys, time
from pathlib import Path
from sandbox.edge import EdgeSettings, Origin, run_edges
from sandbox.ministack import Credentials
endpoint, distribution, arn, key, secret, folder = sys.argv[1:]
origin = Origin(endpoint, distribution, arn, Credentials(key, secret))
with run_edges(origin, EdgeSettings(), Path(folder), 1) as edges:
    print(edges.feeder_pid, edges.edges[0].pid, flush=True)
    time.sleep(60)
"""


@needs_proc
def test_nothing_is_left_when_the_parent_is_killed(site: Site, tmp_path: Path) -> None:
    origin = site.origin
    secret = origin.credentials.secret_access_key
    command = [
        origin.endpoint,
        origin.distribution_id,
        origin.kvs_arn,
        origin.credentials.access_key_id,
        secret,
    ]
    parent = subprocess.Popen(
        [sys.executable, "-c", KILLED, *command, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    with parent:
        assert parent.stdout is not None
        groups = [int(word) for word in parent.stdout.readline().split()]
        assert len(groups) == 2
        parent.send_signal(signal.SIGKILL)
    assert eventually(lambda: not any(in_group(group) for group in groups))


def test_a_gate_that_hides_nothing_would_be_noticed(site: Site, tmp_path: Path) -> None:
    site.put("_pending/id/open.exe", b"open")
    with run_edges(site.origin, EdgeSettings(gate=OPEN_GATE), tmp_path, 1) as edges:
        viewer = Viewer(edges.urls[0])
        for path in ("/_pending/id/open.exe", "/%5fpending/id/open.exe", "/_pending%2fid/open%2Eexe"):
            assert viewer.get(path).body == b"open"
        # The emulator's own pages are not the bucket's.
        assert viewer.get("/_ministack/health").status == 404
        viewer.close()


def test_a_gate_that_fails_answers_503(site: Site, tmp_path: Path) -> None:
    code = "function handler(event) { if (event.request.uri === '/bad') { return { uri: 'x' }; } throw 1; }"
    with run_edges(site.origin, EdgeSettings(gate=code), tmp_path, 1) as edges:
        viewer = Viewer(edges.urls[0])
        assert [viewer.get(path).status for path in ("/", "/bad")] == [503, 503]
        assert edges.edges[0].status().counters.function_errors == 2
        viewer.close()


def test_a_gate_that_cannot_be_loaded_is_reported(site: Site, tmp_path: Path) -> None:
    settings = EdgeSettings(gate="import fs from 'fs';")
    with pytest.raises(ServerError, match="import"), run_edges(site.origin, settings, tmp_path, 1):
        pytest.fail("it must not run")


def test_a_store_that_does_not_exist_is_reported(site: Site, tmp_path: Path) -> None:
    origin = replace(site.origin, kvs_arn=f"{site.origin.kvs_arn}-other")
    with pytest.raises(ServerError, match="ResourceNotFound"), run_edges(origin, EdgeSettings(), tmp_path, 1):
        pytest.fail("it must not run")


def test_a_distribution_that_the_bucket_does_not_know_reads_nothing(site: Site, tmp_path: Path) -> None:
    site.put("public.exe", b"x")
    config = site.cloudfront.get_distribution_config(Id=site.origin.distribution_id)["DistributionConfig"]
    config["CallerReference"] = "foreign"
    foreign = site.cloudfront.create_distribution(DistributionConfig=config)["Distribution"]["Id"]
    origin = replace(site.origin, distribution_id=foreign)
    with run_edges(origin, EdgeSettings(), tmp_path, 1) as edges:
        viewer = Viewer(edges.urls[0])
        answer = viewer.get("/public.exe")
        # Not even the page that stands in for the error can be read.
        assert answer.status == 403
        assert answer.body != b"x"
        viewer.close()


def test_an_edge_obeys_nobody_else(shared_edges: Edges) -> None:
    line = Line(shared_edges.edges[0].control_port)
    with pytest.raises(ConnectionError):
        line.send(Command("not the token", forget=True))
    line.close()


def test_an_origin_that_is_not_there_is_a_bad_gateway() -> None:
    with reserve_port() as port:
        client = OriginClient(f"http://{LOOPBACK}:{port}", "d.cloudfront.net")
        assert asyncio.run(client.fetch("/a")) == Fetched(502)
        assert client.requests == 1
