"""The wire, the server and the worker's loop, in threads of this process: no cluster."""

import socket
import threading
import time
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course.cluster.certificates import new_certificate, security
from course.training import linear_regression, train_in_turns
from course.training.server import open_server
from course.training.wire import Channel, Layout, connect
from course.training.worker import work

SGD = partial(torch.optim.SGD, lr=0.02)
PROBLEM = linear_regression()
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8]


@pytest.fixture
def served():
    """A function that starts a server, and stops it afterwards."""
    servers = []

    def start(mode="async", workers=1, limit=50, context=None, problem=PROBLEM, **rule):
        arguments = {"max_staleness": None, "aggregate": None, **rule}
        server = open_server(problem.initial(), SGD, mode, workers, limit, context=context, **arguments)
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.close()


def session(server, context=None):
    channel = connect(server.address, {"role": "session", "token": server.token}, context, patience=5)
    channel.agree(Layout.of(PROBLEM.initial()))
    return channel


def finish(channel, seconds=10):
    """Wait for the end of the training; return the status and the parameters."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        channel.send("LOOK", 0)
        status, _ = channel.receive().text(), channel.receive()
        if status["ended"]:
            channel.send("PULL")
            channel.receive()
            return status, {name: value.clone() for name, value in channel.received.items()}
        time.sleep(0.01)
    pytest.fail(f"no end after {seconds} s")


def in_threads(server, workers, problem=PROBLEM, **more):
    threads = [
        threading.Thread(target=work, args=(problem, w, server.address, server.token), kwargs=more)
        for w in range(workers)
    ]
    for thread in threads:
        thread.start()
    return threads


shapes = st.lists(st.lists(st.integers(0, 4), max_size=3), min_size=1, max_size=4)


@given(shapes=shapes, dtypes=st.lists(st.sampled_from(DTYPES), min_size=4, max_size=4), start=st.sampled_from([0, 24]))
def test_tensors_of_any_shape_and_dtype_survive_the_buffer(shapes, dtypes, start):
    tensors = {f"t{i}": torch.randn(shape).mul(9).to(dtypes[i]) for i, shape in enumerate(shapes)}
    layout = Layout.of(tensors)
    assert Layout.from_json(layout.as_json()) == layout
    buffer = bytearray(start + layout.over(None, start)[1] + 1)
    for name, view in layout.over(buffer, start)[0].items():
        view.copy_(tensors[name])
    copied = layout.over(bytearray(buffer), start)[0]
    assert all(
        torch.equal(copied[name], tensors[name]) and copied[name].dtype == tensors[name].dtype for name in tensors
    )


def test_a_layout_with_a_dtype_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="load"):
        Layout(("a",), ((1,),), ("torch.load",)).over(bytearray(8), 0)


def test_a_frame_that_announces_too_much_is_not_read():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with socket.create_connection(listener.getsockname()) as theirs, listener.accept()[0] as ours:
            theirs.sendall(b"TEXT" + (1 << 31).to_bytes(4, "little") + bytes(16))
            with pytest.raises(OSError, match="at most"):
                Channel(ours, patience=5).receive()


@pytest.mark.parametrize("encrypted", [False, True])
def test_one_worker_over_a_socket_is_the_plain_loop_bit_for_bit(served, encrypted):
    keys = security(new_certificate()) if encrypted else None
    listening, calling = (
        (keys.get_listen_args("worker")["ssl_context"], keys.get_connection_args("worker")["ssl_context"])
        if encrypted
        else (None, None)
    )
    server = served(context=listening)
    watch = session(server, calling)
    threads = in_threads(server, 1, context=calling)
    status, parameters = finish(watch)
    wanted = train_in_turns(PROBLEM, optimizer=SGD, total_steps=50).parameters
    assert status["version"] == 50
    assert all(torch.equal(parameters[name], wanted[name]) for name in wanted)
    for thread in threads:
        thread.join(5)
    watch.close()


def test_a_foreign_certificate_is_not_let_in(served):
    server = served(context=security(new_certificate()).get_listen_args("worker")["ssl_context"])
    foreign = security(new_certificate()).get_connection_args("worker")["ssl_context"]
    with pytest.raises(OSError):
        connect(server.address, {"role": "session", "token": server.token}, foreign, patience=5)


@pytest.mark.parametrize(
    ("hello", "words"),
    [
        ({"role": "worker", "worker": 0, "token": "guess"}, "another training"),
        ({"role": "worker", "worker": 1}, "worker 1 is not one of"),
        ({"role": "worker"}, "worker None is not one of"),
        ({"role": "chief"}, "session or worker"),
        ({"role": "worker", "worker": 0, "layout": [["w"], [[2]], ["torch.float32"]]}, "the store's are"),
    ],
)
def test_a_worker_that_does_not_belong_is_refused_with_a_reason(served, hello, words):
    server = served()
    with pytest.raises(OSError, match=words):
        connect(server.address, {"token": server.token, **hello}, patience=5)


def _hello(payload):
    return b"HELO" + len(payload).to_bytes(4, "little") + (1).to_bytes(8, "little") + bytes(8) + payload


def test_strangers_and_broken_hellos_do_not_disturb_training(served):
    server = served()
    for junk in (b"", b"GET / HTTP/1.0\r\n\r\n" + bytes(64), _hello(b"[]"), _hello(b"{")):
        with socket.create_connection(server.address, 5) as stranger:
            stranger.sendall(junk)
    watch = session(server)
    in_threads(server, 1)
    assert finish(watch)[0]["version"] == 50
    watch.close()


def test_nobody_starts_before_everybody_is_here_and_versions_only_rise(served):
    server = served(workers=3, limit=300)
    watch = session(server)
    first = in_threads(server, 1)
    time.sleep(0.1)
    watch.send("LOOK", 0)
    assert watch.receive().text()["version"] == 0
    assert watch.receive().payload == b""
    others = [threading.Thread(target=work, args=(PROBLEM, w, server.address, server.token)) for w in (1, 2)]
    for thread in others:
        thread.start()
    status, _ = finish(watch)
    assert status["version"] == 300
    watch.close()
    for thread in first + others:
        thread.join(5)


def test_the_server_ends_with_its_session(served):
    server = served(limit=10**9)
    watch = session(server)
    threads = in_threads(server, 1)
    time.sleep(0.1)
    watch.close()
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive()
    time.sleep(0.4)
    with pytest.raises(OSError):
        socket.create_connection(server.address, 1)


class Failing:
    def __init__(self, worker):
        self.worker = worker

    def __getattr__(self, name):
        return getattr(PROBLEM, name)

    def batch(self, worker, version, generator):
        if worker == self.worker and version >= 5:
            raise ZeroDivisionError("a bug in the reader's batch")
        return PROBLEM.batch(worker, version, generator)


def test_an_error_in_the_problem_reaches_the_session_with_the_workers_number(served):
    server = served(workers=2, limit=10**6)
    watch = session(server)
    caught = []

    def failing(worker):
        try:
            work(Failing(worker=1), worker, server.address, server.token)
        except ZeroDivisionError as error:
            caught.append(error)

    threads = [threading.Thread(target=failing, args=(w,)) for w in range(2)]
    for thread in threads:
        thread.start()
    status, _ = finish(watch)
    assert "worker 1: ZeroDivisionError: a bug" in status["ended"]["text"]
    for thread in threads:
        thread.join(5)
    assert len(caught) == 1
    watch.close()


@pytest.mark.parametrize("mode", ["async", "sync"])
def test_a_worker_that_leaves_is_missed_only_where_it_is_needed(served, mode):
    server = served(mode=mode, workers=2, limit=400)
    watch = session(server)
    hello = {"role": "worker", "worker": 1, "token": server.token}
    leaver = connect(server.address, hello, patience=5)
    threads = in_threads(server, 1)
    time.sleep(0.05)
    leaver.close()
    status, _ = finish(watch)
    assert "1" in status["lost"] and "connection" in status["lost"]["1"]
    assert (status["ended"]["why"], status["version"] == 400) == (
        ("steps", True) if mode == "async" else ("lost", False)
    )
    for thread in threads:
        thread.join(5)
    watch.close()
