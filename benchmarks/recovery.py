"""Seconds from a fault to training going on: a worker killed, a worker frozen, the parameter server killed."""

import statistics
import tempfile
import time

from benchmarks.report import Row
from course.cluster import local_cluster
from course.training import Hook, TrainingError, linear_regression, paced, train
from course.training.problems import named as problems

_REPEATS = 3
_PROBLEM = paced(linear_regression(), 0.004)  # some hundred updates a second: a fault falls between two of them
_WORKER, _PS = "/job:worker/task:1", "/job:ps/task:0"


class Hit(Hook):
    """Does `strike()` once after update `step`, goes on until `enough()` says so, and keeps when what happened."""

    def __init__(self, step, strike, enough):
        self._step, self._strike, self._enough = step, strike, enough
        self.at, self.updates, self.events = None, [], []

    def after_run(self, session, step):
        now = time.perf_counter()
        if self.at is not None:
            self.updates.append((now - self.at, step.worker))
            if self._enough(self):
                session.request_stop("seen enough")
        elif step.step >= self._step:
            self._strike()
            self.at = now

    def event(self, session, event):
        if self.at is not None:
            self.events.append((time.perf_counter() - self.at, event))

    def seconds_to(self, *whats):
        """Return the seconds from the strike to the first such event, or None."""
        return next((seconds for seconds, event in self.events if event.what in whats), None)

    def pause(self):
        """Return the longest time without an update of any worker since the strike, the first one's wait included."""
        times = [0.0, *(seconds for seconds, _ in self.updates)]
        return max(later - earlier for earlier, later in zip(times, times[1:], strict=False))


def rows():
    """Yield the figures, medians of runs on one cluster; the hook sees updates every 20 ms."""
    with local_cluster(ps=1, worker=3) as cluster:
        for mode in ("async", "sync"):
            hits = _runs(cluster, mode, lambda: cluster.kill(_WORKER), _for(2.0))
            yield Row(
                f"worker killed, {mode}: the others stood still", _median(h.pause() for h in hits), "s", limit="≤ 0.5"
            )
        for mode in ("async", "sync"):
            hits = _runs(cluster, mode, lambda: cluster.freeze(_WORKER), _for(5.0))
            noticed = _median(h.seconds_to("worker counted out", "worker lost") for h in hits)
            limit = "≤ 0.5" if mode == "async" else "≤ 3"
            yield Row(f"worker frozen, {mode}: noticed", noticed, "s", limit="≤ 3")
            yield Row(
                f"worker frozen, {mode}: the others stood still", _median(h.pause() for h in hits), "s", limit=limit
            )
        hits = _runs(cluster, "async", lambda: cluster.kill(_PS), lambda hit: hit.seconds_to("restored") is not None)
        yield Row("ps killed: noticed", _median(h.seconds_to("ps lost") for h in hits), "s")
        yield Row("ps killed: the next update", _median(h.updates[-1][0] for h in hits), "s", limit="≤ 5")


def _for(seconds):
    return lambda hit: hit.updates[-1][0] >= seconds


def _runs(cluster, mode, strike, enough):
    made, hits = problems.named_problem("linear").made(), []
    for seed in range(_REPEATS):
        hit = Hit(100, strike, enough)
        with tempfile.TemporaryDirectory() as folder:
            rule = {"mode": mode, "total_steps": 100_000, "seed": seed, "checkpoint_dir": folder}
            train(_PROBLEM, cluster, optimizer=made, hooks=[hit], **rule)
        hits.append(hit)
        _all_back(cluster)
    return hits


def _all_back(cluster, patience=30.0):
    """Wait until every task answers again: a killed one in some tenths of a second, a frozen one in seconds."""
    deadline = time.perf_counter() + patience
    for task in cluster.tasks:
        while True:
            try:
                with cluster.at(task):
                    cluster.client.submit(int, pure=False).result(2)
                break
            except Exception as error:  # of any kind, while a task is being replaced
                if time.perf_counter() > deadline:
                    raise TrainingError(f"{task} has not come back for {patience:.0f} s") from error
                time.sleep(0.1)


def _median(seconds):
    found = list(seconds)
    return statistics.median(float("inf") if one is None else one for one in found)
