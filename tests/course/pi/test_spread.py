"""Darts spread out evenly: where each lies, one a box or a cell, and what is claimed about their error.

Statistical tests are seeded; their bounds are stated in standard errors.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course.pi import estimate, estimate_pi, kernels, spread
from course.pi.dart_places import BLOCK


@pytest.mark.parametrize("method", ["sobol", "stratified"])
def test_the_spread_of_replicates_is_the_true_error(method):
    estimates = [estimate_pi(16 * 1024, seed, method=method) for seed in range(150)]
    z = np.array([e.error / e.standard_error for e in estimates])
    assert abs(z.mean()) < 4 / math.sqrt(150)
    assert 0.7 < np.sqrt(np.mean(z**2)) < 1.6  # Student's t with 15 degrees of freedom has 1.07; sets are not normal


@pytest.mark.parametrize("method", ["sobol", "stratified"])
def test_darts_spread_out_evenly_err_far_less_than_chance(method):
    errors = [estimate_pi(2**16, seed, method=method).error for seed in range(20)]
    chance = 1.642 / 2**8
    assert np.sqrt(np.mean(np.square(errors))) < chance / 4


@pytest.mark.parametrize("method", ["sobol", "stratified"])
def test_no_two_sets_and_no_two_seeds_throw_the_same_darts(method):
    points = spread.sobol_points if method == "sobol" else spread.stratified_points
    thrown = {tuple(points(seed, replicate, 64, 0, 64)[0]) for seed in range(5) for replicate in range(16)}
    assert len(thrown) == 5 * 16


def test_each_block_of_stratified_darts_has_chances_of_its_own():
    size = 2 * BLOCK
    rows = math.isqrt(size)
    ends = np.arange(rows + 1) * size // rows
    offsets = []
    for block in range(2):
        x, y = spread.stratified_points(3, 0, size, block * BLOCK, (block + 1) * BLOCK)
        index = np.arange(block * BLOCK, (block + 1) * BLOCK)
        row = np.searchsorted(ends, index, side="right") - 1
        length = ends[row + 1] - ends[row]
        offsets.append((x * length - (index - ends[row]), (y * size - ends[row]) / length))
    every = np.array([axis for block in offsets for axis in block])  # x and y of the first block, x and y of the next
    assert 0 <= every.min() and every.max() <= 1
    correlations = np.corrcoef(every) - np.eye(4)
    assert np.abs(correlations).max() < 4 / math.sqrt(BLOCK)  # 4 standard errors


def test_a_sobol_sequence_is_scrambled_and_not_only_shifted():
    def digits(seed, replicate):
        return [(axis * 2**32).astype(np.uint64) for axis in spread.sobol_points(seed, replicate, 0, 0, 1024)]

    plain = digits(9, 4)
    for other in (digits(9, 5), digits(10, 4)):
        for one, same in zip(plain, other, strict=True):
            assert len(np.unique(one ^ same)) > 500, "a shift alone would turn the same bits of every point"


@settings(max_examples=30)
@given(st.integers(1, 2000), st.integers(0, 100))
def test_stratified_darts_are_one_a_cell_of_equal_area(size, seed):
    x, y = spread.stratified_points(seed, 0, size, 0, size)
    rows = math.isqrt(size)
    starts = [row * size // rows for row in range(rows + 1)]
    for start, end in zip(starts, starts[1:], strict=False):
        inside = (y[start:end] >= start / size) & (y[start:end] <= end / size)
        assert inside.all()
        assert (np.floor(x[start:end] * (end - start)) == np.arange(end - start)).all()


@pytest.mark.parametrize("power", [1, 5, 10, 16])
def test_sobol_before_scrambling_is_scipy_s(power, monkeypatch):
    from scipy.stats import qmc

    monkeypatch.setattr(spread, "_scrambled", lambda directions, generator: (directions, 0))
    ours = np.stack(spread.sobol_points(0, 0, 2**power, 0, 2**power), axis=1)
    theirs = qmc.Sobol(2, scramble=False).random_base2(power) + 0.5 / 2**32
    assert sorted(map(tuple, ours)) == sorted(map(tuple, theirs))  # scipy's order is another


def test_scrambled_sobol_keeps_one_point_in_every_elementary_box():
    x, y = spread.sobol_points(9, 4, 0, 0, 1024)
    for wide in range(11):
        box = np.floor(x * 2**wide).astype(int) << (10 - wide) | np.floor(y * 2 ** (10 - wide)).astype(int)
        assert len(np.unique(box)) == 1024


def test_sobol_blocks_after_the_first_go_on_where_it_ended():
    x, y = spread.sobol_points(9, 4, 0, BLOCK, 2 * BLOCK)
    first_x, _ = spread.sobol_points(9, 4, 0, 0, BLOCK)
    assert len(np.intersect1d(x, first_x)) == 0
    assert (np.histogram(np.concatenate([x, first_x]), 2 * BLOCK, (0, 1))[0] == 1).all()


@pytest.mark.parametrize("method", ["sobol", "stratified"])
def test_sixteen_sets_share_the_darts_out_and_their_spread_is_the_standard_error(method):
    points = getattr(spread, f"{method}_points")
    sizes = [101] * 5 + [100] * 11  # of 1605 darts
    counts = [_inside(*points(3, number, size, 0, size)) for number, size in enumerate(sizes)]
    found = estimate_pi(1605, seed=3, method=method)
    assert (found.inside, found.samples, found.value) == (sum(counts), 1605, 4 * sum(counts) / 1605)
    values = [4 * count / size for count, size in zip(counts, sizes, strict=True)]
    assert found.standard_error == pytest.approx(np.std(values, ddof=1) / 4)


def _inside(x, y):
    return int(np.count_nonzero(x * x + y * y < 1))


def test_sets_that_agree_claim_no_less_than_one_dart():
    assert estimate._standard_error([1] * 16, "sobol", 32) == 4 / 32


# Compiled counts


@settings(max_examples=20)
@given(
    st.sampled_from(["sobol", "stratified"]),
    st.integers(0, 2**70),
    st.integers(0, 15),
    st.integers(0, 5),
    st.integers(1, 2 * BLOCK),
)
def test_the_compiled_count_is_the_count_of_the_points(method, seed, replicate, block, length):
    size = 7 * BLOCK + 11
    count, points = (getattr(spread, f"{method}_{what}") for what in ("count", "points"))
    first, last = block * BLOCK, min(block * BLOCK + length, size)
    blocks = [points(seed, replicate, size, start, min(start + BLOCK, last)) for start in range(first, last, BLOCK)]
    assert count(seed, replicate, size, first, last) == sum(_inside(*darts) for darts in blocks)


@pytest.mark.parametrize("size", [2, 3, 7, 100, 1023, 5000])
def test_short_rows_of_cells_are_counted_too(size):
    assert spread.stratified_count(8, 3, size, 0, size) == _inside(*spread.stratified_points(8, 3, size, 0, size))


# X² + X + Y² + Y is 2⁶⁴ and this much more: found as sums of two squares. In float64 the first three seem outside.
NEAR = {
    -40: (4286886812, 263335395),
    -58: (4242053376, 672106557),
    -82: (4294393976, 70174413),
    82: (3783625072, 2032467806),
    112: (3770248616, 2057175112),
}


@pytest.mark.parametrize("more", NEAR)
def test_a_point_next_to_the_circle_is_decided_exactly(more):
    x, y = NEAR[more]
    exact = Fraction(2 * x + 1, 2**33) ** 2 + Fraction(2 * y + 1, 2**33) ** 2 < 1
    assert exact == (more < 0)
    assert _compiled_sobol(x, y) == spread._in_disc(np.array([x]), np.array([y])) == exact


@given(st.integers(0, 2**32 - 1), st.integers(-2, 2))
def test_points_about_the_circle_are_decided_as_fractions_decide_them(x, away):
    y = min(max(math.isqrt(2**64 - x * x) + away, 0), 2**32 - 1)
    assert _compiled_sobol(x, y) == (x * x + x + y * y + y < 2**64)


def _compiled_sobol(x, y):
    still = np.zeros(32, np.uint32)  # directions of a sequence whose first point is its shift
    return kernels.sobol(still, still, np.uint32(x), np.uint32(y), 0, 1)
