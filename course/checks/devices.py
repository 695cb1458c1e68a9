"""Exercises of chapter 01: reading a log, counting what must move, writing a device function."""

from course.checks.exercise import Exercise
from course.devices.placement import Op
from course.devices.record import OpRecord

_BYTES = 4  # of a float32 number


def _ran_on(log, device):
    """Return the names of the ops that computed something on `device`: no copies between devices, no views."""
    names = []
    for record in log:
        if record.device == device and not record.view and not record.bytes_moved:
            names.append(record.op)
    return names


def _bytes_to_move(inputs, device):
    """Count, number by number, what has to come to `device`; a tensor given twice comes once."""
    total, seen = 0, []
    for name, shape, where in inputs:
        if where != device and name not in seen:
            numbers = 1
            for length in shape:
                numbers *= length
            total += numbers * _BYTES
            seen.append(name)
    return total


def _by_size(op):
    """Return the other device for products with a million multiplications or more, the CPU for everything else."""
    if op.name != "matmul":
        return "/cpu:0"
    (rows, inner), (_, columns) = (tensor.shape for tensor in op.inputs)
    return "/meta:0" if rows * inner * columns >= 1_000_000 else "/cpu:0"


def _logs():
    def record(op, device, **more):
        return OpRecord(op, device, ((2, 2),), "float32", made=((2, 2),), **more)

    moved = record("_to_copy", "/gpu:0", bytes_moved=16, origin="/cpu:0")
    view = record("t", "/gpu:0", view=True)
    product, relu = record("mm", "/gpu:0"), record("relu", "/cpu:0")
    back = record("mm", "/gpu:0", backward=True)
    for log in ([], [relu], [product], [moved], [view], [moved, product, relu], [moved, view, product, back]):
        yield log, "/gpu:0"
    yield [product, relu], "/cpu:0"


def _inputs():
    x, w, bias = ("x", (8, 4), "/cpu:0"), ("w", (4, 2), "/gpu:0"), ("bias", (2,), "/cpu:0")
    for inputs in ([], [w], [bias], [x], [x, w], [x, w, bias], [x, x], [("one", (), "/cpu:0")]):
        yield inputs, "/gpu:0"
    yield [x, w], "/cpu:0"
    yield [("none", (3, 0), "/gpu:0")], "/cpu:0"


def _ops():
    import torch

    def product(rows, inner, columns):
        return Op("matmul", (torch.zeros(rows, inner), torch.zeros(inner, columns)))

    yield (product(1, 1, 1),)
    yield (product(100, 100, 100),)
    yield (product(100, 99, 101),)
    yield (product(1000, 1, 1000),)
    yield (product(1000, 999, 1),)
    yield (Op("zeros", ()),)
    yield (Op("relu", (torch.zeros(1000, 1000),)),)
    yield (Op("add", (torch.zeros(1000, 1000), torch.zeros(1000, 1000))),)


EXERCISES = {
    exercise.name: exercise
    for exercise in [
        Exercise(
            "ran_on",
            _logs,
            _ran_on,
            hint="a record with bytes_moved is a copy, a record with view computes nothing; leave both out",
        ),
        Exercise(
            "bytes_to_move",
            _inputs,
            _bytes_to_move,
            hint="4 bytes a number; the shape () holds one number; a tensor that comes twice moves once",
        ),
        Exercise(
            "by_size",
            _ops,
            _by_size,
            hint="two matrices (rows, inner) and (inner, columns) take rows · inner · columns multiplications",
        ),
    ]
}
