"""The judge sees what a fault could do to a training: lost, doubled and torn updates, and counts that can't be."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course.training import train_in_turns
from tests.slow.faults.catalogue import KINDS
from tests.slow.faults.counting import SGD_1, Counting, counted
from tests.slow.faults.outcome import complaints
from tests.slow.faults.plan import plan
from tests.slow.faults.scenes.strikes import STRIKES
from tests.slow.faults.surroundings.wires import WIRE_STRIKES

pytestmark = pytest.mark.faults
STEPS = 30


def right(mode="async", workers=3):
    result = train_in_turns(Counting(workers), optimizer=SGD_1, mode=mode, workers=workers, total_steps=STEPS)
    pushes = {worker: len(result.of_worker(worker)) for worker in range(workers)}
    return replace(result, applied=pushes, acknowledged=pushes, sent=pushes)


@pytest.mark.parametrize("mode", ["async", "sync"])
def test_a_right_result_has_nothing_to_complain_of(mode):
    assert complaints(right(mode), STEPS) == []
    assert sum(counted(right(mode).parameters)) == pytest.approx(STEPS)


def changed(result, worker, by, names):
    parameters = {name: tensor.clone() for name, tensor in result.parameters.items()}
    for name in names:
        parameters[name][worker] += by
    return replace(result, parameters=parameters)


@settings(max_examples=30)
@given(worker=st.integers(0, 2), by=st.sampled_from([-1, 1, 2]), mode=st.sampled_from(["async", "sync"]))
def test_a_lost_or_doubled_update_is_seen(worker, by, mode):
    result = right(mode)
    assert complaints(changed(result, worker, by, result.parameters), STEPS)


@settings(max_examples=20)
@given(worker=st.integers(0, 2), name=st.sampled_from(sorted(Counting(3).initial())))
def test_an_update_that_one_shard_has_and_another_has_not_is_seen(worker, name):
    assert "torn" in complaints(changed(right(), worker, 1, [name]), STEPS)[0]


@pytest.mark.parametrize("counts", ["applied", "acknowledged", "sent"])
def test_counts_that_can_not_be_are_seen(counts):
    result = right()
    by = {"applied": 1, "acknowledged": 1, "sent": -1}[counts]
    wrong = {**getattr(result, counts), 1: getattr(result, counts)[1] + by}
    assert complaints(replace(result, **{counts: wrong}), STEPS)


def test_a_skipped_or_repeated_record_and_a_missing_step_are_seen():
    result = right()
    assert complaints(replace(result, history=result.history[[*range(10), *range(11, STEPS)]]), STEPS)
    assert complaints(replace(result, history=result.history[[*range(10), 9, *range(10, STEPS)]]), STEPS)
    assert complaints(result, STEPS + 1)


def test_two_gradients_of_one_worker_in_a_synchronous_step_are_seen():
    result = right("sync")
    history = result.history.copy()
    history["worker"][1] = history["worker"][0]
    row = torch.zeros(3, dtype=torch.float64)
    for step, worker in history[["step", "worker"]].tolist():
        row[worker] += 1 / 3 if step else 0
    parameters = {name: row[:, None].expand_as(tensor).clone() for name, tensor in result.parameters.items()}
    assert "one worker twice" in str(complaints(replace(result, history=history, parameters=parameters)))


def test_a_seed_says_everything_about_a_trial():
    assert [plan(seed, KINDS) for seed in range(100)] == [plan(seed, KINDS) for seed in range(100)]
    assert {plan(seed, KINDS).kind for seed in range(len(KINDS))} == set(KINDS)
    assert {*STRIKES, *WIRE_STRIKES} <= {kind.name for kind in KINDS}
