"""What goes wrong on simulated GPUs says so: CUDA's words, the simulation's own refusals, and what is left behind."""

import pytest
import torch

from course import place, simulated_gpus


@pytest.fixture
def gpus():
    with simulated_gpus(2) as started:
        yield started


def test_two_devices_in_an_op_are_named(gpus):
    a, b, c = (torch.ones(2, 2, device=d) for d in ("cuda:0", "cuda:1", "cpu"))
    with pytest.raises(RuntimeError, match="found at least two devices, cuda:0 and cuda:1!"):
        a + b
    with pytest.raises(RuntimeError, match="found at least two devices, cuda:0 and cpu!"):
        c + a
    with pytest.raises(RuntimeError, match="got mat2 is on cpu, different from other tensors on cuda:0 .*CUDA_mm"):
        a @ c
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.cat([a, c])
    with pytest.raises(RuntimeError, match="indices should be either on cpu or on the same device"):
        c[torch.tensor([0], device="cuda:0")]


def test_a_number_of_the_cpu_may_be_read_but_not_written(gpus):
    x, number = torch.ones(2, device="cuda"), torch.tensor(2.0)
    assert (x * number).tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        number.add_(x.sum())


def test_an_index_that_no_device_has_is_cudas_error(gpus):
    for wrong in (lambda: torch.zeros(1, device="cuda:2"), lambda: torch.zeros(1).cuda(5)):
        with pytest.raises(RuntimeError, match="^CUDA error: invalid device ordinal"):
            wrong()


def test_numbers_are_not_handed_to_numpy(gpus):
    x = torch.ones(2, device="cuda")
    with pytest.raises(TypeError, match="^can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu"):
        x.numpy()
    assert x.numpy(force=True).tolist() == [1, 1]


def test_a_sparse_tensor_and_a_compiler_are_refused_or_run_plainly(gpus):
    with pytest.raises(NotImplementedError, match="Simulated GPUs have no torch.sparse_coo"):
        torch.eye(2, device="cuda").to_sparse()
    with pytest.raises(NotImplementedError, match="simulated GPUs do not do this"):
        torch.export.export(torch.nn.Linear(1, 1).cuda(), (torch.ones(1, 1, device="cuda"),))


def test_what_would_not_fit_is_refused_before_it_is_made(gpus):
    column = torch.ones(10**6, 1, device="cuda")
    for large in (
        lambda: torch.ones(10**12, device="cuda"),
        lambda: column @ column.t(),
        lambda: column + column.t(),
        lambda: column.repeat(1, 10**6),
    ):
        with pytest.raises(torch.OutOfMemoryError, match="CUDA out of memory. Tried to allocate 3725.29 GiB. GPU 0"):
            large()


def test_a_custom_op_without_a_form_for_cuda_has_no_kernel_there(gpus):
    @torch.library.custom_op("course_test::doubled", mutates_args=(), device_types="cpu")
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    with pytest.raises(
        NotImplementedError, match="Could not run 'course_test::doubled' with arguments from the 'CUDA'"
    ):
        doubled(torch.ones(2, device="cuda"))
    with place("/gpu:0", soft=True) as placement:
        assert doubled(torch.ones(2)).tolist() == [2, 2] and placement.moves
    doubled.register_kernel("cuda")(lambda x: x * 3 + torch.zeros(1, device=x.device))
    assert doubled(torch.ones(2, device="cuda:1")).cpu().tolist() == [3, 3]
    assert doubled(torch.ones(2)).tolist() == [2, 2]


def test_a_tensor_that_outlives_its_simulation_says_so_also_in_the_next():
    with simulated_gpus(1) as gpus:
        x = torch.ones(2, device="cuda")
    uses = [
        lambda: x + 1,
        lambda: x.cpu(),
        lambda: x.tolist(),
        lambda: repr(x),
        lambda: torch.ones(2) + x,
        lambda: x[0],
    ]
    for use in [*uses, lambda: x.sum().item(), lambda: x.clone(), lambda: x.numpy(), lambda: float(x[0])]:
        with pytest.raises(RuntimeError, match=r"simulated_gpus\(1, model='H200'\), which was closed"):
            use()
    gpus.close()
    with simulated_gpus(1), pytest.raises(RuntimeError, match="closed"):
        torch.ones(2, device="cuda") + x


def test_an_exception_puts_torch_back():
    swap, compile_, modes = torch.__future__.get_swap_module_params_on_conversion(), torch.compile, depth()
    with pytest.raises(ZeroDivisionError), simulated_gpus(2):
        raise ZeroDivisionError
    assert (torch.__future__.get_swap_module_params_on_conversion(), torch.compile, depth()) == (swap, compile_, modes)
    assert torch.zeros(1).device.type == "cpu"


def depth():
    return torch._C._len_torch_function_stack()


def test_it_may_be_closed_below_modes_entered_later():
    before = depth()
    gpus = simulated_gpus(1)
    with torch.device("meta"), place("/gpu:0"):
        gpus.close()
        assert depth() == before + 2
    assert depth() == before


def test_only_one_simulation_runs_at_a_time(gpus):
    with pytest.raises(RuntimeError, match=r"simulated_gpus\(3\): .* is active already. Close it first"):
        simulated_gpus(3)


@pytest.mark.parametrize("count", [0, -1, 129, 1.5, True, "2"])
def test_a_count_that_no_machine_has_is_refused(count):
    with pytest.raises(ValueError, match=r"simulated_gpus\(count=.*whole number from 1 to 128"):
        simulated_gpus(count)
