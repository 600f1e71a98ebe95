"""The command line as people and automation see it: statuses, streams, options, questions and `--json`."""

import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
import pytest

from publisher import __version__, cli
from publisher.completion import SHELLS
from publisher.errors import AccessDeniedError, LoginError, SigningError, StoreError
from publisher.ports import Session
from publisher.settings import Settings
from publisher.workflow.world import Visitor, World
from tests.support.fakes import FakeCaller
from tests.support.sigstore_fake import sign_openpgp
from tests.support.site import (
    COMMIT,
    FIRST_RECORD,
    KEY,
    OTHER_COMMIT,
    PKG,
    PROFILE,
    RELEASE,
    SIGNED_PROFILE,
    TGZ,
    Site,
    a_signing_site,
)

ESCAPE = "\x1b"
OPEN = f"open {RELEASE} --commit {COMMIT}"
PROMOTE = f"promote {RELEASE} --yes"
SITE = """
schema = 1
profile = "tool.toml"
roles = ["linux", "mac", "qa"]

[aws]
region = "us-east-1"
staging_bucket = "staging"
public_bucket = "public"
distribution_id = "E1"
kvs_arn = "arn:aws:cloudfront::123456789012:key-value-store/1"

[site]
public_base_url = "http://127.0.0.1:9/"
cdn_url = "http://127.0.0.1:9/"

[gate]
lag_seconds = 1
settle_seconds = 4
error_ttl_seconds = 2
"""


@dataclass
class Result:
    status: int
    out: str
    err: str

    @property
    def answer(self) -> dict[str, Any]:
        """Give the answer of `--json`: stdout has to be that one object."""
        found: dict[str, Any] = json.loads(self.out)
        assert found["schema"] == 1
        assert found["exit"] == self.status
        return found


@dataclass
class Shell:
    """Runs commands on a site in memory."""

    capsys: pytest.CaptureFixture[str]
    site: Site = field(default_factory=Site)
    used: Settings = field(default_factory=Settings)
    ports: dict[str, Any] = field(default_factory=dict[str, Any])

    def __call__(self, line: str) -> Result:
        def connect(settings: Settings) -> World:
            self.used = settings
            return replace(self.site.world(), observer=settings.make_output(), **self.ports)

        def visit(settings: Settings) -> Visitor:
            return connect(settings).visitor

        self.capsys.readouterr()
        status = cli.run(shlex.split(line), Settings(connect=connect, visit=visit))
        streams = self.capsys.readouterr()
        return Result(status, streams.out, streams.err)

    def ready(self) -> "Shell":
        self.site.open()
        self.site.stage_all()
        return self


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    for name in ("PUBLISHER_CONFIG", "PUBLISHER_ROLE", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return Shell(capsys)


class Terminal(io.StringIO):
    """A keyboard with the answer typed ahead."""

    def isatty(self) -> bool:
        return True


class Screen(io.StringIO):
    """A terminal to print on."""

    def isatty(self) -> bool:
        return True


def a_file(folder: Path, name: str = f"tool-{RELEASE}.tgz") -> str:
    path = folder / name
    path.write_text("text")
    return shlex.quote(str(path))


def fail_at(site: Site, wanted: str, error: BaseException) -> None:
    def fail(request: str, key: str) -> None:
        if request == wanted:
            raise error

    site.s3.before = fail


# Exit statuses, and what goes to which stream.


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (OPEN, f"{RELEASE} is open at {COMMIT}, attempt 1"),
        (f"hold {RELEASE} --role qa --reason 'it hangs'", f"qa holds {RELEASE}: it hangs"),
        (f"unhold {RELEASE} --role qa", f"qa no longer holds {RELEASE}"),
        ("status", "no release in progress"),
        ("gate rebuild", "the gate is rebuilt"),
        (f"status {RELEASE}", f"{RELEASE}  release, attempt 0: not open"),
    ],
)
def test_what_is_done_is_0_and_said_on_stdout_alone(shell: Shell, line: str, said: str) -> None:
    if line.startswith("hold"):
        shell.site.stage("mac", {PKG: b"x"})

    result = shell(line)

    assert result.status == 0
    assert said in result.out
    assert result.err == ""


def test_a_promotion_says_what_is_public_on_stdout_and_how_it_goes_on_stderr(shell: Shell) -> None:
    result = shell.ready()(PROMOTE)

    assert result.status == 0
    assert f"promoted {RELEASE}: 2 files" in result.out
    assert f"record    _state/records/{RELEASE}/1.json" in result.out
    assert "copy" in result.err
    assert "copy  " not in result.out
    assert len(shell.site.public()) == 2


def test_a_second_promotion_has_nothing_to_do(shell: Shell) -> None:
    shell.ready()(PROMOTE)

    result = shell(PROMOTE)

    assert result.status == 0
    assert "nothing to do: 2 files staged, public already" in result.out


def test_an_upload_says_what_was_staged_and_what_is_missing(shell: Shell, tmp_path: Path) -> None:
    result = shell(f"upload {RELEASE} {a_file(tmp_path)} --role linux")

    assert result.status == 0
    assert f"staged linux/{RELEASE}: 1 file uploaded (4 bytes), 0 there already, 0 removed" in result.out
    assert "not handed over" in result.out
    done = shell(f"upload {RELEASE} {a_file(tmp_path)} --role linux --commit {COMMIT} --complete")
    assert "handed over: complete" in done.out


def test_an_upload_warns_of_missing_files_and_a_stale_hand_over(shell: Shell, tmp_path: Path) -> None:
    shell.site.stage("linux", {"SHA256SUMS": b""})
    sidecar = a_file(tmp_path, f"tool-{RELEASE}.tgz.spdx.json")

    result = shell(f"upload {RELEASE} {sidecar} --role linux")

    assert result.status == 0
    assert f"warning: 1 file required and missing: {TGZ}" in result.err
    assert "no longer matches; hand over again: --complete" in result.err


@pytest.mark.parametrize(
    "line",
    [
        OPEN,
        f"respin {RELEASE} --commit {COMMIT} --reason x",
        f"hold {RELEASE} --role qa --reason x",
        f"unhold {RELEASE} --role qa",
        "status",
        PROMOTE,
        "upload {release} {file} --role linux",
        f"fetch {RELEASE} --role qa",
        f"share {RELEASE} {TGZ} --hours 1 --reason x",
        f"sign {RELEASE}",
        f"verify {RELEASE}",
        f"verify {RELEASE} --public",
        "attach {release} {asc}",
        "amend {release} {asc} --reason x",
    ],
)
def test_a_failing_store_is_1_and_said_on_stderr_alone(shell: Shell, line: str, tmp_path: Path) -> None:
    def fail(request: str, key: str) -> None:
        raise AccessDeniedError("cannot read it: AccessDenied", "check which credentials are in use")

    shell.site = Site(profile_text=SIGNED_PROFILE)
    shell.site.s3.before = fail
    # The store fails, and the login does not.
    shell.site.sigstore.before = lambda request, key: None
    files = {"file": a_file(tmp_path), "asc": a_file(tmp_path, f"tool-{RELEASE}.tgz.asc")}

    result = shell(line.format(release=RELEASE, **files))

    assert result.status == 1
    assert result.out == ""
    assert (
        result.err == "error: cannot read it: AccessDenied\n  next     check which credentials are in use\n"
    )


