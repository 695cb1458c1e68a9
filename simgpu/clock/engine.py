"""An engine: a part of a device that does one thing at a time. A GPU has three: compute, copies in, copies out."""

from bisect import insort


class Engine:
    """Keeps which stretches of modelled time are taken; `lane` is its name in pictures.

    `end` is when the last booked work is done, in modelled seconds.
    """

    def __init__(self, lane: str):
        self.lane = lane
        self.end = 0.0
        self._taken: list[tuple[float, float]] = []  # (start, stop), rising

    def gap(self, earliest: float, seconds: float) -> float:
        """Return the first moment from `earliest` on at which the engine is idle for `seconds`."""
        if earliest >= self.end:
            return earliest
        start = earliest
        for taken, until in self._taken:
            if start + seconds <= taken:
                break
            start = max(start, until)
        return start

    def book(self, start: float, seconds: float) -> None:
        """Take the engine from `start` for `seconds`; `start` comes from `gap`."""
        stop = start + seconds
        self.end = max(self.end, stop)
        if self._taken and self._taken[-1][1] == start:  # a full queue stays one entry, however long it is
            self._taken[-1] = (self._taken[-1][0], stop)
        else:
            insort(self._taken, (start, stop))

    def take(self, earliest: float, seconds: float, host_time: float) -> float:
        """Take the first gap from `earliest` on and return its start; `host_time` is the host's time, never later."""
        taken = self._taken
        while taken and taken[0][1] <= host_time:
            del taken[0]
        if earliest < self.end:
            start = self.gap(earliest, seconds)
            self.book(start, seconds)
            return start
        self.end = stop = earliest + seconds  # behind all that is booked, as nearly always
        if taken and taken[-1][1] == earliest:
            taken[-1] = (taken[-1][0], stop)
        else:
            taken.append((earliest, stop))
        return earliest

    def forget(self, host_time: float) -> None:
        """Drop what is over by `host_time`: nothing is handed over in the past, so no gap there will be filled."""
        while self._taken and self._taken[0][1] <= host_time:
            del self._taken[0]


def common_gap(engines: list[Engine], earliest: float, seconds: float) -> float:
    """Return the first moment from `earliest` on at which all `engines` are idle for `seconds`."""
    start = earliest
    while True:
        later = max(engine.gap(start, seconds) for engine in engines)
        if later == start:
            return start
        start = later
