"""One ps and two workers for all tests of a test process that take `shared_cluster`: started once, whole for each."""

import threading
import time

from tests.helpers import leaks


class SharedCluster:
    """`ready()` returns the cluster, every task alive and idle; the leak check knows what belongs to it.

    A test may kill or freeze a task: its replacement is waited for. What a test closes or spoils is started anew.
    """

    def __init__(self):
        self._cluster, self._threads = None, set()
        leaks.OUTLIVING.append(self._owned)

    def ready(self):
        if self._cluster is not None and not self._is_whole_and_idle():
            self._end()
        if self._cluster is None:
            self._start()
        return self._cluster

    def close(self):
        leaks.OUTLIVING.remove(self._owned)
        if self._cluster is not None:
            self._end()

    def _start(self):
        from course.cluster import local_cluster  # most test processes need none

        earlier = {thread.ident for thread in threading.enumerate()}
        self._cluster = local_cluster(ps=1, worker=2)
        assert self._is_whole_and_idle(), "a new cluster's tasks do not answer"
        self._threads = {thread.ident for thread in threading.enumerate()} - earlier

    def _end(self):
        try:
            self._cluster.close()
        finally:
            self._cluster, self._threads = None, set()

    def _is_whole_and_idle(self, patience=60.0):
        cluster, deadline = self._cluster, time.monotonic() + patience
        try:
            for task in cluster.tasks:
                with cluster.at(task):
                    cluster.executor.submit(abs, -1).result(timeout=patience)
            if cluster.recorder is not None:
                return False
            while cluster.client.run_on_scheduler(_tasks_of_scheduler):
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.02)
        except Exception:  # whatever Dask raises of a cluster that a test has closed or broken
            return False
        return True

    def _owned(self):
        if self._cluster is None:
            return set(), set(), set()
        runtime = self._cluster._runtime
        addresses = [runtime.session_target, *(runtime.address(task) for task in self._cluster.tasks)]
        ports = {int(address.rpartition(":")[2]) for address in addresses}
        return {process.pid for process in runtime._supervisor._processes.values()}, ports, self._threads


def _tasks_of_scheduler(dask_scheduler):
    return len(dask_scheduler.tasks)
