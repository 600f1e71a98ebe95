"""One site for all tests that ask for it: the program deployed for CPython's profile, without edges."""

import os
from collections.abc import Generator, Mapping
from pathlib import Path

import pytest

from sandbox.site import AUDITOR, RM, Site, run_site
from tests.sandbox.hands import Hands

PROFILE = Path(__file__).parents[2] / "profiles" / "cpython.toml"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    with run_site(tmp_path_factory.mktemp("site"), PROFILE) as running:
        yield running


@pytest.fixture(scope="session")
def hands(site: Site) -> Mapping[str, Hands]:
    """Give everybody's clients, by role."""
    return {role: Hands(site, site.credentials[role]) for role in ("windows", "qa", RM, AUDITOR)}


@pytest.fixture(scope="session")
def root(site: Site) -> Hands:
    """Give the clients of root, who is above all policies: for preparing and looking."""
    return Hands(site, site.server.root)


@pytest.fixture
def bare_environment(tmp_path: Path) -> dict[str, str]:
    """Give the environment of a terminal that knows nothing of AWS."""
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
