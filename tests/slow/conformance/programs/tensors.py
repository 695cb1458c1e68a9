"""Tensors without networks: made, moved, viewed, written to, indexed, reduced."""

import torch

from tests.slow.conformance.programs.data import normal


def moves(device):
    x = normal(2, 3)
    moved = x.to(device)
    yield "same object when nothing changes", [moved.to(device) is moved, x.to("cpu") is x, x.cpu() is x], device
    yield (
        "to",
        [
            moved,
            x.to(device=device),
            x.to(torch.device(device)),
            x.to(device, torch.float64),
            x.to(device, dtype=torch.int32, copy=True),
            x.to(moved),
            moved.to(torch.float16),
            moved.double(),
            moved.long(),
            moved.to(device, copy=True),
            moved.type(torch.float64),
            moved.type_as(moved.double()),
            x.type_as(moved),
            x.to(device, non_blocking=True),
        ],
        device,
    )
    yield "home", [moved.cpu(), moved.to("cpu"), moved.to(x), moved.to("cpu", torch.float64)], "cpu"
    yield "kept", [moved.to(device, memory_format=torch.contiguous_format), moved.t().to(device)], device
    yield "strides", [x.t().to(device).stride(), moved.t().cpu().stride()], device
    on_cuda = torch.device(device).type == "cuda"
    yield (
        "flags",
        [moved.is_cuda == on_cuda, moved.is_cpu != on_cuda, moved.device == torch.ones(1, device=device).device],
        device,
    )
    yield "numbers", [moved.tolist(), moved[0, 0].item(), float(moved[0, 1]), moved.cpu().numpy().sum().item()], device
    yield "copies are copies", [x.to(device, copy=True).add_(1).sum() != moved.sum()], device


def views(device):
    base = normal(4, 6).to(device)
    row, column, block = base[1], base[:, 2], base[1:3, ::2]
    row.add_(10)
    column.mul_(0)
    block.fill_(5)
    base.view(-1)[0] = 42
    base.t().unsqueeze(0).squeeze(0)[3].neg_()
    base.diagonal().zero_()
    yield "base", base, device
    yield "views", [row, column, block, base.t(), base.reshape(2, 12), base.flatten(), base.unfold(1, 2, 2)], device
    yield "more", [base.expand(2, 4, 6), base.permute(1, 0), base.narrow(0, 1, 2), base.movedim(0, 1)], device
    yield "parts", [*base.split(2), *base.chunk(3, 1), *base.unbind(1)], device
    yield "strided", torch.as_strided(base, (2, 2), (6, 1), 3), device
    yield "shares", [row.data_ptr() == base[1].data_ptr(), base._is_view(), row._base is base], device
    yield "contiguous", [base.t().is_contiguous(), base.t().contiguous().is_contiguous(), base.t().stride()], device


def in_place(device):
    x = normal(2, 3).to(device)
    same = x
    x += 1
    x -= torch.ones(2, 3, device=device)
    x *= 2
    x /= torch.tensor(4.0)
    x.clamp_(-1, 1).abs_().add_(x, alpha=0.5)
    x.unsqueeze_(0)
    x.squeeze_(0)
    x.t_()
    yield "x", x, device
    yield "the same tensor", [same is x, tuple(x.shape), x._version > 5], device
    out = torch.empty(3, 2, device=device)
    returned = torch.add(x, 1, out=out)
    torch.mm(x, x.t(), out=(product := torch.empty(3, 3, device=device)))
    yield "out", [out, product, returned is out], device
    y = torch.zeros(4, device=device)
    y.index_add_(0, torch.tensor([0, 2], device=device), torch.ones(2, device=device))
    y.scatter_(0, torch.tensor([1], device=device), 9.0)
    y.masked_fill_(y == 0, -1)
    y[y > 5] = 6
    yield "y", y, device
    z = torch.zeros(2, device=device)
    z.resize_(4).zero_()
    z.copy_(torch.arange(4))
    yield "z", z, device


def scalars_mix(device):
    """0-dim CPU tensors and Python numbers mix with a device's tensors; the result is on the device."""
    x, half = normal(3).to(device), torch.tensor(0.5)
    yield "mixed", [x + half, half + x, x * 2, 2 - x, x / half, torch.maximum(x, half), x > half, x**half], device
    yield "both 0-dim", [x.sum() + half, half * x.sum(), torch.where(x > 0, x, half)], device
    yield "promoted", [x + torch.tensor(1, dtype=torch.float64), torch.arange(3, device=device) / 2], device
    yield "filled", torch.zeros(2, device=device).fill_(half), device
    yield "home", half + half, "cpu"


def indexing(device):
    x = normal(5, 4).to(device)
    rows = torch.tensor([0, 3, 3])
    yield "by CPU index", [x[rows], x[rows, 1], x[[0, 2]], x[rows.to(device)]], device
    yield "by mask", [x[x > 0], x.masked_select(x < 0), x[(x > 0).cpu()], torch.nonzero(x > 1)], device
    yield (
        "gathered",
        [
            x.gather(1, torch.zeros(5, 1, dtype=torch.long, device=device)),
            x.index_select(0, rows.to(device)),
            x.take(torch.tensor([1, 2], device=device)),
            torch.take_along_dim(x, x.argsort(1), 1),
            x[..., None, -1],
            x[2:, 1],
        ],
        device,
    )
    x[rows] = torch.zeros(4, device=device)
    x[0, torch.tensor([1, 2])] = 3.0
    x[[1, 3], 2], x[rows.numpy(), 3], x[[True, False, False, True, False], 0] = 4, 5.0, -6.0
    x[x < 0] = x[x < 0].abs()
    x[1, 1] = torch.tensor(8.0)
    x[2] = torch.arange(4.0)
    yield "written", x, device
