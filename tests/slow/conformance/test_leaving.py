"""After a simulation is closed its tensors fail clearly, whatever is done with them, and never give numbers."""

import copy
import io
import pickle
from contextlib import nullcontext
from types import SimpleNamespace

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from simgpu import simulated_gpus

#: What a program does with a tensor.
USES = {
    # arithmetic
    "add": lambda x: x + 1,
    "add to a CPU tensor": lambda x: torch.ones(2, 2) + x,
    "add in place": lambda x: x.add_(1),
    "add into a CPU tensor": lambda x: torch.ones(2, 2).add_(x),
    "matmul": lambda x: x @ x,
    "einsum": lambda x: torch.einsum("ij->", x),
    "cat": lambda x: torch.cat([x, x]),
    "stack with a CPU tensor": lambda x: torch.stack([torch.ones(2, 2), x]),
    "out": lambda x: torch.add(torch.ones(2, 2), 1, out=x),
    "fill": lambda x: x.fill_(3),
    "random": lambda x: x.normal_(),
    "dropout": lambda x: torch.nn.functional.dropout(x),
    "foreach": lambda x: torch._foreach_add([x], 1),
    "convolution": lambda x: torch.nn.functional.conv2d(x[None, None], torch.ones(1, 1, 1, 1)),
    "linear": lambda x: nn.Linear(2, 2)(x),
    # views and copies
    "index": lambda x: x[0],
    "index a CPU tensor": lambda x: torch.ones(3)[x.long()],
    "set an item": lambda x: x.__setitem__(0, 1.0),
    "set from it": lambda x: torch.ones(2, 2).__setitem__(0, x[0]),
    "view": lambda x: x.view(-1),
    "copy into": lambda x: x.copy_(torch.ones(2, 2)),
    "copy out": lambda x: torch.ones(2, 2).copy_(x),
    "deepcopy": lambda x: copy.deepcopy(x),
    "new tensor": lambda x: x.new_tensor([1.0]),
    "as a tensor": lambda x: torch.tensor(x[0, 0]),
    # moves
    "cpu": lambda x: x.cpu(),
    "to its own device": lambda x: x.to(torch.float64),
    "cuda": lambda x: x.cuda(),
    "type": lambda x: x.type(torch.float64),
    # numbers
    "item": lambda x: x[0, 0].item(),
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy(),
    "numpy by force": lambda x: x.numpy(force=True),
    "numpy.asarray": lambda x: numpy.asarray(x),
    "dlpack": lambda x: torch.from_dlpack(x),
    "print": lambda x: print(x),
    "allclose": lambda x: torch.allclose(x, x),
    "equal to a CPU tensor": lambda x: torch.equal(torch.ones(2, 2), x),
    "membership": lambda x: 1.0 in x,
    "storage": lambda x: x.untyped_storage().tolist(),
    # saved, and autograd
    "pickle": lambda x: pickle.dumps(x),
    "save": lambda x: torch.save(x, io.BytesIO()),
    "gradient": lambda x: x.requires_grad_().sum().backward(),
    "load into a module": lambda x: nn.Linear(2, 2).load_state_dict({"weight": x, "bias": x[0]}),
}

#: What a program does with all else that it holds: see `held_on`.
USES_OF_OTHERS = {
    "the item of a 0-dim": lambda held: held.scalar.item(),
    "float": lambda held: float(held.scalar),
    "truth": lambda held: bool(held.scalar),
    "format": lambda held: f"{held.scalar:.2f}",
    "backward of before": lambda held: held.loss.backward(),
    "autograd.grad": lambda held: torch.autograd.grad(held.loss, held.parameter),
    "optimiser": lambda held: torch.optim.SGD([held.parameter], lr=1).step(),
    "module": lambda held: held.module(torch.ones(1, 2)),
    "module home": lambda held: held.module.cpu().weight.sum().item(),
    "module's state": lambda held: torch.save(held.module.state_dict(), io.BytesIO()),
}

#: Refused by torch itself, before simgpu could say why: a wrapper has no memory of its own to hand out.
REFUSED_BY_TORCH = {"storage", "dlpack"}

of_all = pytest.mark.parametrize("name", [*USES, *USES_OF_OTHERS])


def held_on(device):
    """Return what a program may hold on `device`: a tensor `x` of sevens, a scalar, a parameter, a loss, a module."""
    x = torch.full((2, 2), 7.0, device=device)
    parameter = nn.Parameter(torch.full((2, 2), 7.0, device=device))
    parameter.grad = torch.ones(2, 2, device=device)
    loss, module = (parameter * x).sum(), nn.Linear(2, 2).to(device)
    return SimpleNamespace(x=x, scalar=x.sum(), parameter=parameter, loss=loss, module=module)


def check_refusal(name, held):
    """Check that a use of what is `held` raises an error that speaks of the closed simulation."""
    with pytest.raises(Exception) as error:
        USES[name](held.x) if name in USES else USES_OF_OTHERS[name](held)
    if name not in REFUSED_BY_TORCH:
        assert issubclass(error.type, RuntimeError)
        error.match("(?s)(simulated.*closed|closed.*simulated)")


@of_all
@pytest.mark.parametrize("another", [False, True])
def test_a_tensor_that_outlived_its_simulation_fails_and_says_why(name, another):
    with simulated_gpus(1):
        held = held_on("cuda:0")
    with simulated_gpus(2) if another else nullcontext():
        check_refusal(name, held)


@settings(max_examples=40)
@given(st.lists(st.sampled_from([*USES, *USES_OF_OTHERS]), min_size=1, max_size=5), st.integers(1, 4))
def test_any_uses_in_any_order_fail(names, count):
    with simulated_gpus(count):
        held = held_on(f"cuda:{count - 1}")
    for name in names:
        check_refusal(name, held)


def test_what_was_taken_home_before_closing_stays_usable():
    with simulated_gpus(1):
        home = held_on("cuda:0").x.cpu()
    assert type(home) is torch.Tensor
    assert (home + 1).tolist() == [[8.0, 8.0], [8.0, 8.0]]
