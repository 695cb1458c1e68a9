"""The names of CUDA's kernels are those that torch's own code generator gives them, from its declarations."""

import functools
from pathlib import Path

import pytest
import torch
import torchgen
from torchgen.api import cpp, native
from torchgen.gen import parse_native_yaml
from torchgen.model import DeviceCheckType, DispatchKey

from simgpu.kernels.names import CHECKED, INSTEAD, ITERATED, STRUCTURED, method_of


@functools.cache
def declared():
    """Return torch's declarations of functions that read several tensors and have a kernel for CUDA, by name."""
    folder = Path(torchgen.__file__).parent / "packaged/ATen/native"
    parsed = parse_native_yaml(str(folder / "native_functions.yaml"), str(folder / "tags.yaml"))
    cuda = parsed.backend_indices[DispatchKey.CUDA]
    functions = {}
    for function in parsed.native_functions:
        tensors = [arg for arg in function.func.arguments.flat_all if arg.type.is_tensor_like()]
        several = len(tensors) > 1 or any(arg.type.is_list_like() for arg in tensors)
        if several and (structured(function) or cuda.has_kernel(function)):
            functions[str(function.func.name)] = function
    return functions


def structured(function):
    return function.structured or function.structured_delegate is not None


def op(name):
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet, None), overload or "default", None)


@pytest.mark.long
def test_every_method_is_named_as_torchs_generator_names_it():
    wrong, count = {}, 0
    for name, function in declared().items():
        func = op(name)
        if func is None or function.device_check == DeviceCheckType.NoCheck or unary(function):
            continue
        count += 1
        plain = f"{function.func.name.overload_name}_{cpp.name(function.func)}"
        wanted = native.name(function.func) if structured(function) else plain
        if method_of(func) != wanted:
            wrong[name] = wanted
    assert count > 200 and wrong == {}


def unary(function):
    """Return whether a function reads one tensor and writes into others: both are given by the same program."""
    arguments = function.func.arguments
    reads = [arg for arg in arguments.flat_non_out if arg.type.is_tensor_like()]
    return len(reads) == 1 and not reads[0].type.is_list_like()


def test_the_tables_name_what_torch_declares():
    bases = {name.partition(".")[0].removesuffix("_") for name, function in declared().items() if structured(function)}
    assert bases >= STRUCTURED
    checked = {
        name.partition(".")[0].removesuffix("_")
        for name, function in declared().items()
        if torch.Tag.pointwise in getattr(op(name), "tags", ())
        and function.device_check != DeviceCheckType.NoCheck
        and not unary(function)
    }
    assert checked >= CHECKED
    if (2, 13) <= torch.__version__ < (2, 14):  # the torch that the table was made from
        assert all(name.endswith("_backward") for name in checked - CHECKED), "the others are called by programs"
    for name in ITERATED - {"binary_cross_entropy_with_logits"}:  # that one is composed of such ops
        assert declared()[name].device_check == DeviceCheckType.NoCheck


@pytest.mark.parametrize("name", [name for name, (_, names) in INSTEAD.items() if names])
def test_what_runs_instead_has_the_arguments_that_are_named(name):
    method, names = INSTEAD[name]
    theirs = op(method.removeprefix("_"))
    assert {*names} <= {function.name for function in op(name)._schema.arguments}
    assert {*names.values()} <= {function.name for function in theirs._schema.arguments}
