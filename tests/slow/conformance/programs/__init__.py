"""PyTorch programs that move tensors; each yields its results, and the device where CUDA would leave each.

A program is a generator function of a device (or, in `several`, of a list of four). It yields

    (name, result, device)

where `result` is a tensor, a number, a list or dict of these, an `nn.Module` or an optimiser, and `device` the one that
CUDA reports for every tensor in it. On the CPU all devices are the CPU, and a program gives the values to compare with.
Random numbers come from the CPU (`data`), so that all devices start from the same ones. Programs of which only the
numbers are compared are in `tests/simgpu/programs`.
"""

import inspect

from tests.slow.conformance.programs import autograd, modules, optimisers, several, tensors


def _programs(*rooms):
    return {
        f"{room.__name__.rpartition('.')[2]}.{name}": function
        for room in rooms
        for name, function in vars(room).items()
        if inspect.isgeneratorfunction(function)
    }


SINGLE = _programs(autograd, modules, optimisers, tensors)
SEVERAL = _programs(several)
