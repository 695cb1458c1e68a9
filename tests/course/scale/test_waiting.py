"""Requests in line: the same as a clock that ticks, nobody gets lost, and the laws of queues hold."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course.checks import find_exercise
from course.scale.waiting import SimulatedServer, arrivals, stand_in_line

END = 250  # by then all is over
times = st.lists(st.integers(0, 30), max_size=16).map(sorted)
servers = st.builds(
    SimulatedServer,
    first=st.integers(1, 7),
    more=st.integers(0, 2),
    largest=st.integers(1, 4),
    queue=st.integers(1, 6),
    deadline=st.none() | st.integers(1, 30),
)


def by_the_clock(arrives, server):
    """Let a clock tick: whoever comes now joins the line or is refused; then an idle worker takes who is there."""
    came, refused, line, batches, idle_at = [], [], [], [], 0
    for now in range(END):
        for _ in range(arrives.count(now)):
            if len(line) < server.queue:
                line.append(now)
            else:
                refused.append(now)
        if line and now >= idle_at:
            batch, line = line[: server.largest], line[server.largest :]
            idle_at = now + server.first + server.more * len(batch)
            came += [(one, now, idle_at) for one in batch]
            batches.append(len(batch))
    return came, refused, batches


@given(times, servers)
def test_it_is_what_a_ticking_clock_finds(arrives, server):
    out = stand_in_line(arrives, server)
    came, refused, batches = by_the_clock(arrives, server)
    assert list(zip(out.arrives, out.begins, out.ends, strict=True)) == came
    assert (list(out.refused), list(out.batches)) == (refused, batches)


@given(times, servers)
def test_everybody_is_answered_late_or_refused_and_inside_for_as_long_as_he_stays(arrives, server):
    out = stand_in_line(arrives, server)
    assert len(out.stays) + out.late + len(out.refused) == len(arrives)
    assert sum(out.batches) == len(out.arrives) and max(out.batches, default=0) <= server.largest
    inside = sum(len(out.waiting(now)) + len(out.at_work(now)) for now in range(END))
    assert inside == sum(end - came for came, end in zip(out.arrives, out.ends, strict=True))  # Little's law
    assert max(len(out.waiting(now)) for now in range(END)) <= server.queue
    assert all(len(out.waiting(now)) <= len(out.waiting(out.fullest)) for now in out.arrives)
    assert server.deadline is None or all(stay <= server.deadline for stay in out.stays)


@cache
def exercise():
    """Return the chapter's third exercise: it is looked for among files, once."""
    return find_exercise("batches")


@given(times, st.integers(1, 6), st.integers(1, 5))
def test_batches_are_those_of_the_chapters_exercise(arrives, first, largest):
    out = stand_in_line(arrives, SimulatedServer(first, 0, largest, queue=100))
    assert list(out.batches) == exercise().expected(arrives, first, largest)


@given(st.integers(0, 2**32 - 1), st.integers(10, 3000))
def test_another_rate_stretches_the_same_arrivals(seed, rate):
    once, twice = arrivals(rate, 0.2, seed), arrivals(2 * rate, 0.1, seed)
    assert len(once) - len(twice) in (-1, 0, 1) and once == sorted(once) and once == arrivals(rate, 0.2, seed)
    assert all(abs(one - 2 * other) <= 2 + place for place, (one, other) in enumerate(zip(once, twice, strict=False)))


def test_one_at_a_time_waits_as_pollaczek_and_khinchine_say():
    came = arrivals(800, 30, seed=1)
    assert abs(len(came) - 24_000) < 4 * 24_000**0.5  # four standard errors of a Poisson process
    out = stand_in_line(came, SimulatedServer(1000, 0, queue=10**6))
    # a mean stay of 1 + 0.8 / (2 · 0.2) = 3 ms; the standard error, of independent stretches of a second, is 0.11
    assert abs(sum(out.stays) / len(out.stays) - 3000) < 4 * 110
    assert out.within(50) < 3000 < out.within(99)


def test_a_percentile_is_the_chapters():
    out = stand_in_line([0, 100, 200, 300], SimulatedServer(10, 0))
    assert (out.within(50), out.within(99), out.stays) == (10, 10, [10] * 4)
    out = stand_in_line([0, 0], SimulatedServer(10, 0, deadline=15))
    assert (out.stays, out.late, out.within(99)) == ([10], 1, 10)
    assert stand_in_line([], SimulatedServer(10, 0)).within(99) is None


def test_settings_that_no_server_has_are_refused_by_name():
    for wrong, name in (({"largest": 0}, "largest=0"), ({"queue": 0}, "queue=0"), ({"first": -1}, "first=-1")):
        with pytest.raises(ValueError, match=name):
            SimulatedServer(**{"first": 1, "more": 0, **wrong})
    with pytest.raises(ValueError, match="at least a microsecond"):
        SimulatedServer(0, 0)
    with pytest.raises(ValueError, match="rate=0"):
        arrivals(0, 1, 0)
