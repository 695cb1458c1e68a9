"""`measure_life`: generations of the Game of Life, by engine and board."""

from collections.abc import Sequence

import torch

from course import life
from course.timing.device_lookup import find_device
from course.timing.stopwatch import measure
from course.traces import LifeTiming

GENERATIONS = 8  # in one call: the packed engine's own number, so that it doesn't pack for less


def measure_life(
    sides: Sequence[int],
    device: str | torch.device = "/cpu:0",
    engines: Sequence[str] | None = None,
    seconds: float = 0.1,
) -> list[LifeTiming]:
    """Time `GENERATIONS` of a half-full square board of each of `sides`, by engine; return a list of `LifeTiming`.

    `engines` are names of `life.ENGINES`, by default all those that run on the device: the packed one is for the CPU
    only. `seconds` is spent on each figure. Raises ValueError for a device that is not here or an unknown engine.
    """
    place = find_device(device)
    if engines is None:
        engines = [name for name in life.ENGINES if name != "packed" or place.device.type == "cpu"]
    return [_one(engine, side, place, seconds) for engine in engines for side in sides]


def _one(engine, side, place, seconds):
    board = life.random_board(side, side, generator=torch.Generator().manual_seed(side)).to(place.device)
    timing = measure(life.run, board, GENERATIONS, engine, seconds=seconds, at_least=1)
    return LifeTiming(engine, side, side, GENERATIONS, threads=timing.threads, **place.row(timing))
