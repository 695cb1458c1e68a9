"""Programs for several devices: a list of four."""

import copy
import math

import torch
from torch import nn

from tests.slow.conformance.programs.data import normal, seeded


def pi_on_four(devices):
    """A quarter of the darts on each device; the counts meet on the CPU. The darts are the same on all."""
    inside = []
    for k, device in enumerate(devices):
        x, y = torch.rand(2, 5000, generator=torch.Generator().manual_seed(k)).to(device)
        inside.append((x * x + y * y <= 1).sum())
        yield f"count {k}", inside[-1], device
    total = sum(int(count) for count in inside)
    yield "pi", 4 * total / 20_000, "cpu"
    yield "close", abs(4 * total / 20_000 - math.pi) < 0.05, "cpu"


def pi_with_their_own_darts(devices):
    """Each device throws its own; the estimate is right within five standard errors, 1.64 / sqrt(40,000) each."""
    counts = [(torch.rand(10_000, 2, device=d).square().sum(1) <= 1).sum() for d in devices]
    for k, (count, device) in enumerate(zip(counts, devices, strict=True)):
        yield f"device {k}", torch.zeros_like(count), device
    total = torch.stack([c.cpu() for c in counts]).sum()
    yield "within 5 standard errors", abs(4 * total.item() / 40_000 - math.pi) < 5 * 1.64 / 200, "cpu"


def split_product(devices):
    """Half the rows on each of two devices, joined on the CPU."""
    a, b = normal(6, 4), normal(4, 5, seed=1)
    halves = [rows.to(d) @ b.to(d) for rows, d in zip(a.chunk(2), devices[:2], strict=True)]
    yield "first half", halves[0], devices[0]
    yield "second half", halves[1], devices[1]
    yield "product", torch.cat([half.cpu() for half in halves]), "cpu"
    yield "joined there", torch.cat([half.to(devices[1]) for half in halves]), devices[1]


def split_inner(devices):
    """The inner dimension split: two partial products, added on the second device."""
    a, b = normal(3, 8), normal(8, 2, seed=1)
    left = a[:, :4].to(devices[0]) @ b[:4].to(devices[0])
    right = a[:, 4:].to(devices[1]) @ b[4:].to(devices[1])
    right += left.to(devices[1])
    yield "sum", right, devices[1]


def data_parallel(devices):
    """Four replicas, a shard of the batch each; gradients averaged on the first, and sent back."""
    model = seeded(lambda: nn.Linear(3, 2))
    replicas = [copy.deepcopy(model).to(d) for d in devices]
    x, y = normal(8, 3), normal(8, 2, seed=1)
    for replica, d, xs, ys in zip(replicas, devices, x.chunk(4), y.chunk(4), strict=True):
        (replica(xs.to(d)) - ys.to(d)).square().mean().backward()
    for parameters in zip(*(r.parameters() for r in replicas), strict=True):
        mean = torch.stack([p.grad.to(devices[0]) for p in parameters]).mean(0)
        yield "mean gradient", mean, devices[0]
        for k, (p, d) in enumerate(zip(parameters, devices, strict=True)):
            p.grad.copy_(mean)
            with torch.no_grad():
                p -= 0.1 * p.grad
            yield f"parameter of {k}", p, d
    for k, replica in enumerate(replicas):
        yield f"replica {k}", replica, devices[k]


class Pipeline(nn.Module):
    """Two stages on two devices; the activations cross."""

    def __init__(self, devices):
        super().__init__()
        self.devices = devices
        self.first = seeded(lambda: nn.Linear(3, 5)).to(devices[0])
        self.second = seeded(lambda: nn.Linear(5, 2), 1).to(devices[1])

    def forward(self, x):
        middle = self.first(x.to(self.devices[0])).relu()
        return self.second(middle.to(self.devices[1]))


def pipeline(devices):
    model = Pipeline(devices)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimiser.zero_grad()
        loss = (model(normal(4, 3)) - 1).square().mean()
        loss.backward()
        optimiser.step()
    yield "loss", loss, devices[1]
    yield "first stage", model.first, devices[0]
    yield "second stage", model.second, devices[1]


def ring(devices):
    """Each sends to its neighbour, round the ring: everybody has the sum."""
    held = [torch.full((3,), float(k), device=d) for k, d in enumerate(devices)]
    sums = [h.clone() for h in held]
    for _ in range(3):
        held = [held[k - 1].to(d) for k, d in enumerate(devices)]
        for own, got in zip(sums, held, strict=True):
            own += got
    for k, (own, d) in enumerate(zip(sums, devices, strict=True)):
        yield f"sum {k}", own, d


def gradients_from_all(devices):
    """One CPU leaf, used on every device: four gradients meet at home. One leaf on a device, used on the others."""
    home, there = normal(3).requires_grad_(), normal(3, seed=1).to(devices[2]).requires_grad_()
    sum((home.to(d) * there.to(d) * (k + 1)).sum().cpu() for k, d in enumerate(devices)).backward()
    yield "home's", home.grad, "cpu"
    yield "there's", there.grad, devices[2]


def copies_across(devices):
    x = normal(2, 2).to(devices[0])
    target = torch.zeros(2, 2, device=devices[1])
    returned = target.copy_(x)
    yield "copied", target, devices[1]
    yield "returned the target", returned is target, devices[1]
    target[0] = x[1]
    yield "set", target, devices[1]
    home = torch.zeros(2, 2)
    home.copy_(target)
    home[1, 1:] = x[0, :1]
    yield "home", home, "cpu"
    yield (
        "likes",
        [torch.zeros_like(x, device=devices[3]), x.new_ones(2, device=devices[3]), x.to(devices[3])],
        devices[3],
    )


PROGRAMS = [
    pi_on_four, pi_with_their_own_darts, split_product, split_inner, data_parallel, pipeline, ring, gradients_from_all,
    copies_across,
]  # fmt: skip
