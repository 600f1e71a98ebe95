"""Runs the publisher and notes when it sends each change of the gate: `python -m sandbox.witness OUT …`.

What stands after OUT is the publisher's own command line. OUT gets one JSON list for each update of the
gate's store: when it was sent, when it was answered (monotonic clock), and the entries put and deleted.
"""

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from publisher.cli import main as run_publisher
from publisher.core.gate import Change
from publisher.ports import Gate
from publisher.settings import Settings, connect
from publisher.workflow.world import World


class WitnessedGate:
    """A gate whose updates are noted."""

    def __init__(self, gate: Gate, out: Path) -> None:
        self._gate = gate
        self._out = out

    def read_etag(self) -> str:
        """Read the store's present ETag."""
        return self._gate.read_etag()

    def read_entries(self) -> Mapping[str, str]:
        """Read every entry."""
        return self._gate.read_entries()

    def update(self, change: Change, etag: str) -> str:
        """Make a change, and note it."""
        sent = time.monotonic()
        answer = self._gate.update(change, etag)
        note = [sent, time.monotonic(), dict(change.puts), sorted(change.deletes)]
        with self._out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(note) + "\n")
        return answer


def read_live(out: Path) -> list[tuple[float, float]]:
    """Give when each promotion was sent live, and when that was answered."""
    notes = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    return [
        (sent, answered) for sent, answered, puts, _ in notes if any(key.startswith("s:") for key in puts)
    ]


def main() -> None:
    """Run the publisher under observation."""
    out = Path(sys.argv[1])

    def watch(settings: Settings) -> World:
        world = connect(settings)
        return replace(world, gate=WitnessedGate(world.gate, out))

    run_publisher(sys.argv[2:], Settings(connect=watch))


if __name__ == "__main__":
    main()
