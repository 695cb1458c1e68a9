"""The sum of float32 numbers in float64: one answer, to the last bit, however it is worked out."""

import math
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course import compiled
from course.mapreduce import chunk_sums, chunks, mean
from course.mapreduce.chunks import CHUNK, LANES, float32_sum, slow_chunk_sums

AT_SEAMS = [end + more for end in (LANES, CHUNK) for more in (-1, 0, 1)]
SEAMS = [0, 1, *AT_SEAMS, CHUNK + LANES - 1, 3 * CHUNK - 1, 3 * CHUNK + 65]


def noise(size, seed=0):
    return (1e8 + 100 * np.random.default_rng(seed).standard_normal(size)).astype(np.float32)


def rough(size, seed=0):
    # of many sizes, so that every addition rounds and its order shows in the last bits
    draw = np.random.default_rng(seed)
    return (draw.standard_normal(size) * 10.0 ** draw.integers(-12, 13, size)).astype(np.float32)


def slow(values):
    # in plain Python: number i of a chunk to running sum i mod LANES, then these, then the chunks as numpy adds few
    sums = []
    for start in range(0, len(values), CHUNK):
        lanes = [0.0] * LANES
        for index, number in enumerate(values[start : start + CHUNK].tolist()):
            lanes[index % LANES] += number
        total = 0.0
        for lane in lanes:
            total += lane
        sums.append(total)
    return float(np.array(sums).sum())


@pytest.mark.parametrize("size", SEAMS)
def test_the_compiled_sum_equals_plain_python_and_numpy_to_the_last_bit(size, monkeypatch):
    values = rough(size, size)
    total = float32_sum(values)
    assert total == slow(values)
    monkeypatch.setattr(compiled, "available", lambda: False)
    assert float32_sum(values) == total
    assert math.isclose(total, math.fsum(values.tolist()), rel_tol=1e-9, abs_tol=0)


def test_the_compiled_code_has_the_constants_of_its_twin():
    assert (chunk_sums.CHUNK, chunk_sums.LANES) == (CHUNK, LANES)


@given(st.lists(st.floats(width=32), max_size=200), st.integers(0, 70))
def test_any_float32_numbers_are_added_as_plain_python_adds_them(numbers, skipped):
    values = np.array(numbers, np.float32)[skipped:]
    total, expected = float32_sum(values), slow(values)
    assert total == expected or (math.isnan(total) and math.isnan(expected))
    sums = np.empty(-(-len(values) // CHUNK))
    slow_chunk_sums(values, sums)
    assert sums.sum() == expected or math.isnan(expected)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_share_the_chunks_and_change_no_bit(threads, monkeypatch):
    monkeypatch.setattr(chunks, "_THREADED", 0)
    for size in SEAMS:
        values = rough(size, 5)
        assert float32_sum(values, threads) == float32_sum(values)


def test_large_data_near_a_hundred_million_keep_ten_digits_on_torch_s_threads(monkeypatch):
    values = noise(chunks._THREADED + 77)
    exact = math.fsum(values.tolist()) / len(values)
    shares = []
    original = chunks._add_up()
    monkeypatch.setattr(chunks, "_add_up", lambda: lambda part, sums: (shares.append(len(sums)), original(part, sums)))
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            assert compiled.usual_threads() == threads
            shares.clear()
            assert abs(mean(values) - exact) <= 1e-15 * exact
            assert sum(shares) == 129 and len(shares) == (1 if threads == 1 else 4 * threads)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("where", [0, 100, CHUNK, 2 * CHUNK + 9])
@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_in_any_chunk_are_what_numpy_says(where, special):
    values = noise(2 * CHUNK + 10)
    values[where] = special
    total, expected = float32_sum(values), float(values.sum(dtype=np.float64))
    assert total == expected or (math.isnan(total) and math.isnan(expected))
    assert math.isnan(total) == math.isnan(special)
    values[5] = -math.inf if special == math.inf else math.inf
    assert math.isnan(float32_sum(values))  # also without a warning: pytest makes each one an error


def test_the_largest_float32_numbers_do_not_overflow():
    values = np.full(CHUNK + 3, np.finfo(np.float32).max)
    assert float32_sum(values) == float(values[0]) * (CHUNK + 3)
    assert mean(values) == float(values[0])


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x[::2],
        lambda x: x[::-1],
        lambda x: x.astype(">f4"),
        lambda x: np.frombuffer(x.tobytes(), np.float32),
        lambda x: x.reshape(2, -1).T,
        lambda x: x.astype(np.float64),
    ],
    ids=["every second", "reversed", "big-endian", "read-only", "transposed", "float64"],
)
def test_data_that_lie_otherwise_have_the_same_mean(change):
    data = change(noise(1000))
    assert mean(data) == math.fsum(data.ravel().tolist()) / data.size


@pytest.mark.parametrize(
    "setting, least, most", [("1", 1, 1), ("3", 3, 3), ("0", 1, 1), ("many", 1, 4096), ("", 1, 4096)]
)
def test_without_torch_the_environment_or_the_cores_say_how_many_threads(setting, least, most, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setenv("OMP_NUM_THREADS", setting)
    assert least <= compiled.usual_threads() <= most
