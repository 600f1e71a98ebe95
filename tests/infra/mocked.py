"""The child process of `program`: scenarios on stdin, the Pulumi program under mocks, answers on stdout."""

import asyncio
import json
import runpy
import sys
from collections.abc import Mapping
from typing import Any, cast

import pulumi
from program import ACCOUNT, PROJECT, ROOT, UNKNOWN, Values
from pulumi.runtime import mocks, rpc, settings
from pulumi.runtime.stack import run_pulumi_func


class FakeCloud(pulumi.runtime.Mocks):
    """Answers what AWS would have made up, or in a preview nothing; an invoke that is not expected fails."""

    def __init__(self, *, preview: bool) -> None:
        self._preview = preview

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str | None, Values]:
        inputs = cast("Values", args.inputs)
        if self._preview:
            return "", dict(inputs)
        outputs = make_outputs(args.typ, inputs)
        # A policy knows a distribution by its ARN, the publisher by its id: the one ends with the other.
        is_distribution = args.typ.endswith("distribution:Distribution")
        made = outputs["arn"].rsplit("/", 1)[-1] if is_distribution else f"{args.name}-id"
        return made, {**inputs, **outputs}

    def call(self, args: pulumi.runtime.MockCallArgs) -> tuple[Values, list[tuple[str, str]] | None]:
        raise AssertionError(f"unexpected invoke {args.token}")


class Monitor(mocks.MockMonitor):
    """Also keeps what `Mocks` is not told: parents, protection, explicit dependencies, what is unknown."""

    def __init__(self, cloud: FakeCloud) -> None:
        super().__init__(cloud)
        self.seen: list[Values] = []

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802
        answer: Any = super().RegisterResource(request)
        if request.type != "pulumi:pulumi:Stack":
            self.seen.append(
                {
                    "type": request.type,
                    "name": request.name,
                    "inputs": _plain(rpc.deserialize_properties(request.object, keep_unknowns=True)),
                    "parent": request.parent.rsplit("::", 1)[-1],
                    "protect": request.protect,
                    "depends_on": [urn.rsplit("::", 1)[-1] for urn in request.dependencies],
                }
            )
        return answer


def make_outputs(kind: str, inputs: Mapping[str, Any]) -> Values:
    """Make up what AWS answers beside the inputs."""
    short = kind.split(":")[1]
    name = inputs.get("name") or inputs.get("bucket")
    issuer = str(inputs.get("url")).removeprefix("https://")
    arns = {
        "cloudfront/distribution": f"arn:aws:cloudfront::{ACCOUNT}:distribution/E1",
        "cloudfront/function": f"arn:aws:cloudfront::{ACCOUNT}:function/{name}",
        "cloudfront/keyValueStore": f"arn:aws:cloudfront::{ACCOUNT}:key-value-store/0f5c",
        "iam/openIdConnectProvider": f"arn:aws:iam::{ACCOUNT}:oidc-provider/{issuer}",
        "iam/role": f"arn:aws:iam::{ACCOUNT}:role/{name}",
        "s3/bucket": f"arn:aws:s3:::{name}",
        "sns/topic": f"arn:aws:sns:eu-west-1:{ACCOUNT}:{name}",
    }
    more: dict[str, Values] = {
        "cloudfront/distribution": {"domainName": "d111.cloudfront.net"},
        "s3/bucket": {"bucketRegionalDomainName": f"{name}.s3.eu-west-1.amazonaws.com"},
    }
    return {**({"arn": arns[short]} if short in arns else {}), **more.get(short, {})}


def run_once(config: dict[str, str], *, preview: bool) -> Values:
    """Run the program and answer what it registered and exported, or its error."""
    asyncio.set_event_loop(asyncio.new_event_loop())
    cloud = FakeCloud(preview=preview)
    monitor = Monitor(cloud)
    settings.ROOT.set(None)
    mocks.set_mocks(cloud, project=PROJECT, stack="example", preview=preview, monitor=monitor)
    pulumi.runtime.set_all_config(config)
    answer: Values = {"resources": monitor.seen, "outputs": {}, "error": ""}

    def program() -> None:
        # The folder, as the language host does it: the folder is then first on the path.
        runpy.run_path(str(ROOT / "infra"), run_name="__main__")

    try:
        loop = asyncio.get_event_loop()
        loop.run_until_complete(run_pulumi_func(program))
        exports = cast("Values", cast("Any", settings.get_root_resource()).outputs)
        answer["outputs"] = loop.run_until_complete(_settle(exports))
    except Exception as error:  # noqa: BLE001 - the parent asserts on it
        answer["error"] = f"{type(error).__name__}: {error}"
    return answer


async def _settle(exports: Values) -> Values:
    outputs = {name: cast("Any", pulumi.Output.from_input(value)) for name, value in exports.items()}
    return {
        name: await output.future() if await output.is_known() else UNKNOWN
        for name, output in outputs.items()
    }


def _plain(value: object) -> object:
    # The wire has no other numbers than floats.
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list):
        return [_plain(each) for each in cast("list[object]", value)]
    return UNKNOWN if isinstance(value, pulumi.output.Unknown) else value


if __name__ == "__main__":
    orders = json.load(sys.stdin)
    json.dump(
        {name: run_once(order["config"], preview=order["preview"]) for name, order in orders.items()},
        sys.stdout,
    )
