"""The wire, the listener, the server and the worker's loop, in threads of this process: no cluster."""

import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from unittest.mock import create_autospec

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course.training.driver.shard_client import ShardClient
from course.training.records import ShardLost
from course.training.transport import wire as wires
from course.training.transport.layout import Layout
from course.training.transport.wire import PROTOCOL, Channel, Refused, connect
from course.training.worker.worker_loop import run_worker
from tests.helpers.shards_here import FOREVER, PROBLEM, connected, ended, keys, shards, until, working
from tests.helpers.shells import eventually

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8]
TOKEN = {"token": "token", "incarnation": 0, "session": "s", "attempt": 1, "term": 0}


shapes = st.lists(st.lists(st.integers(0, 4), max_size=3), min_size=1, max_size=4)


@given(shapes=shapes, dtypes=st.lists(st.sampled_from(DTYPES), min_size=4, max_size=4), start=st.sampled_from([0, 24]))
def test_tensors_of_any_shape_and_dtype_survive_the_buffer(shapes, dtypes, start):
    tensors = {f"t{i}": torch.randn(shape).mul(9).to(dtypes[i]) for i, shape in enumerate(shapes)}
    layout = Layout.of(tensors)
    assert Layout(*layout.as_json()) == layout
    buffer = bytearray(start + layout.nbytes + 1)
    for name, view in layout.over(buffer, start).items():
        view.copy_(tensors[name])
    copied = layout.over(bytearray(buffer), start)
    assert all(
        torch.equal(copied[name], tensors[name]) and copied[name].dtype == tensors[name].dtype for name in tensors
    )


def test_a_layout_with_a_dtype_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="load"):
        Layout(("a",), ((1,),), ("torch.load",)).over(bytearray(8), 0)


def test_a_frame_that_announces_too_much_is_not_read():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with socket.create_connection(listener.getsockname()) as theirs, listener.accept()[0] as ours:
            theirs.sendall(b"TEXT" + (1 << 31).to_bytes(4, "little") + bytes(24))
            with pytest.raises(OSError, match="at most"):
                Channel(ours, patience=5).receive()


@pytest.mark.parametrize("encrypted", [False, True])
def test_hanging_up_wakes_the_thread_that_reads_and_leaves_it_the_closing(encrypted):
    listen, call = keys() if encrypted else (None, None)
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        ours, theirs = socket.create_connection(listener.getsockname(), 5), listener.accept()[0]
        if encrypted:
            theirs = listen.wrap_socket(theirs, server_side=True, do_handshake_on_connect=False)
            shaking = threading.Thread(target=theirs.do_handshake)
            shaking.start()
            ours = call.wrap_socket(ours)
            shaking.join(60)
        stack.enter_context(ours)
        channel = Channel(stack.enter_context(theirs), patience=30)
        reading = stack.enter_context(ThreadPoolExecutor(1)).submit(channel.receive)
        time.sleep(0.1)
        channel.hang_up()
        with pytest.raises(OSError) as error:
            reading.result(60)
        assert not isinstance(error.value, TimeoutError)
        assert channel.connection.fileno() >= 0, "its number is not free yet"
        channel.close()
        channel.hang_up()
        assert channel.connection.fileno() == -1


def test_a_heartbeat_that_cannot_be_sent_ends_its_connection_and_no_other(monkeypatch):
    monkeypatch.setattr(wires, "WIRE_HEARTBEAT_EVERY", 0.01)
    broken, whole, over = create_autospec(Channel), create_autospec(Channel), threading.Event()
    broken.beat.side_effect = BrokenPipeError("gone")
    wires.start_beating(lambda: [broken, whole], over, "heartbeat")
    eventually(lambda: whole.beat.called)
    over.set()
    assert broken.hang_up.called and not whole.hang_up.called


def test_a_foreign_certificate_is_not_let_in():
    (listen, call), (_, foreign) = keys(), keys()
    with shards(contexts=(listen, call)) as (addresses, _), pytest.raises(ShardLost, match="/job:ps/task:0"):
        ShardClient(addresses, foreign)


@pytest.mark.parametrize(
    ("handshake", "words"),
    [
        ({"role": "worker", "worker": 0, "token": "guess"}, "another training"),
        ({"role": "worker", "worker": 1}, "worker 1 is not one of"),
        ({"role": "worker"}, "worker None is not one of"),
        ({"role": "worker", "worker": [0]}, "is not one of"),
        ({"role": "chief"}, "driver or worker"),
        ({"role": "__init__"}, "driver or worker"),
        ({"role": "worker", "worker": 0, "layout": [["w"], [[2]], ["torch.float32"]]}, "the store's are"),
        ({"role": "worker", "worker": 0, "layout": 5}, "the store's are"),
        ({"role": "worker", "worker": 0, "incarnation": 3}, "incarnation 0 .* belongs to incarnation 3"),
        ({"role": "worker", "worker": 0, "course": "0.0.1"}, r"course 0\.0\.1\. Use one version"),
        ({"role": "driver", "term": "high"}, "term"),
        ({"role": "driver", "term": -1}, "a driver of term 0 leads this training now; term -1 is over"),
        ({"role": "worker", "worker": 0, "session": 5}, "a worker's session is a text, its attempt a number"),
        ({"role": "worker", "worker": 0, "attempt": "1"}, "a worker's session is a text, its attempt a number"),
    ],
)
def test_who_does_not_belong_is_refused_with_a_reason(handshake, words, caplog):
    with shards() as (addresses, _):
        with pytest.raises(Refused, match=words):
            connect(addresses.endpoints[0], {**TOKEN, **handshake}, patience=60)
        eventually(lambda: "refused" in caplog.text)  # our side says it too


