"""An emulated AWS on loopback: ministack, started for one use, seen to enforce access, and stopped for sure.

It knows nothing of the publisher: it gives an endpoint and credentials, and speaks IAM only to make users.
"""

import http.client
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from sandbox.certificate import Certificate

VERSION = "1.5.33"
"""The one release whose enforcement was measured; 1.4 has none at all, and says nothing about it."""

REGION = "us-east-1"
LOOPBACK = "127.0.0.1"
INLINE = "inline"
"""The name of a user's only policy."""

_START_SECONDS = 30.0
_TWO_LISTENERS = Path(__file__).with_name("two_listeners.py")
_END_SECONDS = 5.0
# Runs the real command in its own process group until told to end, or until standard input closes, which
# the kernel sees to even if the process at the other end was killed: then it also removes the folder.
_SUPERVISOR = """
import os, shutil, signal, subprocess, sys, threading
process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
told = []
def watch():
    told.append(os.read(0, 1))
    process.kill()
threading.Thread(target=watch, daemon=True).start()
status = process.wait()
if told == [b""]:
    shutil.rmtree(os.getcwd(), ignore_errors=True)
if told:
    os.killpg(0, signal.SIGKILL)
os._exit(abs(status))
"""


class ServerError(Exception):
    """An emulator cannot be used: the wrong version, did not start, or does not enforce access."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """An access key and whose it is; a session has a `token` besides."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    arn: str = ""
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Ministack:
    """A running ministack. `pid` is the process group that everything of it runs in.

    Root is above every policy and its signatures are not checked: use it to set things up, never to act.
    `endpoint` is in the clear; `secure_endpoint` is the same server over TLS, if it was given a certificate.
    """

    endpoint: str
    pid: int
    root: Credentials = field(repr=False)
    _session: boto3.session.Session = field(repr=False)
    secure_endpoint: str = ""

    def root_session(self) -> boto3.session.Session:
        """Give the session of root, for setting things up; it is the same one each time, for one thread."""
        return self._session

    def new_user(self, name: str, policy: Mapping[str, object]) -> Credentials:
        """Create an IAM user with `policy` inline, and an access key for it."""
        with closing(self._session.client("iam", endpoint_url=self.endpoint, config=local_config())) as iam:
            arn = iam.create_user(UserName=name)["User"]["Arn"]
            iam.put_user_policy(UserName=name, PolicyName=INLINE, PolicyDocument=json.dumps(policy))
            key = iam.create_access_key(UserName=name)["AccessKey"]
        return Credentials(key["AccessKeyId"], key["SecretAccessKey"], arn)


def open_session(credentials: Credentials) -> boto3.session.Session:
    """Open a session with these credentials, whatever profile or files this machine has for AWS."""
    nothing = (None, None, None, None)
    core = botocore.session.Session(
        {
            "profile": nothing,
            "config_file": (None, None, os.devnull, None),
            "credentials_file": (None, None, os.devnull, None),
        }
    )
    return boto3.session.Session(
        aws_access_key_id=credentials.access_key_id,
        aws_secret_access_key=credentials.secret_access_key,
        aws_session_token=credentials.token,
        region_name=REGION,
        botocore_session=core,
    )


def local_config() -> Config:
    """Give a client's configuration for loopback: no proxy, one attempt, short waits."""
    return Config(
        proxies={},
        retries={"mode": "standard", "total_max_attempts": 1},
        connect_timeout=5,
        read_timeout=30,
        max_pool_connections=32,
    )


