"""The ways to call an op: by position, by keyword, with `out=`, in place, on strided memory, wrongly, in gradients."""

import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tests.slow.conformance.operators.placing import copied

DTYPES = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "int64": torch.int64,
    "bool": torch.bool,
    "complex64": torch.complex64,
}
WAYS = ("positional", "keyword", "out", "in place", "method", "strided", "gradient", "wrong")


@dataclass
class Case:
    """One call: `function(*args, **kwargs)` with arguments on the device; a gradient is taken of `after` its result."""

    function: Callable
    args: tuple
    kwargs: dict[str, Any]
    after: Callable | None = None
    error: tuple[type, str] | None = None  # its kind, and a pattern of its words


def cases(op: Any, way: str, dtype: str, device: str, most: int) -> Iterator[Case]:
    """Yield at most `most` calls of `op`, of torch's operator database, with arguments on `device`."""
    if way == "wrong":
        for wrong in itertools.islice(op.error_inputs_func(op, device), most):
            sample = wrong.sample_input
            yield Case(op.op, (sample.input, *sample.args), sample.kwargs, error=(wrong.error_type, wrong.error_regex))
        return
    torch.manual_seed(0)
    gradient = way == "gradient"
    # not op.sample_inputs(…), which looks through the stack for its test at each sample
    samples = op.sample_inputs_func(op, device, DTYPES[dtype], gradient)
    count = 0
    for sample in samples:
        if way == "in place" and sample.broadcasts_input:
            continue
        case = _case(op, way, sample.noncontiguous() if way == "strided" else sample)
        if case is not None:
            yield case
            count += 1
        if count >= most:
            return


def applies(op: Any, way: str, dtype: str) -> bool:
    """Return whether the database has calls of `op` in that way and dtype."""
    kind = DTYPES[dtype]
    if way == "wrong":
        return op.error_inputs_func is not None and dtype == "float32"
    if kind not in op.dtypes and kind not in op.dtypesIfCUDA:
        return False
    if way == "gradient":
        return op.supports_autograd and kind in op.backward_dtypes and (kind.is_floating_point or kind.is_complex)
    if way == "out":
        return op.supports_out
    if way == "in place":
        return op.get_inplace() is not None
    return op.get_method() is not None if way == "method" else True


def _case(op, way, sample):
    args, kwargs = (sample.input, *sample.args), sample.kwargs
    if way == "gradient":
        return Case(op.op, args, kwargs, after=sample.output_process_fn_grad)
    if way == "keyword":
        by_name = _by_name(op, args, kwargs)
        return None if by_name is None else Case(op.op, (), by_name)
    if way == "in place":
        return Case(op.get_inplace(), args, kwargs)
    if way == "method":
        return Case(op.get_method(), args, kwargs)
    if way == "out":
        return Case(_into(op.op), args, kwargs)
    return Case(op.op, args, kwargs)


def _into(function):
    """Return a call that gives the results of `function` and what it wrote to `out=`, of right size and of none."""

    def into(*args, **kwargs):
        result = function(*args, **kwargs)
        outs = []
        for sized in (True, False):
            out = _outs(result, sized)
            returned = function(*args, **kwargs, out=out)
            same = all(a is b for a, b in zip(_tensors(returned), _tensors(out), strict=True))
            outs.append((out, same))
        return outs

    return into


def _tensors(result):
    return [result] if isinstance(result, Tensor) else list(result)


def _outs(result, sized):
    if isinstance(result, Tensor):
        return torch.full_like(result, 1) if sized else torch.empty(0, dtype=result.dtype, device=result.device)
    several = [_outs(part, sized) for part in result]
    return several if isinstance(result, list) else tuple(several)


def _by_name(op, args, kwargs):
    """Return the arguments by name, or None where none of torch's declarations takes them so on the CPU."""
    for names in _names(op):
        if len(args) <= len(names) and not {*names[: len(args)]} & {*kwargs}:
            by_name = {**dict(zip(names, args, strict=False)), **kwargs}
            try:
                op.op(**copied(by_name, "cpu"))
            except Exception:  # whatever it is, the names are not those of this call
                continue
            return by_name
    return None


def _names(op):
    try:
        yield list(inspect.signature(op.op).parameters)
        return
    except (ValueError, TypeError):
        pass
    packet = getattr(torch.ops.aten, op.aten_name or op.name, None)
    if isinstance(packet, torch._ops.OpOverloadPacket):
        for overload in packet.overloads():
            names = [part.name for part in getattr(packet, overload)._schema.arguments]
            if "out" not in names:
                yield ["input" if name == "self" else name for name in names]
