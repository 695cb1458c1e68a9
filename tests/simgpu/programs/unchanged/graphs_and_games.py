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
    labels, known = torch.arange(6, device=device) % 2, torch.tensor([True, True, False, False, True, False])
    model = nn.ModuleList([nn.Linear(4, 5), nn.Linear(5, 2)]).to(device)

    def spread(x):
        return torch.zeros_like(x).index_add(0, column, x[row] * weight[:, None])

    def loss(m):
        made = spread(m[1](F.relu(spread(m[0](x)))))
        return F.cross_entropy(made[known], labels[known])

    return train(model, loss, optimiser=torch.optim.Adam)


@program
def attention_along_the_edges_of_a_graph():
    device = gpu()
    (row, column), x = edges().to(device), drawn(6, 4, device=device)
    layer, score = nn.Linear(4, 3, bias=False).to(device), nn.Parameter(drawn(6).to(device))

    def loss(m):
        h = m[0](x)
        e = F.leaky_relu(torch.cat([h[row], h[column]], 1) @ score, 0.2)
        top = torch.full((6,), -torch.inf, device=device).scatter_reduce(0, column, e.detach(), "amax")
        a = (e - top[column]).exp()
        total = torch.zeros(6, device=device).index_add(0, column, a)
        a = a / total[column]
        return torch.zeros_like(h).index_add(0, column, h[row] * a.unsqueeze(-1)).square().mean() + score.square().sum()

    model = nn.Sequential(layer)
    model.register_parameter("score", score)
    return train(model, loss), score


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
def the_best_tags_of_a_chain():
    device = gpu()
    emit, move = drawn(5, 3, device=device), nn.Parameter(torch.zeros(3, 3).to(device))
    tags = torch.tensor([0, 1, 1, 2, 0], device=device)

    def loss(m):
        alpha = emit[0]
        for t in range(1, 5):
            alpha = torch.logsumexp(alpha[:, None] + m.move, 0) + emit[t]
        gold = emit.gather(1, tags[:, None]).sum() + m.move[tags[:-1], tags[1:]].sum()
        return torch.logsumexp(alpha, 0) - gold

    model = nn.Module()
    model.move = move
    losses = train(model, loss)
    score, back = emit[0], []
    for t in range(1, 5):
        score, where = (score[:, None] + model.move.detach()).max(0)
        score = score + emit[t]
        back.append(where)
    path = [score.argmax().item()]
    for where in reversed(back):
        path.append(where[path[-1]].item())
    return losses, path[::-1]


@program
def greeks_of_an_option():
    device = gpu()
    spot = torch.tensor([90.0, 100, 110], device=device, requires_grad=True)
    vol = torch.tensor(0.2, device=device, requires_grad=True)
    normal = distributions.Normal(torch.tensor(0.0, device=device), torch.tensor(1.0, device=device))
    d1 = (torch.log(spot / 100) + (0.01 + vol**2 / 2)) / vol
    price = spot * normal.cdf(d1) - 100 * math.exp(-0.01) * normal.cdf(d1 - vol)
    delta, vega = torch.autograd.grad(price.sum(), (spot, vol), create_graph=True)
    (gamma,) = torch.autograd.grad(delta.sum(), spot)
    paths = spot.detach()[:, None] * torch.exp(-0.01 + 0.2 * drawn(3, 200, device=device))
    return price, delta, vega, gamma, torch.clamp(paths - 100, min=0).mean(1), torch.special.ndtr(d1)


@program
def many_distributions_drawn_with_gradients():
    device, found = gpu(), []
    a, b = (torch.tensor(v, device=device, requires_grad=True) for v in ([0.5, 1.5], [1.0, 2.0]))
    torch.manual_seed(6)
    d = distributions
    for kind in (d.Normal, d.LogNormal, d.Laplace, d.Gumbel, d.Cauchy, d.Weibull, d.Gamma, d.Beta, d.Kumaraswamy):
        law = kind(a, b)
        x = law.rsample((2,))
        (x.clamp(-5, 5).sum() + law.log_prob(x.detach()).clamp(-50, 50).sum()).backward()
        found += [x, a.grad.clone()]
        a.grad = None
    found += [d.Dirichlet(b).rsample(), d.StudentT(b + 3).mean, d.Poisson(b).sample(), d.Bernoulli(logits=a).entropy()]
    found += [d.Multinomial(5, probs=b).sample(), d.Geometric(a / 3).sample(), d.Binomial(4, a / 2).sample()]
    return found


