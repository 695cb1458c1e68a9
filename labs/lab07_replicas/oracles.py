"""What lab 07's answers must be: whole products, gradients row by row, sums looked up, roots of a polynomial.

Each part has its oracle, and the cases that the check and the marks begin with; what is drawn is drawn anew for each.
"""

from itertools import pairwise

import numpy as np

from course.checks.exercise import same, show

from .driver import slope

# ---- a split product -------------------------------------------------------------------------------------------------


def products(draw):
    """Return (a, b, number of tasks); whole numbers, so that a product is exact in whatever order it is added up."""
    sizes = [(1, 1, 1, 1), (2, 1, 1, 2), (3, 2, 2, 2), (4, 3, 2, 3), (11, 5, 3, 4)]
    return [
        (draw.integers(-4, 5, (rows, inner)).astype(float), draw.integers(-4, 5, (inner, columns)).astype(float), tasks)
        for rows, inner, columns, tasks in sizes
    ]


def shares_of(rows, tasks):
    """Return (first, last) row of each task: as equal as can be, the larger ones first."""
    each, over = divmod(rows, tasks)
    ends = [task * each + min(task, over) for task in range(tasks + 1)]
    return list(pairwise(ends))


def judge_product(got, asked, a, b, tasks):
    """Return None, or what is wrong with the product, or with what the tasks were `asked`: (task, left, right)."""
    for task, (first, last) in enumerate(shares_of(len(a), tasks)):
        given = [(left, right) for number, left, right in asked if number == task]
        if len(given) != 1:
            return f"task {task} was asked {len(given)} times, not once"
        left, right = given[0]
        if not np.array_equal(left, a[first:last]):
            share = f"rows {first} to {last - 1} of a" if last - first > 1 else f"row {first} of a"
            return f"task {task} was given {show(left)} as its left side; its share is {share}, {show(a[first:last])}"
        if not np.array_equal(right, b):
            return f"task {task} was given {show(right)} as its right side, not all of b"
    try:
        right = np.array_equal(np.asarray(got, float), a @ b)
    except (TypeError, ValueError):
        right = False
    return None if right else f"expected {show(a @ b)}"


# ---- replicas --------------------------------------------------------------------------------------------------------


def row_gradient(parameters, row, label):
    """Return the gradient of one row's cross-entropy, by the chain rule: what each layer passes back."""
    w1, b1, w2, b2 = parameters
    hidden = 1 / (1 + np.exp(-(row @ w1 + b1)))
    scores = hidden @ w2 + b2
    back = np.exp(scores - scores.max())
    back /= back.sum()
    back[label] -= 1
    inner = (w2 @ back) * hidden * (1 - hidden)
    return np.concatenate([np.outer(row, inner).ravel(), inner, np.outer(hidden, back).ravel(), back])


def every_gradient(parameters, x, labels, shares):
    """Return each replica's gradient, the mean of its rows', and the mean of all rows'."""
    rows = np.array([row_gradient(parameters, *one) for one in zip(x, labels, strict=True)])
    ends = np.cumsum([0, *shares])
    parts = [rows[first:last] for first, last in pairwise(ends)]
    return np.array([part.mean(axis=0) if len(part) else np.zeros(rows.shape[1]) for part in parts]), rows.mean(axis=0)


def networks(draw):
    """Return (parameters, x, labels, shares) as arrays: one replica, equal and unequal shares, one without rows."""
    made = []
    for sizes, shares in [((1, 1, 2), [1]), ((2, 1, 2), [1, 1]), ((2, 2, 2), [2, 1]), ((3, 2, 3), [1, 0, 3])]:
        made.append((*network(draw, sizes, sum(shares)), shares))
    return [*made, (*network(draw, (6, 4, 5), 20), [7, 2, 11])]


def network(draw, sizes, rows):
    """Return the parameters, rows and labels of a network of these sizes."""
    inputs, hidden, classes = sizes
    shapes = [(inputs, hidden), (hidden,), (hidden, classes), (classes,)]
    parameters = [np.round(draw.normal(size=shape), 2) for shape in shapes]
    return parameters, np.round(draw.normal(size=(rows, inputs)), 2), draw.integers(classes, size=rows)


# ---- the store that waits --------------------------------------------------------------------------------------------


def sync_told(w, learning_rate, needed, pushes):
    """What each push must tell: looked through all pushes before it, update by update."""
    told, updates, kept = [], [], []
    for worker, version, gradient, rows in pushes:
        word = "dropped"
        if version == len(updates) and all(worker != other[0] for other in kept):
            kept.append((worker, np.array(gradient, float), rows))
            word = "waiting" if len(kept) < needed else "applied"
        if word == "applied":
            total = np.zeros(len(w))
            for _, found, count in sorted(kept, key=lambda one: one[0]):
                total = total + found * count
            updates.append(total / sum(count for *_, count in kept))
            kept = []
        told.append((word, len(updates), w - learning_rate * np.sum([np.zeros(len(w)), *updates], axis=0)))
    return told


def judge_sync(got, *arguments):
    """Return None, or which push told something else than it must."""
    told = sync_told(*arguments)
    if len(got) != len(told):
        return f"{len(told)} pushes tell {len(told)} things"
    for number, (push, one, due) in enumerate(zip(arguments[3], got, told, strict=True), start=1):
        if not same(tuple(one), due):
            return f"push {number}, {show(push)}, led to {show(tuple(one))}; expected {show(due)}"
    return None


