"""CUDA's autocast in programs: keywords, modules, composed functions, regions in regions, backward passes, threads."""

import threading

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from simgpu import simulated_gpus

HALF, FULL = torch.float16, torch.float32


@pytest.fixture(autouse=True)
def gpus():
    with simulated_gpus(2) as started:
        yield started


@pytest.fixture
def x():
    return torch.rand(4, 4, device="cuda")


@pytest.fixture
def h(x):
    return x.half()


CALLS = {
    "layer_norm by keywords": (lambda x, h: F.layer_norm(input=h, normalized_shape=(4,)), FULL),
    "linear by keywords": (lambda x, h: F.linear(input=x, weight=x), HALF),
    "conv1d by keywords": (lambda x, h: F.conv1d(input=x[None], weight=x[:, :, None]), HALF),
    "einsum": (lambda x, h: torch.einsum("ij,jk->ik", x, x), HALF),
    "bilinear of a module": (lambda x, h: nn.Bilinear(4, 4, 2, device="cuda")(h, h), FULL),
    "a module's group norm": (lambda x, h: nn.GroupNorm(2, 4, device="cuda")(h), FULL),
    "cross entropy": (lambda x, h: F.cross_entropy(h, torch.arange(4, device="cuda")), FULL),
    "a loss by keywords": (lambda x, h: F.mse_loss(input=h, target=h), FULL),
    "attention": (lambda x, h: F.scaled_dot_product_attention(x[None], x[None], x[None]), HALF),
    "std is not listed": (lambda x, h: h.std(), HALF),
    "cat of two": (lambda x, h: torch.cat([h, x]), FULL),
    "a sum told its dtype": (lambda x, h: h.sum(dtype=HALF), HALF),
    "softmax told its dtype in place": (lambda x, h: h.softmax(0, HALF), HALF),
    "softmax told by keyword": (lambda x, h: torch.softmax(h, dim=0, dtype=torch.float64), torch.float64),
    "the norm of integers' floats": (lambda x, h: torch.norm(x.double()), torch.float64),
    "a sum of integers": (lambda x, h: torch.arange(3, device="cuda").sum(), torch.int64),
    "float64 stays": (lambda x, h: x.double() @ x.double(), torch.float64),
    "out= isn't touched": (lambda x, h: torch.mm(x, x, out=torch.empty_like(x)), FULL),
    "in place isn't touched": (lambda x, h: x.addmm_(x, x), FULL),
    "pow with a number first": (lambda x, h: 2.0**h, FULL),
    "cdist": (lambda x, h: torch.cdist(h, h), FULL),
    "interpolate": (lambda x, h: F.interpolate(h[None, None], scale_factor=2.0), FULL),
    "index_put of two": (lambda x, h: x.index_put((torch.tensor([0], device="cuda"),), h[:1]), FULL),
    "vmap": (lambda x, h: torch.func.vmap(lambda row: row @ x)(x), HALF),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_a_call_gives(name, x, h):
    call, dtype = CALLS[name]
    with torch.autocast("cuda"):
        result = call(x, h)
    assert (result.dtype, result.device) == (dtype, torch.device("cuda", 0))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_a_recurrent_layer_runs_in_the_lower_precision_as_cudnn_does(kind):
    layer = kind(3, 4, 2).cuda()
    with torch.autocast("cuda"):
        result, state = layer(torch.rand(5, 2, 3, device="cuda"))
    assert result.dtype == HALF and {tensor.dtype for tensor in (state if kind is nn.LSTM else (state,))} == {HALF}
    result.float().sum().backward()
    assert layer.weight_ih_l0.grad.dtype == FULL


def test_values_are_those_of_the_lower_precision(x):
    with torch.autocast("cuda", torch.bfloat16):
        result = x @ x
    assert torch.equal(result, x.bfloat16() @ x.bfloat16()) and not torch.equal(result.float(), x @ x)


def test_binary_cross_entropy_is_refused_in_cudas_words(x):
    with torch.autocast("cuda"):
        for loss in (F.binary_cross_entropy, nn.BCELoss(), lambda a, b: F.binary_cross_entropy(input=a, target=b)):
            with pytest.raises(
                RuntimeError, match="^torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are"
            ):
                loss(x, x)
        assert F.binary_cross_entropy_with_logits(x, x).dtype == FULL
    assert F.binary_cross_entropy(x, x).dtype == FULL


def test_regions_nest_and_end(x):
    with torch.autocast("cuda"):
        with torch.autocast("cuda", enabled=False):
            assert (x @ x).dtype == FULL
        with torch.autocast("cuda", torch.bfloat16):
            assert (x @ x).dtype == torch.bfloat16
        assert (x @ x).dtype == HALF
    assert (x @ x).dtype == FULL


def test_the_cpus_tensors_have_the_cpus_autocast_and_no_other(x):
    home = torch.rand(4, 4)
    with torch.autocast("cuda"):
        assert ((home @ home).dtype, home.bfloat16().sum().dtype) == (FULL, torch.bfloat16)
        assert F.binary_cross_entropy(home, home).dtype == FULL
        with torch.autocast("cpu"):
            assert ((home @ home).dtype, (x @ x).dtype) == (torch.bfloat16, HALF)
    with torch.autocast("cpu"):
        assert ((home @ home).dtype, (x @ x).dtype, F.linear(input=x, weight=x).dtype) == (torch.bfloat16, FULL, FULL)


def test_a_thread_has_regions_of_its_own(x):
    dtypes = []

    def run():
        dtypes.append((x @ x).dtype)
        with torch.autocast("cuda", torch.bfloat16):
            dtypes.append((x @ x).dtype)

    with torch.autocast("cuda"):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert dtypes == [FULL, torch.bfloat16]


def casts(gpus, run):
    """Return how many copies to another dtype the device makes while `run` runs."""
    gpus.reset()
    run()
    return sum(span.what == "work" and span.name == "_to_copy" for span in gpus.clock.spans)


def test_a_weight_is_cast_once_in_a_region_unless_told(gpus, x):
    layer = nn.Linear(4, 4, bias=False).cuda()

    def twice(**options):
        with torch.autocast("cuda", **options):
            layer(x), layer(x)

    assert casts(gpus, twice) == 3  # the weight once, the input twice
    assert casts(gpus, twice) == 3  # it was dropped at the end of the region
    assert casts(gpus, lambda: twice(cache_enabled=False)) == 4
    with torch.no_grad():
        assert casts(gpus, twice) == 4


def test_a_weight_that_was_first_used_without_gradients_has_one_later(x):
    layer = nn.Linear(4, 4).cuda()
    with torch.autocast("cuda"):
        with torch.no_grad():
            layer(x)
        layer(x).float().sum().backward()
    assert layer.weight.grad.dtype == FULL and layer.weight.grad.abs().sum() > 0


@pytest.mark.parametrize(("scale", "moves"), [(2.0**10, True), (2.0**100, False)])
def test_a_scaler_steps_unless_a_gradient_overflows(x, scale, moves):
    layer = nn.Linear(4, 1).cuda()
    optimiser, scaler = torch.optim.SGD(layer.parameters(), lr=0.1), torch.amp.GradScaler("cuda", init_scale=scale)
    before = layer.weight.detach().clone()
    with torch.autocast("cuda"):
        loss = F.mse_loss(layer(x), x[:, :1])
    scaler.scale(loss).backward()
    scaler.step(optimiser)
    scaler.update()
    assert bool((layer.weight != before).any()) is moves
    assert scaler.get_scale() == (scale if moves else scale / 2)


def test_a_backward_pass_in_a_region_runs_in_its_precision(x):
    a = x.clone().requires_grad_()
    (a @ x).sum().backward()
    outside, a.grad = a.grad, None
    loss = (a @ x).sum()
    with torch.autocast("cuda"):
        loss.backward()
    assert a.grad.dtype == FULL and torch.equal(a.grad, a.grad.half().float()) and not torch.equal(a.grad, outside)


class Doubled(torch.autograd.Function):
    """Twice the product; notes the precision in which each pass runs."""

    dtypes_of_passes: list = []

    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda")
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return (a @ b) * 2

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, gradient):
        a, b = ctx.saved_tensors
        Doubled.dtypes_of_passes.append((gradient @ b.t()).dtype)
        return (gradient @ b.t()) * 2, (a.t() @ gradient) * 2


class InFull(torch.autograd.Function):
    """The product, in float32 wherever it is called."""

    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, gradient):
        a, b = ctx.saved_tensors
        return gradient @ b.t(), a.t() @ gradient


def test_a_functions_passes_run_in_the_precision_that_it_asks_for(x, h):
    a = x.clone().requires_grad_()
    with torch.autocast("cuda"):
        result, full = Doubled.apply(a, x), InFull.apply(a, h)
    Doubled.dtypes_of_passes.clear()
    (result.float().sum() + full.sum()).backward()
    assert (result.dtype, full.dtype, Doubled.dtypes_of_passes, a.grad.dtype) == (HALF, FULL, [HALF], FULL)


def test_a_region_that_outlives_the_gpus_leaves_torch_as_it_was(gpus):
    with torch.autocast("cuda"):
        gpus.close()
    assert not torch.is_autocast_enabled("cuda") and torch.set_autocast_enabled is torch._C.set_autocast_enabled
    with torch.autocast("cpu"):
        assert F.binary_cross_entropy(torch.ones(1), torch.ones(1)).item() == 0
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16
