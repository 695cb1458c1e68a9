"""Trials on a local cluster, which is kept over many of them: tasks are killed and frozen, disks fill, files tear."""

import os
import shutil
import tempfile
import threading
import time
import warnings
from contextlib import ExitStack
from pathlib import Path

from course.cluster import local_cluster
from course.training import Hook, SaveCheckpoint, train
from tests.faults.counting import SGD_1, Counting
from tests.faults.disks import small_disk
from tests.faults.left import left_here, left_in_tasks, open_here
from tests.faults.outcome import Outcome, complaints
from tests.faults.strikes import STRIKES

_PAUSE = 0.004  # seconds a gradient takes: a fault then falls between steps as often as into one


class Watch(Hook):
    """Strikes once, at `step`, and measures from then on the longest time between two steps told."""

    def __init__(self, step, strike):
        self._step, self._strike, self.struck, self.standstill = step, strike, None, None

    def after_run(self, session, step):
        now = time.monotonic()
        if self.struck is not None:
            self.standstill, self._last = max(self.standstill or 0.0, now - self._last), now
        elif step.step >= self._step:
            self._strike(session)
            self.struck = self._last = time.monotonic()


class Stage:
    """What a strike can reach: the cluster, the folder of checkpoints, and a list of things to do when all is over."""

    def __init__(self, cluster, plan, folder):
        self.cluster, self.plan, self.folder, self.said = cluster, plan, folder, []
        self._timers, self.afterwards = [], ExitStack()
        self.pids = cluster.client.run_on_scheduler(_pids)

    def tasks(self, job):
        """Return the names of the tasks of `job` that take part."""
        count = self.plan.ps if job == "ps" else self.plan.workers
        return [f"/job:{job}/task:{index}" for index in range(count)]

    def signal(self, task, number):
        """Send a signal from outside, as a shell would; a process that has gone is none to send to."""
        try:
            os.kill(self.pids[task], number)
        except ProcessLookupError:
            self.said.append(f"{task} had gone before signal {number}")

    def later(self, seconds, function, *arguments):
        """Call the function after so many seconds, at the latest when the trial is over."""
        timer = _Timer(seconds, function, arguments)
        self._timers.append(timer)
        timer.start()

    def over(self):
        """Bring forward what is still to come, and undo what was done."""
        for timer in self._timers:
            timer.now()
        self.afterwards.close()


class _Timer(threading.Thread):
    def __init__(self, seconds, function, arguments):
        super().__init__(name="later", daemon=True)
        self._seconds, self._call, self._early = seconds, (function, arguments), threading.Event()

    def run(self):
        self._early.wait(self._seconds)
        function, arguments = self._call
        function(*arguments)

    def now(self):
        self._early.set()
        self.join(10)


def _pids(dask_scheduler):
    return {worker.name: worker.pid for worker in dask_scheduler.workers.values()}


class LocalScene:
    """Local clusters, one a number of ps tasks, opened when first needed; `close` ends them."""

    def __init__(self):
        self._clusters = {}

    def run(self, plan):
        """Stage the plan; return its `Outcome`."""
        cluster = self._cluster(plan.ps)
        before, began = open_here(), time.monotonic()
        with ExitStack() as stack:
            folder = stack.enter_context(_folder(plan))
            stage = Stage(cluster, plan, folder)
            end, said, found, standstill = _tried(stage, plan)
            stage.over()
            leaks = [*left_in_tasks(cluster), *left_here(before), *_files_left(folder)]
        if end not in ("wrong",) and leaks:
            end = "leak"
        seconds = time.monotonic() - began
        return Outcome(plan.seed, plan.kind.name, end, seconds, standstill, "; ".join(said), [*found, *leaks])

    def close(self):
        for cluster in self._clusters.values():
            cluster.close()
        self._clusters.clear()

    def _cluster(self, ps):
        if ps not in self._clusters:
            self._clusters[ps] = local_cluster(ps=ps, worker=3)
        return self._clusters[ps]


def _folder(plan):
    if plan.kind.name == "disk full":
        return small_disk(megabytes=1)
    return _TemporaryFolder()


class _TemporaryFolder:
    def __enter__(self):
        self.path = Path(tempfile.mkdtemp(prefix="course-fault-"))
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path)


def _tried(stage, plan):
    """Train with the fault in it; return (end, what was said, complaints, standstill)."""
    strike = STRIKES[plan.kind.name]
    watch = Watch(plan.step, lambda session: strike(stage, session))
    said, found, result = [], [], None
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = _trained(stage, plan, [watch])
        except BaseException as error:
            said.append(f"{type(error).__name__}: {error}")
            if type(error).__name__ not in plan.kind.errors:
                return "wrong", said, [f"not an end of {plan.kind.name}"], watch.standstill
        if result is None and plan.kind.name in _GO_ON:  # what was saved is there: a second call ends the training
            time.sleep(0.1)
            result = _trained(stage, plan, [])
    said += stage.said + [str(one.message).split("\n")[0] for one in warned]
    if result is None:
        return "clear error", said, [], watch.standstill
    if watch.struck is None:
        found.append("the fault never struck")
    found += complaints(result, plan.steps)
    said.append(f"{result.version} steps, {result.incarnations} incarnations")
    return "wrong" if found else "right answer", said, found, watch.standstill


_GO_ON = ("session interrupted", "hook raises")


def _trained(stage, plan, hooks):
    more = 1500 if plan.kind.name == "disk full" else 0
    return train(
        Counting(plan.workers, _PAUSE, more),
        stage.cluster,
        optimizer=SGD_1,
        mode=plan.mode,
        workers=plan.workers,
        aggregate=plan.aggregate,
        total_steps=plan.steps,
        hooks=[*hooks, SaveCheckpoint(steps=max(5, plan.steps // 12))],
        checkpoint_dir=stage.folder,
        seed=plan.seed,
    )


def _files_left(folder):
    """Return what a training leaves in its folder beside checkpoints: temporary files and its lock."""
    names = [path.name for path in folder.iterdir()]
    return [f"left in the folder: {name}" for name in names if "tmp" in name or name.endswith(".lock")]
