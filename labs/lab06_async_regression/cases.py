"""What lab 06 asks about, the smallest first: lines, calls, orders of arrival, logs, deaths. Some fixed, some drawn."""

import numpy as np

from course.checks.exercise import Case


def points(draw, *shape):
    """Return x and y of a line that is drawn, with noise."""
    slope, intercept = draw.uniform(-3, 3, 2)
    x = np.round(draw.uniform(-1, 1, shape), 2)
    return x, np.round(slope * x + intercept + 0.33 * draw.normal(size=shape), 2)


def lines(draw):
    """Return (w, x, y) for the gradient of a line fit: fixed ones of one and two points, then three drawn."""
    fixed = [([0, 0], [1], [1]), ([1, 0], [2], [5]), ([0, 2], [-1], [0]), ([1, 1], [0, 2], [1, 0])]
    drawn = [(np.round(draw.normal(size=2), 2), *points(draw, count)) for count in (3, 7, 20)]
    return [tuple(np.array(part, float) for part in one) for one in fixed], drawn


# ---- the store -------------------------------------------------------------------------------------------------------


def stores(draw):
    """Return `Case`s of (w, learning rate, largest staleness, calls, care) in the groups plain, stale and copies."""
    cases = [Case(one, edge=True, group=group) for group, each in fixed_stores().items() for one in each]
    for group, max_staleness, care in (
        ("plain", None, ""),
        ("stale", 1, ""),
        ("stale", 0, ""),
        ("copies", None, "keep"),
    ):
        for count in (6, 20):
            w, rate = np.round(draw.normal(size=2), 2), round(float(draw.uniform(0.1, 0.9)), 2)
            calls = store_calls(draw, count, max_staleness)
            cases.append(Case((w, rate, max_staleness, calls, care), group=group))
    return cases


def store_calls(draw, count, max_staleness):
    """Return calls of workers that pull, and push gradients of versions that there have been."""
    calls, version = [], 0
    for _ in range(count):
        if draw.random() < 0.4:
            calls.append(("pull",))
            continue
        pulled = int(draw.integers(max(0, version - 3), version + 1))
        calls.append(("push", np.round(draw.normal(size=2), 2), pulled))
        version += max_staleness is None or version - pulled <= max_staleness
    return [*calls, ("pull",)]


def _push(slope, intercept, version):
    return ("push", np.array([slope, intercept], float), version)


def fixed_stores():
    """Return group -> arguments of a store that is driven: the cases that everybody gets, the smallest first."""
    w, pull = np.array([1.0, 2.0]), ("pull",)
    twice = [_push(1, 0, 0), _push(0, 4, 0), pull]
    return {
        "plain": [
            (w, 0.5, None, [pull], ""),
            (w, 0.5, None, [_push(2, 4, 0), pull], ""),
            (w, 0.25, None, [*twice, _push(1, 1, 1), pull], ""),
        ],
        "stale": [
            (w, 0.5, 0, [*twice, _push(0, 2, 1), pull], ""),
            (w, 0.5, 1, [*twice, _push(2, 2, 0), _push(4, 0, 2), pull], ""),
        ],
        "copies": [
            (w, 0.5, None, [pull, _push(2, 2, 0), pull], "keep"),
            (w, 0.5, None, [pull, pull], "scribble"),
            (w, 0.5, None, [_push(1, 0, 0), pull, _push(0, 1, 0), pull, pull], "scribble"),
        ],
    }


# ---- late gradients --------------------------------------------------------------------------------------------------


def trainings(draw):
    """Return `Case`s of (x, y, turns, learning rate): one turn, a worker twice, two in turns, and drawn orders."""
    orders = [[], [0], [0, 0], [0, 1], [0, 1, 1, 0]]
    orders += [draw.integers(workers, size=count).tolist() for workers, count in ((2, 6), (3, 12), (5, 40))]
    return [Case((*points(draw, len(turns), 3), turns, 0.8), edge=len(turns) < 3) for turns in orders]


# ---- hooks -----------------------------------------------------------------------------------------------------------


