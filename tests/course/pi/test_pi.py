"""Pi: the same darts whoever throws them, an honest standard error, and the fast counts equal to the slow ones.

Statistical tests are seeded; their bounds are stated in standard errors.
"""

import math
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from click.testing import CliRunner

from course.pi import METHODS, darts, estimate_pi, spread
from course.pi.dart_places import BLOCK

every_method = pytest.mark.parametrize("method", METHODS)
SEVERAL_BLOCKS = {"pseudo": 7 * BLOCK + 12_345, "philox": 7 * BLOCK + 12_345}
SEVERAL_BLOCKS |= {"sobol": 16 * BLOCK + 5, "stratified": 16 * BLOCK + 5}


@every_method
def test_the_same_seed_gives_the_same_inside_for_any_number_of_parts(method):
    samples = SEVERAL_BLOCKS[method]
    assert len({estimate_pi(samples, 11, method=method, parts=parts) for parts in (1, 2, 3, 7, 1000)}) == 1


@pytest.fixture(scope="module", autouse=True)
def processes():
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(float, range(4)))  # start them all now: a test must not leave a process that it started
        yield pool


@every_method
def test_the_same_seed_gives_the_same_inside_on_any_executor(method, processes):
    samples = SEVERAL_BLOCKS[method]
    here = estimate_pi(samples, 11, method=method)
    with ThreadPoolExecutor(3) as threads:
        assert {estimate_pi(samples, 11, pool, method) for pool in (threads, processes)} == {here}


STORED = {"pseudo": 785_432, "philox": 785_409, "sobol": 785_380, "stratified": 785_412}


@every_method
def test_inside_is_the_number_stored_with_this_version(method):
    # a change here changes the answers of every chapter: it must be deliberate
    assert estimate_pi(1_000_000, seed=0, method=method).inside == STORED[method]


@every_method
def test_another_seed_throws_other_darts(method):
    assert len({estimate_pi(100_000, seed, method=method).inside for seed in range(8)}) > 4


def test_the_pseudo_random_standard_error_is_the_true_spread():
    # 300 estimates over four blocks each: if parts reused a stream, the spread would be twice what is claimed
    estimates = [estimate_pi(4 * BLOCK, seed, parts=4) for seed in range(300)]
    z = np.array([e.error / e.standard_error for e in estimates])
    assert abs(z.mean()) < 4 / math.sqrt(300)  # 4 standard errors of a mean
    assert abs(z.std() - 1) < 4 / math.sqrt(2 * 300)  # 4 standard errors of a standard deviation


@every_method
def test_darts_fill_the_square_evenly(method):
    x, y = darts(40_000, 2, method)
    counts = np.histogram2d(x, y, 10, [[0, 1], [0, 1]])[0]
    assert np.abs(counts - 400).max() < 5 * math.sqrt(400)  # 5 standard errors of a cell, for chance


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
    assert estimate_pi(32, method="sobol").samples == 32, "two for each of sixteen sets"


def test_an_executor_gets_eight_parts_and_never_more_than_there_are_blocks():
    class Counting(ThreadPoolExecutor):
        submitted = 0

        def submit(self, *work):
            self.submitted += 1
            return super().submit(*work)

    for samples, parts, expected in ((20 * BLOCK, None, 8), (3 * BLOCK, None, 3), (3 * BLOCK + 1, 9, 4), (9, 2, 1)):
        with Counting(2) as pool:
            estimate_pi(samples, executor=pool, parts=parts)
        assert pool.submitted == expected


@pytest.mark.parametrize("samples", [0, -1, 1.5, math.nan, math.inf, "many", True, None, 2**63])
def test_a_sample_count_that_is_not_one_is_refused_with_the_legal_form(samples):
    with pytest.raises(ValueError, match=r"samples=.*give a whole number from 1 up to"):
        estimate_pi(samples)


@pytest.mark.parametrize("samples", [1000, 1e3, np.int32(1000), np.float64(1000)])
def test_a_whole_number_of_any_type_is_a_sample_count(samples):
    assert estimate_pi(samples) == estimate_pi(1000)


def test_other_wrong_arguments_name_themselves():
    with pytest.raises(ValueError, match="method='sobel'.*pseudo, philox, sobol, stratified"):
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


@pytest.mark.long
def test_a_process_without_numba_says_so_once_and_finds_the_same():
    program = """
import sys
sys.modules["numba"] = None
from course.pi import METHODS, estimate_pi
print([estimate_pi(100_000, 3, method=method, parts=2).inside for method in METHODS])
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == str([estimate_pi(100_000, 3, method=method).inside for method in METHODS])
    assert ran.stderr.count("numba can't be used") == 1
