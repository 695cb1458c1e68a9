"""Gradients: they land on their leaf's device, whatever the road between."""

import copy

import torch
from torch import nn

from tests.slow.conformance.programs.data import normal


def leaf_on_the_cpu(device):
    """The leaf stays at home; its copy works on the device."""
    leaf = normal(3, 4).requires_grad_()
    copied = leaf.to(device)
    (copied.square().sum() + leaf.to(device).exp().sum()).backward()
    yield "moved", copied, device
    yield "gradient", leaf.grad, "cpu"


def there_and_back(device):
    leaf = normal(4).to(device).requires_grad_()
    home = leaf.cpu()
    again = (home * 2).to(device)
    (again * leaf).sum().backward()
    yield "home", home, "cpu"
    yield "gradient", leaf.grad, device


def scalar_leaf_on_the_cpu(device):
    """A 0-dim CPU tensor may mix with a device's; its gradient comes home."""
    scale, shift = torch.tensor(2.0, requires_grad=True), torch.tensor(0.5, requires_grad=True)
    x = normal(3, 2).to(device).requires_grad_()
    y = x * scale + shift
    ((shift - y) / scale).sum().backward()
    yield "result", y, device
    yield "gradient of x", x.grad, device
    yield "gradients of the scalars", [scale.grad, shift.grad], "cpu"


def copied_from_a_cpu_leaf(device):
    leaf = normal(2, 3).requires_grad_()
    target = torch.zeros(2, 3, device=device)
    target.copy_(leaf)
    target.mul(3).sum().backward()
    yield "target", target, device
    yield "gradient", leaf.grad, "cpu"


def set_from_a_cpu_leaf(device):
    leaf, scalar = normal(3).requires_grad_(), torch.tensor(4.0, requires_grad=True)
    table = torch.zeros(2, 3, device=device)
    table[0] = leaf
    table[1, 2] = scalar
    (table * table).sum().backward()
    yield "table", table, device
    yield "gradients", [leaf.grad, scalar.grad], "cpu"


def double_backward_across(device):
    """The second derivative too crosses the bus and comes home."""
    leaf = normal(3, dtype=torch.float64).requires_grad_()
    (first,) = torch.autograd.grad(leaf.to(device).pow(3).sum(), leaf, create_graph=True)
    first.square().sum().backward()
    yield "first", first, "cpu"
    yield "gradient", leaf.grad, "cpu"


def hooks_on_tensors(device):
    gradients = {}
    x = normal(3).to(device).requires_grad_()
    middle = x * 2
    middle.register_hook(lambda g: gradients.__setitem__("middle", g.clone()) or g * 10)
    middle.retain_grad()
    x.register_post_accumulate_grad_hook(lambda p: gradients.__setitem__("accumulated", p.grad.clone()))
    middle.square().sum().backward()
    yield "seen", gradients, device
    yield "retained", middle.grad, device
    yield "gradient", x.grad, device


def partial_gradients(device):
    a, b = normal(3).to(device).requires_grad_(), normal(3, seed=1).requires_grad_()
    product = a * b.to(device)
    of_a, of_b = torch.autograd.grad(product, [a, b], grad_outputs=torch.ones(3, device=device))
    yield "of a", of_a, device
    yield "of b", of_b, "cpu"
    yield "untouched", [a.grad is None, b.grad is None], device


def copied_with_its_gradient(device):
    parameter = nn.Parameter(normal(3).to(device))
    parameter.square().sum().backward()
    twin = copy.deepcopy(parameter)
    yield "twin", [twin, twin.grad], device
    yield "kinds", [isinstance(twin, nn.Parameter), twin.is_leaf], device


def in_place_under_autograd(device):
    x = normal(3, 4, dtype=torch.float64).to(device).requires_grad_()
    y = x * 1
    y[1].mul_(2)
    y[:, 0] = 7
    y.t()[2].add_(y[0, 0])
    y.exp_()
    y.sum().backward()
    yield "y", y, device
    yield "gradient", x.grad, device
