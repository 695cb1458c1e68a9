"""The short way for an op that ran before on the same shapes: what it asks of the device is known, and that it fits."""

from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload

from simgpu.models.device_model import Work
from simgpu.ops import cost
from simgpu.ops.declarations import OpPlan
from simgpu.ops.results import put_all

_WORKS: dict[tuple, Work] = {}  # (op, shapes, dtypes, settings) -> `Work`
_SETTINGS = {int, bool, str, type(None), torch.dtype, torch.layout, torch.memory_format}


def run_again(cls: type, func: OpOverload, plan: OpPlan, args: tuple) -> Any:
    """Return what `func` makes of simulated tensors on one device, or None if this way is not open to it."""
    first: Any = None
    inner: list[Any] = []
    key: list[Any] = [plan]  # a plan stands for its op: torch's own objects are slow to look up
    for value in args:
        kind = type(value)
        if kind is cls:
            if first is None:
                first, where = value, value.where
            elif value.where is not where:
                return None
            value = value.numbers
            key += (value.shape, value.dtype)
        elif kind is list and value and type(value[0]) is cls:  # `cat`, `stack`
            first = first if first is not None else value[0]
            where = first.where
            if any(type(one) is not cls or one.where is not where for one in value):
                return None
            value = [one.numbers for one in value]
            key.append(tuple((one.shape, one.dtype) for one in value))
        elif not _noted(value, kind, key):
            return None
        inner.append(value)
    if first is None or first.simulation.closed:
        return None
    if not plan.view:
        work = _WORKS.get(tuple(key))
        if work is None:
            return None
        first.simulation.clock.run(where.index, work, plan.name)
    return put_all(cls, plan, func(*inner), where, first.simulation)


def remember(func: OpOverload, plan: OpPlan, inner: list, made: Any) -> None:
    """Keep what `func` asks of the device for the plain arguments `inner`, of which it made `made`."""
    key: list[Any] = [plan]
    for value in inner:
        kind = type(value)
        if kind is Tensor:
            key += (value.shape, value.dtype)
        elif kind is list and value and type(value[0]) is Tensor:
            key.append(tuple((one.shape, one.dtype) for one in value))
        elif not _noted(value, kind, key):
            return
    if len(_WORKS) > 4096:  # a program whose shapes never repeat must not fill the memory
        _WORKS.clear()
    _WORKS[tuple(key)] = cost.work_of(func, inner, {}, made)


def _noted(value, kind, key):
    """Add a setting to the key; return False for an argument that may change what the op costs in ways not noted."""
    if kind in _SETTINGS:
        key.append(value)
    elif kind is list and all(type(one) is int for one in value):
        key.append(tuple(value))
    else:
        return kind is float  # whose value changes no shape
    return True
