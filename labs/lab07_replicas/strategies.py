"""Legal inputs of lab 07's exercises, as Hypothesis draws them and makes them smaller. Loaded when a check looks on."""

import numpy as np
from hypothesis import strategies as st

WHOLE = st.integers(-4, 4)


def networks():
    """One input, one or two hidden units, two classes; up to three replicas, of up to two rows each."""
    shares = st.lists(st.integers(0, 2), min_size=1, max_size=3).filter(any)
    return st.builds(_network, st.integers(1, 2), shares, st.integers(0, 99))


def _network(hidden, shares, seed):
    draw, rows = np.random.default_rng(seed), sum(shares)
    shapes = [(1, hidden), (hidden,), (hidden, 2), (2,)]
    parameters = [draw.integers(-2, 3, shape).astype(float) for shape in shapes]
    x, labels = draw.integers(-2, 3, (rows, 1)).astype(float), draw.integers(2, size=rows)
    return parameters, x, labels, shares


def pushes():
    """Up to six pushes of three workers at the first versions."""
    push = st.tuples(
        st.integers(0, 2), st.integers(0, 2), st.tuples(WHOLE, WHOLE).map(lambda g: [*map(float, g)]), st.integers(1, 3)
    )
    return st.tuples(st.just(np.array([1.0, 2.0])), st.just(0.5), st.integers(1, 3), st.lists(push, max_size=6))


def descents():
    """A few steps, a few of them late."""
    return st.tuples(
        st.sampled_from([1.0, -1.0, 2.0]), st.sampled_from([0.5, 1.0]), st.integers(0, 3), st.integers(0, 6)
    )
