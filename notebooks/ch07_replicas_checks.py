"""Chapter 07's exercises: a mean by shares, a product cut inside, late gradients, the bytes of a ring."""

import torch

from course.checks.exercise import Exercise, by_name
from course.replicas.ring import ring_all_reduce

from .ch01_placing_checks import whole_numbers


def _gradients_and_sizes():
    for sizes in ([1], [1, 1], [3, 1], [2, 0, 1], [70, 20, 10]):
        yield [torch.tensor([float(4 * rank), -1.0 - rank]) for rank in range(len(sizes))], sizes


def _mean_of_all_rows(gradients, sizes):
    """Every row counts once: write each share's mean down as often as it has rows."""
    rows = [gradient for gradient, size in zip(gradients, sizes, strict=True) for _ in range(size)]
    return torch.stack(rows).mean(dim=0)


def _products():
    small = ((1, 1, 1, 1), (1, 2, 1, 2), (1, 3, 1, 2), (1, 2, 2, 2), (2, 2, 1, 2), (1, 4, 1, 3))
    for rows, inner, columns, parts in (*small, (2, 4, 3, 2), (3, 5, 2, 2), (2, 7, 2, 3)):
        yield whole_numbers(rows, inner, start=2), whole_numbers(inner, columns), parts


def _outer_products(a, b, parts):
    """Entry by entry: column k of `a` and row k of `b` make one outer product, and belong to one part."""
    inner, sums = a.shape[1], [torch.zeros(a.shape[0], b.shape[1]) for _ in range(parts)]
    for part in range(parts):
        for k in range(inner * part // parts, inner * (part + 1) // parts):
            sums[part] += torch.outer(a[:, k], b[k])
    return sums


def _late_pushes():
    yield 1.0, [], 0
    yield 1.0, [(0, 2.0)], 0
    yield 1.0, [(0, 2.0), (0, 2.0)], 0
    yield 1.0, [(0, 2.0), (0, 2.0)], 1
    yield 0.0, [(0, 1.0), (0, 1.0), (0, 4.0), (1, 1.0)], 1  # a dropped gradient makes no version
    yield 5.0, [(0, 1.0), (1, 2.0), (0, 8.0), (2, 1.0), (1, 8.0)], 1


def _with_a_limit(w, pushes, limit):
    versions = [w]
    for pulled, gradient in pushes:
        if len(versions) - 1 - pulled <= limit:
            versions.append(versions[-1] - 0.5 * gradient)
    return versions[-1], len(pushes) - (len(versions) - 1)


def _bytes_given(size, ranks):
    """Go once around the ring with nobody else in it, and weigh what leaves."""
    given, values = [], torch.zeros(size, dtype=torch.uint8)
    ring_all_reduce(values, 0, ranks, give=lambda piece: given.append(piece.nbytes), take=lambda piece: piece)
    return sum(given)


def _parts_and_inputs():
    inputs = torch.tensor([1.0, -2.0], dtype=torch.float64)
    for sizes in ([1], [1, 1], [2, 1], [1, 3, 2], [1, 1, 4]):
        rows = torch.arange(1, sum(sizes) + 1, dtype=torch.float64).square()
        yield [part.clone() for part in rows.split(sizes)], inputs


def _fit(part):
    """A model that knows the largest number of its part, which no averaging of parts or of their numbers gives."""
    largest = part.max()
    return lambda inputs: torch.stack([inputs * largest, largest - inputs], dim=1)


def _with_fit(entry, parts, inputs):
    return entry(parts, inputs, _fit)


def _number_by_number(parts, inputs):
    predictions = [_fit(part)(inputs).tolist() for part in parts]
    rows = range(len(inputs))
    return torch.tensor(
        [[sum(one[row][column] for one in predictions) / len(parts) for column in range(2)] for row in rows],
        dtype=torch.float64,
    )


EXERCISES = by_name(
    Exercise(
        "mean_gradient",
        _gradients_and_sizes,
        _mean_of_all_rows,
        hint="a share's gradient is a mean over its rows; it counts as often as it has rows.",
    ),
    Exercise(
        "partial_products",
        _products,
        _outer_products,
        hint="part p has the columns inner·p // parts to inner·(p + 1) // parts of a, and the same rows of b.",
    ),
    Exercise(
        "within_limit",
        _late_pushes,
        _with_a_limit,
        hint="staleness is the present version less the pulled one; only an applied gradient makes a version.",
    ),
    Exercise(
        "ring_bytes",
        lambda: [(12, 1), (12, 2), (12, 3), (12, 4), (314_000, 5), (314_000, 8)],
        _bytes_given,
        hint="how many pieces does a rank give, and how large is one?",
    ),
    Exercise(
        "ensemble",
        _parts_and_inputs,
        _number_by_number,
        call=_with_fit,
        adds=("fit",),
        hint="map: fit(part)(inputs). Reduce: add. Then divide by the number of models, whatever their parts' sizes.",
    ),
)
