"""A child that is forked from a process that used CUDA can't use it; one forked before can."""

import os

import pytest
import torch

from simgpu import simulated_gpus

WORDS = (
    "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the "
    "'spawn' start method"
)
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system's processes don't fork")


@pytest.fixture(autouse=True)
def gpus():
    with simulated_gpus(2) as started:
        yield started


def forked(run):
    """Return what `run` returns, or raises, in a forked child, as text."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            text = str(run())
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        return pipe.read()


# One thread only: a pool of OpenMP's doesn't live on in a child.
USES = {
    "an op": lambda x: x + 1,
    "a copy to the CPU": lambda x: x.cpu(),
    "a number": lambda x: x.sum().item(),
    "a new tensor": lambda x: torch.zeros(1, device="cuda:1"),
    "Python's numbers": lambda x: torch.tensor([1], device="cuda"),
    "a move": lambda x: torch.ones(1).cuda(),
    "a model": lambda x: torch.nn.Linear(1, 1).to("cuda"),
    "the current device": lambda x: torch.cuda.current_device(),
    "another device": lambda x: torch.cuda.set_device(1),
    "waiting": lambda x: torch.cuda.synchronize(),
}


@pytest.mark.parametrize("name", USES)
def test_a_child_of_a_process_that_used_cuda_is_refused(name):
    x = torch.ones(2, device="cuda")
    assert forked(lambda: USES[name](x)) == WORDS
    assert (x + 1).tolist() == [2, 2]  # the parent goes on


def test_such_a_child_does_what_needs_no_cuda():
    x = torch.ones(2, device="cuda")
    assert (
        forked(lambda: (torch.ones(2).sum().item(), x.shape[0], torch.manual_seed(3).initial_seed())) == "(2.0, 2, 3)"
    )


def test_a_child_of_a_process_that_only_asked_may_use_cuda():
    assert torch.cuda.is_available() and torch.cuda.device_count() == 2
    assert forked(lambda: torch.ones(2, device="cuda:1").sum().item()) == "2.0"
