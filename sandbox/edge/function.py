"""The deployed function in an embedded engine, with the module that CloudFront supplies; knows no HTTP."""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from py_mini_racer import JSEvalException, MiniRacer

from sandbox.edge.values import StoreMode

_IMPORT = re.compile(r"^import\s+(\w+)\s+from\s+(['\"])cloudfront\2;?$", re.MULTILINE)

# As the real module does, `get` rejects when the key is missing, with an error like any other.
_MODULE = """
const edgeEntries = new Map();
let edgeMode = 'normal';
let edgeAnswer;
function edgeFind(key) {
  if (edgeMode === 'failing') {
    throw new Error('InternalError');
  }
  return edgeMode === 'empty' ? undefined : edgeEntries.get(key);
}
const edgeModule = { kvs: () => ({
  get: async (key, options) => {
    const value = edgeFind(key);
    if (value === undefined) {
      throw new Error('KeyNotFound');
    }
    return options && options.format === 'json' ? JSON.parse(value) : value;
  },
  exists: async (key) => edgeFind(key) !== undefined,
}) };
function edgeChange(changes) {
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) {
      edgeEntries.delete(key);
    } else {
      edgeEntries.set(key, value);
    }
  }
}
function edgeAsk(event) {
  edgeAnswer = undefined;
  Promise.resolve(event).then(handler).then((result) => { edgeAnswer = JSON.stringify(result); }, () => {});
}
"""


class FunctionError(Exception):
    """The function threw, did not finish, or returned neither a request nor a response."""


class Function:
    """A viewer-request function with a replica of the store beside it.

    Make it and call it on one event loop: the engine then answers without going through other threads.
    Nothing in its world takes time, so all its promises are settled when the engine comes back.
    """

    def __init__(self, code: str) -> None:
        self._engine = MiniRacer()
        self._engine.eval(_MODULE)
        self._engine.eval(_IMPORT.sub(r"const \1 = edgeModule;", code))

    def change(self, changes: Mapping[str, str | None]) -> None:
        """Set entries of the replica, or (None) remove them."""
        self._engine.eval(f"edgeChange({_spell(changes)})")

    def set_mode(self, mode: StoreMode) -> None:
        """Let reads fail or find nothing, or not."""
        self._engine.eval(f"edgeMode = {_spell(mode.value)}")

    def run(self, event: Mapping[str, object]) -> dict[str, Any]:
        """Give the request or response that the function returns for `event`.

        Raises:
            FunctionError: It returned neither.
        """
        try:
            self._engine.eval(f"edgeAsk({_spell(event)})")
            answer = self._engine.eval("edgeAnswer")
        except JSEvalException as error:
            raise FunctionError(str(error)) from error
        result = json.loads(answer) if isinstance(answer, str) else None
        if not isinstance(result, dict):
            raise FunctionError("the function returned neither a request nor a response")
        return cast("dict[str, Any]", result)


def _spell(value: object) -> str:
    # A literal of its own would treat some names, such as __proto__, specially.
    return f"JSON.parse({json.dumps(json.dumps(value))})"
