"""Runs the unmodified Pulumi program under mocks, in a process of its own, and reads back what it registered.

A child process, because Pulumi's runtime leaves event loops and settings behind for other tests to find.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml

ROOT = Path(__file__).parents[2]
PROJECT = "publish-gate"
ACCOUNT = "123456789012"
UNKNOWN = "<not known before the update>"

Values = dict[str, Any]


@dataclass(frozen=True)
class Registered:
    """One resource as the engine would see it; an input that a preview cannot know is `UNKNOWN`."""

    type: str
    name: str
    inputs: Values
    parent: str
    protect: bool
    depends_on: list[str]


@dataclass(frozen=True)
class Run:
    """One run of the program."""

    resources: list[Registered]
    outputs: Values
    error: str

    def all(self, kind: str) -> list[Registered]:
        """Find resources by the end of their type, such as `s3/bucket:Bucket`."""
        return [each for each in self.resources if each.type.endswith(kind)]

    def one(self, kind: str, name: str | None = None) -> Registered:
        """Find the only resource of a type, or the one of that name."""
        [found] = [each for each in self.all(kind) if name in {None, each.name}]
        return found

    def document(self, kind: str, name: str, key: str = "policy") -> Values:
        """Read a policy that a resource was given."""
        return cast("Values", json.loads(self.one(kind, name).inputs[key]))


def load_defaults() -> Values:
    """Read the defaults that `Pulumi.yaml` declares; the engine merges them into every stack's values."""
    return {key: entry["default"] for key, entry in load_schema().items() if "default" in entry}


def load_schema() -> dict[str, Values]:
    """Read what `Pulumi.yaml` says about each value."""
    return yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["config"]


def load_example() -> Values:
    """Read the values of the commented stack, by name without the project."""
    values = yaml.safe_load((ROOT / "Pulumi.example.yaml").read_text())["config"]
    return {key.removeprefix(f"{PROJECT}:"): value for key, value in values.items()}


def make_config(changes: Mapping[str, Any]) -> dict[str, str]:
    """Write the example's values, with `changes`, as the engine hands them over: all of them text."""
    values = {**load_defaults(), **load_example(), **changes}
    return {
        key if ":" in key else f"{PROJECT}:{key}": value if isinstance(value, str) else json.dumps(value)
        for key, value in values.items()
        if value is not None
    }


def run_program(scenarios: Mapping[str, Values]) -> dict[str, Run]:
    """Run the program once for each scenario: changes to the example's values, and `preview`."""
    orders = {
        name: {
            "config": make_config({key: value for key, value in scenario.items() if key != "preview"}),
            "preview": scenario.get("preview", False),
        }
        for name, scenario in scenarios.items()
    }
    child = subprocess.run(
        [sys.executable, "-W", "ignore", str(Path(__file__).with_name("mocked.py"))],
        input=json.dumps(orders),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert child.returncode == 0, child.stderr
    answers = json.loads(child.stdout)
    return {
        name: Run([Registered(**each) for each in answer["resources"]], answer["outputs"], answer["error"])
        for name, answer in answers.items()
    }
