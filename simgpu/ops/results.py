"""Results of an op on the CPU, put on the simulated device: wrapped, counted in its memory, bounded beforehand."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.utils._pytree import tree_flatten, tree_map

from simgpu.messages import not_dense
from simgpu.ops.call import Call
from simgpu.ops.declarations import OpPlan
from simgpu.state import Simulation

_set_data = Tensor.data.__set__
_LARGE = 2**28  # elements; below, a result is made without asking whether there is room for it


def put(numbers: Tensor, where: torch.device, simulation: Simulation, shares: bool = False) -> Tensor:
    """Return `numbers` as a tensor on `where`, which takes memory of the device unless it `shares` another's."""
    if numbers._is_zerotensor():  # zeros of a formula, without memory: C++ would take them for no one's
        numbers = numbers.clone()
    if not shares:
        for part in parts(numbers):
            storage = part.untyped_storage()
            simulation.memory.took(where.index, storage.nbytes(), storage)
        return simulation.tensor_class(numbers, where, simulation)
    if torch.is_inference_mode_enabled() and not numbers.is_inference():  # a view of a tensor made outside
        with torch.inference_mode(False):
            return simulation.tensor_class(numbers, where, simulation)
    return simulation.tensor_class(numbers, where, simulation)


def parts(numbers: Tensor) -> tuple[Tensor, ...]:
    """Return the dense tensors that a plain tensor consists of: itself, or a sparse one's places and values."""
    if numbers.layout is torch.sparse_coo:
        return numbers._indices(), numbers._values()
    return (numbers,)


def check_layout(numbers: Any, plan: OpPlan, inner: Sequence) -> None:
    """Refuse what is not dense, unless it is an embedding's sparse gradient, or was made of one, in `inner`."""
    if isinstance(numbers, Tensor) and numbers.layout is not torch.strided:
        of_sparse = any(isinstance(argument, Tensor) and argument.layout is torch.sparse_coo for argument in inner)
        if not of_sparse and plan.name != "_sparse_coo_tensor_with_dims_and_tensors":
            raise NotImplementedError(not_dense(numbers.layout))


def put_all(plan: OpPlan, numbers: Any, where: torch.device, simulation: Simulation) -> Any:
    """Return what an op made, each tensor in it on `where`."""
    if isinstance(numbers, Tensor):
        return put(numbers, where, simulation, plan.sharing)
    if isinstance(numbers, (list, tuple)):
        return type(numbers)(
            put(part, where, simulation, plan.sharing) if isinstance(part, Tensor) else part for part in numbers
        )
    return numbers


def written(call: Call, plan: OpPlan, args: tuple, kwargs: dict, outputs: Any) -> Any:
    """Return the results of an op that writes: its own arguments, where a result is one."""
    if not plan.returned:
        return outputs
    several = outputs if isinstance(outputs, (list, tuple)) else (outputs,)
    results = []
    for place, numbers in zip(plan.returned, several, strict=True):
        if place is None:
            results.append(put(numbers, call.where, call.simulation))
            continue
        position, name = place
        target = args[position] if position < len(args) else kwargs[name]
        if plan.reshapes and type(target) is call.cls:
            _reshape(target)
        results.append(target)
    return type(outputs)(results) if isinstance(outputs, (list, tuple)) else results[0]


def _reshape(tensor):
    """Give the wrapper the shape that its numbers have now."""
    numbers = tensor.numbers
    if tensor.shape != numbers.shape or tensor.stride() != numbers.stride():
        fresh = put(numbers, tensor.where, tensor.simulation)
        with torch._C.DisableTorchFunctionSubclass():
            _set_data(tensor, fresh)
        tensor.kind = fresh.kind


def make_room(
    func: OpOverload, plan: OpPlan, args: Sequence, kwargs: dict, where: torch.device, simulation: Simulation
) -> bool:
    """Raise before an op makes more than the device, or this computer, has room for: the numbers would be written
    before they are counted. Return whether it makes so little that asking is not needed."""
    sizes = _sizes(args)
    if plan.scalars and len(set(sizes[0])) == 1 and not sizes[1]:
        bound = sizes[0][0].numel()
    else:
        bound = 1
        for size in sizes[0]:
            bound *= size.numel() or 1
        for number in sizes[1]:
            bound *= number
    if bound > _LARGE:
        simulation.memory.check_room(where.index, _bytes_made(func, args, kwargs))
    return bound <= _LARGE


def _sizes(args):
    """Return the shapes of the tensors among `args`, and the integers above 1."""
    shapes, numbers = [], []
    for value in args:
        kind = type(value)
        if kind is Tensor:
            shapes.append(value.shape)
        elif kind is int:
            if value > 1:
                numbers.append(value)
        elif kind is list or kind is tuple:
            inner = _sizes(value)
            shapes += inner[0]
            numbers += inner[1]
    return shapes, numbers


def _bytes_made(func, args, kwargs):
    """Return the bytes of an op's results, from torch's shapes alone; 0 where these depend on values."""

    def shape_of(value):
        if not isinstance(value, Tensor):
            return value
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")

    options = {name: value for name, value in kwargs.items() if name != "generator"}
    if "device" in options:
        options["device"] = torch.device("meta")
    try:
        shapes = func(*tree_map(shape_of, args), **tree_map(shape_of, options))
    except (RuntimeError, NotImplementedError, IndexError, ValueError):
        return 0  # the op itself will say what is wrong, or makes what depends on the numbers
    return sum(shape.nbytes for shape in tree_flatten(shapes)[0] if isinstance(shape, Tensor))
