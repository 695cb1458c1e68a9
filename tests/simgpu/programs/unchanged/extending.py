"""Programs that extend torch: functions, ops, parametrisations, hooks, traced and rewritten modules."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations, parametrize, prune
from torch.nn.utils.fusion import fuse_conv_bn_eval
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from tests.simgpu.programs.harness import drawn, gpu, program, train


@torch.library.custom_op("programs::scaled_sine", mutates_args=())
def scaled_sine(x: torch.Tensor, scale: float) -> torch.Tensor:
    """Return the sine, scaled: an op that torch can't look into."""
    return torch.sin(x) * scale


@scaled_sine.register_fake
def _(x, scale):
    return torch.empty_like(x)


scaled_sine.register_autograd(
    lambda ctx, gradient: (gradient * ctx.saved_tensors[0].cos() * ctx.scale, None),
    setup_context=lambda ctx, inputs, output: (ctx.save_for_backward(inputs[0]), setattr(ctx, "scale", inputs[1])),
)


@torch.library.custom_op("programs::add_one_", mutates_args={"x"})
def add_one_(x: torch.Tensor) -> None:
    """Add one in place."""
    x.add_(1)


@program
def an_op_of_ones_own_with_a_gradient():
    device = gpu()
    model, x = nn.Linear(3, 2).to(device), drawn(4, 3, device=device)
    losses = train(model, lambda m: scaled_sine(m(x), 2.0).square().sum())
    counted = torch.zeros(2, device=device)
    add_one_(counted), torch.ops.programs.add_one_(counted)
    return losses, counted, torch.ops.programs.scaled_sine(x, 0.5)


@program
def functions_with_their_context_apart():
    class Exp(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x.exp()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)
            ctx.save_for_forward(output)

        @staticmethod
        def backward(ctx, gradient):
            return gradient * ctx.saved_tensors[0]

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * ctx.saved_tensors[0]

    device = gpu()
    x = drawn(3, device=device)
    double = torch.func.grad(torch.func.grad(lambda x: Exp.apply(x) * x))
    along = torch.func.jvp(Exp.apply, (x,), (torch.ones_like(x),))
    return torch.func.vmap(double)(x), torch.func.vmap(torch.func.grad(Exp.apply))(x), along


@program
def functions_of_several_results_one_of_which_has_no_gradient():
    class TopTwo(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            values, places = x.topk(2)
            ctx.mark_non_differentiable(places)
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(places)
            ctx.shape, ctx.scale = x.shape, scale
            return values * scale, places

        @staticmethod
        def backward(ctx, gradient, _):
            if not ctx.needs_input_grad[0] or gradient is None:
                return None, None
            (places,) = ctx.saved_tensors
            return gradient.new_zeros(ctx.shape).scatter_(-1, places, gradient * ctx.scale), None

    device = gpu()
    x = drawn(2, 4, device=device).requires_grad_()
    values, places = TopTwo.apply(x, 3.0)
    values.square().sum().backward()
    return values, places, x.grad, torch.autograd.gradcheck(
        lambda x: TopTwo.apply(x, 3.0)[0], torch.arange(4.0, device=device).double().requires_grad_()
    )  # fmt: skip


@program
def in_place_functions_and_straight_gradients():
    class Rounded(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.round_()

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    device = gpu()
    weight = drawn(3, 3, device=device).requires_grad_()
    output = Rounded.apply(weight * 4) / 4
    output.square().sum().backward()
    return output, weight.grad


@program
def weights_that_are_symmetric_or_orthogonal():
    class Symmetric(nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, x):
            return x.triu()

    device = gpu()
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    parametrize.register_parametrization(first, "weight", Symmetric())
    parametrizations.orthogonal(second, orthogonal_map="matrix_exp")
    model, x = nn.Sequential(first, second).to(device), drawn(4, 3, device=device)
    losses = train(model, lambda m: (m(x) - 1).square().mean())
    with parametrize.cached():
        same = first.weight is first.weight
    parametrize.remove_parametrizations(first, "weight", leave_parametrized=True)
    product = second.weight @ second.weight.T
    return losses, same, first.weight, product


@program
def weights_that_are_normalised():
    device = gpu()
    torch.manual_seed(3)
    layer, last = parametrizations.spectral_norm(nn.Conv2d(1, 3, 3)), parametrizations.weight_norm(nn.Linear(12, 1))
    model, x = nn.Sequential(layer, nn.Flatten(), last).to(device), drawn(2, 1, 4, 4, device=device)
    losses = train(model, lambda m: m(x).square().mean())
    return losses, torch.linalg.matrix_norm(layer.weight.flatten(1), 2), layer.eval().weight


@program
def weights_are_pruned():
    device = gpu()
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)).to(device)
    prune.l1_unstructured(model[0], "weight", amount=0.5)
    prune.ln_structured(model[2], "weight", amount=1, n=2, dim=1)
    prune.global_unstructured([(model[0], "weight"), (model[2], "weight")], prune.L1Unstructured, amount=0.3)
    x = drawn(3, 4, device=device)
    losses = train(model, lambda m: m(x).square().mean())
    masks = [name for name, _ in model.named_buffers()]
    prune.remove(model[0], "weight")
    return losses, model[0].weight, len(masks), prune.is_pruned(model)


