"""The `Cluster` that a notebook holds: named tasks, a Dask client, an executor, pins; close it when you are done."""

import sys
import threading
import traceback
import weakref
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING

from distributed import Client

from course.cluster.chief_lease import LEASE_LASTS, Lease
from course.cluster.executor import ClusterExecutor, OpenWork
from course.cluster.routes import Routes
from course.cluster.runtime import Runtime
from course.cluster.spec import ClusterSpec
from course.cluster.tape.recorder import Recorder
from course.cluster.tape.tape import Tape
from course.cluster.task.placement import logged
from course.cluster.task_name import Pin, check_task, parse_pin, pinned
from course.deadlines import CLIENT_CLOSES

#: For the scheduler to answer one question about a lease; slower than this, the answer would come too late to act on.
LEASE_ANSWER = 2.0
#: For every task to say which devices it has: it may be busy, and a task does one thing at a time.
DEVICES_ANSWER = 35.0

if TYPE_CHECKING:
    from course.devices import DeviceList


class Cluster:
    """Tasks that run elsewhere, by name: `local_cluster` makes one with its processes, `connect` joins a running one.

    Usable from several threads, but a pin (`at`) holds only in the thread that entered it. Closes by `close()`, at the
    end of a `with`, when nothing refers to it or its executor any more, and when Python ends.
    """

    def __init__(self, client: Client, runtime: Runtime):
        _forget_last_error()
        self._client, self._runtime = client, runtime
        self._work = OpenWork()
        self._tape: Tape | None = None
        unwatch = runtime.watch(client, self._work)
        # A cell that runs twice forgets its first cluster, which then closes itself. (A client alone cannot keep it.)
        self._closing = weakref.finalize(self, _close, client, runtime, unwatch, self._work)

    @property
    def tasks(self) -> list[str]:
        """The tasks' names, such as `/job:worker/task:0`."""
        return list(self._runtime.tasks)

    @property
    def spec(self) -> ClusterSpec:
        """The `ClusterSpec` with the address of every task, and the scheduler's."""
        jobs: dict[str, list[str]] = {"scheduler": [self._runtime.session_target.partition("://")[2]]}
        for task in self.tasks:
            jobs.setdefault(_job(task), []).append(self._runtime.address(task))
        return ClusterSpec(jobs)

    @property
    def session_target(self) -> str:
        """The scheduler's address (`tls://127.0.0.1:40001`): what a client or another task connects to."""
        return self._runtime.session_target

    @property
    def client(self) -> Client:
        """Dask's client; raises RuntimeError once the cluster is closed. Keep the cluster as long as you use it."""
        self._work.check("cluster.client")
        return self._client

    @property
    def route(self) -> Routes | None:
        """How this process reaches the addresses at which tasks listen, as `train` does; None: straight."""
        return self._runtime.route

    @property
    def executor(self) -> ClusterExecutor:
        """A `concurrent.futures.Executor` whose functions run on the tasks; RuntimeError once the cluster is closed."""
        self._work.check("cluster.executor")
        return ClusterExecutor(self, self._client, self._work)

    @property
    def dashboard_link(self) -> str | None:
        """Where Dask's dashboard answers, as a URL or a path below JupyterHub's; None when it is off, as by default."""
        return self._runtime.dashboard_link

    def at(self, place: str) -> AbstractContextManager[Pin]:
        """Pin the work described or submitted inside the `with` to a task, or to a device of it.

        `place`: `/job:worker/task:1`, or `/job:worker/task:1/gpu:0`: PyTorch's operations in the work then run on that
        device of the task, which may be simulated (`local_cluster(worker=2, simulated_gpus=1)`). Holds for
        `dask.delayed`, `client.submit` and `executor.submit`, in the calling thread only.
        Raises ValueError with the cluster's tasks, at once, when there is no such task.
        """
        self._work.check("cluster.at")
        return pinned(parse_pin(place, self.tasks, self._runtime.missing), self._client)

    def logged(self) -> AbstractContextManager[None]:
        """Within the `with`, a placement log that this thread has entered gathers the ops of what it submits."""
        return logged(self._client)

    def missing(self) -> list[str]:
        """Return the names of the spec's tasks that have not joined, have left or are being replaced."""
        self._work.check("cluster.missing")
        return self._runtime.missing()

    def devices(self) -> "DeviceList":
        """Return the devices of every task as a `DeviceList`, with names such as `/job:worker/task:0/cpu:0`.

        Those that a task simulates are marked so. Raises TimeoutError when a task is busy for longer than 35 seconds.
        """
        self._work.check("cluster.devices")
        from course.devices import DeviceList, DeviceName, list_devices  # loads torch

        futures = []
        for task in self.tasks:
            name = DeviceName.parse(task)
            with self.at(task):
                futures.append(self.executor.submit(list_devices, name.job, name.task))
        return DeviceList(device for future in futures for device in future.result(timeout=DEVICES_ANSWER))

    def lease(self, name: str, task: str, seconds: float = LEASE_LASTS) -> Lease:
        """Return a `Lease`: the task `task` as a candidate for `name`, which at most one has at any time.

        The scheduler keeps it. Call `renew()` twice a second or more often: it takes a free lease (among candidates
        the lowest task wins) and keeps a held one; without that it is lost after `seconds`, at most 3 (else
        ValueError): a scheduler that starts anew gives nothing away for as long.
        """
        self._work.check("cluster.lease")
        return Lease(partial(self._ask, "lease"), partial(self._ask, "release_lease"), name, task, seconds)

    def _ask(self, handler, **arguments):
        """Return what the scheduler's `handler` answers."""
        self._work.check(f"cluster.{handler}")
        handle = getattr(self._client.scheduler, handler)
        return self._client.sync(handle, callback_timeout=LEASE_ANSWER, **arguments)

    def record(self) -> Tape:
        """Return a `Tape` that records what this cluster does, until it is closed or its `with` ends.

        It notes tasks, transfers and their bytes, joins and deaths, and a training's steps, pushes and versions, on one
        axis. One at a time: RuntimeError while another one records. TimeoutError when a process doesn't answer.
        """
        self._work.check("cluster.record")
        if self._tape is not None and self._tape.is_recording:
            raise RuntimeError("cluster.record(): this cluster is being recorded already; close that tape first")
        self._tape = Tape(Recorder(self._client))
        return self._tape

    @property
    def recorder(self) -> Recorder | None:
        """What takes the notes of the tape that records now, None where none does."""
        return self._tape.recorder if self._tape is not None and self._tape.is_recording else None

    def kill(self, task: str) -> None:
        """End the process of `task` at once (SIGKILL), to see what happens; a local cluster replaces it.

        Raises ValueError for a task that there is not, RuntimeError for a cluster that `connect` joined.
        """
        self._signal(task, "kill")

    def freeze(self, task: str) -> None:
        """Stop the process of `task` without ending it (SIGSTOP): it holds its connections open and answers none.

        A local cluster replaces a task that has been frozen for 2.5 seconds. RuntimeError on Windows; raises as `kill`.
        """
        self._signal(task, "freeze")

    def thaw(self, task: str) -> None:
        """Let a frozen task go on where it was (SIGCONT); one that isn't frozen, or was replaced, goes on as it is.

        RuntimeError on Windows, and as for `kill`.
        """
        self._signal(task, "thaw")

    def restart(self, task: str | None = None) -> None:
        """End the process of `task`, or of every task, and wait for its successor, on the same port; frees a busy task.

        Raises RuntimeError when the successor cannot start, and as for `kill`.
        """
        self._work.check("cluster.restart")
        self._runtime.restart(self.tasks if task is None else [self._checked("restart", task)])

    def log(self, task: str) -> str:
        """Return what the functions on `task` printed, and its last words when it died; raises as `kill` does."""
        return self._runtime.log(self._checked("log", task))

    def close(self) -> None:
        """End the cluster, its tape, its unfinished work, and all that `local_cluster` opened; again: do nothing."""
        if self._tape is not None:
            self._tape.close()
        self._closing()

    def _signal(self, task, method):
        self._runtime.signal(self._checked(method, task), method)
        if self.recorder is not None:
            self.recorder.happened(_DONE[method], task)

    def _checked(self, method, task):
        self._work.check(f"cluster.{method}")
        return check_task(task, self.tasks, f"cluster.{method}")

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self):
        tasks, absent = self._tasks_and_absent()
        jobs = [_job(task) for task in tasks]
        counts = ", ".join(f"{job}={jobs.count(job)}" for job in dict.fromkeys(jobs))
        return f"Cluster({counts}{'; missing: ' if absent else ''}{', '.join(absent)})"

    def _tasks_and_absent(self):
        tasks = self.tasks  # a local cluster's tasks are all of them: one that died is on its way back
        return tasks, [] if self._work.closed else [task for task in self._runtime.missing() if task not in tasks]

    def _repr_mimebundle_(self, include=None, exclude=None):
        from course.draw import ROLES, table

        # Ports and process ids differ from run to run; a stored notebook must not.
        signs = {job: role.sign for job, role in ROLES.items() if job in ("ps", "worker")}
        tasks, absent = self._tasks_and_absent()
        names = {task: f"{signs.get(_job(task), '○')} {task}" for task in tasks}
        names |= {task: f"✗ {task}: missing" for task in absent}
        rows = [(name, _job(task), int(task.rpartition(":")[2])) for task, name in names.items()]
        caption = f"{len(tasks)} tasks, a process each" + (f"; {len(absent)} more missing" if absent else "")
        shown = table(["task", "job", "index"], rows, alt=repr(self), caption=caption)
        return {"text/plain": repr(self), "text/html": shown.html}


def _forget_last_error():
    """Let go of what the functions of the last error in a notebook held, the cluster before this one perhaps.

    Python keeps their frames for a debugger. A cell that begins anew after an error would have two clusters.
    """
    error: BaseException | None = getattr(sys, "last_value", None)
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


_DONE = {"kill": "killed", "freeze": "frozen", "thaw": "thawed"}


def _job(task):
    return task.split("/")[1].removeprefix("job:")


def _close(client, runtime, unwatch, work):
    """Close everything; no reference to the cluster may be in here, or it would never be forgotten."""
    work.close("this cluster is closed; start a new one with local_cluster()")
    unwatch()
    if runtime.thread.is_mine():  # forgotten in the middle of the loop's own work, which would be waited for here
        threading.Thread(target=_shut, args=(client, runtime), name="closing a cluster").start()
    else:
        _shut(client, runtime)


def _shut(client, runtime):
    try:
        client.close(timeout=CLIENT_CLOSES)
    finally:
        runtime.close()
