"""What a strike can reach: processes by their tasks' names, the folder of checkpoints, proxies, and later."""

import os
import threading


class Stage:
    """`cluster`, `plan`, `folder`; `pids`: task's name -> process id; `proxies`: those before shards, if any.

    `notes`: words for the report; `checks`: functions for the end, each returns complaints. `members`: the processes of
    a cluster started by hand, None for a local one.
    """

    def __init__(self, cluster, plan, folder, members=None):
        self.cluster, self.plan, self.folder, self.members = cluster, plan, folder, members
        self.notes, self.proxies, self.checks, self._timers = [], [], [], []
        self.look_up()

    def look_up(self):
        """Ask anew which process each task has."""
        self.pids = self.cluster.client.run_on_scheduler(_pids) if self.members is None else self.members.pids()

    def victim(self, job, more=0):
        """Return the task of `job` that the plan means, or one of the next that take part; or the scheduler."""
        if job == "scheduler":
            return job
        count = self.plan.ps if job == "ps" else self.plan.workers
        return f"/job:{job}/task:{(self.plan.victim + more) % count}"

    def signal(self, task, number):
        """Send a signal from outside, as a shell would; a process that has gone is none to send to."""
        try:
            os.kill(self.pids[task], number)
        except ProcessLookupError:
            self.notes.append(f"{task} had gone before signal {number}")

    def later(self, seconds, function, *arguments):
        """Call the function after so many seconds, at the latest when the trial is over."""
        timer = _Timer(seconds, function, arguments)
        self._timers.append(timer)
        timer.start()

    def over(self):
        """Bring forward what is still to come."""
        for timer in self._timers:
            timer.hurry()


class _Timer(threading.Thread):
    def __init__(self, seconds, function, arguments):
        super().__init__(name="later", daemon=True)
        self._seconds, self._call, self._early = seconds, (function, arguments), threading.Event()

    def run(self):
        self._early.wait(self._seconds)
        function, arguments = self._call
        function(*arguments)

    def hurry(self):
        self._early.set()
        self.join(30)


def _pids(dask_scheduler):
    return {worker.name: worker.pid for worker in dask_scheduler.workers.values()}
