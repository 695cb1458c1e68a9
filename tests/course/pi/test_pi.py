"""Pi: the same darts whoever throws them, an honest standard error, and the fast counts equal to the slow ones.

Statistical tests are seeded; their bounds are stated in standard errors.
"""

import math
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from course.pi import METHODS, darts, estimate, estimate_pi, pseudo, spread
from course.pi.pseudo import BLOCK

every_method = pytest.mark.parametrize("method", METHODS)
SEVERAL_BLOCKS = {"pseudo": 7 * BLOCK + 12_345, "sobol": 16 * BLOCK + 5, "stratified": 16 * BLOCK + 5}


@settings(max_examples=12)
@given(st.integers(0, 2**70), st.integers(0, 3), st.integers(1, 3000))
def test_the_fast_count_equals_plain_python(seed, block, length):
    first = block * BLOCK
    assert pseudo.count(seed, first, first + length) == pseudo.slow_count(seed, first, first + length)


def test_the_fast_count_equals_plain_python_across_the_end_of_a_block():
    last = BLOCK + 77
    assert pseudo.count(3, 0, last) == pseudo.slow_count(3, 0, last)


def test_the_darts_in_the_picture_are_the_darts_that_are_counted():
    x, y = darts(10_001, seed=5)
    assert x.shape == y.shape == (10_001,)
    assert 0 < min(x.min(), y.min()) and max(x.max(), y.max()) < 1
    assert np.count_nonzero(x * x + y * y < 1) == estimate_pi(10_001, seed=5).inside


@every_method
def test_the_same_seed_gives_the_same_inside_for_any_number_of_parts(method):
    samples = SEVERAL_BLOCKS[method]
    assert len({estimate_pi(samples, 11, method=method, parts=parts) for parts in (1, 2, 3, 7, 1000)}) == 1


@every_method
def test_the_same_seed_gives_the_same_inside_on_any_executor(method):
    samples = SEVERAL_BLOCKS[method]
    here = estimate_pi(samples, 11, method=method)
    with ThreadPoolExecutor(3) as threads, ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        assert {estimate_pi(samples, 11, pool, method) for pool in (threads, processes)} == {here}


def test_inside_is_the_number_stored_with_this_version():
    # a change here changes the answers of every chapter: it must be deliberate
    assert estimate_pi(1_000_000, seed=0).inside == 785_693


@every_method
def test_another_seed_throws_other_darts(method):
    assert len({estimate_pi(100_000, seed, method=method).inside for seed in range(8)}) > 4


def test_no_two_blocks_share_a_stream():
    counts = [pseudo.count(0, block * BLOCK, (block + 1) * BLOCK) for block in range(20)]
    assert len(set(counts)) > 15
    words = {next(pseudo.slow_words(seed, block)) for seed in range(20) for block in range(20)}
    assert len(words) == 400


def test_darts_of_neighbouring_blocks_are_not_correlated():
    first, second = (pseudo.points(1, block * BLOCK, (block + 1) * BLOCK)[0] for block in (0, 1))
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / math.sqrt(BLOCK)  # 4 standard errors


def test_the_pseudo_random_standard_error_is_the_true_spread():
    # 300 estimates over four blocks each: if parts reused a stream, the spread would be twice what is claimed
    estimates = [estimate_pi(4 * BLOCK, seed, parts=4) for seed in range(300)]
    z = np.array([e.error / e.standard_error for e in estimates])
    assert abs(z.mean()) < 4 / math.sqrt(300)  # 4 standard errors of a mean
    assert abs(z.std() - 1) < 4 / math.sqrt(2 * 300)  # 4 standard errors of a standard deviation


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


@every_method
def test_darts_fill_the_square_evenly(method):
    x, y = darts(40_000, 2, method)
    counts = np.histogram2d(x, y, 10, [[0, 1], [0, 1]])[0]
    assert np.abs(counts - 400).max() < 5 * math.sqrt(400)  # 5 standard errors of a cell, for chance


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
    found = estimate_pi(32, seed=1, method="stratified")
    each = [_inside(*spread.stratified_points(1, number, 2, 0, 2)) for number in range(16)]
    assert found.standard_error == max(np.std([2 * count for count in each], ddof=1) / 4, 4 / 32)
    assert estimate._standard_error([1] * 16, "sobol", 32) == 4 / 32


