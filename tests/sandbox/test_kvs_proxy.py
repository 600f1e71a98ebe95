"""The proxy leads to the store, leads nowhere else, and is gone when it is done with."""

import http.client
import socket
import threading
from collections.abc import Generator
from contextlib import closing

import pytest

from sandbox.kvs_proxy import HOST, run_kvs_proxy
from sandbox.ministack import LOOPBACK
from tests.sandbox.processes import listens


@pytest.fixture
def echo() -> Generator[int]:
    """Run a server that sends back what it is sent, once, and give its port."""
    with socket.create_server((LOOPBACK, 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                while data := connection.recv(100):
                    connection.sendall(data)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]


def connect(proxy: str, name: str) -> tuple[socket.socket, bytes]:
    connection = socket.create_connection((LOOPBACK, port_of(proxy)), timeout=5)
    connection.sendall(f"CONNECT {name}:443 HTTP/1.1\r\nHost: {name}:443\r\n\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += connection.recv(1)
    return connection, head


def port_of(proxy: str) -> int:
    return int(proxy.rpartition(":")[2])


@pytest.mark.parametrize("name", [HOST, f"123456789012.{HOST}"])
def test_the_stores_names_lead_to_the_server(echo: int, name: str) -> None:
    with run_kvs_proxy(echo) as proxy:
        connection, head = connect(proxy, name)
        with connection:
            connection.sendall(b"hello")
            assert head.startswith(b"HTTP/1.1 200 ")
            assert connection.recv(100) == b"hello"
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(100) == b""


@pytest.mark.parametrize("name", ["example.org", f"{HOST}.example.org", f"not{HOST}", "127.0.0.1"])
def test_any_other_name_is_refused(echo: int, name: str) -> None:
    with run_kvs_proxy(echo) as proxy:
        connection, head = connect(proxy, name)
        with connection:
            assert head.startswith(b"HTTP/1.1 403 ")


def test_a_request_that_is_no_tunnel_is_refused(echo: int) -> None:
    with (
        run_kvs_proxy(echo) as proxy,
        closing(http.client.HTTPConnection(LOOPBACK, port_of(proxy), timeout=5)) as connection,
    ):
        connection.request("GET", f"http://{HOST}/")
        assert connection.getresponse().status == http.client.NOT_IMPLEMENTED


def test_a_server_that_is_not_there_is_told() -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        port = server.getsockname()[1]
    with run_kvs_proxy(port) as proxy:
        connection, head = connect(proxy, HOST)
        with connection:
            assert head.startswith(b"HTTP/1.1 502 ")


def test_it_is_gone_in_the_end_though_a_tunnel_is_open(echo: int) -> None:
    with run_kvs_proxy(echo) as proxy:
        connection, _ = connect(proxy, HOST)
    with connection:
        assert not listens(port_of(proxy))
