"""Every dense optimiser of `torch.optim`: where its state lies, and steps by hand."""

import torch
from torch import nn

from tests.slow.conformance.programs.data import normal, seeded

OPTIMISERS = {
    "SGD": dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "Adam": dict(lr=0.1, amsgrad=True),
    "AdamW": {},
    "Adagrad": dict(lr=0.8),
    "Adadelta": {},
    "Adamax": {},
    "ASGD": {},
    "NAdam": {},
    "RAdam": {},
    "RMSprop": dict(momentum=0.5, centered=True),
    "Rprop": {},
    "Adafactor": {},
}


def every_one(device):
    for name, settings in OPTIMISERS.items():
        model = seeded(lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))).to(device)
        optimiser, x = getattr(torch.optim, name)(model.parameters(), **settings), normal(8, 3).to(device)
        for _ in range(3):
            optimiser.zero_grad()
            model(x).square().mean().backward()
            optimiser.step()
        yield f"{name}'s model", model, device
        yield f"{name}'s state", optimiser, device


def by_hand(device):
    """Gradient descent as in the first chapter of a book."""
    w = torch.zeros(3, device=device, requires_grad=True)
    x, y = normal(10, 3).to(device), normal(10, seed=1).to(device)
    for _ in range(3):
        ((x @ w - y) ** 2).mean().backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            w.grad.zero_()
    for _ in range(3):
        ((x @ w - y) ** 2).mean().backward()
        w.data.sub_(0.1 * w.grad.data)
        w.grad = None
    yield "w", w, device
