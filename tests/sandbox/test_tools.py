"""`fetch`, `wait` and `share` with the real sessions of the roles: policies decide what they may see."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from publisher.documents.profile import load_profile
from sandbox.ministack import local_config
from sandbox.sample import write_sbom
from sandbox.site import RM, Site, open_session

RELEASE = "3.14.0b2"
COMMIT = "c" * 40
BIG = b"0123456789abcdef" * (64 * 1024) * 6
Command = Callable[..., "tuple[int, dict[str, Any]]"]


@pytest.fixture(scope="module")
def keys(site: Site) -> list[str]:
    """Name the public keys that are required of windows."""
    profile = load_profile(site.config.parent / "profile.toml")
    release = profile.parse_release(RELEASE)
    assert release is not None
    expected = profile.expect(release)
    required = {key for key, item in expected.items() if item.need == "required" and item.role == "windows"}
    return [key for key in expected if key in required and (expected[key].artifact or key) in required]


@pytest.fixture
def command(site: Site, bare_environment: dict[str, str]) -> Command:
    def run(role: str, *arguments: str) -> tuple[int, dict[str, Any]]:
        done = subprocess.run(
            [sys.executable, "-m", "publisher", *arguments, "--json"],
            env={**bare_environment, **site.environment(role)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    return run


@pytest.fixture(scope="module")
def staged(site: Site, keys: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write what windows has built: its first file in several parts, as plain tools upload it."""
    folder = tmp_path_factory.mktemp("dist")
    for key in keys:
        path = folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(key.encode())
    (folder / keys[0]).write_bytes(BIG)
    for key in keys:
        if key.endswith(".spdx.json"):
            write_sbom(folder / key.removesuffix(".spdx.json"))
    client = open_session(site.credentials["windows"]).client(
        "s3", endpoint_url=site.endpoint, verify=str(site.trust), config=local_config()
    )
    client.upload_file(str(folder / keys[0]), "sandbox-staging", f"windows/{RELEASE}/{keys[0]}")
    client.close()
    return folder


def test_a_builder_waits_for_itself_a_tester_fetches_and_an_outsider_gets_one_file(
    site: Site, command: Command, staged: Path, keys: list[str], tmp_path: Path
) -> None:
    name = keys[0].rpartition("/")[2]
    assert command("windows", "wait", RELEASE, "--role", "windows", "--timeout", "0")[0] == 3
    # The file that was uploaded in parts has no digest in the store: it is read by the builder's own rights.
    status, early = command("windows", "fetch", RELEASE, "--role", "windows", "--to", str(tmp_path / "own"))
    assert (status, early["fetched"], early["not_handed_over"]) == (0, [keys[0]], ["windows"])
    status, _ = command(
        "windows", "upload", RELEASE, str(staged), "--role", "windows", "--commit", COMMIT, "--complete"
    )
    assert status == 0

    status, waited = command("windows", "wait", RELEASE, "--role", "windows", "--timeout", "0")
    assert (status, waited["arrived"], waited["waiting"]) == (0, ["windows"], {}), waited["waiting"][
        "windows"
    ]
    status, _ = command("qa", "wait", RELEASE, "--role", "windows", "--timeout", "0")
    assert status == 0
    for role, named in (("windows", ["--role", "macos"]), ("windows", []), ("qa", [])):
        status, refused = command(role, "wait", RELEASE, *named, "--timeout", "0")
        assert (status, refused["result"]) == (1, "error")
        assert "--role NAME" in refused["next"]

    status, fetched = command("qa", "fetch", RELEASE, "windows", "--role", "qa", "--to", str(tmp_path / "qa"))
    assert status == 0
    assert sorted(fetched["fetched"]) == sorted(keys)
    assert all((tmp_path / "qa" / key).read_bytes() == (staged / key).read_bytes() for key in keys)
    status, again = command("qa", "fetch", RELEASE, name, "--role", "qa", "--to", str(tmp_path / "qa"))
    assert (status, again["skipped"]) == (0, [keys[0]])
    assert command("windows", "fetch", RELEASE, "macos", "--role", "windows")[0] == 3

    assert command("qa", "share", RELEASE, name, "--hours", "1", "--reason", "x")[0] == 1
    status, shared = command(RM, "share", RELEASE, name, "--hours", "1", "--reason", "Ann tries it")
    assert status == 0
    session = requests.Session()
    session.trust_env = False
    with session:
        assert session.get(shared["url"], verify=str(site.trust), timeout=30).content == BIG
