"""`torch.distributed` on a cluster's tasks: the same function in several processes, which reduce with gloo.

(`torchrun` would start processes of its own; here they are the tasks that the other chapters work with.)
"""

import tempfile
from collections.abc import Callable
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any

from course.replicas.rank_group import PeerError, RankError, Result, run_as_rank

#: Seconds that a rank waits for another one in a reduction, by default.
RANK_SILENCE = 10.0
#: For the other ranks to say what they saw, once one has failed.
RANKS_SAY_WHY = 1.0
#: Seconds for all ranks together, by default.
RANKS_END = 300.0

if TYPE_CHECKING:
    from course.cluster import Cluster


def run_ranks(
    function: Callable[..., Result],
    cluster: "Cluster",
    *arguments: Any,
    workers: int | None = None,
    silence: float = RANK_SILENCE,
    deadline: float = RANKS_END,
) -> list[Result]:
    """Run `function(rank, size, *arguments)` on `size` worker tasks at once; return their results in rank order.

    Inside, `torch.distributed` is ready: `all_reduce(tensor)` adds up over the ranks, in place, by gloo.

    - `cluster`: has worker tasks, all on this machine: gloo sends plain, unencrypted TCP, so it stays on loopback.
      `workers`: how many of them take part (default: all). Rank k runs in `/job:worker/task:k`.
    - `silence`: seconds after which a rank that waits for another in a reduction gives up. `deadline`: seconds for all.

    The processes are the cluster's own; afterwards the ranks' group is gone, and its ports. All ranks are needed: if
    one dies, freezes or raises, this raises RankError, which names the task, after `silence` and some seconds at
    most. Raises ValueError when there are not so many workers, or one runs on another machine.
    """
    tasks = _tasks(cluster, workers)
    with tempfile.TemporaryDirectory(prefix="ranks-", ignore_cleanup_errors=True) as folder:  # ranks meet in it
        futures = []
        for rank, task in enumerate(tasks):
            with cluster.at(task):
                call = (run_as_rank, function, rank, len(tasks), folder, silence, arguments)
                futures.append(cluster.executor.submit(*call))
        try:
            wait(futures, deadline, return_when="FIRST_EXCEPTION")
            if any(future.done() and future.exception() for future in futures):
                wait(futures, RANKS_SAY_WHY)  # the others have a moment to say so too
            return _results(futures, tasks)
        finally:
            for future in futures:
                future.cancel()


def _tasks(cluster, workers):
    here = [task for task in cluster.tasks if task.startswith("/job:worker/")]
    count = len(here) if workers is None else workers
    if not 1 <= count <= len(here):
        raise ValueError(f"run_ranks(workers={workers}): this cluster has {len(here)} worker tasks to offer.")
    spec = cluster.spec
    away = [t for t in here[:count] if not _is_loopback(spec.task_address("worker", int(t.rpartition(":")[2])))]
    if away:
        raise ValueError(
            f"run_ranks(cluster): {', '.join(away)} may be on another machine, and gloo would send gradients there "
            "unencrypted. Use local_cluster(worker=3), or course.training.train, which encrypts."
        )
    return here[:count]


def _is_loopback(address):
    host = address.rpartition(":")[0].strip("[]")
    return host in ("localhost", "::1") or host.startswith("127.")


def _results(futures, tasks):
    silent = [task for task, future in zip(tasks, futures, strict=True) if not future.done()]
    failed = {t: f.exception() for t, f in zip(tasks, futures, strict=True) if f.done() and f.exception()}
    if not silent and not failed:
        return [future.result() for future in futures]
    own = {task: error for task, error in failed.items() if not isinstance(error, PeerError)}
    words = [f"{task} did not answer" for task in silent]
    words += [f"{task} raised {type(error).__name__}: {error}" for task, error in own.items()]
    # what a rank says about its neighbours ("connection closed") matters only where nothing better is known
    words = words or [f"{task}: {error}" for task, error in failed.items()]
    advice = " A task that is still busy is freed by cluster.restart(task)." if silent else ""
    cause = next(iter((own or failed).values()), None)
    raise RankError(f"run_ranks: {'; '.join(words)}. All ranks are needed; call it again.{advice}") from cause
