"""`local_cluster(ps=1, worker=2)`: a scheduler in this process and one real process a task, on loopback, under TLS."""

import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path


from distributed import Client, Scheduler
from distributed.utils import LoopRunner

from course.cluster.certificates import new_certificate, security
from course.cluster.cluster import Cluster
from course.cluster.launch import preload
from course.cluster.quiet import quiet
from course.cluster.spec import ClusterSpec
from course.cluster.supervisor import PATIENCE, Supervisor
from course.cluster.task import TaskSettings

HOST = "127.0.0.1"
_DEATHS_OF_WORK = (
    10  # times that one function's process may die under it before Dask gives the function up (its 3 is few)
)


def local_cluster(spec=None, /, *, dashboard=False, **jobs):
    """Start a cluster on this machine and return its `Cluster`; one process, and one Dask worker, a task.

    `jobs`: how many tasks each job has (`ps=1, worker=2` when nothing is given; names are free), or `spec`: a
    `ClusterSpec`, whose hosts must be this machine's loopback. `dashboard=True` opens Dask's dashboard on a free port.
    Close it by `close()` or the end of a `with`; it also closes when it is forgotten and when Python ends.
    Raises TypeError or ValueError for a wrong number or address, RuntimeError when a task cannot start.
    """
    addresses = _addresses(spec, jobs)
    quiet()
    runtime = LocalRuntime(addresses, dashboard)
    try:
        runtime.start()
        client = Client(runtime.scheduler.address, security=runtime.security, loop=runtime.loop, timeout=PATIENCE)
    except BaseException:
        runtime.close()
        raise
    return Cluster(client, list(runtime.supervisor.settings), runtime)


def _addresses(spec, jobs):
    """Return job -> list of ports (0: any free one), with a `scheduler` among them."""
    if spec is not None:
        if jobs:
            raise TypeError(f"local_cluster(): give a spec or numbers of tasks ({', '.join(jobs)}), not both")
        return {"scheduler": [0], **_ports(ClusterSpec(spec))}
    jobs = jobs or {"ps": 1, "worker": 2}
    for job, count in jobs.items():
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 100:
            raise ValueError(
                f"local_cluster({job}={count!r}): the number of tasks must be a whole number from 1 to 100, "
                "as in local_cluster(ps=1, worker=2)"
            )
    if "scheduler" in jobs:
        raise ValueError(f"local_cluster(scheduler={jobs['scheduler']}): every cluster has one scheduler; leave it out")
    return {"scheduler": [0], **{job: [0] * count for job, count in jobs.items()}}


def _ports(spec):
    for job in spec.jobs:
        for index in range(spec.num_tasks(job)):
            host, _, _ = spec.task_address(job, index).rpartition(":")
            if host not in ("localhost", "127.0.0.1"):
                raise ValueError(
                    f"local_cluster(spec): {job}[{index}] is on {host!r}; local_cluster starts tasks on localhost only. "
                    "Start that one there with `python -m course task` and use connect(spec)."
                )
    return {
        job: [int(address.rpartition(":")[2]) for address in addresses] for job, addresses in spec.as_dict().items()
    }


class LocalScheduler(Scheduler):
    """A Dask scheduler that serves no web page unless `dashboard` is true."""

    def __init__(self, dashboard, **settings):
        super().__init__(dashboard=dashboard, dashboard_address=f"{HOST}:0" if dashboard else None, **settings)

    def start_http_server(self, routes, dashboard_address, default_port=0, ssl_options=None):
        self.http_server = None
        if dashboard_address:
            super().start_http_server(routes, dashboard_address, default_port, ssl_options)


class LocalRuntime:
    """What `local_cluster` opens and must close: an event loop, the scheduler, the tasks' processes, a private folder."""

    def __init__(self, ports, dashboard):
        self._ports, self._dashboard = ports, dashboard
        self._runner = LoopRunner()
        self._certificate = new_certificate(days=30)
        self.security = security(self._certificate)
        self.scheduler = self.supervisor = self.folder = None

    def start(self):
        preload()
        self.folder = Path(tempfile.mkdtemp(prefix="course-cluster-"))
        self._runner.start()
        self.loop = self._runner.loop
        self._runner.run_sync(self._start)

    async def _start(self):
        self.scheduler = await LocalScheduler(
            self._dashboard,
            host=HOST,
            port=self._ports["scheduler"][0],
            protocol="tls",
            security=self.security,
            allowed_failures=_DEATHS_OF_WORK,
        )
        self.supervisor = Supervisor(self.scheduler, self._settings())
        await self.supervisor.start()

    def _settings(self):
        tasks = [
            (job, i, port) for job, ports in self._ports.items() if job != "scheduler" for i, port in enumerate(ports)
        ]
        return [
            TaskSettings(
                name=f"/job:{job}/task:{index}",
                scheduler=self.scheduler.address,
                host=HOST,
                port=port,
                threads=max(1, _cores() // len(tasks)),
                scratch=str(self.folder),
                certificate=self._certificate,
                log=self.log_file(f"/job:{job}/task:{index}"),
                path=tuple(sys.path),
                folder=os.getcwd(),
            )
            for job, index, port in tasks
        ]

    def log_file(self, name):
        return str(self.folder / (name.strip("/").replace("/", "-").replace(":", "-") + ".log"))

    def address(self, name):
        """Return the `host:port` where the task listens."""
        return f"{HOST}:{self.supervisor.settings[name].port}"

    def kill(self, name):
        self.supervisor.processes[name].signal(signal.SIGKILL)

    def restart(self, name):
        self._runner.run_sync(self.supervisor.restart, name)

    def close(self):
        """End the tasks, the scheduler and the loop; remove the folder. May be called again."""
        try:
            if self._runner.is_started():
                self._runner.run_sync(self._stop)
        finally:
            self._runner.stop()
            if self.folder:
                shutil.rmtree(self.folder, ignore_errors=True)

    async def _stop(self):
        # Tasks first, and at once: their scratch is ours to remove, and a scheduler that closes would wait for them.
        if self.supervisor:
            await self.supervisor.stop()
        if self.scheduler:
            await self.scheduler.close()


def _cores():
    from dask.system import CPU_COUNT  # knows about containers' limits

    return CPU_COUNT
