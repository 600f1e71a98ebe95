"""One emulated AWS, one site and two edges for all tests of a process; keys are each test's own."""

from collections.abc import Callable, Generator
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path

import pytest

from sandbox.edge import Edges, EdgeSettings, StoreMode, run_edges
from sandbox.ministack import run_ministack
from tests.edge.site import ERROR_TTL, Site, provision
from tests.edge.viewer import Viewer

_NUMBERS = count(1)


@pytest.fixture(scope="session")
def site() -> Generator[Site]:
    with run_ministack() as server:
        yield provision(server)


@pytest.fixture(scope="session")
def shared_edges(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Generator[Edges]:
    folder: Path = tmp_path_factory.mktemp("edges")
    with run_edges(site.origin, EdgeSettings(error_ttl_seconds=ERROR_TTL), folder, 2) as edges:
        yield edges


@pytest.fixture
def edges(shared_edges: Edges) -> Edges:
    """Both edges as they were at first, with empty caches; what is in the store stays."""
    for edge in shared_edges.edges:
        edge.tune(lag_seconds=0, lags={}, disorder=False, mode=StoreMode.NORMAL, invalidation_delay_seconds=0)
        edge.forget()
    return shared_edges


@pytest.fixture
def connect() -> Generator[Callable[[str], Viewer]]:
    """Open connections that are closed after the test."""
    with ExitStack() as stack:
        yield lambda url: stack.enter_context(closing(Viewer(url)))


@pytest.fixture
def viewer(edges: Edges, connect: Callable[[str], Viewer]) -> Viewer:
    """A viewer of the first edge."""
    return connect(edges.urls[0])


@pytest.fixture
def folder() -> str:
    """The name of a folder that no other test uses."""
    return f"python/3.{next(_NUMBERS)}.0"
