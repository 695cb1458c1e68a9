"""The proxy does what its methods say, to one connection and byte for byte."""

import contextlib
import socket
import socketserver
import threading

import pytest

from tests.helpers.proxy import Proxy

pytestmark = pytest.mark.faults


class Echo(socketserver.BaseRequestHandler):
    """Sends back what it gets, until its connection ends in whatever way."""

    def handle(self):
        with contextlib.suppress(OSError):
            while piece := self.request.recv(1 << 16):
                self.request.sendall(piece)


@pytest.fixture
def echo():
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server.server_address
        server.shutdown()
        thread.join(60)


@pytest.fixture
def proxy(echo):
    with Proxy(echo) as running:
        yield running


@pytest.fixture
def line(proxy):
    with socket.create_connection(proxy.address, timeout=60) as connection:
        yield connection


def echoed(line, text):
    line.sendall(text)
    received = b""
    while len(received) < len(text):
        piece = line.recv(1 << 16)
        if not piece:
            break
        received += piece
    return received


def test_it_forwards_both_ways_byte_for_byte(line, proxy):
    text = bytes(range(256)) * 2000
    assert echoed(line, text) == text and proxy.connections == 1


def test_what_is_stalled_comes_later_and_whole(line, proxy):
    proxy.stall()
    line.sendall(b"held back")
    line.settimeout(0.3)
    with pytest.raises(TimeoutError):
        line.recv(1)
    proxy.flow()
    line.settimeout(60)
    assert line.recv(100) == b"held back"


def test_a_cut_ends_the_connection_and_the_next_one_works(line, proxy):
    assert echoed(line, b"before") == b"before"
    proxy.cut_after(4)
    assert echoed(line, b"message") == b""  # the connection went with the first four bytes
    with socket.create_connection(proxy.address, timeout=60) as again:
        assert echoed(again, b"a new one works") == b"a new one works"


def test_a_reset_is_an_error_at_this_end(line, proxy):
    assert echoed(line, b"before") == b"before"
    proxy.reset()
    with pytest.raises(ConnectionResetError):
        line.recv(1)


def test_a_delay_keeps_the_order(line, proxy):
    proxy.delay(0.05)
    assert echoed(line, b"one" * 100) == b"one" * 100


def test_one_of_two_connections_can_be_stalled_alone(line, proxy):
    assert echoed(line, b"before") == b"before"
    with socket.create_connection(proxy.address, timeout=60) as other:
        assert echoed(other, b"before") == b"before"
        proxy.stall(0)
        assert echoed(other, b"goes on") == b"goes on"
        line.settimeout(0.2)
        line.sendall(b"held back")
        with pytest.raises(TimeoutError):
            line.recv(1)
