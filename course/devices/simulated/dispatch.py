"""One op on simulated tensors: their numbers taken out, the op run on the CPU, its results put on the device."""

import torch
from torch import Tensor

from course.devices.simulated import cost
from course.devices.simulated.messages import closed, different_devices, no_kernel
from course.devices.simulated.plans import plan_of

_PLANS = {}
_CPU = torch.device("cpu")
_CUDA_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)
_NOTHING = {}


def run_op(cls, func, types, args=(), kwargs=None):
    """Run `func`, an op as torch dispatches it, on simulated tensors (`cls`) and others."""
    plan = _PLANS.get(func)
    if plan is None:
        plan = _PLANS[func] = plan_of(func)
    special = _SPECIAL.get(func)
    if special is not None:
        return special(cls, func, plan, args, kwargs or _NOTHING)
    if plan.outside:
        return _run_foreign(cls, func, args, kwargs or _NOTHING)
    call = _Call(cls, plan)
    inner = call.unwrapped(args)
    named = {name: call.unwrapped_one(value) for name, value in kwargs.items()} if kwargs else _NOTHING
    call.check()
    made = _computed(call, func, plan, inner, named)
    return made if call.where is None else _wrapped(call, func, plan, args, kwargs or _NOTHING, inner, named, made)


class _Call:
    """The tensors of one op: the device they are on, and those that are elsewhere."""

    __slots__ = ("cls", "plan", "first", "where", "simulation", "others")

    def __init__(self, cls, plan):
        self.cls = cls
        self.plan = plan
        self.first = None
        self.where = None
        self.others = None

    def unwrapped(self, values):
        return [self.unwrapped_one(value) for value in values]

    def unwrapped_one(self, value):
        kind = type(value)
        if kind is self.cls:
            if self.first is None:
                self.first, self.where, self.simulation = value, value.where, value.simulation
                if self.simulation.closed:
                    raise RuntimeError(closed(self.simulation))
            elif value.where is not self.where:
                self.elsewhere(value)
            return value.numbers
        if kind is list or kind is tuple:
            return kind(map(self.unwrapped_one, value))
        if isinstance(value, Tensor):
            self.elsewhere(value)
        return value

    def elsewhere(self, value):
        self.others = [*(self.others or ()), value]

    def check(self):
        """Refuse tensors on different devices where CUDA does."""
        for other in self.others or ():
            if isinstance(other, self.cls):
                if other.simulation.closed:
                    raise RuntimeError(closed(other.simulation))
            elif self.plan.indices or (self.plan.scalars and other.dim() == 0):
                continue
            raise RuntimeError(different_devices(self.where, other.device))


def _computed(call, func, plan, inner, named):
    """Return what the op makes of the plain tensors."""
    if plan.random:
        return _drawn(call, func, plan, inner, named)
    return func(*inner, **named)


def _drawn(call, func, plan, inner, named):
    if plan.seeded and named.get("generator") is not None or call.where is None:
        return func(*inner, **named)
    generator = call.simulation.randomness.generator(call.where.index)
    if plan.seeded:
        return func(*inner, **{**named, "generator": generator})
    shared = torch.default_generator
    before = shared.get_state()
    shared.set_state(generator.get_state())
    try:
        return func(*inner, **named)
    finally:
        generator.set_state(shared.get_state())
        shared.set_state(before)


def _wrapped(call, func, plan, args, kwargs, inner, named, made):
    """Put the results on the device; tell memory and clock."""
    simulation, where = call.simulation, call.where
    if not plan.view:
        simulation.clock.run(where.index, cost.work_of(func, inner, named, made), plan.name)
        if plan.waits:
            simulation.clock.synchronize(where.index)
    if plan.returned is not None:
        return _written(call, plan, args, kwargs, made)
    if plan.device and kwargs.get("device") is not None:  # the caller asked for the CPU
        return made
    if isinstance(made, Tensor):
        return put(call.cls, made, where, simulation, call.first.storage if plan.sharing else None)
    if isinstance(made, (list, tuple)):
        return type(made)(
            put(call.cls, one, where, simulation, call.first.storage if plan.sharing else None)
            if isinstance(one, Tensor)
            else one
            for one in made
        )
    return made


