"""What lab 06's answers must be: a gradient by differences, a store by sums, late gradients by looking up versions."""

from fractions import Fraction

import numpy as np

from course.checks.compare import same, show

from .driver import tanh_gradient


def difference_gradient(w, x, y):
    """Half the difference of the losses one to either side, in fractions: exact, since the loss is a parabola."""
    w, x, y = ([Fraction(float(value)) for value in values] for values in (w, x, y))

    def loss(slope, intercept):
        return sum((slope * a + intercept - b) ** 2 for a, b in zip(x, y, strict=True)) / len(x)

    slope = (loss(w[0] + 1, w[1]) - loss(w[0] - 1, w[1])) / 2
    return np.array([float(slope), float((loss(w[0], w[1] + 1) - loss(w[0], w[1] - 1)) / 2)])


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


def stop_step(settings, start, steps):
    """Whether the settings are refused, and the first step that reaches the number."""
    given = {name: value for name, value in settings.items() if value is not None}
    if len(given) != 1:
        return True, None
    last = given["last_step"] if "last_step" in given else start + given["num_steps"]
    return False, next((step for step in steps if step >= last), None)


def judge_stop(case, got):
    """Return None, or what is wrong with (whether settings were refused, the step at which a stop was asked for)."""
    refused, step = wanted = stop_step(*case.arguments)
    if tuple(got) == wanted:
        return None
    if refused:
        return "expected a ValueError: exactly one of the two numbers is to be given"
    words = {None: "never"}.get(step, f"first at step {step}")
    given = "it raised ValueError" if got[0] else {None: "it never did"}.get(got[1], f"it did at step {got[1]}")
    return f"expected it to ask for a stop {words}; {given}"


# ---- deaths ----------------------------------------------------------------------------------------------------------


def judge_training(case, got):
    """Return None, or what the record of a store that died by plan shows; `got.seen` is (applied, version, w).

    `applied` has a row for each gradient: the version and the two parameters that it was applied to, and the gradient.
    """
    rows, version, w = got.seen
    applied = [(int(row[0]), row[1:3], row[3:]) for row in rows]
    complaint = judge_record(got.gave, applied, version, w, *case.arguments)
    if complaint is None:
        return None
    ends = [f"at push {push} of a life, {'applied' if taken else 'not applied'}" for push, taken in case.plan["deaths"]]
    return f"{complaint} (the store died {'; '.join(ends) or 'never'}; a checkpoint every {case.plan['every']})"


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
