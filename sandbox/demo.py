"""`make demo`: CPython 3.14.0b3 staged by four builders, refused, re-spun and promoted, on an emulated AWS.

Every line is a real command in a process of its own, with the credentials of the role that runs it. The demo
fails if something is not as it should be; its figures go to build/demo.json.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.ministack import Ministack, local_config
from sandbox.running import run_sandbox
from sandbox.sample import RELEASE, SampleFile, read_inventory, write_files
from sandbox.site import PUBLIC, RM, STAGING, Site

ROOT = Path(__file__).parents[1]
PROFILE = ROOT / "profiles" / "cpython.toml"
FIGURES = ROOT / "build" / "demo.json"
FIRST = "1f5d0a1c9e7b3d2a4c6e8f0b1d3a5c7e9f1b2d4a"
SECOND = "9c2e4f6a8b0d1c3e5f7a9b1d2c4e6f8a0b3d5c7e"


Figures = dict[str, Any]


class DemoError(Exception):
    """Something is not as the demo says."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a command printed and how it ended."""

    status: int
    out: str
    seconds: float


class Stage:
    """Runs commands as the roles of a site and shows what they say, with the time since the start."""

    def __init__(self, site: Site, folder: Path) -> None:
        self._site = site
        self._folder = folder
        self._start = time.monotonic()

    def tell(self, text: str) -> None:
        """Say what happens next."""
        print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)

    def run(self, role: str, command: Sequence[str], *, expect: int = 0, lines: int = 40) -> Result:
        """Run a command as `role`; any other exit status than `expect` ends the demo."""
        shown = " ".join(f"'{word}'" if " " in word or "*" in word else word for word in command)
        print(f"{time.monotonic() - self._start:6.1f} s  {role:<10}$ {shown}", flush=True)
        start = time.monotonic()
        done = self._run(role, command)
        for line in (done.stdout + done.stderr).splitlines()[:lines]:
            print(f"{'':21}{line}")
        if done.returncode != expect:
            raise DemoError(f"{shown}: found exit status {done.returncode}, expected {expect}")
        return Result(done.returncode, done.stdout, time.monotonic() - start)

    def ask(self, role: str, command: Sequence[str], *, expect: int) -> Figures:
        """Run a command once more with `--json`, without showing it, and give its answer."""
        done = self._run(role, [*command, "--json", "--quiet"])
        if done.returncode != expect:
            raise DemoError(
                f"{command}: found exit status {done.returncode}, expected {expect}: {done.stderr}"
            )
        return json.loads(done.stdout)

    def _run(self, role: str, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self._folder),
            "LC_ALL": "C.UTF-8",
            "AWS_CONFIG_FILE": str(self._folder / "aws.config"),
            "AWS_EC2_METADATA_DISABLED": "true",
            **self._site.environment(role),
        }
        return subprocess.run(
            list(command), cwd=self._folder, env=environment, capture_output=True, text=True, check=False
        )


def main() -> int:
    """Run the demo and give its exit status."""
    try:
        with (
            tempfile.TemporaryDirectory(prefix="demo-") as name,
            run_sandbox(Path(name), PROFILE) as sandbox,
        ):
            figures = play(sandbox.site, Path(name))
    except DemoError as error:
        print(f"\nthe demo failed: {error}", file=sys.stderr)
        return 1
    FIGURES.parent.mkdir(exist_ok=True)
    FIGURES.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
    print(f"\n{json.dumps(figures)}\nwritten to {FIGURES.relative_to(ROOT)}")
    return 0


