"""Ops on simulated GPUs that are refused: without room, without a kernel for CUDA, after the simulation's end."""

import pytest
import torch

from course import place, simulated_gpus


@pytest.fixture
def gpus():
    with simulated_gpus(2) as started:
        yield started


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
    for use in (
        lambda: x + 1,
        lambda: x.cpu(),
        lambda: x.tolist(),
        lambda: repr(x),
        lambda: torch.ones(2) + x,
        lambda: x[0],
        lambda: x.sum().item(),
        lambda: x.clone(),
        lambda: x.numpy(),
    ):
        with pytest.raises(RuntimeError, match=r"simulated_gpus\(1, model='H200'\), which was closed"):
            use()
    gpus.close()
    with simulated_gpus(1), pytest.raises(RuntimeError, match="closed"):
        torch.ones(2, device="cuda") + x
