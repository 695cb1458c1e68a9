"""`torch.distributed` on a cluster's tasks: the same function in several processes, which reduce with gloo."""

import os
import tempfile
import time
from concurrent.futures import wait
from datetime import timedelta
from pathlib import Path

from course.deadlines import RANK_SILENCE, RANKS_END, RANKS_MEET, RANKS_SAY_WHY

_LOOPBACK = "127.0.0.1"


class RankError(RuntimeError):
    """A rank failed or went silent: the message names its task and what happened."""


class PeerError(RuntimeError):
    """A reduction failed in one rank because of another one."""


def run_ranks(function, cluster, *arguments, workers=None, silence=RANK_SILENCE, deadline=RANKS_END):
    """Run `function(rank, size, *arguments)` on `size` worker tasks at once; return their results in rank order.

    Inside, `torch.distributed` is ready: `all_reduce(tensor)` adds up over the ranks, in place, by gloo.

    - `cluster`: has worker tasks, all on this machine: gloo sends plain, unencrypted TCP, so it is kept to loopback.
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
                call = (_as_rank, function, rank, len(tasks), folder, silence, arguments)
                futures.append(cluster.executor.submit(*call))
        try:
            _wait(futures, time.monotonic() + deadline)
            return _results(futures, tasks)
        finally:
            for future in futures:
                future.cancel()


def _tasks(cluster, workers):
    here = [task for task in cluster.tasks if task.startswith("/job:worker/")]
    count = len(here) if workers is None else workers
    if not 1 <= count <= len(here):
        raise ValueError(f"run_ranks(workers={workers}): this cluster has {len(here)} worker tasks to offer.")
    away = [task for task in here[:count] if not _is_loopback(cluster.spec.task_address(*_job_and_index(task)))]
    if away:
        raise ValueError(
            f"run_ranks(cluster): {', '.join(away)} may be on another machine, and gloo would send gradients there "
            "unencrypted. Use local_cluster(worker=3), or course.training.train, which encrypts."
        )
    return here[:count]


def _is_loopback(address):
    host = address.rpartition(":")[0].strip("[]")
    return host in ("localhost", "::1") or host.startswith("127.")


def _job_and_index(task):
    _, job, index = task.split("/")
    return job.removeprefix("job:"), int(index.removeprefix("task:"))


def _wait(futures, deadline):
    """Wait until all ranks are done, one has failed and the others had a moment to say so too, or the time is up."""
    wait(futures, deadline - time.monotonic(), return_when="FIRST_EXCEPTION")
    if any(future.done() and future.exception() for future in futures):
        wait(futures, RANKS_SAY_WHY)


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


def _as_rank(function, rank, size, folder, silence, arguments):
    """In a task: join the group, run the function, leave the group."""
    from torch import distributed

    _first_time(folder, rank)
    os.environ["GLOO_SOCKET_IFNAME"] = _loopback_interface()  # or gloo listens on whatever the host's name means
    try:
        _join(distributed, rank, size, folder, timedelta(seconds=silence))
        return function(rank, size, *arguments)
    except RuntimeError as error:
        if not (isinstance(error, distributed.DistError) or "gloo" in str(error)):
            raise
        failed = f"a reduction failed: {error}"  # its text alone: its traceback would keep the group and its port
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()
        os.environ.pop("GLOO_SOCKET_IFNAME", None)
    raise PeerError(failed)


def _join(distributed, rank, size, folder, silence):
    """Wait for all ranks to be there, then make the group: a task may be slow to start, but not to answer."""
    store = distributed.FileStore(str(Path(folder, "store")), size)
    store.set(f"here-{rank}", "yes")
    store.wait([f"here-{other}" for other in range(size)], timedelta(seconds=RANKS_MEET))
    distributed.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=silence)


def _first_time(folder, rank):
    """Refuse to run a rank twice: Dask runs the work of a dead task again, and its old group waits for nobody."""
    try:
        Path(folder, f"rank-{rank}").touch(exist_ok=False)
    except FileExistsError:
        raise RankError(f"rank {rank} died; its successor can't take its place in the middle") from None


def _loopback_interface():
    import psutil

    addresses = psutil.net_if_addrs().items()
    return next(name for name, known in addresses if any(one.address == _LOOPBACK for one in known))
