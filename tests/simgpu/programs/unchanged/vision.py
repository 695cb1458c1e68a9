"""Programs on pictures: classifiers, segmentation, detection, and what is asked of a trained network."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.simgpu.programs.harness import drawn, gpu, program, train


class ConvNet(nn.Module):
    """Two convolutions and two layers, as in every first example; no dropout, which a GPU draws differently."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 4, 3, 1), nn.Conv2d(4, 6, 3, 1)
        self.fc1, self.fc2 = nn.Linear(24, 8), nn.Linear(8, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv2(F.relu(self.conv1(x)))), 2)
        return F.log_softmax(self.fc2(F.relu(self.fc1(torch.flatten(x, 1)))), dim=1)


@program
def digits_are_trained_and_tested():
    use_cuda = torch.cuda.is_available()
    device = torch.device("cuda" if use_cuda else "cpu")
    more = {"num_workers": 0, "pin_memory": True} if use_cuda else {}
    pictures = torch.utils.data.TensorDataset(torch.randn(12, 1, 8, 8), torch.arange(12) % 3)
    loader = torch.utils.data.DataLoader(pictures, batch_size=4, **more)
    model = ConvNet().to(device)
    optimiser = torch.optim.Adadelta(model.parameters(), lr=1.0)
    plan = torch.optim.lr_scheduler.StepLR(optimiser, step_size=1, gamma=0.7)
    results = []
    for _ in range(2):
        model.train()
        for data, target in loader:
            data, target = data.to(device), target.to(device)
            optimiser.zero_grad()
            loss = F.nll_loss(model(data), target)
            loss.backward()
            optimiser.step()
        model.eval()
        missed, right = 0, 0
        with torch.no_grad():
            for data, target in loader:
                data, target = data.to(device), target.to(device)
                output = model(data)
                missed += F.nll_loss(output, target, reduction="sum").item()
                right += (
                    output.argmax(dim=1, keepdim=True).eq(target.view_as(output.argmax(1, keepdim=True))).sum().item()
                )
        results += [missed / len(loader.dataset), right]
        plan.step()
    return results, plan.get_last_lr()


class Residual(nn.Module):
    """A residual block, whose shortcut is a convolution where the shape changes."""

    def __init__(self, wide, wider, stride=1):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(wide, wider, 3, stride, 1, bias=False), nn.BatchNorm2d(wider), nn.ReLU(inplace=True),
            nn.Conv2d(wider, wider, 3, 1, 1, bias=False), nn.BatchNorm2d(wider),
        )  # fmt: skip
        short = [nn.Conv2d(wide, wider, 1, stride, bias=False), nn.BatchNorm2d(wider)]
        self.shortcut = nn.Sequential(*(short if stride != 1 or wide != wider else []))

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


