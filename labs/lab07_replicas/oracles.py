"""What lab 07's answers must be: whole products, gradients row by row, sums looked up, roots of a polynomial."""

import hashlib
from itertools import pairwise

import numpy as np

from course.checks.compare import same, show

from .driver import slope

# ---- a split product -------------------------------------------------------------------------------------------------


def shares_of(rows, tasks):
    """Return (first, last) row of each task: as equal as can be, the larger ones first."""
    each, over = divmod(rows, tasks)
    ends = [task * each + min(task, over) for task in range(tasks + 1)]
    return list(pairwise(ends))


def judge_split(case, got):
    """Return None, or what is wrong with the product, or with what the tasks were asked.

    `got.seen` has (task, rows, digest of its left side, digest of its right side, whether all were asked in time) for
    each request.
    """
    a, b, tasks = case.arguments
    for task, (first, last) in enumerate(shares_of(len(a), tasks)):
        given = [one for one in got.seen if one[0] == task]
        if len(given) != 1:
            return f"task {task} was asked {len(given)} times, not once"
        _, rows, left, right, _ = given[0]
        if left != digest(a[first:last]):
            return f"task {task} was given {rows} rows; its share is rows {first} to {last - 1} of a"
        if right != digest(b):
            return f"task {task} was given another right side than all of b"
    if len(got.seen) != tasks:
        return f"{len(got.seen)} requests for {tasks} tasks"
    try:
        right = np.array_equal(np.asarray(got.gave, float), a @ b)
    except (TypeError, ValueError):
        right = False
    if not right:
        return f"expected {(a @ b).tolist()}"
    waited = [task for task, *_, together in sorted(got.seen) if not together]
    return f"task {waited[0]} was waited for before the others were asked" if waited else None


def digest(array):
    """Return a name for the shape and the bytes of an array."""
    array = np.ascontiguousarray(array)
    return hashlib.sha256(repr(array.shape).encode() + array.tobytes()).hexdigest()


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


def judge_gradients(case, got):
    """Return None, or which of the two arrays, the replicas' gradients and their mean, is not what it must be."""
    dues = every_gradient(*case.arguments)
    for found, due, name in zip(got, dues, ("the replicas' gradients", "their mean"), strict=True):
        if found.shape != due.shape:
            return f"expected {name} as a tensor of shape {due.shape}"
        if not np.allclose(found, due, rtol=1e-6, atol=1e-9):
            return f"expected {name} to be {due.round(6).tolist()}"
    return None


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


# ---- stale gradients -------------------------------------------------------------------------------------------------


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
