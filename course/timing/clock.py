"""A clock for each kind of device, which is read only when the device has finished its work.

A GPU takes an op, answers "accepted" and works on. A clock read at that moment times the acceptance. Each clock here
first waits, then reads; the difference of two readings is the work between them.
"""

import time
from collections.abc import Callable

import torch


def clock_for(device: torch.device) -> Callable[[], float]:
    """Return a function without arguments that waits for `device` (a `torch.device`) and returns seconds.

    CUDA: seconds on the GPU's own clock, by events. MPS and other accelerators: the host's clock after a synchronise.
    CPU: the host's clock; a CPU op has finished when it returns.
    """
    if device.type == "cpu":
        return time.perf_counter
    if device.type == "cuda":
        return EventClock(device)

    def read():
        torch.accelerator.synchronize(device)
        return time.perf_counter()

    return read


class EventClock:
    """Seconds on a CUDA device's own clock since this object was made.

    Each reading puts an event behind the work in the current stream, waits for it, and adds the time since the event
    before: adding up in Python keeps microseconds where one float32 count of milliseconds would lose them in a minute.
    For one thread.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.seconds = 0.0
        self.last = self._event()

    def __call__(self) -> float:
        event = self._event()
        self.seconds += self.last.elapsed_time(event) / 1000  # CUDA counts milliseconds
        self.last = event
        return self.seconds

    def _event(self):
        with torch.cuda.device(self.device):
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            event.synchronize()
        return event
