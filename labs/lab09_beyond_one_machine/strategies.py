"""Legal inputs of lab 09's exercises, as Hypothesis draws them and makes them smaller. Loaded when a check looks on."""

import numpy as np
from hypothesis import strategies as st

from course.checks.exercise import Case

from .cases import a_job, queue


def choices():
    """A job of up to eight pieces, up to two queues."""
    serial, start = st.sampled_from([0, 60, 120]), st.integers(1, 4)
    job = st.builds(a_job, serial, st.integers(0, 8), st.sampled_from([1, 48, 60]), start, st.integers(0, 3))
    one = st.builds(
        queue, st.just("a"), st.integers(1, 5), st.integers(1, 20), st.integers(1, 3), st.sampled_from([0, 60])
    )
    queues = st.lists(one, min_size=1, max_size=2).map(
        lambda found: [{**each, "name": name} for each, name in zip(found, "ab", strict=False)]
    )
    return st.tuples(job, st.sampled_from([1, 5, 20, 1000]), queues)


def _lying(nodes):
    return st.dictionaries(st.integers(0, nodes - 1), st.integers(1, 9), max_size=nodes)


def placings():
    """Up to four tasks, two or three nodes, slots for all of them."""
    return st.integers(2, 3).flatmap(
        lambda nodes: st.tuples(
            st.lists(_lying(nodes), min_size=1, max_size=4), st.lists(st.integers(0, 2), min_size=nodes, max_size=nodes)
        ).map(lambda both: (both[0], [many + (4 if node == 0 else 0) for node, many in enumerate(both[1])]))
    )


def schedules():
    """Up to four tasks on two nodes with three slots; speeds that differ by direction."""
    tasks = st.lists(st.tuples(st.integers(1, 5).map(float), _lying(2)), min_size=1, max_size=4)
    speeds = st.tuples(st.sampled_from([1.0, 2.0, 4.0]), st.sampled_from([1.0, 2.0, 4.0]))
    return st.builds(
        lambda tasks, slots, speeds: Case(
            ([one for one, _ in tasks], [lie for _, lie in tasks], slots, np.array([[0, speeds[0]], [speeds[1], 0]])),
            group="few",
        ),
        tasks,
        st.sampled_from([[1, 1], [2, 1], [1, 2]]),
        speeds,
    )
