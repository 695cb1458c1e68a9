"""A `concurrent.futures.Executor` on the cluster's tasks whose futures always come to an end."""

import concurrent.futures
import functools
import threading
import uuid

from dask.utils import funcname

from course.cluster.task.results import run_for_home


class OpenWork:
    """What has been submitted and is not done, and why nothing more can be (`closed`, None while the cluster lives)."""

    def __init__(self):
        self.closed = None
        self._pending = {}  # our future -> Dask's: Dask cancels a future that nobody holds
        self._lock = threading.Lock()

    def check(self, where):
        """Raise RuntimeError when the cluster is closed or lost."""
        if self.closed:
            raise RuntimeError(f"{where}: {self.closed}")

    def add(self, ours, theirs):
        with self._lock:
            self.check("executor.submit")  # again: `close` may have come since, and has failed its list already
            self._pending[ours] = theirs

    def remove(self, ours):
        with self._lock:
            return self._pending.pop(ours, None)

    def close(self, reason):
        """Take no more work, and fail every future that is not done, with `RuntimeError(reason)`."""
        with self._lock:
            self.closed = self.closed or reason
            pending = list(self._pending)
        for ours in pending:
            _finish(ours, error=RuntimeError(reason))


class ClusterExecutor(concurrent.futures.Executor):
    """Runs functions on a cluster's tasks; pinned where `cluster.at` surrounds `submit`, in the thread that calls it.

    A future waits as long as its function runs, and no longer than the cluster lives: when the cluster is closed or
    its scheduler lost, each future that is not done fails with a RuntimeError that says so. A task that dies is
    replaced and its functions run again, so a function may run more than once. `shutdown` leaves the cluster up.
    """

    def __init__(self, cluster, client, work):
        self._cluster = cluster  # keeps it alive: `local_cluster().executor` alone is enough to work with
        self._client, self._work = client, work
        self._mine = set()
        self._shut = False

    def submit(self, fn, /, *args, **kwargs):
        """Return a future of `fn(*args, **kwargs)`, which runs on a task; Dask futures among `args` become values.

        The future fails with a TypeError when `fn` returns a tensor that is on a GPU: return `tensor.cpu()`.
        """
        if self._shut:
            raise RuntimeError("executor.submit: this executor is shut down; take cluster.executor again")
        self._work.check("executor.submit")
        call = functools.partial(fn, **kwargs) if kwargs else fn
        theirs = self._client.submit(run_for_home, call, *args, key=_key(fn), pure=False)
        ours = concurrent.futures.Future()
        self._work.add(ours, theirs)
        self._mine.add(ours)
        ours.add_done_callback(self._forget)
        self._client.loop.add_callback(_settle, theirs, ours)
        return ours

    def _forget(self, ours):
        self._mine.discard(ours)
        theirs = self._work.remove(ours)
        if ours.cancelled() and theirs is not None:
            self._client.loop.add_callback(self._client._cancel, [theirs])

    def shutdown(self, wait=True, *, cancel_futures=False):
        """Take no more work; wait for what was submitted, or cancel it."""
        self._shut = True
        mine = set(self._mine)
        if cancel_futures:
            for ours in mine:
                ours.cancel()
        if wait:
            concurrent.futures.wait(mine)


def _key(fn):
    """Return a name for this call that begins with the function's own: the error of a killed task shows it."""
    return f"{funcname(fn)}-{uuid.uuid4()}"


async def _settle(theirs, ours):
    """Carry the outcome of Dask's future over to ours."""
    outcome = await theirs._result(raiseit=False)
    if theirs.status == "finished":
        _finish(ours, outcome)
    elif theirs.status == "cancelled":
        _finish(ours, error=RuntimeError("this work was cancelled, or the connection to the scheduler was lost"))
    else:
        _, error, traceback = outcome
        _finish(ours, error=_explained(error).with_traceback(traceback))


def _finish(ours, result=None, error=None):
    """Settle the future `ours` unless it already is: finishing, cancelling and closing may race."""
    try:
        if error is None:
            ours.set_result(result)
        else:
            ours.set_exception(error)
    except concurrent.futures.InvalidStateError:
        return


def _explained(error):
    """Return Dask's "KilledWorker" and "NoValidWorker" as errors that say what happened; any other error as it is."""
    from distributed.scheduler import KilledWorker, NoValidWorkerError

    if isinstance(error, NoValidWorkerError):
        return RuntimeError(
            f"{error.task} is pinned to {', '.join(error.worker_restrictions)}, and no task has been there for "
            f"{error.timeout:g} s. Start it again by `python -m course task`, then submit again."
        )
    if not isinstance(error, KilledWorker):
        return error
    name = error.last_worker.name
    return RuntimeError(
        f"{name} died while it ran {error.task}, as {error.allowed_failures} processes did before it, so the function "
        f"is given up: it may end its own process. cluster.log({name!r}) has the last words."
    )
