"""Lets these tests import the Pulumi program's modules, and the helpers of its own tests."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

sys.path[:0] = [str(ROOT / "infra"), str(ROOT / "tests" / "infra")]
