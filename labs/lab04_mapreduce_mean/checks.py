"""Lab 04's exercises on numbers: pairs grouped by hand, means and spreads of slices, a mean that survives rounding.

The oracles are slow on purpose (exact fractions, every number written out) and are marking's too. No torch, no cluster.
"""

import math
from fractions import Fraction
from functools import partial

import numpy as np

from course.checks.exercise import Exercise, show, strategy

CLOSE = 1e-3  # how near to the exact mean a steady mean must be


# ---- Map and reduce by hand ------------------------------------------------------------------------------------------


class Initials:
    """A mapper: the rest of every word of a line, which may be nothing, under the word's first letter."""

    def __call__(self, line):
        return [(word[0], word[1:]) for word in line.split()]

    def __repr__(self):
        return "by_initial"


class Brackets:
    """A join that shows what was joined to what: neither the order nor the grouping can be hidden from it."""

    def __call__(self, left, right):
        return f"({left}{right})"

    def __repr__(self):
        return "bracket"


def all_pairs_first(parts, mapper=Initials(), join=Brackets()):  # noqa: B008  (neither has a state)
    """Every pair is written down; then, for each key, its values are looked up and joined from the left."""
    pairs = [pair for part in parts for pair in mapper(part)]
    result = {}
    for wanted, _ in pairs:
        values = [value for key, value in pairs if key == wanted]
        joined = values[0]
        for value in values[1:]:
            joined = join(joined, value)
        result[wanted] = joined
    return result


LINES = [
    [],
    ["ant"],
    ["ant ape"],
    ["ant", "ape"],
    ["a ant"],
    ["ant bee", "ape"],
    ["", "ant ape asp", "", "auk bee", "bat ant"],
    ["ant ape", "asp auk"],
]


# ---- Means and spreads of slices -------------------------------------------------------------------------------------


def exact_mean(means, sizes):
    """Fractions, which never round; a slice of nothing has no say."""
    pairs = [(Fraction(mean), size) for mean, size in zip(means, sizes, strict=True) if size]
    total = sum(size for _, size in pairs)
    return float(sum(mean * size for mean, size in pairs) / total) if pairs else math.nan


NAN = math.nan
SLICED = [
    ([4.0], [1]),
    ([1.0, 3.0], [5, 5]),
    ([2.0, 10.0], [3, 1]),
    ([NAN, 2.5], [0, 4]),
    ([2.0, NAN, -1.0], [1, 0, 2]),
    ([NAN], [0]),
    ([], []),
    ([0.0, 8.0], [7, 1]),
]


class Slices(list):
    """(size, mean, variance) of slices, that knows the `numbers` which the slices were cut from."""


def sliced(slices):
    """Return the `Slices` of `slices`, lists of numbers."""
    found = Slices((len(one), *_mean_and_variance(one)) for one in slices)
    found.numbers = [float(number) for one in slices for number in one]
    return found


def whole_spread(numbers):
    """The (size, mean, variance) of all numbers, in fractions."""
    return len(numbers), *_mean_and_variance(numbers)


def _mean_and_variance(numbers):
    exact = [Fraction(float(number)) for number in numbers]
    mean = sum(exact) / len(exact)
    return float(mean), float(sum((number - mean) ** 2 for number in exact) / len(exact))


CUTS = [
    [[5.0]],
    [[1.0, 3.0]],
    [[0.0], [2.0]],
    [[1.0, 3.0], [1.0, 3.0]],
    [[1.0, 3.0], [7.0]],
    [[0.0, 0.0, 0.0], [4.0, 8.0], [1.0]],
]


# ---- A mean that survives --------------------------------------------------------------------------------------------


class Once:
    """Blocks that can be read once, as data that arrive over a wire."""

    def __init__(self, blocks):
        self.blocks, self._left = blocks, list(blocks)

    def __iter__(self):
        return self

    def __next__(self):
        if not self._left:
            raise StopIteration
        return self._left.pop(0)

    def __repr__(self):
        return f"iter({show([block.tolist() for block in self.blocks])})"  # to the last digit, which numpy rounds


def without_rounding(blocks):
    """Python's `math.fsum` of all the numbers, and one division."""
    every = [float(number) for block in blocks for number in block]
    return math.fsum(every) / len(every)


def near_the_mean(got, blocks):
    """Return True, or what is wrong with `got` as the mean of `blocks`."""
    exact = without_rounding(blocks)
    try:
        near = abs(float(got) - exact) <= CLOSE  # nan is near to nothing
    except (TypeError, ValueError):
        return "give one number"
    return near or f"expected {exact!r}, give or take {CLOSE}"


def blocks_of(*lists):
    """Return these lists of numbers as float32 arrays."""
    return [np.array(numbers, np.float32) for numbers in lists]


FEW_BLOCKS = [
    blocks_of([3]),
    blocks_of([1, 2], [6]),
    blocks_of([0.5], [1, 3]),
    blocks_of([1e8, 1e8 + 8]),
    blocks_of([1e8], [1e8 + 8, 1e8 + 8]),
    blocks_of([1e8, 1e8 + 8], [], [1]),
    blocks_of([-1e8], [1], [1e8]),
]


def noisy_blocks(draw, sizes, centres=(1e8,)):
    """Return a block for each size: float32 near one of the centres, with noise of at most 24."""
    made = [float(draw.choice(centres)) + 8.0 * draw.integers(-2, 4, size) for size in sizes]
    return [block.astype(np.float32) for block in made]


def _slices_to_try():
    draw = np.random.default_rng(4)
    yield from (sliced(cut) for cut in CUTS)
    yield sliced([draw.normal(centre, 3, size) for centre, size in ((20, 9), (-5, 2), (0, 40))])


def _streams():
    draw = np.random.default_rng(4)
    yield from (Once(blocks) for blocks in FEW_BLOCKS)
    yield Once(noisy_blocks(draw, (2000, 1, 4001)))
    yield Once(noisy_blocks(draw, (1000, 3000, 500), (1e8, -1e8, 0)))


_drawn = partial(strategy, f"{__package__}.strategies")

_numbers = {
    exercise.name: exercise
    for exercise in [
        Exercise(
            "map_and_reduce",
            lambda: [(lines, Initials(), Brackets()) for lines in LINES],
            all_pairs_first,
            inputs=_drawn("lines"),
            hint="a key that is new keeps its value as it is; one that is known gets join(what it has, the value).",
        ),
        Exercise(
            "mean_of_slices",
            lambda: SLICED,
            exact_mean,
            inputs=_drawn("sliced_means"),
            hint="leave out slices of size 0 before you multiply: nan times 0 is nan.",
        ),
        Exercise(
            "spread_of_slices",
            lambda: ((slices,) for slices in _slices_to_try()),
            lambda slices: whole_spread(slices.numbers),
            inputs=_drawn("cuts"),
            hint="the mean of the squares is variance + mean²; that can be weighted, and taken apart again at the end.",
        ),
        Exercise(
            "steady_mean",
            lambda: ((stream,) for stream in _streams()),
            accepts=lambda got, stream: near_the_mean(got, stream.blocks),
            inputs=_drawn("streams"),
            hint="add every block up in float64, and keep two numbers from each: its total and its size.",
        ),
    ]
}


from .places import EXERCISES as _places  # noqa: E402

EXERCISES = _numbers | _places
