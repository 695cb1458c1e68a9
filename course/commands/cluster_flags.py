"""The flags by which `pi`, `life` and `mean` join a cluster that runs elsewhere, or are one task of it themselves."""

import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from course.commands.flags import HOSTS, INDEX, JOB_HOSTS, flags
from course.signals import taken

if TYPE_CHECKING:
    from course.cluster.cluster import Cluster
    from course.cluster.spec import ClusterSpec

_HOSTS = ("spec", "ps_hosts", "worker_hosts", "job_hosts", "scheduler_hosts")
#: The arguments that `cluster_flags` adds to a command.
CLUSTER_FLAGS = frozenset(("job_name", "task_index", "certificate", "insecure", "patience", *_HOSTS))
_OPTIONS = (
    *HOSTS,
    JOB_HOSTS,
    click.option("--job-name", "--job", metavar="JOB", help="Be a task of it; worker 0 computes, the others serve."),
    INDEX,
)
#: Adds these flags to a click command, which gets them as arguments that go to `joined_cluster`.
cluster_flags = flags(_OPTIONS)


@contextmanager
def joined_cluster(
    say: Callable[..., None],
    job_name: str | None,
    task_index: int,
    certificate: str | None,
    insecure: bool,
    patience: float,
    **hosts: Any,
) -> Iterator["Cluster | None"]:
    """Within the `with`, work may go to the cluster that the flags name; gives it, or None where they name none.

    With a `job_name` this process is a task of it too, and says so: worker 0 computes and leaves at the end, any other
    task serves until SIGTERM or Ctrl-C, and SystemExit is raised then. Raises ValueError for flags that don't fit,
    OSError or RuntimeError where the cluster can't be joined.
    """
    if not any(hosts[name] for name in _HOSTS):
        if job_name is not None:
            raise ValueError(
                f"--job-name {job_name}: give the cluster too, as in --ps-hosts A:1 --worker-hosts B:1,C:1"
            )
        yield None
        return
    from course.cluster import connect
    from course.cluster.certificates import security
    from course.commands.task import certificate_of, spec_of

    by_scheduler = job_name is None and not any(hosts[name] for name in _HOSTS if name != "scheduler_hosts")
    spec = hosts["scheduler_hosts"] if by_scheduler else spec_of(**hosts)
    if job_name is not None:
        spec.task_address(job_name, task_index)  # a wrong name is told before a missing certificate
    pair = certificate_of(certificate, hosts["spec"], insecure)
    target = {"security": security(pair)} if pair else {"insecure": True}
    with _as_task(spec, job_name, task_index, pair, patience, say):
        with connect(spec, timeout=patience, **target) as cluster:
            yield cluster


@contextmanager
def _as_task(spec, job, index, pair, patience, say):
    """Within the `with`, this process is the task, where there is a `job`; one that doesn't compute ends here."""
    if job is None:
        yield
        return
    from course.cluster.multihost.serve import joined, serve
    from course.cluster.multihost.which_task import Member

    me = Member(spec, job, index, pair, patience)
    if me.name != computing_task(spec):
        raise SystemExit(serve(me, say))
    with taken(lambda *_: sys.exit(128 + signal.SIGTERM), signal.SIGTERM), joined(me, say):
        yield


def computing_task(spec: "ClusterSpec") -> str:
    """Return the task that computes where all are started with the same flags: worker 0, or the first that is no ps."""
    others = [task for task in spec.tasks if not task.startswith("/job:ps/")]
    return "/job:worker/task:0" if "/job:worker/task:0" in others else (others or spec.tasks)[0]


def computing_tasks(cluster: "Cluster") -> list[str]:
    """Return the tasks that share the work: all but parameter servers, or these where there is nothing else."""
    return [task for task in cluster.tasks if not task.startswith("/job:ps/")] or cluster.tasks


@contextmanager
def executor_of(cluster: "Cluster | None", workers: int, say: Callable[..., None]) -> Iterator[Executor | None]:
    """Within the `with`, give the executor to work on: the cluster's, that of `workers` processes here, or None."""
    if cluster is not None:
        say(f"on {', '.join(cluster.tasks)}, at {cluster.session_target}")
        yield cluster.executor
    elif workers == 1:
        yield None
    else:
        from course.cluster import local_cluster

        started = time.perf_counter()
        with local_cluster(worker=workers) as here:
            say(f"{workers} processes ready in {time.perf_counter() - started:.1f} s")
            yield here.executor
