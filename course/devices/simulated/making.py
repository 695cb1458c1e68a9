"""Making a new tensor on a simulated device: torch's own factory runs on the CPU, each op's result goes to the device."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from course.devices.simulated import cost
from course.devices.simulated.dispatch import put
from course.devices.simulated.plans import plan_of
from course.devices.simulated.moves import move
from course.devices.simulated.tensor import SimulatedTensor

_CPU = torch.device("cpu")
_push = torch._C._push_on_torch_dispatch_stack
_pop = torch._C._pop_torch_dispatch_stack
_depth = torch._C._len_torch_dispatch_stack


def make(func, args, kwargs, where, simulation):
    """Return what `func`, which takes a `device`, makes on `where`."""
    mode = _Making(where, simulation)
    requires_grad = kwargs.get("requires_grad", False)
    options = {**kwargs, "device": _CPU}
    options.pop("pin_memory", None)
    inner = [_pop(None) for _ in range(_depth())]  # a log entered by the program sees each op before this mode does
    _push(mode)
    for other in reversed(inner):
        _push(other)
    try:
        with torch._C.DisableTorchFunctionSubclass():
            made = func(*args, **options)
    finally:
        inner = [_pop(None) for _ in range(_depth() - 1)]
        _pop(None)
        for other in reversed(inner):
            _push(other)
    if isinstance(made, SimulatedTensor) or not isinstance(made, torch.Tensor):
        return made
    return move(made.detach(), where).requires_grad_(requires_grad)  # it shares memory with NumPy: no op ran


class _Making(TorchDispatchMode):
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
        simulation, where = self.simulation, self.where
        generator = kwargs.get("generator")
        made = _numbers(func, plan, args, kwargs, generator, simulation, where)
        if not isinstance(made, torch.Tensor):
            return made
        if func is torch.ops.aten.lift_fresh.default:  # Python's numbers, gathered on the host
            simulation.clock.copy(None, where.index, made.nbytes, name="copy")
        elif not plan.view:
            simulation.clock.run(where.index, cost.work_of(func, args, kwargs, made), plan.name)
        return put(SimulatedTensor, made, where, simulation)


def _numbers(func, plan, args, kwargs, generator, simulation, where):
    args = [value.numbers if isinstance(value, SimulatedTensor) else value for value in args]
    if not plan.random or generator is not None:
        return func(*args, **kwargs)
    own, shared = simulation.randomness.generator(where.index), torch.default_generator
    before = shared.get_state()
    shared.set_state(own.get_state())
    try:
        return func(*args, **kwargs)
    finally:
        own.set_state(shared.get_state())
        shared.set_state(before)
