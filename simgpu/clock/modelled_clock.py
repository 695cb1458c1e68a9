"""The modelled clock: when a host and its GPUs would start and finish each op and copy at the speeds of a model.

Pure Python, no torch and no real seconds: a program's ops and copies are handed to `run` and `copy`, and the same
program always gives the same times. The rules, all of them:

- The host spends `launch` on an op, `copy_latency` on a copy, `CALL` on an event; then it goes on. It waits only in
  `synchronize` (which costs it `synchronise` besides), for a blocking copy, and for one from or to pageable memory.
- A stream does its work in the order in which it was given; streams know of each other by events alone.
- Each device has one engine for ops and one for copies in each direction. Copies therefore overlap with ops and with
  copies the other way. Ops of two streams take turns: each is taken to fill its device, so a second compute stream
  makes no device faster.
- A copy between two devices takes the way out of one and the way into the other, at the speed between devices.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

from simgpu.clock.chart import Span, chart
from simgpu.clock.engine import Engine, common_gap
from simgpu.clock.stream_queue import Booked, OfThread, Queue
from simgpu.models.device_model import DeviceModel
from simgpu.models.op_seconds import Work
from simgpu.units import seconds_in_words

CALL = 1e-6  # seconds the host needs to record or ask an event; without it, a loop that asks would never end
_WAYS = ("copy in", "compute", "copy out")
Place = int | None  # a device's index, None: the host
SPANS = 20_000  # spans; a long training must not fill the memory with its past


class ModelledClock:
    """Modelled seconds of a host and `count` devices of `model` (a `DeviceModel`).

    `host` is the host's time. One lock guards it: threads share the one modelled host, while each thread has its own
    current streams. Nothing here is measured.
    """

    def __init__(self, model: DeviceModel, count: int = 1):
        self.model = model
        self.count = count
        self._lock = threading.RLock()
        self._mine = OfThread()
        self._queues: WeakSet[Queue] = WeakSet()
        self._spans: deque[tuple] = deque(maxlen=SPANS)
        self._seconds_of: dict[Work, float] = {}  # `Work` -> seconds on the device: a program repeats itself
        self._launch = model.launch
        self._set_engines()
        self._defaults = [self._queue(index, 0) for index in range(count)]
        self._streams = 0
        self.resets = 0  # how often the clock was reset: marks of before mean nothing after
        self.host = 0.0
        self.on_wait: Callable[[], None] | None = (
            None  # called whenever the host has waited for an event, or queried one
        )

    def run(self, index: int, work: Work, name: str = "op") -> float:
        """Hand `work` (a `Work`) to the current stream of device `index`; return the device's seconds for it.

        Work of no operations and no bytes (a view) costs nothing.
        """
        seconds = self._seconds_of.get(work)
        if seconds is None:
            if not (work.flops or work.bytes):
                return 0.0
            if len(self._seconds_of) > 4096:
                self._seconds_of.clear()
            seconds = self._seconds_of[work] = self.model.seconds(work)
        mine, launch = self._mine, self._launch
        queue = mine.streams.get(index) or self._defaults[index]
        with self._lock:  # what `_spend` and `_book` do, at a third of their time: this is done for every op
            accepted = self.host
            self.host = host = accepted + launch
            engine = self._compute[index]
            start = engine.take(queue.ready if queue.ready > host else host, seconds, host)
            queue.ready = stop = start + seconds
            self._spans.append(("host", "launch", accepted, host, name, 0))
            self._spans.append((engine.lane, "work", start, stop, name, queue.number))
        mine.last = tuple.__new__(Booked, (launch + seconds, launch))  # in half the time of `Booked(…)`
        return seconds

    def copy(
        self, source: Place, target: Place, nbytes: int, pinned: bool = False, blocking: bool = True, name: str = "copy"
    ) -> float:
        """Copy `nbytes` from device `source` to device `target`, None meaning the host; return the copy's seconds.

        It goes on the current stream of the device, or of both. Between host and device the host waits when `blocking`,
        and always unless the host's memory is `pinned`. A copy within a device is an op that reads and writes.
        """
        if source is None and target is None or not nbytes:
            return 0.0
        indices = [index for index in (source, target) if index is not None]
        engines = [] if source is None else [self._engines[source]["copy out"]]
        engines += [] if target is None else [self._engines[target]["copy in"]]
        seconds = self.seconds_of_copy(source, target, nbytes, pinned)
        if source == target:
            engines = [self._engines[source]["compute"]]
        with self._lock:
            self._spend("launch", self.model.copy_latency, name)
            done = self._book([self.current_stream(index) for index in indices], engines, seconds, "copy", name)
            if len(indices) == 1 and (blocking or not pinned):
                self._wait(done)
        self._mine.last = Booked(self.model.copy_latency + seconds, self.model.copy_latency)
        return seconds

    def seconds_of_copy(self, source: Place, target: Place, nbytes: int, pinned: bool = False) -> float:
        """Return the seconds that a copy takes alone; the arguments are those of `copy`."""
        if source == target:
            return 2 * nbytes / self.model.memory_bandwidth
        if source is not None and target is not None:
            return nbytes / self.model.between_devices
        return nbytes / (self.model.copy_bandwidth if pinned else self.model.copy_bandwidth_pageable)

    def replay(self, index: int, parts: Sequence[tuple[str, float, str]], name: str) -> None:
        """Hand work of known length to the current stream of device `index` with one launch called `name`.

        Each of `parts`, done in their order, is its engine ("compute", "copy in", "copy out"), seconds, and name.
        """
        with self._lock:
            accepted, queue = self.host, self.current_stream(index)
            self._spend("launch", self._launch, name)
            for way, seconds, part in parts:
                self._book([queue], [self._engines[index][way]], seconds, "work" if way == "compute" else "copy", part)
            self._mine.last = Booked(max(queue.ready, self.host) - accepted, self._launch)

    def synchronize(self, index: int | None = None) -> None:
        """Wait: the host's time moves on to when device `index`, or every device, has done all it was given."""
        with self._lock:
            chosen = self._engines if index is None else [self._engines[index]]
            self._wait(max(engine.end for engines in chosen for engine in engines.values()))
            self._spend("host", self.model.synchronise, "synchronise")

    def spend(self, seconds: float, name: str = "host") -> None:
        """Keep the host busy for `seconds` of work of its own."""
        with self._lock:
            self._spend("host", seconds, name)

    def new_stream(self, index: int) -> Queue:
        """Return a further stream of device `index`, idle from now on."""
        with self._lock:
            self._streams += 1
            return self._queue(index, self._streams)

    def default_stream(self, index: int) -> Queue:
        """Return the stream that device `index` starts with."""
        return self._defaults[index]

    def current_stream(self, index: int) -> Queue:
        """Return the stream on which this thread's work for device `index` goes."""
        return self._mine.streams.get(index) or self._defaults[index]

    def use_stream(self, queue: Queue) -> None:
        """Make `queue` this thread's current stream of its device."""
        self._mine.streams = {**self._mine.streams, queue.device: queue}

    @property
    def last(self) -> Booked | None:
        """The `Booked` that this thread handed to a device last, None at first; each is an object of its own."""
        return self._mine.last

    def mark(self, queue: Queue) -> float:
        """Return the moment at which everything now in `queue` is done: what an event records."""
        with self._lock:
            self.host += CALL
            return max(queue.ready, self.host)

    def hold(self, queue: Queue, moment: float) -> None:
        """Let what `queue` is given from now on start at `moment` at the earliest; the host goes on."""
        with self._lock:
            queue.ready = max(queue.ready, moment)

    def wait(self, moment: float) -> None:
        """Wait: the host's time moves on to `moment`."""
        with self._lock:
            self._wait(moment)
            self._spend("host", self.model.synchronise, "synchronise")

    def passed(self, moment: float) -> bool:
        """Return whether `moment` is over; asking takes the host `CALL` seconds, so that asking again helps."""
        with self._lock:
            self.host += CALL
            self._waited()
            return moment <= self.host

    @contextmanager
    def timed(self) -> Iterator["Timed"]:
        """Within the `with`, time what is done by the right stopwatch: idle before, waited for after."""
        self.synchronize()
        timed = Timed(self)
        try:
            yield timed
        finally:
            self.synchronize()
            timed.stop = self.host

    @property
    def spans(self) -> list[Span]:
        """What happened so far (the last 20,000), as a list of `Span` in the order in which it was handed over."""
        with self._lock:
            return [Span(*span) for span in self._spans]

    def reset(self) -> None:
        """Start again at 0 with idle devices; the current streams stay, marks taken before mean nothing any more."""
        with self._lock:
            self._spans.clear()
            self._set_engines()
            for queue in self._queues:
                queue.ready = 0.0
            self.host, self.resets = 0.0, self.resets + 1

    def spans_between(self, since: float, until: float) -> list[Span]:
        """Return the spans of the last 20,000 that lie, in part at least, between two moments in modelled seconds."""
        return [span for span in self.spans if span.stop > since and span.start < until]

    def picture(self, title: str = "", since: float = 0.0, until: float = float("inf")) -> Any:
        """Return a picture of the lanes between two moments in modelled seconds: who was busy, and with what."""
        return chart(self.spans_between(since, until), title, self.model.label)

    def _set_engines(self):
        self._engines = [{way: Engine(f"gpu:{index} {way}") for way in _WAYS} for index in range(self.count)]
        self._compute = [engines["compute"] for engines in self._engines]

    def _queue(self, index, number):
        queue = Queue(index, number)
        self._queues.add(queue)
        return queue

    def _spend(self, kind, seconds, name):
        start, self.host = self.host, self.host + seconds
        if seconds:
            self._spans.append(("host", kind, start, self.host, name, 0))

    def _book(self, queues, engines, seconds, kind, name):
        """Put work at the first moment that is free for its streams and its engines; return when it is done."""
        for engine in engines:
            engine.forget(self.host)
        earliest = max(self.host, *(queue.ready for queue in queues))
        start = common_gap(engines, earliest, seconds)
        for engine in engines:
            engine.book(start, seconds)
            self._spans.append((engine.lane, kind, start, start + seconds, name, queues[0].number))
        for queue in queues:
            queue.ready = start + seconds
        return start + seconds

    def _wait(self, moment):
        if moment > self.host:
            self._spans.append(("host", "wait", self.host, moment, "wait", 0))
            self.host = moment
        self._waited()

    def _waited(self):
        if self.on_wait is not None:
            self.on_wait()

    def __repr__(self):
        return f"ModelledClock({self.count} × {self.model.name}, {self.model.label})"


class Timed:
    """A stretch of modelled time: `seconds` from `start` to `stop`; its repr says after which model."""

    def __init__(self, clock: ModelledClock):
        self.clock = clock
        self.start = clock.host
        self.stop: float | None = None  # until the end of the `with`

    @property
    def seconds(self) -> float:
        """Modelled seconds, those up to now while the `with` is still open."""
        return (self.clock.host if self.stop is None else self.stop) - self.start

    def picture(self, title: str = "") -> Any:
        """Return the lanes of this stretch alone as the clock's picture."""
        return self.clock.picture(title, self.start, float("inf") if self.stop is None else self.stop)

    def __repr__(self):
        return f"{seconds_in_words(self.seconds)}, {self.clock.model.label}"
