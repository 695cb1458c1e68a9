"""The programs in `unchanged`, found by their decorator: what they give on the CPU they give on simulated GPUs."""

import importlib
from pathlib import Path

import pytest
import torch

from simgpu import simulated_gpus
from tests.simgpu.programs.harness import PROGRAMS, drawn, gpu, outcome

for file in sorted(Path(__file__).with_name("unchanged").glob("*.py")):
    importlib.import_module(f"tests.simgpu.programs.unchanged.{file.stem}")

#: The files of programs that a short run takes: what every program uses. The others run in a long one.
SHORT = {"functional", "layers", "losses_and_metrics", "optimisers", "precision", "reinforcement", "saving"}


def programs():
    """Yield the name of each program, marked `long` where its file is not in `SHORT`."""
    for name, function in PROGRAMS.items():
        is_short = function.__module__.rpartition(".")[2] in SHORT
        yield pytest.param(name, marks=() if is_short else pytest.mark.long)


# Torch's own, on the CPU too.
OF_TORCH = [".?torch.jit", "Attempted to insert a get_attr Node", "(?s)Error detected in SqrtBackward0"]
pytestmark = [pytest.mark.filterwarnings(f"ignore:{words}") for words in OF_TORCH]


@pytest.mark.parametrize("name", [*programs()])
def test_a_program_gives_on_simulated_gpus_what_it_gives_on_the_cpu(name, monkeypatch):
    plain = outcome(name)
    monkeypatch.setenv("SIMGPU_GPUS", "2")  # for processes that it starts
    with simulated_gpus(2) as gpus:
        simulated = outcome(name)
        assert gpus.clock.spans, "it ran nothing on a GPU"
    agree(plain, simulated)


def agree(plain, simulated):
    """Raise AssertionError where the numbers of two runs differ by more than rounding, or one has more."""
    assert len(plain) == len(simulated) > 0
    for expected, actual in zip(plain, simulated, strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5, equal_nan=True)


def test_there_are_enough_of_them_and_a_wrong_number_is_seen():
    assert len(PROGRAMS) >= 120
    torch.manual_seed(0)
    right = [drawn(3).double(), torch.tensor([1.0])]
    agree(right, right)
    for wrong in ([right[0] + 1e-3, right[1]], right[:1], [right[0].view(3, 1), right[1]]):
        with pytest.raises(AssertionError):
            agree(right, wrong)
    assert gpu() == "cpu"
