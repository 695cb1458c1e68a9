"""A slow line: later, no faster than it allows, in order; ends, resets and cuts go through; nothing of it is left."""

import socket
import socketserver
import struct
import sys
import threading
import time
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course.distance import Link

PATIENCE = 20.0  # seconds of a wait that ends a test which hangs


@contextmanager
def serving(serve):
    """Within the `with`, `serve(connection)` runs in a thread for each connection to the address that it gives."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.settimeout(PATIENCE)
            serve(self.request)

    class Server(socketserver.ThreadingTCPServer):
        def shutdown_request(self, request):
            request.close()  # the end or the reset is what `serve` left

    with Server(("127.0.0.1", 0), Handler) as server:
        accepting = threading.Thread(target=server.serve_forever, args=(0.01,))
        accepting.start()
        try:
            yield server.server_address
        finally:
            server.shutdown()
            accepting.join(PATIENCE)


def echo(connection):
    try:
        while data := connection.recv(1 << 16):
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the other end was reset


def called(address):
    return socket.create_connection(address, PATIENCE)


def received(connection, count):
    data = b""
    while len(data) < count and (more := connection.recv(1 << 16)):
        data += more
    return data


@pytest.fixture(scope="module")
def echoed():
    with serving(echo) as address:
        yield address


@pytest.fixture(scope="module")
def line(echoed):
    """A link without delay or limit; a test that changes it changes it back."""
    with Link() as link:
        link.to(echoed)  # its port is open from here on
        yield link


@settings(max_examples=25)
@given(st.lists(st.binary(min_size=1, max_size=40_000), max_size=6), st.sampled_from([0.0, 0.002]))
def test_what_comes_out_is_what_went_in_and_then_the_end(line, echoed, pieces, delay):
    line.delay = delay
    with called(line.to(echoed)) as connection:
        for piece in pieces:
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_WR)
        expected = b"".join(pieces)
        assert received(connection, len(expected) + 1) == expected
    line.delay = 0.0


def test_an_answer_comes_two_delays_later_not_sooner(echoed):
    with Link(delay=0.05) as link, called(link.to(echoed)) as connection:
        for _ in range(2):
            began = time.monotonic()
            connection.sendall(b"ping")
            assert received(connection, 4) == b"ping" and time.monotonic() - began >= 0.1


def test_a_delay_that_is_shortened_lets_nothing_overtake(echoed):
    with Link(delay=0.1) as link, called(link.to(echoed)) as connection:
        connection.sendall(b"first ")
        link.delay = 0.0
        connection.sendall(b"second")
        assert received(connection, 12) == b"first second"


def test_a_limit_is_shared_by_all_that_goes_through(echoed):
    size, rate = 100_000, 1e6
    with Link(bandwidth=rate) as link, called(link.to(echoed)) as one, called(link.to(echoed)) as other:
        began = time.monotonic()
        for connection in (one, other):
            connection.sendall(b"." * size)
        for connection in (one, other):
            assert len(received(connection, size)) == size
        assert time.monotonic() - began >= 2 * size / rate
        assert link.moved == (2 * size, 2 * size)


def test_one_side_may_end_while_the_other_goes_on():
    def reads_first(connection):
        data = b""
        while more := connection.recv(100):
            data += more
        connection.sendall(data[::-1])

    with serving(reads_first) as address, Link(delay=0.01) as link, called(link.to(address)) as connection:
        connection.sendall(b"abc")
        connection.shutdown(socket.SHUT_WR)
        assert received(connection, 4) == b"cba"


def test_a_reset_goes_through():
    def resets(connection):
        connection.recv(1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with serving(resets) as address, Link() as link, called(link.to(address)) as connection:
        connection.sendall(b".")
        with pytest.raises(ConnectionResetError):
            connection.recv(1)


def test_a_caller_that_resets_ends_the_connection_behind_it():
    ended = threading.Event()

    def waits(connection):
        connection.sendall(b"here")
        try:
            connection.recv(1)
        except ConnectionResetError:
            ended.set()

    with serving(waits) as address, Link() as link:
        with called(link.to(address)) as connection:
            assert received(connection, 4) == b"here"
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert ended.wait(PATIENCE)


def test_who_connects_where_nobody_listens_is_reset(free_ports):
    with Link() as link, pytest.raises(ConnectionResetError):
        with called(link.to(("127.0.0.1", free_ports(1)[0]))) as connection:
            connection.recv(1)


def test_in_a_cut_nothing_comes_through_and_when_joined_all_of_it_in_order(echoed):
    with Link() as link, called(link.to(echoed)) as connection:
        connection.sendall(b"before ")
        assert received(connection, 7) == b"before "
        link.cut()
        assert "cut" in repr(link)
        connection.sendall(b"in ")
        connection.sendall(b"it")
        connection.settimeout(0.1)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        connection.settimeout(PATIENCE)
        link.join()
        assert received(connection, 5) == b"in it"


def test_a_closed_link_resets_what_is_open_and_says_so_later(echoed):
    link = Link()
    with called(link.to(echoed)) as connection:
        connection.sendall(b".")
        assert received(connection, 1) == b"."
        link.close()
        link.close()
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
    with pytest.raises(RuntimeError, match="closed"):
        link.to(echoed)


def test_the_same_address_has_one_way_and_looks_like_another_machine(line, echoed):
    assert line.to(echoed) == line.to(echoed)
    with called(line.to(echoed)) as connection:
        assert sys.platform != "linux" or connection.getsockname()[0] != connection.getpeername()[0]


@pytest.mark.parametrize("wrong", [{"delay": -1}, {"delay": float("nan")}, {"bandwidth": 0}, {"bandwidth": -5.0}])
def test_nonsense_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Link(**wrong)
