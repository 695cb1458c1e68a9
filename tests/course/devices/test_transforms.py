"""What is written on top of ops, under `place` and `log_placement`: modules, torch.func, and the compiler."""

import subprocess
import sys

import pytest
import torch

from course.devices import log_placement, place
from simgpu import simulated_gpus


@pytest.fixture
def gpus():
    with simulated_gpus(2) as gpus:
        yield gpus


def perceptron():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))


def test_a_module_on_the_cpu_trains_on_the_gpu_as_it_would_at_home(gpus):
    x = torch.linspace(-1, 1, 20).reshape(5, 4)
    losses, models = [], [perceptron(), perceptron()]
    for model, device in zip(models, ("/cpu:0", "/gpu:1"), strict=True):
        optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            with place(device) as placement, log_placement() as log:
                optimiser.zero_grad()
                loss = model(x).square().mean()
                loss.backward()
                optimiser.step()
        losses.append(loss.item())
    assert {str(p.grad.device) for p in model.parameters()} == {"cpu"}, "a gradient is where its leaf is"
    assert losses[0] == pytest.approx(losses[1])
    for here, there in zip(*(model.parameters() for model in models), strict=True):
        torch.testing.assert_close(here, there)
    weights = sum(p.nbytes for p in model.parameters())
    assert placement.bytes_moved == weights + x.nbytes, "forward; moves of a backward pass are in the log"
    assert log.bytes_moved == placement.bytes_moved + weights


def test_vmap_and_grad_are_placed_op_by_op():
    """On meta, which torch.func takes as any device."""
    x = torch.ones(3, 2)
    with place("meta") as placement, log_placement() as log:
        sums = torch.vmap(lambda row: (row * row).sum())(x)
    assert (sums.device.type, sums.shape, placement.moves) == ("meta", (3,), 1)
    assert {r.device for r in log if r.op in ("mul", "sum")} == {"/meta:0"}
    with place("/cpu:0"):
        assert torch.func.grad(lambda w: (w * w).sum())(torch.ones(2)).tolist() == [2, 2]


def doubled(x):
    return torch.cat([x * 2]).relu().sum()


@pytest.mark.parametrize("device", ["/cpu:0", "meta"])
def test_a_compiled_function_runs_uncompiled_and_right_under_a_placement(device):
    torch.compiler.reset()
    compiled = torch.compile(doubled, backend="eager")
    for _ in range(3):
        with place(device) as placement, log_placement() as log:
            total = compiled(torch.ones(3, device="cpu"))
        assert total.device.type == device.removeprefix("/").removesuffix(":0")
        assert placement.moves == (device == "meta") and [r.op for r in log if not r.view][-3:] == [
            "cat",
            "relu",
            "sum",
        ]
        assert total.is_meta or total.item() == 6
    assert compiled(torch.ones(3)).item() == 6, "outside it is compiled as ever"


def test_fullgraph_under_a_placement_is_an_error_that_says_so():
    torch.compiler.reset()
    with pytest.raises(RuntimeError, match="leave out fullgraph=True|found no compiled frames"), place("/cpu:0"):
        torch.compile(doubled, backend="eager", fullgraph=True)(torch.ones(3))


@pytest.mark.long
def test_neither_a_log_nor_a_placement_loads_the_compiler_and_one_that_is_loaded_inside_changes_nothing():
    program = (
        "import sys, torch; from course import log_placement, place\n"
        "def f(x): return torch.cat([x * 2]).relu().sum()\n"
        "with log_placement() as log: torch.ones(2) + 1\n"
        "with place('/cpu:0'):\n"
        "    print(len(log), 'torch._dynamo' in sys.modules)\n"
        "    compiled = torch.compile(f, backend='eager')\n"
        "    print([compiled(torch.ones(3)).item() for _ in range(3)])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True)
    assert ran.stdout.splitlines() == ["2 False", "[6.0, 6.0, 6.0]"]
