"""A sandbox with two edges for a small project, and hands to stage, promote and watch with."""

from collections.abc import Generator

import pytest

from sandbox.edge import EdgeSettings
from sandbox.running import run_sandbox
from sandbox.site import Timing
from tests.exposure.scene import PROFILE, Scene


@pytest.fixture(scope="session")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Generator[Scene]:
    """Run a sandbox whose edges may be a second late, as its gate is told."""
    folder = tmp_path_factory.mktemp("sandbox")
    profile = folder / "tool.toml"
    profile.write_text(PROFILE, "utf-8")
    # Edges that forget a miss sooner than the gate is told hide less of what comes too early.
    settings = EdgeSettings(lag_seconds=0, poll_seconds=0.02, error_ttl_seconds=0.5)
    timing = Timing(lag=1, settle=2, error_ttl=1)
    with run_sandbox(folder, profile, edges=2, settings=settings, timing=timing) as sandbox:
        yield Scene(sandbox, tmp_path_factory)
