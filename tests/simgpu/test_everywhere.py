"""No mode is entered: simulated GPUs are there in every thread, and torch is torch's own again afterwards."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter
from torch.utils._python_dispatch import TorchDispatchMode

from simgpu import simulated_gpus

OWNERS = (
    torch,
    torch.Tensor,
    torch._C,
    torch._C._nn,
    torch.cuda,
    torch.autograd.Function,
    torch.autograd.function.BackwardCFunction,
    torch.jit._builtins,
    torch.nn.parameter.UninitializedTensorMixin,
    torch.utils.dlpack,
    UninitializedParameter,
    UninitializedBuffer,
)


def attributes():
    """Return every attribute of what a simulation touches, by its identity."""
    return {(owner, name): value for owner in OWNERS for name, value in vars(owner).items()}


def test_a_pool_that_was_started_before_makes_trains_and_moves():
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda i: torch.zeros(i).device.type, range(2))) == ["cpu", "cpu"]
        with simulated_gpus(2):
            found = list(pool.map(trained, (0, 1)))
        assert torch.zeros(1).device.type == "cpu" and pool.submit(refuses).result()
    assert found == [("cuda:0", "cuda:0", 4.0), ("cuda:1", "cuda:1", 4.0)]


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
    before = torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()
    with simulated_gpus(1):
        assert (torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()) == before
        shape = torch.Tensor.shape
        torch.zeros(2, device="cuda")
    assert torch.Tensor.shape is shape


def test_every_patched_attribute_is_the_same_object_afterwards():
    with simulated_gpus(1):
        pass  # what torch fills in at its first use stays
    before, table = attributes(), dict(torch.jit._builtins._get_builtin_table())
    with simulated_gpus(2):
        during = attributes()
        torch.tensor([1.0], device="cuda")
    after = attributes()
    assert sum(during.get(key) is not before.get(key) for key in {*during, *before}) > 100
    assert [key for key in {*after, *before} if after.get(key) is not before.get(key)] == []
    assert torch.jit._builtins._get_builtin_table() == table
    assert all(not hasattr(one, "__wrapped__") for one in torch.utils._device._device_constructors())


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


def test_closing_from_another_thread_ends_it_for_all():
    gpus = simulated_gpus(1)
    thread = threading.Thread(target=gpus.close)
    thread.start()
    thread.join(60)
    assert refuses() and torch.ones(2).sum().item() == 2


def test_a_log_sees_a_factory_once_and_its_numbers_make_one_launch():
    seen = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with simulated_gpus(1) as gpus:
        gpus.clock.reset()
        with Log():
            torch.full((2,), 3.0, device="cuda")
            torch.tensor([1.0, 2.0], device="cuda")
        launches = [span for span in gpus.clock.spans if span.lane == "host"]
    assert seen == ["aten.full.default", "aten.lift_fresh.default"] and len(launches) == 3


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
