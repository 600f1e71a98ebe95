"""Starts the edges' processes and the feeder's, and stops them for sure."""

import os
import secrets
import sys
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

from sandbox.edge.control import Edge
from sandbox.edge.deployed import read_deployed
from sandbox.edge.values import EDGE_CONFIG, FEEDER_CONFIG, EdgeConfig, EdgeSettings, FeederConfig, Origin
from sandbox.ministack import LOOPBACK, Credentials, reserve_port, run_process, wait_until


@dataclass(frozen=True, slots=True)
class Edges:
    """The running edges; `feeder_pid` is the group of the process that feeds them."""

    edges: tuple[Edge, ...]
    feeder_pid: int

    @property
    def urls(self) -> tuple[str, ...]:
        """The address of each edge, with a slash at the end."""
        return tuple(edge.url for edge in self.edges)


@contextmanager
def run_edges(origin: Origin, settings: EdgeSettings, folder: Path, count: int = 2) -> Generator[Edges]:
    """Run `count` edges in front of `origin` until the block ends, however it ends.

    They are ready when the block begins, and hold the store as it was then. Each process has a folder in
    `folder`, with its log.

    Raises:
        ServerError: A process did not start; the message holds the last lines of its log.
    """
    token = secrets.token_hex(16)
    deployed = read_deployed(origin, error_ttl_seconds=settings.error_ttl_seconds)
    with ExitStack() as stack:
        ports = [
            (stack.enter_context(reserve_port()), stack.enter_context(reserve_port())) for _ in range(count)
        ]
        configs = [
            EdgeConfig(number, port, control_port, token, origin.endpoint, deployed, settings)
            for number, (port, control_port) in enumerate(ports, start=1)
        ]
        feeder_config = FeederConfig(
            endpoint=origin.endpoint,
            distribution_id=origin.distribution_id,
            kvs_arn=origin.kvs_arn,
            poll_seconds=settings.poll_seconds,
            control_ports=tuple(config.control_port for config in configs),
            token=token,
        )
        running = [
            _start(stack, "server", folder / f"edge-{config.number}", EDGE_CONFIG.dump_json(config), {})
            for config in configs
        ]
        feeder = _start(
            stack,
            "feeder",
            folder / "feeder",
            FEEDER_CONFIG.dump_json(feeder_config),
            _spell(origin.credentials),
        )
        edges = [
            Edge(f"http://{LOOPBACK}:{config.port}/", process.process.pid, config.control_port, token)
            for config, process in zip(configs, running, strict=True)
        ]
        for edge, process in zip(edges, running, strict=True):
            process.wait(edge)
        for edge in edges:
            feeder.wait(edge, fed=True)
        yield Edges(tuple(edges), feeder.process.pid)


@dataclass(frozen=True, slots=True)
class _Running:
    process: Popen[bytes]
    folder: Path

    def wait(self, edge: Edge, *, fed: bool = False) -> None:
        """Wait until `edge` answers, and where asked for until it has been fed."""
        wait_until(self.process, self.folder, lambda: edge.status().fed or not fed)


def _start(
    stack: ExitStack, module: str, folder: Path, config: bytes, environment: Mapping[str, str]
) -> _Running:
    folder.mkdir(parents=True)
    path = folder / "config.json"
    # It holds the word that edges obey.
    path.touch(mode=0o600)
    path.write_bytes(config)
    command = [sys.executable, "-I", "-m", f"sandbox.edge.{module}", str(path)]
    base = {"PATH": os.defpath, "HOME": str(folder), "TMPDIR": str(folder)}
    return _Running(stack.enter_context(run_process(command, folder, {**base, **environment})), folder)


def _spell(credentials: Credentials) -> dict[str, str]:
    spelled = {
        "AWS_ACCESS_KEY_ID": credentials.access_key_id,
        "AWS_SECRET_ACCESS_KEY": credentials.secret_access_key,
    }
    return spelled | ({"AWS_SESSION_TOKEN": credentials.token} if credentials.token else {})
