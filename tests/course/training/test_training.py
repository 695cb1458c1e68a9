"""The problem, the hooks, and one process that plays all the workers."""

import math
import pickle
import time
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course.training import (
    Hook,
    NonFiniteError,
    StopAtStep,
    StopOnNaN,
    batch_generator,
    linear_regression,
    paced,
    slowed,
    train_in_turns,
)
from course.training.records import ShardLost

SGD = partial(torch.optim.SGD, lr=0.02)
PROBLEM = linear_regression()
OPTIMIZERS = {
    "SGD": SGD,
    "momentum": partial(torch.optim.SGD, lr=0.01, momentum=0.9),
    "Adagrad": partial(torch.optim.Adagrad, lr=0.8),
    "Adam": partial(torch.optim.Adam, lr=0.05),
}


def plain(problem, optimizer, steps, workers=1, seed=0):
    """One process, one loop, no store: the reference. With k workers, each step's batch is the k batches in one."""
    parameters = {name: value.clone().requires_grad_() for name, value in problem.initial().items()}
    optimizer = optimizer(list(parameters.values()))
    for version in range(steps):
        batches = [problem.batch(w, version, batch_generator(seed, w, version)) for w in range(workers)]
        loss = problem.loss(parameters, [torch.cat(part) for part in zip(*batches, strict=True)])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {name: value.detach() for name, value in parameters.items()}


# --- the problem -----------------------------------------------------------------------------------------------------


def test_a_batch_depends_on_seed_worker_and_version_and_on_nothing_else():
    draws = {
        key: torch.randint(1 << 30, (4,), generator=batch_generator(*key)).tolist()
        for key in [(s, w, v) for s in range(3) for w in range(3) for v in range(20)]
    }
    assert len({tuple(draw) for draw in draws.values()}) == len(draws)
    used = torch.Generator()
    torch.rand(5, generator=used)
    again = torch.randint(1 << 30, (4,), generator=batch_generator(2, 1, 7, used)).tolist()
    assert again == draws[2, 1, 7]


