"""`tune` on real processes: two worker tasks, some of which are killed, frozen and interrupted."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from functools import partial
from pathlib import Path

import pytest

from course import local_cluster
from course.training import mnist
from course.tuning import TuningError, tune
from course.tuning.dispatch import Dispatch, Report
from course.tuning.study import Study
from tests.course.tuning.problems_here import LINE, Counted, Deadly, Gated, Spoilt, Unreadable

ROOT = Path(__file__).resolve().parents[3]
SPACE = {"learning_rate": (0.001, 0.2, "log")}
WORKER_0 = "/job:worker/task:0"
quick = partial(tune, steps=20, progress=False)


@pytest.fixture(scope="module")
def cluster(no_leaks_from_this_file):
    with local_cluster(worker=2) as running:
        yield running


@pytest.fixture(scope="module")
def alone(no_leaks_from_this_file):
    with local_cluster(worker=1) as running:
        yield running


@pytest.fixture(autouse=True)
def a_shared_cluster_is_whole_and_idle_again(request, no_leaks):
    yield
    for name in ("cluster", "alone"):
        running = request.node.funcargs.get(name)
        for task in running.tasks if running is not None else []:
            with running.at(task):
                assert running.executor.submit(abs, -1).result(timeout=60) == 1


def alike(result):
    """What is the same in every run."""
    return [(trial.number, trial.parameters, trial.state, trial.value, trial.reports) for trial in result.trials]


def at_first_report(monkeypatch, action, of=None):
    """Have `action()` done once, in the driver, when the first report is there: of any task, or of that task."""
    real, done = Dispatch.next, []

    def heard(dispatch, seconds):
        message = real(dispatch, seconds)
        is_measured = isinstance(message, Report) and message.value is not None
        if is_measured and not done and of in (None, dispatch.flying.get(message.number)):
            done.append(message)
            action()
        return message

    monkeypatch.setattr(Dispatch, "next", heard)


@pytest.mark.long
@pytest.mark.parametrize("search", ["tpe", "random", "grid"])
def test_there_are_exactly_as_many_trials_as_were_asked_for_and_the_best_is_the_least(cluster, search):
    result = quick(LINE, SPACE, cluster, trials=9, search=search)
    assert [trial.number for trial in result.trials] == list(range(9))
    assert {trial.worker for trial in result.trials} == set(cluster.tasks)
    assert result.value == min(trial.value for trial in result.trials if trial.state == "done")
    assert all(trial.attempts == 1 and trial.seconds > 0 for trial in result.trials)


def test_random_search_finds_the_same_with_one_worker_and_with_two(cluster, alone):
    settings = {"trials": 6, "search": "random", "pruning": False, "seed": 3}
    assert alike(quick(LINE, SPACE, cluster, **settings)) == alike(quick(LINE, SPACE, alone, **settings))


def test_with_one_worker_a_search_is_the_same_bit_for_bit_also_when_it_goes_on_from_its_journal(alone, tmp_path):
    space = SPACE | {"optimizer": ["sgd", "adagrad"]}
    search = partial(quick, LINE, space, alone, seed=5)
    whole = search(trials=14)
    assert {trial.state for trial in whole.trials} == {"done", "pruned"}
    search(trials=4, journal=tmp_path / "journal")
    assert alike(search(trials=14, journal=tmp_path / "journal")) == alike(whole)


def test_a_worse_trial_is_pruned_early_and_its_worker_is_told(cluster):
    rates = [0.1, 0.09, 0.08, 0.07, 0.06, 0.05, 0.00101, 0.00102]
    result = quick(LINE, {"learning_rate": rates}, cluster, trials=8, steps=300, search="grid")
    for trial in result.trials[-2:]:
        assert trial.state == "pruned" and trial.value is None and trial.reports[-1][0] < 300


def test_a_trial_that_diverges_is_told_as_that_and_costs_no_other(cluster):
    result = quick(LINE, {"learning_rate": [0.1, 1e30]}, cluster, trials=2, search="grid")
    assert [trial.state for trial in result.trials] == ["done", "diverged"]
    assert "not finite at version" in result.trials[1].reason and result.parameters == {"learning_rate": 0.1}


def test_what_training_and_the_problem_take_may_be_searched_and_fixed(cluster):
    space = {"hidden": [5, 10], "learning_rate": 0.5, "mode": ["sync", "async"], "workers": 3, "batch_size": 10}
    result = quick(mnist, space, cluster, trials=4, search="grid", metric="accuracy", direction="maximize")
    assert len(result.trials) == 4 and 0.1 < result.value <= 1
    assert result.value == max(trial.value for trial in result.trials)
    assert len({trial.value for trial in result.trials}) > 1


def test_a_problem_goes_to_each_worker_once(cluster, tmp_path):
    quick(Counted(tmp_path), SPACE, cluster, trials=10)
    read = {path.name: path.read_text() for path in tmp_path.iterdir()}
    read.pop(f"read by {os.getpid()}", None)  # where the scheduler is
    assert len(read) == 2 and set(read.values()) == {"."}
    for task in cluster.tasks:  # and a worker needs no Optuna
        with cluster.at(task):
            assert not cluster.executor.submit(eval, "'optuna' in __import__('sys').modules").result(timeout=30)


def test_a_killed_workers_trial_is_tried_again_and_counts_once(cluster, tmp_path, monkeypatch):
    settings = {"trials": 6, "search": "random", "pruning": False}
    wanted = quick(LINE, SPACE, cluster, **settings)

    def kill():
        cluster.kill(WORKER_0)
        (tmp_path / "open").touch()

    at_first_report(monkeypatch, kill, of=WORKER_0)
    result = quick(Gated(tmp_path), SPACE, cluster, **settings, journal=tmp_path / "journal")
    assert alike(result) == alike(wanted)
    assert sorted(trial.attempts for trial in result.trials) == [1, 1, 1, 1, 1, 2]


@pytest.mark.long
def test_a_frozen_workers_trial_is_tried_again_on_its_successor(cluster, tmp_path, monkeypatch):
    def freeze():
        cluster.freeze(WORKER_0)
        (tmp_path / "open").touch()

    at_first_report(monkeypatch, freeze, of=WORKER_0)
    result = quick(Gated(tmp_path), SPACE, cluster, trials=4)
    assert [trial.number for trial in result.trials if trial.state != "open"] == [0, 1, 2, 3]
    assert sorted(trial.attempts for trial in result.trials) == [1, 1, 1, 2]


@pytest.mark.long
def test_a_trial_that_ends_its_process_each_time_is_given_up_and_tuning_goes_on(alone, tmp_path, monkeypatch):
    real = Study.end

    def end(*arguments, **facts):
        real(*arguments, **facts)
        (tmp_path / "spared").touch()

    monkeypatch.setattr(Study, "end", end)
    lost, done = quick(Deadly(tmp_path), SPACE, alone, trials=2).trials
    assert lost.state == "failed" and lost.attempts >= 3 and "died" in lost.reason and lost.value is None
    assert done.state == "done" and done.attempts == 1


@pytest.mark.parametrize("catch", [Exception, (KeyError, ArithmeticError)])
def test_a_trial_whose_code_raises_is_failed_with_its_place_and_the_others_go_on(cluster, tmp_path, catch):
    space = {"learning_rate": 0.01, "workers": [1, 2, 3]}  # one worker is at version 3 in its fourth update
    result = quick(Spoilt(tmp_path, worker=2), space, cluster, trials=3, search="grid", catch=catch)
    assert [trial.state for trial in result.trials] == ["done", "done", "failed"]
    assert re.fullmatch(r"ZeroDivisionError: spoilt \(.*problems_here.py, line \d+\)", result.trials[2].reason)
    with pytest.raises(TypeError, match=r"catch='all'\): 'all' is no class of exceptions"):
        quick(LINE, SPACE, cluster, catch="all")


@pytest.mark.long
def test_a_trial_whose_process_dies_before_it_has_begun_is_failed_and_the_others_go_on(alone, tmp_path, monkeypatch):
    real = Study.end

    def end(*arguments, **facts):
        real(*arguments, **facts)
        (tmp_path / "spared").touch()

    monkeypatch.setattr(Study, "end", end)
    lost, done = quick(Unreadable(tmp_path), SPACE, alone, trials=2).trials
    assert lost.state == "failed" and "died" in lost.reason and lost.attempts == 0
    assert done.state == "done" and done.attempts == 1


def test_only_the_optimizers_that_take_a_hyperparameter_are_tried_with_it(alone, tmp_path):
    space = {"learning_rate": 0.01, "optimizer": ["sgd", "adam"], "momentum": (0.1, 0.9)}
    search = partial(quick, LINE, space, alone, search="random", seed=2, pruning=False)
    result = search(trials=8)
    has = {(trial.parameters["optimizer"], "momentum" in trial.parameters) for trial in result.trials}
    assert has == {("sgd", True), ("adam", False)} and {trial.state for trial in result.trials} == {"done"}
    search(trials=3, journal=tmp_path / "journal")
    assert alike(search(trials=8, journal=tmp_path / "journal")) == alike(result)


def test_what_a_problems_code_raises_ends_tuning_where_it_is_not_caught_and_the_trial_stays_open(cluster, tmp_path):
    journal = tmp_path / "journal"
    with pytest.raises(TuningError, match=r"trial \d, learning_rate=.*: ZeroDivisionError: spoilt \(.*, line \d+\)"):
        quick(Spoilt(tmp_path), SPACE, cluster, trials=4, journal=journal, catch=KeyError)
    text = journal.read_text()
    assert '"op_code":4' in text and '"op_code":6' not in text  # begun, and none has ended


def test_a_trial_that_says_nothing_for_too_long_ends_tuning_by_name_and_frees_its_task(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr("course.tuning.dispatch.TRIAL_STOPS", 0.3)  # it won't: no need to wait for longer
    with pytest.raises(TimeoutError, match=r"trial \d, learning_rate=.* said nothing for 1 s on /job:worker/task:\d"):
        quick(Gated(tmp_path), SPACE, cluster, trials=2, timeout=1)
    hung = {int(path.name.removeprefix("waits ")) for path in tmp_path.glob("waits *")}
    assert not hung & {_process(cluster, task) for task in cluster.tasks}  # what hung has a new process


def _process(cluster, task):
    with cluster.at(task):
        return cluster.executor.submit(os.getpid).result(timeout=60)


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to itself")
def test_an_interrupt_stops_what_runs_at_once_and_the_journal_goes_on_from_there(cluster, tmp_path, monkeypatch):
    for limit in ("TRIAL_STOPPED", "TRIAL_STOPS"):  # a busy machine's processes are not to be ended either
        monkeypatch.setattr(f"course.tuning.dispatch.{limit}", 60.0)
    (tmp_path / "open").touch()
    journal, space = tmp_path / "journal", SPACE | {"workers": [1, 2]}
    at_first_report(monkeypatch, lambda: signal.raise_signal(signal.SIGINT))
    search = partial(quick, Gated(tmp_path), space, cluster, trials=4, steps=20_000, journal=journal)
    processes = {task: _process(cluster, task) for task in cluster.tasks}
    with pytest.raises(KeyboardInterrupt):
        search()
    assert {task: _process(cluster, task) for task in cluster.tasks} == processes  # free, and nobody was ended
    with pytest.raises(ValueError, match="steps is 10 now, and was 20000"):
        search(steps=10)


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_a_search_goes_on_from_the_journal_of_a_driver_that_was_killed(cluster, tmp_path):
    program = f"""
        from course import local_cluster
        from course.tuning import tune
        from tests.course.tuning.problems_here import Gated
        with local_cluster(worker=1) as cluster:
            tune(Gated({str(tmp_path)!r}), {SPACE!r}, cluster, trials=4, steps=20, search="random", pruning=False,
                 journal={str(tmp_path / "journal")!r}, progress=False)
    """
    driver = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], cwd=ROOT)
    try:
        deadline = time.monotonic() + 200
        while not (tmp_path / "journal").exists() or (tmp_path / "journal").read_text().count('"step":10,') < 1:
            assert driver.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        driver.kill()
        driver.wait()
    (tmp_path / "open").touch()
    settings = {"trials": 4, "search": "random", "pruning": False}
    result = quick(Gated(tmp_path), SPACE, cluster, journal=tmp_path / "journal", **settings)
    assert [trial.attempts for trial in result.trials] == [2, 1, 1, 1]
    assert alike(result) == alike(quick(LINE, SPACE, cluster, **settings))


def test_a_cluster_that_is_closed_meanwhile_ends_tuning_with_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "open").touch()
    with local_cluster(worker=1) as own:
        at_first_report(monkeypatch, own.close)
        with pytest.raises(TuningError, match="the cluster is gone: .*With a journal the same call goes on"):
            quick(Gated(tmp_path), SPACE, own, trials=3)
        with pytest.raises(RuntimeError, match="closed"):
            quick(LINE, SPACE, own)


def test_progress_tells_how_many_have_ended_and_the_time_that_is_left(cluster):
    lines = []
    quick(LINE, SPACE, cluster, trials=4, progress=lines.append)
    assert lines[0].startswith("0 of 4 trials") and lines[-1] == "4 of 4 trials"
    assert all(re.fullmatch(r"\d of 4 trials( · \d running( · \d+ s left)?)?", line) for line in lines)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"problem": 3}, r"problem=3\): it has no initial, batch, loss"),
        ({"space": {"rate": (0.1, 1.0)}}, "there is no 'rate' to search. Legal names: learning_rate, optimizer, mode"),
        ({"space": {"hidden": (1, 9)}}, "there is no 'hidden'"),
        ({"space": {"learning_rate": (0, 1)}}, "learning_rate may be 0; a learning rate is a number above 0"),
        ({"space": {"optimizer": ["sgd", "lion"]}}, "optimizer may be 'lion'; there are 'sgd', 'adagrad', 'adam'"),
        (
            {"space": {"optimizer": ["adagrad", "adam"], "momentum": (0.0, 0.9)}},
            "'adagrad' or 'adam' takes no momentum",
        ),
        ({"trials": 0}, r"trials=0\): give a whole number from 1 up"),
        ({"trials": 4.0}, "trials=4.0"),
        ({"steps": 0}, "steps=0"),
        ({"seed": -1}, "seed=-1"),
        ({"direction": "down"}, "'minimize', 'maximize'"),
        ({"search": "bayes"}, "'tpe', 'random', 'grid'"),
        ({"metric": ""}, "metric=''"),
        ({"timeout": 0}, "timeout=0"),
    ],
    ids=repr,
)
def test_a_wrong_argument_is_told_with_what_is_legal_before_anything_is_sent(cluster, change, words, monkeypatch):
    monkeypatch.setattr(Dispatch, "__init__", None)  # nothing begins
    arguments = {"problem": LINE, "space": SPACE, "cluster": cluster} | change
    with pytest.raises((TypeError, ValueError), match=words):
        tune(**arguments)


def test_a_metric_that_the_problem_does_not_have_is_told_with_those_that_it_has(cluster):
    with pytest.raises(TuningError, match="metric='accurracy'.*validates accuracy, loss"):
        quick(mnist(hidden=5), SPACE, cluster, metric="accurracy", trials=1)
    with pytest.raises(TuningError, match="has no validate"):
        quick(LINE, SPACE, cluster, metric="accuracy", trials=1)
