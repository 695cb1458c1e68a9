"""No mode is entered: simulated GPUs are there in every thread, and torch is torch's own again afterwards."""

import gc
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
import torch
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter
from torch.utils._python_dispatch import TorchDispatchMode

from course import place
from simgpu import active, simulated_gpus

OWNERS = (
    torch,
    torch.Tensor,
    torch._C,
    torch._C._nn,
    torch.accelerator,
    torch.autograd.Function,
    torch.autograd.function.BackwardCFunction,
    torch.backends.cudnn,
    torch.cuda,
    torch.cuda.amp,
    torch.cuda.graphs,
    torch.cuda.memory,
    torch.cuda.nvtx,
    torch.cuda.random,
    torch.cuda.streams,
    torch.jit._builtins,
    torch.nn.Module,
    torch.nn.parameter.UninitializedTensorMixin,
    torch.random,
    torch.serialization,
    torch.utils.dlpack,
    UninitializedParameter,
    UninitializedBuffer,
)


def attributes():
    """Return every attribute of what a simulation touches, by its identity."""
    return {(owner, name): value for owner in OWNERS for name, value in vars(owner).items()}


def changed(before):
    """Return the attributes that are other objects than in `before`, have gone or have come."""
    after = attributes()
    return [key for key in {*after, *before} if after.get(key) is not before.get(key)]


def settings():
    """Return what a simulation or a program in it sets besides."""
    return [
        active(),
        depths(),
        torch.cuda.is_available(),
        torch.cuda.device_count(),
        torch.get_default_device(),
        torch.__future__.get_swap_module_params_on_conversion(),
        torch.is_grad_enabled(),
        torch.backends.cuda.matmul.allow_tf32,
        dict(torch.jit._builtins._get_builtin_table()),
    ]


def depths():
    """Return how many modes are entered, of functions and of ops."""
    return torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()


def in_a_placement(x):
    with place("/gpu:0"):
        raise ZeroDivisionError


def under_a_device(x):
    with torch.device("cuda:1"), torch.cuda.device(1):
        raise ZeroDivisionError


def without_gradients(x):
    with torch.no_grad():
        raise ZeroDivisionError


def in_a_hook(x):
    y = x * 2
    y.register_hook(lambda gradient: 1 / 0)
    y.sum().backward()


def in_another_start(x):
    with pytest.raises(RuntimeError, match="Close it first"):
        simulated_gpus(1)


ENDS = {end.__name__: end for end in (in_a_placement, under_a_device, without_gradients, in_a_hook, in_another_start)}


def simulate_until(end):
    before = attributes()
    with suppress(ZeroDivisionError), simulated_gpus(2):
        assert len(changed(before)) > 100
        trained(1)
        torch.cuda.set_device(1)
        ENDS.get(end, torch.sum)(torch.ones(2, device="cuda", requires_grad=True))


@pytest.mark.parametrize("end", ["well", *ENDS])
def test_torch_is_as_it_was_however_a_simulation_ends(end):
    simulate_until(end)  # what torch fills in at its first use stays
    before, settings_before = attributes(), settings()
    simulate_until(end)
    assert changed(before) == [] and settings() == settings_before
    assert all(not hasattr(function, "__wrapped__") for function in torch.utils._device._device_constructors())


def test_it_may_be_closed_below_modes_entered_later():
    before = depths()
    gpus = simulated_gpus(1)
    with torch.device("meta"), place("/gpu:0"):
        inside = depths()
        gpus.close()
        assert depths() == inside != before
    assert depths() == before


def test_a_pool_that_was_started_before_makes_trains_and_moves():
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda i: torch.zeros(i).device.type, range(2))) == ["cpu", "cpu"]
        with simulated_gpus(2):
            results = list(pool.map(trained, (0, 1)))
        assert torch.zeros(1).device.type == "cpu" and pool.submit(refuses).result()
    assert results == [("cuda:0", "cuda:0", 4.0), ("cuda:1", "cuda:1", 4.0)]


def trained(index):
    layer = torch.nn.Linear(2, 1, bias=False, device=f"cuda:{index}")
    layer.weight.data.fill_(1.0)
    layer(torch.tensor([[1.0, 1.0]], device=index)).pow(2).sum().backward()
    return str(layer.weight.device), str(layer.weight.grad.device), layer.weight.grad[0, 0].item()


def refuses():
    try:
        torch.zeros(1, device="cuda")
    except (RuntimeError, AssertionError):
        return True
    return torch.cuda.is_available()


def test_nothing_is_entered_in_the_thread_that_starts_it():
    before = depths()
    with simulated_gpus(1):
        assert depths() == before
        shape = torch.Tensor.shape
        torch.zeros(2, device="cuda")
    assert torch.Tensor.shape is shape


def test_a_kernel_of_the_dispatcher_ends_with_the_simulation():
    def has():
        return torch._C._dispatch_has_kernel_for_dispatch_key("aten::empty.memory_format", "CUDA")

    before = has()
    with simulated_gpus(1):
        assert has()
    assert has() is before


def test_simulations_one_after_the_other_keep_no_function_of_theirs():
    from simgpu.calls import torch_function

    for _ in range(3):
        with simulated_gpus(1):
            torch.ones(2, device="cuda").normal_().type()
        assert not torch_function._DIRECT and not torch_function._BODIES


def test_a_log_sees_a_factory_once_and_its_numbers_make_one_launch():
    ops = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            ops.append(str(func))
            return func(*args, **(kwargs or {}))

    with simulated_gpus(1) as gpus:
        gpus.clock.reset()
        with Log():
            torch.full((2,), 3.0, device="cuda")
            torch.tensor([1.0, 2.0], device="cuda")
        launches = [span for span in gpus.clock.spans if span.lane == "host"]
    assert ops == ["aten.full.default", "aten.lift_fresh.default"] and len(launches) == 3


@pytest.mark.long
def test_three_thousand_steps_keep_no_memory():
    with simulated_gpus(1) as gpus:
        layer = torch.nn.Linear(4, 4).cuda()
        optimiser = torch.optim.Adam(layer.parameters())
        x = torch.ones(2, 4, device="cuda")

        def steps(count):
            for _ in range(count):
                optimiser.zero_grad()
                layer(x).square().mean().backward()
                optimiser.step()
            gc.collect()
            return len(gc.get_objects()), torch.cuda.memory_allocated(), len(gpus.memory._blocks)

        objects, taken, blocks = steps(1500)
        later = steps(1500)
    assert later[1:] == (taken, blocks)
    assert later[0] - objects < 300  # one object a step would be 1,500


def test_a_move_and_a_tensor_of_numbers_work_where_modes_are_entered_and_hidden():
    with simulated_gpus(2), torch.device("cuda:1"):
        assert torch.ones(2).to("cuda:0").device.index == 0 and torch.tensor([1.0]).device.index == 1
        with torch._C.DisableTorchFunction():
            assert torch.ones(2, device="cpu").to("cuda:0").device.index == 0
            assert torch.tensor([1.0], device="cuda:1").device.index == 1
