"""Collectives among processes with simulated GPUs: gloo moves the numbers, the clock counts their bytes."""

import weakref
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.utils._pytree import tree_leaves, tree_map

from simgpu.models.op_seconds import Work
from simgpu.ops.results import put
from simgpu.state import Simulation

#: The spaces of torch's own collectives: those of torch.distributed, and the functional ones that DTensor calls.
SPACES = ("c10d", "_c10d_functional")


def booked(simulation: Simulation, where: torch.device, nbytes: int, name: str) -> None:
    """Count a collective on the clock: the device is busy for as long as its own bytes, sent once, take at the speed of
    copies between devices."""
    model = simulation.model
    simulation.clock.run(where.index, Work(0, nbytes * model.memory_bandwidth / model.between_devices), name)


def run(cls: type, func: OpOverload, args: tuple, kwargs: dict, first: Any) -> Any:
    """Run a collective on the numbers of simulated tensors; `first` is one of them, whose device the results are on."""
    if func.name() == "_c10d_functional::_wrap_tensor_autograd":  # a tensor that waits when it is used: wait at once
        func = torch.ops._c10d_functional.wait_tensor.default
    tensors = [value for value in tree_leaves((args, kwargs)) if type(value) is cls]
    inner, options = tree_map(lambda value: value.numbers if type(value) is cls else value, (args, kwargs))
    result = func(*inner, **options)
    simulation = first.simulation
    booked(simulation, first.where, max(tensor.numbers.nbytes for tensor in tensors), func._schema.name)
    ours = {id(tensor.numbers): tensor for tensor in tensors}
    for tensor in tensors:
        tensor.numbers.of = weakref.ref(tensor)  # a `Work` knows of these only, and a program asks it

    def on_device(value):
        if type(value) is not Tensor:
            return value
        original = ours.get(id(value))
        return put(value, first.where, simulation) if original is None else original

    return tree_map(on_device, result)


def of_work(value: Any) -> Any:
    """Return what a `Work` has made, its plain numbers, as the simulated tensors that it was given."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(of_work, value))
    tensor = getattr(value, "of", None)
    return value if tensor is None or tensor() is None else tensor()
