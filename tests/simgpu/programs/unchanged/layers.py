"""Programs about layers of one's own: experts, adapters, rotations, poolings and their inverse, codes."""

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
        output = torch.zeros_like(x)
        for index, expert in enumerate(m[1]):
            rows, place = torch.where(chosen == index)
            output.index_add_(0, rows, expert(x[rows]) * weights[rows, place, None])
        return (output - x).square().mean()

    return train(nn.ModuleList([router, experts]).to(device), loss, optimiser=torch.optim.AdamW)


@program
def many_words_by_an_adaptive_softmax():
    device = gpu()
    model = nn.AdaptiveLogSoftmaxWithLoss(6, 20, cutoffs=[4, 10], div_value=2.0).to(device)
    x, words = drawn(8, 6, device=device), torch.arange(0, 16, 2).to(device)
    return train(model, lambda m: m(x, words).loss), model.log_prob(x).exp().sum(1), model.predict(x)


@program
def pooled_and_put_back():
    device = gpu()
    pool, back = nn.MaxPool2d(2, stride=2, return_indices=True), nn.MaxUnpool2d(2, stride=2)
    x = drawn(1, 2, 6, 6, device=device).requires_grad_()
    output, places = pool(x)
    back(output, places).square().sum().backward()
    patches = F.unfold(x, 3, padding=1)
    again = F.fold(patches, (6, 6), 3, padding=1) / F.fold(torch.ones_like(patches), (6, 6), 3, padding=1)
    return places, x.grad, again, nn.LocalResponseNorm(2)(x), F.lp_pool2d(x, 2, 3)


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
