"""A headless Chromium, driven through DevTools' pipe: two file descriptors, NUL after each message."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Nothing but this machine can be named.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
)
PATIENCE = 60
"""Seconds without a word after which a browser is taken to hang."""

# Chromium wants its pipe at descriptors 3 and 4, which only a child may arrange without disturbing us.
ARRANGE = (
    "import os, sys; _, theirs, ours, *command = sys.argv; "
    "os.dup2(int(theirs), 3); os.dup2(int(ours), 4); os.execv(command[0], command)"
)


@dataclass
class Tab:
    """One page of a browser; `troubles` holds what its console and its network complained of."""

    browser: "Browser"
    session: str
    troubles: list[str] = field(default_factory=list[str])

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self.browser.send(method, parameters, self.session)

    def resize(self, width: int, height: int, *, mobile: bool) -> None:
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if mobile else 1,
            mobile=mobile,
        )

    def prefer(self, scheme: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", features=features)

    def open(self, url: str) -> None:
        """Go to `url` and wait until all of it is there."""
        answer = self.send("Page.navigate", url=url)
        assert "errorText" not in answer, answer
        self.browser.wait_for("Page.loadEventFired", self.session)

    def click(self, selector: str) -> None:
        """Click on the first element that `selector` finds, and wait for the page it leads to."""
        self.evaluate(f"document.querySelector({json.dumps(selector)}).click()")
        self.browser.wait_for("Page.loadEventFired", self.session)

    def evaluate(self, expression: str) -> Any:
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def photograph(self, path: Path) -> None:
        data = self.send("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))


@dataclass
class Browser:
    """A running Chromium."""

    requests: BinaryIO
    answers: int
    received: bytearray = field(default_factory=bytearray)
    tabs: dict[str, Tab] = field(default_factory=dict[str, Tab])
    events: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    sent: int = 0

    def open_tab(self) -> Tab:
        target = self.send("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.send("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        tab = self.tabs[session] = Tab(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.send(f"{domain}.enable")
        return tab

    def send(
        self, method: str, parameters: Mapping[str, Any] | None = None, session: str | None = None
    ) -> dict[str, Any]:
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": parameters or {}}
        if session is not None:
            message["sessionId"] = session
        self.requests.write(json.dumps(message).encode() + b"\0")
        self.requests.flush()
        while True:
            answer = self._receive()
            if answer.get("id") == self.sent:
                assert "error" not in answer, (method, answer)
                return answer["result"]

    def wait_for(self, event: str, session: str) -> None:
        while (event, session) not in self.events:
            self._receive()
        self.events.remove((event, session))

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self.received:
            readable, _, _ = select.select([self.answers], [], [], PATIENCE)
            data = os.read(self.answers, 1 << 16) if readable else b""
            assert data, "the browser has ended, or hangs"
            self.received += data
        data, _, self.received = self.received.partition(b"\0")
        message: dict[str, Any] = json.loads(data)
        if "method" in message:
            self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        method, session = message["method"], message.get("sessionId", "")
        self.events.append((method, session))
        trouble = _find_trouble(method, message["params"])
        if trouble and session in self.tabs:
            self.tabs[session].troubles.append(trouble)


@contextmanager
def run_browser(folder: Path) -> Generator[Browser]:
    """Run a Chromium with an empty profile in `folder`, and end it."""
    program = shutil.which("chromium")
    if program is None:
        pytest.fail("no chromium on this machine: apt-get install chromium")
    requests_out, requests_in = os.pipe()
    answers_out, answers_in = os.pipe()
    theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (requests_out, answers_in)]
    command = [sys.executable, "-c", ARRANGE, *map(str, theirs), program, *FLAGS, f"--user-data-dir={folder}"]
    with (folder / "stderr").open("wb") as log:
        process = subprocess.Popen([*command, "about:blank"], pass_fds=theirs, stdout=log, stderr=log)
    for end in (requests_out, answers_in, *theirs):
        os.close(end)
    with os.fdopen(requests_in, "wb") as requests, os.fdopen(answers_out, "rb") as answers:
        browser = Browser(requests, answers.fileno())
        try:
            yield browser
            browser.send("Browser.close")
            process.wait(timeout=20)
        finally:
            process.kill()
            process.wait()


def _find_trouble(method: str, parameters: dict[str, Any]) -> str | None:
    match method:
        case "Log.entryAdded" if parameters["entry"]["level"] in {"error", "warning"}:
            return f"log: {parameters['entry']['text']}"
        case "Runtime.consoleAPICalled" if parameters["type"] in {"error", "warning", "assert"}:
            return f"console: {parameters['args']}"
        case "Runtime.exceptionThrown":
            return f"exception: {parameters['exceptionDetails']['text']}"
        case "Network.loadingFailed":
            return f"network: {parameters['errorText']}"
        case _:
            return None
