"""Functions that move a tensor or write one into another; torch's own run where no simulated device is concerned."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.storage import TypedStorage, UntypedStorage

from simgpu import state
from simgpu.calls.lazy_modules import is_unmade, moved
from simgpu.calls.moves import gathered, move
from simgpu.memory.host import mark
from simgpu.messages import NOT_PINNED, assigned_gradient, other_storage
from simgpu.ops.device_tensor import DeviceTensor, read
from simgpu.ops.saving import RestoredStorage

_quiet = torch._C.DisableTorchFunctionSubclass
_KIND = "torch.cuda."
_PRESERVE = torch.preserve_format
_CPU = torch.device("cpu")
_are_numbers = {int, float, bool, complex}.issuperset
# Torch's own: while GPUs are simulated, these names say what is below.
_to, _type, _asarray = Tensor.to, Tensor.type, torch.asarray
_set_: Any = Tensor.set_
_set_data, _set_grad = Tensor.data.__set__, Tensor.grad.__set__


def to(tensor: Tensor, *args: Any, copy: bool = False, **kwargs: Any) -> Tensor:
    """`Tensor.to` in all its forms."""
    if isinstance(tensor, DeviceTensor):
        read(tensor)
    elif not _names_cuda(*args, **kwargs) and not is_unmade(tensor):
        return _to(tensor, *args, **({**kwargs, "copy": True} if copy else kwargs))
    args, copy = _without_copy(plain_form(args, kwargs), copy)
    device, dtype, non_blocking, memory_format = torch._C._nn._parse_to(*args, **kwargs)
    dtype = tensor.dtype if dtype is None else dtype
    device = tensor.device if device is None else state.device_of(device)
    if device == tensor.device or device.type not in ("cuda", "cpu"):
        options = {} if memory_format is None else {"memory_format": memory_format}
        with _quiet():
            if device.type == "cuda" or device.type == tensor.device.type:
                return _to(tensor, dtype, non_blocking, copy, **options)
            return _to(tensor, device, dtype, non_blocking, copy, **options)
    if is_unmade(tensor):
        return moved(tensor, device)
    return move(tensor, device, None if dtype == tensor.dtype else dtype, non_blocking, memory_format)


def _names_cuda(first=None, *args, device=None, other=None, **kwargs):
    """Return whether the arguments of `.to` name a device of type cuda."""
    for target in (first, device, other):
        kind = type(target)
        if kind is torch.dtype or target is None:
            continue
        if kind is str and target.startswith("cuda") or kind is int or isinstance(target, DeviceTensor):
            return True
        if isinstance(target, torch.device) and target.type == "cuda":
            return True
    return False


def plain_form(args: tuple, kwargs: dict) -> tuple:
    """Return the arguments of `.to` with a device in place of another tensor or an index; changes `kwargs` likewise."""
    if type(kwargs.get("device")) is int:
        kwargs["device"] = torch.device("cuda", kwargs["device"])
    if args and isinstance(args[0], Tensor):
        return (args[0].device, args[0].dtype, *args[1:])
    if args and type(args[0]) is int:
        return (torch.device("cuda", args[0]), *args[1:])
    return args


def _without_copy(args, copy):
    """Return the arguments without a `copy` among them, which torch's parser refuses, and that `copy`."""
    flags = sum(type(value) is bool for value in args)
    return (args[:-1], args[-1]) if flags == 2 else (args, copy)


def cuda(tensor: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = _PRESERVE) -> Tensor:
    """`Tensor.cuda`."""
    return to(tensor, "cuda" if device is None else device, non_blocking=non_blocking, memory_format=memory_format)


def cpu(tensor: Tensor, memory_format: Any = _PRESERVE) -> Tensor:
    """`Tensor.cpu`."""
    return to(tensor, "cpu", memory_format=memory_format)


