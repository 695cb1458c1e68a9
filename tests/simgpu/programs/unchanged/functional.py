"""Programs with `torch.func`, forward-mode derivatives and derivatives of derivatives."""

import copy

import torch
import torch.autograd.forward_ad as forward
from torch import nn
from torch.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    vjp,
    vmap,
)  # fmt: skip
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from tests.simgpu.programs.harness import drawn, gpu, program, train


@program
def learning_to_learn_over_tasks_at_once():
    device = gpu()
    net = nn.Linear(2, 1).to(device)
    params, buffers = dict(net.named_parameters()), dict(net.named_buffers())
    x, y = drawn(4, 5, 2, device=device), drawn(4, 5, 1, device=device)

    def loss(params, x, y):
        return F.mse_loss(functional_call(net, (params, buffers), (x,)), y)

    def of_task(params, x, y):
        slopes = grad(loss)(params, x, y)
        return loss({name: params[name] - 0.1 * slopes[name] for name in params}, x, y)

    slopes, value = grad_and_value(lambda p: vmap(of_task, (None, 0, 0))(p, x, y).mean())(params)
    return slopes, value


@program
def a_committee_of_networks_at_once():
    device = gpu()
    models = [nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).to(device) for _ in range(4)]
    params, buffers = stack_module_state(models)
    base, x = copy.deepcopy(models[0]).to("meta"), drawn(5, 3, device=device)

    def called(params, buffers, x):
        return functional_call(base, (params, buffers), (x,))

    outputs = vmap(called, in_dims=(0, 0, None))(params, buffers, x)
    assert torch.allclose(outputs, torch.stack([model(x) for model in models]), atol=1e-5)
    return outputs, outputs.softmax(-1).var(0)


@program
def derivatives_in_every_direction():
    device = gpu()
    x, v = torch.tensor([0.3, 0.7, 1.1], device=device), torch.tensor([1.0, 0.0, -1.0], device=device)

    def f(x):
        return torch.stack([x[0] * x[1] * x[2], x.sin().sum(), (x**3).sum()])

    value, slope = jvp(f, (x,), (v,))
    outputs, back = vjp(f, x)
    straight = linearize(f, x)[1](v)
    curved = jvp(grad(lambda x: f(x).sum()), (x,), (v,))[1]
    return value, slope, back(v)[0], straight, curved, jacfwd(f)(x), jacrev(f, chunk_size=2)(x), hessian(
        lambda x: f(x).sum()
    )(x)  # fmt: skip


@program
def numbers_that_carry_their_derivative():
    device = gpu()
    layer, x = nn.Linear(3, 2).to(device), drawn(4, 3, device=device)
    tangents = {name: torch.ones_like(p) for name, p in layer.named_parameters()}
    with forward.dual_level():
        for name, p in list(layer.named_parameters()):
            delattr(layer, name)
            setattr(layer, name, forward.make_dual(p, tangents[name]))
        outputs = torch.tanh(layer(x))
        value, slope = forward.unpack_dual(outputs)
    return value, slope


@program
def matrices_of_derivatives_the_older_way():
    device = gpu()
    x, v = torch.tensor([0.5, 1.5], device=device), torch.tensor([1.0, 2.0], device=device)
    a = torch.autograd.functional

    def f(x):
        return (x.exp() * x.flip(0)).sum()

    return [
        a.jacobian(lambda x: x.exp() * x, x), a.hessian(f, x), a.hvp(f, x, v)[1], a.vhp(f, x, v)[1],
        a.jvp(lambda x: x**2, x, v)[1], a.vjp(f, x, torch.tensor(2.0, device=device))[1],
        a.jacobian(lambda x, y: x * y, (x, v), vectorize=True)[0],
    ]  # fmt: skip


@program
def a_fixed_point_is_differentiated():
    class Fixed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, weight, x):
            z = torch.zeros_like(x)
            for _ in range(60):
                z = torch.tanh(z @ weight + x)
            ctx.save_for_backward(weight, z)
            return z

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, gradient):
            weight, z = ctx.saved_tensors
            slope = 1 - z**2
            u = gradient.clone()
            for _ in range(60):
                u = (u * slope) @ weight.t() + gradient
            u = u * slope
            return z.t() @ u, u

    device = gpu()
    weight = (torch.eye(3) * 0.3).to(device).requires_grad_()
    x = drawn(2, 3, device=device).requires_grad_()
    outputs = Fixed.apply(weight, x)
    outputs.square().sum().backward()
    return outputs, weight.grad, x.grad


@program
def curvature_by_products_alone():
    device = gpu()
    net, x, y = nn.Linear(3, 1).to(device), drawn(6, 3, device=device), drawn(6, 1, device=device)
    params = list(net.parameters())
    slopes = torch.autograd.grad(F.mse_loss(net(x), y), params, create_graph=True)
    slope = nn.utils.parameters_to_vector(slopes)
    d, r = torch.zeros_like(slope), -slope.detach()
    p, rr = r.clone(), r @ r
    for _ in range(4):
        hp = nn.utils.parameters_to_vector(torch.autograd.grad(slope @ p, params, retain_graph=True)) + 1e-3 * p
        step = rr / (p @ hp)
        d, r = d + step * p, r - step * hp
        rr, old = r @ r, rr
        p = r + rr / old * p
    nn.utils.vector_to_parameters(nn.utils.parameters_to_vector(params).detach() + d, params)
    return F.mse_loss(net(x), y), d


@program
def recomputed_in_both_ways():
    device = gpu()
    layers, x = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)]).to(device), drawn(3, 4, device=device)

    def loss(m):
        h = x.requires_grad_()
        for index, layer in enumerate(m):
            h = checkpoint(lambda h, layer=layer: torch.tanh(layer(h)), h, use_reentrant=bool(index % 2))
        return h.square().sum()

    return train(layers, loss), x.grad


@program
def dropout_is_the_same_when_recomputed():
    device = gpu()
    model, x = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2)).to(device), drawn(3, 4, device=device)
    plain, again = [], []
    for gradients, run in ((plain, lambda: model(x)), (again, lambda: checkpoint(model, x, use_reentrant=False))):
        torch.manual_seed(11)
        model.zero_grad()
        run().square().sum().backward()
        gradients.extend(p.grad.clone() for p in model.parameters())
    assert all(torch.equal(*pair) for pair in zip(plain, again, strict=True))
    return again


@program
def gradients_are_watched_for_nans():
    device = gpu()
    x = torch.tensor([0.0, 4.0], device=device, requires_grad=True)
    try:
        with torch.autograd.set_detect_anomaly(True, check_nan=True):
            (torch.sqrt(x) * 0).sum().backward()
    except RuntimeError as error:
        return "returned nan values" in str(error), x.detach()
