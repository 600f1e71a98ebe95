"""Deploys the unmodified Pulumi program onto an emulated AWS; what is not as on AWS is in DEVIATIONS."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sandbox.ministack import REGION, Ministack

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "infra"

DEVIATIONS: Mapping[str, str] = {
    "The release manager and the auditor may use any KeyValueStore": (
        "ministack judges the store's calls against the resource `*`, so a policy that names one store "
        "allows nothing. Each role keeps the program's policy; a second one repeats for `*` what that says "
        "about the store."
    ),
    "The distribution is made without its function": (
        "ministack's viewer endpoint cannot run a function that reads a KeyValueStore, and answers 503. The "
        "function is deployed and published; the sandbox's edge runs it in front of the endpoint."
    ),
    "The users whom the roles trust have a policy": (
        "On AWS a trust that names a user of the same account is enough. ministack asks for the user's own "
        "permission as well; so each may ask for any role, and the roles' trust decides."
    ),
    "The conditions of create-only writes have no effect": (
        "ministack knows none of the condition keys of `enforceCreateOnly`. The statement is deployed and "
        "denies nothing; a stack of one's own on AWS is the place to try it."
    ),
    "No e-mail is sent": (
        "ministack keeps the subscription of an address, asks nobody to confirm it and sends nothing. What a "
        "topic tells is seen in a queue instead."
    ),
    "Filters of events may overlap": (
        "ministack takes what S3 refuses. That the program's do not overlap is proved by S3's written rule."
    ),
    "Nothing expires": "ministack keeps the lifecycle rules, and never runs them.",
    "The site's URL is an edge's": (
        "`publisherToml` names the distribution's host, which resolves nowhere. The sandbox writes the first "
        "edge's URL in its place."
    ),
    "Tokens of an OIDC issuer are believed": (
        "ministack does not verify their signatures. Nobody in the sandbox comes by such a token: every role "
        "trusts an IAM user."
    ),
}
"""All that is not as the program says or as AWS would do it, each with the reason."""

_SECONDS = 60


class DeployError(Exception):
    """The program was not deployed; what was made is of no use, and the emulator is to be thrown away."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource that was made: what the program asked for, and its name at AWS."""

    type: str
    name: str
    id: str
    inputs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Deployment:
    """What the program exported, and what was made for it."""

    outputs: Mapping[str, Any]
    resources: tuple[Resource, ...]


def deploy(server: Ministack, values: Mapping[str, object], *, program: Path = PROGRAM) -> Deployment:
    """Deploy `program` with a stack's `values` onto a server on which it was not deployed before.

    Args:
        server: Where to.
        values: The stack's configuration, by name without the project; defaults are those of Pulumi.yaml.
        program: The program's folder.

    Raises:
        DeployError: The program failed, or wants something that is not provided for.
    """
    project = yaml.safe_load((ROOT / "Pulumi.yaml").read_text("utf-8"))
    order = {
        "program": str(program),
        "project": project["name"],
        "config": _write_config(project, values),
        "endpoint": server.endpoint,
        "key": server.root.access_key_id,
        "secret": server.root.secret_access_key,
    }
    try:
        child = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "sandbox.cloud"],
            cwd=ROOT,
            env={"PATH": os.defpath, "NO_PROXY": "127.0.0.1", "AWS_EC2_METADATA_DISABLED": "true"},
            input=json.dumps(order),
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise DeployError(f"the program did not end within {_SECONDS} seconds") from error
    if child.returncode:
        raise DeployError(f"the program was not deployed: {child.stderr.strip()}")
    answer = json.loads(child.stdout)
    return Deployment(answer["outputs"], tuple(Resource(**made) for made in answer["made"]))


def _write_config(project: Mapping[str, Any], values: Mapping[str, object]) -> dict[str, str]:
    """Write a stack's values with the defaults, as Pulumi's engine hands them over: all of them text."""
    defaults = {name: entry["default"] for name, entry in project["config"].items() if "default" in entry}
    stack = {f"{project['name']}:{name}": value for name, value in {**defaults, **values}.items()}
    written = {name: value if isinstance(value, str) else json.dumps(value) for name, value in stack.items()}
    return {"aws:region": REGION, **written}
