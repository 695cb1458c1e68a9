"""Training over the loss of parameter servers, and from one call to the next: lost is only what came after a save."""

import logging
import re
import shutil
from functools import partial

import pytest
import torch

from course import local_cluster
from course.training import (
    Hook,
    NonFiniteError,
    ParameterServer,
    SaveCheckpoint,
    TrainingError,
    Validate,
    linear_regression,
    paced,
    train,
    train_in_turns,
)
from course.training.checkpoint.checkpoints import Checkpoints, CheckpointWarning
from course.training.checkpoint.folder_lock import NAME, FolderLock
from course.training.driver.in_process import gradient
from course.training.driver.run import TRIES
from course.training.driver.train import train_with
from course.training.driver.training_plan import TrainingPlan, participants
from course.training.driver.worker_pool import WorkerPool
from course.training.hooks.progress import SayParameters
from course.training.records import ShardLeaves, ShardLost, TrainingSettings
from course.training.server.store import Pulled
from tests.helpers.cluster.at_step import At
from tests.helpers.stores.strict_store import full, strict_store

SGD = partial(torch.optim.SGD, lr=0.02)
COUNTING = partial(torch.optim.SGD, lr=1.0)
MOMENTUM = partial(torch.optim.SGD, lr=0.01, momentum=0.9)
PROBLEM = linear_regression()
FOREVER = 10**9


class Count:
    """Its parameters count pushes: each gradient is −1 for the worker's own place, and the learning rate 1."""

    def initial(self):
        return {"of": torch.zeros(2), "all": torch.zeros(()), "shape": torch.zeros(3, 2)}

    def batch(self, worker, version, generator):
        return worker

    def loss(self, parameters, worker):
        return -parameters["of"][worker] - parameters["all"] + 0 * parameters["shape"].sum()


@pytest.fixture(scope="module")
def cluster(no_leaks_from_this_file):
    with local_cluster(ps=2, worker=2) as running:
        yield running


class StopWhen(Hook):
    """Stops the training as soon as `look()` is true: what happens on the way has the time that it takes."""

    def __init__(self, look):
        self.look = look

    def after_run(self, session, step):
        if self.look():
            session.request_stop("it is seen")


def plan_of(cluster, problem, optimizer, total_steps, ps=2, workers=2):
    servers, chosen = participants(cluster.tasks, workers)
    return TrainingPlan(problem, optimizer, TrainingSettings("async", workers, total_steps), servers[:ps], chosen)


@pytest.mark.faults
@pytest.mark.parametrize(
    ("index", "lose"),
    [(0, "kill"), pytest.param(1, "kill", marks=pytest.mark.long), pytest.param(0, "freeze", marks=pytest.mark.long)],
)
def test_after_the_loss_of_a_ps_each_update_is_in_the_parameters_once(cluster, tmp_path, index, lose):
    class Diary(Hook):
        events: list = []

        def event(self, session, event):
            self.events.append(event)

    hit = At(250, lambda: getattr(cluster, lose)(f"/job:ps/task:{index}"))
    hooks = [hit, SaveCheckpoint(steps=100), Diary()]
    result = train(Count(), cluster, optimizer=COUNTING, total_steps=600, hooks=hooks, checkpoint_dir=tmp_path)
    assert result.incarnations == 2 and 0 < result.restored_from
    assert result.history["step"].tolist() == list(range(1, 601))
    assert result.parameters["all"] == 600
    for worker in (0, 1):
        assert result.parameters["of"][worker] == result.applied[worker] == len(result.of_worker(worker))
        taken = result.applied[worker] + result.dropped.get(worker, 0)
        assert result.acknowledged[worker] <= taken <= result.sent[worker]
    whats = [event.what for event in result.events]
    assert whats.index("ps lost") < whats.index("restored") < len(whats) - 1
    assert result.events == Diary.events and result.events[whats.index("restored")].step == result.restored_from


