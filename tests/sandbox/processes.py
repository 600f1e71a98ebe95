"""What is running on this machine, and what it listens on, as Linux's /proc tells."""

import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.ministack import LOOPBACK

LISTEN = "0A"
LOOPBACKS = {"0100007F", "00000000000000000000000001000000"}

needs_proc = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs Linux's /proc")


def listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((LOOPBACK, port)) == 0


def in_group(group: int) -> list[int]:
    """List the processes of a process group that are not mere zombies."""
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, leader = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(leader) == group and state != "Z":
            found.append(int(path.parent.name))
    return found


def sockets_of(pid: int) -> set[str]:
    found: set[str] = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            name = str(link.readlink())
        except OSError:
            continue
        if name.startswith("socket:["):
            found.add(name.removeprefix("socket:[").removesuffix("]"))
    return found


def listening_addresses(sockets: set[str]) -> set[str]:
    """Give the hexadecimal addresses that these sockets listen on."""
    found: set[str] = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTEN and fields[9] in sockets:
                found.add(fields[1].rpartition(":")[0])
    return found


def eventually(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 5
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def descendants(pid: int) -> set[int]:
    """List the processes that this one has started, those too that they have started."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, parent = path.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        parents[int(path.parent.name)] = int(parent)
    found: set[int] = set()
    new = {pid}
    while new:
        found |= new
        new = {child for child, parent in parents.items() if parent in found} - found
    return found - {pid}


def is_running(pid: int) -> bool:
    """Tell whether there is such a process that is not a mere zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def listening_ports(sockets: set[str]) -> set[int]:
    """Give the ports that these sockets listen on."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    fields = [line.split() for line in lines]
    return {
        int(each[1].rpartition(":")[2], 16) for each in fields if each[3] == LISTEN and each[9] in sockets
    }
