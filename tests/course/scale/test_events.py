"""The events: exact seconds of small programs, cores that are shared, and a second, slower way to the same ring."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course.scale import Costs
from course.scale.designs import ring_rank
from course.scale.events import Receive, Send, Work, run
from course.scale.ring import ring_ends


def works(*seconds):
    for each in seconds:
        yield Work(each)


def test_one_process_takes_the_seconds_of_its_work():
    assert run([works(1.0, 2.0, 0.5)]) == 3.5


def test_a_message_wakes_who_waits_for_it_and_waking_takes_its_time():
    def waits():
        assert (yield Receive()) == "go"
        assert (yield Work(2.0)) == 5.25
        yield Send(1)

    def sends():
        yield Work(3.0)
        yield Send(0, "go")

    assert run([waits(), sends()], wake=0.25) == 5.25


def test_messages_are_taken_in_the_order_in_which_they_came_and_none_is_lost():
    taken = []

    def collects():
        yield Work(10.0)
        for _ in range(6):
            taken.append((yield Receive()))

    def sends(start):
        for number in range(3):
            yield Work(1.0)
            yield Send(0, (start, number))

    run([collects(), sends("a"), sends("b")])
    assert taken == [("a", 0), ("b", 0), ("a", 1), ("b", 1), ("a", 2), ("b", 2)]


@given(
    work=st.lists(st.integers(1, 50), min_size=1, max_size=8),
    cores=st.integers(1, 4),
)
def test_shared_cores_are_never_idle_while_somebody_is_ready(work, cores):
    """The list scheduling of the textbook, process by process, is the slow way to the same end."""
    ends, free = [], [0] * cores
    for seconds in work:
        core = free.index(min(free))
        free[core] += seconds
        ends.append(free[core])
    seen = {}

    def notes(number, seconds):
        seen[number] = yield Work(seconds)
        yield Send(0)

    def waits():
        for _ in work:
            yield Receive()

    run([waits(), *(notes(number, seconds) for number, seconds in enumerate(work))], cores)
    assert [seen[number] for number in range(len(work))] == ends


def test_a_core_that_changes_to_another_process_needs_longer_and_one_that_stays_does_not():
    def waits(count):
        for _ in range(count):
            yield Receive()

    def worker(*seconds):
        yield from works(*seconds)
        yield Send(0)

    assert run([waits(2), worker(1.0, 1.0), worker(1.0)], cores=1, switch=0.5) == 3.5
    assert run([waits(2), worker(1.0, 1.0), worker(1.0)], cores=2, switch=0.5) == 2.0


def test_of_one_program_s_threads_one_works_at_a_time_and_the_others_wait_in_turn():
    ends = {}

    def thread(name, *seconds):
        for each in seconds:
            ends[name] = yield Work(each)
        yield Send(0)

    def waits(count):
        for _ in range(count):
            yield Receive()

    for cores in (None, 2):
        made = [waits(3), thread("a", 1.0, 1.0), thread("b", 2.0), thread("another program", 3.0)]
        assert run(made, cores, programs=[0, 1, 1, 2]) == 4.0
        assert ends == {"a": 2.0, "b": 4.0, "another program": 3.0}


def test_a_core_of_a_program_s_own_needs_longer_for_another_thread_and_a_sleeping_one_wakes():
    def thread(*seconds):
        yield from works(*seconds)
        yield Send(0)
        yield Receive()
        yield Work(1.0)
        yield Send(0)

    def waits():
        yield Receive()
        yield Receive()
        yield Work(1.0)
        yield Send(1)
        yield Receive()

    # one thread, then the switch and the other; process 0 wakes, works; the first thread's core has slept meanwhile
    assert run([waits(), thread(1.0), thread(2.0)], None, 0.125, 0.5, [0, 1, 1]) == 3.5 + 0.125 + 1.0 + 0.125 + 1.0


def test_who_waits_for_nobody_is_told():
    def waits():
        yield Receive()

    with pytest.raises(ValueError, match="process 0 waits for a message that no process will send"):
        run([waits(), works(1.0)])


seconds = st.floats(0.0, 1e-2)


@given(
    ranks=st.integers(1, 9),
    rounds=st.integers(1, 3),
    costs=st.builds(Costs, message=seconds, byte=st.floats(0, 1e-8), wake=seconds),
    seed=st.integers(0, 1000),
)
def test_the_ring_of_arrays_is_the_ring_of_events(ranks, rounds, costs, seed):
    compute = np.random.default_rng(seed).choice([1e-3, 2e-3, 5e-3], (ranks, rounds))
    ends = [[] for _ in range(ranks)]
    run([ring_rank(k, ranks, costs, 4000.0, compute[k], ends[k]) for k in range(ranks)], wake=costs.wake)
    assert ring_ends(compute, costs, 4000.0) == pytest.approx(ends[0], rel=1e-12)
