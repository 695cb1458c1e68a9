"""A small program placed op by op: what moves, how long it would take, and which placement would take least.

`explore` runs the program on simulated GPUs. `replay` keeps only the clock, by the rules that the run follows; it is a
hundred times as fast, so `best` can try every placement. Tests hold the two together, and with them the page's own
clock, which gets its `figures` from here.
"""

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from typing import Any

import torch
from torch.nn.functional import mse_loss
from torch.utils._python_dispatch import TorchDispatchMode

from course.devices.names import name_of
from course.devices.placement import place
from course.devices.simulated import model_for, simulated_gpus
from simgpu import DeviceModel, ModelledClock, Work, active, work_of

CPU = "/cpu:0"
DEVICES = (CPU, "/gpu:0", "/gpu:1")
ROWS, RESULTS = 256, 16  # of the input, of the output
CPU_TRACE = "epyc-2-cores"  # its speeds stand for the CPU's: the same for every reader


@dataclass(frozen=True)
class Step:
    """One line of the program, `makes = code`: a `function` of the values in `reads`."""

    makes: str
    code: str
    reads: tuple[str, ...]
    function: Callable


#: A gated layer, a product and a loss. `x`, `w`, `v`, `u` and `t` lie on the CPU, and the loss is read there.
PROGRAM = (
    Step("a", "x @ w", ("x", "w"), torch.matmul),
    Step("b", "x @ v", ("x", "v"), torch.matmul),
    Step("r", "relu(b)", ("b",), torch.relu),
    Step("h", "a * r", ("a", "r"), torch.mul),
    Step("y", "h @ u", ("h", "u"), torch.matmul),
    Step("loss", "mse(y, t)", ("y", "t"), mse_loss),
)


@dataclass(frozen=True)
class Move:
    """`value` went from device `origin` to `target`, `nbytes` of it, for the step that makes `reader`."""

    value: str
    reader: str
    origin: str
    target: str
    nbytes: int


@dataclass(frozen=True)
class Exploration:
    """The cost of one placement: its `moves`, and modelled `seconds` with the clock's `spans` that they consist of.

    `placement` names a device for each step; `loss` is the program's result, None where only the clock ran;
    `label` says what the seconds are.
    """

    placement: tuple[str, ...]
    moves: tuple[Move, ...]
    seconds: float
    spans: tuple
    label: str
    loss: float | None = None

    @property
    def bytes_moved(self) -> int:
        """The bytes of all moves."""
        return sum(move.nbytes for move in self.moves)


def explore(placement: Sequence[str], width: int, model: "str | DeviceModel" = "H200") -> Exploration:
    """Run the program as `placement` says, on simulated GPUs, and return its `Exploration`.

    `placement` has one of `DEVICES` for each step, `width` is the size of the square factors `w` and `v`. Runs on the
    simulated GPUs that are active, with a clock of its own for the while; where none are, on two that are closed at
    the end. Raises ValueError for a placement of another length, or with a device that is not there.
    """
    model = model_for(model)
    values, costs, moves = dict(_inputs(width)), _costs(width), []
    with _gpus(model) as gpus:
        _check(placement, gpus.count)
        for step, device in zip(PROGRAM, placement, strict=True):
            read = [values[name] for name in step.reads]
            moves += _moves(step, [name_of(value.device) for value in read], device, [v.nbytes for v in read])
            with place(device):
                values[step.makes] = step.function(*read)
            if device == CPU:
                gpus.clock.spend(_cpu_seconds(costs[step.makes][0]), step.code)
        moves += _moves(READ, [name_of(values["loss"].device)], CPU, [values["loss"].nbytes])
        loss = values["loss"].item()
        clock = gpus.clock
    return Exploration(tuple(placement), tuple(moves), clock.host, tuple(clock.spans), _label(model), loss)


#: The end of the program: the loss is read into Python.
READ = Step("read", "item()", ("loss",), torch.Tensor.item)


def replay(placement: Sequence[str], width: int, model: "str | DeviceModel" = "H200") -> Exploration:
    """Return the `Exploration` of `placement` by its clock alone: nothing is computed, no simulation is needed."""
    _check(placement)
    model, costs, moves = model_for(model), _costs(width), []
    clock = ModelledClock(model, len(DEVICES) - 1)
    where = {step.makes: device for step, device in zip(PROGRAM, placement, strict=True)}
    for step, device in zip((*PROGRAM, READ), (*placement, CPU), strict=True):
        sizes = [costs[name][1] for name in step.reads]
        needed = _moves(step, [where.get(name, CPU) for name in step.reads], device, sizes)
        for move in needed:
            clock.copy(_index(move.origin), _index(move.target), move.nbytes)
        moves += needed
        if step is READ:
            break
        work = costs[step.makes][0]
        if device == CPU:
            clock.spend(_cpu_seconds(work), step.code)
        else:
            clock.run(_index(device), work, step.code)
    return Exploration(tuple(placement), tuple(moves), clock.host, tuple(clock.spans), _label(model))


