"""The emulated CDN on loopback: edges that run the deployed gate and cache like CloudFront.

Each edge is a process with a cache and a replica of the KeyValueStore of its own; one more process carries
the store's changes and the invalidations to them. The origin is the distribution's viewer endpoint of the
emulated AWS, so origin access control and the bucket policy decide what can be read.

What is taken for CloudFront's way, where its documentation leaves room:
  - The function sees the path as it was sent; the root object comes in after it, where its result is "/".
  - The cache's key is the function's path, letter by letter. GET and HEAD share entries, and a HEAD or a
    range that misses fetches the whole.
  - An expired entry is fetched anew, never revalidated; where the origin fails (5xx) it is served once more.
  - An error is kept for the distribution's TTL, whatever its status; so is its page in its place.
  - Viewers that wait for the same miss share its answer, unless it is not to be kept.
  - An invalidation compares paths letter by letter; see `Matching`. What the origin is answering while one
    arrives is not kept.
  - The response-headers policy covers everything, the function's own answers too.
Viewers come without TLS, there is one tier of caches, and the distribution is read once, at the start.
"""

from sandbox.edge.control import Edge
from sandbox.edge.running import Edges, run_edges
from sandbox.edge.values import Counters, EdgeSettings, EdgeStatus, Matching, Origin, StoreMode

__all__ = [
    "Counters",
    "Edge",
    "EdgeSettings",
    "EdgeStatus",
    "Edges",
    "Matching",
    "Origin",
    "StoreMode",
    "run_edges",
]
