"""The history that led to the present parameters: records over several incarnations, on one clock."""

import time

import numpy

from course.training.result import RECORD


class Lineage:
    """Records of applied gradients, as the session reads them.

    Every incarnation's server counts seconds from its own start; here they become seconds since the first one's.
    `version`: of the last update told (at first of the checkpoint, where training goes on from one); `told`: how many
    records this incarnation's server has told.
    """

    def __init__(self, version=0):
        self.version, self.told = version, 0
        self._rows = []
        self._origin = None  # on our monotonic clock: when the first server's clock was 0
        self._shift, self._set = 0.0, False

    def start(self, seconds):
        """Set the clock by what this incarnation's server reads now, the first time that it reads anything."""
        if seconds is None or self._set:
            return
        zero = time.monotonic() - seconds
        self._origin = zero if self._origin is None else self._origin
        self._shift, self._set = zero - self._origin, True

    def shifted(self, seconds):
        """Return the time that this incarnation's server calls `seconds` on our clock."""
        return seconds + self._shift

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
        self.version, self.told, self._set = version, 0, False

    def now(self):
        """Return the seconds since the first incarnation's start; 0 before it."""
        return 0.0 if self._origin is None else time.monotonic() - self._origin

    @property
    def history(self):
        """All records of the lineage, as one array of `RECORD`."""
        return numpy.concatenate(self._rows) if self._rows else numpy.empty(0, RECORD)

    @property
    def seconds(self):
        """Seconds from the start to the last update."""
        last = next((rows for rows in reversed(self._rows) if len(rows)), None)
        return 0.0 if last is None else float(last["applied"][-1])
