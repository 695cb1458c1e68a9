"""Legal inputs of lab 08's exercises, as Hypothesis draws them and makes them smaller. Loaded when a check looks on."""

import numpy as np
from hypothesis import strategies as st

from .cases import idle, made, take
from .scripts import FAR, LOST, OK, REFUSED, REQUESTS, SILENT, one, status
from .writers import LOOK, RESTART, aside, back, cut, replaced, two_files, whole

# ---- loads, batchers, histograms -------------------------------------------------------------------------------------


def loads():
    """Up to five requests and three workers."""
    request = st.tuples(st.integers(0, 2), st.integers(1, 3))
    return st.tuples(st.lists(request, min_size=1, max_size=5), st.integers(1, 3)).map(
        lambda both: (np.cumsum([gap for gap, _ in both[0]]) * 1.0, np.array([n for _, n in both[0]], float), both[1])
    )


def batchers():
    """Up to eight events; clients who give up do so one to three seconds later."""
    request = st.tuples(st.integers(1, 3), st.sampled_from("xy"), st.sampled_from([np.inf, 1, 2, 3]))
    event = st.tuples(st.integers(0, 1), st.none() | request)
    return st.builds(_batcher, st.integers(1, 4), st.integers(0, 3), st.lists(event, min_size=1, max_size=8))


def _batcher(limit, room, wanted):
    events, now, number = [], 0, 0
    for later, request in wanted:
        now += later
        if request is None:
            events.append(idle(now))
            continue
        number += 1
        rows, signature, until = request
        events.append(take(now, number, min(rows, limit), signature, float(now + until)))
    return limit, room, events


def histograms():
    """Two finite bounds, up to two workers; a share in quarters, so that nothing depends on how it is rounded."""
    counts = st.lists(st.integers(0, 3), min_size=3, max_size=3).map(lambda each: np.cumsum(each))
    reading = st.tuples(st.just(np.zeros(3, int)) | counts, counts, st.booleans())
    return st.builds(_histogram, st.integers(1, 4), st.lists(reading, min_size=1, max_size=2))


def _histogram(quarters, wanted):
    readings = []
    for before, more, restarted in wanted:
        restarted = restarted and before[-1] > more[-1]
        readings.append((before, more if restarted else before + more))
    return made(quarters / 4, [1.0, 2.0], *readings)


# ---- folders and scripts ---------------------------------------------------------------------------------------------


def folders():
    """Up to three versions, each written in some way, with things that are none, and looks in between."""
    numbers = st.lists(st.sampled_from([1, 2, 9, 10]), min_size=1, max_size=3, unique=True)
    way = st.sampled_from([whole, aside, cut, two_files, replaced])
    then = st.lists(st.sampled_from(["restart", "remove", "back", "file", "007"]), max_size=2, unique=True)
    return st.builds(_folder, numbers, st.lists(way, min_size=3, max_size=3), then)


def _folder(numbers, ways, then):
    last, steps = numbers[-1], [LOOK]
    for number, way in zip(numbers, ways, strict=False):
        steps += [*way(number), LOOK]
    ends = {
        "restart": [RESTART],
        "remove": [("remove", f"{last}")],
        "back": [back(last)],
        "file": [("write", "11", "a")],
        "007": whole("007"),
    }
    for what in then:
        steps += [*ends[what], LOOK]
    return 0, steps


def calls():
    """Up to four lines of a script; a deadline that is far off, or near."""
    line = st.sampled_from([REFUSED, LOST, SILENT, status(503), status(429, 1.0), status(400)])
    return st.builds(
        lambda request, script, left: one("again" if left == FAR else "deadline", request, [*script, OK], left),
        st.sampled_from(REQUESTS),
        st.lists(line, max_size=3),
        st.sampled_from([FAR, 0.5, 2.0]),
    )
