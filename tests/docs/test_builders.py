"""What builders.md tells people to type, typed with the real AWS CLI by the builder's own role."""

import hashlib
import re
import shlex
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.sample import RELEASE
from sandbox.site import STAGING, Site
from tests.docs.conftest import COMMIT, Office, furnish
from tests.docs.pages import DOCS, find_blocks, read

EXAMPLE_BUCKET = "example-downloads-staging"
STRAY = "python/3.14.0/python-3.14.0b3-amd64-old.exe"


def read_blocks() -> list[str]:
    """Give the blocks that are meant to be typed, for the site that is tested and a role with one file."""
    blocks = [block for block in find_blocks(read("builders.md")) if block.info == "sh"]
    mine = ((EXAMPLE_BUCKET, STAGING), ("ROLE=windows", "ROLE=macos"))
    return [reduce(lambda text, pair: text.replace(*pair), mine, block.text) for block in blocks]


def assert_handed_over(release: dict[str, Any], role: str) -> None:
    found = release["roles"][role]
    assert found["handed_over"]
    assert found["commit"] == COMMIT
    assert not found["hold"]
    # A file is ready if nothing stands against it or its hand-over.
    assert set(found["artifacts"].values()) == {"ready"}


@pytest.mark.slow
def test_the_lines_of_the_page_hand_over_hold_and_cure(site: Site, office: Office, tmp_path: Path) -> None:
    desk = furnish(site, tmp_path, "macos")
    # Large enough for the AWS CLI to cut it into parts, if it is left to itself.
    (package,) = (tmp_path / "dist").rglob("*.pkg")
    package.write_bytes(b"x" * 9_000_000)
    blocks = read_blocks()
    (hold,) = [text for text in blocks if "s3 cp - " in text]
    put, lift = hold.splitlines()
    before, after = blocks[: blocks.index(hold)], blocks[blocks.index(hold) + 1 :]
    lines = "".join(blocks).splitlines()
    variables = "".join(f"{line}\n" for line in lines if re.match(r"[A-Z]+=", line))

    desk.shell("".join(before) + put)
    release = office.look()
    assert release["roles"]["macos"]["hold"] == "the 64-bit installer hangs"
    # Had the file been cut, it would have to be streamed to learn its digest.
    assert not release["streamed"]

    stray = f"echo x | aws s3 cp - s3://{STAGING}/macos/{RELEASE}/{STRAY}"
    desk.shell(f"{variables}{lift}\n{stray}")
    found = office.look()["roles"]["macos"]
    assert found["hold"] is None
    assert found["artifacts"][STRAY] == "extra"

    assert after
    desk.shell(variables + "".join(after))
    assert_handed_over(office.look(), "macos")


def test_the_job_of_github_actions_hands_over(site: Site, office: Office, tmp_path: Path) -> None:
    desk = furnish(site, tmp_path, "source")
    workflow: dict[str, Any] = yaml.safe_load((DOCS / "ci" / "github.yml").read_text("utf-8"))
    (step,) = [step for step in workflow["jobs"]["hand-over"]["steps"] if "run" in step]
    assert step["env"] == {"RELEASE": "${{ inputs.release }}", "COMMIT": "${{ inputs.commit }}"}
    desk.shell(step["run"].replace(EXAMPLE_BUCKET, STAGING), RELEASE=RELEASE, COMMIT=COMMIT)
    assert_handed_over(office.look(), "source")


def test_what_the_powershell_script_writes_and_runs_hands_over(
    site: Site, office: Office, tmp_path: Path
) -> None:
    """There is no PowerShell here: the files are written as the script does, its AWS commands are run."""
    desk = furnish(site, tmp_path, "pymanager")
    dist = tmp_path / "dist"
    (dist / "COMMIT").write_bytes(f"{COMMIT}\n".encode())
    (dist / "SHA256SUMS").write_bytes(write_as_powershell_does(dist))
    values = {
        "$root": str(dist),
        "$sums": str(dist / "SHA256SUMS"),
        "$target": f"s3://{STAGING}/pymanager/{RELEASE}/",
        "${target}SHA256SUMS": f"s3://{STAGING}/pymanager/{RELEASE}/SHA256SUMS",
    }
    script = (DOCS / "ci" / "handover.ps1").read_text("utf-8")
    commands = re.findall(r"^aws .+$", script, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        done = desk.run([values.get(word, word) for word in shlex.split(command)])
        assert done.returncode == 0, done.stderr
    assert_handed_over(office.look(), "pymanager")


def write_as_powershell_does(folder: Path) -> bytes:
    """Write what handover.ps1 writes: capital digits, two blanks, names with /, LF, no byte order mark."""
    lines: list[str] = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path != folder / "SHA256SUMS":
            name = str(path)[len(str(folder)) + 1 :].replace("\\", "/")
            lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest().upper()}  {name}\n")
    return "".join(lines).encode()
