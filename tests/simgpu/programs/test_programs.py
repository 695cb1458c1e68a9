"""Programs as people write them: on the CPU and on simulated GPUs, from one seed, the same numbers."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from simgpu import simulated_gpus

PROGRAMS = {}


@pytest.fixture(autouse=True)
def gpus():
    with simulated_gpus(2):
        yield


def program(function):
    """Enter a program, `function(device)`, which returns numbers, tensors or lists of them."""
    PROGRAMS[function.__name__] = function
    return function


def steps(model, loss_of, count=3, optimiser=torch.optim.SGD, **options):
    """Train, and return the losses."""
    optimiser = optimiser(model.parameters(), lr=0.05, **options)
    found = []
    for _ in range(count):
        optimiser.zero_grad()
        loss = loss_of(model)
        loss.backward()
        optimiser.step()
        found.append(loss.item())
    return found


def data(*shape, device):
    """Return numbers that are drawn on the CPU: a GPU draws others."""
    return torch.randn(*shape).to(device)


class GPT(nn.Module):
    """A transformer of one block over 11 letters."""

    def __init__(self, width=16, heads=2, length=8):
        super().__init__()
        self.letters, self.places = nn.Embedding(11, width), nn.Embedding(length, width)
        self.norm, self.attend = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.mlp = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))
        self.head, self.heads = nn.Linear(width, 11, bias=False), heads
        self.register_buffer("mask", torch.tril(torch.ones(length, length)).bool())

    def forward(self, text):
        batch, length = text.shape
        x = self.letters(text) + self.places(torch.arange(length, device=text.device))
        q, k, v = self.attend(self.norm(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-2, -1)) / k.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask[:length, :length], float("-inf"))
        x = x + (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, -1)
        return self.head(x + self.mlp(x))


def text(device):
    """Return 4 texts of 8 letters."""
    return torch.randint(11, (4, 8)).to(device)


@program
def small_gpt(device):
    model, given = GPT().to(device), text(device)
    return steps(model, lambda m: F.cross_entropy(m(given).flatten(0, 1), given.roll(-1, 1).flatten()))


@program
def gpt_writes_greedily(device):
    model, line = GPT().to(device).eval(), text(device)[:1, :2]
    with torch.no_grad():
        for _ in range(5):
            line = torch.cat([line, model(line)[:, -1].argmax(-1, keepdim=True)], 1)
    return line


@program
def flash_attention(device):
    q, k, v = (data(2, 2, 5, 4, device=device).requires_grad_() for _ in range(3))
    F.scaled_dot_product_attention(q, k, v, is_causal=True).square().sum().backward()
    return [q.grad, k.grad, v.grad]


@program
def gan(device):
    make, judge = (
        nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2)),
        nn.Sequential(nn.Linear(2, 8), nn.Linear(8, 1)),
    )
    make, judge, real, noise = make.to(device), judge.to(device), data(6, 2, device=device), data(6, 2, device=device)
    makes, judges = (torch.optim.Adam(m.parameters(), lr=0.01, betas=(0.5, 0.999)) for m in (make, judge))
    loss, yes, no = nn.BCEWithLogitsLoss(), torch.ones(6, 1, device=device), torch.zeros(6, 1, device=device)
    found = []
    for _ in range(3):
        judges.zero_grad()
        wrong = loss(judge(real), yes) + loss(judge(make(noise).detach()), no)
        wrong.backward()
        judges.step()
        makes.zero_grad()
        fooled = loss(judge(make(noise)), yes)
        fooled.backward()
        makes.step()
        found += [wrong.item(), fooled.item()]
    return found


@program
def model_to_a_rank(device):
    rank = 1 if device == "cuda:1" else device
    model = nn.Linear(3, 2).to(rank)
    return steps(model, lambda m: m(torch.ones(2, 3).to(rank)).pow(2).mean())


@program
def two_ranks_average_their_gradients(device):
    places = [0, 1] if device == "cuda:1" else [device, device]
    models = [nn.Linear(3, 1)]
    models = [copy.deepcopy(models[0]).to(place) for place in places]
    for model, place, part in zip(models, places, torch.randn(4, 3).chunk(2), strict=True):
        model(part.to(place)).square().sum().backward()
    return sum(model.weight.grad.cpu() for model in models) / 2


@program
def a_model_over_two_devices(device):
    second = "cuda:0" if device == "cuda:1" else device
    below, above = nn.Linear(3, 4).to(device), nn.Linear(4, 1).to(second)
    return steps(
        nn.ModuleList([below, above]), lambda m: m[1](m[0](torch.ones(2, 3, device=device)).to(second)).square().sum()
    )


@program
def policy_gradient(device):
    policy = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2)).to(device)
    optimiser, found = torch.optim.RMSprop(policy.parameters(), lr=0.01), []
    for _ in range(3):
        place, logs, rewards = torch.zeros(2), [], []
        for step in range(4):
            odds = torch.distributions.Categorical(logits=policy(place.clone().to(device)))
            action = odds.probs.argmax()
            logs.append(odds.log_prob(action))
            place[action.item()] += 0.5
            rewards.append(1.0 - 0.1 * step)
        rewards = torch.tensor(rewards, device=device)
        loss = -(torch.stack(logs) * (rewards - rewards.mean())).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        found.append(loss.item())
    return found


@program
def q_learning_with_a_target_network(device):
    net = nn.Linear(3, 2).to(device)
    target, state, action = copy.deepcopy(net), data(5, 3, device=device), torch.tensor([0, 1, 1, 0, 1], device=device)

    def loss(m):
        with torch.no_grad():
            best = 1 + 0.9 * target(state).max(1).values
        return F.smooth_l1_loss(m(state).gather(1, action[:, None]).squeeze(1), best)

    return steps(net, loss)


@program
def lazy_modules(device):
    model = nn.Sequential(nn.LazyConv2d(3, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2)).to(device)
    x = data(2, 1, 5, 5, device=device)
    model(x)
    with torch.no_grad():
        for p in model.parameters():  # they were drawn where they were made, and a GPU draws others
            p.copy_(torch.linspace(-1, 1, p.numel()).view(p.shape))
    return steps(model, lambda m: m(x).square().mean())


@program
def hessian(device):
    return torch.func.hessian(lambda x: (x.sin() * x).sum())(torch.arange(3.0, device=device))


@program
def gradients_of_each_sample(device):
    model = nn.Linear(3, 1).to(device)
    values = dict(model.named_parameters())

    def loss(values, x):
        return torch.func.functional_call(model, values, (x[None],)).square().sum()

    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(values, data(4, 3, device=device))["weight"]


@program
def sparse_embedding(device):
    table, rows = nn.Embedding(6, 2, sparse=True).to(device), torch.tensor([1, 4, 1], device=device)
    return [steps(table, lambda m: m(rows).square().sum(), optimiser=torch.optim.SparseAdam), table.weight.detach()]


@program
def embedding_bag(device):
    bag, rows = nn.EmbeddingBag(6, 2, mode="mean").to(device), torch.tensor([1, 4, 1, 0], device=device)
    return steps(bag, lambda m: m(rows, torch.tensor([0, 2], device=device)).square().sum())


@program
def diffusion_step(device):
    net, kept = nn.Linear(4, 4).to(device), torch.linspace(1, 0.1, 10).cumprod(0).to(device)
    clean, noise, when = (
        data(5, 4, device=device),
        data(5, 4, device=device),
        torch.tensor([1, 3, 5, 7, 9], device=device),
    )
    share = kept[when][:, None]
    return steps(net, lambda m: F.mse_loss(m(share.sqrt() * clean + (1 - share).sqrt() * noise), noise))


@program
def autoencoder_that_samples(device):
    net, x, drawn = nn.Linear(4, 6).to(device), data(5, 4, device=device), data(5, 3, device=device)

    def loss(m):
        mean, log = m(x).chunk(2, 1)
        z = mean + (log / 2).exp() * drawn
        return z.square().mean() - 0.5 * (1 + log - mean.pow(2) - log.exp()).sum(1).mean()

    return steps(net, loss)


@program
def gradient_penalty(device):
    judge, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).to(device), data(5, 3, device=device)

    def loss(m):
        at = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad(m(at).sum(), at, create_graph=True)
        return ((slope.norm(2, 1) - 1) ** 2).mean()

    return steps(judge, loss)


@program
def checkpointed_layers(device):
    model, x = nn.Sequential(*[nn.Linear(3, 3) for _ in range(3)]).to(device), data(2, 3, device=device)
    again = torch.utils.checkpoint.checkpoint_sequential
    return steps(model, lambda m: again(m, 2, x, use_reentrant=False).square().sum())


@program
def activations_on_the_cpu(device):
    model, x = nn.Linear(3, 3).to(device), data(2, 3, device=device)

    def loss(m):
        with torch.autograd.graph.save_on_cpu():
            return m(x).tanh().square().sum()

    return steps(model, loss)


@program
def accumulated_gradients(device):
    model, parts = nn.Linear(3, 1).to(device), [data(2, 3, device=device) for _ in range(3)]
    for part in parts:
        (model(part).square().mean() / 3).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    return [p.grad for p in model.parameters()]


@program
def lstm_of_packed_words(device):
    model, x = nn.LSTM(3, 4, batch_first=True).to(device), data(2, 5, 3, device=device)

    def loss(m):
        packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3]), batch_first=True)
        return nn.utils.rnn.pad_packed_sequence(m(packed)[0], batch_first=True)[0].square().sum()

    return steps(model, loss)


@program
def speech_with_ctc(device):
    model, x = nn.Linear(3, 4).to(device), data(6, 2, 3, device=device)
    wanted = torch.tensor([[1, 2], [3, 1]], device=device)
    return steps(model, lambda m: F.ctc_loss(m(x).log_softmax(2), wanted, torch.tensor([6, 6]), torch.tensor([2, 2])))


@program
def spectrum_of_a_sound(device):
    sound, window = data(64, device=device), torch.hann_window(16, device=device)
    spectrum = torch.stft(sound, 16, window=window, return_complex=True)
    return [spectrum.abs(), torch.istft(spectrum * 0.5, 16, window=window, length=64)]


@program
def frozen_layers_and_a_new_head(device):
    body, head = nn.Linear(3, 4).requires_grad_(False).to(device), nn.Linear(4, 2).to(device)
    losses = steps(head, lambda m: m(body(torch.ones(1, 3, device=device))).square().sum())
    return [losses, body.weight.grad is None]


@program
def average_of_the_weights(device):
    model, x = nn.Linear(3, 1).to(device), data(2, 3, device=device)
    average = torch.optim.swa_utils.AveragedModel(model)
    for _ in range(2):
        steps(model, lambda m: m(x).square().sum(), 1)
        average.update_parameters(model)
    return average.module.weight.detach()


@program
def lbfgs_asks_again(device):
    model, x = nn.Linear(3, 1).to(device), data(4, 3, device=device)
    optimiser, found = torch.optim.LBFGS(model.parameters(), max_iter=4), []

    def again():
        optimiser.zero_grad()
        loss = (model(x) - 1).square().mean()
        loss.backward()
        found.append(loss.item())
        return loss

    optimiser.step(again)
    return found


@program
def own_activation(device):
    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x.sigmoid()

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return gradient * (x.sigmoid() * (1 + x * (1 - x.sigmoid())))

    model, x = nn.Linear(3, 3).to(device), data(2, 3, device=device)
    return steps(model, lambda m: Swish.apply(m(x)).cumsum(1).sum())


@program
def weights_of_several_losses(device):
    model, x, weight = nn.Linear(3, 2).to(device), data(4, 3, device=device), torch.tensor(0.5, requires_grad=True)
    first, second = model(x).square().mean(0)
    (first * weight + second * (1 - weight)).backward()
    return [torch.tensor([first.detach(), second.detach()]), weight.grad, model.weight.grad]


@program
def normalised_and_regularised(device):
    model = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)).to(device)
    x = data(4, 3, device=device)
    return steps(model, lambda m: m(x).square().mean() + 0.1 * sum(p.norm() for p in m.parameters()))


@program
def saved_and_continued(device):
    import io

    model, x, file = nn.Linear(3, 1).to(device), data(2, 3, device=device), io.BytesIO()
    steps(model, lambda m: m(x).square().sum(), 1)
    torch.save(model.state_dict(), file)
    file.seek(0)
    again = nn.Linear(3, 1)
    again.load_state_dict(torch.load(file, map_location="cpu"))
    return steps(again.to(device), lambda m: m(x).square().sum(), 2)


@program
def nearest_neighbours(device):
    points, asked = data(9, 3, device=device), data(4, 3, device=device)
    near = torch.cdist(asked, points).topk(3, largest=False)
    return [near.values, near.indices, torch.unique(near.indices), torch.bincount(near.indices.flatten(), minlength=9)]


@program
def solved_by_least_squares(device):
    a, b = data(6, 3, device=device), data(6, 1, device=device)
    return [torch.linalg.lstsq(a, b).solution, torch.linalg.inv(a.T @ a) @ a.T @ b, torch.linalg.matrix_rank(a)]


@pytest.mark.filterwarnings("ignore:.torch.jit.script")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_the_cpus_numbers(name):
    found = []
    for device in ("cpu", "cuda:1"):
        torch.manual_seed(0)
        found.append(flat(PROGRAMS[name](device)))
    here, there = found
    assert len(here) == len(there) > 0
    for one, other in zip(here, there, strict=True):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-5), (one, other)


def flat(value):
    """Return the numbers of a program as a list of tensors on the CPU."""
    if isinstance(value, (list, tuple)):
        return [one for inside in value for one in flat(inside)]
    return [torch.as_tensor(value).detach().cpu().double()]


def test_mixed_precision_trains_on_the_device_in_half_the_bits():
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)).cuda(), torch.randn(6, 4).cuda()
    optimiser, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cuda", init_scale=8.0)
    losses = []
    for _ in range(5):
        optimiser.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            made = model(x)
            loss = (made - 1).square().mean()
        assert made.dtype == torch.float16
        scaler.scale(loss).backward()
        scaler.unscale_(optimiser)
        scaler.step(optimiser)
        scaler.update()
        losses.append(loss.item())
    assert losses[-1] < losses[0] and scaler.get_scale() == 8.0
    assert {p.grad.dtype for p in model.parameters()} == {torch.float32}