@program
def distances_between_distributions():
    device, d = gpu(), distributions
    loc, scale = drawn(3, device=device), torch.rand(3).to(device) + 0.5
    one, other = d.Normal(loc, scale), d.Normal(torch.zeros_like(loc), torch.ones_like(scale))
    wide = d.MultivariateNormal(loc, torch.diag_embed(scale))
    low = d.LowRankMultivariateNormal(loc, drawn(3, 1, device=device), scale)
    squashed = d.TransformedDistribution(one, [d.transforms.TanhTransform(cache_size=1), d.AffineTransform(0.0, 2.0)])
    hot = d.RelaxedOneHotCategorical(torch.tensor(0.5, device=device), logits=loc)
    torch.manual_seed(8)
    return [
        d.kl_divergence(one, other), d.kl_divergence(d.Independent(one, 1), d.Independent(other, 1)), wide.entropy(),
        d.kl_divergence(d.Categorical(logits=loc), d.Categorical(logits=scale)), low.log_prob(scale), hot.rsample(),
        squashed.log_prob(squashed.sample()), d.VonMises(loc, scale).log_prob(loc), one.expand((2, 3)).icdf(scale / 2),
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
def spins_of_a_magnet():
    device = gpu()
    spins = (torch.rand(8, 8) < 0.5).float().mul(2).sub(1).to(device)
    board = (torch.arange(8)[:, None] + torch.arange(8)).remainder(2).bool().to(device)
    for step in range(6):
        field = sum(spins.roll(shift, axis) for shift in (1, -1) for axis in (0, 1))
        odds = torch.sigmoid(2 * 0.5 * field)
        flips = torch.where(torch.rand(8, 8).to(device) < odds, 1.0, -1.0)
        spins = torch.where(board if step % 2 else ~board, flips, spins)
    return spins, -(spins * spins.roll(1, 0) + spins * spins.roll(1, 1)).mean()


@program
def planets_that_attract():
    device = gpu()
    place, speed = drawn(5, 3, device=device), drawn(5, 3, device=device) * 0.1
    mass = torch.rand(5).to(device)
    for _ in range(10):
        apart = place[None] - place[:, None]
        pull = (mass[None, :, None] * apart / (apart.square().sum(-1, keepdim=True) + 0.1) ** 1.5).sum(1)
        speed = torch.add(speed, pull, alpha=0.01)
        place += 0.01 * speed
    spin = torch.linalg.cross(place, mass[:, None] * speed).sum(0)
    return place, spin, torch.pdist(place), 0.5 * torch.einsum("n,nd,nd->", mass, speed, speed)


@program
def heat_in_a_plate():
    device = gpu()
    plate = torch.zeros(1, 1, 10, 10, device=device)
    plate[..., 0, :] = 100.0
    kernel = torch.tensor([[0, 1, 0], [1, -4, 1], [0, 1, 0]], dtype=torch.float32, device=device).view(1, 1, 3, 3)
    for _ in range(20):
        plate[:, :, 1:-1, 1:-1] += 0.2 * F.conv2d(plate, kernel)
    left, back = torch.empty_like(plate[0, 0]), torch.gradient(plate[0, 0])
    torch.sub(plate[0, 0].cumsum(0), 1, out=left)
    return plate, back, left, torch.trapezoid(plate[0, 0], dx=0.1), torch.cumulative_trapezoid(plate[0, 0, :, 3])


@program
def goods_are_moved_at_least_cost():
    device = gpu()
    x, y = drawn(5, 2, device=device).requires_grad_(), drawn(6, 2, device=device)
    cost = torch.cdist(x, y, p=2) ** 2
    u, v = torch.zeros(5, device=device), torch.zeros(6, device=device)
    for _ in range(10):
        u = 0.1 * (math.log(1 / 5) - torch.logsumexp((v[None] - cost) / 0.1, 1))
        v = 0.1 * (math.log(1 / 6) - torch.logsumexp((u[:, None] - cost) / 0.1, 0))
    plan = torch.exp((u[:, None] + v[None] - cost) / 0.1)
    (plan * cost).sum().backward()
    return plan, x.grad


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


@program
def neighbours_close_together_in_a_picture_of_two_dimensions():
    device = gpu()
    x, y = drawn(8, 4, device=device), nn.Parameter((drawn(8, 2) * 0.01).to(device))
    p = torch.exp(-torch.cdist(x, x).square()).fill_diagonal_(0)
    p = ((p / p.sum(1, keepdim=True)) + (p / p.sum(1, keepdim=True)).t()) / 16
    optimiser, found = torch.optim.SGD([y], lr=1.0, momentum=0.5), []
    for _ in range(3):
        near = 1 / (1 + torch.cdist(y, y).square()) * (1 - torch.eye(8, device=device))
        loss = F.kl_div((near / near.sum()).clamp_min(1e-12).log(), p, reduction="sum")
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        found.append(loss.item())
    return found
