"""PyTorch programs give the CPU's values under `simulated_gpus`, on the devices that CUDA reports; on CUDA itself too."""

import pytest
import torch
from observe import differences, misplaced, observe
from programs import SEVERAL, SINGLE

from course import simulated_gpus

DEVICES = ["cpu", "cuda", "cuda:2"]
NO_CUDA = "no CUDA device here: programs are compared with the CPU and with CUDA's rules only"


def of(table):
    return pytest.mark.parametrize("program", table.values(), ids=table.keys())


@of(SINGLE)
def test_a_program_gives_the_cpus_values_where_cuda_would_leave_them(program):
    reference = observe(program, "cpu")
    assert not misplaced(reference)
    with simulated_gpus(4):
        for device in DEVICES:
            seen = observe(program, device)
            assert not misplaced(seen), device
            assert not differences(seen, reference), device


@of(SEVERAL)
def test_a_program_for_four_devices_gives_the_cpus_values_where_cuda_would_leave_them(program):
    reference = observe(program, ["cpu"] * 4)
    with simulated_gpus(4):
        for devices in ([f"cuda:{k}" for k in range(4)], ["cuda:3", "cpu", "cuda:0", "cuda:3"]):
            seen = observe(program, devices)
            assert not misplaced(seen), devices
            assert not differences(seen, reference), devices


@pytest.mark.skipif(not torch.cuda.is_available(), reason=NO_CUDA)
@of(SINGLE)
def test_cuda_itself_agrees(program):
    seen = observe(program, "cuda:0")
    assert not misplaced(seen)
    assert not differences(seen, observe(program, "cpu"), exact=False)


@pytest.mark.skipif(torch.cuda.device_count() < 4, reason=f"fewer than 4 CUDA devices; {NO_CUDA}")
@of(SEVERAL)
def test_four_cuda_devices_agree(program):
    seen = observe(program, [f"cuda:{k}" for k in range(4)])
    assert not misplaced(seen)
    assert not differences(seen, observe(program, ["cpu"] * 4), exact=False)
