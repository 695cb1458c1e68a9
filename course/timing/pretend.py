"""`PretendGPU`: a device on a clock of its own, to see without a GPU why a GPU is hard to time.

It does what every GPU does: it answers "accepted" at once and works on. No arithmetic happens, and its seconds are a
count, the same on every machine; they are never real ones.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """Something busy on `lane` ("host" or "gpu") from `start` to `stop`, in pretend seconds."""

    lane: str
    what: str
    start: float
    stop: float


class PretendGPU:
    """A device with a queue.

    - `launch(seconds)`: hand over work that keeps the GPU busy for `seconds`; returns as soon as it is accepted.
    - `synchronize()`: wait until the queue is empty.
    - `clock()`: the host's clock, in pretend seconds.

    Accepting takes the host `accept` seconds; the first launch also sets the GPU up, which takes `set_up` seconds
    there. Every fifth launch takes twice as long, as something else on a machine always gets in the way. `spans` is
    what happened so far.
    """

    def __init__(self, accept=0.001, set_up=0.5):
        self.accept = accept
        self.set_up = set_up
        self.spans = []
        self._now = 0.0  # the host's time
        self._free = 0.0  # when the queue will be empty
        self._launches = 0

    def launch(self, seconds):
        """Put work of `seconds` on the queue; the host is busy for `accept` seconds only."""
        self._spend("host", "launch", self.accept)
        if self._launches == 0 and self.set_up:
            self._work("set-up", self.set_up)
        self._launches += 1
        self._work("work", seconds * (2 if self._launches % 5 == 0 else 1))

    def synchronize(self):
        """Wait: the host's clock moves on to when the queue is empty."""
        if self._free > self._now:
            self._spend("host", "wait", self._free - self._now)

    def clock(self):
        """Return the host's time in pretend seconds."""
        return self._now

    def _spend(self, lane, what, seconds):
        self.spans.append(Span(lane, what, self._now, self._now + seconds))
        self._now += seconds

    def _work(self, what, seconds):
        start = max(self._now, self._free)
        self._free = start + seconds
        self.spans.append(Span("gpu", what, start, self._free))

    def __repr__(self):
        return f"PretendGPU(accept={self.accept}, set_up={self.set_up})"