@pytest.mark.parametrize("arguments", [{"points": 2}, {"batch_size": 0}, {"noise": -1}, {"noise": math.nan}])
def test_a_problem_without_an_answer_is_refused(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        linear_regression(**arguments)


# --- one process in turns --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_one_asynchronous_worker_is_the_plain_loop_bit_for_bit(name):
    result = train_in_turns(PROBLEM, optimizer=OPTIMIZERS[name], total_steps=100, seed=5)
    wanted = plain(PROBLEM, OPTIMIZERS[name], 100, seed=5)
    assert all(torch.equal(result.parameters[key], wanted[key]) for key in wanted)


@settings(max_examples=10)
@given(workers=st.integers(1, 5), seed=st.integers(0, 2**40))
def test_k_synchronous_workers_are_one_process_with_the_k_fold_batch_to_rounding(workers, seed):
    result = train_in_turns(PROBLEM, optimizer=SGD, mode="sync", workers=workers, total_steps=30, seed=seed)
    wanted = plain(PROBLEM, SGD, 30, workers, seed)
    assert all(torch.allclose(result.parameters[key], wanted[key], rtol=1e-5) for key in wanted)
    assert result.version == 30 and len(result.history) == 30 * workers
    assert result.staleness_counts() == {0: 30 * workers}


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_workers_in_turns_are_workers_less_one_updates_stale(workers):
    result = train_in_turns(PROBLEM, optimizer=SGD, workers=workers, total_steps=100)
    assert result.staleness[workers:].tolist() == [workers - 1] * (100 - workers)
    assert result.history["step"].tolist() == list(range(1, 101))


def test_n_of_m_drops_what_the_stragglers_sent():
    result = train_in_turns(PROBLEM, optimizer=SGD, mode="sync", workers=3, aggregate=2, total_steps=50)
    assert result.version == 50 and len(result.history) == 100 and sum(result.dropped.values()) > 0


def test_a_bound_on_staleness_is_kept():
    result = train_in_turns(PROBLEM, optimizer=SGD, workers=4, max_staleness=2, total_steps=60)
    assert max(result.staleness_counts()) <= 2 and sum(result.dropped.values()) > 0


@pytest.mark.parametrize("slow", [slowed(PROBLEM, worker=0, seconds=0.01), paced(PROBLEM, 0.004)])
def test_a_slowed_or_paced_problem_is_the_same_problem_and_takes_longer(slow, monkeypatch):
    monkeypatch.setattr("course.training.problems.paced._EXTRA", [0.006])
    started = time.perf_counter()
    x, y = slow.batch(0, 7, batch_generator(0, 1, 7))
    assert time.perf_counter() - started >= 0.01
    same_x, same_y = PROBLEM.batch(0, 7, batch_generator(0, 1, 7))
    assert x.equal(same_x) and y.equal(same_y) and slow.initial() == PROBLEM.initial()
    assert slow.loss(slow.initial(), (x, y)) == PROBLEM.loss(PROBLEM.initial(), (x, y))
    again = pickle.loads(pickle.dumps(slow))
    assert again.batches_per_epoch == PROBLEM.batches_per_epoch and not hasattr(again, "validate")


@pytest.mark.parametrize("seconds", [-1, math.nan])
def test_a_pace_below_zero_is_refused(seconds):
    with pytest.raises(ValueError, match="from 0 up"):
        paced(PROBLEM, seconds)


# --- hooks -----------------------------------------------------------------------------------------------------------


class Diary(Hook):
    def __init__(self):
        self.lines = []

    def begin(self, session):
        self.lines.append("begin")

    def before_run(self, session):
        self.lines.append(f"before {session.step + 1}")

    def after_run(self, session, step):
        self.lines.append(f"after {step.step}")

    def end(self, session):
        self.lines.append("end")


def test_hooks_are_called_at_the_start_around_every_step_and_at_the_end():
    diary = Diary()
    train_in_turns(PROBLEM, optimizer=SGD, total_steps=2, hooks=[diary])
    assert diary.lines == ["begin", "before 1", "after 1", "before 2", "after 2", "end"]


@pytest.mark.parametrize("last", [0, 1, 7])
def test_stop_at_step_is_exact(last):
    result = train_in_turns(PROBLEM, optimizer=SGD, workers=3, total_steps=20, hooks=[StopAtStep(last)])
    assert result.version == last


def test_stop_on_nan_names_the_loss_and_the_step():
    result = train_in_turns(PROBLEM, optimizer=partial(torch.optim.SGD, lr=5.0), hooks=[StopOnNaN()])
    first = int(result.history["step"][~torch.isfinite(torch.from_numpy(result.history["loss"].copy()))][0])
    assert result.stopped_by == f"the loss is not finite at step {first}" and result.version == first


class Poisoned:
    """Its gradient for `b`, and only that, is NaN from version 3 on."""

    def initial(self):
        return {"a": torch.ones(()), "b": torch.zeros(())}

    def batch(self, worker, version, generator):
        return version

    def loss(self, parameters, version):
        # the square root's derivative at 0 is infinite, and 0 × infinity is NaN; the loss itself stays finite
        return parameters["a"] + ((0 * parameters["b"]).sqrt() if version >= 3 else parameters["b"])


def test_stop_on_nan_names_the_gradient_and_the_step():
    result = train_in_turns(Poisoned(), optimizer=SGD, hooks=[StopOnNaN()])
    assert result.stopped_by == "the gradient of 'b' is not finite at step 4" and result.version == 3


def test_without_the_hook_a_gradient_that_is_not_finite_is_an_error():
    with pytest.raises(NonFiniteError, match="'b' is not finite at version 3"):
        train_in_turns(Poisoned(), optimizer=SGD)


def test_the_message_of_a_lost_server_has_one_full_stop_behind_the_reason():
    for reason in ("silent for 3 s", "the other side closed the connection."):
        lost = ShardLost("/job:ps/task:0", reason)
        message = f"{lost} {lost.reason}. The folder"
        assert f"is lost: {reason.rstrip('.')}. The parameters" in message and ".." not in message


def test_a_result_gives_its_module_and_says_what_a_problem_lacks_for_it():
    class Plain:
        initial, batch, loss = PROBLEM.initial, PROBLEM.batch, PROBLEM.loss

    for problem in (Plain(), slowed(Plain(), seconds=0.0)):
        result = train_in_turns(problem, optimizer=SGD, total_steps=2)
        with pytest.raises(ValueError, match=r"has no module\(parameters\). Give it that method"):
            result.module()
    line = train_in_turns(PROBLEM, optimizer=SGD, total_steps=2)
    line.module().slope.data.zero_()  # a copy: what was trained stays
    assert line.parameters["slope"] != 0