MISUSES = [
    ("open nonsense --commit x", "found 'nonsense'"),
    ("open", "Missing argument 'RELEASE'"),
    (f"open {RELEASE}", "ties hand-overs to a commit"),
    (f"respin {RELEASE} --commit {COMMIT}", "Missing option '--reason'"),
    (f"respin {RELEASE} --commit abc --reason x", "expected all 40"),
    (f"hold {RELEASE} --role qa", "Missing option '--reason'"),
    (f"hold {RELEASE} --role nobody --reason x", "found role 'nobody'"),
    (f"unhold {RELEASE}", "Missing option '--role'"),
    ("status nonsense", "found 'nonsense'"),
    ("status --bogus", "No such option"),
    (f"upload {RELEASE} --role linux", "Missing argument 'PATHS"),
    (f"upload {RELEASE} nowhere --role linux", "nowhere does not exist"),
    ("promote", "Missing argument 'RELEASES"),
    ("promote nonsense", "found 'nonsense'"),
    (f"promote {RELEASE} --waive extra:x", "--waive and --give-up need a reason"),
    (f"promote {RELEASE} --waive extra:x --reason ' '", "--waive and --give-up need a reason"),
    (f"promote {RELEASE} --waive digest:x --reason y", "found --waive digest:x, expected extra:SUBJECT"),
    (f"promote {RELEASE} --waive extra --reason y", "expected extra:SUBJECT"),
    ("publish", "No such command 'publish'"),
    ("stauts", "Did you mean"),
    (f"promote {RELEASE} --yes --reason x", "--reason is why something is waived"),
    ("fetch nonsense --role qa", "found 'nonsense'"),
    (f"fetch {RELEASE} --role nobody", "found role 'nobody'"),
    (f"fetch {RELEASE} odd.bin --role qa", "found 'odd.bin'"),
    (f"share {RELEASE} {TGZ} --hours 0 --reason x", "0 is not in the range"),
    (f"share {RELEASE} {TGZ} --hours 169 --reason x", "169 is not in the range"),
    (f"share {RELEASE} {TGZ} --hours 1", "Missing option '--reason'"),
    (f"share {RELEASE} {TGZ} --hours 1 --reason ' '", "found an empty reason"),
    ("wait nonsense", "found 'nonsense'"),
    (f"wait {RELEASE} --role nobody", "found role 'nobody'"),
    (f"wait {RELEASE} --role linux --live", "--live looks at the whole release"),
    (f"wait {RELEASE} --timeout -1", "-1.0 is not in the range"),
    ("completion tcsh", "'tcsh' is not one of"),
    ("sign", "Missing argument 'RELEASES"),
    ("sign nonsense", "found 'nonsense'"),
    ("verify", "Missing argument 'RELEASE'"),
    ("verify nonsense", "found 'nonsense'"),
    ("verify nonsense --public", "found 'nonsense'"),
    (f"attach {RELEASE}", "Missing argument 'FILE'"),
    (f"attach {RELEASE} nowhere.asc", "cannot read nowhere.asc"),
    (f"amend {RELEASE} nowhere.asc", "Missing option '--reason'"),
    (f"amend {RELEASE} nowhere.asc --reason ' '", "found an empty reason"),
    (f"amend {RELEASE} nowhere.asc --reason x", "cannot read nowhere.asc"),
]


@pytest.mark.parametrize(("line", "said"), MISUSES)
def test_a_misuse_is_2_and_writes_nothing(shell: Shell, line: str, said: str) -> None:
    result = shell(line)

    assert result.status == 2
    assert result.out == ""
    assert said in result.err
    assert shell.site.s3.writes == []


@pytest.mark.parametrize(("line", "said"), MISUSES)
def test_a_misuse_is_one_json_object_too(shell: Shell, line: str, said: str) -> None:
    result = shell(f"{line} --json")

    assert result.status == 2
    assert result.answer["result"] == "error"
    assert said in result.answer["error"]
    assert result.answer["next"]
    known = line.split()[0] in cli.publisher.commands
    assert result.answer["command"] == (line.split()[0] if known else "publisher")


def test_what_is_refused_is_3_with_found_expected_and_next(shell: Shell, tmp_path: Path) -> None:
    shell.site.open()

    results = {
        "open": shell(f"open {RELEASE} --commit {OTHER_COMMIT}"),
        "respin": shell(f"respin 1.3.0 --commit {COMMIT} --reason x"),
        "upload": shell(f"upload {RELEASE} {a_file(tmp_path, 'odd.bin')} --role linux"),
        "promote": shell(PROMOTE),
        "fetch": shell(f"fetch {RELEASE} mac --role linux"),
        "share": shell(f"share {RELEASE} {TGZ} --hours 1 --reason x"),
    }

    for result in results.values():
        assert result.status == 3
        assert result.out.startswith("refused: ")
        assert all(word in result.out for word in ("nothing was written", "found", "expected", "next"))
        assert "error" not in result.err


def test_only_a_command_that_takes_waivers_suggests_one(shell: Shell, tmp_path: Path) -> None:
    upload = shell(f"upload {RELEASE} {a_file(tmp_path, 'odd.bin')} --role linux")
    promote = shell(PROMOTE)

    assert "extra      odd.bin" in upload.out
    assert "--waive" not in upload.out
    assert f"or       --waive missing:linux/{RELEASE} --reason '…'" in promote.out


def test_a_lease_of_another_is_3(shell: Shell) -> None:
    shell.ready()
    shell.site.s3.before = lambda request, key: stop(shell.site) if request == "copy" else None
    with pytest.raises(StoppedError):
        shell.site.promote()
    shell.site.s3.before = lambda request, key: None

    for line in (PROMOTE, f"open 1.3.0 --commit {COMMIT}", f"respin {RELEASE} --commit {COMMIT} --reason x"):
        result = shell(line)
        assert result.status == 3
        assert f"user/rm for promote {RELEASE}; it expires in" in result.err
        assert "next     wait until" in result.err


