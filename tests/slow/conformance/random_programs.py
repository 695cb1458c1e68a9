"""Random programs: steps on a pool of tensors, run under the simulation and beside it by a slow model of CUDA's rules.

The model keeps plain CPU tensors and a label for each, its device. It runs every op on the CPU, and by three rules says
where the result is, or that the devices don't match:

1. the tensors of an op must be on one device; a 0-dim CPU tensor may join those of a GPU in a pointwise op;
2. what an op makes is on that device; a view stays where it is, a move goes where it is told;
3. what is written to must be on that device, unless the op is a copy, which takes from anywhere.
"""

from dataclasses import dataclass

import torch
from hypothesis import strategies as st

DEVICES = ("cpu", "cuda:0", "cuda:1")
SHAPES = ((), (3,), (2, 3), (3, 2))
MISMATCH = "Expected all tensors to be on the same device"

UNARY = {
    "neg": lambda a: -a,
    "exp": lambda a: a.clamp(max=2).exp(),
    "sin": torch.sin,
    "relu": torch.relu,
    "sum": torch.sum,
    "sum over rows": lambda a: a.sum(0),
    "mean": torch.mean,
    "cumsum": lambda a: a.cumsum(-1),
    "softmax": lambda a: a.softmax(-1),
    "clone": torch.clone,
    "transpose": lambda a: a.t(),
    "flatten": lambda a: a.reshape(-1),
    "first": lambda a: a[0],
    "last column": lambda a: a[..., -1],
    "unsqueeze": lambda a: a.unsqueeze(0),
    "detach": lambda a: a.detach(),
    "flip": lambda a: a.flip(0),
    "sorted": lambda a: a.sort(-1)[0],
    "by CPU index": lambda a: a[torch.tensor([0, 0])],
    "norm": lambda a: torch.linalg.vector_norm(a + 3),
    "like": lambda a: torch.ones_like(a),
    "new": lambda a: a.new_full((2, 3), 2.0),
    "item": lambda a: a * a.sum().item(),
    "times a number": lambda a: 1.5 * a - 1,
}
POINTWISE = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: torch.sub(a, b, alpha=2),
    "mul": lambda a, b: a * b,
    "maximum": torch.maximum,
    "atan2": torch.atan2,
    "less": lambda a, b: (a < b).to(a.dtype),
}
TOGETHER = {
    "matmul": lambda a, b: a @ b,
    "cat": lambda a, b: torch.cat([a, b]),
    "stack": lambda a, b: torch.stack([a, b]),
    "dot": torch.dot,
}
WRITING = {
    "add_": lambda a, b: a.add_(b),
    "mul_": lambda a, b: a.mul_(b),
    "iadd": lambda a, b: a.__iadd__(b),
}
COPYING = {
    "copy_": lambda a, b: a.copy_(b),
    "set a row": lambda a, b: a.__setitem__(0, b),
    "set a column": lambda a, b: a.__setitem__((..., 1), b),
}
ALONE = {
    "zero_": lambda a: a.zero_(),
    "relu_": lambda a: a.relu_(),
    "unsqueeze_": lambda a: a.unsqueeze_(0),
    "t_": lambda a: a.t_(),
    "fill a row": lambda a: a.__setitem__(0, 7.0),
    "add to a row": lambda a: a[0].add_(1),
    "scale the flat": lambda a: a.view(-1).mul_(0.5),
}


@dataclass(frozen=True)
class Step:
    """`kind` and `op` name the function; `a`, `b` are places in the pool (modulo its length); `device` is for moves."""

    kind: str
    op: str
    a: int
    b: int
    device: str


KINDS = {
    "unary": UNARY,
    "pointwise": POINTWISE,
    "together": TOGETHER,
    "writing": WRITING,
    "copying": COPYING,
    "alone": ALONE,
    "move": {"to": None, "to dtype and back": None, "to other": None},
}

steps = st.sampled_from([(kind, op) for kind, ops in KINDS.items() for op in ops]).flatmap(
    lambda kind_and_op: st.builds(
        Step,
        st.just(kind_and_op[0]),
        st.just(kind_and_op[1]),
        st.integers(0, 9),
        st.integers(0, 9),
        st.sampled_from(DEVICES),
    )
)
inputs = st.lists(
    st.tuples(st.sampled_from(SHAPES), st.sampled_from(DEVICES), st.booleans(), st.integers(0, 99)),
    min_size=2,
    max_size=4,
)


def make(inputs, simulated):
    """Return the tensors that the program starts from; without `simulated` all are on the CPU."""
    pool = []
    for shape, device, needs_gradient, seed in inputs:
        x = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        pool.append((x.to(device) if simulated else x).requires_grad_(needs_gradient))
    return pool


def run(step, pool, labels=None):
    """Run `step`; return the new tensor, or None if it wrote to one of the pool.

    With `labels`, the devices of the pool, the pool is the model's, and a move between two labels is a copy.
    """
    i, j = step.a % len(pool), step.b % len(pool)
    if step.kind == "move":
        return moved(step, pool[i], pool[j]) if labels is None else relabelled(step, pool[i], labels, i, j)
    op = KINDS[step.kind][step.op]
    result = op(pool[i]) if step.kind in ("unary", "alone") else op(pool[i], pool[j])
    return result if step.kind in ("unary", "pointwise", "together") else None


def moved(step, tensor, other):
    if step.op == "to":
        return tensor.to(step.device)
    return tensor.to(other) if step.op == "to other" else tensor.to(step.device, torch.float32).double()


def relabelled(step, tensor, labels, i, j):
    if step.op == "to dtype and back":
        return tensor.to(torch.float32).double()
    target = step.device if step.op == "to" else labels[j]
    return tensor if target == labels[i] else tensor.clone()  # on CUDA too, a move to where it is gives the same object


def predicted(step, pool, labels):
    """Return the device that the rules give the result of `step`, or MISMATCH."""
    i, j = step.a % len(pool), step.b % len(pool)
    if step.kind == "move":
        return labels[j] if step.op == "to other" else step.device
    if step.kind in ("unary", "alone", "copying"):
        return labels[i]
    scalars = step.kind in ("pointwise", "writing")
    joins = [k for k in (i, j) if not (scalars and pool[k].dim() == 0 and labels[k] == "cpu")]
    devices = {labels[k] for k in joins} or {"cpu"}
    if len(devices) > 1 or (step.kind == "writing" and labels[i] not in devices):
        return MISMATCH
    return devices.pop()
