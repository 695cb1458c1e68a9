"""Programs that make what resembles their data: autoencoders, adversaries, flows, diffusion, energies."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.simgpu.programs.harness import drawn, gpu, program, train


@program
def variational_autoencoder_draws_on_its_device():
    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc21, self.fc22 = nn.Linear(12, 8), nn.Linear(8, 2), nn.Linear(8, 2)
            self.fc3, self.fc4 = nn.Linear(2, 8), nn.Linear(8, 12)

        def forward(self, x):
            hidden = F.relu(self.fc1(x.view(-1, 12)))
            mu, logvar = self.fc21(hidden), self.fc22(hidden)
            std = torch.exp(0.5 * logvar)
            z = mu + torch.randn_like(std) * std
            return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, logvar

    device = gpu()
    model, x = VAE().to(device), torch.rand(4, 12).to(device)
    torch.manual_seed(1)

    def loss(m):
        again, mu, logvar = m(x)
        return F.binary_cross_entropy(again, x, reduction="sum") - 0.5 * torch.sum(1 + logvar - mu**2 - logvar.exp())

    return train(model, loss, optimiser=torch.optim.Adam, lr=1e-3)


@program
def convolutional_adversaries():
    device, noise = gpu(), torch.randn(6, 4, 4, 1, 1)

    def weights_init(m):
        name = m.__class__.__name__
        if name.find("Conv") != -1:
            nn.init.normal_(m.weight.data, 0.0, 0.02)
        elif name.find("BatchNorm") != -1:
            nn.init.normal_(m.weight.data, 1.0, 0.02)
            nn.init.constant_(m.bias.data, 0)

    make = nn.Sequential(
        nn.ConvTranspose2d(4, 6, 4, 1, 0, bias=False), nn.BatchNorm2d(6), nn.ReLU(True),
        nn.ConvTranspose2d(6, 1, 4, 2, 1, bias=False), nn.Tanh(),
    )  # fmt: skip
    judge = nn.Sequential(
        nn.Conv2d(1, 6, 4, 2, 1, bias=False), nn.BatchNorm2d(6), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(6, 1, 4, 1, 0, bias=False), nn.Sigmoid(),
    )  # fmt: skip
    make.apply(weights_init), judge.apply(weights_init)
    make, judge, criterion = make.to(device), judge.to(device), nn.BCELoss()
    makes, judges = (torch.optim.Adam(m.parameters(), lr=2e-4, betas=(0.5, 0.999)) for m in (make, judge))
    real, losses = drawn(4, 1, 8, 8, device=device), []
    for step in range(2):
        label = torch.full((4,), 1.0, dtype=torch.float, device=device)
        judge.zero_grad()
        right = criterion(judge(real).view(-1), label)
        right.backward()
        fake = make(noise[step].to(device))
        label.fill_(0.0)
        wrong = criterion(judge(fake.detach()).view(-1), label)
        wrong.backward()
        judges.step()
        make.zero_grad()
        label.fill_(1.0)
        fooled = criterion(judge(fake).view(-1), label)
        fooled.backward()
        makes.step()
        losses += [right.item() + wrong.item(), fooled.mean().item()]
    return losses, make(noise[5].to(device)).detach().cpu()


@program
def adversaries_with_a_penalised_slope():
    device, plus, minus = gpu(), torch.tensor(1.0), torch.tensor(-1.0)
    make, judge = nn.Linear(2, 3).to(device), nn.Sequential(nn.Linear(3, 6), nn.ELU(), nn.Linear(6, 1)).to(device)
    if torch.cuda.is_available():
        plus, minus = plus.cuda(), minus.cuda()
    optimiser, losses = torch.optim.RMSprop(judge.parameters(), lr=0.01), []
    real, noise, share = drawn(5, 3, device=device), drawn(5, 2, device=device), torch.rand(5, 1)
    for _ in range(2):
        judge.zero_grad()
        right = judge(real).mean()
        right.backward(minus)
        fake = make(noise).detach()
        wrong = judge(fake).mean()
        wrong.backward(plus)
        between = torch.autograd.Variable((share.to(device) * real + (1 - share.to(device)) * fake), requires_grad=True)
        scores = judge(between)
        slope = torch.autograd.grad(
            outputs=scores, inputs=between, grad_outputs=torch.ones(scores.size(), device=device), create_graph=True,
            retain_graph=True, only_inputs=True,
        )[0]  # fmt: skip
        penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean() * 10
        penalty.backward()
        optimiser.step()
        losses += [wrong - right + penalty, right - wrong]
    return losses


@program
def diffusion_is_trained_and_sampled():
    device, steps = gpu(), 5
    beta = torch.linspace(1e-2, 0.2, steps, device=device)
    alpha = 1.0 - beta
    signal = torch.cumprod(alpha, dim=0)
    before = F.pad(signal[:-1], (1, 0), value=1.0)
    rates = torch.exp(torch.arange(4, device=device) * -(math.log(10000) / 3))

    class Denoiser(nn.Module):
        def __init__(self):
            super().__init__()
            self.time, self.body = nn.Linear(8, 6), nn.Linear(2, 6)
            self.out = nn.Sequential(nn.Mish(), nn.Linear(6, 2))

        def forward(self, x, t):
            turns = t[:, None] * rates[None, :]
            return self.out(self.body(x) + self.time(torch.cat((turns.sin(), turns.cos()), dim=-1)))

    model, x = Denoiser().to(device), drawn(6, 2, device=device)
    noise, t = drawn(6, 2, device=device), (torch.arange(6) % steps).to(device).long()

    def loss(m):
        share = signal.gather(-1, t).reshape(-1, 1)
        return F.smooth_l1_loss(m(share.sqrt() * x + (1 - share).sqrt() * noise, t), noise)

    losses = train(model, loss, optimiser=torch.optim.Adam)
    chance = torch.Generator(device=device).manual_seed(2)
    with torch.no_grad():
        image = torch.randn((3, 2), device=device, generator=chance)
        for i in reversed(range(steps)):
            when = torch.full((3,), i, device=device, dtype=torch.long)
            mean = (image - beta[i] * model(image, when) / torch.sqrt(1 - signal[i])) / torch.sqrt(alpha[i])
            if i:
                spread = beta[i] * (1 - before[i]) / (1 - signal[i])
                mean = mean + spread.sqrt() * torch.randn(image.shape, device=device, generator=chance)
            image = mean
    return losses, image


@program
def pixels_one_after_the_other():
    class Masked(nn.Conv2d):
        def __init__(self, kind, *args, **kwargs):
            super().__init__(*args, **kwargs)
            _, _, high, wide = self.weight.size()
            self.register_buffer("mask", torch.ones_like(self.weight))
            self.mask[:, :, high // 2, wide // 2 + (kind == "B") :] = 0
            self.mask[:, :, high // 2 + 1 :] = 0

        def forward(self, x):
            self.weight.data *= self.mask
            return super().forward(x)

    device = gpu()
    model = nn.Sequential(Masked("A", 1, 4, 3, 1, 1), nn.ReLU(), Masked("B", 4, 4, 3, 1, 1)).to(device)
    x = torch.rand(2, 1, 5, 5).to(device)
    losses = train(model, lambda m: F.cross_entropy(m(x), (x[:, 0] * 3).long()))
    with torch.no_grad():
        line = torch.zeros(1, 1, 3, 3, device=device)
        for i in range(3):
            for j in range(3):
                line[:, :, i, j] = model(line)[:, :, i, j].softmax(1).argmax(1, keepdim=True).float() / 3
    return losses, line
