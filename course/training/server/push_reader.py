"""One thread that reads the pushes of all workers whose frames are short, and decides about them one after the other.

A synchronous round of small gradients spends its time on waking threads. Here none is woken for another: whatever has
come meanwhile is read next, and who decides sends the answers. Asynchronous pushes, and those of large gradients, are
faster with a thread each: these work side by side, on the core that has the worker's numbers.
"""

import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from course.training.server.reply_slots import ReplySlot, ReplySlots
from course.training.transport.wire import (
    HANDSHAKE_LIMIT,
    WIRE_HEARTBEAT_EVERY,
    WIRE_SILENCE,
    WIRE_STOOD_STILL,
    Channel,
    Frame,
)

_LOOK_EVERY = WIRE_HEARTBEAT_EVERY / 2  # seconds between two looks for workers that are silent
_AWAKE = 2e-4  # seconds: a small gradient takes as long, and the others, who wait for it, leave the processor free
Push = Callable[[ReplySlot, Frame, Channel], None]


class _Reading:
    """A worker's connection while it is read here, heard `since` then.

    `outcome`: what its own thread, which waits for `over`, gets back.
    """

    def __init__(self, channel: Channel, slot: ReplySlot):
        self.channel, self.slot, self.since = channel, slot, time.monotonic()
        self.over, self.outcome = threading.Event(), None


class PushReader:
    """Reads for `slots`; `push(slot, frame, channel)` is called with each push, in the reader's thread."""

    def __init__(self, slots: ReplySlots, push: Push):
        self._slots, self._push = slots, push
        self._selector, self._new = selectors.DefaultSelector(), deque[_Reading]()
        self._mine, self._wakes = socket.socketpair()
        for end in (self._mine, self._wakes):
            end.setblocking(False)
        self._selector.register(self._mine, selectors.EVENT_READ)
        self._closed = self._ended = False
        slots.on_over = self.wake

    def read(self, channel: Channel, slot: ReplySlot) -> Frame | None:
        """Read the worker's pushes and have them answered, until there is another frame, which is returned.

        None: its last push has no answer, since training is over or another connection has its place; `slots.wait` says
        which. Raises what reading raises: OSError, also after `close`, and TimeoutError for a silent worker.
        """
        reading = _Reading(channel, slot)
        channel.unread_since = time.monotonic()
        channel.wire.settimeout(0.0)
        self._new.append(reading)
        self.wake()
        if self._ended:  # set before its thread looked for the last time: one of the two sees this connection
            self._refuse_new()
        reading.over.wait()
        channel.unread_since = None
        channel.wire.settimeout(WIRE_SILENCE)
        if isinstance(reading.outcome, BaseException):
            raise reading.outcome
        return reading.outcome

    def wake(self) -> None:
        """Have the thread look whether training is over; from any thread."""
        with suppress(OSError):  # it has been told so often that no more fits, or is closed
            self._wakes.send(b"!")

    def close(self) -> None:
        """End the thread, once every connection is gone. Idempotent."""
        self._closed = True
        self.wake()

    def run(self) -> None:
        """Read until `close`: what the thread does."""
        looked = time.monotonic()
        with self._selector, self._mine, self._wakes:
            while not self._closed or self._readings():
                for key, _ in self._arrived():
                    if key.data is None:
                        self._take_news()
                    elif not key.data.over.is_set():  # one before it in the list may have ended training
                        self._read(key.data)
                if time.monotonic() - looked > _LOOK_EVERY:
                    looked = self._look(looked)
        self._ended = True
        self._refuse_new()

    def _arrived(self):
        """Wait for what can be read. The last push of an update is awaited awake: waking takes a part of its time."""
        working = sum(reading.channel.unread_since is not None for reading in self._readings())
        if working == 1 < len(self._readings()):
            until = time.perf_counter() + _AWAKE
            while time.perf_counter() < until:
                if ready := self._selector.select(0):
                    return ready
        return self._selector.select(_LOOK_EVERY)

    def _readings(self):
        keys = self._selector.get_map().values()
        return [key.data for key in keys if key.data and key.fileobj is key.data.channel.wire]

    def _take_news(self):
        with suppress(BlockingIOError):
            self._mine.recv(4096)
        while self._new:
            reading = self._new.popleft()
            reading.slot.at_once = True
            for file in reading.channel.watched:
                self._selector.register(file, selectors.EVENT_READ, reading)
        for reading in self._readings():
            if reading.channel.unread_since is None and self._is_over(reading.slot):
                self._give_back(reading, None)

    def _refuse_new(self):
        """Give back what came after the end."""
        with suppress(IndexError):  # another thread took the last one
            while self._new:
                reading = self._new.popleft()
                reading.outcome = ConnectionError("the shard has closed")
                reading.over.set()

    def _read(self, reading):
        try:
            frame = reading.channel.arrived(HANDSHAKE_LIMIT)
            if frame is None:
                return
            reading.since = time.monotonic()
            if frame.kind == "PUSH":
                reading.channel.unread_since = None
                self._push(reading.slot, frame, reading.channel)
                if self._is_over(reading.slot):
                    self._give_back(reading, None)
            elif frame.kind != "BEAT":
                self._give_back(reading, frame)
        except BaseException as error:  # the connection's own thread says what becomes of it
            self._give_back(reading, error)

    def _is_over(self, slot):
        return self._slots.ended or slot.replaced

    def _look(self, before):
        """Give back whose turn it is and who says nothing; return the time."""
        clock = time.monotonic()
        stood_still = clock - before > _LOOK_EVERY + WIRE_STOOD_STILL
        for reading in self._readings():
            answered = reading.channel.unread_since
            if stood_still or answered is None:
                reading.since = clock  # what came meanwhile has not been read, or nothing was to come
            elif clock - max(reading.since, answered) > WIRE_SILENCE:
                self._give_back(reading, TimeoutError("nothing heard"))
        return clock

    def _give_back(self, reading, outcome):
        for file in reading.channel.watched:
            self._selector.unregister(file)
        with self._slots.changed:  # another thread may be about to answer
            reading.slot.at_once = False
        reading.outcome = outcome
        reading.over.set()
