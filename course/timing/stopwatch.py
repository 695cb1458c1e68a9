"""`measure(fn, *args)`: the right stopwatch. Warm first, wait for the device, repeat, give a median with its spread."""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch.utils.benchmark import Timer

from course.timing.clock import clock_for
from course.timing.device_lookup import find_device
from course.traces.measured_or_modelled import Figure
from course.units import in_words

_SHORT = 100e-6  # seconds; below it, what the host does between two calls would show in a single one
_CALLS = 10


@dataclass(frozen=True, repr=False)
class Timing(Figure):
    """How long one call takes: `times` in seconds, one a repeat, sorted (a repeat of a short call is many in a row).

    `first_call` is the very first call, in seconds, set-up included; it is not among `times`. `threads` is the number
    of CPU threads that torch could use, `device` the device that was waited for.

    `kind` is "measured", or "modelled" of a simulated GPU; `origin` then says on what the model stands.
    """

    times: tuple
    first_call: float
    threads: int
    device: str
    kind: str = "measured"
    origin: str = ""

    @property
    def median(self) -> float:
        """Seconds of the middle repeat."""
        return float(np.quantile(self.times, 0.5))

    @property
    def iqr(self) -> float:
        """Seconds between the first and the third quartile: the middle half of the repeats lies within."""
        return float(np.subtract(*np.quantile(self.times, (0.75, 0.25))))

    @property
    def repeats(self) -> int:
        """The number of times that were taken."""
        return len(self.times)

    def gflops(self, flops: float) -> float:
        """Return 10⁹ operations a second, for a call of `flops` operations."""
        return flops / self.median / 1e9

    def __repr__(self):
        if self.kind != "measured":
            return f"{in_words(self.median)} ({self.label}; {self.device})"
        threads = f"{self.threads} thread{'s' if self.threads != 1 else ''}"
        return f"{in_words(self.median)} ± {in_words(self.iqr)} (median of {self.repeats}, {self.device}, {threads})"


def measure(
    fn: Callable,
    *args: object,
    device: str | torch.device | None = None,
    threads: int | None = None,
    seconds: float = 0.3,
    at_least: int = 3,
    watch: Callable[[float], object] | None = None,
) -> Timing:
    """Time `fn(*args)` in its steady state and return a `Timing`.

    - `device`: what to wait for, by name (`/gpu:0`, "cuda") or as a `torch.device`; by default where the first tensor
      of `args` lives.
    - `threads`: CPU threads for torch during the measurement (restored after), by default what is set.
    - `seconds`: how long to repeat for; a call that is long is still repeated `at_least` times.
    - `watch(fraction)`: called after the first call and each repeat with how much is done; what it raises ends all.

    The first call is timed apart, one more warms up, then `torch.utils.benchmark` repeats. On a device of
    `simulated_gpus` the seconds are modelled ones: the same on every machine, with one repeat and no spread, whatever
    the limits say. Raises ValueError for a device this machine has not, or for limits below what can be measured.
    """
    if at_least < 1 or seconds <= 0:
        raise ValueError(f"measure(seconds={seconds}, at_least={at_least}): give seconds > 0 and at_least ≥ 1.")
    where, watch = find_device(device, args), watch or (lambda fraction: None)
    if where.simulation:
        return _modelled(fn, args, where, watch)
    clock = clock_for(where.device)
    with _threads(threads):
        start = clock()
        fn(*args)
        first_call = clock() - start
        watch(0.0)
        count = torch.get_num_threads()
        timer = Timer("fn(*args)", timer=clock, globals={"fn": fn, "args": args}, num_threads=count)
        usual = first_call
        if first_call > seconds:  # it may have compiled: the second says how long a call is
            start = clock()
            fn(*args)
            usual = min(first_call, clock() - start)
        # a later call is rarely slower, so one round of this many seconds mostly holds at_least repeats
        enough = max(seconds, (at_least - 0.5) * usual)
        report = _reporter(watch, enough)
        times: list[float] = []
        while len(times) < at_least:
            times += timer.blocked_autorange(report, min_run_time=enough).times
    return Timing(tuple(sorted(times)), first_call, count, where.name)


def _modelled(fn, args, place, watch):
    """Return the `Timing` of `fn(*args)` on `place`, a device of a simulation: its modelled clock is read, no real one.

    The steady state is that of a call among many: one runs ahead, so that the device has something to do when the
    watch starts, as a real device in a loop has. A modelled clock has no spread, so a second repeat would tell nothing.
    """
    clock, index = place.simulation.clock, place.device.index
    clock.synchronize(index)
    start = clock.host
    fn(*args)
    clock.synchronize(index)
    first_call = clock.host - start
    watch(0.0)
    calls = _CALLS if first_call < _SHORT else 1
    fn(*args)
    start = _done(clock, index)
    for _ in range(calls):
        fn(*args)
    seconds = (_done(clock, index) - start) / calls
    clock.synchronize(index)
    watch(1.0)
    return Timing((seconds,), first_call, 0, place.name, kind=place.kind, origin=place.origin)


def _done(clock, index):
    """Return the second at which the device has done its work; an event would say so too, but costs the host a call."""
    return max(clock.host, clock.current_stream(index).ready)


def _reporter(watch, enough):
    """Return what the benchmark calls after each repeat, so that `watch` hears a fraction."""
    spent = 0.0

    def report(_, seconds):
        nonlocal spent
        spent += seconds
        watch(min(1.0, spent / enough))

    return report


@contextmanager
def _threads(count):
    """Use `count` threads within; torch keeps this number for the whole process, so it is put back."""
    before = torch.get_num_threads()
    try:
        if count is not None:
            torch.set_num_threads(count)
        yield
    finally:
        torch.set_num_threads(before)
