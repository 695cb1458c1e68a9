"""The short way for an op that ran before on the same shapes: what it asks of the device is known, and that it fits."""

import torch
from torch import Tensor

from course.devices.simulated import cost
from course.devices.simulated.results import put_all

_WORKS = {}  # (op, shapes, dtypes, settings) -> `Work`
_SETTINGS = {int, bool, str, type(None), torch.dtype, torch.layout, torch.memory_format}


def run_again(cls, func, plan, args):
    """Return what `func` makes of simulated tensors on one device, or None if this way is not open to it."""
    where = simulation = None
    inner, key = [], [func]
    for value in args:
        kind = type(value)
        if kind is cls:
            if where is None:
                where, simulation = value.where, value.simulation
            elif value.where is not where:
                return None
            value = value.numbers
            key += (value.shape, value.dtype)
        elif kind in _SETTINGS:
            key.append(value)
        elif kind is list and _of_integers(value):
            key.append(tuple(value))
        elif kind is not float:  # whose value changes no shape
            return None
        inner.append(value)
    if where is None or simulation.closed:
        return None
    if not plan.view:
        work = _WORKS.get(tuple(key))
        if work is None:
            return None
        simulation.clock.run(where.index, work, plan.name)
    return put_all(cls, plan, func(*inner), where, simulation)


def remember(func, inner, made):
    """Keep what `func` asks of the device for the plain arguments `inner`, of which it made `made`."""
    key = [func]
    for value in inner:
        kind = type(value)
        if kind is Tensor:
            key += (value.shape, value.dtype)
        elif kind in _SETTINGS:
            key.append(value)
        elif kind is list and _of_integers(value):
            key.append(tuple(value))
        elif kind is not float:
            return
    if len(_WORKS) > 4096:  # a program whose shapes never repeat must not fill the memory
        _WORKS.clear()
    _WORKS[tuple(key)] = cost.work_of(func, inner, {}, made)


def _of_integers(values):
    return all(type(value) is int for value in values)
