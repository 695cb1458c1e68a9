"""Formulas of torch's C++ under simulated GPUs: what a backward pass makes on the CPU is no mistake of the program."""

import pytest
import torch

from simgpu import simulated_gpus


@pytest.fixture(scope="module", autouse=True)
def gpus():
    with simulated_gpus(2) as gpus:
        yield gpus


def _numbers(seed=0, size=(3, 4), dtype=torch.float32):
    return torch.randn(size, dtype=dtype, generator=torch.Generator().manual_seed(seed))


_OPS = {
    "prod": lambda x: x.prod(),
    "cumprod": lambda x: x.cumprod(0),
    "cummax": lambda x: x.cummax(0).values,
    "cummin": lambda x: x.cummin(0).values,
    "trace": lambda x: x.trace(),
    "mvlgamma": lambda x: torch.mvlgamma(x.abs() + 5, 3),
    "diagonal_scatter": lambda x: x.diagonal_scatter(x[:, 0] * 2),
    "select_scatter": lambda x: x.select_scatter(x[0] * 2, 0, 1),
    "slice_scatter": lambda x: x.slice_scatter(x[:1] * 2, 0, 1, 2),
    "as_strided": lambda x: x.as_strided((2, 2), (1, 2)),
    "index_put": lambda x: x.index_put((torch.tensor([0, 1], device=x.device),), x[:2] * 3),
    "put": lambda x: x.put(torch.tensor([0, 1], device=x.device), x[0, :2] * 3),
    "stft": lambda x: torch.stft(x.flatten(), 4, window=torch.ones(4, device=x.device), return_complex=True).abs(),
    "vander": lambda x: torch.linalg.vander(x),
    "copysign": lambda x: x.copysign(x.detach().clone().neg().requires_grad_()),
    "sgn": lambda x: x.sgn(),
    "repeat": lambda x: x.repeat(0, 1),
    "normal": lambda x: torch.normal(x, 1.0) * 0,
    "hfft": lambda x: torch.fft.hfft(x),
    "conj": lambda x: (torch.fft.fft(x).conj() * x).imag,
    "max_pool": lambda x: torch.nn.functional.max_pool1d(x, 2),
}


@pytest.mark.parametrize("name", _OPS)
def test_a_gradient_is_the_cpus_and_lies_where_its_leaf_does(name):
    plain = _numbers().requires_grad_()
    simulated = _numbers().to("cuda:1").requires_grad_()
    for leaf in (plain, simulated):
        _OPS[name](leaf).sum().backward()
    assert simulated.grad.device == torch.device("cuda", 1)
    assert torch.allclose(plain.grad, simulated.grad.cpu())
    (gradient,) = torch.autograd.grad(_OPS[name](simulated).sum(), simulated)
    assert gradient.device == simulated.device
    if torch.__version__ >= (2, 13):  # since then also by name
        by_name = torch.autograd.grad(_OPS[name](simulated).sum(), {"x": simulated})
        assert by_name["x"].device == simulated.device


def test_a_gradient_made_by_a_formula_takes_memory_of_the_device(gpus):
    x = torch.zeros(1000, device="cuda:0", requires_grad=True)
    x.sgn().sum().backward()
    before = torch.cuda.memory_allocated(0)
    assert x.grad is x.grad
    assert torch.cuda.memory_allocated(0) - before == 4096


def test_second_derivatives_pass_through_formulas():
    def second(x):
        (first,) = torch.autograd.grad(x.prod(), x, create_graph=True)
        return torch.autograd.grad((first**2).sum(), x)[0]

    simulated = second(_numbers().to("cuda:0").requires_grad_())
    assert simulated.device == torch.device("cuda", 0)
    assert torch.allclose(second(_numbers().requires_grad_()), simulated.cpu(), rtol=1e-4)


def test_gradients_of_two_passes_add_up_where_the_leaf_lies():
    leaf = _numbers().to("cuda:0").requires_grad_()
    leaf.trace().backward()
    (leaf * 2).sum().backward()
    leaf.cumprod(0).sum().backward()
    assert leaf.grad.device == leaf.device


def test_a_formula_copies_nothing_between_host_and_device(gpus):
    x = _numbers().to("cuda:0").requires_grad_()
    x.diagonal_scatter(x[:, 0] * 2).sum().backward()
    with torch.no_grad():
        loss = x.detach().requires_grad_().diagonal_scatter(x[:, 0].detach() * 2).sum().requires_grad_()
    before = len([span for span in gpus.clock.spans if "copies" in span.lane])
    loss.backward()
    x.diagonal_scatter(x[:, 0] * 2).sum().backward()
    assert len([span for span in gpus.clock.spans if "copies" in span.lane]) == before


class _OwnTimes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 2 * x


class _OwnWrong(_OwnTimes):
    @staticmethod
    def backward(ctx, gradient):
        return gradient * torch.ones(gradient.shape)  # on the CPU


def test_a_programs_own_backward_takes_what_a_formula_made():
    plain, simulated = _numbers().requires_grad_(), _numbers().to("cuda:0").requires_grad_()
    for leaf in (plain, simulated):
        _OwnTimes.apply(leaf).cumprod(0).sum().backward()
    assert torch.allclose(plain.grad, simulated.grad.cpu())


def test_a_programs_own_backward_that_mixes_devices_is_refused():
    x = _numbers().to("cuda:0").requires_grad_()
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        _OwnWrong.apply(x).sum().backward()


def test_a_hook_that_mixes_devices_is_refused():
    x = _numbers().to("cuda:0").requires_grad_()
    y = x * 2
    y.register_hook(lambda gradient: gradient * torch.ones(3, 4))
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        y.sum().backward()


def test_a_gradient_left_on_the_cpu_takes_none_of_the_gpu():
    layer = torch.nn.Linear(2, 2)
    layer(torch.ones(1, 2)).sum().backward()
    layer.weight.data = layer.weight.data.to("cuda:0")
    assert layer.weight.grad.device.type == "cpu"
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        (layer.weight * 2).sum().backward()


def test_a_log_sees_a_formula_and_refuses_none_of_it():
    class Log(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    x = _numbers().to("cuda:0").requires_grad_()
    with Log():
        x.cumprod(0).sum().backward()
    assert x.grad.device == x.device


def test_a_conjugate_is_one_to_torch_and_writes_through():
    x = _numbers(dtype=torch.complex64).to("cuda:0")
    y = x.conj()
    assert y.is_conj() and y.imag.is_neg()
    assert torch.equal(y.imag.cpu(), -x.imag.cpu())
    assert torch.equal(torch.view_as_real(y.resolve_conj())[..., 1].cpu(), -x.imag.cpu())
    y.mul_(1j)
    assert torch.equal(x.cpu(), _numbers(dtype=torch.complex64) * -1j)
