"""The other end of an edge's control port."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field

from sandbox.edge.values import COMMAND, STATUS, Command, EdgeStatus, StoreMode, Tuning
from sandbox.ministack import LOOPBACK

_TIMEOUT_SECONDS = 10


class Line:
    """A connection to one edge's control port; one command at a time."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection((LOOPBACK, port), timeout=_TIMEOUT_SECONDS)
        self._file = self._socket.makefile("rb")

    def send(self, command: Command) -> EdgeStatus:
        """Have a command obeyed.

        Raises:
            OSError: The edge is gone, or does not take orders from here.
        """
        self._socket.sendall(COMMAND.dump_json(command) + b"\n")
        line = self._file.readline()
        if not line:
            raise ConnectionError("the edge ended the connection")
        return STATUS.validate_json(line)

    def close(self) -> None:
        """End the connection."""
        self._file.close()
        self._socket.close()


@dataclass(frozen=True, slots=True)
class Edge:
    """One running edge. `pid` is the group that its process runs in; `url` ends with a slash.

    Every method is one short conversation with the process and may be called from any thread.
    """

    url: str
    pid: int
    control_port: int
    _token: str = field(repr=False)

    def tune(
        self,
        *,
        lag_seconds: float | None = None,
        lags: Mapping[str, float] | None = None,
        disorder: bool | None = None,
        mode: StoreMode | None = None,
        invalidation_delay_seconds: float | None = None,
    ) -> EdgeStatus:
        """Change how the store's changes and invalidations reach this edge from now on; see `Tuning`."""
        tuning = Tuning(lag_seconds, lags, disorder, mode, invalidation_delay_seconds)
        return self._send(Command(self._token, tuning))

    def status(self) -> EdgeStatus:
        """Tell what the replica holds, what is cached and what has been done."""
        return self._send(Command(self._token))

    def forget(self) -> EdgeStatus:
        """Empty the cache, as if nobody had ever asked this edge."""
        return self._send(Command(self._token, forget=True))

    def _send(self, command: Command) -> EdgeStatus:
        line = Line(self.control_port)
        try:
            return line.send(command)
        finally:
            line.close()
