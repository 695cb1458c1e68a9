"""Tensors of one call on different devices: each function's own words, as CUDA has them.

They stand in aten/src/ATen: TensorIterator.cpp, core/op_registration/adaption.cpp, native/Convolution.cpp,
native/RNN.cpp, native/TensorAdvancedIndexingUtils.h; those of gradients in torch/csrc/autograd.
"""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from simgpu import simulated_gpus


@pytest.fixture
def gpus():
    with simulated_gpus(2) as started:
        yield started


def argument(name, method, offender="cpu", common="cuda:0"):
    return (
        f"Expected all tensors to be on the same device, but got {name} is on {offender}, different from other tensors "
        f"on {common} (when checking argument in method wrapper_CUDA_{method})"
    )


def state(name, input_device, other):
    return (
        f"Input and {name} tensors are not at the same device, found input tensor at {input_device} and {name} tensor "
        f"at {other}"
    )


TWO = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
TWO_GPUS = TWO.replace("cpu", "cuda:1")
INDICES = "indices should be either on cpu or on the same device as the indexed tensor ({})"
MASK = "expected self and mask to be on the same device, but got mask on {} and self on {}"

#: name -> (a call with x and indices i on cuda:0, h and j on the CPU, what it raises).
CALLS = {
    "add": (lambda x, h, i, j: x + h, TWO),
    "add, the CPU first": (lambda x, h, i, j: h + x, TWO),
    "add on two GPUs": (lambda x, h, i, j: x + x.to("cuda:1"), TWO_GPUS),
    "another GPU's number": (lambda x, h, i, j: x + x.to("cuda:1")[0, 0], TWO_GPUS),
    "a GPU's number for the CPU": (lambda x, h, i, j: h * x[0, 0], TWO),
    "written on the CPU": (lambda x, h, i, j: h.add_(x), TWO),
    "a number written on the CPU": (lambda x, h, i, j: h[0, 0].add_(x[0, 0]), TWO),
    "written from the CPU": (lambda x, h, i, j: x.mul_(h), TWO),
    "out= on the CPU": (lambda x, h, i, j: torch.add(x, 1, out=h), TWO),
    "where": (lambda x, h, i, j: torch.where(x > 0, x, h), TWO),
    "equal": (lambda x, h, i, j: torch.equal(x, h), argument("other", "_equal")),
    "mm": (lambda x, h, i, j: x @ h, argument("mat2", "mm")),
    "mm, the CPU first": (lambda x, h, i, j: h @ x, argument("mat2", "mm", "cuda:0", "cpu")),
    "a layer on the CPU": (lambda x, h, i, j: nn.Linear(4, 4)(x), argument("mat1", "addmm", "cuda:0", "cpu")),
    "indexed by another GPU": (lambda x, h, i, j: x[i.to("cuda:1")], INDICES.format("cuda:0")),
    "the CPU's indexed by a GPU": (lambda x, h, i, j: h[i], INDICES.format("cpu")),
    "a backward pass's gradient": (
        lambda x, h, i, j: (x.requires_grad_() * 2).backward(h),
        "Function returned an invalid gradient at index 0 - expected device cuda:0 but got cpu",
    ),
    "an assigned gradient": (
        lambda x, h, i, j: setattr(x, "grad", h),
        "attempting to assign a gradient with device type 'cpu' to a tensor with device type 'cuda'. Please ensure "
        "that the gradient and the tensor are on the same device",
    ),
    "embedding": (lambda x, h, i, j: nn.Embedding(4, 2).cuda()(j), argument("index", "_index_select")),
    "embedding by keywords": (
        lambda x, h, i, j: F.embedding(input=i, weight=h),
        argument("index", "_index_select", "cuda:0", "cpu"),
    ),
    "index_select": (lambda x, h, i, j: x.index_select(0, j), argument("index", "_index_select")),
    "gather": (lambda x, h, i, j: x.gather(0, j[None]), argument("index", "gather")),
    "scatter of a number": (lambda x, h, i, j: x.scatter(0, j[None], 1.0), argument("index", "scatter_value")),
    "cross_entropy": (lambda x, h, i, j: F.cross_entropy(x, j), argument("target", "nll_loss_forward")),
    "cross_entropy in 2d": (
        lambda x, h, i, j: F.cross_entropy(x[None, :, :, None], h[:1, :, None].long()),
        argument("target", "_nll_loss2d_forward"),
    ),
    "weights of classes": (
        lambda x, h, i, j: F.cross_entropy(x, i, weight=h[0]),
        argument("weight", "nll_loss_forward"),
    ),
    "bmm": (lambda x, h, i, j: torch.bmm(x[None], h[None]), argument("mat2", "bmm")),
    "cat": (lambda x, h, i, j: torch.cat([x, h]), argument("tensors", "cat")),
    "stack": (lambda x, h, i, j: torch.stack([x, h]), argument("tensors", "cat")),
    "linear": (lambda x, h, i, j: nn.Linear(4, 4).cuda()(h), argument("mat1", "addmm")),
    "a matrix and a vector": (lambda x, h, i, j: x @ h[0], argument("mat", "addmv_", "cuda:0", "cpu")),
    "dot": (lambda x, h, i, j: torch.dot(x[0], h[0]), argument("tensor", "_dot")),
    "layer_norm": (lambda x, h, i, j: nn.LayerNorm(4)(x), argument("weight", "_native_layer_norm")),
    "batch_norm": (lambda x, h, i, j: nn.BatchNorm1d(4)(x), argument("weight", "_cudnn_batch_norm")),
    "clamp": (lambda x, h, i, j: x.clamp(h.sum()), argument("min", "clamp_Tensor")),
    "mm into a CPU tensor": (
        lambda x, h, i, j: torch.mm(x, x, out=h),
        argument("self", "mm_out_out", "cuda:0", "cpu"),
    ),
    "two GPUs' convolution": (
        lambda x, h, i, j: F.conv2d(x[None, None], x.to("cuda:1")[None, None]),
        argument("weight", "_cudnn_convolution", "cuda:1"),
    ),
    "a convolution's weight": (
        lambda x, h, i, j: nn.Conv2d(1, 1, 1).cuda()(h[None, None]),
        "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same",
    ),
    "a convolution's bias": (
        lambda x, h, i, j: F.conv2d(x[None, None], x[None, None], h[0, :1]),
        "Input type (torch.cuda.FloatTensor) and bias type (torch.FloatTensor) should be the same",
    ),
    "a convolution's bias on another GPU": (
        lambda x, h, i, j: F.conv2d(x[None, None], x[None, None], h[0, :1].to("cuda:1")),
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cuda:1!",
    ),
    "mse_loss": (lambda x, h, i, j: F.mse_loss(x, h), TWO),
    "mse_loss the other way round": (lambda x, h, i, j: F.mse_loss(input=h, target=x), TWO),
    "smooth_l1_loss": (lambda x, h, i, j: F.smooth_l1_loss(x, h), TWO),
    "binary_cross_entropy": (lambda x, h, i, j: F.binary_cross_entropy(x, h), TWO),
    "huber_loss": (lambda x, h, i, j: F.huber_loss(x, h), argument("target", "_huber_loss")),
    "masked_fill": (lambda x, h, i, j: x.masked_fill(h > 0, 0), MASK.format("cpu", "cuda:0")),
    "masked_fill_": (lambda x, h, i, j: x.masked_fill_(mask=h > 0, value=0), MASK.format("cpu", "cuda:0")),
    "masked_fill of a CPU tensor": (lambda x, h, i, j: h.masked_fill(x > 0, 0), MASK.format("cuda:0", "cpu")),
    "masked_fill with a GPU's number": (
        lambda x, h, i, j: h.masked_fill(h > 0, x[0, 0]),
        "masked_fill_: Expected inputs to be on same device",
    ),
    "LSTM": (lambda x, h, i, j: nn.LSTM(4, 4).cuda()(h), state("parameter", "cpu", "cuda:0")),
    "LSTM on the CPU": (lambda x, h, i, j: nn.LSTM(4, 4)(x), state("parameter", "cuda:0", "cpu")),
    "LSTM's state": (
        lambda x, h, i, j: nn.LSTM(4, 4).cuda()(x, (h[:1], h[:1])),
        state("hidden", "cuda:0", "cpu"),
    ),
    "LSTM on two GPUs": (lambda x, h, i, j: nn.LSTM(4, 4).cuda(1)(x), state("parameter", "cuda:0", "cuda:1")),
    "GRU": (lambda x, h, i, j: nn.GRU(4, 4).cuda()(h), state("parameter", "cpu", "cuda:0")),
    "GRU's state": (lambda x, h, i, j: nn.GRU(4, 4).cuda()(x, h[:1]), state("hidden", "cuda:0", "cpu")),
    "RNN": (lambda x, h, i, j: nn.RNN(4, 4).cuda()(h), state("parameter", "cpu", "cuda:0")),
    "a packed sequence": (
        lambda x, h, i, j: nn.GRU(4, 4).cuda()(nn.utils.rnn.pack_sequence([h, h[:2]])),
        state("parameter", "cpu", "cuda:0"),
    ),
    "LSTMCell": (lambda x, h, i, j: nn.LSTMCell(4, 4).cuda()(h), argument("mat1", "addmm")),
}


