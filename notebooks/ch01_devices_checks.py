"""Exercises of chapter 01 on paper: reading a log, writing a device function. Those that run on GPUs: placing.py."""

from course.checks.exercise import Exercise, by_name
from course.devices.placement import Op
from course.devices.record import OpRecord


def _ran_on(log, device):
    """Return the names of the ops that computed something on `device`: no copies between devices, no views."""
    return [one.op for one in log if one.device == device and not one.view and not one.bytes_moved]


def _by_size(op):
    """Return the GPU for products with a million multiplications or more, the CPU for everything else."""
    if op.name != "matmul":
        return "/cpu:0"
    (rows, inner), (_, columns) = (tensor.shape for tensor in op.inputs)
    return "/gpu:0" if rows * inner * columns >= 1_000_000 else "/cpu:0"


def _logs():
    def record(op, device, **more):
        return OpRecord(op, device, ((2, 2),), "float32", made=((2, 2),), **more)

    moved = record("_to_copy", "/gpu:0", bytes_moved=16, origin="/cpu:0")
    view = record("t", "/gpu:0", view=True)
    product, relu = record("mm", "/gpu:0"), record("relu", "/cpu:0")
    back = record("mm", "/gpu:0", backward=True)
    for log in ([], [relu], [product], [moved], [view], [back], [product, product]):
        yield log, "/gpu:0"
    yield [relu], "/cpu:0"
    for log in ([moved, product, relu], [moved, view, product, back]):
        yield log, "/gpu:0"
    yield [product, relu], "/cpu:0"


def _ops():
    import torch

    def product(rows, inner, columns):
        return Op("matmul", (torch.zeros(rows, inner), torch.zeros(inner, columns)))

    for shape in ((1, 1, 1), (100, 100, 100), (100, 99, 101), (1000, 1, 1000), (1000, 999, 1)):
        yield (product(*shape),)
    for name, inputs in (("zeros", 0), ("relu", 1), ("add", 2)):
        yield (Op(name, (torch.zeros(1000, 1000),) * inputs),)


EXERCISES = by_name(
    Exercise(
        "ran_on",
        _logs,
        _ran_on,
        hint="a record with bytes_moved is a copy, a record with view computes nothing; leave both out",
    ),
    Exercise(
        "by_size",
        _ops,
        _by_size,
        hint="two matrices (rows, inner) and (inner, columns) take rows · inner · columns multiplications",
    ),
)