@pytest.mark.parametrize("index_of_vectors", [1, 0])
def test_each_parameter_is_kept_where_the_rule_says_and_the_result_and_the_log_say_so(
    cluster, caplog, index_of_vectors
):
    def place(name, tensor):
        return index_of_vectors if tensor.dim() == 1 else 1

    with caplog.at_level(logging.INFO, "course.training"):
        result = train(Count(), cluster, optimizer=COUNTING, total_steps=20, placement=place)
    tasks = {"of": f"/job:ps/task:{index_of_vectors}", "all": "/job:ps/task:1", "shape": "/job:ps/task:1"}
    assert result.placement == tasks and result.parameters["all"] == 20 == result.parameters["of"].sum()
    line = ", ".join(f"{name} in {task}" for name, task in tasks.items())
    assert any(record.getMessage().endswith(f"the parameters are kept so: {line}") for record in caplog.records)


def test_by_default_the_result_says_which_server_keeps_what_and_a_wrong_rule_is_refused_before_anything(cluster):
    result = train(Count(), cluster, optimizer=COUNTING, total_steps=2)
    assert result.placement == {"of": "/job:ps/task:1", "all": "/job:ps/task:1", "shape": "/job:ps/task:0"}
    with pytest.raises(ValueError, match=r"returned 2 for 'of'. Return the index of one of 2 ps tasks, 0 to 1"):
        train(Count(), cluster, optimizer=COUNTING, placement=lambda name, tensor: 2)
    with pytest.raises(ValueError, match=r"choose one of by_size, round_robin, or give a rule place\(name, tensor\)"):
        train(Count(), cluster, optimizer=COUNTING, placement="alphabetical")


def test_training_goes_on_from_a_checkpoint_bit_for_bit_on_another_number_of_ps(cluster, tmp_path):
    for total_steps, ps in ((40, 2), (70, 1), (100, 2)):
        pool = WorkerPool(cluster, plan_of(cluster, PROBLEM, MOMENTUM, total_steps, ps, workers=1))
        result = train_with(pool, checkpoint_dir=tmp_path)
    wanted = train_in_turns(PROBLEM, optimizer=MOMENTUM, total_steps=100)
    assert result.restored_from == 70 and result.version == 100
    assert result.history["step"].tolist() == list(range(71, 101))
    assert all(torch.equal(result.parameters[name], wanted.parameters[name]) for name in wanted.parameters)
    done = train(PROBLEM, cluster, optimizer=MOMENTUM, total_steps=100, checkpoint_dir=tmp_path)
    assert done.version == 100 and len(done.history) == 0


def test_a_new_training_in_an_old_folder_is_asked_for_by_name(cluster, tmp_path):
    train(Count(), cluster, optimizer=COUNTING, total_steps=30, checkpoint_dir=tmp_path)
    result = train(Count(), cluster, optimizer=COUNTING, total_steps=10, checkpoint_dir=tmp_path, resume=False)
    assert result.parameters["all"] == 10
    assert Checkpoints(tmp_path).latest().version == 10


def test_a_checkpoint_of_another_model_is_refused_and_not_touched(cluster, tmp_path):
    train(Count(), cluster, optimizer=COUNTING, total_steps=5, checkpoint_dir=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match="'all'.*no such parameter"):
        train(PROBLEM, cluster, optimizer=SGD, total_steps=10, checkpoint_dir=tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupt_or_a_hooks_error_saves_what_there_is_and_frees_the_tasks(cluster, tmp_path, error):
    def fail():
        raise error

    with pytest.raises(error):
        train(Count(), cluster, optimizer=COUNTING, total_steps=FOREVER, hooks=[At(20, fail)], checkpoint_dir=tmp_path)
    saved = Checkpoints(tmp_path).latest()
    assert saved.version >= 20 and saved.parameters["all"] == saved.version
    assert not (tmp_path / NAME).exists()
    total = saved.version + 10
    result = train(Count(), cluster, optimizer=COUNTING, total_steps=total, checkpoint_dir=tmp_path)
    assert result.parameters["all"] == total


def test_a_disk_that_fills_up_is_told_and_training_goes_on(cluster, tmp_path, monkeypatch):
    real, calls = Checkpoints.save, []

    def save(self, snapshot):
        calls.append(snapshot.version)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return real(self, snapshot)

    monkeypatch.setattr(Checkpoints, "save", save)
    with pytest.warns(CheckpointWarning, match="No space left"):
        result = train(Count(), cluster, optimizer=COUNTING, total_steps=50, checkpoint_dir=tmp_path)
    assert result.parameters["all"] == 50 and [checkpoint.version for checkpoint in Checkpoints(tmp_path).all()] == [0]


@pytest.mark.parametrize("mode", ["async", "sync"])
def test_a_hook_gets_what_it_asked_for_before_each_step_all_of_that_step(cluster, mode):
    class Asking(Hook):
        seen: list = []
        before: list = []

        def before_run(self, session):
            self.before.append(session.step + 1)
            return {"all": "all", "of": lambda parameters: parameters["of"].sum(), "at": "version"}

        def after_run(self, session, step):
            self.seen.append((step.step, step.values))

    said = []
    hooks = [Asking(), SayParameters(said.append, 10)]
    train(Count(), cluster, optimizer=COUNTING, mode=mode, total_steps=40, hooks=hooks)
    each = [step for step in range(1, 41) for _ in range(2 if mode == "sync" else 1)]  # by gradients
    assert [step for step, _ in Asking.seen] == Asking.before == each
    assert all(got["all"] == got["of"] == got["at"] == step for step, got in Asking.seen)
    assert [line.split(",")[0] for line in said] == [f"step: {step}" for step in (10, 20, 30, 40)]


def replayed(result, seed=0):
    """Return step -> parameters: the updates of an asynchronous training of PROBLEM made again, one after the other."""
    store = ParameterServer(PROBLEM.initial(), MOMENTUM)
    pulled = {0: store.pull()}
    for step, worker, version in result.history[["step", "worker", "version"]].tolist():
        before = Pulled(version, {name: value.clone() for name, value in pulled[version].parameters.items()})
        store.push(gradient(PROBLEM, worker, before, seed).gradients, version)
        pulled[step] = store.pull()
    return {step: each.parameters for step, each in pulled.items()}


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(value, other[name]) for name, value in one.items())


