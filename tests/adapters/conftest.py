"""The stores of the adapters' tests: servers start once for a session, when first asked for."""

from collections.abc import Generator

import pytest

from sandbox.ministack import Ministack, run_ministack
from tests.support.backends import (
    BACKENDS,
    REAL,
    Backend,
    Server,
    make_backend,
    make_fake,
    open_ministack,
    open_seaweed,
)
from tests.support.seaweed import run_seaweed


@pytest.fixture(scope="session")
def ministack() -> Generator[Ministack]:
    with run_ministack() as running:
        yield running


@pytest.fixture(scope="session")
def ministack_server(ministack: Ministack) -> Generator[Server]:
    with open_ministack(ministack) as server:
        yield server


@pytest.fixture(scope="session")
def seaweedfs_server() -> Generator[Server]:
    with run_seaweed() as running, open_seaweed(running) as server:
        yield server


@pytest.fixture(params=REAL)
def server(request: pytest.FixtureRequest) -> Server:
    found = request.getfixturevalue(f"{request.param}_server")
    assert isinstance(found, Server)
    return found


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    if request.param == "fake":
        return make_fake()
    found = request.getfixturevalue(f"{request.param}_server")
    assert isinstance(found, Server)
    return make_backend(found)


@pytest.fixture
def fresh(server: Server) -> Backend:
    return make_backend(server)
