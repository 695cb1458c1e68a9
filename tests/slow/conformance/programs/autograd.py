"""Gradients: they land on their leaf's device, whatever the road between."""

import copy

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.slow.conformance.programs.data import normal, seeded


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * gradient


def leaf_on_the_cpu(device):
    """The leaf stays at home; its copy works on the device."""
    leaf = normal(3, 4).requires_grad_()
    there = leaf.to(device)
    (there.square().sum() + leaf.to(device).exp().sum()).backward()
    yield "moved", there, device
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


def custom_function(device):
    x = normal(5).to(device).requires_grad_()
    y = Cube.apply(x)
    y.sum().backward()
    yield "y", y, device
    yield "gradient", x.grad, device


def double_backward(device):
    x = normal(4, dtype=torch.float64).to(device).requires_grad_()
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    penalty = (first.norm() - 1) ** 2 + second.sum()
    penalty.backward()
    yield "first and second", [first, second], device
    yield "gradient of the penalty", x.grad, device


def double_backward_across(device):
    """The second derivative too crosses the bus and comes home."""
    leaf = normal(3, dtype=torch.float64).requires_grad_()
    (first,) = torch.autograd.grad(leaf.to(device).pow(3).sum(), leaf, create_graph=True)
    first.square().sum().backward()
    yield "first", first, "cpu"
    yield "gradient", leaf.grad, "cpu"


def hooks_on_tensors(device):
    seen = {}
    x = normal(3).to(device).requires_grad_()
    middle = x * 2
    middle.register_hook(lambda g: seen.__setitem__("middle", g.clone()) or g * 10)
    middle.retain_grad()
    x.register_post_accumulate_grad_hook(lambda p: seen.__setitem__("accumulated", p.grad.clone()))
    middle.square().sum().backward()
    yield "seen", seen, device
    yield "retained", middle.grad, device
    yield "gradient", x.grad, device


def hooks_on_modules(device):
    seen = []
    model = seeded(lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))).to(device)
    model[0].register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    model[1].register_forward_hook(lambda module, args, output: seen.append(output.detach()))
    model[2].register_full_backward_hook(lambda module, into, out: seen.extend([into[0], out[0]]))
    model(normal(2, 3).to(device)).sum().backward()
    yield "seen", seen, device
    yield "model", model, device


def accumulated(device):
    """Four small batches make one large one; `grad` is added to in place."""
    model = seeded(lambda: nn.Linear(3, 1)).to(device)
    for step in range(4):
        (model(normal(2, 3, seed=step).to(device)).square().mean() / 4).backward()
    yield "model", model, device
    model.zero_grad(set_to_none=False)
    yield "zeroed", [p.grad for p in model.parameters()], device


def without_a_graph(device):
    x = normal(3).to(device).requires_grad_()
    with torch.no_grad():
        a = x * 2
    with torch.inference_mode():
        b = x.detach() + 1
    c = x.detach()
    with torch.set_grad_enabled(False):
        x += 1
    yield "results", [a, b, c, x], device
    yield "flags", [a.requires_grad, c.requires_grad, x.requires_grad, b.is_inference()], device


def checkpointed(device):
    model = seeded(lambda: nn.Sequential(nn.Linear(3, 3), nn.ReLU())).to(device)
    x = normal(4, 3).to(device).requires_grad_()
    checkpoint(model, x, use_reentrant=False).sum().backward()
    yield "gradient", x.grad, device
    yield "model", model, device


def jacobian(device):
    x = normal(3).to(device)
    yield "jacobian", torch.autograd.functional.jacobian(lambda v: v**2 * v.sum(), x), device


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


PROGRAMS = [
    leaf_on_the_cpu, there_and_back, scalar_leaf_on_the_cpu, copied_from_a_cpu_leaf, set_from_a_cpu_leaf,
    custom_function, double_backward, double_backward_across, hooks_on_tensors, hooks_on_modules, accumulated,
    without_a_graph, checkpointed, jacobian, partial_gradients, copied_with_its_gradient, in_place_under_autograd,
]  # fmt: skip
