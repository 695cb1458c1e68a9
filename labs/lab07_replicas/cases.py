"""What lab 07 asks about, the smallest first: products, networks, pushes, descents, rates. Some fixed, some drawn."""

import numpy as np

from course.checks.exercise import Case

# ---- a split product -------------------------------------------------------------------------------------------------


def split(draw):
    """Return `Case`s of (a, b, number of tasks); in the last the tasks wait for one another."""
    cases = [Case(one, group="right", plan={"tasks": one[2], "together": False}) for one in products(draw)]
    # one is enough: tasks that are asked in turn make it wait for seconds
    a, b, tasks = products(draw)[-1]
    return [*cases, Case((a, b, tasks), group="at once", plan={"tasks": tasks, "together": True})]


def products(draw):
    """Return (a, b, number of tasks); whole numbers, so that a product is exact in whatever order it is added up."""
    sizes = [(1, 1, 1, 1), (2, 1, 1, 2), (3, 2, 2, 2), (4, 3, 2, 3), (11, 5, 3, 4)]
    return [
        (draw.integers(-4, 5, (rows, inner)).astype(float), draw.integers(-4, 5, (inner, columns)).astype(float), tasks)
        for rows, inner, columns, tasks in sizes
    ]


# ---- replicas --------------------------------------------------------------------------------------------------------


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


def synchronous(draw):
    """Return `Case`s of (w, learning rate, needed, pushes) in the groups mean, late and order."""
    cases = [Case(one, edge=True, group=group) for group, each in fixed_sync().items() for one in each]
    return cases + [Case(one, group=group) for group, each in drawn_sync(draw).items() for one in each]


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


def parabolas(draw):
    """Return (curvature, delay)."""
    fixed = [(1.0, 0), (1.0, 1), (2.0, 0), (1.0, 2), (0.5, 1), (1.0, 12)]
    return fixed, [(round(float(draw.uniform(0.2, 50)), 2), int(delay)) for delay in draw.permutation(11)[:4]]
