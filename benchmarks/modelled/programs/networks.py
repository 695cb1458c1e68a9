"""Networks of the kinds that are trained today, forward and backward, without an optimiser."""

import torch
from torch import nn
from torch.nn import functional


def transformer_layer(device, part):
    """An encoder's layer of width 512, 8 heads, 8 sequences of 128."""
    width = 512 // part
    layer = nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0.0, batch_first=True).to(device)
    return _there_and_back(layer, torch.randn(8, 128, width, device=device))


def small_gpt(device, part):
    """Two blocks of causal attention, width 256, and the loss over 2,000 words."""
    width, words = 256 // part, 2000 // part
    model = nn.ModuleDict({
        "embed": nn.Embedding(words, width),
        "first": _Block(width),
        "second": _Block(width),
        "head": nn.Linear(width, words),
    }).to(device)  # fmt: skip
    tokens = torch.randint(words, (8, 129), device=device)

    def step():
        model.zero_grad()
        hidden = model["second"](model["first"](model["embed"](tokens[:, :-1])))
        functional.cross_entropy(model["head"](hidden).flatten(0, 1), tokens[:, 1:].flatten()).backward()

    return step


def lstm(device, part):
    """An LSTM of 256 cells over 32 sequences of 64."""
    layer = nn.LSTM(256 // part, 256 // part, batch_first=True).to(device)
    x = torch.randn(32, 64, 256 // part, device=device)

    def step():
        layer.zero_grad()
        layer(x)[0].sum().backward()

    return step


def lstm_cell_by_cell(device, part):
    """The same recurrence written as a loop over 16 steps, forward alone."""
    cell, x = nn.LSTMCell(128, 128).to(device), torch.randn(16, 32, 128, device=device)

    def step():
        with torch.no_grad():
            state = None
            for one in x:
                state = cell(one, state)

    return step


def residual_block(device, part):
    """Two convolutions with batch normalisation and a way past them, 32 × 64 × 28 × 28."""
    return _there_and_back(_Residual(64).to(device), torch.randn(32 // part, 64, 28, 28, device=device))


class _Block(nn.Module):
    """Causal attention and two linear layers, each with a way past it."""

    def __init__(self, width, heads=4):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv, self.joined = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        parts = self.qkv(self.norms[0](x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.joined(seen.transpose(1, 2).flatten(-2))
        return x + self.mlp(self.norms[1](x))


class _Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels),
        )  # fmt: skip

    def forward(self, x):
        return functional.relu(x + self.body(x))


def _there_and_back(model, x):
    x.requires_grad_()

    def step():
        model.zero_grad()
        x.grad = None
        model(x).square().mean().backward()

    return step


PROGRAMS = (transformer_layer, small_gpt, lstm, lstm_cell_by_cell, residual_block)
