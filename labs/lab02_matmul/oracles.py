"""What lab 02's answers must be: stopwatches judged by what they did, times taken apart, products and crossovers.

A trace is plain data, and nothing here is timed: what a machine takes is no evidence.
"""

import math
from statistics import median

from course.checks.compare import same, show

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
