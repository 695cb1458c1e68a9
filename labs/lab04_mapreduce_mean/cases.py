"""What lab 04 asks about numbers, the smallest first: lines, slices, blocks. Some fixed, some drawn."""

import math

import numpy as np

from course.checks.exercise import Case

from .oracles import mean_and_variance, whole_spread

# ---- Lines -----------------------------------------------------------------------------------------------------------

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


def lines(draw):
    """Return lists of lines of words that begin alike, fixed and drawn."""
    drawn = [([_line(draw) for _ in range(count)],) for count in (2, 4, 7)]
    return [(lines,) for lines in LINES], drawn


def _line(draw):
    words = ["".join(draw.choice(list("abc"), draw.integers(1, 4))) for _ in range(draw.integers(0, 7))]
    return " ".join(map(str, words))


# ---- Slices ----------------------------------------------------------------------------------------------------------

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


def sliced_means(draw):
    """Return (means, sizes) of slices, fixed and drawn; the mean of nothing is nan."""
    nothing = int(draw.integers(2, 6))
    drawn = [_means(draw, count) for count in (2, 3, 5, 8, 13)]
    return SLICED, [*drawn, ([NAN] * nothing, [0] * nothing)]


def _means(draw, count):
    sizes = [int(size) for size in draw.integers(1, 1000, count)]
    if count > 2:
        sizes[int(draw.integers(count))] = 0
    return [float(draw.normal(5, 20)) if size else NAN for size in sizes], sizes


CUTS = [
    [[5.0]],
    [[1.0, 3.0]],
    [[0.0], [2.0]],
    [[1.0, 3.0], [1.0, 3.0]],
    [[1.0, 3.0], [7.0]],
    [[0.0, 0.0, 0.0], [4.0, 8.0], [1.0]],
]


def cuts(draw):
    """Return `Case`s of (size, mean, variance) of slices; their truth is that of all the numbers."""
    return [cut_case(cut, edge=True) for cut in CUTS] + [cut_case(_cut(draw, count)) for count in (2, 3, 6, 10)]


def cut_case(slices, edge=False):
    """Return the `Case` of these slices, lists of numbers."""
    return Case((sliced(slices),), edge, truth=whole_spread([number for one in slices for number in one]))


def sliced(slices):
    """Return the (size, mean, variance) of each of the slices."""
    return [(len(one), *mean_and_variance(one)) for one in slices]


def _cut(draw, count):
    return [draw.normal(draw.normal(0, 5), draw.uniform(0.5, 4), draw.integers(1, 60)) for _ in range(count)]


# ---- Blocks ----------------------------------------------------------------------------------------------------------


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


def streams(draw):
    """Return blocks as lists, whose every digit a counterexample shows; the driver makes arrays of them."""
    several = (1e8, -1e8, 0.0)
    drawn = [
        noisy_blocks(draw, draw.integers(1, 40, 3)),
        noisy_blocks(draw, draw.integers(1, 40, 4), several),
        noisy_blocks(draw, [0, *draw.integers(500, 1500, 3)]),
        noisy_blocks(draw, draw.integers(300, 1500, 4), several),
    ]
    drawn[1].append(draw.normal(0, 9, 5).astype("float32"))
    return [as_lists(blocks) for blocks in FEW_BLOCKS], [as_lists(blocks) for blocks in drawn]


def as_lists(blocks):
    """Return the arguments of a stream of these arrays."""
    return ([block.tolist() for block in blocks],)
