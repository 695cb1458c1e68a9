"""The lists of CUDA's autocast are torch's: its header's, its registered kernels' and those it tests itself by."""

import importlib
import re
import sys
import types
from pathlib import Path

import pytest
import torch

from simgpu import simulated_gpus
from simgpu.autocast import lists

#: Registered beside the header's lists, in autocast_mode.cpp; the last since torch 2.15.
_BESIDE = {"cudnn_convolution", "cudnn_convolution_transpose", "linalg_matrix_sqrth"}
_HEADER = Path(torch.__file__).parent / "include/ATen/autocast_mode.h"
#: Torch's list -> the dtype in which its ops run. None: not treated, they find the widest by themselves.
_KINDS = {
    "torch_fp16": torch.float16,
    "nn_fp16": torch.float16,
    "linalg_fp16": torch.float16,
    "methods_fp16": torch.float16,
    "torch_fp32": torch.float32,
    "nn_fp32": torch.float32,
    "methods_fp32": torch.float32,
    "torch_need_autocast_promote": torch.float32,
    "torch_expect_builtin_promote": None,
    "methods_expect_builtin_promote": None,
}


def of_header(name):
    """Return the names in one of the header's lists."""
    text = _HEADER.read_text(encoding="utf-8").split(f"#define AT_FORALL_{name}(_)")[1].split("\n\n")[0]
    return {".".join(re.split(r",\s*", entry)) for entry in re.findall(r"_\((\w+(?:, \w+)?)\)", text)}


def without_names(names):
    """Return the names without those that take dimensions by their names, a prototype that torch 2.13 has no more."""
    return {name for name in names if not re.search(r"dimname|\.names", name, re.IGNORECASE)}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lists.LOWER - _BESIDE, "LOWER_PRECISION_FP"),
        (lists.FLOAT32 - _BESIDE, "FP32"),
        (lists.FLOAT32_BY_DEFAULT, "FP32_SET_OPT_DTYPE"),
        (lists.WIDEST, "PROMOTE"),
    ],
)
def test_a_list_is_the_headers(ours, theirs):
    names = without_names(of_header(theirs))
    assert len(names) > 10 and (ours == names if torch.__version__ >= (2, 13) else ours >= names)


def test_every_kernel_that_torch_has_is_in_a_list():
    registered = {
        name.removeprefix("aten::")
        for name in torch._C._dispatch_get_all_op_names()
        if name.startswith("aten::") and torch._C._dispatch_has_kernel_for_dispatch_key(name, "AutocastCUDA")
    }
    ours = lists.LOWER | lists.FLOAT32 | lists.FLOAT32_BY_DEFAULT | {*lists.GIVEN_FLOAT32} | lists.WIDEST | lists.BANNED
    registered = without_names(registered)
    registered -= {"_cudnn_rnn"}  # in a build for CUDA; here the functions that call it are lowered
    assert len(registered) > 100 and registered <= ours
    assert ours - registered <= {"linalg_matrix_sqrth"} or torch.__version__ < (2, 13)


def torchs_own(device):
    """Return torch's `AutocastTestLists`; the rest of its test library, which asks for more packages, stays away."""
    name = "torch.testing._internal.common_utils"
    library = types.ModuleType(name)
    library.TEST_WITH_ROCM, library.TestCase = False, object
    before, sys.modules[name] = sys.modules.get(name), library
    try:
        module = importlib.import_module("torch.testing._internal.autocast_test_lists")
        return module.AutocastTestLists(torch.device(device))
    finally:
        del sys.modules[name]
        if before is not None:
            sys.modules[name] = before


def cases():
    """Yield (list's name, place in it) of what torch tests."""
    tested = torchs_own("cpu")
    for kind in _KINDS:
        for place, case in enumerate(getattr(tested, kind)):
            # cuDNN's are of a library that no CPU has, and no program calls them; torch skips einsum, too: its equation
            # stands where arguments should.
            if not case[0].startswith(("cudnn_", "einsum")):
                yield pytest.param(kind, place, id=f"{kind}-{case[0]}-{place}")


@pytest.mark.filterwarnings("ignore:(torch.chain_matmul|Using torch.cross):UserWarning")
@pytest.mark.parametrize(("kind", "place"), [*cases()])
def test_an_op_of_torchs_own_tests_runs_in_the_precision_they_want(kind, place):
    with simulated_gpus(1), torch.no_grad():
        torch.manual_seed(0)
        name, args, *rest = getattr(torchs_own("cuda"), kind)[place]
        options = rest[0] if rest and isinstance(rest[0], dict) else {}
        dtype = _KINDS[kind]
        with torch.autocast("cuda", dtype=torch.float16):
            results = called(name, args, options)
            with torch.autocast("cuda", enabled=False):
                wanted = called(name, lowered(args, dtype), options)
        for entry, other in zip(flat(results), flat(wanted), strict=True):
            if isinstance(entry, torch.Tensor):
                assert entry.dtype == (dtype or rest[0]) and entry.device == torch.device("cuda", 0)
                assert torch.equal(entry.cpu().nan_to_num(), other.cpu().nan_to_num())
            else:
                assert entry is other is False  # `equal`


def called(name, args, options):
    owners = (torch, torch._C._nn, torch.linalg, torch.nn.functional)
    owners = (torch.Tensor,) if name.startswith("__") else owners
    name = name.removeprefix("linalg_")
    return getattr(next(owner for owner in owners if hasattr(owner, name)), name)(*args, **options)


def lowered(value, dtype):
    """Return arguments with the floats among them in `dtype`, if one is given."""
    if isinstance(value, (tuple, list)):
        return type(value)(lowered(entry, dtype) for entry in value)
    return value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() and dtype else value


def flat(results):
    return results if isinstance(results, (tuple, list)) else (results,)
