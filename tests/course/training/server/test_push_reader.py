"""Pushes in short frames: one thread reads and answers all, and hands back a connection that needs more than that."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
import torch

from course.training.server import push_reader as module
from course.training.server.push_reader import PushReader
from course.training.server.reply_slots import ReplySlot, ReplySlots
from course.training.transport.layout import Layout
from course.training.transport.wire import Channel
from tests.course.training.transport.test_pipes import crossed, socket_pair
from tests.helpers.shells import eventually

LAYOUT = Layout.of({"w": torch.zeros(1)})
PATIENCE = 20.0


class Reading:
    """A reader in a thread; for each worker its end of a connection, its slot, and the future of what `read` returns.

    A push is kept in `pushed`; when all workers' are there, all are answered, in the reader's thread.
    """

    def __init__(self, workers, piped=False):
        self.slots, self.pushed, self.version, self.decided_in = ReplySlots(workers), {}, 0, []
        self.reader = PushReader(self.slots, self.push)
        self.threads = ThreadPoolExecutor(1 + workers)
        self.threads.submit(self.reader.run)
        self.ends, self.waiting, self.reads = [], [], []
        for worker in range(workers):
            mine, theirs = [Channel(end, PATIENCE) for end in socket_pair()]
            for channel, pipes in zip((mine, theirs), crossed() if piped else (None, None), strict=True):
                channel.agree(LAYOUT)
                if pipes:
                    channel.go_over_to(pipes)
            slot = ReplySlot(worker, "s", 1, mine.sending, mine)
            with self.slots.changed:
                self.slots.occupy(slot)
            self.ends.append(theirs)
            self.waiting.append(slot)
            self.reads.append(self.threads.submit(self.reader.read, mine, slot))

    def push(self, slot, frame, channel):
        self.pushed[slot.worker] = frame.sequence
        self.decided_in.append(threading.current_thread())
        with self.slots.changed:
            if len(self.pushed) == len(self.ends):
                self.version += 1
                for waiting in self.waiting:
                    if waiting.at_once:
                        waiting.taken = self.pushed[waiting.worker]
                        waiting.put(self.version)
                self.pushed.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for channel in self.ends:
            channel.close()
        self.reader.close()
        self.threads.shutdown()
        for slot in self.waiting:
            slot.channel.close()


@pytest.mark.parametrize("piped", [False, True])
def test_pushes_of_all_workers_are_read_and_answered_in_one_thread(piped):
    with Reading(3, piped) as reading:
        for sequence in (1, 2, 3):
            for end in reading.ends:
                end.send_tensors("PUSH", sequence=sequence)
            for end in reading.ends:
                frame = end.receive()
                assert (frame.kind, frame.number, frame.sequence) == ("PARM", sequence, sequence)
        assert len(set(reading.decided_in)) == 1


def test_a_worker_that_has_gone_when_it_is_to_be_answered_does_not_keep_the_answer_from_the_others(monkeypatch):
    with Reading(2) as reading:
        reading.ends[0].send_tensors("PUSH", sequence=1)

        def broken(*_, **__):
            raise BrokenPipeError("gone")

        monkeypatch.setattr(reading.waiting[0].channel, "send_tensors", broken)
        reading.ends[1].send_tensors("PUSH", sequence=1)
        assert reading.ends[1].receive().kind == "PARM"
        assert isinstance(reading.reads[0].exception(PATIENCE), ConnectionError)


@pytest.mark.parametrize("end", ["the worker's", "the shard's"])
@pytest.mark.parametrize("piped", [False, True])
def test_a_connection_that_ends_is_given_back(piped, end):
    with Reading(2, piped) as reading:
        channel = reading.ends[0] if end == "the worker's" else reading.waiting[0].channel
        channel.hang_up()
        assert isinstance(reading.reads[0].exception(PATIENCE), ConnectionError) and not reading.reads[1].done()


def test_a_frame_that_comes_in_parts_is_read_whole():
    with Reading(1) as reading:
        parts = []
        reading.ends[0]._send = parts.append  # what would have been sent
        reading.ends[0].send_tensors("PUSH", sequence=7)
        for at in range(len(parts[0])):
            reading.ends[0].connection.sendall(parts[0][at : at + 1])
        assert reading.ends[0].receive().sequence == 7


def test_at_the_end_who_waits_is_told_at_once_and_who_computes_when_it_has_pushed():
    with Reading(2) as reading:
        reading.ends[0].send_tensors("PUSH", sequence=1)
        eventually(lambda: reading.pushed)
        with reading.slots.changed:
            reading.slots.end("stopped")
        assert reading.reads[0].result(PATIENCE) is None and not reading.reads[1].done()
        reading.ends[1].send_tensors("PUSH", sequence=1)
        assert reading.reads[1].result(PATIENCE) is None


def test_a_worker_that_says_nothing_is_told_as_silent_and_one_that_waits_for_its_answer_is_not(monkeypatch):
    monkeypatch.setattr(module, "_LOOK_EVERY", 0.05)
    with Reading(2) as reading:
        reading.ends[0].send_tensors("PUSH", sequence=1)
        eventually(lambda: reading.pushed)
        monkeypatch.setattr(module, "WIRE_SILENCE", 0.3)
        error = reading.reads[1].exception(PATIENCE)
        assert isinstance(error, TimeoutError) and str(error) == "nothing heard" and not reading.reads[0].done()


def test_what_the_decision_raises_goes_to_the_thread_of_the_push(monkeypatch):
    with Reading(1) as reading:

        def broken(*_):
            raise ValueError("planted")

        monkeypatch.setattr(reading.reader, "_push", broken)
        reading.ends[0].send_tensors("PUSH", sequence=1)
        with pytest.raises(ValueError, match="planted"):
            reading.reads[0].result(PATIENCE)


def test_a_connection_that_comes_when_the_reader_has_ended_is_given_back():
    with Reading(0) as reading:
        reading.reader.close()
        eventually(lambda: reading.reader._mine.fileno() == -1)  # its thread has ended
        mine, theirs = [Channel(end, PATIENCE) for end in socket_pair()]
        with closing(mine), closing(theirs), pytest.raises(ConnectionError, match="the shard has closed"):
            reading.reader.read(mine, ReplySlot(0, "s", 1, {}, mine))