@program
def residual_network_in_channels_last():
    device = gpu()
    model = nn.Sequential(Residual(3, 4), Residual(4, 8, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    model = model.to(device=device, memory_format=torch.channels_last)
    x = drawn(4, 3, 8, 8).to(device, memory_format=torch.channels_last)
    y = torch.arange(4, device=device)
    losses = train(model, lambda m: F.cross_entropy(m(x), y), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    model.eval()
    assert model[0].body[0].weight.is_contiguous(memory_format=torch.channels_last)
    return losses, model(x), model[0].body[1].running_var, model[0].body[1].num_batches_tracked


@program
def vision_transformer_with_a_class_token():
    device = gpu()

    class ViT(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = nn.Conv2d(3, 8, 4, stride=4)
            self.token, self.places = nn.Parameter(torch.zeros(1, 1, 8)), nn.Parameter(torch.randn(1, 5, 8) * 0.02)
            self.attend, self.norm, self.head = nn.MultiheadAttention(8, 2, batch_first=True), nn.LayerNorm(8), None
            self.head = nn.Linear(8, 3)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), dim=1) + self.places
            attended, weights = self.attend(self.norm(x), self.norm(x), self.norm(x), need_weights=True)
            return self.head((x + attended)[:, 0]), weights

    model, x = ViT().to(device), drawn(2, 3, 8, 8, device=device)
    y = torch.tensor([0, 2], device=device)
    losses = train(model, lambda m: F.cross_entropy(m(x)[0], y), optimiser=torch.optim.AdamW)
    return losses, model(x)[1]


@program
def separable_convolutions_with_squeezing():
    device = gpu()

    class Squeeze(nn.Module):
        def __init__(self, wide):
            super().__init__()
            self.gate = nn.Sequential(nn.Conv2d(wide, 2, 1), nn.Hardswish(), nn.Conv2d(2, wide, 1), nn.Hardsigmoid())

        def forward(self, x):
            return x * self.gate(F.adaptive_avg_pool2d(x, 1))

    model = nn.Sequential(
        nn.Conv2d(3, 6, 1), nn.ReLU6(), nn.Conv2d(6, 6, 3, padding=1, groups=6), nn.GroupNorm(2, 6), Squeeze(6),
        nn.Conv2d(6, 2, 1), nn.InstanceNorm2d(2, affine=True), nn.PReLU(),
    ).to(device)  # fmt: skip
    x = drawn(2, 3, 6, 6, device=device)
    return train(model, lambda m: F.huber_loss(m(x), x[:, :2]), optimiser=torch.optim.Adamax)


@program
def moving_pictures_in_three_dimensions():
    device = gpu()
    model = nn.Sequential(
        nn.Conv3d(1, 2, 3, padding=1), nn.BatchNorm3d(2), nn.ELU(), nn.MaxPool3d(2), nn.ConvTranspose3d(2, 1, 2, 2),
        nn.AvgPool3d(2), nn.Flatten(), nn.LazyLinear(2),
    )  # fmt: skip
    film = drawn(2, 1, 4, 6, 6)
    model(film)  # the lazy layer is drawn on the CPU
    model, film = model.to(device), film.to(device)
    return train(model, lambda m: m(film).square().mean())


@program
def sharper_pictures_by_shuffled_pixels():
    device = gpu()
    model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.Tanh(), nn.Conv2d(8, 4, 3, padding=1), nn.PixelShuffle(2))
    model, sharp = model.to(device), drawn(2, 1, 8, 8, device=device)
    coarse = F.interpolate(sharp, scale_factor=0.5, mode="bilinear", align_corners=False)
    losses = train(model, lambda m: F.l1_loss(m(coarse), sharp))
    error = F.mse_loss(F.interpolate(coarse, scale_factor=2, mode="bicubic", antialias=True), sharp)
    return losses, 10 * torch.log10(1 / error), F.pixel_unshuffle(sharp, 2)


@program
def style_is_moved_by_lbfgs():
    device = gpu()
    features = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3)).to(device).eval().requires_grad_(False)
    content, style = drawn(1, 3, 8, 8, device=device), drawn(1, 3, 8, 8, device=device)

    def gram(x):
        a, b, c, d = x.size()
        rows = x.view(a * b, c * d)
        return torch.mm(rows, rows.t()).div(a * b * c * d)

    picture = content.clone().requires_grad_(True)
    optimiser, steps = torch.optim.LBFGS([picture], max_iter=3, line_search_fn="strong_wolfe"), []

    def closure():
        with torch.no_grad():
            picture.clamp_(-2, 2)
        optimiser.zero_grad()
        output = features(picture)
        loss = F.mse_loss(output, features(content)) + 100 * F.mse_loss(gram(output), gram(features(style)))
        loss.backward()
        steps.append(loss.item())
        return loss

    optimiser.step(closure)
    return steps


@program
def boxes_are_kept_by_their_overlap():
    device = gpu()
    corner, size = torch.rand(10, 2) * 5, torch.rand(10, 2) * 4 + 0.5
    boxes, scores = torch.cat([corner, corner + size], 1).to(device), torch.rand(10).to(device)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    start, end = torch.max(boxes[:, None, :2], boxes[:, :2]), torch.min(boxes[:, None, 2:], boxes[:, 2:])
    over = (end - start).clamp(min=0).prod(2)
    iou = over / (area[:, None] + area - over)
    order, stored = scores.argsort(descending=True), []
    while order.numel() > 0:
        first = order[0]
        stored.append(first.item())
        order = order[1:][iou[first, order[1:]] <= 0.2]
    focal = F.binary_cross_entropy_with_logits(scores, (iou.max(1).values > 0.9).float(), reduction="none")
    return stored, iou, ((1 - torch.exp(-focal)) ** 2 * focal).mean()


@program
def pictures_are_turned_by_a_network():
    device = gpu()
    x = drawn(2, 1, 6, 6, device=device)
    where = nn.Linear(36, 6)
    nn.init.zeros_(where.weight)
    where.bias.data.copy_(torch.tensor([1, 0, 0, 0, 1, 0], dtype=torch.float))
    where = where.to(device)

    def loss(m):
        theta = m(x.flatten(1)).view(-1, 2, 3)
        grid = F.affine_grid(theta, x.size(), align_corners=False)
        return (F.grid_sample(x, grid, padding_mode="border", align_corners=False) - x.flip(3)).square().mean()

    return train(where, loss), where.bias


@program
def where_a_network_looks():
    device, stored = gpu(), {}
    model = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 2))
    model.to(device)
    forward = model[1].register_forward_hook(lambda m, inputs, output: stored.update(output=output.detach()))
    backward = model[1].register_full_backward_hook(
        lambda m, inputs, output: stored.update(gradient=output[0].detach())
    )
    scores = model(drawn(1, 1, 7, 7, device=device))
    scores[0, scores.argmax()].backward()
    forward.remove(), backward.remove()
    weights = stored["gradient"].mean(dim=[0, 2, 3])
    heat = torch.relu((stored["output"] * weights[None, :, None, None]).sum(1)).squeeze()
    return heat / (heat.max() + 1e-8)
