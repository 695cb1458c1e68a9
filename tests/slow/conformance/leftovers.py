"""Every way we know to use a tensor: what must fail once its simulation is closed."""

import copy
import io
import pickle

import numpy
import torch
from torch import nn

USES = {
    # arithmetic
    "add": lambda x: x + 1,
    "radd": lambda x: 1 + x,
    "add to a CPU tensor": lambda x: torch.ones(2, 2) + x,
    "add in place": lambda x: x.add_(1),
    "add into a CPU tensor": lambda x: torch.ones(2, 2).add_(x),
    "negate": lambda x: -x,
    "compare": lambda x: x == x,
    "matmul": lambda x: x @ x,
    "matmul with a CPU tensor": lambda x: torch.ones(2, 2) @ x,
    "sum": lambda x: x.sum(),
    "max": lambda x: x.max(0),
    "argmax": lambda x: x.argmax(),
    "sort": lambda x: x.sort(),
    "einsum": lambda x: torch.einsum("ij->", x),
    "cat": lambda x: torch.cat([x, x]),
    "stack with a CPU tensor": lambda x: torch.stack([torch.ones(2, 2), x]),
    "where": lambda x: torch.where(torch.ones(2, 2) > 0, x, 0.0),
    "lerp": lambda x: torch.lerp(x, x, 0.5),
    "out": lambda x: torch.add(torch.ones(2, 2), 1, out=x),
    "fill": lambda x: x.fill_(3),
    "zero": lambda x: x.zero_(),
    "random": lambda x: x.normal_(),
    "dropout": lambda x: torch.nn.functional.dropout(x),
    "foreach": lambda x: torch._foreach_add([x], 1),
    "linalg": lambda x: torch.linalg.inv(x),
    "fft": lambda x: torch.fft.fft(x),
    "convolution": lambda x: torch.nn.functional.conv2d(x[None, None], torch.ones(1, 1, 1, 1)),
    "linear": lambda x: nn.Linear(2, 2)(x),
    # views and copies
    "index": lambda x: x[0],
    "index by a tensor": lambda x: x[torch.tensor([0])],
    "index a CPU tensor": lambda x: torch.ones(3)[x.long()],
    "set an item": lambda x: x.__setitem__(0, 1.0),
    "set from it": lambda x: torch.ones(2, 2).__setitem__(0, x[0]),
    "set from the whole of it": lambda x: torch.ones(2, 2).__setitem__(slice(None), x),
    "view": lambda x: x.view(-1),
    "transpose": lambda x: x.t(),
    "iterate": lambda x: list(x),
    "clone": lambda x: x.clone(),
    "detach": lambda x: x.detach(),
    "contiguous": lambda x: x.t().contiguous(),
    "copy into": lambda x: x.copy_(torch.ones(2, 2)),
    "copy out": lambda x: torch.ones(2, 2).copy_(x),
    "deepcopy": lambda x: copy.deepcopy(x),
    "like": lambda x: torch.zeros_like(x),
    "new": lambda x: x.new_zeros(2),
    "new tensor": lambda x: x.new_tensor([1.0]),
    "as a tensor": lambda x: torch.tensor(x[0, 0]),
    "unbind": lambda x: x.unbind(),
    # moves
    "cpu": lambda x: x.cpu(),
    "to the CPU": lambda x: x.to("cpu"),
    "to its own device": lambda x: x.to(torch.float64),
    "cuda": lambda x: x.cuda(),
    "float16": lambda x: x.half(),
    "like a CPU tensor": lambda x: x.to(torch.ones(1)),
    "type": lambda x: x.type(torch.float64),
    # numbers
    "item": lambda x: x[0, 0].item(),
    "the item of a 0-dim": lambda x: SCALARS[id(x)].item(),
    "float": lambda x: float(SCALARS[id(x)]),
    "truth": lambda x: bool(SCALARS[id(x)]),
    "format": lambda x: f"{SCALARS[id(x)]:.2f}",
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy(),
    "numpy by force": lambda x: x.numpy(force=True),
    "numpy.asarray": lambda x: numpy.asarray(x),
    "dlpack": lambda x: torch.from_dlpack(x),
    "print": lambda x: print(x),
    "repr": lambda x: repr(x),
    "str": lambda x: str(x),
    "allclose": lambda x: torch.allclose(x, x),
    "equal": lambda x: torch.equal(x, x),
    "equal to a CPU tensor": lambda x: torch.equal(torch.ones(2, 2), x),
    "membership": lambda x: 1.0 in x,
    "storage": lambda x: x.untyped_storage().tolist(),
    # saved, and autograd
    "pickle": lambda x: pickle.dumps(x),
    "save": lambda x: torch.save(x, io.BytesIO()),
    "gradient": lambda x: x.requires_grad_().sum().backward(),
    "backward of before": lambda x: LOSSES[id(x)].backward(),
    "autograd.grad": lambda x: torch.autograd.grad(LOSSES[id(x)], PARAMETERS[id(x)]),
    "optimiser": lambda x: torch.optim.SGD([PARAMETERS[id(x)]], lr=1).step(),
    "module": lambda x: MODULES[id(x)](torch.ones(1, 2)),
    "module home": lambda x: MODULES[id(x)].cpu().weight.sum().item(),
    "module's state": lambda x: torch.save(MODULES[id(x)].state_dict(), io.BytesIO()),
    "load into a module": lambda x: nn.Linear(2, 2).load_state_dict({"weight": x, "bias": x[0]}),
}

#: Refused by torch itself, before anybody could say why: a wrapper has no memory of its own to hand out.
REFUSED_BY_TORCH = {"storage", "dlpack"}

#: What a program may still hold besides the tensor, by the tensor's id: filled by `made`.
SCALARS, LOSSES, PARAMETERS, MODULES = {}, {}, {}, {}


def made(device):
    """Return a tensor of four sevens on `device`, and keep beside it what else a program holds."""
    x = torch.full((2, 2), 7.0, device=device)
    parameter = nn.Parameter(torch.full((2, 2), 7.0, device=device))
    parameter.grad = torch.ones(2, 2, device=device)
    SCALARS[id(x)], PARAMETERS[id(x)] = x.sum(), parameter
    LOSSES[id(x)], MODULES[id(x)] = (parameter * x).sum(), nn.Linear(2, 2).to(device)
    return x


def forget():
    for held in (SCALARS, LOSSES, PARAMETERS, MODULES):
        held.clear()
