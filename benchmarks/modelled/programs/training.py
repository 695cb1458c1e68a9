"""Whole training steps: forward, backward, optimiser."""

import torch
from torch import nn
from torch.nn import functional


def mlp_sgd(device, part):
    """Digits' sizes, batch 512, SGD with momentum."""
    return _classifier(_mlp(784, 1024 // part, 10), (512, 784), 10, device, lambda p: torch.optim.SGD(p, 0.1, 0.9))


def mlp_adam(device, part):
    """The same network and batch by Adam."""
    return _classifier(_mlp(784, 1024 // part, 10), (512, 784), 10, device, torch.optim.Adam)


def wide_mlp_sgd(device, part):
    """A wide network, batch 1024: products of 2048."""
    return _classifier(_mlp(2048 // part, 2048 // part, 100), (1024 // part, 2048 // part), 100, device, _plain)


def convnet_sgd(device, part):
    """Three convolutions and a linear layer on 128 pictures of 32 × 32."""
    layers = [nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(128 * 64, 10)]
    return _classifier(nn.Sequential(*layers), (128 // part, 3, 32, 32), 10, device, _plain)


def autoencoder_adam(device, part):
    """Convolutions down, transposed ones up again, 64 pictures of 32 × 32."""
    down = [nn.Conv2d(3, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 4, 2, 1), nn.ReLU()]
    up = [nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 3, 4, 2, 1)]
    model = nn.Sequential(*down, *up).to(device)
    pictures = torch.rand(64 // part, 3, 32, 32, device=device)
    return _step(torch.optim.Adam(model.parameters()), lambda: functional.mse_loss(model(pictures), pictures))


def bag_of_words_sgd(device, part):
    """An embedding bag of 50,000 words and a linear layer, 512 texts of 64 words."""
    model = nn.Sequential(nn.EmbeddingBag(50_000 // part, 128), nn.Linear(128, 20)).to(device)
    words = torch.randint(50_000 // part, (512, 64), device=device)
    labels = torch.randint(20, (512,), device=device)
    return _step(_plain(model.parameters()), lambda: functional.cross_entropy(model(words), labels))


def mixed_precision_bf16(device, part):
    """The wide network under autocast in bfloat16."""
    model = _mlp(2048 // part, 2048 // part, 100).to(device)
    batch, labels = torch.randn(1024 // part, 2048 // part, device=device), torch.randint(100, (1024 // part,))
    labels = labels.to(device)

    def loss():
        with torch.autocast("cuda", torch.bfloat16):
            return functional.cross_entropy(model(batch), labels)

    return _step(_plain(model.parameters()), loss)


def gradient_accumulation(device, part):
    """Four small batches, then one step of AdamW with its gradients clipped."""
    model = _mlp(256, 512 // part, 10).to(device)
    batches = [torch.randn(64, 256, device=device) for _ in range(4)]
    optimiser = torch.optim.AdamW(model.parameters())

    def step():
        optimiser.zero_grad()
        for batch in batches:
            (model(batch).square().mean() / 4).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    return step


def _mlp(inputs, width, outputs):
    layers = [nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, outputs)]
    return nn.Sequential(*layers)


def _plain(parameters):
    return torch.optim.SGD(parameters, lr=0.01)


def _classifier(model, shape, classes, device, optimiser):
    model = model.to(device)
    batch, labels = torch.randn(shape, device=device), torch.randint(classes, shape[:1], device=device)
    return _step(optimiser(model.parameters()), lambda: functional.cross_entropy(model(batch), labels))


def _step(optimiser, loss):
    def step():
        optimiser.zero_grad()
        loss().backward()
        optimiser.step()

    return step


PROGRAMS = (
    mlp_sgd, mlp_adam, wide_mlp_sgd, convnet_sgd, autoencoder_adam, bag_of_words_sgd, mixed_precision_bf16,
    gradient_accumulation,
)  # fmt: skip