def type_(tensor: Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Tensor | str:
    """`Tensor.type`: the type's name, or a conversion to a type, which may be one of another device."""
    if dtype is None:
        with _quiet():
            name = _type(tensor)
        return name.replace("torch.", _KIND) if tensor.is_cuda else name
    if isinstance(dtype, torch.dtype):
        return to(tensor, dtype, non_blocking)
    if not isinstance(dtype, (str, type)):
        return _type(tensor, dtype, non_blocking)  # it says what it takes
    name = dtype if isinstance(dtype, str) else f"{dtype.__module__}.{dtype.__name__}"
    with torch._C.DisableTorchFunction():
        wanted = _type(torch.empty(0), name.replace(_KIND, "torch.")).dtype
    return to(tensor, "cuda" if name.startswith(_KIND) else "cpu", wanted, non_blocking)


def type_as(tensor: Tensor, other: Tensor) -> Tensor:
    """`Tensor.type_as`."""
    return to(tensor, other.device, other.dtype)


def new_tensor(
    tensor: Tensor, data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **kwargs: Any
) -> Tensor:
    """`Tensor.new_tensor`: Python's numbers, by default where `tensor` is."""
    if isinstance(tensor, DeviceTensor):
        read(tensor)
    device = tensor.device if device is None else device
    return torch.tensor(data, dtype=dtype or tensor.dtype, device=device, requires_grad=requires_grad)


def as_tensor(original: Callable, data: Any, *args: Any, **kwargs: Any) -> Tensor:
    """`torch.tensor`, `torch.as_tensor` and `torch.asarray`, whichever is the `original`."""
    if args:  # of as_tensor alone
        kwargs |= dict(zip(("dtype", "device"), args, strict=False))
    device: Any = kwargs.get("device")
    if isinstance(data, DeviceTensor) or isinstance(data, Tensor) and _names_cuda(device):
        return _converted(original, data, **kwargs)
    if type(data) in (list, tuple):
        data = _with_numbers(data)
    if not _names_cuda(device):
        if kwargs.get("pin_memory"):
            return mark(original(data, **{name: value for name, value in kwargs.items() if name != "pin_memory"}))
        return original(data, **kwargs)
    if kwargs.pop("pin_memory", False):
        raise RuntimeError(NOT_PINNED)
    device, needs_gradient = state.device_of(device), kwargs.pop("requires_grad", False)
    with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction():  # as on CUDA, no log sees these
        tensor = original(data, **{**kwargs, "device": _CPU})
    with _quiet():
        tensor = torch.ops.aten.lift_fresh(gathered(tensor.clone() if original is _asarray else tensor, device))
    return tensor.requires_grad_(needs_gradient)


def _with_numbers(data):
    """Return nested lists with numbers in place of simulated tensors of one element: each is waited for, as on CUDA."""
    if type(data) in (list, tuple):
        if data and type(data[0]) in (int, float):
            return data if _are_numbers(map(type, data)) else [*map(_with_numbers, data)]
        return [*map(_with_numbers, data)]
    if not isinstance(data, DeviceTensor):
        return data
    if data.numel() != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")  # torch's words
    return data.item()


def _converted(original, data, device=None, dtype=None, copy=None, requires_grad=False, **options):
    """Return a tensor as `torch.tensor`, `as_tensor` or `asarray` make it of one."""
    if original.__name__ == "tensor":
        data, copy = data.detach(), True
    device = data.device if device is None else device
    converted = to(data, device, dtype or data.dtype, copy=bool(copy))
    return converted.requires_grad_() if requires_grad else converted


def copy_(tensor: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """`Tensor.copy_`: the gradient of what is copied goes back to where that lies."""
    if isinstance(src, Tensor) and src.requires_grad and src.device != tensor.device:
        src = move(src, tensor.device, non_blocking=non_blocking)
    with _quiet():
        return tensor.copy_(src, non_blocking)


def getitem(tensor: Tensor, index: Any) -> Tensor:
    """`tensor[index]`."""
    index = _masks_moved(tensor, index)
    with _quiet():
        return tensor[index]


def setitem(tensor: Tensor, index: Any, value: Any) -> None:
    """`tensor[index] = value`: a value from elsewhere is copied in by a slice, one number by any index."""
    index = _masks_moved(tensor, index)
    if not isinstance(value, Tensor):
        value = _as_tensor(value, tensor) if tensor.is_cuda and _has_tensor(index) else value
    elif value.device != tensor.device and (value.dim() == 0 or not _has_tensor(index)):
        value = move(value, tensor.device)
    with _quiet():
        tensor[index] = value


def _as_tensor(value, tensor):
    """Return a number as a tensor: torch then writes it by `index_put_`, and takes indices from the CPU along.

    Since torch 2.15 a number itself is written by `index_fill_`, which takes none; torch has moved them before, on the
    strength of its C++ device, which is the CPU for every simulated tensor.
    """
    with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction():  # no op of the program: no log sees it
        return torch.tensor(value, dtype=tensor.dtype, device="cpu")


def _masks_moved(tensor, index):
    """Return the index with masks where the tensor is: one on the CPU is allowed, as indices are."""
    if isinstance(index, Tensor):
        if index.dtype == torch.bool and tensor.is_cuda and not index.is_cuda:
            return move(index, tensor.device)
    elif type(index) is tuple:
        return tuple(_masks_moved(tensor, part) if isinstance(part, Tensor) else part for part in index)
    return index


def _has_tensor(index):
    """Whether `index` chooses by numbers or a mask: a tensor, a list or an array, and no slice."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(part, (Tensor, Sequence)) or getattr(part, "ndim", 0) for part in parts)


def set_data(tensor: Tensor, value: Tensor) -> None:
    """`tensor.data = value`, also when the two are of different kinds: a CPU parameter becomes one of a GPU."""
    if isinstance(tensor, DeviceTensor) == isinstance(value, DeviceTensor):
        with _quiet():
            _set_data(tensor, value)
        if isinstance(value, DeviceTensor):
            tensor.numbers, tensor.where, tensor.kind = value.numbers, value.where, value.kind
        return
    fresh = value.detach()
    if isinstance(tensor, torch.nn.Parameter):
        fresh = torch.nn.Parameter(fresh, requires_grad=False)
    fresh.requires_grad_(tensor.requires_grad)
    gradient = tensor.grad
    torch.utils.swap_tensors(tensor, fresh)
    if gradient is not None:
        gradient.left_behind = True  # it stays where it is, as on CUDA
        with _quiet():
            _set_grad(tensor, gradient)


def set_grad(tensor: Tensor, gradient: Tensor | None) -> None:
    """`tensor.grad = gradient`, which has to lie where the tensor does."""
    if isinstance(gradient, Tensor) and gradient.device != tensor.device:
        raise RuntimeError(assigned_gradient(gradient.device, tensor.device))
    with _quiet():
        _set_grad(tensor, gradient)


def set_(tensor: Tensor, source: Any = None, *args: Any, **kwargs: Any) -> Tensor:
    """`Tensor.set_`: the tensor's memory is then that of `source`; `torch.load` fills tensors by it."""
    if isinstance(source, RestoredStorage):
        numbers = _set_(torch.empty(0, dtype=tensor.dtype, device="cpu"), source, *args, **kwargs)
        simulation = state.required()
        simulation.memory.took(source.where.index, source.nbytes(), numbers)
        return simulation.tensor_class(numbers, source.where, simulation)
    stored = source._untyped_storage if isinstance(source, TypedStorage) else source  # a typed one warns when asked
    stored = stored if isinstance(stored, UntypedStorage) else None
    if stored is not None and isinstance(tensor, DeviceTensor) and stored.device == tensor.device:
        numbers = _set_(torch.empty(0, dtype=tensor.dtype, device="cpu"), source, *args, **kwargs)
        set_data(tensor, type(tensor)(numbers, tensor.where, tensor.simulation))
        return tensor
    if isinstance(source, Tensor) and source.device != tensor.device:
        raise RuntimeError(other_storage(source.device, tensor.device))
    if isinstance(tensor, DeviceTensor) and stored is None:  # another's memory, or none
        memory = (read(source),) if isinstance(source, DeviceTensor) else ()
        numbers = _set_(torch.empty(0, dtype=tensor.dtype, device="cpu"), *memory, *args, **kwargs)
        set_data(tensor, type(tensor)(numbers, tensor.where, tensor.simulation))
        return tensor
    if stored is not None and stored.device.type == "cuda":
        raise RuntimeError(other_storage(stored.device, tensor.device))
    with _quiet():
        return _set_(tensor, *(() if source is None else (source,)), *args, **kwargs)
