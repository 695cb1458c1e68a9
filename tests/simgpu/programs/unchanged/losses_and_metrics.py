"""Programs about what is compared: every loss of torch, contrastive ones, ranks, scores of a classifier."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.simgpu.programs.harness import drawn, gpu, program, train


@program
def every_loss_has_its_gradient():
    device, results = gpu(), []
    x, y = drawn(4, 3, device=device), torch.rand(4, 3).to(device)
    labels, signs = torch.tensor([0, 2, 1, 1], device=device), torch.tensor([1, -1, 1, -1], device=device)
    weight = torch.tensor([1.0, 2.0, 0.5], device=device)
    losses = [
        lambda v: nn.MSELoss()(v, y), lambda v: nn.L1Loss(reduction="sum")(v, y), lambda v: nn.HuberLoss()(v, y),
        lambda v: nn.CrossEntropyLoss(weight=weight, label_smoothing=0.1)(v, labels),
        lambda v: nn.NLLLoss(weight=weight)(v.log_softmax(1), labels),
        lambda v: nn.KLDivLoss(reduction="batchmean")(v.log_softmax(1), y),
        lambda v: nn.BCEWithLogitsLoss(pos_weight=weight)(v, y), lambda v: nn.BCELoss()(v.sigmoid(), y),
        lambda v: nn.PoissonNLLLoss()(v, y), lambda v: nn.GaussianNLLLoss()(v, y, y + 0.1),
        lambda v: nn.HingeEmbeddingLoss()(v[:, 0], signs), lambda v: nn.SoftMarginLoss()(v[:, 0], signs.float()),
        lambda v: nn.MultiLabelSoftMarginLoss()(v, (y > 0.5).float()), lambda v: nn.MultiMarginLoss()(v, labels),
        lambda v: nn.MarginRankingLoss(0.1)(v[:, 0], v[:, 1], signs), lambda v: nn.CosineEmbeddingLoss()(v, y, signs),
        lambda v: nn.MultiLabelMarginLoss()(v, torch.tensor([[0, 2, -1]] * 4, device=device)),
        lambda v: nn.TripletMarginLoss()(v, y, y.flip(0)),
        lambda v: nn.TripletMarginWithDistanceLoss(distance_function=nn.PairwiseDistance())(v, y, y.roll(1, 0)),
        lambda v: nn.SmoothL1Loss(beta=0.5)(v, y),
    ]  # fmt: skip
    for loss in losses:
        at = x.clone().requires_grad_()
        value = loss(at)
        value.backward()
        results += [value, at.grad]
    return results


@program
def a_queue_of_keys_and_a_slow_twin():
    class Momentum(nn.Module):
        def __init__(self):
            super().__init__()
            self.fast, self.slow = nn.Linear(4, 3), nn.Linear(4, 3)
            for p, q in zip(self.fast.parameters(), self.slow.parameters(), strict=True):
                q.data.copy_(p.data)
                q.requires_grad = False
            self.register_buffer("queue", F.normalize(torch.randn(3, 8), dim=0))
            self.register_buffer("pointer", torch.zeros(1, dtype=torch.long))

        def forward(self, x, y):
            q = F.normalize(self.fast(x), dim=1)
            with torch.no_grad():
                for p, s in zip(self.fast.parameters(), self.slow.parameters(), strict=True):
                    s.data = s.data * 0.9 + p.data * 0.1
                k = F.normalize(self.slow(y), dim=1)
            yes = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
            no = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
            at = int(self.pointer)
            self.queue[:, at : at + 4] = k.T
            self.pointer[0] = (at + 4) % 8
            return F.cross_entropy(torch.cat([yes, no], 1) / 0.2, torch.zeros(4, dtype=torch.long).to(x.device))

    device = gpu()
    model, x = Momentum().to(device), drawn(4, 4, device=device)
    return train(model, lambda m: m(x, x.flip(1)), lr=0.1), model.queue, model.pointer


@program
def scores_of_a_classifier():
    device = gpu()
    scores, wanted = drawn(30, 4, device=device), torch.arange(30).to(device) % 4
    guess = scores.argmax(1)
    table = torch.bincount(wanted * 4 + guess, minlength=16).reshape(4, 4)
    right = table.diag().float()
    recall, precision = right / table.sum(1), torch.nan_to_num(right / table.sum(0))
    best5 = scores.topk(3, 1, True, True).indices.t()
    correct = best5.eq(wanted.view(1, -1).expand_as(best5))
    odds = scores.softmax(1)
    order = odds[:, 0].argsort(descending=True)
    hits = (wanted[order] == 0).float()
    curve = torch.stack([hits.cumsum(0) / hits.sum(), (1 - hits).cumsum(0) / (1 - hits).sum()])
    bins = torch.bucketize(odds.amax(1), torch.linspace(0, 1, 6, device=device)[1:-1])
    sure = torch.zeros(5, device=device).index_add_(0, bins, odds.amax(1))
    return [
        table, recall, precision, [correct[:k].reshape(-1).float().sum(0) for k in (1, 3)], sure,
        torch.trapezoid(curve[0], curve[1]), 2 * precision * recall / (precision + recall).clamp_min(1e-9),
        F.one_hot(guess, 4).sum(0), torch.count_nonzero(guess == wanted), (guess == wanted).float().mean().item(),
    ]  # fmt: skip


@program
def queries_in_the_order_of_their_answers():
    device = gpu()
    net, x = nn.Linear(4, 1).to(device), drawn(3, 5, 4, device=device)
    worth = torch.randint(0, 4, (3, 5)).float().to(device)

    def loss(m):
        scores = m(x).squeeze(-1)
        over = scores.unsqueeze(2) - scores.unsqueeze(1)
        better = (worth.unsqueeze(2) > worth.unsqueeze(1)).float()
        return (F.softplus(-over) * better).sum() / better.sum()

    losses = train(net, loss)
    order = net(x).squeeze(-1).argsort(dim=1, descending=True)
    gains = (2 ** torch.gather(worth, 1, order) - 1) / torch.log2(torch.arange(5, device=device) + 2.0)
    ideal = (2 ** worth.sort(dim=1, descending=True).values - 1) / torch.log2(torch.arange(5, device=device) + 2.0)
    return losses, gains.sum(1) / ideal.sum(1).clamp_min(1e-9)


@program
def speech_is_read_greedily_and_scored():
    device = gpu()
    model = nn.GRU(5, 6, bidirectional=True, batch_first=True).to(device)
    head, sound = nn.Linear(12, 4).to(device), drawn(2, 8, 5, device=device)
    wanted, lengths = torch.tensor([1, 2, 3, 2], dtype=torch.long), torch.tensor([2, 2])
    ctc = nn.CTCLoss(blank=0, zero_infinity=True)

    def loss(m):
        scores = m[1](m[0](sound)[0]).log_softmax(-1).transpose(0, 1)
        return ctc(scores, wanted.to(device), torch.full((2,), 8, dtype=torch.long), lengths)

    losses = train(nn.ModuleList([model, head]), loss, optimiser=torch.optim.AdamW)
    best = head(model(sound)[0]).argmax(-1)
    texts = [[k.item() for k in torch.unique_consecutive(line) if k != 0] for line in best]
    return losses, [len(text) for text in texts], best
