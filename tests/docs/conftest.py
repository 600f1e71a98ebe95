"""One site on the emulated AWS for all snippets, with a release that is open."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox.sample import RELEASE, read_inventory, write_files
from sandbox.site import RM, Site, run_site
from tests.docs.pages import DOCS, ROOT

COMMIT = "9c2e4f6a8b0d1c3e5f7a9b1d2c4e6f8a0b3d5c7e"


@dataclass(frozen=True)
class Desk:
    """A folder with what was built in `dist`, and somebody who works in it."""

    site: Site
    folder: Path
    role: str

    def run(self, command: Sequence[str], **variables: str) -> "subprocess.CompletedProcess[str]":
        environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.folder),
            "LC_ALL": "C.UTF-8",
            **self.site.environment(self.role),
            **variables,
        }
        return subprocess.run(
            list(command), cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )

    def shell(self, script: str, **variables: str) -> str:
        done = self.run(["sh", "-euc", script], **variables)
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout


@dataclass(frozen=True)
class Office:
    """Where the release manager looks how things stand."""

    desk: Desk

    def publisher(self, *words: str) -> dict[str, Any]:
        done = self.desk.run(["publisher", *words, "--json"])
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def look(self) -> dict[str, Any]:
        (release,) = self.publisher("status", RELEASE)["releases"]
        return {**release, "roles": {role["role"]: role for role in release["roles"]}}


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    with run_site(tmp_path_factory.mktemp("site"), ROOT / "profiles" / "cpython.toml") as running:
        yield running


@pytest.fixture(scope="session")
def office(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Office:
    office = Office(Desk(site, tmp_path_factory.mktemp("office"), RM))
    office.publisher("open", RELEASE, "--commit", COMMIT)
    return office


def furnish(site: Site, folder: Path, role: str) -> Desk:
    """Lay out what a builder has: the files that it built, and its copies of our scripts."""
    write_files(folder / "dist", [file for file in read_inventory() if file.role == role], COMMIT)
    shutil.copytree(DOCS / "ci", folder / "ci")
    return Desk(site, folder, role)