def test_a_promotion_that_fails_after_go_live_is_4_and_the_next_run_finishes_it(shell: Shell) -> None:
    shell.ready()
    fail_at(shell.site, "place", StoreError("the line is dead"))

    result = shell(PROMOTE)

    assert result.status == 4
    assert "is live and not finished: the line is dead" in result.err
    assert "next     run the same command again" in result.err
    shell.site.s3.before = lambda request, key: None
    again = shell(PROMOTE)
    assert again.status == 0
    assert "finished promotion " in again.out


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        (OPEN, "create"),
        (f"respin {RELEASE} --commit {COMMIT} --reason x", "read"),
        (f"hold {RELEASE} --role qa --reason x", "put"),
        (f"unhold {RELEASE} --role qa", "put"),
        (f"status {RELEASE}", "read"),
        (PROMOTE, "read"),
        ("upload {release} {file} --role linux", "upload"),
        (f"fetch {RELEASE} --role qa", "list"),
        (f"share {RELEASE} {TGZ} --hours 1 --reason x", "list"),
        (f"wait {RELEASE}", "list"),
        (f"wait {RELEASE} --live", "head"),
    ],
)
def test_an_interruption_is_130_and_says_how_to_go_on(
    shell: Shell, line: str, request_: str, tmp_path: Path
) -> None:
    fail_at(shell.site, request_, KeyboardInterrupt())
    line = line.format(release=RELEASE, file=a_file(tmp_path))

    result = shell(line)

    assert result.status == 130
    assert result.out == ""
    assert "\nerror: interrupted" in result.err
    assert f"\n  next     to go on: publisher {line}\n" in result.err
    assert shell(f"{line} --json").answer["error"].startswith("interrupted")


def test_an_unexpected_exception_is_1_and_its_traceback_is_for_those_who_ask(shell: Shell) -> None:
    fail_at(shell.site, "put", ZeroDivisionError("by zero"))
    line = f"unhold {RELEASE} --role qa"

    result = shell(line)
    wordy = shell(f"{line} --verbose")

    assert (result.status, wordy.status) == (1, 1)
    assert "error: unexpected ZeroDivisionError: by zero" in result.err
    assert "--verbose" in result.err
    assert "Traceback" not in result.err
    assert "Traceback" in wordy.err
    assert wordy.out == ""
    assert shell(f"-v --json {line}").answer["result"] == "error"


def test_an_error_of_ours_has_a_traceback_for_those_who_ask(shell: Shell) -> None:
    assert "Traceback" not in shell("status nonsense").err
    assert "Traceback" in shell("status nonsense -v").err


# Interruptions.


@pytest.mark.parametrize(
    ("request_", "said", "public"),
    [
        ("list", "interrupted before anything was made public", False),
        ("copy", "interrupted at step copy of promotion {id}: nothing of it is public", False),
        ("update p:", "interrupted at step gate of promotion {id}: nothing of it is public", False),
        (
            "update s:",
            "interrupted at step go live of promotion {id}: it may be public by now, or not",
            False,
        ),
        ("create /live.json", "interrupted at step mark of promotion {id}: it is live", True),
        ("place", "interrupted at step place of promotion {id}: it is live", True),
        ("head", "interrupted at step look of promotion {id}: it is live", True),
        ("login", "interrupted before anything was made public", False),
        ("sign", "interrupted at step record of promotion {id}: it is live", True),
        ("create .record-1.json", "interrupted at step record of promotion {id}: it is live", True),
        ("create /done.json", "interrupted at step record of promotion {id}: it is live", True),
    ],
)
def test_who_stops_a_promotion_is_told_whether_anything_is_public(
    shell: Shell, request_: str, said: str, public: bool
) -> None:
    shell.ready()
    wanted, _, part = request_.partition(" ")
    stopped: list[str] = []

    def fail(request: str, key: str) -> None:
        if request == wanted and part in key and not stopped:
            stopped.append(key)
            raise KeyboardInterrupt

    shell.site.s3.before = fail

    result = shell(PROMOTE)

    plans = [key.split("/")[2] for key in shell.site.state("/plan.json")]
    assert result.status == 130
    assert said.format(id=plans[0] if plans else "") in result.err
    assert f"  next     to go on: publisher {PROMOTE}\n" in result.err
    assert bool(shell.site.visible()) is public
    assert shell(PROMOTE).status == 0
    assert len(shell.site.public()) == 2
    assert shell.site.public_records() == shell.site.stored_records()


def test_who_stops_the_finishing_of_a_promotion_is_told_that_it_is_live(shell: Shell) -> None:
    shell.ready()
    fail_at(shell.site, "place", StoreError("the line is dead"))
    shell(PROMOTE)
    fail_at(shell.site, "place", KeyboardInterrupt())

    result = shell(PROMOTE)

    assert result.status == 130
    assert "it is live, all of it can be downloaded, and it is not finished" in result.err


def test_what_was_typed_can_be_pasted_to_go_on(shell: Shell) -> None:
    fail_at(shell.site, "put", KeyboardInterrupt())
    line = f"hold {RELEASE} --role qa --reason 'it hangs; really'"

    assert f"to go on: publisher {line}\n" in shell(line).err


# Fetching, sharing, waiting.


def test_a_fetch_says_what_came_and_what_to_know_about_it(shell: Shell, tmp_path: Path) -> None:
    shell.ready().site.stage("linux", {"odd.bin": b"x"})
    shell.site.s3.staging.mark_deleted(f"mac/{RELEASE}/SHA256SUMS")
    shell.site.s3.staging.store(f"mac/{RELEASE}/{PKG}", b"in parts", whole=False)

    result = shell(f"fetch {RELEASE} --role qa --to {tmp_path}")

    assert result.status == 0
    assert result.out.startswith(f"fetched {RELEASE} into {tmp_path}: 3 files (")
    assert "mac has not handed over yet" in result.err
    assert "not in their role's SHA256SUMS: odd.bin" in result.err
    assert f"nothing tells the digest of {PKG}: not verified" in result.err
    assert "2 there already" in shell(f"fetch {RELEASE} --role qa --to {tmp_path}").out


