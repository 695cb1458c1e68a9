"""A Dask scheduler in this process, for starts that fail after it has answered: it costs no machine's process."""

from contextlib import contextmanager
from unittest import mock

from distributed import Scheduler

from course.cluster.certificates import new_certificate, security
from course.cluster.local_runtime.loop import LoopThread
from course.deploy.clouds.machines import machine_deployer


@contextmanager
def scheduler_here(port):
    """Within the `with`, a scheduler at `port` of every address, whose certificate the next cluster gets."""
    made = new_certificate()
    thread = LoopThread()

    async def start():
        return await Scheduler(security=security(made), protocol="tls", port=port, dashboard=False)

    scheduler = thread.run(start)
    try:
        with mock.patch.object(machine_deployer, "new_certificate", lambda days: made):
            yield
    finally:
        thread.run(scheduler.close)
        thread.stop()
