"""No test reaches anything but this machine, and nothing of ours points tests at the public Sigstore."""

import re
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import requests

from publisher.adapters.web import Web
from tests.conftest import CallsOutError

ROOT = Path(__file__).parents[1]
TRUST = ROOT / "publisher" / "trust" / "public-good.json"
# Reserved for documentation: nobody answers there.
ELSEWHERE = "192.0.2.1"
NAME = "publish-gate.invalid"


def connect(host: str, family: socket.AddressFamily = socket.AF_INET) -> object:
    with socket.socket(family) as sock:
        sock.settimeout(0.1)
        return sock.connect((host, 443))


def connect_ex(host: str) -> object:
    with socket.socket() as sock:
        sock.settimeout(0.1)
        return sock.connect_ex((host, 443))


def send_datagram(host: str) -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        return sock.connect((host, 53))


CALLS: dict[str, Callable[[], object]] = {
    "connect": lambda: connect(ELSEWHERE),
    "connect by IPv6": lambda: connect("2001:db8::1", socket.AF_INET6),
    "connect by a mapped address": lambda: connect(f"::ffff:{ELSEWHERE}", socket.AF_INET6),
    "connect by name": lambda: connect(NAME),
    "connect_ex": lambda: connect_ex(ELSEWHERE),
    "datagrams": lambda: send_datagram(ELSEWHERE),
    "a lookup": lambda: socket.getaddrinfo(NAME, 443),
    "create_connection": lambda: socket.create_connection((NAME, 443), timeout=0.1),
    "urllib": lambda: urllib.request.urlopen(f"http://{ELSEWHERE}/", timeout=0.1),
    "requests": lambda: requests.get(f"http://{NAME}/", timeout=0.1, proxies={"http": ""}),
    "our own client": lambda: Web(1, "test", timeouts=(0.1, 0.1)).head(f"http://{ELSEWHERE}/"),
    "the instance metadata of AWS": lambda: connect("169.254.169.254"),
}


@pytest.mark.parametrize("how", CALLS)
def test_whatever_calls_out_fails_and_cannot_be_mistaken_for_no_answer(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)

    with pytest.raises(CallsOutError):
        CALLS[how]()

    assert not issubclass(CallsOutError, Exception)


@pytest.mark.parametrize(
    ("host", "family"),
    [("127.0.0.1", socket.AF_INET), ("localhost", socket.AF_INET), ("127.8.9.10", socket.AF_INET)],
)
def test_this_machine_can_be_reached(host: str, family: socket.AddressFamily) -> None:
    with socket.create_server(("127.0.0.1" if host == "localhost" else host, 0), family=family) as server:
        port = server.getsockname()[1]
        with closing(socket.create_connection((host, port), timeout=5)) as connection:
            accepted, _ = server.accept()
            with accepted:
                connection.sendall(b"x")
                assert accepted.recv(1) == b"x"


def test_a_socket_of_this_machines_own_kind_is_let_be(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(path)
        server.listen()
        client.connect(path)
    one, two = socket.socketpair()
    with one, two:
        one.sendall(b"x")
        assert two.recv(1) == b"x"


def test_other_processes_are_let_be() -> None:
    line = "import socket; print(socket.socket.connect.__qualname__, socket.getaddrinfo.__qualname__)"

    found = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)

    assert found.stdout.split() == ["socket.connect", "getaddrinfo"]


# --- The public Sigstore ---------------------------------------------------------------------------------

KNOWN = {
    "tests/adapters/test_sigstore_trust.py": "the store that the library ships, by its name",
    "tests/test_network_off.py": "this test",
}
"""Where else a public Sigstore host may be written, and as what."""
PAGES = {"www.sigstore.dev", "docs.sigstore.dev"}
"""Documentation, which people read and nothing asks."""

SKIPPED = {"__pycache__", ".git", ".venv", ".hypothesis", ".pytest_cache", ".ruff_cache"}


def list_ours() -> Iterator[tuple[str, str]]:
    """Give every text that could configure something, by its name; stored proofs and documentation do not."""
    for top in ("sandbox", "tests", "infra", "profiles", "publisher"):
        for path in sorted((ROOT / top).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            if path.is_file() and not SKIPPED.intersection(path.parts) and not name.startswith("tests/data/"):
                yield name, path.read_bytes().decode("utf-8", "replace")
    for path in sorted(ROOT.iterdir()):
        if path.suffix in {".toml", ".yaml"} or path.name == "Makefile":
            yield path.name, path.read_text("utf-8")


def find_services(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9-][a-z0-9.-]*\.sig(?:store|stage)\.dev\b", text)) - PAGES


def test_the_pinned_trust_root_names_the_public_instance() -> None:
    assert find_services(TRUST.read_text("utf-8")) >= {
        "fulcio.sigstore.dev",
        "rekor.sigstore.dev",
        "oauth2.sigstore.dev",
        "timestamp.sigstore.dev",
    }


def test_nothing_else_of_ours_names_a_service_of_the_public_instance() -> None:
    named = {name: find_services(text) for name, text in list_ours()}

    assert len(named) > 200
    found = {name for name, services in named.items() if services}
    assert found == {TRUST.relative_to(ROOT).as_posix(), *KNOWN}


@pytest.mark.parametrize("folder", ["sandbox", "tests/support", "tests/sandbox", "infra", "profiles"])
def test_no_configuration_of_tests_or_sandbox_names_its_domain_at_all(folder: str) -> None:
    names = [(name, text) for name, text in list_ours() if name.startswith(f"{folder}/")]

    assert names
    assert [name for name, text in names if re.search(r"\bsig(store|stage)\.dev\b", text)] == []
