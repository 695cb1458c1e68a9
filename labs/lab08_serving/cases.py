"""What lab 08 asks about the first three exercises, the smallest first: loads, batchers, histograms. Fixed, and drawn.

What a writer does in a folder and what a server answers is in `writers` and `scripts`.
"""

import math

import numpy as np

from course.checks.exercise import Case

from .scripts import calls
from .writers import folders

__all__ = ["batchers", "calls", "folders", "histograms", "loads"]

# ---- loads -----------------------------------------------------------------------------------------------------------


def loads(draw):
    """Return (due, seconds, workers): fixed ones, then drawn ones whose workers are nearly always busy."""
    fixed = [
        ([0], [1], 1),
        ([2], [1], 1),
        ([0, 0], [1, 1], 1),
        ([0, 5], [1, 1], 1),
        ([0, 0], [1, 1], 2),
        ([0, 0, 0], [4, 1, 1], 2),
        ([0, 1, 1], [1, 1, 2], 5),
    ]
    drawn = []
    for workers in (1, 2, 4):
        due = np.cumsum(draw.exponential(1.0, 30)) / workers
        drawn.append((np.round(due, 2), np.round(draw.uniform(0.1, 1.8, 30), 2), workers))
    return [(np.array(due, float), np.array(lasts, float), workers) for due, lasts, workers in fixed], drawn


# ---- the batcher -----------------------------------------------------------------------------------------------------


def take(now, number, rows=1, signature="x", until=math.inf):
    """Return the event that a request comes."""
    return ("take", now, number, rows, signature, until)


def idle(now):
    """Return the event that a worker has nothing to do."""
    return ("idle", now)


def batchers(draw):
    """Return `Case`s of (limit, room, events) in the groups rows, signatures and given up."""
    cases = [Case(one, edge=True, group=group) for group, each in fixed_batchers().items() for one in each]
    for group, signatures, gives_up in (("rows", "x", False), ("signatures", "xyz", False), ("given up", "x", True)):
        for limit, room in ((4, 99 if group == "signatures" else 3), (8, 99)):
            cases.append(Case((limit, room, events(draw, limit, signatures, gives_up)), group=group))
    return cases


