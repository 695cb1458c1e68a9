"""Ops that read on one device and write on another: `.to` and `.copy_` as they are dispatched, and `.item()`."""

from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload

from simgpu.memory.host import is_pinned, mark
from simgpu.ops.backward_formulas import in_formula
from simgpu.ops.declarations import OpPlan
from simgpu.ops.device_mismatch import gradient_goes_back
from simgpu.ops.flops_and_bytes import work_of
from simgpu.ops.results import put
from simgpu.state import opened


def to_copy(cls: type, func: OpOverload, plan: OpPlan, args: tuple, kwargs: dict) -> Tensor:
    """Copy to another device or dtype."""
    source = args[0]
    simulation = opened(source.simulation)
    target = kwargs.get("device") or source.where
    if target.type == "cpu" and not hasattr(source, "leaves"):
        target = source.where  # C++ says so when it means a tensor's device: it knows no other
    if target.type not in ("cuda", "cpu"):
        return func(source.numbers, **kwargs)
    options = {name: value for name, value in kwargs.items() if name not in ("device", "non_blocking", "pin_memory")}
    if target.type == "cuda":
        target = simulation.place(target)
        simulation.memory.check_room(target.index, source.numbers.nbytes)
    numbers = func(source.numbers, **options)
    on_host = source.numbers if target.type == "cuda" else numbers
    non_blocking = kwargs.get("non_blocking", False)
    if target.type == "cpu" and non_blocking:
        mark(numbers)  # torch then takes pinned memory for what comes: TensorConversions.cpp, pin_out
    result = put(numbers, target, simulation) if target.type == "cuda" else numbers
    capture = None if simulation.as_usual else _capture(simulation, source.where, target)
    work = work_of(func, [source.numbers], options, numbers) if target == source.where else None
    if capture is not None:
        part = _part(capture, work, source.where, target, on_host, numbers.nbytes, non_blocking, plan.name)
        capture.add(lambda plain: (func(plain, **options), None), (source.numbers,), numbers, result, (source,), part)
    elif work is not None:
        simulation.clock.run(target.index, work, plan.name)
    else:
        _spend(simulation, source.where, target, on_host, numbers.nbytes, non_blocking)
    return result


def copy_(cls: type, func: OpOverload, plan: OpPlan, args: tuple, kwargs: dict) -> Tensor:
    """Write one tensor's numbers into another, wherever the two lie."""
    target, source = args[0], args[1]
    if not isinstance(source, Tensor):  # a number, which C++ has taken for a tensor of the host
        source = torch.tensor(source, device="cpu")
    simulation = opened((source if type(source) is cls else target).simulation)
    if target.device != source.device:
        gradient_goes_back(source)
    to, origin = (_numbers(cls, tensor) for tensor in (target, source))
    capture = None if simulation.as_usual else _capture(simulation, target.device, source.device)
    if capture is not None:
        capture.write(to)
    func(to, origin)
    stays = target.device == source.device or in_formula()
    device = target.device if type(target) is cls else source.device
    work = work_of(func, [to, origin], {}, to) if stays else None
    non_blocking = args[2] if len(args) > 2 else kwargs.get("non_blocking", False)
    on_host = origin if source.device.type == "cpu" else to
    if capture is not None:
        part = _part(capture, work, source.device, target.device, on_host, origin.nbytes, non_blocking, plan.name)
        capture.add(lambda to, origin: (func(to, origin), None), (to, origin), target, target, (target,), part)
    elif work is not None:
        simulation.clock.run(device.index, work, plan.name)
    else:
        _spend(simulation, source.device, target.device, on_host, origin.nbytes, non_blocking)
    return target


def item(cls: type, func: OpOverload, plan: OpPlan, args: tuple, kwargs: dict) -> Any:
    """Read the one number of a tensor: the host waits for it."""
    source = args[0]
    opened(source.simulation).clock.copy(source.where.index, None, source.element_size(), name="item")
    return func(source.numbers)


def _spend(simulation, source, target, on_host, nbytes, non_blocking):
    pinned = "cpu" in (source.type, target.type) and is_pinned(on_host)
    simulation.clock.copy(source.index, target.index, nbytes, pinned, not non_blocking)


def _capture(simulation, *devices):
    """Return the capture of a CUDA graph in which a copy between `devices` goes, or None."""
    indices = [device.index for device in devices if device.type == "cuda"]
    return next(filter(None, map(simulation.context.captured, indices)), None)


def _part(capture, work, source, target, on_host, nbytes, non_blocking, name):
    """Return what a captured copy takes of its device: engine, seconds, name. Refused if the host waits for it."""
    if work is not None:
        return "compute", capture.simulation.model.seconds(work), name
    if "cpu" in (source.type, target.type) and not (non_blocking and is_pinned(on_host)):
        capture.refuse_wait()
    way = "copy in" if source.type == "cpu" else "copy out"
    return way, capture.simulation.clock.seconds_of_copy(source.index, target.index, nbytes, pinned=True), "copy"


def _numbers(cls, tensor):
    if type(tensor) is not cls:
        return tensor
    opened(tensor.simulation)
    return tensor.numbers
