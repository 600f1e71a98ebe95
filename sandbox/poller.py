"""A bot that polls URLs of one edge, in a process of its own, and notes every answer.

`python -m sandbox.poller HOST PORT PATHS OUT IDLE`: PATHS holds a JSON list of request paths, which are sent
as they stand; OUT gets one JSON list for each sweep, of `[path, status, start, end, etag]`. Times are of the
machine's monotonic clock, which all processes share. While there is a file IDLE, it rests after each sweep.
It ends when its standard input does.
"""

import http.client
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import TextIO

REST_SECONDS = 3.0
"""How long it rests while nothing is about to happen, so that those who work have the machine."""

Note = tuple[str, int, float, float, str]


def main() -> None:
    """Poll until standard input ends."""
    host, port, paths, out, idle = sys.argv[1:6]
    stopped = threading.Event()
    threading.Thread(target=_wait_for_end, args=(stopped,), daemon=True).start()
    with Path(out).open("w", encoding="utf-8") as file:
        poll(host, int(port), json.loads(Path(paths).read_text("utf-8")), file, stopped, Path(idle))


def poll(host: str, port: int, paths: list[str], file: TextIO, stopped: threading.Event, idle: Path) -> None:
    """Ask for every path again and again, over one connection; a sweep that has begun is finished."""
    connection = http.client.HTTPConnection(host, port, timeout=30)
    # Bots must not take the machine from those who work.
    os.nice(19)
    print("polling", flush=True)
    while not stopped.is_set():
        json.dump([_ask(connection, path) for path in paths], file)
        file.write("\n")
        file.flush()
        if idle.exists():
            stopped.wait(REST_SECONDS)
    connection.close()


def _ask(connection: http.client.HTTPConnection, path: str) -> Note:
    start = time.monotonic()
    connection.putrequest("GET", path, skip_accept_encoding=True)
    connection.endheaders()
    answer = connection.getresponse()
    answer.read()
    return path, answer.status, start, time.monotonic(), answer.getheader("ETag") or ""


def _wait_for_end(stopped: threading.Event) -> None:
    sys.stdin.read()
    stopped.set()


if __name__ == "__main__":
    main()
