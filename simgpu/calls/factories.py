"""Making a new tensor on a simulated device: torch's factory runs on the CPU, its results go to the device."""

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from simgpu.calls.moves import move
from simgpu.messages import not_dense
from simgpu.ops import cost
from simgpu.ops.call import Call
from simgpu.ops.declarations import plan_of
from simgpu.ops.dispatch import drawn
from simgpu.ops.results import make_room, put
from simgpu.ops.tensor import SimulatedTensor
from simgpu.state import Simulation

_CPU = torch.device("cpu")
_push = torch._C._push_on_torch_dispatch_stack
_depth = torch._C._len_torch_dispatch_stack


def make(func: Callable, args: tuple, kwargs: dict, where: torch.device, simulation: Simulation) -> Any:
    """Return what `func`, which takes a `device`, makes on `where`."""
    options = {**kwargs, "device": _CPU}
    if options.pop("pin_memory", False):
        raise RuntimeError("Only dense CPU tensors can be pinned")
    with _below(_Making(where, simulation)), torch._C.DisableTorchFunctionSubclass():
        made = func(*args, **options)
    if isinstance(made, SimulatedTensor) or not isinstance(made, torch.Tensor):
        return made
    if made.layout != torch.strided:
        raise NotImplementedError(not_dense(made.layout))
    needs_gradient = made.requires_grad  # it shares memory with NumPy, or an op's `out`: nothing was dispatched
    return move(made.detach(), where).requires_grad_(needs_gradient)


def make_inside(func: Callable, args: tuple, kwargs: dict, where: torch.device, simulation: Simulation) -> Any:
    """Return what `func` gives when the tensors that it makes for itself, on the C++ device, are put on `where`."""
    with _below(_Making(where, simulation)), torch._C.DisableTorchFunctionSubclass():
        return func(*args, **kwargs)


@contextmanager
def _below(mode):
    """Within the `with`, `mode` sees each op last: a log that the program entered sees it, and its result, first."""
    above = [_pop() for _ in range(_depth())]
    _stack([mode, *reversed(above)])
    try:
        yield
    finally:
        above = [_pop() for _ in range(_depth())]
        _stack(reversed(above[:-1]))


def _pop():
    return torch._C._pop_torch_dispatch_stack(None)


def _stack(modes):
    for mode in modes:
        _push(mode)


class _Making(TorchDispatchMode):
    """Puts what an op makes on `where`."""

    def __init__(self, where, simulation):
        self.where = where
        self.simulation = simulation

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # torch's default loads its compiler

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        plan = plan_of(func)
        if SimulatedTensor in types and not plan.device:
            return func(*args, **kwargs)
        call = Call(SimulatedTensor, plan)
        inner = [call.numbers_of(value) for value in args]
        call.where, call.simulation = self.where, self.simulation
        make_room(func, plan, inner, kwargs, self.where, self.simulation)
        made = drawn(func, plan, inner, kwargs, call) if plan.random else func(*inner, **kwargs)
        if not isinstance(made, torch.Tensor) or made.layout != torch.strided:
            return made
        clock, index = self.simulation.clock, self.where.index
        if func is torch.ops.aten.lift_fresh.default:  # Python's numbers, gathered on the host
            clock.copy(None, index, made.nbytes)
        elif not plan.view:
            clock.run(index, cost.work_of(func, inner, kwargs, made), plan.name)
        return put(SimulatedTensor, made, self.where, self.simulation)