def test_a_link_is_alone_on_stdout_and_nowhere_else(shell: Shell) -> None:
    result = shell.ready()(f"share {RELEASE} {TGZ} --hours 24 --reason 'Ann tries it'")

    assert result.status == 0
    assert re.fullmatch(r"https://staging\.example\.org/\S+&for=86400\n", result.out)
    assert "https://" not in result.err
    assert "2026-06-02 12:00 UTC" in result.err
    assert "_state/shares/" in result.err
    assert "warning" not in result.err
    quiet = shell(f"share {RELEASE} {TGZ} --hours 24 --reason x -q")
    assert quiet.out.startswith("https://")
    assert quiet.err == ""


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        (None, "the link ends with the session at the latest"),
        (1, "the link ends with the session that signed it: at 2026-06-01 13:00 UTC"),
        (36, None),
    ],
)
def test_a_link_of_a_session_is_warned_of(shell: Shell, hours: int | None, said: str | None) -> None:
    until = None if hours is None else shell.site.s3.clock + timedelta(hours=hours)
    shell.ready().ports["caller"] = FakeCaller(session=Session(until))

    result = shell(f"share {RELEASE} {TGZ} --hours 24 --reason x")

    assert result.status == 0
    assert (said or "_state/shares/") in result.err
    assert ("warning" in result.err) is bool(said)


def test_a_wait_is_0_when_all_is_there_and_3_when_the_time_is_up(shell: Shell) -> None:
    shell.site.open()

    late = shell(f"wait {RELEASE} --timeout 30")
    shell.site.stage_all()
    done = shell(f"wait {RELEASE} --timeout 30")

    assert (late.status, done.status) == (3, 0)
    assert f"{RELEASE}: the time is up after 30 s; still waiting:" in late.out
    assert "  linux: not handed over\n" in late.out
    assert "  linux    not handed over\n" in late.err
    assert done.out == f"{RELEASE} is handed over by linux, mac, after 0 s\n"
    assert shell(f"wait {RELEASE} -q").out == ""


def test_a_wait_for_the_public_site_needs_no_credentials(shell: Shell) -> None:
    def no_world(settings: Settings) -> World:
        raise AssertionError

    shell.ready().site.promote()
    world = shell.site.world()

    status = cli.run(
        ["wait", RELEASE, "--live"], Settings(connect=no_world, visit=lambda settings: world.visitor)
    )

    assert status == 0
    assert shell.capsys.readouterr().out == f"{RELEASE} is live, after 0 s\n"


def test_long_lists_of_urls_are_shortened(shell: Shell) -> None:
    more = b"".join(
        b'[[artifact]]\nkey = "tool/{release}/part%d"\nrole = "linux"\n' % number for number in range(7)
    )
    shell.site.profile_text = PROFILE + more

    result = shell(f"wait {RELEASE} --live --timeout 0")

    assert result.status == 3
    assert "  … and 4 more (--json lists all)\n" in result.out


