"""The proxy does what its methods say, to one connection and byte for byte."""

import socket
import threading

import pytest

from tests.helpers.proxy import Proxy

pytestmark = pytest.mark.faults


@pytest.fixture
def echo():
    """A server that sends back what it gets; gives its address."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)

        def serve():
            kept = []
            while not ended.is_set():
                for one in kept:
                    try:
                        one.sendall(one.recv(1 << 16))
                    except TimeoutError:
                        continue
                    except OSError:
                        kept.remove(one)
                        one.close()
                        break
                try:
                    kept.append(listener.accept()[0])
                    kept[-1].settimeout(0.01)
                except TimeoutError:
                    continue
            for one in kept:
                one.close()

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()
        ended.set()
        thread.join(60)


@pytest.fixture
def proxy(echo):
    with Proxy(echo) as made:
        yield made


@pytest.fixture
def line(proxy):
    with socket.create_connection(proxy.address, timeout=5) as connection:
        yield connection


def said_and_heard(line, text):
    line.sendall(text)
    heard = b""
    while len(heard) < len(text):
        piece = line.recv(1 << 16)
        if not piece:
            break
        heard += piece
    return heard


def test_it_forwards_both_ways_byte_for_byte(line, proxy):
    text = bytes(range(256)) * 2000
    assert said_and_heard(line, text) == text and proxy.connections == 1


def test_what_is_stalled_comes_later_and_whole(line, proxy):
    proxy.stall()
    line.sendall(b"held back")
    line.settimeout(0.3)
    with pytest.raises(TimeoutError):
        line.recv(1)
    proxy.flow()
    line.settimeout(5)
    assert line.recv(100) == b"held back"


def test_a_cut_ends_the_connection_and_the_next_one_works(line, proxy):
    assert said_and_heard(line, b"before") == b"before"
    proxy.cut_after(4)
    assert said_and_heard(line, b"message") == b""  # the connection went with the first four bytes
    with socket.create_connection(proxy.address, timeout=5) as again:
        assert said_and_heard(again, b"a new one works") == b"a new one works"


def test_a_reset_is_an_error_at_this_end(line, proxy):
    assert said_and_heard(line, b"before") == b"before"
    proxy.reset()
    with pytest.raises(ConnectionResetError):
        line.recv(1)


def test_a_delay_keeps_the_order(line, proxy):
    proxy.delay(0.05)
    assert said_and_heard(line, b"one" * 100) == b"one" * 100


def test_one_of_two_connections_can_be_stalled_alone(line, proxy):
    assert said_and_heard(line, b"before") == b"before"
    with socket.create_connection(proxy.address, timeout=5) as other:
        assert said_and_heard(other, b"before") == b"before"
        proxy.stall(0)
        assert said_and_heard(other, b"goes on") == b"goes on"
        line.settimeout(0.2)
        line.sendall(b"held back")
        with pytest.raises(TimeoutError):
            line.recv(1)
