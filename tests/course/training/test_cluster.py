"""Training between real processes: one parameter-server task and two worker tasks."""

import threading
import time
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from course.training import (
    Hook,
    NonFiniteError,
    StopAtStep,
    StopOnNaN,
    TrainingError,
    linear_regression,
    slowed,
    train,
    train_in_turns,
)
from modelserver import export
from modelserver.compute.program import load
from tests.helpers.cluster.at_step import At

SGD = partial(torch.optim.SGD, lr=0.02)
ADAGRAD = partial(torch.optim.Adagrad, lr=0.8)
PROBLEM = linear_regression()
CLASSIC_101 = linear_regression(slope=2, intercept=0.2, noise=0.4, points=101)
FOREVER = 10**9
PS, WORKER_1 = "/job:ps/task:0", "/job:worker/task:1"


@pytest.fixture
def cluster(shared_cluster):
    return shared_cluster


@pytest.mark.parametrize(("problem", "optimizer"), [(PROBLEM, SGD), (CLASSIC_101, ADAGRAD)])
@pytest.mark.parametrize("mode", ["async", "sync"])
def test_slope_and_intercept_come_out_within_three_standard_errors(cluster, mode, problem, optimizer):
    result = train(problem, cluster, optimizer=optimizer, mode=mode, total_steps=1000)
    best = problem.least_squares()
    assert result.version == 1000
    assert abs(result.parameters["slope"] - best.slope) < 3 * best.slope_error
    assert abs(result.parameters["intercept"] - best.intercept) < 3 * best.intercept_error
    assert set(result.history["worker"].tolist()) == {0, 1}


def test_one_asynchronous_worker_is_the_loop_in_one_process_bit_for_bit(cluster):
    result = train(PROBLEM, cluster, optimizer=ADAGRAD, workers=1, total_steps=200, seed=4)
    wanted = train_in_turns(PROBLEM, optimizer=ADAGRAD, total_steps=200, seed=4)
    assert all(torch.equal(result.parameters[name], wanted.parameters[name]) for name in wanted.parameters)
    assert result.history["loss"].tolist() == wanted.history["loss"].tolist()


def test_what_train_returns_is_exported_as_it_is_and_answers_as_the_trained_line(cluster, tmp_path):
    result = train(slowed(PROBLEM, seconds=0.0), cluster, optimizer=SGD, total_steps=20)
    version = export(result, PROBLEM.x, tmp_path, name="line", outputs=["y"])
    assert str(version.signature) == "x FP32 [-1] → y FP32 [-1]"
    answer = load(str(version.folder), "cpu", None, 4)[0].answers([PROBLEM.x.numpy()])[0]
    slope, intercept = (result.parameters[name] for name in ("slope", "intercept"))
    assert torch.allclose(torch.from_numpy(answer), slope * PROBLEM.x + intercept)


def test_two_synchronous_workers_give_the_same_bits_every_time(cluster):
    results = [train(PROBLEM, cluster, optimizer=SGD, mode="sync", total_steps=100) for _ in range(2)]
    results.append(train_in_turns(PROBLEM, optimizer=SGD, mode="sync", workers=2, total_steps=100))
    assert len({(r.parameters["slope"].item(), r.parameters["intercept"].item()) for r in results}) == 1
    assert all(r.staleness_counts() == {0: 200} for r in results)


def test_every_version_is_made_once_and_staleness_is_never_negative(cluster):
    result = train(PROBLEM, cluster, optimizer=SGD, total_steps=500)
    assert result.history["step"].tolist() == list(range(1, 501))
    assert result.staleness.min() >= 0
    for worker in (0, 1):
        mine = result.of_worker(worker)
        # a worker pulls right after its own push: what it computes on is at least as new as that
        assert (mine["version"][1:] >= mine["step"][:-1]).all()


def test_a_slow_worker_holds_up_the_synchronous_steps_and_not_the_asynchronous_ones(cluster):
    together = train(slowed(PROBLEM, worker=1, seconds=0.02), cluster, optimizer=SGD, mode="sync", total_steps=20)
    # so slow that the other one is not, even where a message takes as long as a busy machine lets it
    apart = train(slowed(PROBLEM, worker=1, seconds=0.2), cluster, optimizer=SGD, total_steps=200)
    assert len(together.of_worker(0)) == len(together.of_worker(1)) == 20
    assert len(apart.of_worker(0)) > 2 * len(apart.of_worker(1))


def test_a_straggler_of_n_of_m_is_dropped_and_counted(cluster):
    problem = slowed(PROBLEM, worker=1, seconds=0.02)
    result = train(problem, cluster, optimizer=SGD, mode="sync", aggregate=1, total_steps=1000)
    assert result.version == 1000 and result.dropped.get(1, 0) > 0


def test_hooks_hear_every_step_in_order_here_and_can_pull(cluster):
    class Diary(Hook):
        def __init__(self):
            self.steps, self.ended = [], 0

        def after_run(self, session, step):
            self.steps.append(step.step)
            self.thread = threading.current_thread()
            if step.step == 50:
                self.pulled = session.parameters()

        def end(self, session):
            self.ended += 1

    diary = Diary()
    train(PROBLEM, cluster, optimizer=SGD, total_steps=100, hooks=[diary])
    assert diary.steps == list(range(1, 101)) and diary.ended == 1
    assert diary.thread is threading.current_thread()
    assert diary.pulled.keys() == {"slope", "intercept"}


