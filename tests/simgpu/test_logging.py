"""The log of simulated GPUs: starts, ends and fallbacks at INFO, a lost context at WARNING, nothing printed."""

import logging

import pytest
import torch

from simgpu import simulated_gpus
from simgpu.kernels import dtypes

GPU = "cuda:0"


@pytest.fixture
def lines(caplog):
    """Return a function that gives the log's lines so far, each as (level, logger, text).

    What is said once a process, of the CPU's build of torch, may have been said in a test before: it is left out.
    """
    caplog.set_level(logging.INFO, "simgpu")
    once = "simgpu.cuda.torch_cuda"
    return lambda: [
        (record.levelname, record.name, record.getMessage()) for record in caplog.records if record.name != once
    ]


def test_a_healthy_run_says_what_starts_and_ends_and_nothing_above_info(lines):
    dtypes._note_fallback.cache_clear()
    with simulated_gpus(2, model="T4"):
        torch.distributed.init_process_group("nccl", rank=0, world_size=1, store=torch.distributed.HashStore())
        torch.distributed.destroy_process_group()
        for _ in range(2):
            torch.histc(torch.arange(4, device=GPU), 2)
    levels, loggers, texts = zip(*lines(), strict=True)
    assert {*levels} == {"INFO"} and {*loggers} == {"simgpu.session", "simgpu.cuda.nccl", "simgpu.kernels.dtypes"}
    assert texts[0].startswith("2 simulated GPUs start: NVIDIA T4, ") and "modelled: NVIDIA T4 data sheet" in texts[0]
    assert texts[1:3] == (
        "process group 0 of backend nccl: gloo carries it",
        "histc of torch.int64 runs in torch.float64: this CPU has no kernel for it, CUDA has",  # once
    )
    assert texts[3].startswith("2 simulated GPUs end: ") and len(texts) == 4


@pytest.mark.filterwarnings("ignore:A device-side assert failed on a simulated GPU:RuntimeWarning")
def test_full_memory_and_a_failed_assert_are_said_where_they_happen(lines):
    with simulated_gpus(1, model="T4"):
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(2**36, device=GPU)
        torch.ones(3, device=GPU)[torch.tensor([5], device=GPU)]
    level, logger, text = lines()[-2]
    full = ("INFO", "simgpu.memory.accounts", "cuda:0 is full: no room for 256.00 GiB beside 0 bytes")
    assert full in lines()
    assert (level, logger) == ("WARNING", "simgpu.context.context")
    assert text.startswith("a device-side assert failed on cuda:0, its context is lost: index: Assertion ")
    assert "test_logging.py" in text


def test_nothing_is_printed_where_a_program_configures_no_logging(capfd):
    with simulated_gpus(1):
        torch.ones(2, device=GPU)
    assert capfd.readouterr() == ("", "")
