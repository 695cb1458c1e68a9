"""What a card's model says of the programs: seconds by the clock of simulated GPUs, and what bounds them."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch

import simgpu
from benchmarks.modelled.programs import PROGRAMS
from simgpu import DeviceModel, ModelledClock, Work

WARM = 1  # step before those that count: optimisers make what they keep in the first


class Modelled(NamedTuple):
    """The modelled `seconds` of a step, and what `bound` it: "launch", "memory", "compute" or "copies"."""

    seconds: float
    bound: str


class BoundClock(ModelledClock):
    """A clock that sums up what was asked of host and device, in modelled seconds by kind: `spent`."""

    def __init__(self, model: DeviceModel, count: int = 1):
        super().__init__(model, count)
        self.forget()

    def forget(self) -> None:
        """Begin to sum up anew."""
        self.spent = dict.fromkeys(("launch", "memory", "compute", "copies"), 0.0)

    def run(self, index: int, work: Work, name: str = "op") -> float:
        """Hand `work` to a device as any clock does; what is longer than its reads and writes is bound by compute."""
        seconds = super().run(index, work, name)
        if seconds:
            moving = self.model.seconds(Work(0, work.bytes))
            self.spent["compute" if seconds > moving else "memory"] += seconds
            self.spent["launch"] += self.model.launch
        return seconds

    def copy(self, source: int | None, target: int | None, nbytes: int, *rest: object, **more: object) -> float:
        """Copy as any clock does."""
        seconds = super().copy(source, target, nbytes, *rest, **more)
        if seconds:
            self.spent["copies" if source != target else "memory"] += seconds
            self.spent["launch"] += self.model.copy_latency
        return seconds

    @property
    def bound(self) -> str:
        """What took longest."""
        return max(self.spent, key=lambda kind: self.spent[kind])


class _SimulatedGPUs(simgpu.SimulatedGPUs):
    clock_class = BoundClock


def modelled(
    model: DeviceModel, part: int = 1, names: Iterable[str] = tuple(PROGRAMS), say: Callable[[str], object] = str
) -> dict[str, Modelled]:
    """Return name -> `Modelled` for each of the programs called `names`, on one simulated GPU of `model`."""
    found = {}
    with _SimulatedGPUs(1, model) as gpus:
        for name in names:
            say(name)
            torch.manual_seed(0)
            step = PROGRAMS[name](torch.device("cuda", 0), part)
            for _ in range(WARM):
                step()
            gpus.clock.synchronize()
            gpus.clock.forget()
            with gpus.clock.timed() as timed:
                step()
            found[name] = Modelled(timed.seconds, gpus.clock.bound)
            del step
    return found