@pytest.mark.parametrize("ps", [1, 2])
def test_fetches_checkpoints_and_validations_are_of_their_step_however_late_the_hooks_are(cluster, tmp_path, ps):
    class Late(Hook):
        """Lets training get far ahead, and fetches every 100th step."""

        def __init__(self):
            self.fetched = {}

        def before_run(self, session):
            return {"slope": "slope", "intercept": "intercept"} if (session.step + 1) % 100 == 0 else None

        def after_run(self, session, step):
            if step.values is not None:
                self.fetched[step.step] = step.values
            while step.step == 1 and session.snapshot().version < 350:
                pass  # the deadline is the test's own

    class Held(type(PROBLEM)):
        def validate(self, parameters):
            return {name: value.item() for name, value in parameters.items()}

    late, validated = Late(), Validate(every=100)
    hooks = [late, SaveCheckpoint(steps=100), validated]
    held = Held(PROBLEM.x, PROBLEM.y, PROBLEM.slope, PROBLEM.intercept, PROBLEM.batch_size)
    pool = WorkerPool(cluster, plan_of(cluster, held, MOMENTUM, 500, ps))
    versions = replayed(train_with(pool, hooks, tmp_path, keep=9))
    saved, steps = Checkpoints(tmp_path, keep=9), [100, 200, 300, 400, 500]
    assert list(late.fetched) == [step for step, _ in validated.results] == steps
    assert [checkpoint.version for checkpoint in saved.all()] == [0, *steps]
    for step, (_, values) in zip(steps, validated.results, strict=True):
        assert same(late.fetched[step], versions[step])
        assert values == held.validate(versions[step])
    for checkpoint in saved.all():
        assert same(saved.load(checkpoint.path).parameters, versions[checkpoint.version])


def test_a_folder_that_is_removed_in_mid_run_is_told_as_that_and_training_goes_on(cluster, tmp_path):
    folder = tmp_path / "saved"
    with pytest.warns(CheckpointWarning, match="STEP .* IS NOT SAVED.*was removed.*Make it again") as caught:
        hooks = [At(15, lambda: shutil.rmtree(folder)), SaveCheckpoint(steps=10), StopWhen(lambda: len(caught))]
        slowly = paced(Count(), 0.005)
        result = train(slowly, cluster, optimizer=COUNTING, total_steps=FOREVER, hooks=hooks, checkpoint_dir=folder)
    assert result.parameters["all"] == result.version and not folder.exists()
    assert not [warning for warning in caught if re.search("Older|belongs", str(warning.message))]


def test_a_first_checkpoint_that_cannot_be_written_is_an_error_at_once(cluster, tmp_path, monkeypatch):
    def save(self, snapshot):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Checkpoints, "save", save)
    with pytest.raises(ValueError, match="first checkpoint can't be written.*No space left"):
        train(Count(), cluster, optimizer=COUNTING, total_steps=50, checkpoint_dir=tmp_path)


