"""One op in one way: called on the CPU and on the device from the same numbers, and what came of it."""

import re
import warnings
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from tests.slow.conformance.operators.known import OF_TORCH, REASONS
from tests.slow.conformance.operators.outcomes import UNWRITTEN, Outcome, differences, flat
from tests.slow.conformance.operators.placing import copied
from tests.slow.conformance.operators.ways import DTYPES, Case, applies, cases

AGREES, REFUSED, DIFFERS, SAME = "agrees", "refused", "differs", "same refusal"
#: The CPU's outcome is a fault of torch's own: see `known.OF_TORCH`. And: CUDA lacks the dtype, but here it runs.
APART, BEYOND = "torch's own fault", "beyond CUDA"
#: CUDA has the dtype, the CPU lacks it: compared with the CPU's numbers in a wider one.
ALONE = "CUDA's alone"
_WIDER = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.int64: torch.float64,
    torch.bool: torch.uint8,
}


@dataclass(frozen=True)
class Verdict:
    """What came of calls of `op` in one `way` and `dtype`; `reason`: the words of the first error or difference."""

    op: str
    way: str
    dtype: str
    verdict: str
    reason: str = ""


def examine(op: Any, way: str, dtype: str, most: int, device: str = "cuda:0") -> Verdict | None:
    """Return the worst verdict of at most `most` calls of `op`; None where there is none to make."""
    if not applies(op, way, dtype):
        return None
    results = []
    name = op.formatted_name
    try:
        for case in cases(op, way, dtype, device, most):
            results.append(_judged(name, case, device))
    except Exception as error:  # the samples are made on the device: that is a program like any other
        results.append((REFUSED if type(error) is NotImplementedError else DIFFERS, f"samples: {_words(error)}"))
    for verdict in (DIFFERS, REFUSED, ALONE, AGREES, SAME):
        for each, reason in results:
            if each == verdict:
                return Verdict(name, way, dtype, *_known(op, way, dtype, verdict, reason))
    return None


def _known(op, way, dtype, verdict, reason):
    """Return the verdict and its words, set right by what is known of the op, and of CUDA's dtypes."""
    if verdict == DIFFERS and (op.formatted_name, way) in OF_TORCH:
        return APART, OF_TORCH[op.formatted_name, way]
    lacking = way != "wrong" and DTYPES[dtype] not in op.dtypesIfCUDA
    if verdict == REFUSED:
        reasons = (why for words, why in REASONS.items() if words in reason)
        return verdict, "CUDA lacks the dtype" if lacking else next(reasons, reason)
    if verdict == AGREES and lacking:
        return BEYOND, ""
    return verdict, reason


def _judged(name, case, device):
    expected = _run(case, "cpu", 0)
    actual = _run(case, device, 0)
    if case.error is not None and _is(actual.error, *case.error):
        return AGREES, ""
    if actual.error is not None:
        if expected.error is None:
            return REFUSED, _words(actual.error)
        if type(actual.error) is type(expected.error):
            return SAME, ""
        if type(actual.error) is NotImplementedError:
            return REFUSED, _words(actual.error)
        return DIFFERS, f"{_words(actual.error)} for the CPU's {_words(expected.error)}"
    if expected.error is not None:
        if " not implemented for '" in str(expected.error) and _is_as_in_wider(case, actual):
            return ALONE, ""
        return DIFFERS, f"no error for the CPU's {_words(expected.error)}"
    if case.error is not None:
        return SAME, ""
    place = _place(case, device)
    results = differences(actual, expected, place, values=name not in UNWRITTEN)
    if results and _random(case, expected):
        results = differences(actual, expected, place, values=False)
    return (DIFFERS, results[0]) if results else (AGREES, "")


def _is_as_in_wider(case, actual):
    """Return whether the results are those that the CPU computes in a wider dtype."""
    dtype = next(value.dtype for _, value in flat((case.args, case.kwargs)) if isinstance(value, Tensor))
    args, kwargs = tree_map(
        lambda value: value.to(_WIDER[dtype]) if isinstance(value, Tensor) and value.dtype is dtype else value,
        (case.args, case.kwargs),
    )
    wide = _run(replace(case, args=args, kwargs=kwargs), "cpu", 0)
    results, wanted = (
        [
            value.detach().cpu()
            for path, value in outcome.leaves
            if path.startswith("result") and isinstance(value, Tensor)
        ]
        for outcome in (actual, wide)
    )
    return len(results) == len(wanted) > 0 and all(
        value.shape == other.shape
        and torch.allclose(value.to(other.dtype), other, rtol=0.02, atol=0.02, equal_nan=True)
        for value, other in zip(results, wanted, strict=True)
    )


def _place(case, device):
    """Return where CUDA leaves what the call makes: where it is told, else where its tensors lie."""
    device_name = case.kwargs.get("device")
    on_device = any(isinstance(value, Tensor) and value.is_cuda for _, value in flat((case.args, case.kwargs)))
    kind = torch.device(device_name).type if device_name is not None else "cuda" if on_device else "cpu"
    return device if kind == "cuda" else kind


def _is(error, kind, pattern):
    return isinstance(error, kind) and re.search(pattern, str(error)) is not None


def _random(case, expected):
    """Return whether the CPU itself gives other numbers with another seed."""
    return bool(differences(_run(case, "cpu", 1), expected, "cpu"))


def _run(case: Case, device: str, seed: int) -> Outcome:
    args, kwargs = copied((case.args, case.kwargs), device)
    places = {path: str(value.device) for path, value in flat((args, kwargs), "given") if isinstance(value, Tensor)}
    torch.manual_seed(seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = case.function(*args, **kwargs)
            leaves = flat(result)
            if case.after is not None:
                leaves += flat(_gradients(case.after(result), (args, kwargs)), "gradient")
            leaves += flat((args, kwargs), "given")
    except Exception as error:
        return Outcome(error=error)
    return Outcome(leaves, places)


def _gradients(result, arguments):
    """Return the gradients of all that `made` has of numbers, for all tensors that were given."""
    inputs = [value for _, value in flat(arguments) if isinstance(value, Tensor) and value.requires_grad]
    results = [value for _, value in flat(result) if isinstance(value, Tensor) and value.requires_grad]
    if not inputs or not results:
        return []
    ones = [torch.ones_like(value) for value in results]
    return torch.autograd.grad(results, inputs, ones, allow_unused=True)


def _words(error):
    return f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
