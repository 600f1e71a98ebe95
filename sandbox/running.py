"""Runs everything at once: the emulated AWS with a site on it, and the CDN's edges in front."""

import math
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sandbox.edge import Edges, EdgeSettings, Origin, run_edges
from sandbox.outer_cache import OuterCache, run_outer_cache
from sandbox.site import Site, Timing, point_at_edge, put_cache_in_front, run_site


@dataclass(frozen=True, slots=True)
class Sandbox:
    """All that runs; each of the edges serves the whole site. `outer` is a cache in front of the first."""

    site: Site
    edges: Edges
    timing: Timing
    outer: OuterCache | None = None

    @property
    def urls(self) -> tuple[str, ...]:
        """The address of each edge, with a slash at the end."""
        return self.edges.urls


@contextmanager
def run_sandbox(
    folder: Path,
    profile: Path,
    *,
    edges: int = 2,
    settings: EdgeSettings | None = None,
    timing: Timing | None = None,
    outer_cache: bool = False,
) -> Generator[Sandbox]:
    """Run a site for `profile` and so many `edges` until the block ends; `folder` keeps its files.

    Unless `timing` says otherwise, the site expects its edges to be as late as `settings` make them. With
    `outer_cache`, users download from a cache in front of the first edge, which forgets what it is told to.

    Raises:
        ServerError, DeployError: Something did not start; then nothing is left running.
    """
    settings = settings or EdgeSettings()
    timing = timing or Timing(lag=math.ceil(settings.lag_seconds) + 1)
    with ExitStack() as stack:
        site = stack.enter_context(run_site(folder, profile, timing))
        # In the clear: what an edge signs is the CDN's own plumbing, and no bucket's policy looks at it.
        origin = Origin(site.server.endpoint, site.distribution_id, site.kvs_arn, site.edge)
        # Their folders must be new, and `folder` may be one that was used before.
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="edges-")))
        running = stack.enter_context(run_edges(origin, settings, logs, edges))
        point_at_edge(site, running.urls[0])
        outer = None
        if outer_cache:
            outer = stack.enter_context(run_outer_cache(running.urls[0]))
            put_cache_in_front(site, outer.url)
        yield Sandbox(site, running, timing, outer)
