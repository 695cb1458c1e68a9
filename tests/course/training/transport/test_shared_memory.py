"""Tensors in shared memory beside tensors sent: the same values, nothing left behind; and who offers falsely."""

import gc
import json
import os
import socket
import threading
from contextlib import ExitStack, closing
from unittest.mock import Mock

import psutil
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course.training.problems.mnist import mnist
from course.training.transport import shared_memory
from course.training.transport.layout import Layout
from course.training.transport.shared_memory import offer, open_offer
from course.training.transport.wire import Channel
from tests.course.training.forked import forked
from tests.course.training.server.test_server import DTYPES, shapes
from tests.helpers.shards_here import PROBLEM, check_it_is_the_plain_loop, connected, ended, shards, working
from tests.helpers.shells import eventually

pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system has no memfd: tensors are sent")


def ends(stack, here="127.0.0.1"):
    """Return two connected sockets; the first calls from the address `here`."""
    listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    calling = stack.enter_context(socket.create_connection(listener.getsockname(), 5, source_address=(here, 0)))
    return calling, stack.enter_context(listener.accept()[0])


def mappings():
    """The shared memory that this process still looks into."""
    gc.collect()
    paths = [mapping.path for mapping in psutil.Process().memory_maps(grouped=False)]
    return [path for path in paths if "memfd:course-training" in path]


@pytest.fixture
def answers(monkeypatch):
    """The answers to the offers of this test's workers."""
    answers = []

    def watched(*arguments):
        answers.append(open_offer(*arguments))
        return answers[-1]

    monkeypatch.setattr("course.training.server.worker_service.open_offer", watched)
    yield answers
    answers.clear()
    eventually(lambda: mappings() == [])  # a thread that served one may be about to end


@pytest.fixture
def everything(answers, monkeypatch):
    """However small the tensors, they are shared; the answers to the offers."""
    monkeypatch.setattr(shared_memory, "LEAST", 0)
    return answers


@given(shapes=shapes, dtypes=st.lists(st.sampled_from(DTYPES), min_size=4, max_size=4), data=st.data())
def test_frames_are_the_same_whether_their_tensors_are_shared_or_sent(shapes, dtypes, data):
    tensors = {f"t{i}": torch.randn(shape).mul(9).to(dtypes[i]) for i, shape in enumerate(shapes)}
    layout, came = Layout.of(tensors), []
    size = layout.nbytes
    for shared in (False, True):
        with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
            patch.setattr(shared_memory, "LEAST", 0)
            worker, shard = (Channel(end, 5) for end in ends(stack))
            offered = stack.enter_context(closing(offer(size, worker.connection)))
            worker.agree(layout, offered.halves if shared else None)
            halves = open_offer(offered.fields, size) if shared else None
            shard.agree(layout, halves)
            if shared:
                worker.go_over_to(offered.halves.pipes)
                shard.go_over_to(halves.pipes)
            for sender, receiver in data.draw(st.permutations([(worker, shard), (shard, worker)]), label=f"{shared}"):
                for name, view in sender.sending.items():
                    view.copy_(tensors[name])
                sender.send_tensors("PUSH", 3, 0.5, 7)
                frame = receiver.receive()
                came.append((frame, {name: view.clone() for name, view in receiver.received.items()}))
    for frame, values in came:
        assert frame == came[0][0]
        assert all(torch.equal(values[name], tensors[name]) for name in tensors)


def test_the_digits_share_by_themselves_and_the_line_does_not(answers):
    for problem, shared in ((mnist(), 1), (PROBLEM, 0)):
        with shards(problem=problem, limit=3) as (addresses, _), connected(addresses) as client:
            with working(addresses, problem=problem):
                ended(client)
        assert len(answers) == shared and None not in answers
        answers.clear()


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(("mode", "workers"), [("async", 1), ("sync", 3)])
def test_a_training_in_shared_memory_is_the_plain_loop_bit_for_bit(count, mode, workers, everything):
    check_it_is_the_plain_loop(count, mode=mode, workers=workers)
    assert len(everything) == count * workers and None not in everything


