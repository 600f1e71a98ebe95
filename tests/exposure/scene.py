"""Stages, promotes and watches releases of a small project on a sandbox, each test a release of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from urllib.parse import quote

import pytest
import requests

from publisher.core import sums
from publisher.core.digests import of_bytes
from publisher.core.snapshot import ReleaseState
from publisher.documents.state import encode
from sandbox.edge import StoreMode
from sandbox.ministack import local_config
from sandbox.running import Sandbox
from sandbox.site import STAGING
from sandbox.watch import Watch, watch
from sandbox.witness import read_live

PROFILE = """
schema = 1
project = { name = "Tool", version = '[0-9]+[.][0-9]+[.][0-9]+', base_url = "https://dl.example.org/" }

[roles.linux]
[roles.mac]
[roles.qa]
duty = "tests"
reads = ["linux", "mac"]

[[artifact]]
key = "tool/{release}/tool-{release}-{part}.tgz"
each = { part = ["a", "b", "c+d"] }
role = "linux"

[[artifact]]
key = "tool/{release}/{part}/tool.pkg"
each = { part = ["x", "y"] }
role = "mac"

[[artifact]]
key = "tool/{release}/late.txt"
role = "linux"
optional = "all"
"""

ROOT = Path(__file__).parents[2]
_NUMBERS = count(1)


class Scene:
    """The sandbox and what one can do with it."""

    def __init__(self, sandbox: Sandbox, temporary: pytest.TempPathFactory) -> None:
        self.sandbox = sandbox
        self._temporary = temporary

    def new_release(self) -> str:
        """Name a release that no other test has."""
        return f"1.{next(_NUMBERS)}.0"

    def new_folder(self) -> Path:
        return self._temporary.mktemp("scene")

    def run(self, role: str, *arguments: str | Path, expect: int = 0) -> str:
        """Run the publisher as `role`."""
        done = subprocess.run(
            [sys.executable, "-m", "publisher", *arguments],
            env=self._environment(role),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == expect, done.stdout + done.stderr
        return done.stdout

    def stage(self, release: str, *, late: bool = False) -> None:
        """Open a release and hand over everything it must have; `late` adds the file it may have."""
        with closing(self._root()) as s3:

            def put(key: str, data: bytes) -> None:
                s3.put_object(Bucket=STAGING, Key=key, Body=data, ChecksumAlgorithm="SHA256")

            if not late:
                state = ReleaseState(
                    1, release, None, 1, "", "arn:test", datetime(2026, 1, 1, tzinfo=UTC), {}
                )
                put(f"_state/releases/{release}.json", encode(state))
            for role, keys in self.files(release).items():
                added = [f"tool/{release}/late.txt"] if late and role == "linux" else []
                files = {key: f"{role} built {key}\n".encode() * 50 for key in [*keys, *added]}
                for key, data in files.items():
                    put(f"{role}/{release}/{key}", data)
                digests = {key: of_bytes(data) for key, data in files.items()}
                put(f"{role}/{release}/{sums.NAME}", sums.format_sums(digests))

    def files(self, release: str) -> dict[str, list[str]]:
        """Name the files that every release must have, by role."""
        return {
            "linux": [f"tool/{release}/tool-{release}-{part}.tgz" for part in ("a", "b", "c+d")],
            "mac": [f"tool/{release}/{part}/tool.pkg" for part in ("x", "y")],
        }

    def paths(self, *releases: str) -> list[str]:
        """Give the canonical request path of each of those files."""
        return [f"/{quote(key)}" for name in releases for keys in self.files(name).values() for key in keys]

    @contextmanager
    def promoting(self, *releases: str, notes: Path, expect: int = 0) -> Generator[subprocess.Popen[str]]:
        """Promote in a process of its own, and wait for its end when the block is left."""
        with subprocess.Popen(
            [sys.executable, "-m", "sandbox.witness", notes, "promote", *releases, "--yes"],
            env=self._environment("rm"),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            yield process
            out, err = process.communicate(timeout=120)
        assert process.returncode == expect, out + err

    def promote_watched(
        self, *releases: str, sets: Sequence[Sequence[str]] | None = None, expect: int = 0
    ) -> tuple[Watch, float]:
        """Promote while every edge is polled, and give what was seen and when go-live was sent."""
        folder = self.new_folder()
        notes = folder / "gate"
        seen = self._watch(*releases, sets=sets, notes=notes, expect=expect)
        (live,) = read_live(notes)
        return seen, live[0]

    def finish_watched(self, release: str, *, sets: Sequence[Sequence[str]] | None = None) -> Watch:
        """Finish a promotion that is live while every edge is polled, and give what was seen."""
        return self._watch(release, sets=sets, notes=self.new_folder() / "gate", expect=0)

    def _watch(self, *releases: str, sets: Sequence[Sequence[str]] | None, notes: Path, expect: int) -> Watch:
        sets = sets or [self.paths(*releases), self.paths(*releases)]
        with watch(self.sandbox.urls, sets, notes.parent) as seen:
            with self.promoting(*releases, notes=notes, expect=expect):
                pass
            time.sleep(1)
        return seen

    def stage_late(self, release: str) -> None:
        """Hand over the file that a release may have, and all the others again."""
        self.stage(release, late=True)

    def ask(self, *releases: str) -> set[int]:
        """Ask every edge for every canonical URL, and give the statuses that came."""
        answers = (
            requests.get(url.rstrip("/") + path, timeout=10)
            for url in self.sandbox.urls
            for path in self.paths(*releases)
        )
        return {answer.status_code for answer in answers}

    @contextmanager
    def tuned(
        self,
        *,
        lag_seconds: float = 0,
        lags: Mapping[str, float] | None = None,
        disorder: bool = False,
        mode: StoreMode = StoreMode.NORMAL,
    ) -> Generator[None]:
        """Let the edges follow the store in another way until the block ends."""
        for edge in self.sandbox.edges.edges:
            edge.tune(lag_seconds=lag_seconds, lags=lags or {}, disorder=disorder, mode=mode)
        try:
            yield
        finally:
            for edge in self.sandbox.edges.edges:
                edge.tune(lag_seconds=0, lags={}, disorder=False, mode=StoreMode.NORMAL)

    def find_promotion(self, release: str) -> str:
        """Find the id of the one promotion of a release, as no outsider could."""
        with closing(self._root()) as s3:
            for page in s3.get_paginator("list_objects_v2").paginate(
                Bucket=STAGING, Prefix="_state/promotions/"
            ):
                for found in page.get("Contents", []):
                    key = found.get("Key", "")
                    if key.endswith("plan.json"):
                        plan = json.loads(s3.get_object(Bucket=STAGING, Key=key)["Body"].read())
                        if [named["name"] for named in plan["releases"]] == [release]:
                            return plan["id"]
        raise AssertionError(f"no promotion of {release}")

    def kill_when(self, process: subprocess.Popen[str], step: str) -> None:
        """Kill a promoting process as soon as it says that `step` begins."""
        self.wait_for(process, step)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def wait_for(self, process: subprocess.Popen[str], step: str) -> None:
        """Wait until a promoting process says that `step` begins."""
        assert process.stderr is not None
        for line in process.stderr:
            if line.split()[:1] == step.split()[:1]:
                return

    def expire_lease(self) -> None:
        """Let the lease of a killed process run out now rather than in two minutes."""
        key = "_state/lease.json"
        with closing(self._root()) as s3:
            lease = json.loads(s3.get_object(Bucket=STAGING, Key=key)["Body"].read())
            s3.put_object(Bucket=STAGING, Key=key, Body=json.dumps({**lease, "token": None}).encode())

    def _root(self):
        server = self.sandbox.site.server
        return server.root_session().client("s3", endpoint_url=server.endpoint, config=local_config())

    def _environment(self, role: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return {**kept, "LC_ALL": "C.UTF-8", **self.sandbox.site.environment(role)}
