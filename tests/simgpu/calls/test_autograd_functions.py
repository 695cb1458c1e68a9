"""A program's own autograd function gets its gradients on the device of its results, and gives them where it must."""

import pytest
import torch

from simgpu import simulated_gpus

GPU = torch.device("cuda", 1)


@pytest.fixture(autouse=True)
def gpus():
    with simulated_gpus(2):
        yield


class Two(torch.autograd.Function):
    """Two results of two inputs; notes on which devices its gradients are."""

    devices: list

    @staticmethod
    def forward(ctx, x, y):
        return x * 1, y * 2

    @staticmethod
    def backward(ctx, first, second):
        Two.devices = [first.device, second.device]
        return first + second, 2 * second


def leaves(device, dtype=torch.float32):
    return [torch.arange(1.0, 4.0).to(device, dtype).requires_grad_() for _ in range(2)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_a_gradient_that_is_not_there_comes_as_zeros_on_the_device(dtype):
    gradients = {}
    for device in ("cpu", GPU):
        x, y = leaves(device, dtype)
        first, _ = Two.apply(x, y)
        first.abs().sum().backward()
        gradients[str(device)] = x.grad.cpu(), y.grad.cpu()
        assert x.grad.device == y.grad.device == torch.device(device)
    assert Two.devices == [GPU, GPU]
    assert all(torch.equal(*pair) for pair in zip(*gradients.values(), strict=True))


def test_what_a_formula_made_comes_on_the_device():
    x, y = leaves(GPU)
    first, second = Two.apply(x, y)
    (first.cumprod(0).sum() + second.sgn().sum()).backward()
    assert Two.devices == [GPU, GPU]


def test_a_hook_gets_its_gradient_on_the_device():
    devices = []
    (x, _) = leaves(GPU)
    y = x * 2
    y.register_hook(lambda gradient: devices.append(gradient.device))
    y.retain_grad()
    y.sgn().sum().backward()
    assert devices == [GPU] and x.grad.device == y.grad.device == GPU


def test_a_gradient_on_the_cpu_is_refused_in_cudas_words():
    class Wrong(Two):
        @staticmethod
        def backward(ctx, first, second):
            return first, torch.ones(3)

    x, y = leaves(GPU)
    with pytest.raises(
        RuntimeError, match="WrongBackward returned an invalid gradient at index 1 - expected device cud"
    ):
        Wrong.apply(x, y)[0].sum().backward()


def test_a_scalars_gradient_comes_home_whichever_op_read_it():
    scalar = torch.tensor(2.0, requires_grad=True)
    x = torch.ones(3, device=GPU, requires_grad=True)
    ((scalar * 3) * x + torch.lerp(x, x * 2, scalar)).sum().backward()
    assert (scalar.grad.device.type, scalar.grad.item()) == ("cpu", 9 + 3)
