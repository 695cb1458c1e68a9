"""Pseudo-random darts: published words, the compiled counts equal to numpy's, and lanes and blocks independent.

Statistical tests are seeded; their bounds are stated in standard errors.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course.pi import kernels, philox, pseudo
from course.pi.pseudo import BLOCK, LANES

both = pytest.mark.parametrize("kind", [pseudo, philox], ids=["pseudo", "philox"])
u32, u64 = np.uint32, np.uint64


# Published words


def test_splitmix_gives_the_published_words():
    # of the seed 1234567: Rosetta Code, "Pseudo-random numbers/Splitmix64"; its words are numbered from 1
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert pseudo._splitmix(u64(1234567), np.arange(1, 5, dtype=u64)).tolist() == published
    assert [int(kernels.splitmix(u64(1234567), u64(index))) for index in range(1, 5)] == published


def test_xoshiro_gives_the_published_words():
    # of the state 1, 2, 3, 4: the tests of the Rust crate rand_xoshiro, made with the authors' C
    published = [5, 12295, 25178119, 27286542, 39879690, 1140358681, 3276312097, 4110231701, 399823256, 2144435200]
    arrays, state = [np.array([word], u32) for word in (1, 2, 3, 4)], tuple(map(u32, (1, 2, 3, 4)))
    for expected in published:
        assert int((arrays[0] + arrays[3])[0]) == expected
        pseudo._move_on(arrays)
        *state, word = kernels.step(*map(u32, state))
        assert int(word) == expected


PHILOX = [  # Random123, kat_vectors: counter, key, the four words
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


@pytest.mark.parametrize("counter, key, published", PHILOX)
def test_philox_gives_the_published_words(counter, key, published):
    counter, key, published = ([int(word, 16) for word in line.split()] for line in (counter, key, published))
    assert [int(word) for word in kernels.philox4x32(*map(u64, counter), *map(u64, key))] == published
    arrays = philox._philox([np.array([word], u64) for word in counter], np.array(key, u32))
    assert [int(word[0]) for word in arrays] == published


# The compiled counts


@pytest.mark.parametrize("owner, names", [(pseudo, "BLOCK LANES"), (philox, "MULTIPLIERS WEYL ROUNDS")])
def test_the_compiled_code_has_the_constants_of_its_twins(owner, names):
    for name in names.split():
        assert getattr(kernels, name) == getattr(owner, name)


@both
@settings(max_examples=12)
@given(st.integers(0, 2**70), st.sampled_from([0, 1, 2, 3, 2**34 // BLOCK]), st.integers(1, 2 * BLOCK))
def test_the_compiled_count_equals_numpys(kind, seed, block, length):
    first = block * BLOCK
    assert kind.count(seed, first, first + length) == kind.numpy_count(seed, first, first + length)


@both
@pytest.mark.parametrize("length", [1, 3, 4, 5, 127, 128, 129, 255, 256, 257, 383, 384, 385, 512])
def test_the_compiled_count_stops_at_any_dart_of_a_step(kind, length):
    for seed in range(5):  # a dart too many or too few is seen in four of five
        assert kind.count(seed, 0, length) == kind.numpy_count(seed, 0, length)


@both
@pytest.mark.parametrize("block", [2**20, 2**46 - 1])
def test_blocks_far_out_are_counted_too(kind, block):
    first = block * BLOCK  # the last is near 2⁶², where dart and lane numbers pass 32 bits
    assert kind.count(1, first, first + 300) == kind.numpy_count(1, first, first + 300)


@both
def test_many_blocks_at_a_time_are_counted_too(kind):
    last = 70 * BLOCK + 129  # more than numpy takes together
    assert kind.count(4, 0, last) == kind.numpy_count(4, 0, last)


@both
def test_the_points_are_the_darts_that_are_counted(kind):
    x, y = kind.points(5, BLOCK, BLOCK + 10_001)
    assert x.shape == y.shape == (10_001,)
    assert 0 < min(x.min(), y.min()) and max(x.max(), y.max()) < 1
    assert np.count_nonzero(x * x + y * y < 1) == kind.count(5, BLOCK, BLOCK + 10_001)


# Independence


def test_no_two_lanes_begin_alike_and_none_at_zero():
    low, high = (
        np.concatenate([pseudo._splitmix(pseudo.keys(s)[k], np.arange(5000, dtype=u64)) for s in range(3)])
        for k in (0, 1)
    )
    states = set(zip(low.tolist(), high.tolist(), strict=True))
    assert len(states) == 3 * 5000 and (0, 0) not in states


@given(st.integers(0, 2**200))
def test_the_two_keys_of_a_seed_can_t_both_give_a_zero(seed):
    # SplitMix64 gives 0 where key + index · 0x9E… is 0, modulo 2⁶⁴; an even and an odd key never are at one index
    low, high = map(int, pseudo.keys(seed))
    assert low % 2 == 0 and high % 2 == 1


@both
def test_blocks_differ_as_much_as_chance_has_them(kind):
    # were blocks alike, their counts would spread less, or their sum more, than those of independent darts
    counts = np.array([kind.count(7, block * BLOCK, (block + 1) * BLOCK) for block in range(1000)])
    spread = math.sqrt(BLOCK * math.pi / 4 * (1 - math.pi / 4))
    assert abs(counts.mean() - BLOCK * math.pi / 4) < 4 * spread / math.sqrt(1000)  # 4 standard errors of a mean
    assert abs(counts.std() / spread - 1) < 4 / math.sqrt(2 * 1000)  # 4 standard errors of a standard deviation
    assert abs(np.corrcoef(counts[1:], counts[:-1])[0, 1]) < 4 / math.sqrt(1000)


@both
def test_neither_lanes_nor_steps_nor_blocks_nor_seeds_are_correlated(kind):
    def coordinates(seed, block):
        darts = kind.points(seed, block * BLOCK, (block + 1) * BLOCK)
        return [axis.reshape(-1, LANES) for axis in darts]  # (steps, lanes)

    x, y = coordinates(1, 0)
    pairs = {"x and y": (x, y), "next lane": (x[:, 1:], x[:, :-1]), "next step": (x[1:], x[:-1])}
    pairs |= {"next but one": (y[2:], y[:-2]), "next lane, next step": (x[1:, 1:], y[:-1, :-1])}
    pairs |= {"next block": (x, coordinates(1, 1)[0]), "next seed": (y, coordinates(2, 0)[1])}
    for name, (one, other) in pairs.items():
        for change in (lambda a: a, lambda a: (a - 0.5) ** 2):  # squares: a common size is seen, whatever its sign
            found = np.corrcoef(change(one).ravel(), change(other).ravel())[0, 1]
            assert abs(found) < 4.5 / math.sqrt(one.size), name  # 4.5 standard errors: fourteen are looked at


@both
def test_lanes_do_not_begin_a_fixed_step_apart(kind):
    # states that count up unmixed differ by a constant, which no correlation shows
    starts = [kind.words(2, block * BLOCK, block * BLOCK + 4 * LANES).reshape(4, LANES) for block in range(256)]
    for step in range(4):
        words = np.array([start[step] for start in starts])
        for apart in (words[:, 1:] - words[:, :-1], words[1:] ^ words[:-1]):  # of lanes, of blocks
            counts = np.bincount(apart.ravel() >> u32(26), minlength=64)
            chi = np.sum((counts - counts.mean()) ** 2) / counts.mean()
            assert abs(chi - 63) < 4.5 * math.sqrt(2 * 63)  # 4.5 standard errors: eight are looked at