def test_the_visitors_part_is_wired_without_the_sdk_of_aws(tmp_path: Path) -> None:
    (tmp_path / "tool.toml").write_bytes(PROFILE)
    (tmp_path / "publisher.toml").write_text(SITE)
    program = (
        "import sys; from publisher import cli; "
        f"print(cli.run(['wait', {RELEASE!r}, '--live', '--timeout', '0'])); "
        "assert 'boto3' not in sys.modules and 'botocore' not in sys.modules"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "NO_PROXY": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr.splitlines() == ["  live     0 of 2 URLs answer 200"]
    assert "no answer from http://127.0.0.1:9/" in done.stdout
    assert done.stdout.splitlines()[-1] == "3"


def test_public_files_are_verified_without_the_sdk_of_aws_and_without_a_login(tmp_path: Path) -> None:
    (tmp_path / "tool.toml").write_bytes(PROFILE)
    (tmp_path / "publisher.toml").write_text(SITE)
    program = (
        "import sys; from publisher import cli; "
        f"print(cli.run(['verify', {RELEASE!r}, '--public'])); "
        "assert not {'boto3', 'botocore', 'sigstore'} & sys.modules.keys()"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "NO_PROXY": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert f"error: http://127.0.0.1:9/{FIRST_RECORD} broke off" in done.stderr
    assert done.stdout.splitlines() == ["1"]


# Signing, verifying, sidecars.


def signing(shell: Shell) -> None:
    shell.site = a_signing_site()


def signed(shell: Shell) -> None:
    signing(shell)
    shell.site.sign()


def attached(shell: Shell) -> None:
    """Promote with an OpenPGP signature of the source archive."""
    signed(shell)
    data = sign_openpgp(KEY, b"first " + TGZ.encode())
    shell.site.s3.staging.store(f"_rm/{RELEASE}/{TGZ}.asc", data)
    shell.site.promote()


def an_asc(folder: Path, *, key: str = KEY, more: bytes = b"") -> str:
    path = folder / f"tool-{RELEASE}.tgz.asc"
    path.write_bytes(sign_openpgp(key, b"first " + TGZ.encode()) + more)
    return shlex.quote(str(path))


def test_signing_says_what_was_signed_before_and_what_waits(shell: Shell) -> None:
    signing(shell)
    shell.site.s3.staging.expire(f"mac/{RELEASE}/SHA256SUMS")

    first, second = shell(f"sign {RELEASE}"), shell(f"sign {RELEASE}")

    assert (first.status, second.status) == (0, 0)
    assert first.out == f"{RELEASE}: 1 file signed, 0 before\n"
    assert second.out == f"{RELEASE}: 0 files signed, 1 before\n"
    assert "  sign     1 artifacts by digest, as rm@example.org (https://accounts.example.org)" in first.err
    assert f"warning: not handed over yet, so not signed: {PKG}" in first.err


def test_signing_tells_how_far_it_came_when_it_fails_or_is_stopped(shell: Shell) -> None:
    signing(shell)

    def fail(request: str, key: str) -> None:
        if request == "sign" and shell.site.sigstore.signed:
            raise KeyboardInterrupt

    shell.site.s3.before = fail
    stopped = shell(f"sign {RELEASE}")
    shell.site.s3.before = lambda request, key: None
    shell.site.sigstore.broken = SigningError("the log did not answer", "run it again")
    failed = shell(f"sign {RELEASE}")

    assert stopped.status == 130
    assert "interrupted: 1 of 2 artifacts are signed\n" in stopped.err
    assert f"to go on: publisher sign {RELEASE}" in stopped.err
    assert failed.status == 1
    assert "error: the log did not answer; 0 of 1 artifacts are signed\n  next     run it again" in failed.err


def test_verifying_is_0_or_3_and_says_why(shell: Shell) -> None:
    signing(shell)
    bad = shell(f"verify {RELEASE}")
    shell.site.sign()
    good = shell(f"verify {RELEASE}")

    assert (bad.status, good.status) == (3, 0)
    assert bad.out.startswith(f"{RELEASE}: not everything is good\n  signature")
    assert f"next     run: publisher sign {RELEASE}" in bad.out
    assert "--waive" not in bad.out
    assert good.out.splitlines() == [
        f"{RELEASE}: 6 files verified",
        "  signed by rm@example.org (https://accounts.example.org)",
    ]


def test_verifying_what_is_public_is_0_or_3_and_says_what_has_drifted(shell: Shell) -> None:
    attached(shell)
    good = shell(f"verify {RELEASE} --public")
    shell.site.s3.public.store(PKG, b"something else")
    bad = shell(f"verify --public {RELEASE}")

    assert (good.status, bad.status) == (0, 3)
    assert f"{RELEASE}: 9 files public as 1 record says\n" in good.out
    assert f"drift      {PKG}" in bad.out
    assert f"{RELEASE}: 8 files public as 1 record says\n" in bad.out
    assert shell(f"verify {RELEASE} --public -q").out != ""


def test_a_sidecar_is_attached_and_amended_in_so_many_words(shell: Shell, tmp_path: Path) -> None:
    signed(shell)
    line = f"attach {RELEASE} {an_asc(tmp_path)}"
    first, second, refused = shell(line), shell(line), shell(f"amend {RELEASE} {an_asc(tmp_path)} --reason x")
    shell(PROMOTE)
    amended = shell(f"amend {RELEASE} {an_asc(tmp_path, more=b' ')} --reason 'a blank was missing'")

    assert (first.status, second.status, refused.status, amended.status) == (0, 0, 3, 0)
    assert first.out.startswith(f"{TGZ}.asc is staged, sha256:")
    assert second.out.startswith(f"{TGZ}.asc was staged already, sha256:")
    assert "no such public file" in refused.out
    assert amended.out.startswith(f"{TGZ}.asc is amended, sha256:")
    assert shell(f"amend {RELEASE} {an_asc(tmp_path, more=b' ')} --reason x").out.startswith(
        f"{TGZ}.asc was amended already, sha256:"
    )


def test_a_bad_sidecar_is_3_with_found_and_expected(shell: Shell, tmp_path: Path) -> None:
    signed(shell)

    result = shell(f"attach {RELEASE} {an_asc(tmp_path, key='F' * 40)}")

    assert result.status == 3
    assert f"found    a signature by {'F' * 40}" in result.out
    assert "--waive" not in result.out


def test_nobody_logged_in_is_1_and_nothing_is_public(shell: Shell) -> None:
    shell.ready().site.sigstore.login = None

    result = shell(PROMOTE)

    assert result.status == 1
    assert "error: nobody is logged in" in result.err
    assert (shell.site.public(), shell.site.live()) == ({}, set())


def test_a_record_that_could_not_be_signed_is_4_and_the_next_run_signs_it(shell: Shell) -> None:
    shell.ready().site.sigstore.broken = LoginError("the certificate is over", "log in again")

    result = shell(PROMOTE)

    assert result.status == 4
    assert "is live and not finished: the certificate is over\n  next     log in again" in result.err
    shell.site.sigstore.broken = None
    assert shell(PROMOTE).status == 0
    assert shell.site.public_records() == shell.site.stored_records() != {}


# Shells.


@pytest.mark.parametrize("name", SHELLS)
def test_each_shell_gets_its_script(shell: Shell, name: str) -> None:
    result = shell(f"completion {name}")

    assert result.status == 0
    assert "_PUBLISHER_COMPLETE" in result.out
    assert shell(f"completion {name} -q").out == result.out


@pytest.mark.parametrize(
    ("typed", "position", "expected"),
    [
        ("publisher st", 1, {"plain,status"}),
        ("publisher hold 1.2.3 --role ", 4, {"plain,linux", "plain,mac", "plain,qa"}),
        ("publisher fetch 1.2.3 l", 3, {"plain,linux"}),
        ("publisher wait 1.2.3 --role m", 4, {"plain,mac"}),
        ("publisher --config none.toml hold 1.2.3 --role ", 6, set[str]()),
    ],
)
def test_words_are_completed_roles_by_the_profile(
    tmp_path: Path, typed: str, position: int, expected: set[str]
) -> None:
    (tmp_path / "tool.toml").write_bytes(PROFILE)
    (tmp_path / "publisher.toml").write_text(SITE)

    done = subprocess.run(
        [sys.executable, "-c", "from publisher.cli import main; main()"],
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "_PUBLISHER_COMPLETE": "bash_complete",
            "COMP_WORDS": typed,
            "COMP_CWORD": str(position),
        },
        capture_output=True,
        text=True,
        check=True,
    )

    assert set(done.stdout.split()) == expected


# Common options.


@pytest.mark.parametrize(
    "line",
    [
        "-v -q --json --config x.toml status",
        "status -v -q --json --config x.toml",
        "-v --json status -q --config x.toml",
    ],
)
def test_common_options_mean_the_same_before_and_after_the_command(shell: Shell, line: str) -> None:
    result = shell(line)

    assert result.status == 0
    found = shell.used
    assert (found.verbose, found.quiet, found.as_json, found.config) == (True, True, True, "x.toml")


def test_without_options_the_configuration_is_publisher_toml_in_this_folder(shell: Shell) -> None:
    shell("status")

    assert shell.used.config == "publisher.toml"


@pytest.mark.parametrize(
    ("line", "config"),
    [
        ("status", "env.toml"),
        ("status --config own.toml", "own.toml"),
        ("--config own.toml status", "own.toml"),
        ("--config group.toml status --config own.toml", "own.toml"),
    ],
)
def test_the_environment_names_the_configuration_unless_an_option_does(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, line: str, config: str
) -> None:
    monkeypatch.setenv("PUBLISHER_CONFIG", "env.toml")

    shell(line)

    assert shell.used.config == config


def test_a_configuration_that_is_not_there_is_2_and_says_how_to_name_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status = cli.run(["status", "--config", str(tmp_path / "none.toml")])

    assert status == 2
    streams = capsys.readouterr()
    assert "cannot read" in streams.err
    assert "PUBLISHER_CONFIG" in streams.err
    assert streams.out == ""


def test_the_environment_names_the_role_unless_an_option_does(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PUBLISHER_ROLE", "qa")

    assert f"qa holds {RELEASE}" in shell(f"hold {RELEASE} --reason x").out
    assert f"mac holds {RELEASE}" in shell(f"hold {RELEASE} --reason x --role mac").out


def test_quiet_prints_errors_and_refusals_only(shell: Shell, tmp_path: Path) -> None:
    shell.ready()
    upload = shell(f"-q upload 1.3.0 {a_file(tmp_path, 'tool-1.3.0.tgz')} --role linux")
    assert (upload.status, upload.out, upload.err) == (0, "", "")

    promoted = shell(f"{PROMOTE} -q")
    assert (promoted.status, promoted.out, promoted.err) == (0, "", "")
    refused = shell("-q promote 1.3.0 --yes")
    assert refused.status == 3
    assert refused.out.startswith("refused: ")
    assert "error: found 'nonsense'" in shell("-q status nonsense").err
    assert shell("-q --json status").answer["result"] == "reported"


def test_quiet_still_shows_the_plan_when_it_asks(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))

    assert "plan sha256:" in shell.ready()(f"promote {RELEASE} -q").out


# The question.


def test_without_a_terminal_and_without_yes_nothing_is_done_and_the_flag_is_named(shell: Shell) -> None:
    shell.ready()
    shell.site.s3.writes.clear()

    result = shell(f"promote {RELEASE}")

    assert result.status == 2
    assert "plan sha256:" in result.out
    assert "no terminal to ask on" in result.err
    assert "--yes" in result.err
    assert shell.site.s3.writes == []


@pytest.mark.parametrize(
    ("typed", "status", "public"), [("y\n", 0, 2), ("n\n", 1, 0), ("\n", 1, 0), ("", 130, 0)]
)
def test_only_a_yes_goes_on(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, typed: str, status: int, public: int
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))

    result = shell.ready()(f"promote {RELEASE}")

    assert result.status == status
    assert "plan sha256:" in result.out
    assert "Make this public?" in result.err
    assert "Make this public?" not in result.out
    assert len(shell.site.public()) == public


