"""What libraries add to torch: tensors of their classes, parameters without a shape, traced functions."""

import copy

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import get_default_nowrap_functions

from simgpu import simulated_gpus


@pytest.fixture(autouse=True)
def gpus():
    with simulated_gpus(2) as started:
        yield started


def test_a_class_that_only_names_a_tensor_is_refused():
    class Metres(torch.Tensor):
        pass

    with pytest.raises(
        NotImplementedError, match="A simulated GPU's tensor can't be of the class Metres: it has simgpu"
    ):
        torch.ones(2, device="cuda").as_subclass(Metres)
    x = torch.ones(2, device="cuda")
    assert x.as_subclass(torch.Tensor) is x


def test_a_parameter_without_a_shape_says_where_it_will_be():
    layer = torch.nn.LazyLinear(2).to("cuda:1")
    other = copy.deepcopy(layer)
    assert str(layer.weight.device) == str(other.weight.device) == "cuda:1"
    assert other(torch.ones(1, 3, device="cuda:1")).device.index == 1
    assert layer.cpu().weight.device.type == "cpu" and layer(torch.ones(1, 3)).device.type == "cpu"


def test_what_is_traced_keeps_its_arguments_and_a_copy_is_refused():
    x = torch.tensor([1.0, 2.0], device="cuda")
    traced = make_fx(lambda y: (y * x).sin())(torch.zeros(2, device="cuda"))
    assert torch.equal(traced(x).cpu(), (x * x).sin().cpu())
    for copied in (lambda y: y.cpu() + 1, lambda y: y + torch.ones(2).cuda(), lambda y: y.to("cuda:1")):
        with pytest.raises(NotImplementedError, match="can't be traced: make it before the function that is traced"):
            make_fx(copied)(x)


@pytest.mark.filterwarnings("ignore:.torch.jit.script")
def test_forward_mode_lets_no_other_device_in():
    x, elsewhere = torch.ones(2, device="cuda"), torch.ones(2, 2)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.func.jvp(lambda x: elsewhere @ x, (x,), (x,))


def test_a_tensor_is_set_to_another_of_its_device_alone():
    x, y = torch.zeros(2, device="cuda"), torch.arange(4.0, device="cuda")
    assert x.set_(y) is x and x.shape == (4,)
    y[0] = 7
    assert x.tolist() == [7, 1, 2, 3], "they share their memory"
    for other in (torch.ones(2, device="cuda:1"), torch.ones(2)):
        with pytest.raises(RuntimeError, match='Attempted to set the storage of a tensor on device "cuda:0"'):
            x.set_(other)


def test_a_gradient_of_ones_own_class_is_the_same_object_each_time(gpus):
    class Own(torch.Tensor):
        pass

    def is_the_same(device):
        x = torch.ones(2, device=device).as_subclass(Own).requires_grad_()
        (x * 2).sum().backward()
        return x.grad is x.grad

    getters = get_default_nowrap_functions()
    # torch's compiler asks each getter this when it is loaded, which torch 2.11's optimizers do
    own = [getter for getter in getters if getter.__self__.__objclass__ is torch._C.TensorBase]
    assert {getter.__self__.__name__ for getter in own} == {"grad", "_grad", "_base"}
    assert is_the_same("cpu")
    gpus.close()
    assert is_the_same("cpu") and torch.Tensor.grad.__get__ in getters and len(getters) == len(own) - 1
