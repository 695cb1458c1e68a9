"""One op on simulated tensors: their numbers taken out, the op run on the CPU, its results put on the device."""

from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.utils._pytree import tree_leaves

from simgpu.context import asserts
from simgpu.context.context import program_line
from simgpu.kernels import dtypes
from simgpu.messages import no_collective, no_kernel
from simgpu.ops import collectives, copies, device_mismatch
from simgpu.ops.call import Call
from simgpu.ops.declarations import OpPlan, plan_of
from simgpu.ops.fast_path import remember, run_again
from simgpu.ops.flops_and_bytes import work_of
from simgpu.ops.lazy_conjugates import resolved
from simgpu.ops.results import check_layout, make_room, put, put_all, written
from simgpu.state import opened

_PLANS: dict[int, OpPlan] = {}
_NOTHING: dict[str, Any] = {}
_CUDA = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)
_SPECIAL = {
    torch.ops.aten._to_copy.default: copies.to_copy,
    torch.ops.aten.copy_.default: copies.copy_,
    torch.ops.aten._local_scalar_dense.default: copies.item,
}


def run_op(cls: type, func: OpOverload, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
    """Run `func`, an op as torch dispatches it, on simulated tensors (`cls`) and others."""
    if len(types) > 1:
        return NotImplemented  # a class that wraps ours answers
    plan = _PLANS.get(id(func))  # by id, and kept alive: an OpOverload hashes itself in Python
    if plan is None:
        plan = _PLANS[id(func)] = plan_of(func)
    if plan.simple and not kwargs:
        try:
            result = run_again(cls, func, plan, args)
        except (IndexError, RuntimeError):
            if not plan.asserts:
                raise
            result = None  # a number that CUDA's host doesn't look at
        if result is not None:
            return result
    kwargs = kwargs or _NOTHING
    special = _SPECIAL.get(func)
    if special is not None:
        return special(cls, func, plan, args, kwargs)
    if plan.outside:
        return _run_foreign(cls, func, args, kwargs)
    call = Call(cls, plan)
    inner = [call.numbers_of(value) for value in args]
    options = {name: call.numbers_of(value) for name, value in kwargs.items()} if kwargs else _NOTHING
    if call.others is not None:
        device_mismatch.check(call, func, args, kwargs)
    capture = None if call.simulation.as_usual else call.simulation.context.captured(call.where.index)
    if capture is not None:
        return capture.op(call, func, args, kwargs, inner, options)
    small = plan.view or make_room(func, plan, inner, options, call.where, call.simulation)
    if plan.returned is not None:
        dtypes.refuse(plan.name, func.name(), inner)
    try:
        numbers, failed = attempted(func, plan, inner, options, call)
    except NotImplementedError as error:
        numbers = dtypes.in_wider(func, plan.name, inner, options, str(error))
        if numbers is None:
            raise
        return _on_device(call, func, args, kwargs, inner, options, numbers)
    dtypes.refuse(plan.name, func.name(), inner)  # when the op has looked at the shapes, as on CUDA
    if plan.device and isinstance(numbers, Tensor) and numbers.is_meta:
        return numbers  # shapes alone: `.to("meta")` as C++ does it
    check_layout(numbers, plan, inner)
    if plan.simple and small and not kwargs and failed is None and not call.lazy:
        remember(func, plan, inner, numbers)
    result = _on_device(call, func, args, kwargs, inner, options, numbers)
    if failed is not None:
        call.simulation.context.failed(call.where.index, failed, program_line())
    return result


def attempted(func: OpOverload, plan: OpPlan, inner: list, options: dict, call: Call) -> tuple[Any, str | None]:
    """Run an op on plain arguments; return what it made, and what a device-side assert says of them, or None.

    Torch's op of the CPU looks at every index and probability: where it refuses one that CUDA's host doesn't know, the
    op runs with others, and what it makes means nothing.
    """
    try:
        return carried_out(func, plan, inner, options, call), None
    except (IndexError, RuntimeError):
        failed = asserts.failed(plan.name, inner) if plan.asserts else None
        if failed is None:
            raise
    return carried_out(func, plan, failed.args, options, call), failed.words


def carried_out(func: OpOverload, plan: OpPlan, inner: list, options: dict, call: Call) -> Any:
    """Run an op on plain arguments: with the device's random numbers, with signs and conjugates not yet applied."""
    if plan.random:
        return drawn(func, plan, inner, options, call)
    return resolved(func, inner, options) if call.lazy else func(*inner, **options)


def drawn(func: OpOverload, plan: OpPlan, inner: list, options: dict, call: Call) -> Any:
    """Run an op that draws random numbers, on the device's generator unless it is given one."""
    if options.get("generator") is not None:
        return func(*inner, **options)
    own, shared = call.simulation.randomness.generator(call.where.index), torch.default_generator
    if plan.seeded:
        return func(*inner, **{**options, "generator": own})
    before = shared.get_state()
    shared.set_state(own.get_state())
    try:
        return func(*inner, **options)
    finally:
        own.set_state(shared.get_state())
        shared.set_state(before)


def _on_device(call, func, args, kwargs, inner, options, numbers):
    """Tell the clock of the op and put its results on the device."""
    plan = call.plan
    if not plan.view:
        index = call.where.index
        call.simulation.clock.run(index, work_of(func, inner, options, numbers), plan.name)
        if plan.waits and (not plan.indices or any(asserts.is_mask(index) for index in inner[1])):
            call.simulation.clock.synchronize(index)
    return results_of(call, args, kwargs, numbers)


def results_of(call: Call, args: tuple, kwargs: dict, numbers: Any) -> Any:
    """Return the `numbers` that an op made on the CPU as its results on the device."""
    plan = call.plan
    if plan.name == "_pack_padded_sequence":  # the sizes of its batches stay on the CPU, as on CUDA
        return put(numbers[0], call.where, call.simulation), numbers[1]
    if plan.returned is not None:
        return written(call, plan, args, kwargs, numbers)
    return put_all(plan, numbers, call.where, call.simulation)


def _run_foreign(cls, func, args, kwargs):
    """Run an op that is not torch's own by the kernel it has for CUDA, on the simulated tensors themselves."""
    first = next(value for value in tree_leaves((args, kwargs)) if type(value) is cls)
    opened(first.simulation)
    if func.namespace in collectives.SPACES:
        if not first.simulation.as_usual and first.simulation.context.captured(first.where.index) is not None:
            raise NotImplementedError(no_collective(func._schema.name))
        return collectives.run(cls, func, args, kwargs, first)
    if not torch._C._dispatch_has_computed_kernel_for_dispatch_key(func.name(), "CUDA"):
        raise NotImplementedError(no_kernel(func._schema.name))
    # We are called with functions hidden, and the kernel is a program like any other.
    with torch._C._EnableTorchFunction():
        return func.redispatch(_CUDA, *args, **kwargs)