def put(cls, numbers, where, simulation, storage=None):
    """Return `numbers` as a tensor on `where`; without a `storage` to share, it takes memory of the device."""
    if storage is None:
        storage = numbers.untyped_storage()
        simulation.memory.took(where.index, storage.nbytes(), numbers)
    return cls(numbers, where, simulation, storage)


def _written(call, plan, args, kwargs, made):
    """Return the results of an op that writes: its own arguments, where a result is one."""
    results = []
    several = made if isinstance(made, (list, tuple)) else (made,)
    for place, numbers in zip(plan.returned, several, strict=False):
        if place is None:
            results.append(put(call.cls, numbers, call.where, call.simulation))
            continue
        position, name = place
        target = args[position] if position < len(args) else kwargs[name]
        if plan.reshapes and type(target) is call.cls:
            _reshape(target)
        results.append(target)
    if not isinstance(made, (list, tuple)):
        return results[0] if results else None
    return type(made)(results)


def _reshape(tensor):
    """Give the wrapper the shape that its numbers have now."""
    numbers = tensor.numbers
    if tensor.shape != numbers.shape or tensor.stride() != numbers.stride():
        Tensor.data.__set__(tensor, type(tensor)(numbers, tensor.where, tensor.simulation))


def _to_copy(cls, func, plan, args, kwargs):
    """Copy between devices, or to another dtype: what `.to` comes down to."""
    source = args[0]
    simulation = source.simulation
    if simulation.closed:
        raise RuntimeError(closed(simulation))
    target = kwargs.get("device") or source.where
    options = {name: value for name, value in kwargs.items() if name not in ("device", "non_blocking", "pin_memory")}
    made = func(source.numbers, **options)
    if target == source.where:
        work = cost.work_of(func, [source.numbers], options, made)
        simulation.clock.run(target.index, work, plan.name)
    else:
        _copy_time(simulation, source, target, made.nbytes, kwargs.get("non_blocking", False))
    return made if target.type == "cpu" else put(cls, made, simulation.place(target), simulation)


def _copy_(cls, func, plan, args, kwargs):
    """Write one tensor's numbers into another, wherever the two lie."""
    target, source = args[0], args[1]
    for tensor in (target, source):
        if type(tensor) is cls and tensor.simulation.closed:
            raise RuntimeError(closed(tensor.simulation))
    plain = [tensor.numbers if type(tensor) is cls else tensor for tensor in (target, source)]
    func(*plain)
    simulation = (target if type(target) is cls else source).simulation
    if target.device == source.device:
        simulation.clock.run(target.device.index, cost.work_of(func, plain, {}, plain[0]), plan.name)
    else:
        non_blocking = args[2] if len(args) > 2 else kwargs.get("non_blocking", False)
        _copy_time(simulation, source, target.device, plain[1].nbytes, non_blocking)
    return target


def _copy_time(simulation, source, target, nbytes, non_blocking):
    pinned = getattr(source, "pinned", False)
    simulation.clock.copy(source.device.index, target.index, nbytes, pinned, not non_blocking, "copy")


def _item(cls, func, plan, args, kwargs):
    source = args[0]
    if source.simulation.closed:
        raise RuntimeError(closed(source.simulation))
    source.simulation.clock.copy(source.where.index, None, source.element_size(), name="item")
    return source.numbers.item()


def _run_foreign(cls, func, args, kwargs):
    """Run an op that is not torch's own by the kernel it has for CUDA, on the simulated tensors themselves."""
    name = func._schema.name
    if not torch._C._dispatch_has_computed_kernel_for_dispatch_key(func.name(), "CUDA"):
        raise NotImplementedError(no_kernel(name))
    return func.redispatch(_CUDA_KEYS, *args, **kwargs)


_SPECIAL = {
    torch.ops.aten._to_copy.default: _to_copy,
    torch.ops.aten.copy_.default: _copy_,
    torch.ops.aten._local_scalar_dense.default: _item,
}