def check(call, words):
    h, j = torch.rand(4, 4), torch.arange(4)
    with pytest.raises(RuntimeError) as error:
        call(h.cuda(), h, j.cuda(), j)
    assert str(error.value) == words


@pytest.mark.parametrize("name", CALLS)
def test_a_call_with_two_devices_says_so_in_cudas_words(name, gpus):
    check(*CALLS[name])


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="fewer than 2 CUDA devices here to compare with")
def test_cuda_itself_says_so():
    for call, words in CALLS.values():
        check(call, words)


def test_an_optimiser_refuses_a_gradient_that_its_parameter_was_moved_away_from(gpus):
    x = nn.Parameter(torch.ones(2, device="cuda"))
    x.grad = torch.ones(2, device="cuda")
    x.data = torch.ones(2)
    with pytest.raises(RuntimeError, match="^Expected all tensors to be on the same device"):
        torch.optim.SGD([x], lr=0.1).step()


def test_what_is_on_one_device_runs(gpus):
    x = torch.rand(4, 4, device="cuda")
    assert (x * torch.tensor(2.0)).device == x.device
    assert F.mse_loss(x, x).item() == 0 and x.masked_fill(x > 0, torch.tensor(2.0)).sum().item() == 32
    assert nn.GRU(4, 4).cuda()(x)[0].device == x.device
