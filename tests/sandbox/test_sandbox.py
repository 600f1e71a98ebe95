"""`python -m sandbox` as a process of its own: what it prints works, and nothing of it is left."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox.deploy import ROOT
from sandbox.site import AUDITOR, RM, STAGING
from tests.sandbox.processes import (
    LOOPBACKS,
    descendants,
    eventually,
    is_running,
    listening_addresses,
    listening_ports,
    listens,
    needs_proc,
    sockets_of,
)

ROLES = {"source", "windows", "pymanager", "macos", "qa", RM, AUDITOR}


@dataclass(frozen=True)
class Running:
    process: subprocess.Popen[str]
    folder: Path
    text: str

    @property
    def commands(self) -> list[str]:
        """What it says to type."""
        return [line.strip() for line in self.text.splitlines() if line.startswith("  ")]


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "sandbox", "--folder", str(folder), *options],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder.parent),
            "TMPDIR": str(folder.parent),
            "LC_ALL": "C.UTF-8",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def read_until_ready(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    text = ""
    for line in process.stdout:
        text += line
        if line == "Ready.\n":
            return text
    pytest.fail(f"it ended: {text}")


def shell(lines: list[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-e", "-c", "\n".join(lines)], env=environment, capture_output=True, text=True, check=False
    )


@needs_proc
def test_what_it_says_works_and_ctrl_c_leaves_nothing(
    tmp_path: Path, bare_environment: dict[str, str]
) -> None:
    # One test, because one sandbox is enough.
    folder = tmp_path / "its files"
    with start(folder) as process:
        try:
            running = Running(process, folder, read_until_ready(process))
            check_every_role_has_a_profile_and_variables(running, bare_environment)
            check_a_profile_has_the_rights_of_its_role(running, bare_environment)
            check_only_their_owner_reads_files_with_credentials(running)
            check_what_it_says_to_type_makes_the_release_public(running, bare_environment)
            check_it_listens_on_loopback_only_and_ctrl_c_leaves_nothing(running)
        finally:
            # Not its fault if a test has failed; killed, it still leaves nothing running.
            process.kill()


def check_every_role_has_a_profile_and_variables(running: Running, bare_environment: dict[str, str]) -> None:
    code = (
        "import boto3, sys\n"
        "for role in sys.argv[1:]:\n"
        "    print(boto3.Session(profile_name=role).client('sts').get_caller_identity()['Arn'])\n"
    )
    by_profile = shell([running.commands[0], f'python -c "{code}" {" ".join(ROLES)}'], bare_environment)
    arns = by_profile.stdout.split()
    assert len(set(arns)) == len(ROLES), by_profile.stderr
    assert all(":assumed-role/sandbox-" in arn for arn in arns)
    variables = f"set -a; . '{running.folder}/windows.env'; set +a"
    who = f"'{sys.executable}' -m awscli sts get-caller-identity --query Arn --output text"
    by_variables = shell([variables, who], bare_environment)
    assert by_variables.stdout.split() == [arn for arn in arns if "role-windows" in arn], by_variables.stderr


def check_a_profile_has_the_rights_of_its_role(running: Running, bare_environment: dict[str, str]) -> None:
    lines = [running.commands[0], "cd", "echo x > file"]
    copy = "AWS_PROFILE=windows aws s3 cp file s3://{}/{}/1.0/file --only-show-errors"
    allowed = shell([*lines, copy.format(STAGING, "windows")], bare_environment)
    refused = shell([*lines, copy.format(STAGING, "macos")], bare_environment)
    assert (allowed.returncode, allowed.stderr) == (0, "")
    assert refused.returncode == 1
    assert "AccessDenied" in refused.stderr


def check_only_their_owner_reads_files_with_credentials(running: Running) -> None:
    secret = [running.folder / "aws" / "credentials", *running.folder.glob("*.env")]
    assert len(secret) == len(ROLES) + 2
    for path in [*secret, running.folder / "certificate.key"]:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def check_what_it_says_to_type_makes_the_release_public(
    running: Running, bare_environment: dict[str, str]
) -> None:
    typed = [line for line in running.commands if shutil.which("curl") or not line.startswith("curl")]
    done = shell(typed, bare_environment)
    assert done.returncode == 0, done.stderr
    assert "AWS_PROFILE=rm publisher promote 3.14.0b3 --create-release --yes" in typed
    assert done.stdout.count("HTTP/1.1 200") == sum(line.startswith("curl") for line in typed)


def check_it_listens_on_loopback_only_and_ctrl_c_leaves_nothing(running: Running) -> None:
    process = running.process
    started = descendants(process.pid)
    sockets = {socket for pid in {process.pid, *started} for socket in sockets_of(pid)}
    ports = listening_ports(sockets)
    assert listening_addresses(sockets) <= LOOPBACKS
    # The emulator twice, the way to its store, two edges with their controls, and the four neighbours.
    assert len(ports) == 11
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == 0
    assert eventually(lambda: not any(is_running(pid) for pid in started))
    assert not any(listens(port) for port in ports)
    assert {path.name for path in running.folder.parent.iterdir()} <= {running.folder.name, "file"}


@needs_proc
@pytest.mark.parametrize("seconds", [0.8, 1.8])
def test_it_can_be_stopped_while_it_starts(tmp_path: Path, seconds: float) -> None:
    folder = tmp_path / "files"
    with start(folder, "--edges", "1", "--lag", "2.5") as process:
        time.sleep(seconds)
        started = descendants(process.pid)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=10)
    assert process.returncode in {0, -signal.SIGTERM}
    assert eventually(lambda: not any(is_running(pid) for pid in started))
    assert [path.name for path in tmp_path.iterdir() if path != folder] == []


@pytest.mark.parametrize("options", [["--edges", "0"], ["--edges", "two"], ["--lag", "11"], ["--lag", "-1"]])
def test_nonsense_is_refused_before_anything_starts(tmp_path: Path, options: list[str]) -> None:
    with start(tmp_path / "files", *options) as process:
        assert process.wait(timeout=20) == 2
    assert list(tmp_path.iterdir()) == []
