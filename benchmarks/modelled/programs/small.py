"""Many small kernels: what the host takes to queue them is what counts."""

import torch


def tiny_kernels(device, part):
    """200 sums of 64 numbers, in a row."""
    x = torch.zeros(64, device=device)

    def step():
        for _ in range(200):
            x.add_(1.0)

    return step


def adam_by_hand(device, part):
    """An Adam step over 40 small tensors, one at a time."""
    return _adam(device, foreach=False)


def adam_all_at_once(device, part):
    """The same step by ops that take all tensors at once."""
    return _adam(device, foreach=True)


def asks_each_time(device, part):
    """A power iteration of 20 steps that asks for the norm's value at each of them."""
    matrix = torch.rand(256, 256, device=device)

    def step():
        x = torch.ones(256, device=device)
        for _ in range(20):
            x = matrix @ x
            x = x / x.norm().item()
        return x

    return step


def _adam(device, foreach):
    parameters = [torch.rand(100, 10, device=device, requires_grad=True) for _ in range(40)]
    for parameter in parameters:
        parameter.grad = torch.rand_like(parameter)
    return torch.optim.Adam(parameters, foreach=foreach).step


PROGRAMS = (tiny_kernels, adam_by_hand, adam_all_at_once, asks_each_time)
