"""Runs a Pulumi program and makes what it registers; an order on stdin, the answer on stdout, both JSON."""

import asyncio
import json
import runpy
import sys
from contextlib import closing, redirect_stdout
from typing import Any, cast

import pulumi
from pulumi.runtime import mocks, settings
from pulumi.runtime.stack import run_pulumi_func

from sandbox.cloud.maker import Cloud
from sandbox.cloud.spelling import Clients, Values
from sandbox.ministack import Credentials, local_config, open_session

STACK = "sandbox"


def run_program(cloud: Cloud, *, program: str, project: str, config: dict[str, str]) -> Values:
    """Run the program in the folder `program` and give what it exports."""
    asyncio.set_event_loop(asyncio.new_event_loop())
    mocks.set_mocks(cloud, project=project, stack=STACK, preview=False)
    pulumi.runtime.set_all_config(config)

    def run() -> None:
        # The folder, as Pulumi's own command does it: the folder is then first on the path.
        runpy.run_path(program, run_name="__main__")

    loop = asyncio.get_event_loop()
    loop.run_until_complete(run_pulumi_func(run))
    exports = cast("Values", cast("Any", settings.get_root_resource()).outputs)
    return loop.run_until_complete(_settle(exports))


async def _settle(exports: Values) -> Values:
    outputs = {name: cast("Any", pulumi.Output.from_input(value)) for name, value in exports.items()}
    return {name: await output.future() for name, output in outputs.items()}


def main() -> int:
    """Carry out one order and give the exit status; the reason of a failure goes to stderr."""
    order = json.load(sys.stdin)
    session = open_session(Credentials(order["key"], order["secret"]))
    endpoint = order["endpoint"]
    with (
        closing(session.client("s3", endpoint_url=endpoint, config=local_config())) as s3,
        closing(session.client("iam", endpoint_url=endpoint, config=local_config())) as iam,
        closing(session.client("cloudfront", endpoint_url=endpoint, config=local_config())) as cloudfront,
        closing(cast("Any", session).client("sns", endpoint_url=endpoint, config=local_config())) as sns,
    ):
        cloud = Cloud(Clients(s3, iam, cloudfront, sns))
        try:
            with redirect_stdout(sys.stderr):
                outputs = run_program(
                    cloud, program=order["program"], project=order["project"], config=order["config"]
                )
        except Exception as error:  # noqa: BLE001 - whatever a program raises
            print(cloud.failure or f"{type(error).__name__}: {error}", file=sys.stderr)
            return 1
    if cloud.failure:
        print(cloud.failure, file=sys.stderr)
        return 1
    json.dump({"outputs": outputs, "made": cloud.made}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
