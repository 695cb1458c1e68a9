"""What a device itself takes for the programs, by its events."""

from collections.abc import Callable, Iterable

import torch

from benchmarks.modelled.modelling import WARM
from benchmarks.modelled.programs import PROGRAMS
from simgpu import active
from simgpu.recording.stopwatch import Spread, Stopwatch


def measured(
    device: torch.device,
    limit: float,
    part: int = 1,
    names: Iterable[str] = tuple(PROGRAMS),
    say: Callable[[str], object] = str,
) -> dict[str, Spread]:
    """Return name -> the `Spread` of a step's seconds between two events on `device`, for each of `names`.

    A simulated device runs each once, as its clock always says the same. Raises TimeoutError after `limit` seconds.
    """
    watch = Stopwatch(device, limit, repeats=1 if active() else 31, most=1)
    found = {}
    for name in names:
        say(name)
        torch.manual_seed(0)
        step = PROGRAMS[name](device, part)
        for _ in range(WARM):
            step()
        found[name] = watch.between_events(step)
        del step
    return found
