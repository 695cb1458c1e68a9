"""Chapter 09's exercises: gradients over a distance, who is worth sending for, server or ring, when silence counts."""

from itertools import count
from math import lcm

from course.checks.exercise import Exercise, by_name


def _places():
    yield 20, [0], "async"
    yield 20, [10], "async"
    yield 20, [0, 10], "async"
    yield 20, [0, 10], "sync"  # the far one sets the pace
    yield 20, [10, 10], "sync"
    yield 10, [0, 5, 45], "async"
    yield 10, [0, 5, 45], "sync"
    yield 4, [3, 3, 0], "sync"


def _counted(compute, delays, rule):
    """Let a clock run until all stand where they began, and count what arrived on the way."""
    cycles = [compute + 2 * delay for delay in delays]
    if rule == "sync":
        cycles = [max(cycles)] * len(cycles)
    until = lcm(*cycles)
    arrived = sum(1 for cycle in cycles for _ in range(cycle, until + 1, cycle))
    return 1000 * arrived / until


def _distances():
    yield 20, 0
    yield 20, 9
    yield 20, 10  # two are as quick as the one
    yield 20, 11
    yield 20, 100
    yield 1, 100
    yield 500, 3
    yield 7, 8


def _tried(compute, delay):
    """Send for one more until together they beat the one: n / (compute + 2·delay) > 1 / compute, in whole numbers."""
    return next(n for n in count(1) if n * compute > compute + 2 * delay)


def _lines():
    yield 2, 5, 1000, 100  # two ranks: the same trips, half the bytes
    yield 2, 5, 0, 100  # nothing but trips, and as many of them: the server
    yield 3, 0, 3000, 100
    yield 3, 50, 300, 100
    yield 3, 50, 30_000, 100
    yield 8, 1, 8000, 1000
    yield 8, 100, 8000, 1000
    yield 4, 10, 8000, 100
    yield 4, 10, 2400, 60


def _added_up(ranks, delay, size, speed):
    """Add the steps up one by one, in parts of a millisecond that divide evenly."""
    parts = ranks * speed
    server = sum(delay * parts + size * ranks for _ in ("push", "pull"))
    ring = sum(delay * parts + size for _ in range(2 * (ranks - 1)))
    return "ring" if ring < server else "server"


def _heartbeats():
    yield [0, 500, 1000], 3000, 5000
    yield [0, 500, 1000], 3000, 3999  # one more millisecond
    yield [0, 500, 1000], 3000, 4000
    yield [0, 2999, 5998], 3000, 8000
    yield [0, 3000], 3000, 4000  # it comes in the very moment
    yield [0, 3001], 3000, 4000  # too late: counted out before it
    yield [0], 10, 10
    yield [0, 5, 40, 45], 10, 60


def _ticked(heard, silence, until):
    """Look at the clock in every millisecond: how long ago was the last heartbeat?"""
    for now in range(until + 1):
        if now in heard:
            continue
        if now - max(beat for beat in heard if beat <= now) >= silence:
            return now
    return -1


EXERCISES = by_name(
    Exercise(
        "gradients_a_second",
        _places,
        _counted,
        hint="a gradient of a worker takes compute + 2 · delay; who waits for whom?",
    ),
    Exercise(
        "worth_it", _distances, _tried, hint="together they make n / (compute + 2 · delay), one alone 1 / compute."
    ),
    Exercise(
        "quicker",
        _lines,
        _added_up,
        hint="two trips with all bytes, or 2 · (ranks - 1) trips with a part of them each.",
    ),
    Exercise("counted_out", _heartbeats, _ticked, hint="which gap between two heartbeats is the first to be too long?"),
)
