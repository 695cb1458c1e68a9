"""Every dense optimiser of `torch.optim`, and what goes with them."""

import torch
from torch import nn

from tests.slow.conformance.programs.data import normal, seeded

OPTIMISERS = {
    "SGD": dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "Adam": dict(lr=0.1, amsgrad=True),
    "AdamW": dict(lr=0.1),
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


def _trained(device, make, steps=3):
    model = seeded(lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))).to(device)
    optimiser = make(model.parameters())
    x = normal(8, 3).to(device)
    for _ in range(steps):
        optimiser.zero_grad()
        model(x).square().mean().backward()
        optimiser.step()
    return model, optimiser


def every_one(device):
    for name, settings in OPTIMISERS.items():
        model, optimiser = _trained(device, lambda p: getattr(torch.optim, name)(p, **settings))  # noqa: B023
        yield f"{name}'s model", model, device
        yield f"{name}'s state", optimiser, device


def many_tensors_at_once(device):
    for name in ("SGD", "Adam", "AdamW", "RMSprop"):
        model, optimiser = _trained(device, lambda p: getattr(torch.optim, name)(p, lr=0.1, foreach=True))  # noqa: B023
        yield f"{name}'s model", model, device


def one_kernel(device):
    model, optimiser = _trained(device, lambda p: torch.optim.Adam(p, lr=0.1, fused=True))
    yield "model", model, device


def closure(device):
    model = seeded(lambda: nn.Linear(3, 1)).to(device)
    optimiser = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5, line_search_fn="strong_wolfe")
    x = normal(8, 3).to(device)

    def loss():
        optimiser.zero_grad()
        value = (model(x) - 1).square().mean()
        value.backward()
        return value

    yield "loss before", optimiser.step(loss), device
    yield "loss after", loss(), device
    yield "model", model, device


def groups_and_schedules(device):
    model = seeded(lambda: nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))).to(device)
    optimiser = torch.optim.SGD(
        [{"params": model[0].parameters(), "lr": 0.5}, {"params": model[1].parameters()}], lr=0.1
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=[0.5, 0.1], total_steps=4)
    for _ in range(3):
        optimiser.zero_grad()
        loss = model(normal(4, 3).to(device)).square().mean()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.1)
        optimiser.step()
        schedule.step()
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimiser, patience=0)
    plateau.step(loss.item())
    plateau.step(loss.detach() + 1)
    yield "rates", [group["lr"] for group in optimiser.param_groups], device
    yield "model", model, device


def averaged(device):
    model = seeded(lambda: nn.Linear(3, 1)).to(device)
    average = torch.optim.swa_utils.AveragedModel(model)
    for _ in range(2):
        with torch.no_grad():
            model.weight.add_(1)
        average.update_parameters(model)
    yield "average", average.module, device


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


PROGRAMS = [every_one, many_tensors_at_once, one_kernel, closure, groups_and_schedules, averaged, by_hand]
