"""What every test may use, and what none may do: reach anything but this machine."""

import ipaddress
import socket
from collections.abc import Generator
from typing import Any

import pytest

_NAMES = frozenset({None, "", "localhost"})


class CallsOutError(BaseException):
    """A test was about to call out. No `except Exception` of what is tested can hide that."""


@pytest.fixture(scope="session", autouse=True)
def _network_off() -> Generator[None]:  # pyright: ignore[reportUnusedFunction] - pytest uses it
    """Let connections go to this machine only, and resolve no name of another one.

    Sockets of this machine's own kind, listening, and what other processes do stay as they are.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, _guard_connect(getattr(socket.socket, name)))
        patch.setattr(socket, "getaddrinfo", _guard_lookup(socket.getaddrinfo))
        yield


def _guard_connect(connect: Any) -> Any:
    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family in {socket.AF_INET, socket.AF_INET6} and not _is_here(address[0]):
            # Who connects closes it after an error only.
            self.close()
            raise CallsOutError(f"a connection to {address[0]}, port {address[1]}")
        return connect(self, address)

    return guarded


def _guard_lookup(look_up: Any) -> Any:
    def guarded(host: Any, *args: Any, **kwargs: Any) -> Any:
        # An address needs no lookup: it is judged when something connects to it.
        if not (_is_here(host) or _is_address(host)):
            raise CallsOutError(f"a lookup of {host}")
        return look_up(host, *args, **kwargs)

    return guarded


def _is_here(host: str | bytes | None) -> bool:
    name = _decode(host)
    if name in _NAMES:
        return True
    if not _is_address(name):
        return False
    address = ipaddress.ip_address(str(name).partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def _is_address(host: str | bytes | None) -> bool:
    try:
        ipaddress.ip_address(str(_decode(host)).partition("%")[0])
    except ValueError:
        return False
    return True


def _decode(host: str | bytes | None) -> str | None:
    return host.decode() if isinstance(host, bytes) else host
