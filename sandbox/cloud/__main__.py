"""Runs a Pulumi program and makes what it registers; an order on stdin, the answer on stdout, both JSON."""

import asyncio
import json
import runpy
import sys
import threading
from collections.abc import Mapping
from contextlib import closing, redirect_stdout
from typing import Any, cast

import pulumi
from pulumi.runtime import mocks, settings
from pulumi.runtime.stack import run_pulumi_func

from sandbox.cloud import access, buckets, cdn
from sandbox.cloud.spelling import Clients, Create, Values, plain
from sandbox.ministack import Credentials, local_config, open_session

CREATE: Mapping[str, Create] = {**buckets.CREATE, **access.CREATE, **cdn.CREATE}
STACK = "sandbox"


class CannotMakeError(Exception):
    """The program asks for what is not provided for here."""


class Cloud(pulumi.runtime.Mocks):
    """Makes each resource as it is registered. After a failure nothing more is made.

    Pulumi registers from several threads, and a failure of one does not stop the others. So the first one is
    kept in `failure`: what was made is then of no use, and is to be thrown away.
    """

    def __init__(self, clients: Clients) -> None:
        self.made: list[Values] = []
        self.failure = ""
        self._clients = clients
        self._lock = threading.Lock()

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str | None, Values]:
        """Make a resource; a component is only a name for several."""
        inputs: Values = plain(cast("object", args.inputs))
        if not args.custom:
            return "", inputs
        try:
            identifier, outputs = self._make(args, dict(inputs))
        except Exception as error:
            with self._lock:
                self.failure = self.failure or f"{args.typ} {args.name}: {type(error).__name__}: {error}"
            raise
        with self._lock:
            self.made.append({"type": args.typ, "name": args.name, "id": identifier, "inputs": inputs})
        return identifier, {**inputs, **outputs}

    def call(self, args: pulumi.runtime.MockCallArgs) -> tuple[Values, list[tuple[str, str]] | None]:
        """Refuse: the program asks the provider nothing, and an answer would have to be made up."""
        self.failure = self.failure or f"found a call of {args.token}, expected none"
        raise CannotMakeError(self.failure)

    def _make(self, args: pulumi.runtime.MockResourceArgs, given: Values) -> tuple[str, Values]:
        if self.failure:
            raise CannotMakeError("another resource has failed")
        if args.resource_id:
            raise CannotMakeError("found one that is to be imported, but there is nothing yet")
        if args.typ not in CREATE:
            raise CannotMakeError(
                f"found a type that nothing here makes, expected one of {', '.join(CREATE)}"
            )
        answer = CREATE[args.typ](self._clients, given)
        if given:
            raise CannotMakeError(f"found inputs that nothing here reads: {', '.join(sorted(given))}")
        return answer


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
    ):
        cloud = Cloud(Clients(s3, iam, cloudfront))
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
