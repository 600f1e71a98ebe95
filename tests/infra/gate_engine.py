"""Runs `gate.js` in an embedded engine, with a fake of the module that CloudFront supplies."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from py_mini_racer import JSPromise, MiniRacer

SOURCE = Path(__file__).parents[2].joinpath("infra", "gate.js").read_text(encoding="utf-8")
IMPORT = "import cf from 'cloudfront';"

# As the real module does, `get` rejects when the key is missing, with an error like any other.
_FAKE = """
let world = { entries: {}, broken: [] };
let reads = [];
const cf = { kvs: () => ({ get: async (key) => {
  reads.push(key);
  const known = Object.prototype.hasOwnProperty.call(world.entries, key);
  if (!known || world.broken.some((prefix) => key.startsWith(prefix))) {
    throw new Error('KeyNotFound');
  }
  return world.entries[key];
} }) };
"""

_ASK = """
async function ask(text) {
  const order = JSON.parse(text);
  const answers = [];
  world = order.world;
  for (const uri of order.uris) {
    reads = [];
    const request = { method: order.method, uri, querystring: order.querystring, headers: {}, cookies: {} };
    const result = await handler({ version: '1.0', context: {}, viewer: {}, request });
    answers.push({ ...result, same: result === request, reads });
  }
  return JSON.stringify(answers);
}
"""


@dataclass(frozen=True)
class Store:
    """What an edge's replica holds; reads of keys that begin with one of `broken` fail."""

    entries: Mapping[str, object] = field(default_factory=dict[str, object])
    broken: Sequence[str] = ()


@dataclass(frozen=True)
class Answer:
    """What the gate did: the path that is asked of the bucket, or a response of its own."""

    uri: str
    status: int
    headers: Mapping[str, Any]
    reads: tuple[str, ...]


class Gate:
    """The deployed function, loaded once."""

    def __init__(self, engine: MiniRacer) -> None:
        assert SOURCE.count(IMPORT) == 1
        self._engine = engine
        engine.eval(_FAKE + SOURCE.replace(IMPORT, "") + _ASK)

    def ask(self, uri: str, store: Store | None = None, **request: str) -> Answer:
        """Send one request."""
        return self.ask_all([uri], store, **request)[0]

    def ask_all(self, uris: Sequence[str], store: Store | None = None, **request: str) -> list[Answer]:
        """Send one request after the other to an edge with this store."""
        store = store or Store()
        world = {"entries": dict(store.entries), "broken": list(store.broken)}
        order = {"method": "GET", "querystring": {}, **request, "uris": uris, "world": world}
        promise = self._engine.eval(f"ask({json.dumps(json.dumps(order))})")
        assert isinstance(promise, JSPromise)
        answers = json.loads(cast("str", promise.get(timeout=30)))
        return [self._read(each) for each in answers]

    @staticmethod
    def _read(answer: dict[str, Any]) -> Answer:
        if answer["same"]:
            return Answer(answer["uri"], 0, {}, tuple(answer["reads"]))
        return Answer("", answer["statusCode"], answer["headers"], tuple(answer["reads"]))
