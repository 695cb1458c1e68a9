"""`nn.Module`: moved, kept in buffers, initialised, frozen, shared, pruned of gradients."""

import torch
from torch import nn

from tests.slow.conformance.programs.data import normal, seeded


class WithBuffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(normal(3))
        self.register_buffer("running", torch.zeros(3))
        self.register_buffer("hidden", torch.ones(2), persistent=False)
        self.register_parameter("absent", None)

    def forward(self, x):
        self.running = 0.9 * self.running + 0.1 * x.mean(0).detach()
        return x * self.weight + self.running


def moved(device):
    """`.to` returns the same module; its parameters are on the device afterwards, in the same objects."""
    model = WithBuffers()
    before = model.weight
    same = model.to(device)
    yield "model", model, device
    yield "identities", [same is model, isinstance(model.weight, nn.Parameter), model.weight is before], device
    yield "flags", [model.weight.is_leaf, model.weight.requires_grad, model.weight.grad is None], device
    model(normal(4, 3).to(device)).sum().backward()
    yield "after a step", model, device
    model.cpu()
    yield "home", model, "cpu"
    yield "home's gradient", model.weight.grad, "cpu"
    model.to(device).double()
    yield "doubled", model, device


def optimiser_made_before_the_move(device):
    """The parameters keep their identity, so an optimiser made first trains the moved ones."""
    model = seeded(lambda: nn.Linear(3, 1))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    model.to(device)
    model(normal(4, 3).to(device)).sum().backward()
    optimiser.step()
    yield "model", model, device


def frozen_and_shared(device):
    first, second = seeded(lambda: nn.Linear(3, 3)), nn.Linear(3, 3)
    second.weight = first.weight
    model = nn.Sequential(first, nn.Tanh(), second).to(device)
    model[0].bias.requires_grad_(False)
    model(normal(2, 3).to(device)).sum().backward()
    yield "shared", [model[0].weight is model[2].weight, len(list(model.parameters())) == 3], device
    yield "frozen", [model[0].bias.grad is None, model[2].bias.grad is not None], device
    yield "weight and gradient", [model[0].weight, model[0].weight.grad], device


def initialised_there(device):
    """A module built on the device is filled in place there."""
    layer = nn.Linear(3, 2, device=device)
    nn.init.constant_(layer.weight, 0.5)
    nn.init.zeros_(layer.bias)
    yield "constant", layer, device
    nn.init.xavier_uniform_(layer.weight)
    yield "bounded", bool((layer.weight.abs() <= (6 / 5) ** 0.5).all()), device
    with torch.no_grad():
        layer.weight.normal_(0, 0.1).clamp_(0, 0)
    yield "cleared", layer.weight, device
    empty = nn.Linear(2, 2, device="meta").to_empty(device=device)
    nn.init.ones_(empty.weight)
    nn.init.ones_(empty.bias)
    yield "from meta", empty, device
