"""Whole networks, trained for a few steps the way tutorials do it."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from tests.slow.conformance.programs.data import normal, seeded, whole


def mlp(device):
    """The first training loop of every tutorial."""
    model = seeded(lambda: nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))).to(device)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = normal(32, 6).to(device), whole(3, 32).to(device)
    losses = []
    for _ in range(5):
        optimiser.zero_grad()
        loss = nn.CrossEntropyLoss()(model(x), y)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    yield "losses", losses, device
    yield "model", model, device
    yield "optimiser", optimiser, device
    yield "accuracy", (model(x).argmax(1) == y).float().mean(), device


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.second = nn.Conv2d(4, 8, 3)
        self.last = nn.Linear(8 * 3 * 3, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.first(x))), 2)
        x = F.relu(self.second(x))
        x = F.adaptive_avg_pool2d(x, 3)
        return F.log_softmax(self.last(torch.flatten(x, 1)), dim=1)


def cnn(device):
    model = seeded(CNN).to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimiser, step_size=1, gamma=0.5)
    images, labels = normal(8, 1, 12, 12).to(device), whole(10, 8, seed=1).to(device)
    model.train()
    for _ in range(3):
        optimiser.zero_grad(set_to_none=True)
        loss = F.nll_loss(model(images), labels)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        scheduler.step()
    yield "loss", loss, device
    yield "gradient norm", norm, device
    yield "learning rate", scheduler.get_last_lr(), device
    yield "model", model, device
    yield "optimiser", optimiser, device
    model.eval()
    with torch.no_grad():
        yield "evaluated", model(images), device


def batches(device):
    """A DataLoader on the CPU, each batch moved as it comes."""
    loader = DataLoader(TensorDataset(normal(20, 4), whole(2, 20)), batch_size=6)
    model = seeded(lambda: nn.Linear(4, 2)).to(device)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    total, seen = torch.zeros((), device=device), 0
    for x, y in loader:
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        loss = F.cross_entropy(model(x), y)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        total += loss.detach() * len(x)
        seen += len(x)
    yield "mean loss", total / seen, device
    yield "as a number", (total / seen).item(), device
    yield "model", model, device


def tagger(device):
    """Embedding, LSTM, linear: the sequence tagger."""
    embed = seeded(lambda: nn.Embedding(11, 5, padding_idx=0)).to(device)
    lstm = seeded(lambda: nn.LSTM(5, 6, num_layers=2, bidirectional=True, batch_first=True), 1).to(device)
    head = seeded(lambda: nn.Linear(12, 4), 2).to(device)
    words, tags = whole(11, 3, 7).to(device), whole(4, 3, 7, seed=1).to(device)
    output, (hidden, cell) = lstm(embed(words))
    scores = head(output)
    loss = F.cross_entropy(scores.flatten(0, 1), tags.flatten())
    loss.backward()
    yield "scores", scores, device
    yield "state", [hidden, cell], device
    yield "modules", [embed, lstm, head], device


def recurrent_cells(device):
    cell = seeded(lambda: nn.GRUCell(3, 4)).to(device)
    plain = seeded(lambda: nn.RNN(3, 4, nonlinearity="tanh")).to(device)
    gru = seeded(lambda: nn.GRU(3, 4)).to(device)
    x = normal(5, 2, 3).to(device).requires_grad_()
    state = torch.zeros(2, 4, device=device)
    for step in x:
        state = cell(step, state)
    results = [state, *plain(x), *gru(x, torch.zeros(1, 2, 4, device=device))]
    sum(r.square().sum() for r in results).backward()
    yield "states", results, device
    yield "gradient of x", x.grad, device
    yield "modules", [cell, plain, gru], device


def attention(device):
    layer = seeded(lambda: nn.MultiheadAttention(8, 2, batch_first=True)).to(device)
    x = normal(2, 5, 8).to(device).requires_grad_()
    mask = nn.Transformer.generate_square_subsequent_mask(5).to(device)
    output, weights = layer(x, x, x, attn_mask=mask)
    direct = F.scaled_dot_product_attention(x, x, x, is_causal=True)
    (output.sum() + direct.square().sum()).backward()
    yield "output", output, device
    yield "weights", weights, device
    yield "direct", direct, device
    yield "gradient of x", x.grad, device
    yield "layer", layer, device


def transformer(device):
    layer = seeded(lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)).to(device)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).to(device)
    x = normal(2, 4, 8).to(device)
    model(x).square().mean().backward()
    yield "model", model, device
    model.eval()
    torch.backends.mha.set_fastpath_enabled(False)  # one fused CPU kernel, which rounds otherwise; CUDA has its own
    try:
        with torch.no_grad():
            yield "evaluated", model(x), device
    finally:
        torch.backends.mha.set_fastpath_enabled(True)


def autoencoder(device):
    encoder = seeded(lambda: nn.Conv2d(1, 3, 3, stride=2, padding=1)).to(device)
    decoder = seeded(lambda: nn.ConvTranspose2d(3, 1, 2, stride=2)).to(device)
    x = normal(2, 1, 8, 8).to(device).sigmoid()
    code = F.gelu(encoder(x))
    noise = normal(*code.shape, seed=3).to(device)
    mean, spread = code, code.mul(0.1).exp()
    image = torch.sigmoid(decoder(mean + noise * spread))
    loss = F.binary_cross_entropy(image, x, reduction="sum") - 0.5 * torch.sum(1 + spread.log() - mean.pow(2))
    loss.backward()
    yield "loss", loss, device
    yield "modules", [encoder, decoder], device


def adversaries(device):
    """Two networks, two optimisers, one detached: the DCGAN loop."""
    generator = seeded(lambda: nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 4))).to(device)
    judge = seeded(lambda: nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1), nn.Sigmoid()), 1).to(
        device
    )
    of_generator = torch.optim.Adam(generator.parameters(), lr=0.01, betas=(0.5, 0.999))
    of_judge = torch.optim.Adam(judge.parameters(), lr=0.01, betas=(0.5, 0.999))
    criterion = nn.BCELoss()
    for step in range(3):
        real, noise = normal(6, 4, seed=step).to(device), normal(6, 3, seed=step + 9).to(device)
        label = torch.full((6,), 1.0, dtype=torch.float, device=device)
        judge.zero_grad()
        criterion(judge(real).view(-1), label).backward()
        fake = generator(noise)
        label.fill_(0.0)
        criterion(judge(fake.detach()).view(-1), label).backward()
        of_judge.step()
        generator.zero_grad()
        label.fill_(1.0)
        criterion(judge(fake).view(-1), label).backward()
        of_generator.step()
    yield "networks", [generator, judge], device
    yield "optimisers", [of_generator, of_judge], device


PROGRAMS = [mlp, cnn, batches, tagger, recurrent_cells, attention, transformer, autoencoder, adversaries]
