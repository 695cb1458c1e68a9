"""Frames over pipes beside a connection: the same frames, and the connection's end is theirs."""

import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest
import torch

from course.training.transport.layout import Layout
from course.training.transport.pipes import Pipes, crossed_pipes
from course.training.transport.wire import UNREAD, WIRE_HEARTBEAT_EVERY, Channel

pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system sends its tensors")
LAYOUT = Layout.of({"w": torch.zeros(1)})


def crossed():
    """Return two `Pipes`, the ends of one another."""
    ours, theirs = crossed_pipes()
    return Pipes(*ours), Pipes(*theirs)


@contextmanager
def piped(patience=20.0):
    """Within the `with`, the two ends of a connection whose frames go over pipes."""
    ends = [Channel(end, patience) for end in socket_pair()]
    with closing(ends[0]), closing(ends[1]):
        for end, pipes in zip(ends, crossed(), strict=True):
            end.agree(LAYOUT)
            end.go_over_to(pipes)
        yield ends


def socket_pair():
    """Return the two ends of a connection of TCP."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return socket.create_connection(listener.getsockname()), listener.accept()[0]


def test_a_text_longer_than_a_pipe_holds_comes_whole_to_who_reads():
    with piped() as (own, other):
        text = os.urandom(1 << 20)
        with ThreadPoolExecutor(1) as thread:
            thread.submit(own.send, "FAIL", payload=text)
            assert other.receive().payload == text


@pytest.mark.parametrize(
    "end",
    [
        lambda own, other: own.hang_up(),
        lambda own, other: other.hang_up(),
        lambda own, other: other.close(),
        lambda own, other: other.connection.shutdown(socket.SHUT_RDWR),
    ],
)
def test_who_waits_for_a_frame_is_woken_by_every_end_of_the_connection(end):
    with piped() as (own, other), ThreadPoolExecutor(1) as thread:
        frame = thread.submit(own.receive)
        end(own, other)
        with pytest.raises(ConnectionError):
            frame.result(20)


def test_what_was_sent_before_the_end_is_read_first():
    with piped() as (own, other):
        own.send("BYE!", sequence=7)
        own.close()
        assert other.receive().sequence == 7
        with pytest.raises(ConnectionError):
            other.receive()


def test_after_hanging_up_nothing_more_is_sent():
    with piped() as (own, other):
        own.hang_up()
        with pytest.raises(ConnectionError):
            own.send_tensors("PUSH")
        other.wire.settimeout(0.0)
        with pytest.raises(ConnectionError):
            other.arrived()


def test_silence_is_told_as_with_a_socket():
    with piped(0.05) as (own, other):
        with pytest.raises(TimeoutError):
            own.receive()
        with pytest.raises(TimeoutError):
            other.send("FAIL", payload=bytes(1 << 20))
        own.wire.settimeout(0.0)
        own.wire.recv_into(bytearray(1 << 17))
        assert own.arrived() is None


def test_the_heartbeats_of_a_long_wait_fit_into_a_pipe_unread():
    with piped(0.05) as (own, other):
        for _ in range(round(2 * UNREAD / WIRE_HEARTBEAT_EVERY)):
            own._last_sent = time.monotonic() - 1000
            own.beat()
        own.send_tensors("PUSH", sequence=9)
        assert other.receive().sequence == 9


def test_pipes_that_nobody_wanted_are_closed():
    pipes = crossed()
    numbers = [end.fileno() for pair in pipes for end in (pair._reads, pair._writes)]
    del pipes
    for number in numbers:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(number)