@pytest.mark.long
@pytest.mark.parametrize("lacking", ["memory", "the same address", "the system's call"])
def test_where_nothing_can_be_shared_tensors_are_sent(lacking, everything, monkeypatch):
    def fails(*_):
        raise OSError(28, "No space left on device")

    if lacking == "memory":
        monkeypatch.setattr(os, "posix_fallocate", fails)
    elif lacking == "the system's call":
        monkeypatch.setattr(os, "memfd_create", fails)
    else:
        create = socket.create_connection
        monkeypatch.setattr(socket, "create_connection", lambda to, timeout: create(to, timeout, ("127.0.0.2", 0)))
    with shards() as (addresses, _), connected(addresses) as client:
        with working(addresses):
            assert ended(client)["version"] == 50
    assert everything == [], "nothing was offered"


def test_a_false_offer_is_left_alone(tmp_path, monkeypatch):
    size, spy = 1 << 15, Mock(side_effect=open)
    monkeypatch.setattr(shared_memory, "open", spy, raising=False)
    with ExitStack() as stack:
        offered = stack.enter_context(closing(offer(size, ends(stack)[0])))
        plain = os.memfd_create("course-training", os.MFD_ALLOW_SEALING)  # whoever has it may shrink it
        stack.callback(os.close, plain)
        os.truncate(plain, os.fstat(offered.number).st_size)
        os.pwrite(plain, bytes.fromhex(offered.fields["secret"]), 0)
        file = stack.enter_context(open(tmp_path / "file", "w+b"))
        os.mkfifo(tmp_path / "pipe")
        pipe = os.open(tmp_path / "pipe", os.O_RDWR)
        stack.callback(os.close, pipe)
        assert open_offer(offered.fields, size) is not None
        assert open_offer({**offered.fields, "number": plain}, size) is None
        opened = spy.call_count
        for number in (file.fileno(), pipe, 10**6, "../../1/fd/0", 1e400):
            assert open_offer({**offered.fields, "number": number}, size) is None, number
        for process in (-1, None):
            assert open_offer({**offered.fields, "process": process}, size) is None, process
        assert spy.call_count == opened, "none of these is even opened"
        reads, writes = offered.fields["pipes"]
        for pipes in ((file.fileno(), writes), (reads, file.fileno()), (pipe, writes), (reads, 10**6), (reads,), None):
            assert open_offer({**offered.fields, "pipes": pipes}, size) is None, pipes
        for secret in ("00" * 16, "", 5):
            assert open_offer({**offered.fields, "secret": secret}, size) is None, secret
        assert open_offer(offered.fields, size - 8) is None and open_offer(offered.fields, size + 8) is None
        for nothing in ({}, [], None, 5, "x"):
            assert open_offer(nothing, size) is None, nothing
        assert file.seek(0, 2) == 0


def offer_and_wait(port, folder):
    offered = offer(1 << 20, socket.create_connection(("127.0.0.1", port)))
    (folder / "writing").write_text(json.dumps(offered.fields))
    (folder / "writing").rename(folder / "fields")
    threading.Event().wait()


@pytest.mark.long
def test_a_killed_worker_leaves_no_memory_behind(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        process = forked(offer_and_wait, listener.getsockname()[1], tmp_path)
        eventually((tmp_path / "fields").exists)
        fields = json.loads((tmp_path / "fields").read_text())
        halves = open_offer(fields, 1 << 20)
        process.kill()
        process.join(60)
        halves.out[:3] = b"abc"  # what the shard holds stays whole, and goes with the shard
        assert bytes(halves.out[:3]) == b"abc" and open_offer(fields, 1 << 20) is None
    assert len(mappings()) == 1
    del halves
    assert mappings() == []


@pytest.mark.long
def test_many_connections_leave_no_descriptor(everything):
    before, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    for _ in range(5):
        with shards(2) as (addresses, _), connected(addresses) as client, working(addresses):
            ended(client)
    everything.clear()
    gc.collect()
    eventually(lambda: (len(os.listdir("/proc/self/fd")), threading.active_count()) <= (before, threads))
