"""Tensors of other classes that wrap simulated ones: they say where they are, train, and leave nothing behind."""

import pytest
import torch
from torch.utils._pytree import tree_map

from simgpu import simulated_gpus


class Wrapped(torch.Tensor):
    """A tensor with another inside, as libraries of quantised tensors make them."""

    @staticmethod
    def __new__(cls, inner):
        result = torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), dtype=inner.dtype, device=inner.device, requires_grad=inner.requires_grad
        )
        result.inner = inner
        return result

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        plain = tree_map(lambda value: value.inner if isinstance(value, Wrapped) else value, (args, kwargs or {}))
        result = func(*plain[0], **plain[1])
        return tree_map(lambda value: Wrapped(value) if isinstance(value, torch.Tensor) else value, result)


@pytest.fixture
def gpus():
    with simulated_gpus(2):
        yield


def test_it_says_where_the_wrapped_tensor_is(gpus):
    wrapped = Wrapped(torch.ones(2, device="cuda:1"))
    assert wrapped.device == torch.device("cuda:1") and wrapped.get_device() == 1
    assert wrapped.is_cuda and not wrapped.is_cpu
    for result in (wrapped + 1, torch.ones(2, device="cuda:1") * wrapped):
        assert type(result) is Wrapped and result.device == wrapped.device == result.inner.device
    plain = Wrapped(torch.ones(2))
    assert plain.is_cpu and not plain.is_cuda and plain.get_device() == -1


@pytest.mark.parametrize("device", ["cuda:0", "cuda:1", torch.device("cuda", 1)])
def test_it_is_moved_by_its_own_class(gpus, device):
    wrapped = Wrapped(torch.arange(3)).to(device)
    assert type(wrapped) is Wrapped and wrapped.inner.device == wrapped.device == torch.device(device)
    assert (wrapped + 1).inner.tolist() == [1, 2, 3]


def test_a_wrapped_parameter_is_trained(gpus):
    weight = torch.nn.Parameter(Wrapped(torch.ones(3, 2, device="cuda")))
    assert isinstance(weight, torch.nn.Parameter) and weight.device == torch.device("cuda:0")
    x = torch.tensor([[1.0, 2.0]], device="cuda")
    torch.nn.functional.linear(x, weight).sum().backward()
    assert weight.grad.device == weight.device and weight.grad.inner.tolist() == [[1, 2]] * 3
    torch.optim.SGD([weight], lr=1.0).step()
    assert weight.inner.tolist() == [[0, -1]] * 3


def test_its_class_is_as_before_afterwards():
    with simulated_gpus(1):
        assert Wrapped(torch.ones(2, device="cuda")).is_cuda and "device" in vars(Wrapped)
    assert not {"device", "is_cuda", "is_cpu", "get_device"} & vars(Wrapped).keys()
    assert Wrapped(torch.ones(2)).device == torch.device("cpu")
