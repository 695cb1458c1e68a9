"""Replacements of torch's functions that C++ can't hand to the dispatcher for a simulated device, for CPU tensors too.

`.to("cuda")` of a CPU tensor would end in its CUDA libraries, and `device=1` is refused where no accelerator was
compiled in. Each replacement calls the original where no simulated device is concerned.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.utils._device as default_device
import torch.utils.dlpack
from torch import Tensor
from torch.fx.experimental import proxy_tensor
from torch.jit._builtins import _get_builtin_table
from torch.nn.parameter import Parameter, UninitializedTensorMixin
from torch.overrides import get_default_nowrap_functions, handle_torch_function

from simgpu.calls import conversions, torch_function
from simgpu.calls.autograd_functions import own_functions
from simgpu.calls.lazy_modules import lazily
from simgpu.cuda.generators import DeviceGenerator, check_generator
from simgpu.cuda.torch_classes import classes
from simgpu.memory.host import mark
from simgpu.messages import no_interface, not_dense
from simgpu.ops.device_tensor import DeviceTensor
from simgpu.replaced import replaced

_modes = torch._C._is_torch_function_mode_enabled
_CPU = torch.device("cpu")
_METHODS = {
    "cuda": conversions.cuda,
    "type": conversions.type_,
    "new_tensor": conversions.new_tensor,
    "set_": conversions.set_,
}
_MAKERS = ("tensor", "as_tensor", "asarray")
_ANYWHERE = {"dtype", "requires_grad"}
_are_numbers = {int, float, bool, complex}.issuperset
_dtype = torch.dtype
#: Whether the arguments of `.to` are dtypes and the CPU alone; flags are not among them: True equals the index 1.
_stays = {
    None,
    "cpu",
    torch.device("cpu"),
    *(value for value in vars(torch).values() if type(value) is _dtype),
}.issuperset
_PLAIN = {Tensor, Parameter}  # of which none is on a simulated device, or without a size yet


class _Gradient(property):
    """The property `Tensor.grad`, with the two attributes that torch's compiler reads of a getter: name and class."""

    __name__ = "grad"
    __objclass__ = torch._C.TensorBase


@contextmanager
def answered(tensor_class: type) -> Iterator[None]:
    """Within the `with`, torch's functions that can't reach the dispatcher answer for simulated devices."""
    constructors = default_device._device_constructors()  # kept by torch from its first call on: torch's own are in it
    changes = [*_answers(tensor_class), *lazily(), *own_functions(), *classes()]
    makers = {value for owner, name, value in changes if name in _MAKERS}
    constructors |= makers
    as_they_are = get_default_nowrap_functions()  # likewise; a subclass's gradient is in it, no new object each time
    getters = {value.__get__ for owner, name, value in changes if isinstance(value, _Gradient)}
    as_they_are |= getters
    moves = [value for owner, name, value in changes if owner is Tensor and name in ("to", "cuda")]
    changes.append((UninitializedTensorMixin, "_allowed_methods", [*UninitializedTensorMixin._allowed_methods, *moves]))
    scripted = _get_builtin_table()  # torch's compiler of scripts knows its functions by their ids
    names = {id(value): f"aten::{name}" for owner, name, value in changes if owner is torch}
    scripted |= names
    try:
        with replaced(changes):
            yield
    finally:
        torch_function.forget()
        constructors -= makers
        as_they_are -= getters
        for function_id in names:
            del scripted[function_id]


def _answers(tensor_class):
    """Yield (owner, name, value) for every attribute of torch that is answered."""
    yield Tensor, "to", _to(Tensor.to)
    for name, handler in _METHODS.items():
        yield Tensor, name, _method(getattr(Tensor, name), handler)
    for name in _MAKERS:
        yield torch, name, _maker(getattr(torch, name))
    for owner, name in _taking_a_device():
        yield owner, name, _factory(getattr(owner, name))
    for name in ("_to_dlpack", "_to_dlpack_versioned", "to_dlpack"):
        for owner in (torch._C, torch, torch.utils.dlpack):
            if name in vars(owner):
                yield owner, name, _exported(getattr(owner, name))
    yield torch._C._nn, "_parse_to", _parse_to(torch._C._nn._parse_to)
    # make_fx would look into a tensor of a class that it doesn't know, and take what it finds for constants.
    yield proxy_tensor, "HANDLED_TYPES", (*proxy_tensor.HANDLED_TYPES, tensor_class)
    yield Tensor, "data", property(Tensor.data.__get__, conversions.set_data)
    yield Tensor, "grad", _Gradient(Tensor.grad.__get__, conversions.set_grad, Tensor.grad.__delete__)


