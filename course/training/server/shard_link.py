"""Shard 0's connections to another shard: one on which the order goes out, one on which reports come in."""

import threading

from course.training.server.update_log import Entry, PushId
from course.training.transport.wire import BEAT, connect


class Link:
    """Two connections to the shard at `address`, one for each direction; `hello` says which training.

    `tell` never raises: when the other shard is gone, `listen`, which runs in a thread of its own, ends and says so.
    """

    def __init__(self, address, hello, context=None):
        self._orders = connect(address, {**hello, "role": "orders"}, context)
        try:
            self._reports = connect(address, {**hello, "role": "reports"}, context)
        except BaseException:
            self._orders.close()
            raise
        self._sending = threading.Lock()

    def tell(self, entry):
        """Send one `Entry` of the order."""
        self._send("ORDR", entry.as_json())

    def listen(self, staged, left, ended):
        """Call `staged(PushId)` or `left(PushId)` for each report, `ended(why=…, text=…)` when training must end."""
        try:
            while True:
                told = self._reports.receive().text()
                if isinstance(told, dict) and "left" in told:
                    left(PushId(*told["left"]))
                elif isinstance(told, dict):
                    ended(**told)
                else:
                    staged(PushId(*told))
        except (OSError, ValueError, TypeError) as error:
            ended(why="shard", text=f"shard 0 and it have lost each other: {error}")
        finally:
            self.hang_up()
            with self._sending:
                self._orders.close()
            self._reports.close()

    def beat(self):
        """Say that shard 0 is there."""
        self._send("BEAT", {})

    def hang_up(self):
        """End both connections, which wakes `listen`. Idempotent."""
        self._orders.hang_up()
        self._reports.hang_up()

    def _send(self, kind, payload):
        with self._sending:
            try:
                self._orders.send(kind, payload=payload)
            except (OSError, ValueError):  # ValueError: the connection was closed here
                self.hang_up()  # wakes `listen`, which ends the training; whoever tells holds the shard's lock


class Reporter:
    """The other end of the reports: what a follower's threads tell shard 0."""

    def __init__(self, channel):
        self._channel, self._sending = channel, threading.Lock()

    def __call__(self, told):
        """Send a `PushId`, or a dict (see `Follower`). Raises OSError when shard 0 is gone."""
        with self._sending:
            self._channel.send("TOLD", payload=told)

    def beat_until(self, over):
        """Beat until the event `over` is set, or shard 0 is gone."""
        while not over.wait(BEAT):
            with self._sending:
                self._channel.send("BEAT")


def follow_orders(channel, follow):
    """Call `follow(entry)` for each entry that comes; raises OSError when shard 0 falls silent."""
    while True:
        follow(Entry.from_json(channel.receive().text()))
