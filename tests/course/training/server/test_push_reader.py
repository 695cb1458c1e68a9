"""Pushes in short frames: one thread reads and answers all, and hands back a connection that needs more than that."""

import threading
from contextlib import contextmanager

import pytest
import torch

from course.training.server import push_reader as module
from course.training.server.push_reader import PushReader
from course.training.server.reply_slots import ReplySlot, ReplySlots
from course.training.transport.layout import Layout
from course.training.transport.wire import Channel
from tests.course.training.transport.test_pipes import crossed, socket_pair

LAYOUT = Layout.of({"w": torch.zeros(1)})
PATIENCE = 20.0


class Shard:
    """A reader, its thread, and for each worker: the worker's end of a connection, and the thread that waits for it.

    A push is kept in `pushed`; when all workers' are there, all are answered, in the reader's thread.
    """

    def __init__(self, workers, piped=False):
        self.slots, self.pushed, self.outcomes, self.version = ReplySlots(workers), {}, {}, 0
        self.reader = PushReader(self.slots, self.push)
        self.threads = [threading.Thread(target=self.reader.run, daemon=True)]
        self.ends, self.reading = [], []
        self.decided_in = []
        for worker in range(workers):
            channels = [Channel(end, PATIENCE) for end in socket_pair()]
            for channel, pipes in zip(channels, crossed() if piped else (None, None), strict=True):
                channel.agree(LAYOUT)
                if pipes:
                    channel.go_over_to(pipes)
            slot = ReplySlot(worker, "s", 1, channels[0].sending, channels[0])
            with self.slots.changed:
                self.slots.occupy(slot)
            self.ends.append(channels[1])
            self.reading.append((channels[0], slot))
            self.threads.append(threading.Thread(target=self.wait, args=(worker, channels[0], slot), daemon=True))
        for thread in self.threads:
            thread.start()

    def push(self, slot, frame, channel):
        self.pushed[slot.worker] = frame.sequence
        self.decided_in.append(threading.current_thread())
        with self.slots.changed:
            if len(self.pushed) == len(self.ends):
                self.version += 1
                for _, waiting in self.reading:
                    if waiting.at_once:
                        waiting.taken = self.pushed[waiting.worker]
                        waiting.put(self.version)
                self.pushed.clear()

    def wait(self, worker, channel, slot):
        try:
            self.outcomes[worker] = self.reader.read(channel, slot)
        except (OSError, ValueError) as error:
            self.outcomes[worker] = error

    def close(self):
        for channel in self.ends:
            channel.close()
        self.reader.close()
        for thread in self.threads:
            thread.join(PATIENCE)
        for channel, _ in self.reading:
            channel.close()
        assert not any(thread.is_alive() for thread in self.threads)


@contextmanager
def shard(workers, piped=False):
    running = Shard(workers, piped)
    try:
        yield running
    finally:
        running.close()


@pytest.mark.parametrize("piped", [False, True])
def test_pushes_of_all_workers_are_read_and_answered_in_one_thread(piped):
    with shard(3, piped) as reader:
        for sequence in (1, 2, 3):
            for end in reader.ends:
                end.send_tensors("PUSH", sequence=sequence)
            for end in reader.ends:
                frame = end.receive()
                assert (frame.kind, frame.number, frame.sequence) == ("PARM", sequence, sequence)
        assert set(reader.decided_in) == {reader.threads[0]}


def test_a_worker_that_has_gone_when_it_is_to_be_answered_does_not_keep_the_answer_from_the_others(monkeypatch):
    with shard(2) as reader:
        reader.ends[0].send_tensors("PUSH", sequence=1)

        def broken(*_, **__):
            raise BrokenPipeError("gone")

        monkeypatch.setattr(reader.reading[0][0], "send_tensors", broken)
        reader.ends[1].send_tensors("PUSH", sequence=1)
        assert reader.ends[1].receive().kind == "PARM"
        reader.threads[1].join(PATIENCE)
        assert isinstance(reader.outcomes[0], ConnectionError)


@pytest.mark.parametrize("end", ["the worker's", "the shard's"])
@pytest.mark.parametrize("piped", [False, True])
def test_a_connection_that_ends_is_given_back(piped, end):
    with shard(2, piped) as reader:
        channel = reader.ends[0] if end == "the worker's" else reader.reading[0][0]
        channel.hang_up()
        reader.threads[1].join(PATIENCE)
        assert isinstance(reader.outcomes[0], ConnectionError) and 1 not in reader.outcomes


def test_another_frame_goes_to_the_connections_own_thread_and_heartbeats_to_nobody():
    with shard(1) as reader:
        reader.ends[0].send("BEAT")
        reader.ends[0].send("FAIL", payload=b"no")
        reader.threads[1].join(PATIENCE)
        assert (reader.outcomes[0].kind, reader.outcomes[0].payload) == ("FAIL", b"no")


def test_a_frame_that_comes_in_parts_is_read_whole():
    with shard(1) as reader:
        parts = []
        reader.ends[0]._send = parts.append  # what would have been sent
        reader.ends[0].send_tensors("PUSH", sequence=7)
        for at in range(len(parts[0])):
            reader.ends[0].connection.sendall(parts[0][at : at + 1])
        assert reader.ends[0].receive().sequence == 7


def test_at_the_end_who_waits_is_told_at_once_and_who_computes_when_it_has_pushed():
    with shard(2) as reader:
        reader.ends[0].send_tensors("PUSH", sequence=1)
        while not reader.pushed:
            threading.Event().wait(0.001)
        with reader.slots.changed:
            reader.slots.end("stopped")
        reader.threads[1].join(PATIENCE)
        assert reader.outcomes == {0: None}
        reader.ends[1].send_tensors("PUSH", sequence=1)
        reader.threads[2].join(PATIENCE)
        assert reader.outcomes == {0: None, 1: None}


def test_a_worker_that_says_nothing_is_told_as_silent_and_one_that_waits_for_its_answer_is_not(monkeypatch):
    monkeypatch.setattr(module, "WIRE_SILENCE", 0.3)
    monkeypatch.setattr(module, "_LOOK_EVERY", 0.05)
    with shard(2) as reader:
        reader.ends[0].send_tensors("PUSH", sequence=1)
        reader.threads[2].join(PATIENCE)
        assert isinstance(reader.outcomes[1], TimeoutError) and 0 not in reader.outcomes


def test_what_the_decision_raises_goes_to_the_thread_of_the_push(monkeypatch):
    with shard(1) as reader:

        def broken(*_):
            raise ValueError("planted")

        monkeypatch.setattr(reader.reader, "_push", broken)
        reader.ends[0].send_tensors("PUSH", sequence=1)
        reader.threads[1].join(PATIENCE)
        with pytest.raises(ValueError, match="planted"):
            raise reader.outcomes[0]
