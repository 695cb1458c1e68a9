"""Stopwatches for one CUDA device: its own events, and the host's clock. On a simulated device both are modelled."""

import time
from collections.abc import Callable, Sequence
from statistics import median, quantiles
from typing import Any, NamedTuple

import torch
from torch import Tensor

from simgpu.ops.results import put
from simgpu.state import active

_FIRST, _LARGEST = 2**20, 2**30  # bytes copied to keep the device busy while the host queues what is timed


class Spread(NamedTuple):
    """The `median` of `repeats` seconds of one call, and the width of their middle half, `iqr`."""

    median: float
    iqr: float
    repeats: int


def spread(seconds: Sequence[float]) -> Spread:
    """Return the `Spread` of some seconds.

    >>> spread([3.0, 1.0, 2.0])
    Spread(median=2.0, iqr=2.0, repeats=3)
    """
    low, _, high = quantiles(seconds) if len(seconds) > 1 else [seconds[0]] * 3
    return Spread(median(seconds), high - low, len(seconds))


class Stopwatch:
    """Times calls on `device`, each `repeats` times after one to warm up a real one, until `limit` seconds are over.

    `most`: how many calls are made in a row, where a row says more than a call. `simulated` says whether the seconds
    are modelled. Every wait raises TimeoutError when the limit is over.
    """

    def __init__(self, device: torch.device, limit: float, repeats: int, most: int):
        simulation = active()
        self.device = device
        self.simulated = simulation is not None
        self.most = most
        self.ahead = True  # so far the host was never slower than the device
        self._simulation = simulation
        self._host = time.perf_counter if simulation is None else lambda: simulation.clock.host
        self._limit, self._end, self._repeats = limit, time.monotonic() + limit, repeats
        self._busy: Any = ()  # the two ends of the copy that keeps the device busy

    def queued(self, call: Callable[[], object]) -> Spread:
        """Return the host's seconds to queue `call`, one of `most` in a row that start with an idle device."""
        return self._repeated(lambda: self._queued(call, self.most))

    def blocking(self, call: Callable[[], object]) -> Spread:
        """Return the host's seconds for a `call` that waits for its own work, from an idle device on."""
        return self._repeated(lambda: self._queued(call, 1))

    def between_events(self, call: Callable[[], object]) -> Spread:
        """Return the seconds from an event before `call` to one after it, on an idle device."""
        return self._repeated(lambda: self._between(call, 1)[0])

    def on_device(self, call: Callable[[], object], times: int) -> Spread:
        """Return the device's seconds of `call`, one of `times` in a row, all queued while it did something else."""
        call()
        while True:
            seconds, ahead = self._between(call, times, behind=True)
            if ahead or self._nbytes() >= _LARGEST:
                break
            self._keep_busy(4 * self._nbytes())
        self.ahead = self.ahead and ahead
        return self._repeated(lambda: self._between(call, times, behind=True)[0])

    def warm_up(self, call: Callable[[], object], seconds: float) -> None:
        """Keep a real device busy with `call` for `seconds`: one that idles runs at a lower frequency."""
        end = time.monotonic() + (0.0 if self.simulated else seconds)
        while time.monotonic() < end:
            call()
            self.idle()

    def tensor(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """Return random numbers on the device: products of zeros need less power, and are faster than others.

        On a simulated device it has a shape alone, as its numbers are never read.
        """
        tensor = self._empty(shape, dtype)
        return tensor if self.simulated else tensor.normal_()

    def idle(self) -> None:
        """Wait until the device has done all it was given."""
        end = torch.cuda.Event(enable_timing=True)
        with torch.cuda.device(self.device):
            end.record()
        self._wait(end)

    def seconds_left(self) -> float:
        """Return how many seconds of the limit are left; raises TimeoutError when none are."""
        remaining = self._end - time.monotonic()
        if remaining <= 0:
            raise TimeoutError(
                f"calibrate: {self._limit:g} s are over and {self.device} is not done, so nothing is written. "
                "Is it busy with something else? Else give more time: --seconds."
            )
        return remaining

    def _repeated(self, once):
        if not self.simulated:
            once()
        return spread([once() for _ in range(self._repeats)])

    def _queued(self, call, times):
        self.idle()
        start = self._host()
        for _ in range(times):
            call()
        return (self._host() - start) / times

    def _between(self, call, times, behind=False):
        """Return seconds by events, and whether all was queued before the device came to it."""
        self.idle()
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.cuda.device(self.device):
            if behind:
                self._keep_busy(self._nbytes())
                host, target = self._busy
                target.copy_(host, non_blocking=True)
            start.record()
            for _ in range(times):
                call()
            ahead = behind and not start.query()  # to ask takes the host a while
            stop.record()
        self._wait(stop)
        return start.elapsed_time(stop) / 1e3 / times, ahead

    def _nbytes(self):
        return len(self._busy[0]) if self._busy else _FIRST

    def _empty(self, shape, dtype):
        if self._simulation is None:
            return torch.empty(shape, dtype=dtype, device=self.device)
        return put(torch.empty(shape, dtype=dtype, device="meta"), self.device, self._simulation)

    def _keep_busy(self, nbytes):
        if not self._busy or len(self._busy[0]) != nbytes:
            host = torch.empty(nbytes, dtype=torch.uint8, pin_memory=True)
            self._busy = host, self._empty((nbytes,), torch.uint8)

    def _wait(self, event):
        """Wait for an event, but no longer than the limit: a device that hangs must not take the host along."""
        if self.simulated:  # its clock is never late, and only goes on when somebody asks
            event.synchronize()
        while not event.query():
            self.seconds_left()
        self.seconds_left()
