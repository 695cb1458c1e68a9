"""The limits count what their loops do: no compiler leaves an operation out, and every byte is read."""

import numpy as np
import pytest

from course.timing import limit_kernels, peak_operations, peak_reading


@pytest.mark.long
@pytest.mark.parametrize("bits", [8, 64])
def test_the_loop_of_additions_does_what_it_says(bits):
    number, lanes, rounds = np.dtype(f"uint{bits}").type, 4, 3
    words = np.random.default_rng(0).integers(0, 2**bits, (8, lanes), dtype=number)
    x, y = words[0].copy(), words[1].copy()
    for _ in range(8 * rounds):
        x = x + y
        y = y ^ x
    limit_kernels.add(words, rounds)
    assert np.array_equal(words[0], x) and np.array_equal(words[1], y) and words.dtype == number


def test_the_loop_of_ands_does_what_it_says():
    words = np.random.default_rng(0).integers(0, 2**64, (8, 4), dtype=np.uint64)
    a, b, c, d, e, f, g, h = words.copy()
    for _ in range(8 * 3):
        a, b, c, d = (a & b) ^ d, (b & c) ^ e, (c & d) ^ f, (d & e) ^ g
        e, f, g, h = (e & f) ^ h, (f & g) ^ a, (g & h) ^ b, (h & a) ^ c
    limit_kernels.combine(words, 3)
    assert np.array_equal(words[0], a ^ b ^ c ^ d ^ e ^ f ^ g ^ h)


def test_every_word_is_read():
    words = np.zeros(1000, np.uint64)
    for index in (0, 1, 63, 500, 999):
        words[:] = 0
        words[index] = 5
        assert limit_kernels.read(words) == 5


def test_limits_are_positive_and_odd_words_are_refused():
    assert peak_operations(64, seconds=0.01) > 0 and peak_reading(seconds=0.01) > 0
    with pytest.raises(ValueError, match="bits=12.*8, 16, 32 or 64"):
        peak_operations(bits=12)
