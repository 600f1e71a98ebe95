"""SeaweedFS on loopback: a real S3 server for the contract suite, stopped for sure."""

import json
import secrets
import sys
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from sandbox.ministack import (
    LOOPBACK,
    Credentials,
    ask,
    local_config,
    open_session,
    reserve_port,
    run_process,
    wait_until,
)

_PORTS = ("s3", "master", "volume", "filer")


@dataclass(frozen=True, slots=True)
class Seaweed:
    """A running SeaweedFS: `setup` may do anything, `actor` use buckets, `stranger` nothing of use."""

    endpoint: str
    pid: int
    setup: Credentials = field(repr=False)
    actor: Credentials = field(repr=False)
    stranger: Credentials = field(repr=False)


@contextmanager
def run_seaweed() -> Generator[Seaweed]:
    """Run SeaweedFS on free ports of loopback until the block ends; its data are gone afterwards."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="seaweed-")))
        ports = {name: stack.enter_context(reserve_port()) for name in _PORTS}
        grpc = {name: stack.enter_context(reserve_port()) for name in _PORTS}
        users = {name: _make_key(name) for name in ("setup", "actor", "stranger")}
        (folder / "data").mkdir()
        (folder / "identities.json").write_text(json.dumps(_identities(users)), encoding="utf-8")
        for name, port in grpc.items():
            # It has no option for where these go, and being killed it leaves them behind.
            socket = Path(f"/tmp/seaweedfs-{name}-grpc-{port}.sock")
            stack.callback(socket.unlink, missing_ok=True)
        environment = {
            "PATH": "",
            "HOME": str(folder),
            "TMPDIR": str(folder),
            # Each bucket has volumes of its own; with the usual seven, a few buckets use all there are.
            "WEED_MASTER_VOLUME_GROWTH_COPY_1": "1",
        }
        process = stack.enter_context(run_process(_command(folder, ports, grpc), folder, environment))
        server = Seaweed(f"http://{LOOPBACK}:{ports['s3']}", process.pid, **users)
        wait_until(process, folder, lambda: ask(ports["s3"], "/healthz") == HTTPStatus.OK)
        wait_until(process, folder, lambda: _can_store(server))
        yield server


def _command(folder: Path, ports: dict[str, int], grpc: dict[str, int]) -> list[str]:
    return [
        str(Path(sys.executable).with_name("weed")),
        "-logtostderr=true",
        "server",
        f"-dir={folder / 'data'}",
        f"-ip={LOOPBACK}",
        f"-ip.bind={LOOPBACK}",
        # Otherwise it reports to a public host.
        "-master.telemetry=false",
        "-master.volumeSizeLimitMB=64",
        "-volume.max=10000",
        "-filer",
        f"-filer.localSocket={folder / 'filer.sock'}",
        "-s3",
        f"-s3.localSocket={folder / 's3.sock'}",
        f"-s3.config={folder / 'identities.json'}",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-s3.allowDeleteBucketNotEmpty=false",
        "-s3.autoCreateBucket=false",
        *(f"-{name}.port={port}" for name, port in ports.items()),
        *(f"-{name}.port.grpc={port}" for name, port in grpc.items()),
    ]


def _identities(users: dict[str, Credentials]) -> dict[str, object]:
    actions = {
        "setup": ["Admin", "Read", "Write", "List", "Tagging"],
        "actor": ["Read", "Write", "List"],
        "stranger": ["Read:elsewhere"],
    }
    return {
        "identities": [
            {
                "name": name,
                "credentials": [
                    {"accessKey": user.access_key_id, "secretKey": user.secret_access_key},
                ],
                "actions": actions[name],
            }
            for name, user in users.items()
        ]
    }


def _make_key(name: str) -> Credentials:
    return Credentials(f"{name}{secrets.token_hex(8)}", secrets.token_hex(16))


def _can_store(server: Seaweed) -> bool:
    """Try to store an object: the server answers some time before there is anywhere to put bytes."""
    session = open_session(server.setup)
    with closing(session.client("s3", endpoint_url=server.endpoint, config=local_config())) as s3:
        try:
            s3.create_bucket(Bucket="ready")
            s3.put_object(Bucket="ready", Key="ready", Body=b"ready")
            s3.delete_object(Bucket="ready", Key="ready")
            s3.delete_bucket(Bucket="ready")
        except (BotoCoreError, ClientError):
            return False
    return True
