"""PyTorch programs give the CPU's values under `simulated_gpus`, where CUDA would leave them; on CUDA itself too."""

import pytest
import torch

from course import simulated_gpus
from tests.slow.conformance.observe import differences, misplaced, observe
from tests.slow.conformance.programs import SEVERAL, SINGLE

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
            results = observe(program, device)
            assert not misplaced(results), device
            assert not differences(results, reference), device


@of(SEVERAL)
def test_a_program_for_four_devices_gives_the_cpus_values_where_cuda_would_leave_them(program):
    reference = observe(program, ["cpu"] * 4)
    with simulated_gpus(4):
        for devices in ([f"cuda:{k}" for k in range(4)], ["cuda:3", "cpu", "cuda:0", "cuda:3"]):
            results = observe(program, devices)
            assert not misplaced(results), devices
            assert not differences(results, reference), devices


@pytest.mark.skipif(not torch.cuda.is_available(), reason=NO_CUDA)
def test_cuda_itself_agrees():
    assert not [line for p in SINGLE.values() for line in disagreements(p, "cuda:0", "cpu")]


@pytest.mark.skipif(torch.cuda.device_count() < 4, reason=f"fewer than 4 CUDA devices; {NO_CUDA}")
def test_four_cuda_devices_agree():
    on_gpus, on_cpus = [f"cuda:{k}" for k in range(4)], ["cpu"] * 4
    assert not [line for p in SEVERAL.values() for line in disagreements(p, on_gpus, on_cpus)]


def disagreements(program, on_gpus, on_cpus):
    """Return what real devices do otherwise than the CPU (values within rounding) or than the programs expect."""
    results = observe(program, on_gpus)
    lines = misplaced(results) + differences(results, observe(program, on_cpus), exact=False)
    return [f"{program.__name__}: {line}" for line in lines]


def test_a_wrong_device_and_a_wrong_value_are_noticed():
    """The comparison's own check, on three planted results."""

    def program(device, wrong=None):
        x = torch.arange(3.0)
        yield "x", x + 1 if wrong == "value" else x.double() if wrong == "dtype" else x, device

    reference = observe(program, "cpu")
    assert not misplaced(reference) and not differences(reference, reference)
    assert misplaced(observe(lambda d: program("cuda:0"), "cuda:0"))  # the tensor stayed on the CPU
    for wrong in ("value", "dtype"):
        assert differences(observe(lambda d: program(d, wrong), "cpu"), reference)  # noqa: B023
