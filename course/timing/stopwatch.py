"""`measure(fn, *args)`: the right stopwatch. Warm first, wait for the device, repeat, give a median with its spread."""

from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch.utils.benchmark import Timer

from course.timing.clock import clock_for
from course.timing.where import find_device


@dataclass(frozen=True, repr=False)
class Timing:
    """How long one call takes: `times` in seconds, one a repeat, sorted (a repeat of a short call is many in a row).

    `first_call` is the very first call, in seconds, set-up included; it is not among `times`. `threads` is how many
    CPU threads torch could use, `device` what was waited for.
    """

    times: tuple
    first_call: float
    threads: int
    device: str

    @property
    def median(self):
        """Seconds of the middle repeat."""
        return _quantile(self.times, 0.5)

    @property
    def iqr(self):
        """Seconds between the first and the third quartile: the middle half of the repeats lies within."""
        return _quantile(self.times, 0.75) - _quantile(self.times, 0.25)

    @property
    def repeats(self):
        """How many times were taken."""
        return len(self.times)

    def gflops(self, flops):
        """Return 10⁹ operations a second, for a call of `flops` operations."""
        return flops / self.median / 1e9

    def __repr__(self):
        threads = f"{self.threads} thread{'s' if self.threads != 1 else ''}"
        return f"{in_words(self.median)} ± {in_words(self.iqr)} (median of {self.repeats}, {self.device}, {threads})"


def measure(fn, *args, device=None, threads=None, seconds=0.3, at_least=3, watch=None):
    """Time `fn(*args)` in its steady state and return a `Timing`.

    - `device`: what to wait for, by name (`/gpu:0`, "cuda") or as a `torch.device`; by default where the first tensor
      of `args` lives.
    - `threads`: CPU threads for torch during the measurement (restored after), by default what is set.
    - `seconds`: how long to repeat for; a call that is long is still repeated `at_least` times.
    - `watch(fraction)`: called after the first call and each repeat with how much is done; what it raises ends all.

    The first call is timed apart, one more warms up, then `torch.utils.benchmark` repeats. Raises ValueError for a
    device this machine has not, or for limits below what can be measured.
    """
    if at_least < 1 or seconds <= 0:
        raise ValueError(f"measure(seconds={seconds}, at_least={at_least}): give seconds > 0 and at_least ≥ 1.")
    where = find_device(device, args)
    clock = clock_for(where.device)
    with _threads(threads):
        start = clock()
        fn(*args)
        first_call = clock() - start
        if watch is not None:
            watch(0.0)
        count = torch.get_num_threads()
        timer = Timer("fn(*args)", timer=clock, globals={"fn": fn, "args": args}, num_threads=count)
        # a later call is rarely slower than the first, so one round of this many seconds mostly holds at_least repeats
        enough = max(seconds, (at_least - 0.5) * first_call)
        report, times = _reporter(watch, enough), []
        while len(times) < at_least:
            times += timer.blocked_autorange(report, min_run_time=enough).times
    return Timing(tuple(sorted(times)), first_call, count, where.name)


def in_words(seconds):
    """Return `seconds` with a unit that suits its size.

    >>> in_words(0.0000123), in_words(0.119), in_words(7.0)
    ('12.3 µs', '119 ms', '7.00 s')
    """
    for unit, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale or unit == "µs":
            return f"{f'{seconds / scale:#.3g}'.rstrip('.')} {unit}"


def _reporter(watch, enough):
    """What the benchmark calls after each repeat, so that `watch` hears a fraction; None when nobody watches."""
    if watch is None:
        return None
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


def _quantile(ordered, fraction):
    """Return the value that `fraction` of the sorted values lie below, linear between neighbours (as numpy does)."""
    place = fraction * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