@lru_cache(maxsize=64)
def best(width: int, model: str = "H200") -> Exploration:
    """Return the `Exploration` of the placement that takes least modelled time, of all on the CPU and two GPUs.

    Among equals, the one that uses the CPU most.
    """
    every = product(DEVICES, repeat=len(PROGRAM))
    # the two GPUs are the same: what begins on the second is what begins on the first, with their names exchanged
    distinct = (where for where in every if "/gpu:1" not in where or "/gpu:0" in where[: where.index("/gpu:1")])
    return min((replay(placement, width, model) for placement in distinct), key=lambda exploration: exploration.seconds)


def figures(width: int, model: "str | DeviceModel" = "H200") -> dict[str, Any]:
    """Return what `replay` reckons with, as plain values, seconds and bytes: `placed.js` says which."""
    model, costs = model_for(model), _costs(width)
    works = {step.makes: costs[step.makes][0] for step in PROGRAM}
    return {
        "bytes": {name: nbytes for name, (_, nbytes) in costs.items()},
        "launch": model.launch,
        "latency": model.copy_latency,
        "pageable": model.copy_bandwidth_pageable,
        "direct": model.copy_bandwidth,
        "work": {makes: [_cpu_seconds(work), model.seconds(work)] for makes, work in works.items()},
    }


def _check(placement, gpus=2):
    devices = DEVICES[: gpus + 1]
    if len(placement) != len(PROGRAM) or not set(placement) <= set(devices):
        raise ValueError(
            f"placement={tuple(placement)}: the program has {len(PROGRAM)} steps; give each one a device of "
            f"{', '.join(devices)}."
        )


@contextmanager
def _gpus(model):
    """Give the active simulated GPUs, or two for the while; their clock is a new one."""
    gpus = active()
    if gpus is None:
        with simulated_gpus(len(DEVICES) - 1, model) as gpus:
            yield gpus
        return
    own, gpus.clock = gpus.clock, ModelledClock(model, gpus.count)  # a lesson's own clock stands still
    try:
        yield gpus
    finally:
        gpus.clock = own


@lru_cache(maxsize=2)  # drawing them takes longer than a run of the program
def _inputs(width, device="cpu"):
    """Return name -> tensor, float32, on the CPU (or on meta), the same numbers every time."""
    generator = None if device == "meta" else torch.Generator().manual_seed(1)
    square = (width, width)
    shapes = {"x": (ROWS, width), "w": square, "v": square, "u": (width, RESULTS), "t": (ROWS, RESULTS)}
    return {n: torch.randn(shape, generator=generator, device=device) / shape[-1] ** 0.5 for n, shape in shapes.items()}


@cache
def _costs(width):
    """Return name -> (its step's `Work`, bytes of its value), inputs included, found on shapes alone."""
    values = dict(_inputs(width, "meta"))
    costs = {name: (Work(0, 0), value.nbytes) for name, value in values.items()}
    for step in PROGRAM:
        with _Counting() as counting:
            values[step.makes] = step.function(*(values[name] for name in step.reads))
        costs[step.makes] = counting.work, values[step.makes].nbytes
    return costs


class _Counting(TorchDispatchMode):
    """Keeps the `Work` of the one op that runs inside and computes something."""

    work = Work(0, 0)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        work = work_of(func, args, kwargs or {}, result)
        self.work = work if work.bytes else self.work
        return result


def _moves(step, places, device, sizes):
    """Return the `Move`s that `step` needs on `device`, its inputs lying on `places`; each value moves once."""
    inputs = zip(step.reads, places, sizes, strict=True)
    moves = {value: Move(value, step.makes, origin, device, n) for value, origin, n in inputs if origin != device}
    return list(moves.values())


def _index(device):
    return None if device == CPU else int(device.rpartition(":")[2])


@cache
def _cpu_model():
    return model_for(CPU_TRACE)


def _cpu_seconds(work):
    return _cpu_model().launch + _cpu_model().seconds(work)


def _label(model):
    return f"modelled: GPU {model.origin}; CPU {_cpu_model().origin}"
