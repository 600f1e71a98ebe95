"""The emulated AWS: only the measured version, on loopback only, enforcing, and gone when it is done with."""

import http.client
import os
import signal
import socket
import subprocess
import sys
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import ClientError

from sandbox.ministack import (
    LOOPBACK,
    VERSION,
    Credentials,
    Ministack,
    ServerError,
    ask,
    local_config,
    reserve_port,
    run_ministack,
    run_process,
    wait_until,
)
from tests.sandbox.processes import (
    LOOPBACKS,
    eventually,
    in_group,
    listening_addresses,
    listens,
    needs_proc,
    sockets_of,
)

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

ROOT = Path(__file__).parents[2]


def port_of(server: Ministack) -> int:
    port = urlsplit(server.endpoint).port
    assert port is not None
    return port


@pytest.mark.parametrize("found", ["1.4.21", "1.5.32", "1.5.34", "1.5.330"])
def test_another_version_is_refused_with_what_to_do(found: str) -> None:
    with (
        pytest.raises(ServerError, match=f"found ministack {found}, expected exactly {VERSION}") as caught,
        run_ministack(installed=lambda name: found),
    ):
        pytest.fail("it must not run")
    assert f"pip install ministack=={VERSION}" in str(caught.value)


def test_no_version_at_all_is_refused_with_what_to_do() -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    with pytest.raises(ServerError, match="found ministack none"), run_ministack(installed=missing):
        pytest.fail("it must not run")


def test_unsigned_and_unallowed_reads_are_refused_and_allowed_ones_are_not() -> None:
    with run_ministack() as server:
        with closing(root_s3(server)) as s3:
            s3.create_bucket(Bucket="private")
            s3.put_object(Bucket="private", Key="object", Body=b"x")
            # Nothing is left of the check at the start.
            assert [bucket.get("Name") for bucket in s3.list_buckets()["Buckets"]] == ["private"]
        assert ask(port_of(server), "/private/object") == http.client.FORBIDDEN
        assert read_as(server, new_user(server, "other")) == "AccessDenied"
        assert read_as(server, new_user(server, "private")) == "x"


def root_s3(server: Ministack) -> "S3Client":
    session = server.root_session()
    return session.client("s3", endpoint_url=server.endpoint, config=local_config())


def new_user(server: Ministack, bucket: str) -> Credentials:
    statement = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{bucket}/*"}
    return server.new_user(f"reader-of-{bucket}", {"Version": "2012-10-17", "Statement": [statement]})


def read_as(server: Ministack, user: Credentials) -> str:
    session = server.root_session()
    client = session.client(
        "s3",
        endpoint_url=server.endpoint,
        config=local_config(),
        aws_access_key_id=user.access_key_id,
        aws_secret_access_key=user.secret_access_key,
    )
    with closing(client) as s3:
        try:
            return s3.get_object(Bucket="private", Key="object")["Body"].read().decode()
        except ClientError as error:
            return error.response.get("Error", {}).get("Code", "")


@needs_proc
def test_it_listens_on_loopback_only() -> None:
    with run_ministack() as server:
        sockets = {socket for pid in in_group(server.pid) for socket in sockets_of(pid)}
        found = listening_addresses(sockets)
    assert found
    assert found <= LOOPBACKS


@needs_proc
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, None])
def test_nothing_of_it_is_left_however_the_block_ends(error: type[BaseException] | None) -> None:
    group, port = 0, 0

    def run() -> None:
        nonlocal group, port
        with run_ministack() as server:
            group, port = server.pid, port_of(server)
            assert in_group(group)
            if error:
                raise error

    if error:
        with pytest.raises(error):
            run()
    else:
        run()
    # At once, not eventually.
    assert not listens(port)
    assert eventually(lambda: not in_group(group))


@needs_proc
def test_it_ends_even_if_the_process_that_started_it_is_killed(tmp_path: Path) -> None:
    code = (
        "import time\n"
        "from sandbox.ministack import run_ministack\n"
        "with run_ministack() as server:\n"
        "    print(server.pid, server.endpoint.rpartition(':')[2], flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PATH": os.defpath, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        group, port = (int(number) for number in process.stdout.readline().split())
        process.send_signal(signal.SIGKILL)
    assert eventually(lambda: not in_group(group))
    assert eventually(lambda: not listens(port))
    assert eventually(lambda: not list(tmp_path.iterdir()))


def test_two_run_side_by_side_and_know_nothing_of_each_other() -> None:
    with run_ministack() as one, run_ministack() as other:
        assert one.endpoint != other.endpoint
        with closing(root_s3(one)) as s3:
            s3.create_bucket(Bucket="mine")
        with closing(root_s3(other)) as s3:
            assert s3.list_buckets()["Buckets"] == []


def test_a_server_that_ends_at_once_is_told_with_the_end_of_its_log(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; print('no such thing'); sys.exit(7)"]
    with (
        run_process(command, tmp_path, {}) as process,
        pytest.raises(ServerError, match=r"ended with status 7(.|\n)*no such thing"),
    ):
        wait_until(process, tmp_path, lambda: False)


def test_a_reserved_port_is_free_to_listen_on_and_given_to_nobody_else() -> None:
    with reserve_port() as port, reserve_port() as another, socket.socket() as server:
        assert port != another
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((LOOPBACK, port))
        server.listen()
        assert listens(port)
