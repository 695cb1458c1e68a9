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
    """What came of calls of `op` in one `way` and `dtype`: `said` is the first error's, or the difference's, words."""

    op: str
    way: str
    dtype: str
    verdict: str
    said: str = ""


def examine(op: Any, way: str, dtype: str, most: int, device: str = "cuda:0") -> Verdict | None:
    """Return the worst verdict of at most `most` calls of `op`; None where there is none to make."""
    if not applies(op, way, dtype):
        return None
    found = []
    name = op.formatted_name
    try:
        for case in cases(op, way, dtype, device, most):
            found.append(_judged(name, case, device))
    except Exception as error:  # the samples are made on the device: that is a program like any other
        found.append((REFUSED if type(error) is NotImplementedError else DIFFERS, f"samples: {_words(error)}"))
    for verdict in (DIFFERS, REFUSED, ALONE, AGREES, SAME):
        for one, said in found:
            if one == verdict:
                return Verdict(name, way, dtype, *_known(op, way, dtype, verdict, said))
    return None


def _known(op, way, dtype, verdict, said):
    """Return the verdict and its words, set right by what is known of the op, and of CUDA's dtypes."""
    if verdict == DIFFERS and (op.formatted_name, way) in OF_TORCH:
        return APART, OF_TORCH[op.formatted_name, way]
    lacking = way != "wrong" and DTYPES[dtype] not in op.dtypesIfCUDA
    if verdict == REFUSED:
        known = (why for words, why in REASONS.items() if words in said)
        return verdict, "CUDA lacks the dtype" if lacking else next(known, said)
    if verdict == AGREES and lacking:
        return BEYOND, ""
    return verdict, said


def _judged(name, case, device):
    here = _run(case, "cpu", 0)
    there = _run(case, device, 0)
    if case.error is not None and _is(there.error, *case.error):
        return AGREES, ""
    if there.error is not None:
        if here.error is None:
            return REFUSED, _words(there.error)
        if type(there.error) is type(here.error):
            return SAME, ""
        if type(there.error) is NotImplementedError:
            return REFUSED, _words(there.error)
        return DIFFERS, f"{_words(there.error)} for the CPU's {_words(here.error)}"
    if here.error is not None:
        if " not implemented for '" in str(here.error) and _is_as_in_wider(case, there):
            return ALONE, ""
        return DIFFERS, f"no error for the CPU's {_words(here.error)}"
    if case.error is not None:
        return SAME, ""
    place = _place(case, device)
    found = differences(there, here, place, values=name not in UNWRITTEN)
    if found and _random(case, here):
        found = differences(there, here, place, values=False)
    return (DIFFERS, found[0]) if found else (AGREES, "")


def _is_as_in_wider(case, there):
    """Return whether the results are those that the CPU computes in a wider dtype."""
    given = next(one.dtype for _, one in flat((case.args, case.kwargs)) if isinstance(one, Tensor))
    args, kwargs = tree_map(
        lambda one: one.to(_WIDER[given]) if isinstance(one, Tensor) and one.dtype is given else one,
        (case.args, case.kwargs),
    )
    wide = _run(replace(case, args=args, kwargs=kwargs), "cpu", 0)
    found, wanted = (
        [one.detach().cpu() for path, one in outcome.leaves if path.startswith("result") and isinstance(one, Tensor)]
        for outcome in (there, wide)
    )
    return len(found) == len(wanted) > 0 and all(
        one.shape == other.shape and torch.allclose(one.to(other.dtype), other, rtol=0.02, atol=0.02, equal_nan=True)
        for one, other in zip(found, wanted, strict=True)
    )


def _place(case, device):
    """Return where CUDA leaves what the call makes: where it is told, else where its tensors lie."""
    named = case.kwargs.get("device")
    there = any(isinstance(one, Tensor) and one.is_cuda for _, one in flat((case.args, case.kwargs)))
    kind = torch.device(named).type if named is not None else "cuda" if there else "cpu"
    return device if kind == "cuda" else kind


def _is(error, kind, pattern):
    return isinstance(error, kind) and re.search(pattern, str(error)) is not None


def _random(case, here):
    """Return whether the CPU itself gives other numbers with another seed."""
    return bool(differences(_run(case, "cpu", 1), here, "cpu"))


def _run(case: Case, device: str, seed: int) -> Outcome:
    args, kwargs = copied((case.args, case.kwargs), device)
    places = {path: str(one.device) for path, one in flat((args, kwargs), "given") if isinstance(one, Tensor)}
    torch.manual_seed(seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = case.function(*args, **kwargs)
            leaves = flat(made)
            if case.after is not None:
                leaves += flat(_gradients(case.after(made), (args, kwargs)), "gradient")
            leaves += flat((args, kwargs), "given")
    except Exception as error:
        return Outcome(error=error)
    return Outcome(leaves, places)


def _gradients(made, given):
    """Return the gradients of all that `made` has of numbers, for all tensors that were given."""
    inputs = [one for _, one in flat(given) if isinstance(one, Tensor) and one.requires_grad]
    results = [one for _, one in flat(made) if isinstance(one, Tensor) and one.requires_grad]
    if not inputs or not results:
        return []
    ones = [torch.ones_like(one) for one in results]
    return torch.autograd.grad(results, inputs, ones, allow_unused=True)


def _words(error):
    return f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
