"""A cache in front of the CDN that remembers misses for an hour: what users see once a release is public."""

import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
import requests

from sandbox.running import Sandbox, run_sandbox
from sandbox.site import RM, Timing

PROFILE = Path(__file__).parents[2] / "profiles" / "plain.toml"
RELEASE = "3.11.2"
KEY = f"{RELEASE}/Python-{RELEASE}.tgz"


@pytest.fixture(scope="module", name="sandbox")
def run_with_cache(tmp_path_factory: pytest.TempPathFactory) -> Generator[Sandbox]:
    folder = tmp_path_factory.mktemp("outer")
    timing = Timing(lag=1, settle=2, error_ttl=1)
    with run_sandbox(folder, PROFILE, edges=1, timing=timing, outer_cache=True) as sandbox:
        yield sandbox


def publish(sandbox: Sandbox, folder: Path, role: str, *words: str) -> str:
    command = [sys.executable, "-m", "publisher", *words]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), **sandbox.site.environment(role)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_what_was_missed_before_is_there_for_users_once_the_promotion_ends(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    assert sandbox.outer is not None
    urls = [sandbox.outer.url + path for path in (KEY, f"{RELEASE}/", RELEASE)]
    # The cache asks the edge once, and would say the same for an hour.
    assert [requests.head(url, timeout=5).status_code for url in urls] == [404, 404, 404]
    (tmp_path / f"Python-{RELEASE}.tgz").write_bytes(b"made up")
    publish(sandbox, tmp_path, RM, "open", RELEASE)
    upload = ("upload", RELEASE, f"Python-{RELEASE}.tgz", "--role", "maintainer", "--complete")
    publish(sandbox, tmp_path, "maintainer", *upload)
    publish(sandbox, tmp_path, RM, "sign", RELEASE)
    assert requests.head(urls[0], timeout=5).status_code == 404

    publish(sandbox, tmp_path, RM, "promote", RELEASE, "--yes")

    assert requests.get(urls[0], timeout=5).content == b"made up"
    page = requests.get(urls[1], timeout=5)
    assert page.status_code == 200
    assert f">Python-{RELEASE}.tgz</a>" in page.text
    redirect = requests.get(urls[2], timeout=5, allow_redirects=False)
    assert (redirect.status_code, redirect.headers["Location"]) == (301, f"/{RELEASE}/")
    assert sandbox.outer.counts.purges > 0
    shown = publish(sandbox, tmp_path, RM, "verify", RELEASE, "--public")
    assert "1 record says" in shown
