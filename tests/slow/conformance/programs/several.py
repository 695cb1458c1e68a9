"""Programs for several devices: a list of four."""

import torch

from tests.slow.conformance.programs.data import normal


def split_product(devices):
    """Half the rows on each of two devices, joined on the CPU."""
    a, b = normal(6, 4), normal(4, 5, seed=1)
    halves = [rows.to(d) @ b.to(d) for rows, d in zip(a.chunk(2), devices[:2], strict=True)]
    yield "first half", halves[0], devices[0]
    yield "second half", halves[1], devices[1]
    yield "product", torch.cat([half.cpu() for half in halves]), "cpu"
    yield "joined there", torch.cat([half.to(devices[1]) for half in halves]), devices[1]


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
    home, on_third = normal(3).requires_grad_(), normal(3, seed=1).to(devices[2]).requires_grad_()
    sum((home.to(d) * on_third.to(d) * (k + 1)).sum().cpu() for k, d in enumerate(devices)).backward()
    yield "home's", home.grad, "cpu"
    yield "there's", on_third.grad, devices[2]


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