def events(draw, limit, signatures, gives_up):
    """Return thirty-four events: two workers are idle at first; then requests come in bursts, and are got through."""
    found, now = [idle(0.0), idle(0.0), take(0.0, 1), take(0.0, 2)], 0.0
    for number in range(3, 33):
        now += float(draw.integers(0, 3)) / 2
        if draw.random() < (0.75 if number % 15 < 8 else 0.25):
            until = now + float(draw.integers(1, 7)) / 2 if gives_up and draw.random() < 0.6 else math.inf
            rows = int(draw.integers(1, limit // 2 + 1))
            found.append(take(now, number, rows, str(draw.choice(list(signatures))), until))
        else:
            found.append(idle(now))
    return found


def fixed_batchers():
    """Return group -> arguments of a batcher that is driven: the cases that everybody gets, the smallest first."""
    return {
        "rows": [
            (1, 1, [take(0, 1)]),
            (2, 2, [idle(0), take(1, 1)]),
            (4, 3, [take(0, 1), take(0, 2), idle(1)]),
            (2, 3, [take(0, 1), take(0, 2), take(0, 3), idle(1), idle(1)]),
            (3, 3, [take(0, 1, 2), take(0, 2), take(0, 3), idle(1), idle(2)]),
            (4, 3, [take(0, 1, 2), take(0, 2, 3), take(0, 3), idle(1), idle(1)]),
            (4, 1, [take(0, 1), take(1, 2), idle(2), take(3, 3)]),
            (4, 0, [take(0, 1), idle(1), take(2, 2), take(3, 3)]),
            (4, 2, [idle(0), idle(0), take(1, 1), take(1, 2), take(1, 3), idle(2)]),
        ],
        "signatures": [
            (4, 4, [take(0, 1), take(0, 2, 1, "y"), idle(1), idle(1)]),
            (4, 4, [take(0, 1), take(0, 2, 1, "y"), take(0, 3), idle(1), idle(1)]),
            (2, 4, [take(0, 1), take(0, 2, 1, "y"), take(0, 3), idle(1)]),
            (4, 4, [take(0, 1), take(0, 2, 1, "y"), take(0, 3, 1, "y"), idle(1), idle(1)]),
            (4, 9, [take(0, 1, 3), take(0, 2, 2, "y"), take(0, 3, 2), take(0, 4), idle(1), idle(1), idle(1)]),
            (4, 9, [take(0, 1, 3), take(0, 2, 2, "y"), take(0, 3), idle(1)]),
        ],
        "given up": [
            (4, 4, [take(0, 1, until=2), idle(1)]),
            (4, 4, [take(0, 1, until=9), idle(1), idle(2)]),
            (4, 4, [take(0, 1, until=2), idle(3), take(4, 2)]),
            (4, 4, [take(0, 1, until=2), idle(2)]),
            (4, 1, [take(0, 1, until=2), take(1, 2)]),
            (4, 1, [take(0, 1, until=2), take(2, 2), idle(3)]),
            (4, 4, [take(0, 1, until=1), take(0, 2), take(0, 3, 4), idle(2)]),
            (2, 4, [take(0, 1), take(0, 2, until=1), take(0, 3), idle(2)]),
            (4, 9, [take(0, 1, until=1), take(0, 2, 3), take(0, 3, 2), take(0, 4), idle(2)]),
        ],
    }


# ---- histograms ------------------------------------------------------------------------------------------------------


def histograms(draw):
    """Return `Case`s of (share, bounds, readings) in the groups one, several and restarted."""
    cases = [Case(made(*one), edge=True, group=group) for group, each in fixed_histograms().items() for one in each]
    for group, restarted in (("one", [False]), ("several", [False] * 3), ("restarted", [True, False, True])):
        cases += [Case(histogram(draw, restarted, large), group=group) for large in (4, 60)]
    return cases


def made(share, bounds, *readings):
    """Return the arguments with arrays; `bounds` without the infinite one."""
    counts = [(np.array(before, np.int64), np.array(after, np.int64)) for before, after in readings]
    return float(share), np.array([*bounds, math.inf]), counts


def fixed_histograms():
    """Return group -> (share, finite bounds, readings): the cases that everybody gets, the smallest first."""
    none = [0, 0, 0]
    return {
        "one": [
            (0.5, [1], ([0, 0], [1, 1])),
            (0.5, [1, 2], (none, [1, 3, 4])),
            (1, [1, 2], (none, [1, 3, 3])),
            (0.5, [1, 2], (none, [0, 2, 2])),
            (0.5, [1, 2], (none, [0, 0, 2])),
            (0.75, [1, 2], (none, [1, 2, 4])),
            (0.5, [1, 2], (none, none)),
            (0.5, [1, 2, 4], ([0] * 4, [2, 2, 4, 4])),
            (0.5, [1, 2], ([1, 1, 1], [1, 3, 3])),
            (0.5, [1, 2], ([2, 3, 3], [2, 3, 3])),
            (0.25, [2, 5], ([4, 4, 5], [8, 12, 13])),
        ],
        "several": [
            (0.5, [1, 2], (none, [2, 2, 2]), (none, [0, 2, 2])),
            (0.5, [1, 2], (none, [6, 6, 6]), (none, [0, 2, 2])),
            (0.75, [1, 2], (none, none), (none, [0, 4, 4])),
            (0.5, [1, 2], ([9, 9, 9], [9, 9, 9]), ([1, 1, 2], [1, 3, 4])),
            (1, [1, 2], (none, [1, 1, 1]), (none, [0, 0, 1])),
            (0.5, [1, 2, 4], ([0] * 4, [2, 2, 2, 2]), ([0] * 4, [0, 0, 2, 2])),
        ],
        "restarted": [
            (0.5, [1, 2], ([5, 5, 5], [0, 2, 2])),
            (0.5, [1, 2], ([9, 9, 9], none)),
            (0.25, [1, 2], ([9, 9, 9], [2, 2, 2])),
            (1, [1, 2], ([9, 9, 9], [0, 0, 2])),
            (0.5, [1, 2, 4], ([9] * 4, [2, 2, 4, 4])),
            (0.5, [1, 2], ([2, 2, 9], [2, 4, 4]), (none, [0, 2, 2])),
            (0.75, [1, 2], ([9, 9, 9], [1, 4, 4]), ([4, 4, 4], [8, 8, 8])),
        ],
    }


def histogram(draw, restarted, large):
    """Return arguments that are drawn: a worker for each of `restarted`, about `large` requests a bucket."""
    bounds = np.round(np.cumsum(draw.uniform(0.01, 1.0, 6)), 2).tolist()

    def counts():
        return np.cumsum(draw.integers(0, large, 7) * (draw.random(7) < 0.7))

    readings = []
    for again in restarted:
        first, more = counts(), counts()
        readings.append((first + more + 1, more) if again else (first, first + more))
    # in eighths, a share of a count is exact: nothing depends on how it is rounded
    return made(float(draw.integers(1, 9)) / 8, bounds, *readings)
