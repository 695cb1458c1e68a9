"""`local_cluster(ps=1, worker=2)`: tasks on this machine, each in a process of its own, on loopback, under TLS."""

from collections.abc import Mapping, Sequence

from distributed import Client

from course.cluster.cluster import Cluster
from course.cluster.dask_log import quiet
from course.cluster.local_runtime.runtime import LocalRuntime
from course.cluster.spec import ClusterSpec, check_job
from course.deadlines import TASK_JOINS

_LOOPBACK = ("localhost", "127.0.0.1")


def local_cluster(
    spec: ClusterSpec | Mapping[str, Sequence[str]] | None = None,
    /,
    *,
    dashboard: bool = False,
    simulated_gpus: int | tuple[int, str] = 0,
    **jobs: int,
) -> Cluster:
    """Start a cluster on this machine and return its `Cluster`; one process, and one Dask worker, a task.

    `jobs`: how many tasks each job has (`ps=1, worker=2` when nothing is given; names are free), or `spec`: a
    `ClusterSpec` with this machine's loopback as its hosts. `dashboard=True` opens Dask's dashboard on a free port.
    `simulated_gpus=2` gives every task two simulated GPUs, of another model by `simulated_gpus=(2, "T4")`; work on the
    task uses them as `cuda:0` and `cuda:1`, or is placed there by `cluster.at("/job:worker/task:1/gpu:0")`. Of several
    real GPUs each task, but those of ps, sees one, as its `/gpu:0` (CUDA_VISIBLE_DEVICES; they take turns).
    Close it by `close()` or the end of a `with`; it also closes when it is forgotten and when Python ends. A task that
    dies, or is stopped for 2.5 seconds, is replaced under its name and on its port, and its work runs again. Raises
    TypeError or ValueError for a wrong number, name or address, RuntimeError when a task cannot start.
    """
    ports = _ports_of_spec(spec, jobs) if spec is not None else any_ports(jobs or {"ps": 1, "worker": 2})
    simulated = checked_gpus(simulated_gpus)
    quiet()
    runtime = LocalRuntime(ports, dashboard, simulated)
    try:
        runtime.start()
        client = Client(runtime.session_target, security=runtime.security, loop=runtime.thread.loop, timeout=TASK_JOINS)
    except BaseException:
        runtime.close()
        raise
    return Cluster(client, runtime)


def checked_gpus(requested):
    """Return `(count, model's name)` for the argument `simulated_gpus`, None for 0."""
    count, model = requested if isinstance(requested, tuple) and len(requested) == 2 else (requested, "H200")
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= 128 or not isinstance(model, str):
        raise ValueError(
            f"local_cluster(simulated_gpus={requested!r}): say how many GPUs each task is to simulate, 0 to 128, "
            'as in simulated_gpus=2, or simulated_gpus=(2, "T4") with the model\'s name'
        )
    if not count:
        return None
    from course.devices.simulated import model_for

    model_for(model)  # a name that stands for no model is refused here, not by a task that cannot start
    return count, model


def any_ports(jobs):
    """Return job -> port of each task (0: any free one)."""
    for job, count in jobs.items():
        check_job(job)
        if job == "scheduler":
            raise ValueError(f"local_cluster(scheduler={count!r}): every cluster has one scheduler; leave it out")
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 100:
            raise ValueError(
                f"local_cluster({job}={count!r}): the number of tasks must be a whole number from 1 to 100, "
                "as in local_cluster(ps=1, worker=2)"
            )
    return {job: [0] * count for job, count in jobs.items()}


def _ports_of_spec(spec, jobs):
    if jobs:
        raise TypeError(f"local_cluster(spec, {', '.join(jobs)}=…): give a spec or numbers of tasks, not both")
    if isinstance(spec, int):
        raise TypeError(f"local_cluster({spec}): say of which job, as in local_cluster(worker={spec})")
    ports = {}
    for job, addresses in ClusterSpec(spec).as_dict().items():
        for index, address in enumerate(addresses):
            host, _, port = address.rpartition(":")
            if host not in _LOOPBACK:
                raise ValueError(
                    f"local_cluster(spec): {job}[{index}] is on {host!r}, and local_cluster starts tasks on localhost "
                    "only. Start that one there with `python -m course task`, and use connect(spec)."
                )
            ports.setdefault(job, []).append(int(port))
    return ports
