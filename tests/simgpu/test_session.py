"""Simulated tensors: values are the CPU's, devices are those that CUDA reports, whatever is done with them."""

import copy

import pytest
import torch

from course import log_placement, place, simulated_gpus

GPU = torch.device("cuda", 1)


@pytest.fixture(autouse=True)
def gpus():
    with simulated_gpus(3) as started:
        yield started


FACTORIES = {
    "zeros": lambda d: torch.zeros(2, 3, device=d),
    "full": lambda d: torch.full((2,), 7, device=d),
    "arange": lambda d: torch.arange(5, device=d),
    "linspace": lambda d: torch.linspace(0, 1, 5, device=d),
    "eye": lambda d: torch.eye(3, device=d),
    "tensor": lambda d: torch.tensor([[1.0, 2.0]], device=d),
    "as_tensor": lambda d: torch.as_tensor([1, 2], device=d),
    "from a tensor": lambda d: torch.tensor(torch.ones(2).tolist(), device=d),
    "zeros_like": lambda d: torch.zeros_like(torch.ones(2), device=d),
    "new_full": lambda d: torch.ones(1, device=d).new_full((2,), 3),
    "new_tensor": lambda d: torch.ones(1, device=d).new_tensor([4, 5]),
    "like": lambda d: torch.ones_like(torch.zeros(3, device=d)),
    "indices": lambda d: torch.tril_indices(3, 3, device=d),
    "window": lambda d: torch.hann_window(8, device=d),
    "one_hot": lambda d: torch.nn.functional.one_hot(torch.tensor([0, 2], device=d)),
}


@pytest.mark.parametrize("name", FACTORIES)
@pytest.mark.parametrize("spelling", ["cuda:1", GPU, 1])
def test_a_factory_makes_its_values_on_the_device_it_is_told(name, spelling):
    simulated, plain = FACTORIES[name](spelling), FACTORIES[name]("cpu")
    assert simulated.device == GPU and simulated.is_cuda and simulated.get_device() == 1
    assert torch.equal(simulated.cpu(), plain) and simulated.dtype == plain.dtype
    assert type(simulated.cpu()) is torch.Tensor


def test_a_default_device_and_a_block_are_told_to_every_factory():
    with torch.device("cuda:2"):
        assert torch.zeros(2).device.index == 2
        assert torch.nn.Linear(2, 2).weight.device.index == 2
        assert torch.zeros(2, device="cpu").device.type == "cpu"
    torch.set_default_device("cuda")
    try:
        assert torch.arange(3, dtype=torch.float32).device == torch.device("cuda", 0)
    finally:
        torch.set_default_device(None)
    assert torch.zeros(1).device.type == "cpu"


def test_every_form_of_to_goes_where_it_says():
    x, model = torch.ones(2, 3), torch.zeros(1, device=GPU, dtype=torch.float64)
    for moved, dtype in [
        (x.to("cuda:1"), torch.float32),
        (x.to(1), torch.float32),
        (x.to(GPU, torch.float64), torch.float64),
        (x.to(model), torch.float64),
        (x.to(GPU, torch.int32, True, True), torch.int32),
        (x.to(device=1, dtype=torch.half, non_blocking=True, copy=True), torch.half),
        (x.cuda(1), torch.float32),
        (x.type("torch.cuda.DoubleTensor").to(GPU), torch.float64),
        (x.type_as(model), torch.float64),
        (model.type(torch.int32), torch.int32),
        (torch.zeros_like(model, device=1), torch.float64),
    ]:
        assert (moved.device, moved.dtype) == (GPU, dtype)
    simulated = x.to(GPU)
    assert simulated.to(GPU) is simulated and simulated.to(GPU, copy=True) is not simulated
    assert torch.zeros_like(model, device="cpu").device.type == "cpu" and simulated.t().cpu().stride() == (1, 3)
    assert simulated.double().device == GPU and simulated.type() == "torch.cuda.FloatTensor"


def test_views_share_and_in_place_changes_of_shape_are_seen():
    x = torch.arange(6.0, device=GPU).view(2, 3)
    b = x.clone()
    assert b.t_().shape == (3, 2) and b.stride() == (1, 3)
    assert b.unsqueeze_(0).shape == (1, 3, 2)
    assert torch.zeros(2, device=GPU).resize_(3, 3).shape == (3, 3)
    x.view(-1)[2:4].mul_(10)
    assert x[1].data_ptr() == x.view(-1)[3:].data_ptr() != x.data_ptr()
    assert x.tolist() == [[0, 1, 20], [30, 4, 5]]
    out = torch.empty(0, device=GPU)
    assert torch.add(x, 1, out=out) is out and out.tolist() == [[1, 2, 21], [31, 5, 6]]


def test_a_gradient_lies_where_its_leaf_does():
    scalar = torch.tensor(2.0, requires_grad=True)
    row = torch.ones(3, requires_grad=True)
    x = torch.ones(3, device=GPU, requires_grad=True)
    y = x * 2
    y += scalar  # in place, and by name, and first
    total = (scalar * y).sum() + y.mul(other=scalar).sum() + (x * row.to(GPU)).sum()
    target = torch.zeros(3, device=GPU)
    target.copy_(row)
    target[1] = scalar
    (total + target.sum()).backward()
    assert [t.grad.device.type for t in (scalar, row, x)] == ["cpu", "cpu", "cuda"]
    assert (scalar.grad.item(), row.grad.tolist()) == (18 + 18 + 1, [2.0, 1.0, 2.0])


def test_a_second_derivative_comes_home_too():
    w = torch.ones(2, requires_grad=True)
    (first,) = torch.autograd.grad((w.to(GPU) ** 3).sum(), w, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), w)
    assert (second.device.type, second.tolist()) == ("cpu", [6.0, 6.0])


def test_data_may_be_set_to_a_tensor_of_another_device():
    p = torch.nn.Parameter(torch.ones(2))
    p.data = p.data.cuda()
    assert p.is_cuda and isinstance(p, torch.nn.Parameter) and p.is_leaf
    p.data = torch.zeros(2)
    assert type(p) is torch.nn.Parameter and p.tolist() == [0, 0]


def test_a_tensor_says_that_it_is_simulated():
    x = torch.ones(2, device=GPU)
    assert repr(x) == str(x) == f"{x}" == "tensor([1., 1.], device='cuda:1', simulated)"
    assert f"{x.sum():.2f}" == "2.00" and copy.deepcopy(x).device == GPU
    assert repr(torch.nn.Parameter(x)).startswith("Parameter containing:\ntensor([1., 1.], device='cuda:1', req")


def test_a_log_has_each_op_once_with_the_bytes_of_each_copy():
    with log_placement() as log:
        x = torch.ones(4, device=GPU)
        (x + x).cpu()
        x.copy_(torch.zeros(4))
    assert [(r.op, r.bytes_moved) for r in log if r.op != "zeros"] == [
        ("ones", 0),
        ("add", 0),
        ("_to_copy", 16),
        ("copy_", 16),
    ]


def test_placement_moves_inputs_to_a_simulated_device():
    w = torch.ones(2, 2, requires_grad=True)
    with place("/gpu:1") as placement:
        result = (w @ w).sum()
    result.backward()
    assert result.device == GPU and w.grad.device.type == "cpu" and placement.moves > 0
