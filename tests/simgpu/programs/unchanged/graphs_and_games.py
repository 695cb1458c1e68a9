"""Programs on graphs, sequences, boards, money and chance: gathers, scatters, tables and sorting."""

import math

import torch
from torch import distributions, nn
from torch.nn import functional as F

from tests.simgpu.programs.harness import drawn, gpu, program, train


def edges(count=14, nodes=6):
    """Return a graph's edges, both ways, and each node with itself."""
    pairs = torch.randint(nodes, (2, count))
    loops = torch.arange(nodes).expand(2, nodes)
    return torch.unique(torch.cat([pairs, pairs.flip(0), loops], 1), dim=1)


@program
def graph_convolutions_by_scattered_sums():
    device = gpu()
    (row, column), x = edges().to(device), drawn(6, 4, device=device)
    degree = torch.zeros(6, device=device).scatter_add_(0, column, torch.ones(column.size(0), device=device))
    norm = degree.pow(-0.5)
    weight = norm[row] * norm[column]
    labels, labelled = torch.arange(6, device=device) % 2, torch.tensor([True, True, False, False, True, False])
    model = nn.ModuleList([nn.Linear(4, 5), nn.Linear(5, 2)]).to(device)

    def spread(x):
        return torch.zeros_like(x).index_add(0, column, x[row] * weight[:, None])

    def loss(m):
        scores = spread(m[1](F.relu(spread(m[0](x)))))
        return F.cross_entropy(scores[labelled], labels[labelled])

    return train(model, loss, optimiser=torch.optim.Adam)


@program
def shortest_ways_between_all():
    device = gpu()
    far = torch.full((7, 7), math.inf)
    row, column = edges(10, 7)
    far[row, column] = torch.rand(len(row))
    far.fill_diagonal_(0)
    far = far.to(device)
    for k in range(7):
        far = torch.minimum(far, far[:, k, None] + far[None, k, :])
    return far.nan_to_num(posinf=99.0), torch.isfinite(far).all(), far.isinf().sum()


@program
def labels_flow_to_their_neighbours():
    device = gpu()
    (row, column), label = edges().to(device), torch.arange(6, device=device)
    while True:
        new = label.scatter_reduce(0, column, label[row], reduce="amin", include_self=True)
        if bool((new == label).all()):
            break
        label = new
    names, inverse, counts = torch.unique(label, return_inverse=True, return_counts=True)
    return names, inverse, counts, torch.unique_consecutive(label)


@program
def many_distributions_drawn_with_gradients():
    device, results = gpu(), []
    a, b = (torch.tensor(v, device=device, requires_grad=True) for v in ([0.5, 1.5], [1.0, 2.0]))
    torch.manual_seed(6)
    d = distributions
    for kind in (d.Normal, d.LogNormal, d.Laplace, d.Gumbel, d.Cauchy, d.Weibull, d.Gamma, d.Beta, d.Kumaraswamy):
        law = kind(a, b)
        x = law.rsample((2,))
        (x.clamp(-5, 5).sum() + law.log_prob(x.detach()).clamp(-50, 50).sum()).backward()
        results += [x, a.grad.clone()]
        a.grad = None
    results += [
        d.Dirichlet(b).rsample(),
        d.StudentT(b + 3).mean,
        d.Poisson(b).sample(),
        d.Bernoulli(logits=a).entropy(),
    ]
    results += [d.Multinomial(5, probs=b).sample(), d.Geometric(a / 3).sample(), d.Binomial(4, a / 2).sample()]
    return results


@program
def distances_between_distributions():
    device, d = gpu(), distributions
    loc, scale = drawn(3, device=device), torch.rand(3).to(device) + 0.5
    law, other = d.Normal(loc, scale), d.Normal(torch.zeros_like(loc), torch.ones_like(scale))
    wide = d.MultivariateNormal(loc, torch.diag_embed(scale))
    low = d.LowRankMultivariateNormal(loc, drawn(3, 1, device=device), scale)
    squashed = d.TransformedDistribution(law, [d.transforms.TanhTransform(cache_size=1), d.AffineTransform(0.0, 2.0)])
    hot = d.RelaxedOneHotCategorical(torch.tensor(0.5, device=device), logits=loc)
    torch.manual_seed(8)
    return [
        d.kl_divergence(law, other), d.kl_divergence(d.Independent(law, 1), d.Independent(other, 1)), wide.entropy(),
        d.kl_divergence(d.Categorical(logits=loc), d.Categorical(logits=scale)), low.log_prob(scale), hot.rsample(),
        squashed.log_prob(squashed.sample()), d.VonMises(loc, scale).log_prob(loc), law.expand((2, 3)).icdf(scale / 2),
    ]  # fmt: skip


@program
def darts_in_a_circle():
    device = gpu()
    chance = torch.Generator(device).manual_seed(12)
    x = torch.rand(2000, 2, device=device, generator=chance)
    inside = (x.square().sum(1) <= 1).float()
    return 4 * inside.mean(), torch.std_mean(inside), torch.histc(x, 4), torch.quantile(
        x, torch.tensor([0.1, 0.9], device=device), dim=0
    ), torch.median(x, 0).values, torch.histogram(x[:, 0].cpu(), 4).hist  # fmt: skip


@program
def heat_in_a_plate():
    device = gpu()
    plate = torch.zeros(1, 1, 10, 10, device=device)
    plate[..., 0, :] = 100.0
    kernel = torch.tensor([[0, 1, 0], [1, -4, 1], [0, 1, 0]], dtype=torch.float32, device=device).view(1, 1, 3, 3)
    for _ in range(20):
        plate[:, :, 1:-1, 1:-1] += 0.2 * F.conv2d(plate, kernel)
    sums, back = torch.empty_like(plate[0, 0]), torch.gradient(plate[0, 0])
    torch.sub(plate[0, 0].cumsum(0), 1, out=sums)
    return plate, back, sums, torch.trapezoid(plate[0, 0], dx=0.1), torch.cumulative_trapezoid(plate[0, 0, :, 3])


@program
def runs_of_equal_numbers():
    device = gpu()
    x = torch.tensor([3, 3, 1, 1, 1, 2, 3], device=device)
    starts = torch.cat([torch.ones(1, dtype=torch.bool, device=device), x[1:] != x[:-1]])
    values, lengths = x[starts], torch.diff(torch.nonzero(starts).flatten(), append=torch.tensor([len(x)]).to(device))
    again = torch.repeat_interleave(values, lengths)
    bits = (x.unsqueeze(-1) >> torch.arange(2, device=device)) & 1
    order = torch.argsort(x, stable=True)
    buckets = torch.bucketize(x.float(), torch.tensor([1.5, 2.5], device=device))
    return [
        values, lengths, again, bits, order, buckets, torch.kthvalue(x, 3).values, torch.mode(x).values,
        torch.isin(x, torch.tensor([1, 2], device=device)), x.bincount(weights=x.double()), x.float().renorm(1, 0, 2.0)
        if x.dim() > 1 else x.float().norm(), torch.bitwise_xor(x, x.flip(0)), torch.gcd(x, x + 1), x.msort(),
    ]  # fmt: skip
