"""Exercises of chapter 01 that run on GPUs: an op there, a program mended, a product split, darts thrown on four."""

from numbers import Integral

import torch

from course.checks.exercise import Exercise, by_name
from course.checks.watched_gpus import watched

_PRODUCTS = {"mm", "addmm", "bmm", "baddbmm", "matmul", "mv", "dot", "addmv"}
_STEPS, _RATE = 3, 0.1  # of `fit`
_NUMBER = 8  # bytes of an int64: a count on its way home


def whole_numbers(rows: int, columns: int, start: int = 1) -> torch.Tensor:
    """Return a matrix of small whole numbers: every product of two is exact, in whatever order it is added up."""
    return (torch.arange(rows * columns).reshape(rows, columns) * 3 + start).remainder(7).float() - 3


def _pairs():
    for rows, inner, columns in ((1, 1, 1), (2, 3, 2), (8, 5, 4), (5, 4, 3)):
        yield whole_numbers(rows, inner), whole_numbers(inner, columns, start=2)


def _on_the_gpu(got, seen, a, b):
    """The product, computed on /gpu:0 from factors that came once each, and back on the CPU."""
    if wrong := _a_tensor(got, a @ b):
        return wrong
    if got.device.type != "cpu":
        return f"the product is on {got.device}; it should be back on the CPU"
    if not _products(seen, "/gpu:0"):
        return "no product ran on /gpu:0"
    return _no_more_than(seen, "/gpu:0", a.nbytes + b.nbytes)


def _split_pairs():
    for rows in (2, 6, 7, 3):
        yield whole_numbers(rows, 3), whole_numbers(3, 2, start=2)


def _split_product(got, seen, a, b):
    """The product joined on the CPU, half of the rows (one more or less) from each of the two GPUs."""
    if wrong := _a_tensor(got, a @ b):
        return wrong
    if got.device.type != "cpu":
        return f"the joined product is on {got.device}; it should be on the CPU"
    for device in ("/gpu:0", "/gpu:1"):
        rows = sum(record.made[0][0] for record in _products(seen, device))
        if rows not in (len(a) // 2, -(-len(a) // 2)):
            return f"{device} computed {rows} of the {len(a)} rows"
        most = -(-len(a) // 2) * a.shape[1] * a.element_size() + b.nbytes
        complaint = _no_more_than(seen, device, most)
        if complaint is not True:
            return complaint
    return True


def _fits():
    for rows in (1, 4, 12):
        x = whole_numbers(rows, 3) / 4
        yield x, x @ torch.tensor([[1.0], [2.0], [-1.0]]), _STEPS


def _slow_fit(x, y, steps):
    """Return the weights after `steps` steps down the mean squared error, on the CPU, gradient by hand."""
    w = torch.zeros(x.shape[1], 1)
    for _ in range(steps):
        w -= _RATE * 2 * x.T @ (x @ w - y) / len(x)
    return w


def _fit(got, seen, x, y, steps):
    """The weights right and on /gpu:0; nothing computed on the CPU; the data moved there once, nothing else at all."""
    if wrong := _a_tensor(got, _slow_fit(x, y, steps)):
        return wrong
    if got.device != torch.device("cuda", 0):
        return f"the weights are on {got.device}, not on cuda:0"
    if here := [record.op for record in seen.computed("/cpu:0") if record.shapes]:
        return f"{len(here)} ops ran on the CPU, the first of them {here[0]}"
    if home := seen.moved("/cpu:0"):
        return f"{home} bytes came back to the CPU; the loop needs none of them there"
    if not any(record.backward for record in seen.computed("/gpu:0")):
        return "no backward pass ran on /gpu:0"
    # weights made on the CPU and moved once are no mistake
    return _no_more_than(seen, "/gpu:0", x.nbytes + y.nbytes + 4 * x.shape[1])


def _darts_on_four(got, seen, darts):
    """Four counts, each of darts thrown on its own GPU, different ones; only the counts come home."""
    counts = list(got) if isinstance(got, (list, tuple)) else []
    if len(counts) != 4 or not all(isinstance(count, Integral) and not isinstance(count, bool) for count in counts):
        return "give a list of four whole numbers, one count a GPU (`.item()` makes one)"
    for index in range(4):
        thrown = sum(_numbers(record) for record in seen.computed(f"/gpu:{index}") if not record.shapes)
        if thrown < darts // 4:
            return f"/gpu:{index} made {thrown} random numbers, too few for {darts // 4} darts"
    if any(_numbers(record) >= darts // 4 for record in seen.computed("/cpu:0")):
        return "darts were thrown on the CPU"
    if len(set(counts)) == 1:
        return "four times the same count: all four GPUs threw the same darts. Give each its own seed"
    error = 4 * (torch.pi / 4 * (1 - torch.pi / 4) / darts) ** 0.5
    if abs(4 * sum(counts) / darts - torch.pi) > 6 * error:
        return f"4 · {sum(counts)} / {darts} is more than six standard errors from pi"
    home = seen.moved("/cpu:0")
    return home <= 4 * _NUMBER or f"{home} bytes came home; four counts are {4 * _NUMBER}"


def _a_tensor(got, wanted):
    """Return a complaint, or None when `got` is a tensor with the numbers of `wanted`, wherever it is."""
    if not isinstance(got, torch.Tensor):
        return f"a tensor was asked for, not {type(got).__name__}"
    if got.shape != wanted.shape:
        return f"its shape is {tuple(got.shape)}; expected {tuple(wanted.shape)}"
    if not torch.allclose(got.detach().cpu(), wanted, rtol=1e-4, atol=1e-6):
        return f"expected {wanted.tolist()}"
    return None


def _products(seen, device):
    return [record for record in seen.computed(device) if record.op in _PRODUCTS]


def _no_more_than(seen, device, most):
    moved = seen.moved(device)
    return moved <= most or f"{moved} bytes moved to {device}; {most} are enough"


def _numbers(record):
    return sum(torch.Size(shape).numel() for shape in record.made)


EXERCISES = by_name(
    Exercise(
        "on_the_gpu",
        _pairs,
        accepts=_on_the_gpu,
        watch=watched(1),
        hint='with place("/gpu:0"): the product; or a.to("cuda:0"). `.cpu()` brings a tensor back.',
    ),
    Exercise(
        "fit",
        _fits,
        accepts=_fit,
        watch=watched(1),
        hint="move the data before the loop; make every tensor on cuda:0; bring nothing home in between.",
    ),
    Exercise(
        "split_product",
        _split_pairs,
        accepts=_split_product,
        watch=watched(2),
        hint="a.tensor_split(2) gives two parts, also of an odd number of rows; move each part, not the whole.",
    ),
    Exercise(
        "darts_on_four",
        lambda: [(4_000,), (40_000,), (40_002,)],
        accepts=_darts_on_four,
        watch=watched(4),
        hint='generator = torch.Generator(f"cuda:{k}").manual_seed(k); torch.rand(…, generator=…, device=…).',
    ),
)