def _taking_a_device():
    """Yield (owner, name) of the functions and methods that take a `device` or a `generator`."""
    for name in sorted(_taking("device", "generator")):
        for owner, names in ((torch, torch._C._VariableFunctions), (Tensor, torch._C.TensorBase)):
            if hasattr(names, name) and hasattr(owner, name) and name not in ("to", *_MAKERS, *_METHODS):
                yield owner, name


@functools.cache
def _taking(*arguments):
    """Return the names of torch's ops that take one of the arguments."""
    names = set()
    for full_name in torch._C._dispatch_get_all_op_names():
        space, _, name = full_name.partition("::")
        packet, _, overload = name.partition(".")
        if space == "aten" and packet not in names:
            schema = torch._C._get_schema(f"aten::{packet}", overload)
            if any(argument.name in arguments for argument in schema.arguments):
                names.add(packet)
    return names


def _to(original):
    @functools.wraps(original)
    def to(self, /, *args, **kwargs):
        if not kwargs and len(args) == 1 and type(args[0]) is _dtype:  # the way of most calls, and the shortest
            return original(self, args[0])
        try:
            stays = type(self) in _PLAIN and _stays(args) and (not kwargs or _stays(kwargs.values()))
        except TypeError:  # it can't be looked up: torch says what it takes
            stays = False
        if stays:
            return original(self, *args, **kwargs)
        if _modes():
            return handle_torch_function(to, (self,), self, *args, **kwargs)
        return conversions.to(self, *args, **kwargs)

    return to


def _method(original, handler):
    @functools.wraps(original)
    def method(self, *args, **kwargs):
        if _modes():
            return handle_torch_function(method, (self,), self, *args, **kwargs)
        return handler(self, *args, **kwargs)

    return method


def _maker(original):
    @functools.wraps(original)
    def maker(data, *args, **kwargs):
        if _modes():
            return handle_torch_function(maker, (data,) if isinstance(data, Tensor) else (), data, *args, **kwargs)
        if not args and type(data) is list and _is_plain(data):  # most calls
            if not kwargs:
                return original(data)
            if kwargs.keys() <= _ANYWHERE:
                return original(data, **kwargs)
        return conversions.as_tensor(original, data, *args, **kwargs)

    return maker


def _is_plain(data):
    """Return whether lists in lists have Python's numbers in them alone."""
    return _are_numbers(map(type, data)) or all(type(item) is list and _is_plain(item) for item in data)


def _factory(original):
    sparse = original.__name__.startswith("sparse_")

    @functools.wraps(original)
    def factory(*args, **kwargs):
        if not kwargs:
            return original(*args)
        device = kwargs.get("device")
        if type(device) is int:
            device = kwargs["device"] = torch.device("cuda", device)
        if sparse and device is not None and torch.device(device).type == "cuda":
            raise NotImplementedError(not_dense(f"torch.{original.__name__}"))
        if isinstance(kwargs.get("generator"), DeviceGenerator) and _on_host(args, device):
            check_generator(kwargs["generator"], _CPU)
        if kwargs.get("pin_memory") and _on_host(args, device):
            return mark(original(*args, **{name: value for name, value in kwargs.items() if name != "pin_memory"}))
        return original(*args, **kwargs)

    return factory


def _on_host(args, device):
    if device is None and args and isinstance(args[0], Tensor):
        device = args[0].device
    device = default_device.CURRENT_DEVICE if device is None else device
    return device is None or torch.device(device).type == "cpu"


def _exported(original):
    @functools.wraps(original)
    def to_dlpack(tensor, *args, **kwargs):
        if isinstance(tensor, DeviceTensor):
            raise BufferError(no_interface(tensor.where))
        return original(tensor, *args, **kwargs)

    return to_dlpack


def _parse_to(original):
    def _parse_to(*args, **kwargs):
        return original(*conversions.plain_form(args, kwargs), **kwargs)

    return _parse_to