def test_two_trainings_in_one_folder_are_refused(cluster, tmp_path):
    with FolderLock(tmp_path), pytest.raises(ValueError, match="is training into this folder"):
        train(Count(), cluster, optimizer=COUNTING, checkpoint_dir=tmp_path)


def test_first_parameters_that_are_not_finite_are_named(cluster):
    class Bad(Count):
        def initial(self):
            return {"w": torch.tensor([1.0, float("inf")])}

    with pytest.raises(NonFiniteError, match="first value of 'w'"):
        train(Bad(), cluster, optimizer=SGD)


class Unlucky(WorkerPool):
    """Loses a ps at the given openings (numbers from 1) before anybody has worked."""

    def __init__(self, cluster, plan, at):
        super().__init__(cluster, plan)
        self.at, self.count = at, 0

    def shards_opened(self, *arguments):
        self.count += 1
        if self.count in self.at:
            raise ShardLost("/job:ps/task:0", "a test took it")
        return super().shards_opened(*arguments)


def test_a_ps_lost_before_the_first_step_costs_nothing(cluster, tmp_path):
    pool = Unlucky(cluster, plan_of(cluster, Count(), COUNTING, 20), at={1, 2})
    result = train_with(pool, checkpoint_dir=tmp_path)
    assert result.incarnations == 3 and result.parameters["all"] == 20


def test_incarnations_without_progress_come_to_an_end_with_a_sentence(cluster, tmp_path):
    train(Count(), cluster, optimizer=COUNTING, total_steps=5, checkpoint_dir=tmp_path)
    pool = Unlucky(cluster, plan_of(cluster, Count(), COUNTING, 20), at=range(1, 100))
    with pytest.raises(TrainingError, match=rf"/job:ps/task:0.*{TRIES}th time in a row.*step 5.*{tmp_path.name}"):
        train_with(pool, checkpoint_dir=tmp_path)
    assert pool.count == TRIES + 1


def test_a_ps_lost_while_the_store_is_lost_ends_the_training_and_the_same_call_goes_on(cluster):
    with strict_store() as store:

        def lose():
            store.refuse = full()
            raise ShardLost("/job:ps/task:0", "a test took it")

        settings = {"optimizer": COUNTING, "checkpoint_dir": "strict://bucket/run"}
        hooks = [At(5, lose), SaveCheckpoint(steps=3)]
        with pytest.raises(
            TrainingError, match=r"a test took it. The checkpoints can't be read: .*strict://bucket/run"
        ):
            train(Count(), cluster, total_steps=FOREVER, hooks=hooks, **settings)
        store.refuse = None
        result = train(Count(), cluster, total_steps=20, **settings)
        assert result.restored_from == 3 and result.parameters["all"] == 20


class Leaves(Hook):
    """Has the store refuse, and a ps hand over what it has, as one does that is told to end."""

    def __init__(self, store):
        self.store, self.left = store, False

    def after_run(self, session, step):
        if not self.left:
            self.store.refuse, self.left = full(), True
            raise ShardLeaves("/job:ps/task:0", session.snapshot())


def test_a_ps_that_hands_over_while_the_store_is_lost_costs_nothing_but_the_saves(cluster):
    with strict_store() as store, pytest.warns(CheckpointWarning, match="STEP 20 IS NOT SAVED"):
        settings = {"optimizer": COUNTING, "checkpoint_dir": "strict://bucket/run"}
        result = train(Count(), cluster, total_steps=20, hooks=[Leaves(store)], **settings)
    assert result.incarnations == 2 and result.parameters["all"] == 20


def test_when_no_checkpoint_can_be_read_training_ends_and_says_so(cluster, tmp_path):
    def spoil():
        for path in tmp_path.glob("*.json"):
            path.write_text("torn")
        raise ShardLost("/job:ps/task:0", "a test took it")

    with pytest.warns(CheckpointWarning), pytest.raises(TrainingError, match="No checkpoint in .* can be read"):
        train(Count(), cluster, optimizer=COUNTING, total_steps=FOREVER, hooks=[At(5, spoil)], checkpoint_dir=tmp_path)
    shutil.rmtree(tmp_path)
