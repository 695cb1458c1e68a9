"""What reads a tensor's memory directly: handled, or refused in words; the interpreter lives on."""

import subprocess
import sys

import pytest
import torch

HANDED_OUT = {
    "apply_": ("x.apply_(lambda v: v + 1)", "TypeError: apply_ is only implemented on CPU tensors"),
    "map_": ("x.map_(x, lambda a, b: a + b)", "TypeError: map_ is only implemented on CPU tensors"),
    "map_ of the CPU": ("torch.ones(3).map_(x, lambda a, b: a + b)", "RuntimeError: .map_ is not supported"),
    "from_dlpack": ("torch.from_dlpack(x)", "BufferError: cuda:0 is simulated"),
    "numpy's": ("import numpy; numpy.from_dlpack(x)", "BufferError: cuda:0 is simulated"),
    "to_dlpack": (
        "torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x))",
        "BufferError: cuda:0 is simulated",
    ),
    "_to_dlpack": ("torch._C._from_dlpack(torch._C._to_dlpack(x))", "BufferError: cuda:0 is simulated"),
    "interface": ("x.__cuda_array_interface__", "AttributeError: cuda:0 is simulated"),
    "memoryview": ("memoryview(x)", "TypeError"),
    "frombuffer": ("torch.frombuffer(x, dtype=torch.float32)", "ValueError"),
    "numpy": ("x.numpy()", "TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()"),
    "asarray": ("import numpy; numpy.asarray(x)", "TypeError: can't convert cuda:0 device type tensor to numpy"),
    "numpy in C": ("torch._C.TensorBase.numpy(x)", "RuntimeError: .numpy() is not supported"),
    "set_": ("torch.empty(0).set_(x.untyped_storage())", "RuntimeError: Attempted to set the storage of a tensor"),
    "tensor, early": (
        "tensor([1.0, 2.0], device='cuda:0')",
        "RuntimeError: empty_strided on a simulated GPU: torch's C",
    ),
    "cuda in C": (
        "torch._C.TensorBase.cuda(torch.ones(2))",
        "RuntimeError: PyTorch is not linked with support for cuda"
        if torch.version.cuda is None
        else "AcceleratorError: CUDA error: ",
    ),
}
GIVEN = {
    "numpy by force": ("x.numpy(force=True).tolist()", "[1.0, 1.0, 1.0]"),
    "address": ("x.data_ptr() == x[:1].data_ptr() != x.clone().data_ptr()", "True"),
    "storage": ("x.untyped_storage().device, x.untyped_storage().is_cuda", "(device(type='cuda', index=0), True)"),
    "its copy": (
        "x.untyped_storage().cpu().device, x.untyped_storage().cpu().tolist()[2:4]",
        "(device(type='cpu'), [128, 63])",
    ),
    "one of a type": ("x.storage().device, x.storage()[1]", "(device(type='cuda', index=0), 1.0)"),
    "bytes": ("bytes(x.byte())", r"b'\x01\x01\x01'"),
    "to in C": ("torch._C.TensorBase.to(torch.ones(1), 'cuda:1').device", "cuda:1"),
    "an op": ("torch.ops.aten._to_copy(torch.ones(1), device=torch.device('cuda:1')).device", "cuda:1"),
}
PROGRAM = """
import sys, warnings
warnings.simplefilter("ignore")
import torch, simgpu
from torch import tensor
simgpu_ = simgpu.simulated_gpus(2)
for line in sys.stdin.read().splitlines():
    x = torch.ones(3, device="cuda")
    try:
        *before, last = line.split("; ")
        exec("; ".join(before))
        print("given:", eval(last))
    except Exception as error:
        print("refused:", type(error).__name__ + ": " + str(error).replace("\\n", " "))
    assert x.tolist() == [1, 1, 1] and (torch.ones(3) + 1).tolist() == [2, 2, 2]
"""


@pytest.fixture(scope="module")
def answers():
    """Return what each line prints, all of them in one process, which must come to its own end."""
    lines = [line for line, _ in (*HANDED_OUT.values(), *GIVEN.values())]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input="\n".join(lines), capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(lines, done.stdout.splitlines(), strict=True))


@pytest.mark.parametrize("name", HANDED_OUT)
def test_memory_is_not_handed_out(answers, name):
    line, words = HANDED_OUT[name]
    assert answers[line].startswith(f"refused: {words}")


@pytest.mark.parametrize("name", GIVEN)
def test_what_asks_for_an_address_or_a_copy_is_answered(answers, name):
    line, words = GIVEN[name]
    assert answers[line] == f"given: {words}"