def test_who_says_no_is_told_that_nothing_was_written(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    shell.ready().site.s3.writes.clear()

    assert "not done: nothing was written" in shell(f"promote {RELEASE}").out
    assert shell.site.s3.writes == []


def test_a_question_does_not_get_into_the_json_answer(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))

    result = shell.ready()(f"promote {RELEASE} --json")

    assert result.answer["result"] == "declined"
    assert "plan sha256:" in result.err


# Plans and waivers.


def test_a_dry_run_shows_the_command_that_follows_exactly_this_plan(shell: Shell) -> None:
    shell.ready().site.s3.writes.clear()

    result = shell(f"promote {RELEASE} --dry-run")

    assert result.status == 0
    assert shell.site.s3.writes == []
    command = result.out.splitlines()[-1].partition("next: publisher ")[2]
    assert shell(f"{command} --yes").status == 0


def test_another_plan_than_the_pinned_one_is_refused(shell: Shell) -> None:
    result = shell.ready()(f"{PROMOTE} --plan sha256:00")

    assert result.status == 3
    assert "expected sha256:00" in result.out
    assert "publisher promote --dry-run" in result.out
    assert shell.site.public() == {}


def test_a_waiver_with_a_reason_lets_the_rest_go_and_is_shown(shell: Shell) -> None:
    shell.ready()(f"hold {RELEASE} --role qa --reason 'it hangs'")
    assert shell(PROMOTE).status == 3

    result = shell(f"{PROMOTE} --waive hold:qa/{RELEASE} --reason 'known, harmless'")

    assert result.status == 0
    assert f"waived hold:qa/{RELEASE} because known, harmless" in result.out


def test_a_waiver_of_nothing_is_refused(shell: Shell) -> None:
    result = shell.ready()(f"{PROMOTE} --waive extra:odd --reason x")

    assert result.status == 3
    assert "run again without --waive extra:odd" in result.out


# How it looks.


def test_what_is_not_for_a_terminal_has_no_escape_codes(shell: Shell) -> None:
    shell.site.open()
    for line in (PROMOTE, "status", OPEN, "status nonsense"):
        result = shell(line)
        assert ESCAPE not in result.out + result.err


@pytest.mark.parametrize("variables", [{}, {"NO_COLOR": "1"}])
def test_colour_is_for_terminals_that_want_it(
    monkeypatch: pytest.MonkeyPatch, variables: Mapping[str, str]
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    out = Screen()
    monkeypatch.setattr(sys, "stdout", out)

    cli.run(["promote", RELEASE], Settings(connect=lambda settings: Site().world()))

    assert "refused: " in out.getvalue()
    # 31 is red: without colour, bold may stay.
    assert ("31m" in out.getvalue()) is not bool(variables)


def test_names_with_brackets_are_printed_unharmed(shell: Shell, tmp_path: Path) -> None:
    name = "[red]odd [x] :bug:.bin"

    assert name in shell(f"upload {RELEASE} {a_file(tmp_path, name)} --role linux").out
    held = shell(f"hold {RELEASE} --role qa --reason '[bold]see :bug: [1][/bold]'")
    assert "[bold]see :bug: [1][/bold]" in held.out


def test_characters_that_a_terminal_obeys_are_shown_and_not_sent(shell: Shell) -> None:
    shell.site.open()
    shell.site.stage("linux", {f"odd{ESCAPE}[2J.bin": b""})

    result = shell(f"status {RELEASE}")

    assert "odd\\x1b[2J.bin" in result.out
    assert ESCAPE not in result.out


def test_what_a_terminal_cannot_show_does_not_hide_what_is_said_about_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(data, "ascii", write_through=True))
    site = Site()
    site.stage("linux", {"gr\xf6\xdfer.bin": b""})
    status = cli.run(["promote", RELEASE], Settings(connect=lambda settings: site.world()))

    assert status == 3
    assert rb"gr\xf6\xdfer.bin" in data.getvalue()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_our_own_signs_are_spelt_out_where_the_encoding_lacks_them(
    monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    data = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(data, encoding, write_through=True))
    site = Site()
    site.open()

    cli.run(["promote", RELEASE], Settings(connect=lambda settings: site.world()))

    text = data.getvalue().decode(encoding)
    assert ("--reason '…'" if encoding == "utf-8" else "--reason '...'") in text
    assert "\\u2026" not in text


@pytest.mark.parametrize("arguments", [["--help"], ["promote", "--help"], ["stätus"], ["status", "\udcff"]])
@pytest.mark.parametrize("variables", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}, {"COLUMNS": "60"}])
def test_no_locale_and_no_width_makes_it_crash(
    tmp_path: Path, arguments: list[str], variables: dict[str, str]
) -> None:
    (tmp_path / "tool.toml").write_bytes(PROFILE)
    (tmp_path / "publisher.toml").write_text(SITE)

    done = subprocess.run(
        [sys.executable, "-c", "from publisher.cli import main; main()", *arguments],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "AWS_EC2_METADATA_DISABLED": "true", **variables},
        capture_output=True,
        check=False,
    )

    assert done.returncode == (0 if "--help" in arguments else 2)
    assert b"Traceback" not in done.stderr
    assert b"unexpected" not in done.stderr


