"""Lab 02's exercises: stopwatches judged by what they did, times taken apart, products and crossovers foretold.

The oracles are also marking's. A trace is plain data, and nothing here is timed: what a machine takes is no evidence.
"""

import math
from contextlib import contextmanager
from functools import partial
from statistics import median

import numpy as np

from course.checks.exercise import Exercise, same, show, strategy

from .cases import measured_rows, pay_times, sheets_and_shapes, stopwatches, timelines
from .driver import Device

PARTS = ("products", "to_device", "from_device", "hidden", "idle")


# ---- 1. The stopwatch ------------------------------------------------------------------------------------------------


def stopwatch_complaint(seconds, actions, calls, accept, set_up, repeats):
    """Return None when these `actions` were those of a right stopwatch and `seconds` is what it must have read.

    All readings follow from the actions: the same device is kept here. The last `repeats` calls count, and each must
    stand alone, waited for, between two readings; a call before them must have met the set-up.
    """
    device, readings = Device(calls, accept, set_up), []  # a reading: (µs, calls so far)
    for action in actions:
        if action not in ("now", "work", "wait"):
            return f"{action!r} is nothing that a stopwatch does"
        got = getattr(device, action)()
        if action == "now":
            readings.append((got, device.called))
    if device.called <= repeats:
        return f"work was called {device.called} times; {repeats} and a call that does not count are asked for"
    times = []
    for call in range(device.called - repeats + 1, device.called + 1):
        before = [time for time, called in readings if called == call - 1]
        after = [time for time, called in readings if called == call]
        if not before or not after:
            return f"call {call} of {device.called} does not stand alone between two readings of the clock"
        times.append(after[0] - before[-1])
    true = [accept + calls[min(call, len(calls) - 1)] for call in range(device.called - repeats, device.called)]
    for call, (time, due) in enumerate(zip(times, true, strict=True), start=device.called - repeats + 1):
        if time != due:
            return f"call {call} took {due} µs from the call to its end, and the clock was read {time} µs apart"
    return None if same(seconds, median(true)) else f"expected {median(true)}, the median of {show(true)}"


# ---- 2. Take a timeline apart ----------------------------------------------------------------------------------------


def taken_apart(events):
    """Look at every microsecond by itself: what is under way?"""
    counts = dict.fromkeys(PARTS, 0)
    first = min((event["start"] for event in events), default=0)
    last = max((event["end"] for event in events), default=0)
    for moment in range(first, last):
        now = {event["what"] for event in events if event["start"] <= moment < event["end"]}
        counts["products"] += "product" in now
        counts["to_device"] += "to device" in now
        counts["from_device"] += "from device" in now
        counts["hidden"] += "product" in now and len(now) > 1
        counts["idle"] += not now
    return counts


# ---- 3. Foretell a product -------------------------------------------------------------------------------------------


def foretold(sheet, rows, inner, columns):
    """Count operations and numbers one row at a time, then divide."""
    operations = read = results = 0
    for _ in range(rows):
        read += inner
        results += columns
        operations += columns * (inner + inner)  # a multiplication and an addition for each pair
    for _ in range(inner):
        read += columns
    limits = [sheet["launch"], operations / sheet["operations"], 4 * (read + results) / sheet["memory"]]
    copies = 3 * sheet["latency"] + 4 * read / sheet["bus"] + 4 * results / sheet["bus"]
    return max(limits), copies


# ---- 4. Foretell the crossover ---------------------------------------------------------------------------------------


def crossing(rows, with_copies):
    """Halve the last interval that begins with the CPU, until it is a point; seconds are powers of n inside it."""
    gpu = [row["gpu"] + (row["copies"] if with_copies else 0) for row in rows]
    losing = [k for k, row in enumerate(rows) if gpu[k] >= row["cpu"]]
    if not losing:
        return float(rows[0]["n"])
    if losing[-1] == len(rows) - 1:
        return -1.0
    k = losing[-1]

    def behind(n):
        share = math.log(n / rows[k]["n"]) / math.log(rows[k + 1]["n"] / rows[k]["n"])
        here = rows[k]["cpu"] ** (1 - share) * rows[k + 1]["cpu"] ** share
        there = gpu[k] ** (1 - share) * gpu[k + 1] ** share
        return there >= here

    low, high = float(rows[k]["n"]), float(rows[k + 1]["n"])
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if behind(middle) else (low, middle)
    return low


# ---- 5. When does it pay? --------------------------------------------------------------------------------------------


def first_that_pays(cpu, gpu, there, back, limit=5000):
    """Try 1, 2, 3, … products."""
    for products in range(1, limit + 1):
        if there + products * (gpu + back) < products * cpu:
            return products
    return -1


# ---- The checks ------------------------------------------------------------------------------------------------------


class Part:
    """A method of a `Device`, as an argument that says what it is when a counterexample is shown."""

    def __init__(self, device, name, told):
        self.device, self.name, self.told = device, name, told

    def __call__(self):
        return getattr(self.device, self.name)()

    def __repr__(self):
        return self.told


def _parts(calls, accept, set_up, repeats):
    device = Device(calls, accept, set_up)
    told = f"work of {show(calls)} µs, handed over in {accept} µs, the first call {set_up} µs more"
    return Part(device, "work", told), Part(device, "now", "now"), Part(device, "wait", "wait"), repeats


@contextmanager
def _watching():
    def run(answer, arguments):
        got = answer(*arguments)
        return got, arguments[0].device.actions

    yield run


def _is_right_stopwatch(got, actions, work, now, wait, repeats):
    device = work.device
    complaint = stopwatch_complaint(got, actions, device.calls, device.accept, device.set_up, repeats)
    return complaint or True


def _both(make):
    fixed, drawn = make(np.random.default_rng(2))
    return fixed + drawn


_drawn = partial(strategy, f"{__package__}.strategies")

EXERCISES = {
    exercise.name: exercise
    for exercise in [
        Exercise(
            "stopwatch",
            lambda: [_parts(*one) for one in _both(stopwatches)],
            accepts=_is_right_stopwatch,
            inputs=lambda: _drawn("devices")().map(lambda one: _parts(*one)),
            watch=_watching,
            hint="call and wait once before you count; then, each time: read, call, wait, read; give the median.",
        ),
        Exercise(
            "take_apart",
            lambda: _both(timelines),
            taken_apart,
            inputs=_drawn("timelines"),
            hint="sort all starts and ends; between two neighbours nothing changes, so ask there what is under way.",
        ),
        Exercise(
            "product_times",
            lambda: _both(sheets_and_shapes),
            foretold,
            inputs=_drawn("sheets_and_shapes"),
            hint="2 · rows · inner · columns operations; three matrices of 4-byte numbers; two go in, one comes out.",
        ),
        Exercise(
            "predict_crossover",
            lambda: _both(measured_rows),
            crossing,
            inputs=_drawn("traces"),
            hint="find the last size at which the CPU still wins; the curves are straight in log(n), log(seconds).",
        ),
        Exercise(
            "pays_from",
            lambda: _both(pay_times),
            first_that_pays,
            inputs=_drawn("pay_times"),
            hint="compare there + k·(gpu + back) with k·cpu; a tie is no win; -1 when it never pays.",
        ),
    ]
}
