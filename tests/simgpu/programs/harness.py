"""Programs that don't know of a simulation: each is run on the CPU, then as it stands on simulated GPUs."""

from collections.abc import Callable, Mapping
from typing import Any

import torch

PROGRAMS: dict[str, Callable[[], Any]] = {}


def program(function):
    """Enter a program, `function()`: it asks torch for a GPU itself and returns numbers, tensors, lists, dicts."""
    assert function.__name__ not in PROGRAMS, f"two programs are called {function.__name__}"
    PROGRAMS[function.__name__] = function
    return function


def gpu() -> str:
    """Return the device as nearly every program chooses it."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def drawn(*shape, device="cpu"):
    """Return numbers that are drawn on the CPU: a GPU draws others."""
    return torch.randn(*shape).to(device)


def train(model, loss_of, count=3, optimiser=torch.optim.SGD, lr=0.05, **options):
    """Train `model` for `count` steps on `loss_of(model)` and return the losses."""
    optimiser, losses = optimiser(model.parameters(), lr=lr, **options), []
    for _ in range(count):
        optimiser.zero_grad()
        loss = loss_of(model)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def flat(value: Any) -> list[torch.Tensor]:
    """Return the numbers of a program as a list of tensors on the CPU."""
    if isinstance(value, Mapping):
        return [leaf for key in value for leaf in flat(value[key])]
    if isinstance(value, (list, tuple)):
        return [leaf for inside in value for leaf in flat(inside)]
    tensor = torch.as_tensor(value).detach().cpu()
    return [tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)]


def outcome(name: str) -> list[torch.Tensor]:
    """Run a program from seed 0 and return its numbers."""
    torch.manual_seed(0)
    return flat(PROGRAMS[name]())