@program
def convolution_and_norm_become_one():
    device = gpu()
    conv, norm, x = nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), drawn(4, 1, 6, 6)
    model = nn.Sequential(conv, norm).to(device)
    model(x.to(device))
    model.eval()
    fused = fuse_conv_bn_eval(conv, norm)
    return fused(x.to(device)), (fused(x.to(device)) - model(x.to(device))).abs().max() < 1e-5


@program
def a_module_is_traced_and_rewritten():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x):
            return torch.relu(self.layer(x) + x).clamp(max=1.0)

    device = gpu()
    traced = torch.fx.symbolic_trace(Net().to(device))
    for node in traced.graph.nodes:
        if node.op == "call_function" and node.target is torch.relu:
            node.target = F.gelu
    traced.recompile()
    x = drawn(2, 3, device=device)
    return traced(x), traced.layer.weight, [node.op for node in traced.graph.nodes].count("call_function")


@program
def scripted_and_traced_by_example():
    device = gpu()
    model, x = nn.Sequential(nn.Linear(3, 2), nn.ReLU()).to(device), drawn(2, 3, device=device)

    @torch.jit.script
    def grown(x: torch.Tensor, count: int):
        for _ in range(count):
            x = x * 2 + torch.ones_like(x)
        return x

    return torch.jit.trace(model, x)(x), torch.jit.script(model)(x), grown(x, 3)


@program
def hooks_change_what_passes():
    device, norms = gpu(), []
    model = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid(), nn.Linear(3, 1)).to(device)
    model[0].register_forward_pre_hook(lambda m, args: (args[0] * 2,))
    model[1].register_forward_hook(lambda m, args, kwargs, output: output.clamp(max=0.7), with_kwargs=True)
    model[1].register_full_backward_pre_hook(lambda m, output: (output[0] * 0.5,))
    model[2].register_full_backward_hook(lambda m, inputs, output: norms.append([inputs[0].norm(), output[0].norm()]))
    model.register_state_dict_post_hook(lambda m, state, prefix, local: state.update(extra=torch.ones(1)))
    x = drawn(2, 3, device=device).requires_grad_()
    handle = x.register_hook(lambda gradient: gradient.clamp(-0.01, 0.01))
    model(x).sum().backward()
    handle.remove()
    return x.grad, norms, sorted(model.state_dict())[0] == "0.bias", model.state_dict()["extra"]


@program
def what_is_saved_is_kept_smaller():
    device, sizes = gpu(), []

    def pack(x):
        sizes.append(x.numel())
        return x.device, x.to(torch.bfloat16).cpu()

    model, x = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1)).to(device), drawn(4, 3, device=device)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed[1].to(packed[0]).float()):
        loss = model(x).square().sum()
    with torch.autograd.graph.save_on_cpu():
        again = model(x).square().sum()
    (loss + again).backward()
    return model[0].weight.grad, sizes


@program
def calls_and_ops_are_counted_by_modes():
    class Calls(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            calls.append(getattr(func, "__name__", ""))
            return func(*args, **(kwargs or {}))

    class Ops(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            ops.append(str(func))
            return func(*args, **(kwargs or {}))

    calls, ops, device = [], [], gpu()
    x = drawn(3, 3, device=device).requires_grad_()
    with Calls():
        output = torch.softmax(x @ x, -1).sum()
    with Ops():
        output.backward()
        x.detach().mul(2)
    return x.grad, calls.count("softmax"), ops.count("aten.mul.Tensor") > 0, any("softmax" in op for op in ops)


@program
def an_object_that_torch_takes_for_a_tensor():
    class Metres:
        def __init__(self, value):
            self.value = value

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            args = [arg.value if isinstance(arg, cls) else arg for arg in args]
            return cls(func(*args, **(kwargs or {})))

    length = Metres(torch.arange(3.0, device=gpu()))
    doubled = torch.add(length, torch.ones(3, device=gpu()))
    assert type(doubled) is Metres
    return torch.cumsum(doubled, 0).value