def test_another_protocol_is_named_to_both(monkeypatch):
    with shards() as (addresses, _):
        monkeypatch.setattr(wires, "PROTOCOL", 1)
        with pytest.raises(Refused, match=f"protocol {PROTOCOL} .*the other side protocol 1"):
            connect(addresses.endpoints[0], {**TOKEN, "role": "worker", "worker": 0}, patience=60)


def test_the_first_protocols_shorter_handshake_is_answered_at_once():
    with shards() as (addresses, _), socket.create_connection(addresses.endpoints[0], 60) as old:
        old.sendall(b"HELO" + (2).to_bytes(4, "little") + (1).to_bytes(8, "little") + bytes(8) + b"{}" + bytes(6))
        assert old.recv(1000)[:4] == b"NOPE"


def _handshake(payload, length=None):
    length = len(payload) if length is None else length
    return b"HELO" + length.to_bytes(4, "little") + PROTOCOL.to_bytes(8, "little") + bytes(16) + payload


JUNK = [
    b"",
    b"GET / HTTP/1.0\r\n\r\n" + bytes(64),
    _handshake(b"[]"),
    _handshake(b"{"),
    _handshake(b"", 1 << 31),
    _handshake(b"[" * 200_000),
    b"PUSH" + bytes(60),
]


@pytest.mark.parametrize(("payload", "words"), [(b"[" * 200_000, b"nested too deeply"), (b"{", b"object of JSON")])
def test_a_handshake_that_is_no_json_is_refused_in_words(payload, words):
    with shards() as (addresses, _), socket.create_connection(addresses.endpoints[0], 5) as stranger:
        stranger.sendall(_handshake(payload))
        answer = b"".join(iter(partial(stranger.recv, 1000), b""))
    assert answer[:4] == b"NOPE" and words in answer, answer


def test_foreign_connections_and_broken_handshakes_do_not_disturb_training():
    with shards() as (addresses, _), ExitStack() as silent:
        for junk in JUNK:
            with socket.create_connection(addresses.endpoints[0], 5) as foreign:
                foreign.sendall(junk)
        for _ in range(20):
            silent.enter_context(socket.create_connection(addresses.endpoints[0], 5))
        with connected(addresses) as client, working(addresses):
            assert ended(client)["version"] == 50


def test_half_a_handshake_is_cut_off_in_time_and_too_many_are_not_accepted(monkeypatch):
    monkeypatch.setattr("course.training.transport.listener.SHARD_HANDSHAKE", 0.5)
    with shards() as (addresses, _), ExitStack() as held:
        crowd = [held.enter_context(socket.create_connection(addresses.endpoints[0], 5)) for _ in range(60)]
        for foreign in crowd:
            foreign.settimeout(60)
        crowd[0].sendall(_handshake(b"{}", 100))
        assert all(_is_closed(foreign) for foreign in crowd)
        with connected(addresses) as client, working(addresses):
            assert ended(client)["version"] == 50


def _is_closed(foreign):
    try:
        return foreign.recv(1) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("count", [1, 2])
def test_the_shards_end_with_their_driver(count):
    with shards(count, limit=FOREVER) as (addresses, _):
        with working(addresses) as worked:
            with connected(addresses) as client:
                until(client, lambda status: status["version"] > 5)
        assert worked[0].ended != "stopped"
        for address in addresses.endpoints:
            eventually(lambda address=address: refuses(address))


def refuses(address):
    try:
        socket.create_connection(address, 1).close()
    except OSError:
        return True
    return False


class Failing:
    initial, loss = PROBLEM.initial, PROBLEM.loss

    def __init__(self, worker, error):
        self.worker, self.error = worker, error

    def batch(self, worker, version, generator):
        if worker == self.worker and version >= 5:
            raise self.error
        return PROBLEM.batch(worker, version, generator)


@pytest.mark.parametrize("error", [ZeroDivisionError("a bug in the reader's batch"), FileNotFoundError("no such data")])
def test_an_error_in_the_problem_reaches_the_driver_with_the_workers_number(error):
    with ThreadPoolExecutor(2) as threads, shards(workers=2, limit=FOREVER) as (addresses, _):
        with connected(addresses) as client:
            loops = [threads.submit(run_worker, Failing(1, error), worker, addresses) for worker in range(2)]
            assert f"worker 1: {type(error).__name__}: {error}" in ended(client)["ended"]["text"]
    assert [loop.exception(60) for loop in loops] == [None, error]


ENDS_IN_A_STEP = """
import threading, time, torch
from tests.helpers.shards_here import PROBLEM, connected, run_worker, shards

stepping = threading.Event()

class Slow(torch.optim.SGD):
    def step(self):
        stepping.set()
        time.sleep(0.5)
        print("the step is done")

with shards(optimizer=Slow) as (addresses, servers):
    session = connected(addresses)
    session.__enter__()
    threading.Thread(target=run_worker, args=(PROBLEM, 0, addresses), daemon=True).start()
    stepping.wait(60)
    servers.clear()  # nobody closes them
"""


@pytest.mark.long
def test_a_process_that_ends_in_the_middle_of_a_step_finishes_it_first():
    """A thread that comes back from PyTorch's own code when Python has ended aborts the process: exit code -6."""
    run = subprocess.run(
        [sys.executable, "-c", ENDS_IN_A_STEP],
        cwd=Path(__file__).parents[4],
        capture_output=True,
        text=True,
        timeout=200,  # it ends within two seconds, or on a busy machine in some tens
    )
    assert (run.stdout, run.returncode) == ("the step is done\n", 0), run
