"""What lab 06's answers must be: a gradient by differences, a store by sums, late gradients by looking up versions.

Each part has its oracle, and the cases that the check and the marks begin with; what is drawn is drawn anew for each.
"""

from fractions import Fraction

import numpy as np

from course.checks.exercise import same, show

from .driver import tanh_gradient


def difference_gradient(w, x, y):
    """Half the difference of the losses one to either side, in fractions: exact, since the loss is a parabola."""
    w, x, y = ([Fraction(float(value)) for value in values] for values in (w, x, y))

    def loss(slope, intercept):
        return sum((slope * a + intercept - b) ** 2 for a, b in zip(x, y, strict=True)) / len(x)

    slope = (loss(w[0] + 1, w[1]) - loss(w[0] - 1, w[1])) / 2
    return np.array([float(slope), float((loss(w[0], w[1] + 1) - loss(w[0], w[1] - 1)) / 2)])


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


def store_told(w, learning_rate, max_staleness, calls, care):
    """What each call must tell: parameters as the first ones less the rate times a sum of gradients."""
    taken, told = [], []
    for call, *given in calls:
        if call == "pull":
            total = np.sum([np.zeros(len(w)), *taken], axis=0)
            told.append((len(taken), w - learning_rate * total))
            continue
        staleness = len(taken) - given[1]
        dropped = max_staleness is not None and staleness > max_staleness
        told.append((None if dropped else staleness, np.zeros(0)))
        taken += [] if dropped else [np.array(given[0], float)]
    return told


def judge_store(got, *arguments):
    """Return None, or which call told something else than it must."""
    told, calls = store_told(*arguments), arguments[3]
    if len(got) != len(told):
        return f"{len(told)} calls tell {len(told)} things"
    when = ", looked at after the last call," if arguments[4] == "keep" else ""
    for number, (call, one, due) in enumerate(zip(calls, got, told, strict=True), start=1):
        if not same(tuple(one), due):
            of = slice(None) if call[0] == "pull" else 0
            return f"call {number}, {call[0]}{when} told {show(tuple(one)[of])}; expected {show(due[of])}"
    return None


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


def all_versions(x, y, turns, learning_rate):
    """Look up which version each gradient is of; make every version from the first one and all gradients up to it."""
    versions, found = [np.zeros(2)], []
    for k, worker in enumerate(turns):
        made = max((earlier + 1 for earlier in range(k) if turns[earlier] == worker), default=0)
        found.append(tanh_gradient(versions[made], x[k], y[k]))
        sums = np.cumsum(np.square(found), axis=0)
        versions.append(-learning_rate * np.sum(np.array(found) / (np.sqrt(sums) + 1e-10), axis=0))
    return np.array(versions)


def trainings(draw):
    """Return (x, y, turns, learning rate): one turn, a worker twice, two that alternate, and drawn orders."""
    orders = [[], [0], [0, 0], [0, 1], [0, 1, 1, 0]]
    orders += [draw.integers(workers, size=count).tolist() for workers, count in ((2, 6), (3, 12), (5, 40))]
    return [(*points(draw, len(turns), 3), turns, 0.8) for turns in orders]


# ---- hooks -----------------------------------------------------------------------------------------------------------


def log_records(every, start, steps):
    """Every step number from 1 up: the last telling of it counts, unless a smaller number was told after it."""
    last = {step[0]: (place, step) for place, step in enumerate(steps)}
    kept = [
        step
        for number, (place, step) in sorted(last.items())
        if all(later[0] >= number for later in steps[place + 1 :])
    ]
    records = []
    for first in range(1, max((step[0] for step in kept), default=0) + 1, every):
        block = [step for step in kept if first <= step[0] < first + every]
        if block:
            losses = [loss for *_, loss in block]
            records.append((block[-1][0], float(np.mean(losses)), max(late for _, _, late, _ in block)))
    return records


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
    """Return group -> (every, start, steps) of trainings that a hook keeps a log of."""
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
    return {"told": told, "restored": back}


def stop_step(settings, start, steps):
    """Whether the settings are refused, and the first step that reaches the number."""
    given = {name: value for name, value in settings.items() if value is not None}
    if len(given) != 1:
        return True, None
    last = given["last_step"] if "last_step" in given else start + given["num_steps"]
    return False, next((step for step in steps if step >= last), None)


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


def judge_record(got, applied, version, w, x, y):
    """Return None, or the first of the gradients that the store was handed, (version, w, gradient), that is not due."""
    for at, held, gradient in applied:
        if at >= len(x):
            return f"the store was handed a gradient at version {at}, after the {len(x)} updates that were asked for"
        due = tanh_gradient(held, x[at], y[at])
        if not np.allclose(gradient, due, rtol=1e-6, atol=1e-9):
            return f"at version {at} the store was handed the gradient {show(gradient)}; due was {show(due)}"
    if version != len(x):
        return f"the store was left at version {version}; expected {len(x)}"
    try:
        found = np.asarray(got, float)
    except (TypeError, ValueError):
        found = np.zeros(0)
    right = found.shape == (2,) and np.allclose(found, w, rtol=1e-6, atol=1e-9)
    return None if right else f"expected the store's parameters, {show(w)}"


def lives(draw):
    """Return (x, y, rate, every, deaths) of trainings whose store dies; a death is (push of that life, applied)."""
    fixed = [(1, 1, []), (3, 2, []), (3, 1, [(1, False)]), (3, 1, [(2, True)]), (5, 2, [(4, True)])]
    fixed += [(4, 4, [(4, True), (3, False)]), (6, 3, [(5, False), (1, True), (2, True)])]
    deaths = [(int(draw.integers(1, 6)), bool(draw.random() < 0.5)) for _ in range(2)]
    drawn = [(12, int(draw.integers(2, 5)), deaths)]
    return [(*points(draw, count, 3), 0.25, every, tuple(deaths)) for count, every, deaths in [*fixed, *drawn]]
