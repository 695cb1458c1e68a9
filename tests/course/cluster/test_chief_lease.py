"""Leases: never two holders at a time, a lease that is not renewed is lost, later terms are higher."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from course.cluster.chief_lease import LEASE_LASTS, LEASE_SETTLES, Lease, Leases
from tests.helpers.shells import eventually

TASKS = [f"/job:worker/task:{index}" for index in (0, 2, 10)]


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def scheduler(clock):
    return Leases(clock, first=int(clock() * 1000))


def candidate(leases, task, clock):
    return Lease(leases.ask, leases.release, "chief", task, clock=clock)


def until_somebody_has_it(candidates, clock):
    for _ in range(100):
        holders = [one for one in candidates if one.renew()]
        if holders:
            return holders
        clock.now += 0.25
    raise AssertionError("nobody ever got the lease")


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def leases(clock):
    return scheduler(clock)


def test_the_lowest_task_that_is_there_wins_whoever_asks_first(leases, clock):
    ten, two, zero = (candidate(leases, task, clock) for task in reversed(TASKS))
    clock.now += LEASE_LASTS
    assert not ten.renew()
    clock.now += LEASE_SETTLES / 2
    assert until_somebody_has_it([ten, two, zero], clock) == [zero]
    assert (ten.holder, ten.mine, ten.renew()) == (None, False, False)
    assert ten.holder == TASKS[0]


def test_tasks_are_compared_by_number(leases, clock):
    ten, two = candidate(leases, TASKS[2], clock), candidate(leases, TASKS[1], clock)
    assert until_somebody_has_it([ten, two], clock) == [two]


def test_a_lease_that_is_held_is_not_taken_by_a_lower_task(leases, clock):
    two, zero = candidate(leases, TASKS[1], clock), candidate(leases, TASKS[0], clock)
    until_somebody_has_it([two], clock)
    for _ in range(20):
        clock.now += 0.25
        assert two.renew() and not zero.renew()
    two.release()
    assert not two.mine
    assert until_somebody_has_it([two, zero], clock) == [zero]


def test_a_holder_that_was_frozen_has_lost_it_by_its_own_clock_and_by_the_term(leases, clock):
    frozen, other = candidate(leases, TASKS[0], clock), candidate(leases, TASKS[1], clock)
    until_somebody_has_it([frozen, other], clock)
    first = frozen.term
    for _ in range(20):
        clock.now += 0.25
        if other.renew():
            break
    assert (
        clock.now - 1000 < LEASE_LASTS + LEASE_SETTLES + LEASE_LASTS + 1
    )  # the grace at the start, and the lease's own time
    assert other.term > first and not frozen.mine
    assert not frozen.renew() and frozen.term == other.term and frozen.holder == TASKS[1]


def test_a_process_that_was_started_again_does_not_inherit_its_predecessors_lease(leases, clock):
    old = candidate(leases, TASKS[0], clock)
    until_somebody_has_it([old], clock)
    new = candidate(leases, TASKS[0], clock)
    clock.now += 0.25
    assert not new.renew() and old.renew()


def test_a_scheduler_that_was_started_again_gives_nothing_away_while_an_older_lease_may_hold(leases, clock):
    holder = candidate(leases, TASKS[1], clock)
    until_somebody_has_it([holder], clock)
    term = holder.term
    began, again = clock.now, scheduler(clock)
    newcomer = candidate(again, TASKS[0], clock)
    while not newcomer.renew():
        assert clock.now < began + LEASE_LASTS + LEASE_SETTLES + 1
        clock.now += 0.25
    assert not holder.mine  # its own clock says so, though it has heard of nothing
    holder._ask = again.ask
    assert not holder.renew()
    assert newcomer.renew() and newcomer.term > term


def test_a_later_term_that_somebody_remembers_is_passed_even_where_the_clock_was_set_back(leases, clock):
    holder = candidate(leases, TASKS[1], clock)
    until_somebody_has_it([holder], clock)
    term, again = holder.term, Leases(clock, first=0)
    newcomer = candidate(again, TASKS[0], clock)
    until_somebody_has_it([newcomer], clock)
    assert newcomer.term < term
    holder._ask = again.ask
    assert not holder.renew() and holder.term == term
    assert newcomer.renew() and newcomer.term > term


@pytest.mark.parametrize(("there", "back"), [(0.0, 2.0), (2.0, 0.0), (1.0, 1.5)])
def test_a_lease_lasts_from_the_question_on_however_long_the_answer_was_on_its_way(leases, clock, there, back):
    def slow(**words):
        clock.now += there
        answer = leases.ask(**words)
        clock.now += back
        return answer

    holder, other = candidate(leases, TASKS[0], clock), candidate(leases, TASKS[1], clock)
    until_somebody_has_it([holder], clock)
    holder._ask = slow
    asked = clock.now
    assert holder.renew() and holder.seconds_left == pytest.approx(asked + LEASE_LASTS - clock.now)
    while not other.renew():
        assert clock.now < asked + there + LEASE_LASTS + LEASE_SETTLES + 1
        clock.now += 0.125
        assert not (holder.mine and clock.now >= asked + there + LEASE_LASTS), "the scheduler may give it away then"
    assert not holder.mine


def test_an_answer_that_took_longer_than_the_lease_lasts_gives_nothing(leases, clock):
    holder = candidate(leases, TASKS[0], clock)
    until_somebody_has_it([holder], clock)

    def too_slow(**words):
        answer = leases.ask(**words)
        clock.now += LEASE_LASTS
        return answer

    holder._ask = too_slow
    assert not holder.renew() and holder.seconds_left == 0


def test_leases_of_other_names_are_apart(leases, clock):
    chief = candidate(leases, TASKS[0], clock)
    other = Lease(leases.ask, leases.release, "another", TASKS[1], clock=clock)
    assert until_somebody_has_it([chief], clock) and until_somebody_has_it([other], clock)


class AnyHistory(RuleBasedStateMachine):
    """Candidates that ask, freeze, give back and come anew, and a scheduler that is started again, in any order."""

    def __init__(self):
        super().__init__()
        self.clock = Clock()
        self.leases = scheduler(self.clock)
        self.all = [self.new(task) for task in TASKS]
        self.terms = {}  # term -> the candidate that had it

    def new(self, task):
        return Lease(
            lambda **words: self.leases.ask(**words), lambda **words: self.leases.release(**words), "chief", task,
            clock=self.clock,
        )  # fmt: skip

    @rule(index=st.integers(0, 2), times=st.integers(1, 6))
    def ask(self, index, times):
        for _ in range(times):
            self.all[index].renew()
            self.clock.now += 0.2

    @rule(index=st.integers(0, 2))
    def release(self, index):
        self.all[index].release()

    @rule(seconds=st.sampled_from([0.1, 0.5, 1.0, 2.9, 3.1]))
    def wait(self, seconds):
        self.clock.now += seconds

    @rule(index=st.integers(0, 2))
    def start_again(self, index):
        self.all[index] = self.new(TASKS[index])

    @rule()
    def restart_the_scheduler(self):
        self.leases = scheduler(self.clock)

    @invariant()
    def at_most_one_holds_it(self):
        holders = [one for one in self.all if one.mine]
        assert len(holders) <= 1
        for one in holders:
            assert self.terms.setdefault(one.term, one) is one  # a term belongs to one holder for ever

    @invariant()
    def the_holder_has_the_highest_term(self):
        for one in self.all:
            if one.mine and one.renew():
                assert one.term == max(self.terms | {one.term: one})


TestAnyHistory = AnyHistory.TestCase
TestAnyHistory.settings = settings(max_examples=60, stateful_step_count=40)


def test_a_cluster_keeps_leases(shared_cluster):
    first, *_, last = shared_cluster.tasks
    one, other = (shared_cluster.lease("a test's", task) for task in (last, first))

    def refused():  # after three seconds of standing still, on a busy machine, the lease is anybody's again
        return other.renew() and 0 < other.seconds_left <= LEASE_LASTS and not one.renew() and one.holder == first

    eventually(refused)


@pytest.mark.parametrize("seconds", [0, -1.0, LEASE_LASTS + 0.1])
def test_a_lease_cannot_last_longer_than_a_new_scheduler_waits_for_it(leases, seconds):
    with pytest.raises(ValueError, match="more than 0 and at most 3 seconds"):
        Lease(leases.ask, leases.release, "chief", TASKS[0], seconds)
