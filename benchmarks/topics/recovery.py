"""Seconds from a fault to training going on: a worker killed, a worker frozen, the parameter server killed."""

import tempfile
import time
from contextlib import contextmanager

from benchmarks.contest import OURS, Contest, Contestant, Together
from benchmarks.contestant import Work
from benchmarks.figures import Target
from course.cluster import local_cluster
from course.training import Hook, TrainingError, linear_regression, paced, train
from course.training.problems import named as problems

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


#: what -> (title, at most so many seconds)
_WHAT = {
    "killed": ("Worker killed: the others stood still", 0.5),
    "noticed": ("Worker frozen: noticed", 3),
    "frozen": ("Worker frozen: the others stood still", None),
    "ps noticed": ("Parameter server killed: noticed", None),
    "ps": ("Parameter server killed: the next update", 5),
}
_MODES = ("async", "sync")


def contests(quick, places):
    """Yield seconds for each fault; the hook sees updates every 20 ms."""
    named = []
    for what, (title, most) in _WHAT.items():
        modes = _MODES[:1] if quick or what.startswith("ps") else _MODES
        bounds = {"async": 0.5, "sync": 3} if what == "frozen" else dict.fromkeys(modes, most)
        targets = tuple(Target(mode, most=bound) for mode, bound in bounds.items() if bound and mode in modes)
        named.append(Contest(title, "s", tuple(Contestant(mode, kind=OURS) for mode in modes), "less", targets=targets))
    work = Contestant(
        "recovery",
        f"{__name__}:figures",
        {"watched": 3.5 if quick else 5.0, "modes": _MODES[:1] if quick else _MODES},
        OURS,
        patience=200,
    )
    yield Together((work,), tuple(named), rounds=1 if quick else 3)


@contextmanager
def figures(watched, modes):
    """Strike a training on one cluster in each way, once a run; a frozen worker is watched for so many seconds."""
    with local_cluster(ps=1, worker=3) as cluster:
        seeds = iter(range(1_000_000))

        def run():
            found = {title: {} for title, _ in _WHAT.values()}
            for mode in modes:
                hit = _hit(cluster, mode, lambda: cluster.kill(_WORKER), _for(1.0), next(seeds))
                found[_WHAT["killed"][0]][mode] = hit.pause()
                hit = _hit(cluster, mode, lambda: cluster.freeze(_WORKER), _for(watched), next(seeds))
                found[_WHAT["noticed"][0]][mode] = hit.seconds_to("worker counted out", "worker lost")
                found[_WHAT["frozen"][0]][mode] = hit.pause()
            back = lambda hit: hit.seconds_to("restored") is not None  # noqa: E731
            hit = _hit(cluster, "async", lambda: cluster.kill(_PS), back, next(seeds))
            found[_WHAT["ps noticed"][0]]["async"] = hit.seconds_to("ps lost")
            found[_WHAT["ps"][0]]["async"] = hit.updates[-1][0]
            # what was not seen while it was watched has no figure
            return {title: {mode: one for mode, one in of.items() if one is not None} for title, of in found.items()}

        yield Work(run, figures=True, warm_ups=0)


def _for(seconds):
    return lambda hit: hit.updates[-1][0] >= seconds


def _hit(cluster, mode, strike, enough, seed):
    hit, made = Hit(100, strike, enough), problems.named_problem("linear").made()
    with tempfile.TemporaryDirectory() as folder:
        rule = {"mode": mode, "total_steps": 100_000, "seed": seed, "checkpoint_dir": folder}
        train(_PROBLEM, cluster, optimizer=made, hooks=[hit], **rule)
    _all_back(cluster)
    return hit


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