def told_steps(draw, start, count, restored=()):
    """Return steps from `start` + 1 on; after each `(after, to)` of `restored` the next number is `to` + 1."""
    steps, number, left = [], start, dict(restored)
    while len(steps) < count:
        number += 1
        loss = round(float(draw.uniform(0, 9)), 2)
        steps.append((number, int(draw.integers(3)), int(draw.integers(6)), loss))
        number = left.pop(len(steps), number)
    return steps


def logs(draw):
    """Return `Case`s of (every, start, steps) of trainings that a hook keeps a log of, in groups told and restored."""
    told = [(2, 0, [(1, 0, 0, 4.0), (2, 1, 1, 2.0)]), (2, 0, [(1, 0, 0, 4.0), (2, 0, 0, 2.0), (3, 1, 2, 1.0)])]
    told += [
        (1, 0, told_steps(draw, 0, 2)),
        (5, 0, []),
        (3, 4, told_steps(draw, 4, 7)),
        (10, 0, told_steps(draw, 0, 34)),
    ]
    back = [(2, 0, [(1, 0, 0, 4.0), (2, 0, 3, 2.0), (2, 0, 1, 6.0)])]
    back += [(1, 0, [(1, 0, 0, 4.0), (2, 0, 1, 2.0), (1, 0, 0, 5.0)]), (4, 0, told_steps(draw, 0, 12, [(10, 3)]))]
    back += [(2, 0, told_steps(draw, 0, 7, [(3, 1)])), (4, 6, told_steps(draw, 6, 30, [(10, 8), (11, 7), (20, 12)]))]
    return [Case(one, group="told") for one in told] + [Case(one, group="restored") for one in back]


def stops(draw):
    """Return (settings, step at the beginning, steps told)."""
    fixed = [
        ({"last_step": 2}, 0, [1, 2, 3]),
        ({"last_step": 2}, 0, [1, 3, 4]),
        ({"last_step": 9}, 0, [1, 2]),
        ({"num_steps": 2}, 0, [1, 2, 3]),
        ({"num_steps": 2}, 5, [6, 7, 8]),
        ({"num_steps": 3}, 10, [12, 15, 16, 17]),
        ({"last_step": 4}, 6, [7, 8]),
        ({"last_step": 0}, 0, [1]),
        ({"num_steps": 0}, 3, [4, 5]),
        ({}, 0, [1]),
        ({"num_steps": 2, "last_step": 2}, 0, [1, 2]),
        ({"num_steps": 0, "last_step": 0}, 0, [1]),
    ]
    drawn = []
    for name in ("last_step", "num_steps") * 3:
        start = int(draw.integers(0, 50))
        steps = (start + np.cumsum(draw.integers(1, 5, 20))).tolist()
        drawn.append(({name: int(draw.integers(5, 40)) + (start if name == "last_step" else 0)}, start, steps))
    return fixed, drawn


# ---- deaths ----------------------------------------------------------------------------------------------------------


def lives(draw):
    """Return `Case`s of (x, y) whose plan is that of a store that dies."""
    fixed = [(1, 1, []), (3, 2, []), (3, 1, [(1, False)]), (3, 1, [(2, True)]), (5, 2, [(4, True)])]
    fixed += [(4, 4, [(4, True), (3, False)]), (6, 3, [(5, False), (1, True), (2, True)])]
    deaths = [(int(draw.integers(1, 6)), bool(draw.random() < 0.5)) for _ in range(2)]
    drawn = [(12, int(draw.integers(2, 5)), deaths)]
    return [life(*points(draw, count, 3), 0.25, every, deaths) for count, every, deaths in [*fixed, *drawn]]


def life(x, y, rate, every, deaths):
    """Return the `Case` of a store with this learning rate, a checkpoint every so many updates, and its deaths.

    A death is (push of that life at which it ends, whether that push was still applied); `down`: seconds till the next.
    """
    return Case((x, y), plan={"rate": rate, "every": every, "deaths": [list(end) for end in deaths], "down": 0.05})
