"""Inputs that lab 04's checks draw, as Hypothesis strategies: short names that begin like each other, small numbers.

Loaded when a check draws, since Hypothesis takes a while.
"""

import math

import numpy as np
from hypothesis import strategies as st

from .cases import as_lists, cut_case
from .place_cases import CLUSTER, SMALL, op

WHOLE = st.integers(-4, 4).map(float)
WORDS = st.text("abc", min_size=1, max_size=2)
NAMES = st.text("pq.", min_size=1, max_size=3).filter(lambda name: name.strip("."))
DEVICES = st.builds("/{}pu:{}".format, st.sampled_from("cg"), st.integers(0, 12))


def lines():
    """Arguments of `map_and_reduce`: lines of words that begin alike."""
    line = st.lists(WORDS, max_size=3).map(" ".join)
    return st.tuples(st.lists(line, max_size=4))


@st.composite
def renamings(draw):
    """Arguments of `rename_job`: jobs, pins to them, the old name and the new one."""
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    jobs = {name: [f"{name}:{port}"] for port, name in enumerate(names, start=1)}
    pin = st.builds("/job:{}{}".format, st.sampled_from(names), st.sampled_from(["", "/task:0", "/task:0/gpu:0"]))
    return jobs, draw(st.lists(pin, max_size=3)), draw(st.sampled_from(names)), "new"


def sliced_means():
    """Arguments of `mean_of_slices`: means, nan where a slice is empty, and sizes."""
    pairs = st.lists(st.tuples(WHOLE, st.integers(0, 4)), max_size=4)
    return pairs.map(lambda found: ([m if size else math.nan for m, size in found], [size for _, size in found]))


def cuts():
    """Arguments of `spread_of_slices`: a few numbers cut into slices."""
    cut = st.lists(st.lists(WHOLE, min_size=1, max_size=4), min_size=1, max_size=3)
    return cut.map(cut_case)


def streams():
    """Arguments of `steady_mean`: float32 blocks near 0 and ±10⁸, to be read once."""
    block = st.builds(
        _block, st.sampled_from([0, 1e8, -1e8]), st.lists(st.integers(-2, 3) | st.just(0.0625), max_size=3)
    )
    blocks = st.lists(block, min_size=1, max_size=3).filter(lambda found: sum(one.size for one in found))
    return blocks.map(as_lists)


def _block(centre, steps):
    return np.array([centre + 8 * step for step in steps], np.float32)


def places():
    """Arguments of `locate`: a spec, and a place that may be in it or not."""
    task = st.builds("/job:{}/task:{}".format, st.sampled_from([*SMALL, "pss"]), st.integers(0, 14))
    return st.tuples(st.sampled_from([SMALL, CLUSTER]), st.builds(str.__add__, task, st.just("") | DEVICES))


def records():
    """Arguments of `strays`: a record of ops, and the pin."""
    task = st.builds("/job:w/task:{}".format, st.sampled_from([1, 10]))
    device = st.builds(str.__add__, task, DEVICES)
    ops = st.builds(op, st.sampled_from(["mm", "add"]), device, st.booleans(), st.sampled_from([0, 64]))
    return st.tuples(st.lists(ops, max_size=4), task | device)
