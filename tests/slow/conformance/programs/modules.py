"""`nn.Module`: moved, kept in buffers, initialised, frozen, shared, pruned of gradients."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.slow.conformance.programs.data import normal, seeded, whole


class WithBuffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(normal(3))
        self.register_buffer("running", torch.zeros(3))
        self.register_buffer("hidden", torch.ones(2), persistent=False)
        self.register_parameter("absent", None)

    def forward(self, x):
        self.running = 0.9 * self.running + 0.1 * x.mean(0).detach()
        return x * self.weight + self.running


def moved(device):
    """`.to` returns the same module; its parameters are on the device afterwards, in the same objects."""
    model = WithBuffers()
    before = model.weight
    same = model.to(device)
    yield "model", model, device
    yield "identities", [same is model, isinstance(model.weight, nn.Parameter), model.weight is before], device
    yield "flags", [model.weight.is_leaf, model.weight.requires_grad, model.weight.grad is None], device
    model(normal(4, 3).to(device)).sum().backward()
    yield "after a step", model, device
    model.cpu()
    yield "home", model, "cpu"
    yield "home's gradient", model.weight.grad, "cpu"
    model.to(device).double()
    yield "doubled", model, device


def optimiser_made_before_the_move(device):
    """The parameters keep their identity, so an optimiser made first trains the moved ones."""
    model = seeded(lambda: nn.Linear(3, 1))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    model.to(device)
    model(normal(4, 3).to(device)).sum().backward()
    optimiser.step()
    yield "model", model, device


def layers(device):
    x = normal(2, 4, 6).to(device)
    image = normal(2, 3, 8, 8).to(device)
    made = [
        seeded(lambda: nn.LayerNorm(6)),
        seeded(lambda: nn.GroupNorm(2, 4)),
        seeded(lambda: nn.Conv1d(4, 2, 3)),
        seeded(lambda: nn.BatchNorm1d(4)),
        nn.Flatten(),
        nn.Softmax(-1),
        nn.PReLU(),
        nn.Identity(),
        nn.GELU(),
        nn.SiLU(),
    ]
    yield "sequences", [m.to(device)(x) for m in made], device
    of_images = [
        seeded(lambda: nn.Conv2d(3, 4, 3, groups=1, dilation=2)),
        nn.MaxPool2d(2),
        nn.AvgPool2d(2),
        nn.Upsample(scale_factor=2),
        seeded(lambda: nn.BatchNorm2d(3)),
        nn.InstanceNorm2d(3),
        nn.ZeroPad2d(1),
        nn.PixelShuffle(1),
        nn.Unfold(3),
    ]
    yield "images", [m.to(device)(image) for m in of_images], device
    yield "state", made + of_images, device
    bag = seeded(lambda: nn.EmbeddingBag(10, 3, mode="mean")).to(device)
    yield "bag", bag(whole(10, 6).to(device), torch.tensor([0, 4], device=device)), device
    yield "bilinear", seeded(lambda: nn.Bilinear(6, 6, 2)).to(device)(x, x), device


def losses(device):
    guess, truth = normal(4, 3).to(device).requires_grad_(), normal(4, 3, seed=1).to(device)
    kinds, weight = whole(3, 4).to(device), torch.tensor([1.0, 2.0, 0.5], device=device)
    found = [
        F.mse_loss(guess, truth),
        F.l1_loss(guess, truth),
        F.smooth_l1_loss(guess, truth),
        F.huber_loss(guess, truth),
        F.cross_entropy(guess, kinds, weight=weight, label_smoothing=0.1),
        nn.NLLLoss()(guess.log_softmax(1), kinds),
        F.binary_cross_entropy_with_logits(guess, truth.sigmoid()),
        F.cosine_similarity(guess, truth).sum(),
        F.kl_div(guess.log_softmax(1), truth.softmax(1), reduction="batchmean"),
        nn.TripletMarginLoss()(guess, truth, -truth),
    ]
    sum(found).backward()
    yield "losses", found, device
    yield "gradient", guess.grad, device


def dropout(device):
    """Which numbers fall out is the device's own chance; how many, and where the rest lies, is not."""
    layer, x = nn.Dropout(0.5), torch.ones(1000, device=device)
    dropped = layer(x)
    yield "values", torch.unique(dropped), device
    yield "about half", 400 < (dropped == 0).sum().item() < 600, device
    layer.eval()
    yield "evaluated", layer(x), device


def frozen_and_shared(device):
    first, second = seeded(lambda: nn.Linear(3, 3)), nn.Linear(3, 3)
    second.weight = first.weight
    model = nn.Sequential(first, nn.Tanh(), second).to(device)
    model[0].bias.requires_grad_(False)
    model(normal(2, 3).to(device)).sum().backward()
    yield "shared", [model[0].weight is model[2].weight, len(list(model.parameters())) == 3], device
    yield "frozen", [model[0].bias.grad is None, model[2].bias.grad is not None], device
    yield "weight and gradient", [model[0].weight, model[0].weight.grad], device


def initialised_there(device):
    """A module built on the device is filled in place there."""
    layer = nn.Linear(3, 2, device=device)
    nn.init.constant_(layer.weight, 0.5)
    nn.init.zeros_(layer.bias)
    yield "constant", layer, device
    nn.init.xavier_uniform_(layer.weight)
    yield "bounded", bool((layer.weight.abs() <= (6 / 5) ** 0.5).all()), device
    with torch.no_grad():
        layer.weight.normal_(0, 0.1).clamp_(0, 0)
    yield "cleared", layer.weight, device
    empty = nn.Linear(2, 2, device="meta").to_empty(device=device)
    nn.init.ones_(empty.weight)
    nn.init.ones_(empty.bias)
    yield "from meta", empty, device


def copied(device):
    model = seeded(lambda: nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))).to(device)
    twin = copy.deepcopy(model)
    with torch.no_grad():
        twin[0].weight.zero_()
    yield "model", model, device
    yield "twin", twin, device
    vector = nn.utils.parameters_to_vector(model.parameters())
    yield "vector", vector, device
    nn.utils.vector_to_parameters(vector * 2, model.parameters())
    yield "doubled", model, device


def functional(device):
    """`torch.func`: a module as a function of its parameters."""
    model = seeded(lambda: nn.Linear(3, 2)).to(device)
    parameters = {name: p.detach() * 2 for name, p in model.named_parameters()}
    x = normal(4, 3).to(device)
    yield "called", torch.func.functional_call(model, parameters, (x,)), device


PROGRAMS = [
    moved,
    optimiser_made_before_the_move,
    layers,
    losses,
    dropout,
    frozen_and_shared,
    initialised_there,
    copied,
    functional,
]