@contextmanager
def run_ministack(
    *, certificate: Certificate | None = None, installed: Callable[[str], str] = metadata.version
) -> Generator[Ministack]:
    """Run ministack on a free port of loopback until the block ends, however it ends.

    Its data are gone afterwards. With a `certificate` it answers over TLS as well, on a port of its own.
    `installed` looks up the version of a package.

    Raises:
        ServerError: It is not the version that was measured, did not start, or lets through what it must not.
    """
    _check_version(installed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ministack-")))
        port = stack.enter_context(reserve_port())
        secure_port = stack.enter_context(reserve_port()) if certificate else 0
        command = _command(port, secure_port, certificate) if certificate else ["-m", "ministack"]
        # Root's key is random, so that no other ministack can be taken for this one.
        root = Credentials(f"root{secrets.token_hex(8)}", secrets.token_hex(16))
        process = stack.enter_context(
            run_process([sys.executable, "-I", *command], folder, _environment(port, folder, root))
        )
        wait_until(process, folder, lambda: ask(port, "/_ministack/health") == http.HTTPStatus.OK)
        server = Ministack(
            f"http://{LOOPBACK}:{port}",
            process.pid,
            root,
            open_session(root),
            f"https://{LOOPBACK}:{secure_port}" if certificate else "",
        )
        _check_enforcement(server, port)
        yield server


@contextmanager
def reserve_port() -> Generator[int]:
    """Hold a free port of loopback until the block ends, so that nobody else is given it.

    A server that sets SO_REUSEADDR, as nearly all do, can listen on it meanwhile: this socket does not.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind((LOOPBACK, 0))
        yield held.getsockname()[1]


@contextmanager
def run_process(
    command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> Generator[subprocess.Popen[bytes]]:
    """Run `command` in `folder`, with this environment only, and kill its whole group in the end.

    It is killed, not asked: what it keeps is thrown away. Should this process be killed itself, the group
    ends as well and `folder` is removed. Output goes to `folder`/log.
    """
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _SUPERVISOR, *command],
            bufsize=0,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    with process:
        try:
            yield process
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Have the supervisor end the command and see it gone; failing that, kill the whole group."""
    try:
        if process.stdin:
            process.stdin.write(b"x")
        process.wait(timeout=_END_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        pass
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def wait_until(process: subprocess.Popen[bytes], folder: Path, ready: Callable[[], bool]) -> None:
    """Wait until a server started by `run_process` is `ready`.

    Raises:
        ServerError: It ended, or was not ready in time; the message holds the last lines of its log.
    """
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with suppress(OSError, http.client.HTTPException):
            if ready():
                return
        time.sleep(0.02)
    lines = (folder / "log").read_text(encoding="utf-8", errors="replace").splitlines()[-20:]
    state = "was not ready in time" if process.poll() is None else f"ended with status {process.returncode}"
    raise ServerError("\n".join([f"the server {state}; its log ends with:", *lines]))


def _command(port: int, secure_port: int, certificate: Certificate) -> list[str]:
    ports = [f"{LOOPBACK}:{port}", f"{LOOPBACK}:{secure_port}"]
    return [str(_TWO_LISTENERS), *ports, str(certificate.file), str(certificate.key)]


def _environment(port: int, folder: Path, root: Credentials) -> dict[str, str]:
    return {
        "PATH": os.defpath,
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "AUTH": "true",
        "BIND_HOST": LOOPBACK,
        "GATEWAY_PORT": str(port),
        # Otherwise a second listener is opened on every address.
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "CLOUDTRAIL_RECORDING": "0",
        "PERSIST_STATE": "0",
        "S3_PERSIST": "0",
        "STATE_DIR": str(folder / "state"),
        "S3_DATA_DIR": str(folder / "s3"),
        "LOG_LEVEL": "WARNING",
        # No container is ever looked for.
        "DOCKER_HOST": f"unix://{folder}/no-docker.sock",
        "AWS_ACCESS_KEY_ID": root.access_key_id,
        "AWS_SECRET_ACCESS_KEY": root.secret_access_key,
    }


def _check_version(installed: Callable[[str], str]) -> None:
    try:
        found = installed("ministack")
    except metadata.PackageNotFoundError:
        found = "none"
    if found != VERSION:
        raise ServerError(
            f"found ministack {found}, expected exactly {VERSION}: other versions enforce less or nothing; "
            f"next: install the locked environment (`make clean test`), or "
            f"`pip install ministack=={VERSION} boto3=={metadata.version('boto3')}` in one command"
        )


def _check_enforcement(server: Ministack, port: int) -> None:
    """See that access is enforced: three reads that must be refused, and one that must not."""
    try:
        answers = _probe(server, port)
    except (BotoCoreError, ClientError) as error:
        raise ServerError(f"ministack cannot be checked: {error}") from error
    wrong = [f"{what} gave {got} instead of {want}" for what, (got, want) in answers.items() if got != want]
    if wrong:
        raise ServerError(f"ministack does not enforce access: {'; '.join(wrong)}")


def _probe(server: Ministack, port: int) -> dict[str, tuple[int, int]]:
    """Read a private object in four ways; answer the status of each and what it should be."""
    name = f"probe-{secrets.token_hex(8)}"
    read = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{name}/*"}
    session = server.root_session()
    with (
        closing(session.client("s3", endpoint_url=server.endpoint, config=local_config())) as s3,
        closing(session.client("iam", endpoint_url=server.endpoint, config=local_config())) as iam,
    ):
        s3.create_bucket(Bucket=name)
        s3.put_object(Bucket=name, Key="private", Body=b"x")
        user = server.new_user(name, {"Version": "2012-10-17", "Statement": [read]})
        forged = Credentials(user.access_key_id, secrets.token_hex(16))
        answers = {
            "an unsigned read": (ask(port, f"/{name}/private"), 403),
            "a read that a policy allows": (_read_as(server, user, name), 200),
            "a read with a wrong secret": (_read_as(server, forged, name), 403),
        }
        iam.delete_user_policy(UserName=name, PolicyName=INLINE)
        answers["a read by a user without policy"] = (_read_as(server, user, name), 403)
        iam.delete_access_key(UserName=name, AccessKeyId=user.access_key_id)
        iam.delete_user(UserName=name)
        s3.delete_object(Bucket=name, Key="private")
        s3.delete_bucket(Bucket=name)
    return answers


def _read_as(server: Ministack, user: Credentials, bucket: str) -> int:
    # A client of the same session: what it has loaded need not be loaded again.
    client = server.root_session().client(
        "s3",
        endpoint_url=server.endpoint,
        config=local_config(),
        aws_access_key_id=user.access_key_id,
        aws_secret_access_key=user.secret_access_key,
    )
    with closing(client) as s3:
        try:
            s3.get_object(Bucket=bucket, Key="private")["Body"].read()
        except ClientError as error:
            return error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return http.HTTPStatus.OK


def ask(port: int, path: str) -> int:
    """Make an unsigned GET and answer its status."""
    with closing(http.client.HTTPConnection(LOOPBACK, port, timeout=5)) as connection:
        connection.request("GET", path)
        return connection.getresponse().status