def test_a_status_tells_of_each_role_what_is_missing_and_what_to_do(shell: Shell) -> None:
    shell.site.open()
    shell.site.stage("linux", {TGZ: b"x", "odd.bin": b""})
    shell.site.hand_over("linux")
    shell(f"hold {RELEASE} --role qa --reason 'it hangs'")

    lines = shell(f"status {RELEASE}").out.splitlines()

    assert f"  linux  handed over 2026-06-01 12:00 UTC at {COMMIT[:12]}: 1 extra, 1 ready" in lines
    assert "    extra    odd.bin" in lines
    assert "  mac  not handed over: 1 missing" in lines
    assert f"    missing  {PKG}" in lines
    assert f"    next     mac runs: publisher upload {RELEASE} … --complete" in lines
    assert "  qa  tests" in lines
    assert "    held     it hangs" in lines


def test_a_status_names_what_the_profile_no_longer_knows(shell: Shell) -> None:
    shell.site.s3.staging.store("_state/releases/2.x.json", b"of an older profile")

    result = shell("status")

    assert result.status == 0
    assert "2.x was opened once and is no release by the present profile" in result.err
    assert shell("status --json").answer["unknown"] == ["2.x"]


def test_refusals_that_each_found_another_thing_are_told_one_by_one(shell: Shell) -> None:
    shell.site.open()
    names = {f"odd{number}.bin" for number in range(7)}
    shell.site.stage("linux", dict.fromkeys(names, b""))

    text = shell(f"status {RELEASE}").out
    answer = shell(f"status {RELEASE} --json").answer

    assert all(f"  extra      {name}\n" in text for name in names)
    assert names <= {refusal["subject"] for refusal in answer["releases"][0]["refusals"]}


def test_long_lists_are_shortened_in_text_and_whole_in_json(shell: Shell, tmp_path: Path) -> None:
    for number in range(7):
        a_file(tmp_path, f"odd{number}.bin")
    line = f"upload {RELEASE} {shlex.quote(str(tmp_path))} --role linux"

    assert "odd0.bin, odd1.bin, odd2.bin, odd3.bin, odd4.bin … and 2 more" in shell(line).out
    assert len(shell(f"{line} --json").answer["refusals"]) == 7


def test_missing_files_are_listed_whole_in_json_only(shell: Shell, tmp_path: Path) -> None:
    more = b"".join(
        b'[[artifact]]\nkey = "tool/{release}/part%d"\nrole = "linux"\n' % number for number in range(7)
    )
    shell.site.profile_text = PROFILE + more
    line = f"upload {RELEASE} {a_file(tmp_path)} --role linux"

    assert "… and 2 more (--json lists all)" in shell(line).err
    assert len(shell(f"{line} --json").answer["missing"]) == 7


# Help and version.


def commands() -> list[tuple[str, click.Command]]:
    found: list[tuple[str, click.Command]] = []

    def walk(name: str, command: click.Command) -> None:
        found.append((name, command))
        if isinstance(command, click.Group):
            for child, inner in command.commands.items():
                walk(f"{name} {child}".strip(), inner)

    walk("", cli.publisher)
    return found


@pytest.mark.parametrize(("name", "command"), commands())
def test_the_help_of_every_command_tells_each_of_its_options(
    shell: Shell, name: str, command: click.Command
) -> None:
    result = shell(f"{name} --help")

    assert result.status == 0
    assert result.err == ""
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help
            assert all(option in result.out for option in parameter.opts)
    short = shell(f"{name} -h")
    assert (short.status, short.out, short.err) == (0, result.out, "")


def test_the_main_help_tells_every_command_and_exit_status(shell: Shell) -> None:
    result = shell("--help")

    assert all(f"\n  {name} " in result.out for name in cli.publisher.commands)
    epilog = [line.split()[0] for line in result.out.partition("Exit statuses:\n")[2].splitlines()]
    assert epilog == ["0", "1", "2", "3", "4", "130"]


def test_the_version_is_told(shell: Shell) -> None:
    result = shell("--version")

    assert result.status == 0
    assert result.out == f"publisher, version {__version__}\n"


def test_without_a_command_the_help_is_shown_as_a_misuse(shell: Shell) -> None:
    result = shell("")

    assert result.status == 2
    assert "publisher upload 3.14.0b3" in result.err


# The answers of `--json`: a contract.

HEAD = {"schema", "command", "exit", "result"}
PLAN = {"plan", "promotion", "releases", "files", "bytes", "waived", "pointers", "aliases"}
REFUSAL = {"rule", "subject", "found", "expected", "next"}
WAITED = {"release", "live", "arrived", "waiting", "waited_s"}
VERIFIED = {"release", "public", "files", "identities", "records", "withdrawn", "refusals"}
SIDECAR = {"release", "key", "digest", "changed"}
REPORT = {
    "release",
    "kind",
    "stage",
    "commit",
    "attempt",
    "promotions",
    "promotion",
    "roles",
    "refusals",
    "streamed",
    "identities",
    "pointers",
}


def open_it(shell: Shell) -> None:
    shell.site.open()


def ready(shell: Shell) -> None:
    shell.ready()


def promote_it(shell: Shell) -> None:
    shell.ready().site.promote()


def break_it(shell: Shell) -> None:
    shell.ready()
    fail_at(shell.site, "place", StoreError("the line is dead"))
    shell(PROMOTE)
    shell.site.s3.before = lambda request, key: None


def nothing(shell: Shell) -> None:
    _ = shell


