"""Inputs that lab 05's checks draw, as Hypothesis strategies: few darts, few servers, short logs.

Loaded when a check draws, since Hypothesis takes a while.
"""

from hypothesis import strategies as st

from .cases import cluster_of

FEW = st.integers(0, 20)


def ranges_of_darts():
    """Arguments of `count_inside`: a stream, the first dart and the end."""
    return st.builds(lambda stream, first, count: (stream, first, first + count), st.integers(1, 9), FEW, FEW)


def shares():
    """Arguments of `pi_on_servers`: darts and servers."""
    return st.tuples(st.integers(1, 40), st.integers(1, 8))


def clusters():
    """Arguments of `pi_on_gpus`: the names of a cluster's devices, and darts."""
    return st.tuples(st.builds(cluster_of, st.integers(1, 3), st.integers(1, 12)), st.integers(1, 60))


def counts():
    """Arguments of `pooled_pi`: (inside, thrown) of each server."""
    one = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(sorted).map(tuple)
    return st.tuples(st.lists(one, min_size=1, max_size=4).filter(lambda found: sum(n for _, n in found)))


def runs():
    """Arguments of `error_of_runs`: a few estimates."""
    # eighths are exact, so that equal answers have no spread whatever the order of adding
    return st.tuples(st.lists(st.integers(16, 32).map(lambda eighths: eighths / 8), min_size=2, max_size=5))


@st.composite
def pairs(draw):
    """Arguments of `stream_for`: run, server, and how many servers each run has."""
    servers = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4).filter(any))
    run = draw(st.sampled_from([run for run, count in enumerate(servers) if count]))
    return run, draw(st.integers(0, servers[run] - 1)), servers


def logs():
    """Arguments of `thrown_twice`: a log of (stream, first, end)."""
    one = st.builds(lambda stream, first, n: (stream, first, first + n), st.integers(1, 2), st.integers(0, 9), FEW)
    return st.tuples(st.lists(one, max_size=4))
