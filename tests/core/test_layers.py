"""Which module may import which: ARCHITECTURE's table, held by walking the imports of every module."""

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = "publisher"
ROOT = Path(__file__).parents[2] / PACKAGE
# Besides the standard library and the module's own layer. Adapters do not import each other, but for what all
# clients of AWS share; and HTTP is for the one that looks at the public site.
SHARED = (f"{PACKAGE}.adapters.aws", f"{PACKAGE}.adapters.http")
_HTTP = frozenset({"requests", "urllib3"})
OWN: Mapping[str, frozenset[str]] = {
    "adapters.http": _HTTP,
    "adapters.web": _HTTP,
    "adapters.release_db": _HTTP,
    "adapters.discourse": _HTTP,
    "adapters.webhook": _HTTP,
    "adapters.outer_cache": _HTTP,
    "adapters.sigstore": frozenset({"sigstore", "sigstore_models", "cryptography", "requests"}),
    "adapters.openpgp": frozenset({"pysequoia"}),
}
ALLOWED: Mapping[str, frozenset[str]] = {
    "core": frozenset(),
    "errors": frozenset(),
    "ports": frozenset({"core"}),
    "adapters": frozenset(
        {
            "boto3",
            "botocore",
            "mypy_boto3_cloudfront",
            "mypy_boto3_cloudfront_keyvaluestore",
            "mypy_boto3_s3",
            "core",
            "errors",
            "ports",
        }
    ),
    "documents": frozenset({"pydantic", "pydantic_core", "core", "errors"}),
    "config": frozenset({"pydantic", "core", "errors", "documents"}),
    "workflow": frozenset({"core", "ports", "documents", "errors"}),
    "outcomes": frozenset({"core", "errors"}),
    "commands": frozenset({"core", "ports", "outcomes", "errors", "workflow"}),
    "answers": frozenset({"core", "errors", "outcomes"}),
    "wording": frozenset({"core"}),
    "progress": frozenset({"rich", "wording"}),
    "output": frozenset({"rich", "core", "errors", "outcomes", "answers", "progress", "wording"}),
    "completion": frozenset({"click", "config", "documents", "core", "errors"}),
    "cli": frozenset(
        {
            "click",
            PACKAGE,
            "core",
            "ports",
            "documents",
            "config",
            "workflow",
            "outcomes",
            "commands",
            "answers",
            "output",
            "completion",
            "settings",
            "errors",
        }
    ),
    "settings": frozenset({PACKAGE, "core", "errors", "ports", "documents", "config", "workflow", "output"}),
    "__init__": frozenset(),
    "__main__": frozenset({"cli"}),
}


@dataclass(frozen=True)
class Import:
    """One imported module: `late` if the import stands inside a function."""

    name: str
    line: int
    late: bool


def find_imports(tree: ast.AST, module: str, *, late: bool = False) -> Iterator[Import]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno, late) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: -node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (Import(f"{base}.{alias.name}", node.lineno, late) for alias in node.names)
        inside = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from find_imports(node, module, late=inside)


def find_breaches(source: str, module: str) -> list[str]:
    """Say what `module` (a dotted name inside the package) does that its layer may not do."""
    layer = module.split(".")[0]
    tree = ast.parse(source)
    if layer not in ALLOWED:
        return [f"{module} has no place in the table of layers"]
    found = [
        f"{module}:{used.line} imports {used.name}"
        for used in find_imports(tree, f"{PACKAGE}.{module}")
        if not _is_allowed(used, layer, module)
    ]
    if layer != "output":
        found += [f"{module}:{line} prints" for line in _find_prints(tree)]
    return found


def _is_allowed(used: Import, layer: str, module: str) -> bool:
    top, *rest = used.name.split(".")
    # An adapter may be a package; its modules are one.
    unit = ".".join(module.split(".")[:2])
    if top != PACKAGE:
        return top in sys.stdlib_module_names or top in ALLOWED[layer] | OWN.get(unit, frozenset())
    target = rest[0] if rest and rest[0] in ALLOWED else PACKAGE
    if target == "adapters":
        within = (f"{PACKAGE}.{unit}.", *(f"{shared}." for shared in SHARED))
        return used.late if layer == "settings" else layer == "adapters" and used.name.startswith(within)
    return target in ALLOWED[layer] or target == layer