ANSWERS = [
    (nothing, OPEN, "open", "opened", {"release", "commit", "attempt", "changed"}),
    (
        open_it,
        f"respin {RELEASE} --commit {COMMIT} --reason x",
        "respin",
        "opened",
        {"release", "commit", "attempt", "changed"},
    ),
    (nothing, f"hold {RELEASE} --role qa --reason x", "hold", "held", {"release", "role", "hold"}),
    (nothing, f"unhold {RELEASE} --role qa", "unhold", "held", {"release", "role", "hold"}),
    (
        nothing,
        "upload {release} {file} --role linux",
        "upload",
        "uploaded",
        {
            "release",
            "role",
            "uploaded",
            "skipped",
            "pruned",
            "missing",
            "bytes",
            "handed_over",
            "stale_hand_over",
        },
    ),
    (
        ready,
        f"fetch {RELEASE} --role qa --to {{folder}}",
        "fetch",
        "fetched",
        {
            "release",
            "folder",
            "fetched",
            "skipped",
            "not_handed_over",
            "not_listed",
            "not_verified",
            "bytes",
        },
    ),
    (
        ready,
        f"share {RELEASE} {TGZ} --hours 1 --reason x",
        "share",
        "shared",
        {"release", "role", "key", "digest", "until", "session_until", "record", "url"},
    ),
    (ready, f"wait {RELEASE}", "wait", "waited", WAITED),
    (nothing, f"wait {RELEASE} --timeout 0", "wait", "waited", WAITED),
    (promote_it, f"wait {RELEASE} --live", "wait", "waited", WAITED),
    (nothing, "completion zsh", "completion", "script", {"script"}),
    (nothing, "status", "status", "reported", {"releases", "lease", "unknown"}),
    (ready, "status --check", "status", "reported", {"releases", "lease", "unknown"}),
    (
        ready,
        PROMOTE,
        "promote",
        "promoted",
        PLAN | {"written", "already_public", "artifact_bytes_through_publisher", "finished", "swapped"},
    ),
    (
        promote_it,
        PROMOTE,
        "promote",
        "promoted",
        {"written", "already_public", "artifact_bytes_through_publisher", "finished", "swapped"},
    ),
    (ready, f"promote {RELEASE} -n", "promote", "planned", PLAN | {"already_public", "unfinished"}),
    (break_it, f"promote {RELEASE} -n", "promote", "planned", {"already_public", "unfinished"}),
    (nothing, PROMOTE, "promote", "refused", {"refusals", "finished"}),
    (nothing, "gate rebuild", "gate rebuild", "rebuilt", {"live", "planned", "releases", "withdrawn"}),
    (nothing, "status nonsense", "status", "error", {"error", "next"}),
    (signing, f"sign {RELEASE}", "sign", "signed", {"releases"}),
    (signed, f"verify {RELEASE}", "verify", "verified", VERIFIED),
    (signing, f"verify {RELEASE}", "verify", "verified", VERIFIED),
    (attached, f"verify {RELEASE} --public", "verify", "verified", VERIFIED),
    (signed, f"attach {RELEASE} {{asc}}", "attach", "attached", SIDECAR),
    (attached, f"amend {RELEASE} {{asc}} --reason x", "amend", "amended", SIDECAR),
    (signed, f"amend {RELEASE} {{asc}} --reason x", "amend", "refused", {"refusals", "finished"}),
    (nothing, f"sign {RELEASE}", "sign", "refused", {"refusals", "finished"}),
]


@pytest.mark.parametrize(("prepare", "line", "command", "result", "fields"), ANSWERS)
def test_a_json_answer_has_exactly_the_promised_fields(
    shell: Shell,
    tmp_path: Path,
    prepare: Callable[[Shell], None],
    line: str,
    command: str,
    result: str,
    fields: set[str],
) -> None:
    prepare(shell)
    files = {"file": a_file(tmp_path), "asc": an_asc(tmp_path)}

    answer = shell(line.format(release=RELEASE, folder=tmp_path, **files) + " --json").answer

    assert (answer["command"], answer["result"]) == (command, result)
    assert set(answer) == HEAD | fields


def test_the_json_of_signing_and_verifying_names_files_and_people(shell: Shell) -> None:
    signing(shell)
    (signed_release,) = shell(f"sign {RELEASE} --json").answer["releases"]
    staged = shell(f"verify {RELEASE} --json").answer
    shell.site.promote()
    public = shell(f"verify {RELEASE} --public --json").answer

    assert signed_release == {
        "release": RELEASE,
        "signed": [TGZ, PKG],
        "already_signed": [],
        "waiting": [],
    }
    person = {"name": "rm@example.org", "issuer": "https://accounts.example.org"}
    assert staged["identities"] == public["identities"] == [person]
    assert {"key": f"{TGZ}.sigstore", "artifact": TGZ, "by": person["name"]} in staged["files"]
    assert (staged["public"], staged["records"], public["public"], public["records"]) == (False, 0, True, 1)
    assert {"key": TGZ, "artifact": None, "by": None} in public["files"]
    assert public["refusals"] == []


def test_the_json_of_a_plan_names_releases_files_and_waived_refusals(shell: Shell) -> None:
    shell.ready()(f"hold {RELEASE} --role qa --reason 'it hangs'")

    answer = shell(f"promote {RELEASE} -n --json --waive 'hold:*' --reason x").answer

    assert answer["releases"] == [
        {
            "release": RELEASE,
            "commit": COMMIT,
            "attempt": 1,
            "number": 1,
            "identities": [{"name": "rm@example.org", "issuer": "https://accounts.example.org"}],
            "record": FIRST_RECORD,
        }
    ]
    assert [set(file) for file in answer["files"]] == [{"key", "digest", "size", "role"}] * 2
    assert {file["key"]: file["role"] for file in answer["files"]} == {TGZ: "linux", PKG: "mac"}
    assert answer["bytes"] == sum(file["size"] for file in answer["files"])
    assert [(set(waived), waived["rule"]) for waived in answer["waived"]] == [(REFUSAL, "hold")]


def test_the_json_of_a_refusal_names_rule_subject_found_expected_and_next(shell: Shell) -> None:
    answer = shell(f"{PROMOTE} --json").answer

    assert answer["refusals"]
    assert all(set(refusal) == REFUSAL for refusal in answer["refusals"])


def test_the_json_of_a_status_has_roles_with_the_standing_of_each_artifact(shell: Shell) -> None:
    shell.ready()(f"hold {RELEASE} --role qa --reason 'it hangs'")

    result = shell(f"status {RELEASE} --check --json")

    assert result.status == 3
    (release,) = result.answer["releases"]
    assert set(release) == REPORT
    assert (release["stage"], release["commit"], release["attempt"]) == ("held", COMMIT, 1)
    roles = {role.pop("role"): role for role in release["roles"]}
    assert all(
        set(role)
        == {"owner", "handed_over", "handed_over_at", "commit", "hold", "artifacts", "missing", "next"}
        for role in roles.values()
    )
    assert roles["linux"]["artifacts"] == {TGZ: "ready"}
    assert roles["qa"]["hold"] == "it hangs"


def test_the_json_of_a_lease_names_holder_purpose_and_time_left(shell: Shell) -> None:
    shell.ready()
    shell.site.s3.before = lambda request, key: stop(shell.site) if request == "copy" else None
    with pytest.raises(StoppedError):
        shell.site.promote()
    shell.site.s3.before = lambda request, key: None

    assert set(shell("status --json").answer["lease"]) == {"holder", "purpose", "expires_in_s"}
    assert "lease: arn:aws:iam::123456789012:user/rm for promote" in shell("status").out


def test_errors_after_go_live_are_told_by_json_too(shell: Shell) -> None:
    shell.ready()
    fail_at(shell.site, "place", StoreError("the line is dead"))

    result = shell(f"{PROMOTE} --json")

    assert result.status == 4
    assert "is live and not finished" in result.answer["error"]


class StoppedError(BaseException):
    """The process is gone."""


def stop(site: Site) -> None:
    """Let the process die: not even its lease is freed."""

    def dead(request: str, key: str) -> None:
        raise StoppedError

    site.s3.before = dead
    raise StoppedError
