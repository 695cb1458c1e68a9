"""A simulated parameter server: the clock agrees by hand, nobody counts twice, and what a death costs."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course.scale.parameter_store import HORIZON, MESSAGE, NEVER, UPDATE, parameter_store, recorded_run
from course.training.records import RECORD

PACES = st.lists(st.integers(20_000, 800_000), min_size=1, max_size=4)
SEED = st.integers(0, 1000)


@st.composite
def strikes(draw):
    """Return paces, and faults of workers that are there."""
    paces = draw(PACES)
    fault = st.tuples(st.integers(0, HORIZON), st.sampled_from(["kill", "revive"]), st.integers(0, len(paces) - 1))
    return paces, draw(st.lists(fault, max_size=6))


def test_one_worker_alone_is_never_late_and_its_turns_follow_one_another():
    run = parameter_store("async", [100_000])
    assert run.counts().oldest == 0 and run.counts().updates == run.counts().gradients > 30
    for one, following in zip(run.gradients, run.gradients[1:], strict=False):
        assert (one.begins, one.arrives) == (one.sent + MESSAGE, one.ends + MESSAGE)
        assert following.sent == one.applied == one.arrives + UPDATE and 80_000 <= one.ends - one.begins < 120_000


@given(strikes(), SEED)
def test_versions_are_counted_once_each_and_a_pull_sees_all_that_was_applied(given, seed):
    run = parameter_store("async", given[0], given[1], seed)
    applied = sorted((one.applied, one.step) for one in run.gradients if one.step != NEVER)
    assert [step for _, step in applied] == list(range(1, len(applied) + 1))
    for one in run.gradients:
        assert one.version == sum(when <= one.sent for when, _ in applied)


@given(strikes(), SEED)
def test_a_synchronous_update_has_one_gradient_of_each_worker_and_none_is_late(given, seed):
    run = parameter_store("sync", given[0], given[1], seed)
    assert run.counts().oldest == run.counts().late == 0
    for step in range(1, run.counts().updates + 1):
        workers = [one.worker for one in run.gradients if one.step == step]
        assert len(set(workers)) == len(workers) >= 1
        assert given[1] or len(workers) == len(given[0])


@given(PACES, SEED)
def test_a_synchronous_round_takes_as_long_as_its_slowest_worker(paces, seed):
    run = parameter_store("sync", paces, (), seed)
    for step in range(1, run.counts().updates + 1):
        own = [one for one in run.gradients if one.step == step]
        assert {one.applied for one in own} == {max(one.arrives for one in own) + UPDATE}


def test_with_unequal_paces_async_makes_more_gradients_and_pays_in_staleness():
    paces = [200_000, 200_000, 600_000]
    apart, together = parameter_store("async", paces), parameter_store("sync", paces)
    assert apart.counts().gradients > 1.6 * together.counts().gradients
    assert apart.lateness(2) > 3 * apart.lateness(0) > 0 == together.lateness(2)
    assert together.counts().waited[0] > 0.5 * HORIZON > 10 * apart.counts().waited[0]


def test_a_death_costs_one_gradient_and_nothing_of_the_others_changes_before_it():
    paces, quiet = [200_000, 200_000, 600_000], parameter_store("async", [200_000, 200_000, 600_000])
    turn = next(one for one in quiet.gradients if one.worker == 2 and one.sent > 1_000_000)
    death = (turn.begins + turn.ends) // 2
    run = parameter_store("async", paces, [(death, "kill", 2), (4_000_000, "revive", 2)])
    assert [one for one in run.gradients if one.freed != NEVER and one.freed < death] == [
        one for one in quiet.gradients if one.freed != NEVER and one.freed < death
    ]
    lost = [one for one in run.gradients if one.arrives == NEVER]
    assert [(one.worker, one.freed) for one in lost] == [(2, death)]
    back = next(one for one in run.gradients if one.worker == 2 and one.sent >= 4_000_000)
    assert back.version == sum(one.step != NEVER and one.applied <= back.sent for one in run.gradients)


def test_without_the_slow_worker_the_synchronous_ones_are_quick_again():
    paces = [200_000, 200_000, 600_000]
    run = parameter_store("sync", paces, [(0, "kill", 2)])
    assert run.counts().updates > 1.6 * parameter_store("sync", paces).counts().updates
    assert parameter_store("sync", paces, [(0, "kill", worker) for worker in range(3)]).counts().updates == 0


def test_counts_at_a_moment_are_those_of_what_was_applied_by_then():
    run = parameter_store("sync", [200_000, 600_000])
    first = min(one.applied for one in run.gradients if one.step == 1)
    assert run.counts(first - 1).updates == 0 and run.counts(first).updates == 1 and run.counts(first).gradients == 2
    arrived = next(one.arrives for one in run.gradients if one.worker == 0)
    assert run.counts(arrived + 1000).waited == (1000, 0)


def test_a_recorded_training_becomes_turns_of_its_workers():
    rows = [(1, 0, 0, 9.0, 0.10, 0.11), (2, 1, 0, 8.0, 0.20, 0.21), (3, 0, 1, 7.0, 0.30, 0.31)]
    run = recorded_run(numpy.array(rows, RECORD))
    assert [(one.worker, one.version, one.begins, one.arrives, one.applied) for one in run.gradients] == [
        (0, 0, 0, 100_000, 110_000),
        (1, 0, 0, 200_000, 210_000),
        (0, 1, 110_000, 300_000, 310_000),
    ]
    assert run.horizon == 310_000 and run.counts().late == 2 and run.lateness(1) == 1.0
    assert recorded_run(numpy.array(rows, RECORD), limit=1).horizon == 110_000


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("both", [1]), "mode='both'"),
        (("async", []), r"paces=\[\]"),
        (("async", [0]), r"paces=\[0\]"),
        (("async", [9], [(1, "hit", 0)]), "'hit'"),
        (("async", [9], [(1, "kill", 1)]), "workers being 0 to 0"),
    ],
)
def test_what_no_training_has_is_refused_by_name(given, named):
    with pytest.raises(ValueError, match=named):
        parameter_store(*given)
