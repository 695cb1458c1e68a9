"""A shard's listener where the system gives it no more connections, or threads: it pauses, says so, and goes on."""

import os
import socket
import threading
from contextlib import ExitStack, contextmanager, suppress

import pytest

from course.training.transport.wire import PROTOCOL
from tests.helpers.shards_here import connected, ended, shards, working
from tests.helpers.shells import eventually

resource = pytest.importorskip("resource", reason="Windows has no limit on open files to lower")


@contextmanager
def no_files_left():
    """Within the `with`, this process can open nothing more."""
    most, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as held:
        limit = max(map(int, os.listdir("/proc/self/fd"))) + 8
        held.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (most, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        with suppress(OSError):
            while True:
                held.callback(os.close, os.dup(0))
        yield


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="this system does not list a process's open files")
@pytest.mark.parametrize("count", [1, 2])
def test_a_listener_that_had_no_files_left_says_so_and_takes_who_had_waited(count, caplog):
    with shards(count) as (addresses, _), socket.socket() as caller:
        caller.settimeout(60)
        with no_files_left():
            caller.connect(addresses.endpoints[-1])  # it waits in the queue: accepting it needs a file
            eventually(lambda: "can't take a connection" in caplog.text)
        caller.sendall(b"HELO" + (2).to_bytes(4, "little") + PROTOCOL.to_bytes(8, "little") + bytes(16) + b"{}")
        assert caller.recv(1000)[:4] == b"NOPE", "it is answered: this handshake named no training"
        eventually(lambda: "takes connections again" in caplog.text)
        with connected(addresses) as client, working(addresses):
            assert ended(client)["version"] == 50
    assert caplog.text.count("can't take a connection") == 1, "once, not at each look"
    assert "Too many open files" in caplog.text and "ulimit -n" in caplog.text


def test_a_listener_that_had_no_threads_left_hangs_up_says_so_and_goes_on(monkeypatch, caplog):
    refused, start = [], threading.Thread.start

    def start_or_refuse(thread):
        if len(refused) < 2 and thread.name == "parameter-server":
            refused.append(thread)
            raise RuntimeError("can't start new thread")  # what Python raises where the system refuses one
        start(thread)

    with shards() as (addresses, _):
        monkeypatch.setattr(threading.Thread, "start", start_or_refuse)
        for _ in range(2):
            with socket.create_connection(addresses.endpoints[0], 60) as caller:
                assert caller.recv(1) == b""
        with connected(addresses) as client, working(addresses):
            assert ended(client)["version"] == 50
    assert "can't start new thread" in caplog.text
