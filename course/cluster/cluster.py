"""The `Cluster` that a notebook holds: named tasks, a Dask client, an executor, pins; close it when you are done."""

import threading
import weakref

from course.cluster.executor import ClusterExecutor
from course.cluster.pin import parse_pin, pinned


class Cluster:
    """Tasks that run elsewhere, by name; made by `local_cluster` (which owns its processes) and `connect` (which doesn't).

    `client`: Dask's; `executor`: a `concurrent.futures.Executor`; `tasks`: the tasks' names. Safe to use from several
    threads, but a pin (`at`) holds only in the thread that entered it.
    """

    def __init__(self, client, tasks, runtime=None):
        self._tasks, self._runtime = list(tasks), runtime
        self._client = client
        self._open = [True]  # shared with the executor, which must not keep the cluster alive
        self._executor = ClusterExecutor(client, _Gate(self._open))
        # A cell that is run twice forgets its first cluster: that one then closes itself.
        self._closing = weakref.finalize(self, _close, client, self._executor, runtime, self._open)

    @property
    def tasks(self):
        """The tasks' names, such as `/job:worker/task:0`."""
        return list(self._tasks)

    @property
    def client(self):
        """Dask's client; raises RuntimeError once the cluster is closed."""
        self._check_open("client")
        return self._client

    @property
    def executor(self):
        """The executor whose functions run on the tasks; raises RuntimeError once the cluster is closed."""
        self._check_open("executor")
        return self._executor

    def at(self, place):
        """Pin the work described or submitted inside the `with` to a task (`/job:worker/task:1`), or to a device of it.

        Holds for `dask.delayed`, `client.submit` and `executor.submit` in the calling thread. Raises ValueError with the
        cluster's tasks when there is no such task.
        """
        self._check_open("at")
        return pinned(parse_pin(place, self._tasks))

    def close(self):
        """End the cluster and everything that `local_cluster` opened; a second call does nothing."""
        self._closing()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _check_open(self, where):
        _Gate(self._open)(f"cluster.{where}")

    def __repr__(self):
        jobs = {}
        for task in self._tasks:
            job = task.split("/")[1].removeprefix("job:")
            jobs[job] = jobs.get(job, 0) + 1
        return f"Cluster({', '.join(f'{job}={count}' for job, count in jobs.items())})"


class _Gate:
    """Raises when the cluster is closed."""

    def __init__(self, is_open):
        self._is_open = is_open

    def __call__(self, where):
        if not self._is_open[0]:
            raise RuntimeError(f"{where}: this cluster is closed; start a new one with local_cluster()")


def _close(client, executor, runtime, is_open):
    is_open[0] = False
    executor.fail_pending("the cluster was closed before this work was done")
    client.close(timeout=2)
    if runtime:
        runtime.close()
