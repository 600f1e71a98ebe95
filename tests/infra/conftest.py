"""Lets the tests import the program's modules as the program itself does, and their own helpers."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

# Pulumi puts the program's folder first on the path; so do we, for the same bare names to mean the same.
sys.path[:0] = [str(ROOT / "infra"), str(Path(__file__).parent)]
