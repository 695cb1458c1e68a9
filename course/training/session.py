"""`train`: a parameter-server task, some worker tasks, and this process, which starts them and tells the hooks."""

import time
from contextlib import contextmanager

import numpy

from course.training.hooks import Session, begun, refuse, tell
from course.training.result import Step, TrainingResult
from course.training.rules import make_rule
from course.training.settings import Settings
from course.training.store import NonFiniteError
from course.training.talk import SILENCE, TrainingError, open_talk, work_in_task

_EVERY = 0.02  # seconds between two looks at the parameter server


def train(
    problem,
    cluster,
    *,
    optimizer,
    mode="async",
    workers=None,
    total_steps=1000,
    hooks=(),
    max_staleness=None,
    aggregate=None,
    seed=0,
):
    """Train `problem` on the cluster's first `ps` task and its `worker` tasks; return a `TrainingResult`.

    - `problem`: a `Problem`. `optimizer`: from a list of tensors to a `torch.optim` optimiser, which lives on the
      parameter server: `functools.partial(torch.optim.SGD, lr=0.05)`.
    - `mode`: "async", every gradient is applied when it arrives; with `max_staleness`, those older than that many
      updates are dropped. "sync": an update is the mean of `aggregate` distinct workers' gradients (default: all).
    - `workers`: how many of the worker tasks take part (default: all). `total_steps`: exactly so many updates.
    - `hooks`: see `Hook`; they run here. `seed`: with the worker's index and the version it fixes each batch.

    A worker that dies: the others go on, and it joins again when the cluster has replaced it; a synchronous run that
    needs it raises. Raises TrainingError, in at most 5 s, when the parameter server is lost or a worker's code fails;
    NonFiniteError when a gradient is not finite and no hook asks to stop; ValueError for wrong arguments, at once.
    """
    ps, tasks = _tasks(cluster, workers)
    _check(problem, mode, len(tasks), total_steps, max_staleness, aggregate)
    holder = {}
    session = Session(total_steps, lambda: holder["talk"].parameters())
    with begun(session, hooks):
        settings = Settings(mode, len(tasks), session.limit, max_staleness, aggregate)
        with open_talk(cluster, [ps], problem, optimizer, settings) as holder["talk"]:
            with _working(cluster, tasks, problem, holder["talk"], seed):
                status, history = _follow(holder["talk"], session, hooks, tasks)
            parameters = holder["talk"].parameters()
    return TrainingResult(
        mode,
        len(tasks),
        parameters,
        status["version"],
        history,
        float(history["applied"][-1]) if len(history) else 0.0,
        {int(worker): count for worker, count in status["dropped"].items()},
        {int(worker): reason for worker, reason in status["lost"].items()},
        session.stop_reason,
    )


def _tasks(cluster, workers):
    named = {job: [t for t in cluster.tasks if t.startswith(f"/job:{job}/")] for job in ("ps", "worker")}
    if not named["ps"] or not named["worker"]:
        raise ValueError(
            f"train(cluster): its tasks are {', '.join(cluster.tasks)}; a ps task and a worker task are needed. "
            "Use local_cluster(ps=1, worker=2)."
        )
    count = len(named["worker"]) if workers is None else workers
    if not 1 <= count <= len(named["worker"]):
        raise ValueError(f"train(workers={workers}): this cluster has 1 to {len(named['worker'])} to offer.")
    return named["ps"][0], named["worker"][:count]


def _check(problem, mode, workers, total_steps, max_staleness, aggregate):
    """Raise for arguments that the parameter server would refuse, before anything is started."""
    missing = [name for name in ("initial", "batch", "loss") if not callable(getattr(problem, name, None))]
    if missing:
        raise ValueError(f"train(problem={problem!r}): it has no {', '.join(missing)}. See course.training.Problem.")
    if total_steps < 0:
        raise ValueError(f"train(total_steps={total_steps}): give a number of updates from 0 up.")
    make_rule(mode, None, workers, max_staleness, aggregate)


@contextmanager
def _working(cluster, tasks, problem, talk, seed):
    """Within the `with`, every worker task runs its loop; afterwards the training has ended and they are free again."""
    futures = []
    try:
        for index, task in enumerate(tasks):
            with cluster.at(task):
                arguments = (problem, index, talk.where, seed)
                futures.append(cluster.client.submit(work_in_task, *arguments, pure=False))
        yield
        _wait(futures)
    finally:
        for future in futures:
            future.release()


def _follow(talk, session, hooks, tasks):
    """Read steps and tell the hooks until the training ends; return the last status and the history."""
    history, told = [], 0
    while True:
        status, rows = talk.look(told)
        history.append(rows)
        told += len(rows)
        for row in rows if hooks else ():
            for hook in hooks:
                hook.before_run(session)
            tell(session, hooks, Step(*row.item()))
            if session.stop_reason is not None:
                break
        ended = status["ended"]
        if ended and (len(rows) == 0 or session.stop_reason is not None):
            _judge(ended, status, session, hooks, tasks)
            return status, numpy.concatenate(history)
        if session.stop_reason is not None:
            talk.stop()
        elif not ended:
            time.sleep(_EVERY)


def _judge(ended, status, session, hooks, tasks):
    """Raise what the end of the training calls for."""
    if ended["why"] == "not finite":
        refuse(session, hooks, NonFiniteError(ended["text"], ended["version"]))
    elif ended["why"] == "lost":
        lost = "; ".join(f"{tasks[int(worker)]}: {reason}" for worker, reason in sorted(status["lost"].items()))
        raise TrainingError(
            f"{lost}. Training needs {status['needs']} of its {len(tasks)} workers and has fewer. Call train again"
            " (the cluster replaces a task that died), or ask for fewer with aggregate=."
        )
    elif ended["why"] in ("error", "closed"):
        raise TrainingError(f"training ended at step {status['version']}: {ended['text'] or 'the server closed'}.")


def _wait(futures):
    """Give the worker loops a moment to see the end, so that the next training finds the tasks free."""
    deadline = time.monotonic() + SILENCE
    while time.monotonic() < deadline and not all(future.done() for future in futures):
        time.sleep(0.005)