def play(site: Site, folder: Path) -> Figures:
    """Play the story and give its figures."""
    server = site.server
    # Plain `aws s3 cp` goes multipart above 8 MB, and then the store holds no digest of the whole file.
    (folder / "aws.config").write_text("[default]\ns3 =\n  multipart_threshold = 5GB\n", "utf-8")
    stage = Stage(site, folder)
    inventory = read_inventory()
    roles = sorted({file.role for file in inventory})

    stage.tell(f"The release manager opens {RELEASE}: {len(inventory)} files are to come from four builders.")
    stage.run(RM, ["publisher", "open", RELEASE, "--commit", FIRST])
    _build(folder, "first", inventory, FIRST)
    stage.tell(
        "Two of them deliver. A promotion now says everything that stands in the way, and writes nothing."
    )
    for role in ("source", "windows"):
        stage.run(role, _upload("first", role, FIRST))
    stage.run(RM, ["publisher", "promote", RELEASE, "--yes"], expect=3)
    refused = stage.ask(RM, ["publisher", "promote", RELEASE, "--yes"], expect=3)

    stage.tell("A tester finds a fault in the staged installer and stops the release; a new commit cures it.")
    stage.run("qa", ["publisher", "hold", RELEASE, "--role", "qa", "--reason", "the 64-bit installer hangs"])
    stage.run(RM, ["publisher", "respin", RELEASE, "--commit", SECOND, "--reason", "installer hangs"])
    stage.run(RM, ["publisher", "status", RELEASE, "--check"], expect=3)

    stage.tell("All build the new commit. One of them has only the AWS CLI and sha256sum.")
    _build(folder, "second", inventory, SECOND)
    for role in roles:
        if role != "pymanager":
            stage.run(role, _upload("second", role, SECOND))
    _upload_by_hand(stage, folder)
    stage.run("qa", ["publisher", "unhold", RELEASE, "--role", "qa"])
    stage.run(RM, ["publisher", "status", RELEASE, "--check"])

    stage.tell("Everything is in place: one command makes it public.")
    promoted = stage.run(RM, ["publisher", "promote", RELEASE, "--yes", "--json"], lines=0)
    answer = json.loads(promoted.out)
    print(f"{'':21}{answer['written']} files, {answer['bytes']:,} bytes, plan {answer['plan'][:23]}…")
    stage.tell("Run again, it finds nothing to do.")
    before = _count_versions(server)
    stage.run(RM, ["publisher", "promote", RELEASE, "--yes"])
    figures = {
        "release": RELEASE,
        "objects": answer["written"],
        "bytes": answer["bytes"],
        "promote_s": round(promoted.seconds, 2),
        "artifact_bytes_through_publisher": answer["artifact_bytes_through_publisher"],
        "second_run_writes": _count_versions(server) - before,
        "digests_verified": _verify(server, folder / "second", inventory),
        "refusals_first": len(refused["refusals"]),
    }
    _check(figures, len(inventory))
    return figures


def _build(folder: Path, attempt: str, inventory: Sequence[SampleFile], commit: str) -> None:
    for role in {file.role for file in inventory}:
        write_files(folder / attempt / role, [file for file in inventory if file.role == role], commit)


def _upload(attempt: str, role: str, commit: str) -> list[str]:
    # fmt: off
    return ["publisher", "upload", RELEASE, f"{attempt}/{role}", "--role", role, "--commit", commit,
            "--complete", "--prune"]
    # fmt: on


def _upload_by_hand(stage: Stage, folder: Path) -> None:
    """Hand over without the publisher: what any builder's machine has is enough."""
    (folder / "second/pymanager/COMMIT").write_text(f"{SECOND}\n", "utf-8")
    target = f"s3://{STAGING}/pymanager/{RELEASE}/"
    sums = "find . -type f ! -name SHA256SUMS -print0 | sort -z | xargs -0 sha256sum > SHA256SUMS"
    copy = ["aws", "s3", "cp", "--checksum-algorithm", "SHA256", "--only-show-errors"]
    stage.run("pymanager", ["sh", "-c", f"cd second/pymanager && {sums}"])
    stage.run("pymanager", [*copy, "--recursive", "--exclude", "SHA256SUMS", "second/pymanager", target])
    stage.run("pymanager", [*copy, "second/pymanager/SHA256SUMS", f"{target}SHA256SUMS"])


def _count_versions(server: Ministack) -> int:
    """Count every version in both buckets: whatever was written has left one."""
    with closing(
        server.root_session().client("s3", endpoint_url=server.endpoint, config=local_config())
    ) as s3:
        pages = s3.get_paginator("list_object_versions")
        return sum(
            len(page.get("Versions", [])) + len(page.get("DeleteMarkers", []))
            for bucket in (STAGING, PUBLIC)
            for page in pages.paginate(Bucket=bucket)
        )


def _verify(server: Ministack, folder: Path, inventory: Sequence[SampleFile]) -> int:
    """Read every public object and count those whose bytes are the ones that were built."""
    with closing(
        server.root_session().client("s3", endpoint_url=server.endpoint, config=local_config())
    ) as s3:

        def matches(file: SampleFile) -> bool:
            found = s3.get_object(Bucket=PUBLIC, Key=file.key)["Body"].read()
            built = (folder / file.role / file.key).read_bytes()
            return hashlib.sha256(found).digest() == hashlib.sha256(built).digest()

        return sum(matches(file) for file in inventory)


def _check(figures: Figures, count: int) -> None:
    wanted = {
        "objects": count,
        "artifact_bytes_through_publisher": 0,
        "second_run_writes": 0,
        "digests_verified": count,
    }
    for name, expected in wanted.items():
        if figures[name] != expected:
            raise DemoError(f"{name}: found {figures[name]}, expected {expected}")
    if not figures["refusals_first"]:
        raise DemoError("the incomplete release was not refused")


if __name__ == "__main__":
    sys.exit(main())