def test_the_claimed_error_of_chance_counts_one_more_inside_and_one_more_outside():
    for samples in (1, 10, 1000):
        found = estimate_pi(samples, seed=2)
        share = (found.inside + 1) / (samples + 2)
        assert found.standard_error == 4 * math.sqrt(share * (1 - share) / samples)
        assert found.value == 4 * found.inside / samples and found.error == found.value - math.pi
        assert str(found) == f"{found.value:.10g} ± {found.standard_error:.2g}"


def test_the_darts_of_a_method_are_its_first_set_and_at_most_a_block():
    for method in ("sobol", "stratified"):
        expected = getattr(spread, f"{method}_points")(7, 0, 50, 0, 50)
        assert np.array_equal(darts(50, 7, method), expected)
    assert len(darts(BLOCK)[0]) == BLOCK and len(darts(1)[0]) == 1


def test_an_executor_gets_sixteen_parts_and_never_more_than_there_are_blocks():
    class Counting(ThreadPoolExecutor):
        submitted = 0

        def submit(self, *work):
            self.submitted += 1
            return super().submit(*work)

    for samples, parts, expected in ((20 * BLOCK, None, 16), (3 * BLOCK, None, 3), (3 * BLOCK + 1, 9, 4), (9, 2, 1)):
        with Counting(2) as pool:
            estimate_pi(samples, executor=pool, parts=parts)
        assert pool.submitted == expected


@pytest.mark.parametrize("samples", [1, 2, 3, 100])
def test_few_darts_never_claim_to_be_exact(samples):
    for seed in range(20):
        assert estimate_pi(samples, seed).standard_error > 0
    assert estimate_pi(32, method="sobol").standard_error > 0


@pytest.mark.parametrize("samples", [0, -1, 1.5, math.nan, math.inf, "many", True, None, 2**63])
def test_a_sample_count_that_is_not_one_is_refused_with_the_legal_form(samples):
    with pytest.raises(ValueError, match=r"samples=.*give a whole number from 1 up to"):
        estimate_pi(samples)


@pytest.mark.parametrize("samples", [1000, 1e3, np.int32(1000), np.float64(1000)])
def test_a_whole_number_of_any_type_is_a_sample_count(samples):
    assert estimate_pi(samples) == estimate_pi(1000)


def test_other_wrong_arguments_name_themselves():
    with pytest.raises(ValueError, match="method='sobel'.*pseudo, sobol, stratified"):
        estimate_pi(10, method="sobel")
    with pytest.raises(ValueError, match=r"seed=-1"):
        estimate_pi(10, seed=-1)
    with pytest.raises(ValueError, match=r"darts\(seed=-1\): give a whole number from 0, such as 1000\."):
        darts(10, seed=-1)
    with pytest.raises(ValueError, match=r"parts=0"):
        estimate_pi(10, parts=0)
    with pytest.raises(ValueError, match=r"samples=31.*from 32"):
        estimate_pi(31, method="sobol")
    with pytest.raises(ValueError, match=r"darts\(samples=65537\).*up to 6.554e\+04"):
        darts(65537)
    closed = ThreadPoolExecutor(1)
    closed.shutdown()
    with pytest.raises(RuntimeError, match="closed, open a new one"):
        estimate_pi(10, executor=closed)


def test_the_lattice_is_too_coarse_only_past_ten_to_the_fourteen_darts():
    # counted exactly, column by column: the pi that infinitely many darts would give
    limit, v, inside = 2**30, 2**15 - 1, 0
    for u in range(2**15):
        while u * (u + 1) + v * (v + 1) >= limit:
            v -= 1
        inside += v + 1
    assert abs(4 * inside / 2**30 - math.pi) < 1.642 / math.sqrt(9e13)


def test_the_command_line_prints_value_error_seconds_and_speed():
    from course.__main__ import main

    result = CliRunner().invoke(main, ["pi", "--samples", "1e6"])
    assert result.exit_code == 0, result.output
    expected = estimate_pi(1_000_000)
    assert str(expected) in result.output and f"{expected.inside:,}" in result.output
    assert " s" in result.output and "samples/s" in result.output


@pytest.mark.parametrize("samples", ["-5", "0", "1.5", "many"])
def test_the_command_line_refuses_a_wrong_sample_count_in_one_sentence(samples):
    from course.__main__ import main

    result = CliRunner().invoke(main, ["pi", f"--samples={samples}"])
    assert result.exit_code == 2
    assert "whole number" in result.output and "Traceback" not in result.output