def fixed_sync():
    """Return group -> (w, learning rate, needed, pushes), a push being (worker, version, gradient, rows)."""
    w = np.array([1.0, 2.0])
    mean = [
        (w, 0.5, 1, [(0, 0, [2.0, 4.0], 1)]),
        (w, 0.5, 2, [(0, 0, [2.0, 4.0], 1), (1, 0, [4.0, 0.0], 1)]),
        (w, 0.5, 2, [(0, 0, [4.0, 0.0], 3), (1, 0, [0.0, 8.0], 1)]),
        (w, 0.25, 2, [(2, 0, [4.0, 4.0], 1), (0, 0, [8.0, 0.0], 1), (0, 1, [1.0, 1.0], 2), (2, 1, [4.0, 1.0], 1)]),
    ]
    late = [
        (w, 0.5, 1, [(0, 0, [2.0, 2.0], 1), (1, 0, [4.0, 4.0], 1)]),
        (w, 0.5, 2, [(0, 0, [2.0, 2.0], 1), (0, 0, [6.0, 6.0], 1), (1, 0, [4.0, 0.0], 1)]),
        (w, 0.5, 2, [(0, 0, [2.0, 2.0], 1), (2, 0, [4.0, 0.0], 1), (1, 0, [9.0, 9.0], 1), (1, 1, [2.0, 0.0], 1)]),
    ]
    # 1e16 and 1 more is 1e16: only in the order of the numbers does the 1 survive
    large = {0: [1e16, 0.0], 1: [-1e16, 0.0], 2: [1.0, 3.0]}
    order = [(w, 1.0, 3, [(k, 0, large[k], 1) for k in by]) for by in ((0, 1, 2), (2, 0, 1), (0, 2, 1))]
    return {"mean": mean, "late": late, "order": order}


def drawn_sync(draw):
    """Return group -> arguments whose pushes are drawn: workers that are in time, and workers that are not."""
    large, perhaps = float(draw.integers(1, 9)) * 1e16, [draw.permutation(3).tolist() for _ in range(2)]
    small = draw.integers(1, 9, 4).astype(float)
    gradients = {0: [large, small[0]], 1: [-large, small[1]], 2: [small[2], small[3]]}
    order = [(np.zeros(2), 1.0, 3, [(k, 0, list(gradients[k]), 1) for k in by]) for by in perhaps]
    drawn = {"mean": [], "late": [], "order": order}
    for needed, count in ((2, 8), (3, 15)):
        w, rate = np.round(draw.normal(size=2), 2), round(float(draw.uniform(0.1, 0.9)), 2)
        orders = np.concatenate([draw.permutation(needed) for _ in range(count // needed)]).tolist()
        good = [(worker, k // needed, *_gradient(draw)) for k, worker in enumerate(orders)]
        drawn["mean"].append((w, rate, needed, good))
        versions = sorted(draw.integers(0, 3, 2 * count).tolist())
        wild = [(int(draw.integers(needed + 2)), version, *_gradient(draw)) for version in versions]
        drawn["late"].append((w, rate, needed, wild))
    return drawn


def _gradient(draw):
    return np.round(draw.normal(size=2), 2).tolist(), int(draw.integers(1, 9))


# ---- stale gradients -------------------------------------------------------------------------------------------------


def descents(draw):
    """Return (w, rate, delay, steps)."""
    fixed = [
        (1.0, 0.5, 0, 0),
        (1.0, 0.5, 0, 2),
        (1.0, 0.5, 1, 1),
        (1.0, 0.5, 1, 3),
        (2.0, 0.25, 3, 6),
        (1.0, 1.0, 9, 4),
    ]
    drawn = [(float(draw.normal()), float(draw.uniform(0.1, 1.5)), int(draw.integers(1, 7)), 40) for _ in range(4)]
    return fixed, drawn


def judge_descent(got, w, rate, delay, steps):
    """Return None, or the first version that does not follow from the answer's own versions before it."""
    try:
        found = np.asarray(got, float)
    except (TypeError, ValueError):
        found = np.zeros(())
    if found.shape != (steps + 1,):
        return f"expected {steps + 1} versions"
    for k, version in enumerate(found):
        due = w if k == 0 else found[k - 1] - rate * slope(found[max(0, k - 1 - delay)])
        if not np.isclose(version, due, rtol=1e-6, atol=1e-12):
            return f"version {k} is {float(version):.6g}; after those before it, {float(due):.6g} is due"
    return None


def largest_root(rate, delay):
    """Return the size of the largest root of z^(d+1) - z^d + rate: the factor by which versions grow in the end."""
    polynomial = np.zeros(delay + 2)
    polynomial[:2] = 1, -1
    polynomial[-1] += rate
    return np.abs(np.roots(polynomial)).max()


def judge_rate(got, curvature, delay):
    """Return None where versions shrink at 1 % less than the rate `got`, and grow at 1 % more."""
    try:
        rate = float(got)
    except (TypeError, ValueError):
        return "expected a number"
    if not 0 < rate * curvature < 10:
        return "expected a rate above 0 at which versions begin to grow"
    if largest_root(0.99 * rate * curvature, delay) > 1:
        return "with a rate 1 % smaller the versions still grow"
    return None if largest_root(1.01 * rate * curvature, delay) > 1 else "with a rate 1 % larger they still shrink"


def parabolas(draw):
    """Return (curvature, delay)."""
    fixed = [(1.0, 0), (1.0, 1), (2.0, 0), (1.0, 2), (0.5, 1), (1.0, 12)]
    return fixed, [(round(float(draw.uniform(0.2, 50)), 2), int(delay)) for delay in draw.permutation(11)[:4]]