@pytest.mark.parametrize(("limits", "steps"), [({"hooks": [StopAtStep(123)]}, 123), ({"total_steps": 0}, 0)])
def test_stop_at_step_is_exact_over_processes(cluster, limits, steps):
    result = train(PROBLEM, cluster, optimizer=SGD, **{"total_steps": FOREVER, **limits})
    assert result.version == len(result.history) == steps


def test_a_learners_hook_stops_training(cluster):
    class GoodEnough(Hook):
        def after_run(self, session, step):
            if step.loss < 1:
                session.request_stop(f"loss below 1 at step {step.step}")

    result = train(PROBLEM, cluster, optimizer=SGD, total_steps=FOREVER, hooks=[GoodEnough()])
    assert result.stopped_by.startswith("loss below 1") and result.version < FOREVER


def test_divergence_is_stopped_and_named(cluster):
    too_large = partial(torch.optim.SGD, lr=5.0)
    result = train(PROBLEM, cluster, optimizer=too_large, total_steps=FOREVER, hooks=[StopOnNaN()])
    assert "not finite at step" in result.stopped_by
    with pytest.raises(NonFiniteError, match="gradient of"):
        train(PROBLEM, cluster, optimizer=too_large, total_steps=FOREVER)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"workers": 3}, "workers=3.*1 to 2"),
        ({"workers": 0}, "workers=0"),
        ({"mode": "both"}, "mode='both'"),
        ({"total_steps": -1}, "total_steps=-1"),
        ({"problem": object()}, "initial, batch, loss"),
        ({"optimizer": torch.optim.LBFGS}, "LBFGS"),
        ({"mode": "sync", "aggregate": 3}, "aggregate=3"),
        (
            {"cluster": SimpleNamespace(tasks=(WORKER_1,))},
            r"a ps task and a worker task .* Use local_cluster\(ps=1, .*deploy\('slurm', ps=1",
        ),
    ],
)
def test_wrong_arguments_are_named_before_anything_starts(cluster, arguments, words):
    with pytest.raises(ValueError, match=words):
        train(**{"problem": PROBLEM, "cluster": cluster, "optimizer": SGD, **arguments})


class HitAt(At):
    """Calls `hit(task)` when a step has been told; `.when` is the time."""

    def __init__(self, step, hit, task):
        super().__init__(step, self.strike)
        self.hit, self.task, self.when = hit, task, None

    def strike(self):
        self.when = time.monotonic()
        self.hit(self.task)


@pytest.mark.faults
def test_a_killed_worker_loses_only_its_own_step_and_joins_again(cluster):
    class Back(Hook):
        """Stops when worker 1 is heard half a second after its process was killed, and worker 0 fifty times."""

        alone = 0

        def after_run(self, session, step):
            self.alone += bool(kill.when and step.worker == 0)
            if step.worker == 1 and kill.when and time.monotonic() > kill.when + 0.5 and self.alone > 50:
                session.request_stop("worker 1 is back")

    kill = HitAt(100, cluster.kill, WORKER_1)
    problem = slowed(PROBLEM, worker=0, seconds=0.002)
    result = train(problem, cluster, optimizer=SGD, total_steps=FOREVER, hooks=[kill, Back()])
    assert result.stopped_by == "worker 1 is back"
    assert result.history["step"].tolist() == list(range(1, result.version + 1))


@pytest.mark.faults
def test_a_synchronous_run_goes_on_with_those_who_live_and_counts_it(cluster):
    class Lost(Hook):
        """Stops a hundred updates after a worker was lost."""

        lost_at = FOREVER

        def event(self, session, event):
            if (event.what, event.task) == ("worker lost", WORKER_1):
                self.lost_at = event.step

        def after_run(self, session, step):
            if step.step > self.lost_at + 100:
                session.request_stop("worker 1 was lost")

    hooks = [HitAt(20, cluster.kill, WORKER_1), Lost()]
    result = train(PROBLEM, cluster, optimizer=SGD, mode="sync", total_steps=FOREVER, hooks=hooks)
    gradients = [len(result.history[result.history["step"] == step]) for step in (1, 20)]
    assert result.stopped_by == "worker 1 was lost" and gradients == [2, 2]
    assert 0 < result.degraded == result.version - (len(result.history) - result.version)


@pytest.mark.faults
@pytest.mark.parametrize("hit", ["kill", "freeze"])
def test_a_lost_parameter_server_is_named_in_time_and_the_next_training_works(cluster, hit):
    lose = HitAt(20, getattr(cluster, hit), PS)
    with pytest.raises(TrainingError, match=f"{PS}, the parameter server, is lost"):
        train(PROBLEM, cluster, optimizer=SGD, total_steps=FOREVER, hooks=[lose])
    assert time.monotonic() - lose.when < 30  # five on a machine that is free
    if hit == "freeze":
        cluster.thaw(PS)
    assert train(PROBLEM, cluster, optimizer=SGD, total_steps=10).version == 10
