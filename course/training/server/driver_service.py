"""The driver's connection to a shard: one driver at a time, that of the highest term; without one the shard closes."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from course.training.records import RECORD
from course.training.server.coordinator import Coordinator
from course.training.server.follower import Follower
from course.training.transport.wire import Channel, Pieces

#: For the driver to come to a shard that has just opened.
DRIVER_COMES = 30.0
#: Without a heartbeat of a driver for so long, a shard ends: a debugger may stop all of its threads, a job control the
#: whole process; one that ends closes its connections, which is noticed at once.
DRIVER_SILENCE = 600.0
#: For the log to bring a follower to the place of a snapshot: updates of a large model may come before it.
CUT_COMES = 60.0
#: … that has no hook to tell of steps; shard 0 keeps its answer for so long, or until training has ended.
END_AWAITED = 0.1

_LOG = logging.getLogger(__name__)


class DriverService:
    """Serves the driver of `shard`.

    `connect_followers(endpoints)` has shard 0 connect to the others; `close()` closes the shard when its driver has
    gone. `leaving`: whether this task is told to end, which the driver hears with the next status.
    """

    def __init__(
        self,
        shard: Coordinator | Follower,
        connect_followers: Callable[[Sequence[tuple[str, int]]], None],
        close: Callable[[], None],
    ):
        self._shard, self._connect_followers, self._close = shard, connect_followers, close
        self._lock, self._term = threading.Lock(), 0
        self._channel: Channel | None = None
        self._alone_since, self._allowed = time.monotonic(), DRIVER_COMES
        self.leaving = False

    @property
    def has_driver(self) -> bool:
        """Whether a driver is connected."""
        return self._channel is not None

    def close_if_forsaken(self) -> None:
        """Close the shard when no driver has come, or come back, for too long."""
        with self._lock:
            forsaken = self._channel is None and time.monotonic() - self._alone_since > self._allowed
        if forsaken:
            _LOG.info("no driver has come for %.1f s: the shard closes", self._allowed)
            self._close()

    def refusal(self, term: Any) -> str | None:
        """Return why a driver of this `term` is refused, or None."""
        if isinstance(term, int) and term >= self._term:
            return None
        return f"a driver of term {self._term} leads this training now; term {term} is over."

    def serve(self, channel: Channel, fields: dict[str, Any]) -> None:
        """Answer the driver until its connection ends; an older driver is cut off. `fields`: of its handshake."""
        term = fields["term"]
        with self._lock:
            before, self._channel, self._term = self._channel, channel, term
        if before is not None:
            _LOG.info("a driver of term %d has come: the one before is fenced off", term)
            before.hang_up()  # an older chief: it is refused when it comes again
        channel.connection.settimeout(DRIVER_SILENCE)
        bye = False
        try:
            channel.send("OKAY", payload={"term": term})
            while not bye:
                bye = self._answer(channel, channel.receive())
        finally:
            self._note_left(channel, bye)

    def _note_left(self, channel, bye):
        with self._lock:
            if self._channel is not channel:
                return
            self._channel, self._alone_since, self._allowed = None, time.monotonic(), self._shard.settings.grace
        self._shard.order_copies([], 0)  # the hooks were its own: nobody waits for them now
        if bye or not self._shard.settings.grace:
            self._close()
        else:
            _LOG.info("the driver has gone: the shard waits %.0f s for another", self._allowed)

    def _answer(self, channel, frame):
        """Answer one request of the driver; return whether it was its last."""
        if frame.kind == "POLL":
            self._shard.slots.over.wait(min(frame.value, END_AWAITED))
            status, records = self._shard.poll(frame.number, frame.sequence, frame.text())
            channel.send("STAT", payload=status | {"leaving": self.leaving})
            channel.send("ROWS", payload=numpy.array(records, dtype=RECORD).tobytes())
        elif frame.kind == "SNAP":
            number, state = self._shard.cut(full=bool(frame.number))
            channel.send("CUTS", number, payload=Pieces(state.as_pieces()))
        elif frame.kind == "TAKE":
            state = self._shard.wait_for_cut(frame.number, CUT_COMES)
            channel.send("CUTS", frame.number, payload=Pieces(state.as_pieces()))
        elif frame.kind == "ORDR":
            self._shard.order_copies(*frame.text())
            channel.send("OKAY")
        elif frame.kind == "KEPT":
            copy = self._shard.take_copy(frame.number)
            pieces = copy.snapshot().as_pieces() if copy else [b""]
            channel.send("CUTS", copy.number if copy else 0, payload=Pieces(pieces))
        elif frame.kind == "LINK":
            self._connect_followers(frame.text())
            channel.send("OKAY")
        elif frame.kind == "STOP":
            self._shard.end("stopped")
        return frame.kind == "BYE!"
