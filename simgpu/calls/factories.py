"""Making a new tensor on a simulated device: torch's factory runs on the CPU, its results go to the device."""

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

from simgpu.calls.moves import move
from simgpu.cuda.generators import check_generator
from simgpu.messages import NOT_PINNED, not_dense
from simgpu.ops.call import Call
from simgpu.ops.declarations import plan_of
from simgpu.ops.device_tensor import DeviceTensor
from simgpu.ops.dispatch import carried_out
from simgpu.ops.flops_and_bytes import work_of
from simgpu.ops.results import make_room, put
from simgpu.state import Simulation

_CPU = torch.device("cpu")
_push = torch._C._push_on_torch_dispatch_stack
_depth = torch._C._len_torch_dispatch_stack


def made_on(func: OpOverload, args: Sequence, kwargs: dict, where: torch.device, simulation: Simulation) -> Any:
    """Return what an op as torch dispatches it makes on `where`, of numbers alone or of plain CPU tensors."""
    plan = plan_of(func)
    call = Call(simulation.tensor_class, plan)
    inner = [call.numbers_of(value) for value in args]
    call.where, call.simulation = where, simulation
    if "device" in kwargs:
        kwargs = {**kwargs, "device": _CPU}
    if kwargs.get("generator") is not None:
        check_generator(kwargs["generator"], where)
    make_room(func, plan, inner, kwargs, where, simulation)
    capture = None if simulation.as_usual else simulation.context.captured(where.index)
    if capture is not None and func is not torch.ops.aten.lift_fresh.default:
        return capture.op(call, func, args, kwargs, inner, kwargs)
    result = carried_out(func, plan, inner, kwargs, call)
    if not isinstance(result, torch.Tensor) or result.layout != torch.strided:
        return result
    if func is torch.ops.aten.lift_fresh.default:  # Python's numbers, gathered on the host
        simulation.clock.copy(None, where.index, result.nbytes)
    elif not plan.view:
        simulation.clock.run(where.index, work_of(func, inner, kwargs, result), plan.name)
    return put(result, where, simulation)


def make(func: Callable, args: tuple, kwargs: dict, where: torch.device, simulation: Simulation) -> Any:
    """Return what `func`, which takes a `device`, makes on `where`."""
    options = {**kwargs, "device": _CPU}
    if options.pop("pin_memory", False):
        raise RuntimeError(NOT_PINNED)
    result = make_inside(func, args, options, where, simulation)
    if isinstance(result, DeviceTensor) or not isinstance(result, torch.Tensor):
        return result
    if result.layout != torch.strided:
        raise NotImplementedError(not_dense(result.layout))
    needs_gradient = result.requires_grad  # it shares memory with NumPy, or an op's `out`: nothing was dispatched
    return move(result.detach(), where).requires_grad_(needs_gradient)


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
        if self.simulation.tensor_class in types and not plan_of(func).device:
            return func(*args, **(kwargs or {}))
        return made_on(func, args, kwargs or {}, self.where, self.simulation)
