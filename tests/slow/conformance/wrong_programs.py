"""Programs that fail on CUDA, each with the words CUDA says and the file of torch in which those are written."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

ADAPTION = "aten/src/ATen/core/op_registration/adaption.cpp: common_device_check_failure"
ITERATOR = "aten/src/ATen/TensorIterator.cpp: compute_types"
SAME = "Expected all tensors to be on the same device"
TWO = (
    rf"{SAME}, but (found at least two devices, {{0}} and {{1}}!|"
    rf"got \w+ is on {{1}}, different from other tensors on {{0}})"
)


@dataclass(frozen=True)
class Wrong:
    """A program that must fail on its two `devices`: with `error`, in words that `says` matches."""

    name: str
    program: object
    error: type
    says: str
    source: str
    devices: tuple = ("cuda:0", "cpu")


def either(a, b):
    """Return the pattern of a mismatch that may name the two devices in either order."""
    return f"{TWO.format(a, b)}|{TWO.format(b, a)}"


def mixed(name, program, devices=("cuda:0", "cpu"), says=None, source=ADAPTION):
    return Wrong(name, program, RuntimeError, says or either(*devices), source, devices)


def at(device, *shape):
    return torch.ones(shape, device=device)


def _backward_of_a_foreign_gradient(a, b):
    x = at(a, 2).requires_grad_()
    (x * 2).backward(at(b, 2))


def _assigned_gradient(a, b):
    x = at(a, 2).requires_grad_()
    x.grad = at(b, 2)


def _optimiser_of_two_homes(a, b):
    # the gradient was assigned by a program that moved the parameter's data away under it
    x = nn.Parameter(at(a, 2))
    x.grad = at(a, 2)
    x.data = at(b, 2)
    torch.optim.SGD([x], lr=0.1).step()


def timed():
    return torch.cuda.Event(enable_timing=True)


def elapsed(start, stop):
    return start.elapsed_time(stop)


def _elapsed_while_working(a, b):
    x, start, stop = at(a, 4096, 4096), timed(), timed()
    start.record()
    for _ in range(3):
        torch.mm(x[:, :8], x[:8])
    x @ x[:, :64]
    stop.record()
    return elapsed(start, stop)


WRONG = [
    mixed("add", lambda a, b: at(a, 3) + at(b, 3), says=TWO.format("cuda:0", "cpu"), source=ITERATOR),
    mixed("add, the CPU first", lambda a, b: at(b, 3) + at(a, 3), says=TWO.format("cuda:0", "cpu"), source=ITERATOR),
    mixed("add on two GPUs", lambda a, b: at(a, 3) + at(b, 3), ("cuda:0", "cuda:1"), source=ITERATOR),
    mixed("a 0-dim of another GPU", lambda a, b: at(a, 3) + at(b), ("cuda:0", "cuda:1"), source=ITERATOR),
    mixed("a GPU's 0-dim for a CPU tensor", lambda a, b: at(b, 3) * at(a), source=ITERATOR),
    mixed("in place on the CPU", lambda a, b: at(b, 3).add_(at(a, 3)), source=ITERATOR),
    mixed("in place on a CPU 0-dim", lambda a, b: at(b).add_(at(a)), source=ITERATOR),
    mixed("in place from the CPU", lambda a, b: at(a, 3).mul_(at(b, 3)), source=ITERATOR),
    mixed("compared", lambda a, b: at(a, 3) == at(b, 3), source=ITERATOR),
    mixed("matmul", lambda a, b: at(a, 2, 2) @ at(b, 2, 2)),
    mixed("matmul, the CPU first", lambda a, b: at(b, 2, 2) @ at(a, 2, 2)),
    mixed("bmm on two GPUs", lambda a, b: torch.bmm(at(a, 1, 2, 2), at(b, 1, 2, 2)), ("cuda:1", "cuda:3")),
    mixed("cat", lambda a, b: torch.cat([at(a, 2), at(b, 2)])),
    mixed("stack", lambda a, b: torch.stack([at(a, 2), at(b, 2)])),
    mixed("linear layer at home", lambda a, b: nn.Linear(2, 2)(at(a, 1, 2))),
    mixed("input at home", lambda a, b: nn.Linear(2, 2).to(a)(at(b, 1, 2))),
    mixed("embedding", lambda a, b: nn.Embedding(3, 2).to(a)(torch.tensor([0, 1], device=b))),
    mixed("mse loss", lambda a, b: F.mse_loss(at(a, 3), at(b, 3)), source=ITERATOR),
    mixed("cross entropy", lambda a, b: F.cross_entropy(at(a, 1, 3), torch.tensor([1], device=b))),
    mixed("where", lambda a, b: torch.where(at(a, 2) > 0, at(a, 2), at(b, 2)), source=ITERATOR),
    mixed("gather", lambda a, b: at(a, 2, 2).gather(0, torch.zeros(1, 2, dtype=torch.long, device=b))),
    mixed("index_select", lambda a, b: at(a, 2, 2).index_select(0, torch.tensor([0], device=b))),
    mixed("scatter_", lambda a, b: at(a, 2).scatter_(0, torch.tensor([0], device=b), 1.0)),
    mixed(
        "masked_fill with a mask at home",
        lambda a, b: at(a, 2).masked_fill_(torch.tensor([True, False]), 0),
        says="expected self and mask to be on the same device, but got mask on cpu and self on cuda:0",
        source="aten/src/ATen/native/cuda/IndexKernel.cpp: masked_fill__cuda",
    ),
    mixed("torch.equal", lambda a, b: torch.equal(at(a, 2), at(b, 2))),
    mixed("dot", lambda a, b: torch.dot(at(a, 2), at(b, 2))),
    mixed("einsum", lambda a, b: torch.einsum("i,ij->j", at(a, 2), at(b, 2, 2))),
    mixed("out= elsewhere", lambda a, b: torch.add(at(a, 2), 1, out=at(b, 2)), source=ITERATOR),
    mixed("mm, out= elsewhere", lambda a, b: torch.mm(at(a, 2, 2), at(a, 2, 2), out=at(b, 2, 2))),
    mixed("batch norm at home", lambda a, b: nn.BatchNorm1d(2)(at(a, 3, 2))),
    mixed("layer norm at home", lambda a, b: nn.LayerNorm(2)(at(a, 3, 2))),
    mixed("an optimiser's gradient elsewhere", _optimiser_of_two_homes, source=ITERATOR),
    Wrong(
        "convolution at home",
        lambda a, b: nn.Conv2d(1, 1, 1)(at(a, 1, 1, 2, 2)),
        RuntimeError,
        r"Input type \(torch\.cuda\.FloatTensor\) and weight type \(torch\.FloatTensor\) should be the same",
        "aten/src/ATen/native/Convolution.cpp: check_input_same_type_as_parameters",
    ),
    Wrong(
        "image at home",
        lambda a, b: nn.Conv2d(1, 1, 1).to(a)(at(b, 1, 1, 2, 2)),
        RuntimeError,
        r"Input type \(torch\.FloatTensor\) and weight type \(torch\.cuda\.FloatTensor\) should be the same",
        "aten/src/ATen/native/Convolution.cpp: check_input_same_type_as_parameters",
    ),
    Wrong(
        "LSTM at home",
        lambda a, b: nn.LSTM(2, 2)(at(a, 1, 1, 2)),
        RuntimeError,
        "Input and (parameter|hidden) tensors are not at the same device, found input tensor at cuda:0 and "
        r"(parameter|hidden) tensor at cpu|" + either("cuda:0", "cpu"),
        "aten/src/ATen/native/RNN.cpp: check_attributes",
    ),
    Wrong(
        "indexed by another GPU",
        lambda a, b: at(a, 3)[torch.tensor([0], device=b)],
        RuntimeError,
        r"indices should be either on cpu or on the same device as the indexed tensor \(cuda:0\)",
        "aten/src/ATen/native/TensorAdvancedIndexingUtils.h",
        ("cuda:0", "cuda:1"),
    ),
    Wrong(
        "a CPU tensor indexed by a GPU",
        lambda a, b: at(b, 3)[torch.tensor([0], device=a)],
        RuntimeError,
        r"indices should be either on (cpu or on the same device as the indexed tensor \(cpu\)|cpu)",
        "aten/src/ATen/native/TensorAdvancedIndexingUtils.h",
    ),
    Wrong(
        "numpy",
        lambda a, b: at(a, 2).numpy(),
        TypeError,
        r"^can't convert cuda:0 device type tensor to numpy\. "
        r"Use Tensor\.cpu\(\) to copy the tensor to host memory first\.$",
        "torch/csrc/utils/tensor_numpy.cpp: tensor_to_numpy",
    ),
    Wrong(
        "numpy.asarray",
        lambda a, b: __import__("numpy").asarray(at(a, 2)),
        TypeError,
        r"^can't convert cuda:0 device type tensor to numpy\.",
        "torch/csrc/utils/tensor_numpy.cpp: tensor_to_numpy",
    ),
    Wrong(
        "a gradient of another device",
        _backward_of_a_foreign_gradient,
        RuntimeError,
        r"(expected device cuda:0 but got cpu|" + either("cuda:0", "cpu") + ")",
        "torch/csrc/autograd/engine.cpp: validate_outputs",
    ),
    Wrong(
        "an assigned gradient of another device",
        _assigned_gradient,
        RuntimeError,
        r"assigned grad has data located on a different device|"
        r"attempting to assign a gradient with device type 'cpu' to a tensor with device type 'cuda'",
        "torch/csrc/autograd/python_variable.cpp: THPVariable_set_grad",
    ),
    Wrong(
        "ordinal",
        lambda a, b: torch.zeros(1, device="cuda:4"),
        RuntimeError,
        "^CUDA error: invalid device ordinal",
        "c10/cuda/CUDAException.cpp; CUDA runtime: cudaErrorInvalidDevice",
    ),
    Wrong(
        "ordinal in .to",
        lambda a, b: torch.zeros(1).to("cuda:7"),
        RuntimeError,
        "^CUDA error: invalid device ordinal",
        "c10/cuda/CUDAException.cpp; CUDA runtime: cudaErrorInvalidDevice",
    ),
    Wrong(
        "ordinal in .cuda",
        lambda a, b: nn.Linear(1, 1).cuda(9),
        RuntimeError,
        "^CUDA error: invalid device ordinal",
        "c10/cuda/CUDAException.cpp; CUDA runtime: cudaErrorInvalidDevice",
    ),
    Wrong(
        "set_device",
        lambda a, b: torch.cuda.set_device(4),
        RuntimeError,
        "^CUDA error: invalid device ordinal",
        "torch/csrc/cuda/Module.cpp: THCPModule_setDevice_wrap",
    ),
    Wrong(
        "properties of a device that isn't there",
        lambda a, b: torch.cuda.get_device_properties(4),
        AssertionError,
        "^Invalid device id$",
        "torch/cuda/__init__.py: get_device_properties",
    ),
    Wrong(
        "a device's name",
        lambda a, b: torch.device("cuda:x"),
        RuntimeError,
        r"^Invalid device string: 'cuda:x'",
        "c10/core/Device.cpp: parse_type",
    ),
    Wrong(
        "a generator of the CPU",
        lambda a, b: torch.rand(2, device=a, generator=torch.Generator()),
        RuntimeError,
        r"^Expected a 'cuda' device type for generator but found 'cpu'",
        "aten/src/ATen/core/Generator.h: check_generator",
    ),
    Wrong(
        "a generator of the GPU",
        lambda a, b: torch.rand(2, generator=torch.Generator(device=a)),
        RuntimeError,
        r"^Expected a 'cpu' device type for generator but found 'cuda'",
        "aten/src/ATen/core/Generator.h: check_generator",
    ),
    Wrong(
        "in place on a leaf",
        lambda a, b: at(a, 2).requires_grad_().add_(1),
        RuntimeError,
        "a leaf Variable that requires grad is being used in an in-place operation",
        "torch/csrc/autograd/VariableTypeUtils.h",
    ),
    Wrong(
        "shapes",
        lambda a, b: at(a, 2, 3) @ at(a, 2, 3),
        RuntimeError,
        r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)",
        "aten/src/ATen/native/cuda/Blas.cpp",
    ),
    Wrong(
        "backward twice",
        lambda a, b: [(y := at(a, 2).requires_grad_().exp().sum()).backward(), y.backward()],
        RuntimeError,
        "Trying to backward through the graph a second time",
        "torch/csrc/autograd/saved_variable.cpp",
    ),
    Wrong(
        "elapsed time of events that weren't recorded",
        lambda a, b: elapsed(timed(), timed()),
        ValueError,
        r"^Both events must be recorded before calculating elapsed time\.$",
        "c10/cuda/CUDAEvent.h: elapsed_time",
    ),
    Wrong(
        "elapsed time of events that keep none",
        lambda a, b: elapsed(torch.cuda.Event(), timed()),
        ValueError,
        r"^Both events must be created with argument 'enable_timing=True'\.$",
        "c10/cuda/CUDAEvent.h: elapsed_time",
    ),
    Wrong(
        "elapsed time of work that goes on",
        _elapsed_while_working,
        RuntimeError,
        r"^Both events must be completed before calculating elapsed time\.",
        "c10/cuda/CUDAEvent.h: elapsed_time",
    ),
]
