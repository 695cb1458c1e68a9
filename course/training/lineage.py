"""The history that led to the present parameters: records over several incarnations on one clock, and the events."""

import time

import numpy

from course.training.result import RECORD, Event


class Lineage:
    """Records of applied gradients and events, as the session hears of them.

    Every incarnation's server counts seconds from its own start; here they become seconds since the first one's.
    `on_event`: called with each `Event`. `version`: the checkpoint's, where training goes on from one.
    """

    def __init__(self, on_event=lambda event: None, version=0):
        self.events, self.version, self.told = [], version, 0
        self._on_event, self._rows = on_event, []
        self._origin = None  # on our monotonic clock: when the first server's clock was 0
        self._shift = 0.0

    def start(self, seconds):
        """Set the clock by what the present incarnation's server reads now."""
        zero = time.monotonic() - seconds
        self._origin = zero if self._origin is None else self._origin
        self._shift = zero - self._origin

    def add(self, rows):
        """Take the server's new records, an array of `RECORD`; return them with times on our clock."""
        self.told += len(rows)
        if len(rows) == 0:
            return rows
        rows = rows.copy()
        rows["arrived"] += self._shift
        rows["applied"] += self._shift
        self._rows.append(rows)
        self.version = int(rows["step"][-1])
        return rows

    def roll_back(self, version):
        """Forget the updates after `version`: they are lost with the ps that had them."""
        self._rows = [rows[rows["step"] <= version] for rows in self._rows]
        self.version, self.told = version, 0

    def event(self, what, task="", step=None, reason=""):
        """Keep an event that happened now, after `step` updates (default: the last one told)."""
        seconds = 0.0 if self._origin is None else time.monotonic() - self._origin
        self.events.append(Event(seconds, what, task, self.version if step is None else step, reason))
        self._on_event(self.events[-1])

    @property
    def history(self):
        """All records of the lineage, as one array of `RECORD`."""
        return numpy.concatenate(self._rows) if self._rows else numpy.empty(0, RECORD)

    @property
    def seconds(self):
        """Seconds from the start to the last update."""
        last = next((rows for rows in reversed(self._rows) if len(rows)), None)
        return 0.0 if last is None else float(last["applied"][-1])
