"""GPUs for a check: the machine's own where it has enough, else the notebook's simulated ones, else new ones."""

from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import torch

from course.devices.log import PlacementLog, log_placement


@dataclass(frozen=True)
class Watched:
    """The record of a watched answer: `log` has its ops, in order, and no op of the check itself."""

    log: PlacementLog

    def computed(self, device: str) -> list:
        """Return the records of ops that computed something on `device`: no copies between devices, no views."""
        return [r for r in self.log if r.device == device and not r.view and not r.bytes_moved and _makes_numbers(r)]

    def moved(self, target: str | None = None) -> int:
        """Return the bytes that moved to `target`, or anywhere."""
        return sum(r.bytes_moved for r in self.log if target is None or _goes_to(r) == target)


def watched(count: int) -> Callable[[], AbstractContextManager]:
    """Return a watch for an `Exercise` whose answer needs `count` GPUs; its record is a `Watched`."""

    def run(answer, arguments):
        torch.manual_seed(0)
        with log_placement() as log:
            got = answer(*arguments)
        return got, Watched(log)

    @contextmanager
    def watch():
        with gpus_for(count):
            yield run

    return watch


def gpus_for(count: int) -> AbstractContextManager:
    """Return a context in which `cuda:0` … `cuda:count-1` are there.

    They are the machine's own or the active simulation's where those suffice. Otherwise a simulation lives as long as
    the context. Raises RuntimeError when a simulation with fewer GPUs is active.
    """
    from course.devices import simulated_gpus
    from simgpu import active

    running = active()
    if running is None:
        return nullcontext() if torch.cuda.device_count() >= count else simulated_gpus(count)
    if running.count < count:
        raise RuntimeError(
            f"this exercise needs {count} GPUs and {running!r} has {running.count}; close it with .close(), "
            f"and the check starts its own."
        )
    return nullcontext()


def modelled_gpu() -> AbstractContextManager:
    """Return a context in which simulated GPUs are active, whatever the machine has."""
    from course.devices import simulated_gpus
    from simgpu import active

    return nullcontext() if active() else simulated_gpus(1)


def _makes_numbers(record):
    return any(all(length > 0 for length in shape) for shape in record.made)


def _goes_to(record):
    # `.item()` reads one number to the CPU: its record stands on the device it was read from
    return record.device if record.made else "/cpu:0"
