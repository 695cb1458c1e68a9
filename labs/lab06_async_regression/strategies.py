"""Legal inputs of lab 06's exercises, as Hypothesis draws them and makes them smaller. Loaded when a check looks on."""

import numpy as np
from hypothesis import strategies as st

from .cases import life

WHOLE = st.integers(-4, 4)
PAIR = st.tuples(WHOLE, WHOLE).map(lambda pair: np.array(pair, float))


def lines():
    """A line, and up to four points."""
    points = st.lists(st.tuples(WHOLE, WHOLE), min_size=1, max_size=4).map(lambda rows: np.array(rows, float).T)
    return st.tuples(PAIR, points).map(lambda both: (both[0], *both[1]))


def stores():
    """Up to six calls; a push says how many versions late it is, as far as there have been so many."""
    call = st.one_of(st.none(), st.tuples(PAIR, st.integers(0, 3)))
    bound, care = st.sampled_from([None, 0, 1, 2]), st.sampled_from(["", "keep", "scribble"])
    return st.builds(_calls, PAIR, bound, st.lists(call, min_size=1, max_size=6), care)


def _calls(w, bound, wanted, care):
    calls, version = [], 0
    for push in wanted:
        if push is None:
            calls.append(("pull",))
            continue
        late = min(push[1], version)
        calls.append(("push", push[0], version - late))
        version += bound is None or late <= bound
    return w, 0.5, bound, [*calls, ("pull",)], care


def trainings():
    """Up to five turns of three workers, each with one point."""
    turn = st.tuples(st.integers(0, 2), WHOLE, WHOLE)
    return st.lists(turn, min_size=1, max_size=5).map(
        lambda turns: (
            np.array([[x] for _, x, _ in turns], float),
            np.array([[y] for *_, y in turns], float),
            [worker for worker, *_ in turns],
            0.5,
        )
    )


def logs():
    """Up to eight steps; before each the store may fall back by some."""
    step = st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 9))
    return st.builds(_steps, st.integers(1, 4), st.integers(0, 2), st.lists(step, max_size=8))


def _steps(every, start, wanted):
    steps, number = [], start
    for back, staleness, loss in wanted:
        number = max(1, number + 1 - back)
        steps.append((number, 0, staleness, float(loss)))
    return every, start, steps


def stops():
    """One, both or neither of the numbers, and steps with gaps."""
    given = st.dictionaries(st.sampled_from(["num_steps", "last_step"]), st.integers(0, 6), max_size=2)
    gaps = st.lists(st.integers(1, 3), min_size=1, max_size=5)
    return st.builds(
        lambda settings, start, gaps: (settings, start, (start + np.cumsum(gaps)).tolist()),
        given,
        st.integers(0, 4),
        gaps,
    )


def lives():
    """Up to four updates and two deaths."""
    deaths = st.lists(st.tuples(st.integers(1, 4), st.booleans()), max_size=2)
    rows = st.lists(st.tuples(WHOLE, WHOLE), min_size=1, max_size=4)
    return st.builds(
        lambda every, deaths, rows: life(*np.array(rows, float).T.reshape(2, -1, 1), 0.5, every, deaths),
        *[st.integers(1, 3), deaths, rows],
    )
