"""Programs about layers of one's own: experts, adapters, rotations, poolings and their inverse, codes."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.simgpu.programs.harness import drawn, gpu, program, train


@program
def places_by_rotation():
    device, width, length = gpu(), 4, 5
    rates = 1.0 / (10000.0 ** (torch.arange(0, width, 2, device=device).float() / width))
    turns = torch.outer(torch.arange(length, device=device), rates)
    turns = torch.polar(torch.ones_like(turns), turns)
    x = drawn(2, length, width, device=device).requires_grad_()
    pairs = torch.view_as_complex(x.float().reshape(2, length, -1, 2))
    turned = torch.view_as_real(pairs * turns).flatten(2)
    (turned @ turned.transpose(1, 2)).tril().square().sum().backward()
    return turned, x.grad


@program
def experts_are_chosen_by_a_router():
    device = gpu()
    x, router = drawn(6, 4, device=device), nn.Linear(4, 3)
    experts = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

    def loss(m):
        weights, chosen = m[0](x).softmax(-1).topk(2)
        weights = weights / weights.sum(-1, keepdim=True)
        made = torch.zeros_like(x)
        for index, expert in enumerate(m[1]):
            rows, place = torch.where(chosen == index)
            made.index_add_(0, rows, expert(x[rows]) * weights[rows, place, None])
        return (made - x).square().mean()

    return train(nn.ModuleList([router, experts]).to(device), loss, optimiser=torch.optim.AdamW)


@program
def low_rank_adapters_on_frozen_weights():
    class Adapted(nn.Module):
        def __init__(self, layer, rank=2):
            super().__init__()
            self.layer = layer.requires_grad_(False)
            self.down = nn.Parameter(torch.randn(rank, layer.in_features) / math.sqrt(rank))
            self.up = nn.Parameter(torch.zeros(layer.out_features, rank))

        def forward(self, x):
            return self.layer(x) + F.linear(F.linear(x, self.down), self.up) * 2

    device = gpu()
    model = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 1))
    for name, layer in list(model.named_children()):
        if isinstance(layer, nn.Linear):
            setattr(model, name, Adapted(layer))
    model.cuda() if device == "cuda" else model
    x = drawn(6, 5, device=device)
    losses = train(model, lambda m: (m(x) - 1).square().mean())
    merged = model[0].layer.weight + 2 * model[0].up @ model[0].down
    return losses, merged, sum(p.requires_grad for p in model.parameters())


@program
def many_words_by_an_adaptive_softmax():
    device = gpu()
    model = nn.AdaptiveLogSoftmaxWithLoss(6, 20, cutoffs=[4, 10], div_value=2.0).to(device)
    x, words = drawn(8, 6, device=device), torch.arange(0, 16, 2).to(device)
    return train(model, lambda m: m(x, words).loss), model.log_prob(x).exp().sum(1), model.predict(x)


@program
def causal_convolutions_of_a_sound():
    device = gpu()
    layers = nn.ModuleList([nn.Conv1d(2, 4, 2, dilation=2**k) for k in range(3)]).to(device)
    ends = nn.ModuleList([nn.Conv1d(1, 2, 1), nn.Conv1d(2, 8, 1)]).to(device)
    sound = torch.sin(torch.arange(24) / 3.0).view(1, 1, -1).to(device)
    coded = ((sound.sign() * torch.log1p(255 * sound.abs()) / 5.5452 + 1) / 2 * 7).round().long().squeeze(1)

    def loss(m):
        x, skips = m[1][0](sound), 0
        for k, layer in enumerate(m[0]):
            gate, value = layer(F.pad(x, (2**k, 0))).chunk(2, 1)
            x = x + torch.tanh(value) * torch.sigmoid(gate)
            skips = skips + x
        return F.cross_entropy(m[1][1](skips)[..., :-1], coded[:, 1:])

    return train(nn.ModuleList([layers, ends]), loss, optimiser=torch.optim.Adam)


@program
def pooled_and_put_back():
    device = gpu()
    pool, back = nn.MaxPool2d(2, stride=2, return_indices=True), nn.MaxUnpool2d(2, stride=2)
    x = drawn(1, 2, 6, 6, device=device).requires_grad_()
    made, places = pool(x)
    back(made, places).square().sum().backward()
    patches = F.unfold(x, 3, padding=1)
    again = F.fold(patches, (6, 6), 3, padding=1) / F.fold(torch.ones_like(patches), (6, 6), 3, padding=1)
    return places, x.grad, again, nn.LocalResponseNorm(2)(x), F.lp_pool2d(x, 2, 3)


@program
def autoencoder_with_a_code_book():
    device = gpu()
    encoder, decoder, book = nn.Linear(4, 3).to(device), nn.Linear(3, 4).to(device), nn.Embedding(5, 3)
    book.weight.data.uniform_(-1 / 5, 1 / 5)
    book.to(device)
    x = drawn(6, 4, device=device)

    def loss(m):
        z = m[0](x)
        far = z.pow(2).sum(1, keepdim=True) + m[2].weight.pow(2).sum(1) - 2 * z @ m[2].weight.t()
        code = m[2](far.argmin(1))
        commit = F.mse_loss(z, code.detach()) * 0.25 + F.mse_loss(code, z.detach())
        return F.mse_loss(m[1](z + (code - z).detach()), x) + commit

    return train(nn.ModuleList([encoder, decoder, book]), loss, optimiser=torch.optim.Adam)


@program
def parameters_in_lists_dicts_and_buffers():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.each = nn.ParameterList([nn.Parameter(torch.full((2,), float(k))) for k in range(3)])
            self.named = nn.ParameterDict({"scale": nn.Parameter(torch.tensor(2.0))})
            self.register_buffer("counted", torch.zeros((), dtype=torch.long))
            self.register_buffer("scratch", torch.ones(2), persistent=False)
            self.register_parameter("none", None)

        def forward(self, x):
            self.counted += 1
            return sum(x * p for p in self.each) * self.named["scale"] + self.scratch

    device = gpu()
    model = Odd().to(device).double()
    x = torch.ones(2, device=device, dtype=torch.float64)
    losses = train(model, lambda m: m(x).sum(), lr=0.01)
    skipped = nn.utils.skip_init(nn.Linear, 2, 2, device=device)
    places = [t.device.type for t in (*model.parameters(), *model.buffers(), skipped.weight)]
    return losses, model.counted, len(set(places)), len(model.state_dict())