def _find_prints(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield node.lineno


def test_every_module_imports_only_what_its_layer_may() -> None:
    breaches: list[str] = []
    paths = sorted(ROOT.rglob("*.py"))
    for path in paths:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        breaches += find_breaches(path.read_text(encoding="utf-8"), module)

    assert len(paths) > 20
    assert breaches == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("core.keys", "import boto3"),
        ("core.keys", "import boto3.session as json"),
        ("core.keys", "from pydantic import BaseModel"),
        ("core.keys", "from publisher.errors import Exit"),
        ("core.keys", "from publisher import errors"),
        ("core.keys", "from .. import errors"),
        ("core.keys", "from ..workflow.gather import gather"),
        ("core.keys", "def f():\n    from publisher.adapters.s3 import S3Public"),
        ("core.keys", "if TYPE_CHECKING:\n    import rich"),
        ("core.keys", "try:\n    import rich\nexcept ImportError:\n    pass"),
        ("ports", "from publisher.errors import Exit"),
        ("ports", "import pydantic"),
        ("errors", "from publisher.core.keys import find_problem"),
        ("adapters.s3", "from publisher.adapters.sts import StsCaller"),
        ("adapters.s3", "from .sts import StsCaller"),
        ("adapters.s3", "from . import sts"),
        ("adapters.sigstore.login", "from publisher.adapters.sts import StsCaller"),
        ("adapters.sigstore.login", "import boto3.session as s\nimport pysequoia"),
        ("adapters.aws", "from publisher.adapters.s3 import S3Public"),
        ("adapters.s3", "from publisher.adapters.awscli import run"),
        ("adapters.s3", "import requests"),
        ("adapters.kvs", "from urllib3.util import Retry"),
        ("workflow.edge", "import requests"),
        ("commands.gate", "from publisher.adapters.aws import translate_error"),
        ("adapters.s3", "from publisher.commands import promote"),
        ("adapters.s3", "from publisher.workflow.world import World"),
        ("adapters.s3", "from publisher import cli, output"),
        ("adapters.s3", "import click"),
        ("commands.promote", "def run():\n    from publisher.adapters.s3 import S3Public"),
        ("commands.promote", "from publisher.output import Output"),
        ("commands.promote", "from publisher.documents.state import decode"),
        ("commands.promote", "import click"),
        ("workflow.steps", "from publisher.outcomes import Refused"),
        ("workflow.steps", "from publisher.commands import promote"),
        ("workflow.steps", "import botocore.exceptions"),
        ("documents.state", "from publisher.config import load_config"),
        ("documents.state", "from publisher.ports import Bucket"),
        ("config", "from publisher.workflow.world import World"),
        ("outcomes", "from publisher.answers import make_answer"),
        ("outcomes", "import rich"),
        ("answers", "from publisher.output import Output"),
        ("answers", "from rich.text import Text"),
        ("output", "from publisher.commands import promote"),
        ("output", "import click"),
        ("cli", "def wire():\n    from publisher.adapters.s3 import S3Public"),
        ("settings", "from publisher.adapters.s3 import S3Public"),
        ("settings", "import publisher.adapters.s3"),
        ("settings", "from publisher import adapters"),
        ("cli", "import boto3"),
        ("core.keys", "print('x')"),
        ("cli", "def run():\n    print('x')"),
        ("helpers", "import json"),
    ],
)
def test_a_planted_breach_is_found(module: str, source: str) -> None:
    assert find_breaches(source, module) != []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("core.keys", "import json, os.path\nfrom . import digests\nfrom publisher.core.plan import Plan"),
        ("ports", "from publisher.core.plan import Version"),
        (
            "adapters.s3",
            "import boto3\nfrom botocore.config import Config\nfrom publisher.ports import ReadObject",
        ),
        ("adapters.kvs", "from publisher.adapters.aws import make_config, translate_error"),
        ("adapters.web", "import requests\nfrom urllib3.util import Retry"),
        (
            "adapters.sigstore.login",
            "import sigstore.oidc\nfrom publisher.adapters.sigstore.trust import Trust",
        ),
        (
            "commands.promote",
            "from publisher.commands.open import run_open\nfrom publisher.workflow import gather",
        ),
        ("workflow.steps", "from publisher.documents.state import decode"),
        ("config", "import tomllib\nfrom publisher.documents.problems import explain"),
        ("output", "from rich.text import Text\nprint('x')"),
        (
            "settings",
            "from publisher import __version__\ndef wire():\n    from publisher.adapters.s3 import S3Public",
        ),
        ("cli", "import click\ndef f():\n    console.print('x')"),
    ],
)
def test_what_the_table_allows_is_no_breach(module: str, source: str) -> None:
    assert find_breaches(source, module) == []
