"""A cache in front of an edge, as python.org has one before its files: it forgets only what it is told to."""

from sandbox.outer_cache.cache import HIT_SECONDS, MISS_SECONDS
from sandbox.outer_cache.server import Counts, Fault, OuterCache, run_outer_cache

__all__ = ["HIT_SECONDS", "MISS_SECONDS", "Counts", "Fault", "OuterCache", "run_outer_cache"]
