"""What lab 08's answers are: latencies looked up, requests gone through, shares halved, a folder in a dictionary."""

import math

import numpy as np

from course.checks.compare import same, show

from .words import of_step

# ---- latencies -------------------------------------------------------------------------------------------------------


def looked_up_latencies(due, seconds, workers):
    """Begin each request when fewer than `workers` of those before it are unfinished: their `workers`th last end."""
    ends = []
    for when, lasts in zip(due, seconds, strict=True):
        before = sorted(ends)
        free = before[-workers] if len(before) >= workers else when
        ends.append(max(when, free) + lasts)
    return np.array(ends) - due


# ---- the batcher -----------------------------------------------------------------------------------------------------


def batcher_told(limit, room, events):
    """What each call must give: all requests that ever came are gone through, with a note whether they wait."""
    came, waits, idle, told = [], {}, 0, []
    for what, now, *about in events:
        waiting = [one for one in came if waits[one[0]] and one[3] > now]
        if what == "take":
            came.append(about)
            word = "started" if idle else "queued" if len(waiting) < room else "refused"
            waits[about[0]] = word == "queued"
            idle -= word == "started"
            told.append((word, []))
            continue
        alike = [one for one in waiting if one[2] == waiting[0][2]]
        fits = [sum(rows for _, rows, *_ in alike[: count + 1]) <= limit for count in range(len(alike))]
        batch = [one[0] for one, fit in zip(alike, fits, strict=True) if fit]
        waits |= dict.fromkeys(batch, False)
        idle += not batch
        told.append(("", batch))
    return told


def judge_batcher(got, *arguments):
    """Return None, or which call gave something else than it must."""
    told = batcher_told(*arguments)
    if len(got) != len(told):
        return f"{len(told)} calls give {len(told)} things"
    for number, (event, one, due) in enumerate(zip(arguments[2], got, told, strict=True), start=1):
        if not same(tuple(one), due):
            part = 0 if event[0] == "take" else 1
            return f"call {number}, {event[0]}, gave {show(tuple(one)[part])}; expected {show(due[part])}"
    return None


# ---- histograms ------------------------------------------------------------------------------------------------------


def halved_quantile(share, bounds, readings):
    """Return the smallest latency at which `share` of the requests are counted, by halving an interval."""
    edges, counts = [0.0, *bounds[:-1]], [0] * len(bounds)
    for before, after in readings:
        lost = after[-1] < before[-1]
        counts = [total + int(b) - (0 if lost else int(a)) for total, a, b in zip(counts, before, after, strict=True)]
    if counts[-1] == 0:
        return math.nan
    low, high, finite = 0.0, edges[-1], [0, *counts[:-1]]
    if np.interp(high, edges, finite) < share * counts[-1]:
        return float(high)
    for _ in range(100):
        middle = (low + high) / 2
        enough = np.interp(middle, edges, finite) >= share * counts[-1] * (1 - 1e-12)
        low, high = (low, middle) if enough else (middle, high)
    return round(float(high), 9)


# ---- the watcher -----------------------------------------------------------------------------------------------------


def versions_due(served, steps):
    """What each look must give; the writer's work is done on a dictionary, path -> text, or the sums as they are."""
    there, due = {}, []
    for what, *about in steps:
        if what == "restart":
            served = 0
        elif what == "look":
            bad = there.get("rolled_back.json", "[]").strip("[]").replace(" ", "").split(",")
            fit = [number for number in range(1, 201) if number == served or _has_all(there, number)]
            served = max([number for number in [*fit, served] if str(number) not in bad], default=0)
            due.append(served)
        elif what == "write":
            there[about[0]] = about[1]
        elif what == "sums":
            there[f"{about[0]}/checksums.json"] = about[1]
        else:
            name = about[0]
            hit = {path for path in there if path == name or path.startswith(f"{name}/")}
            moved = {about[1] + path[len(name) :]: there[path] for path in hit} if what == "rename" else {}
            there = {path: text for path, text in there.items() if path not in hit} | moved
    return due


def _has_all(there, number):
    sums = there.get(f"{number}/checksums.json")
    return isinstance(sums, dict) and all(there.get(f"{number}/{name}") == text for name, text in sums.items())


def judge_newest(got, served, steps):
    """Return None, or which look gave another version than it must, or changed the folder."""
    due = versions_due(served, steps)
    if len(got) != len(due):
        return f"{len(due)} looks give {len(due)} versions"
    looks = [place for place, step in enumerate(steps) if step[0] == "look"]
    for number, (place, (found, untouched), wanted) in enumerate(zip(looks, got, due, strict=True), start=1):
        after = f"look {number}, after {of_step(steps[place - 1])}," if place else f"look {number}"
        if not same(found, wanted):
            return f"{after} gave {show(found)}; expected {wanted}"
        if untouched is not True:
            return f"{after} changed the folder; a watcher only reads"
    return None
