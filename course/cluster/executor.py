"""A `concurrent.futures.Executor` on the cluster's tasks whose futures always come to an end."""

import concurrent.futures
import functools
import threading


class ClusterExecutor(concurrent.futures.Executor):
    """Runs functions on the tasks of a cluster; pinned where `cluster.at` surrounds `submit`, in the calling thread.

    A future waits as long as its function runs, and no longer than the cluster lives: when the cluster closes or its
    scheduler is lost, every future that is not done fails with a RuntimeError that says so. A task that dies is
    replaced and its functions run again, so a function must not count on running once. `shutdown` leaves the cluster up.
    """

    def __init__(self, client, check_open):
        self._client, self._check_open = client, check_open
        self._pending = {}  # ours -> Dask's: a Dask future that nobody holds is cancelled
        self._lock = threading.Lock()
        self._shut = False

    def submit(self, fn, /, *args, **kwargs):
        """Return a future of `fn(*args, **kwargs)`, which runs on a task; Dask futures among `args` become values."""
        if self._shut:
            raise RuntimeError("executor.submit: the executor is shut down; the cluster's own is cluster.executor")
        self._check_open("executor.submit")
        call = functools.partial(fn, **kwargs) if kwargs else fn
        theirs = self._client.submit(call, *args, pure=False)
        ours = concurrent.futures.Future()
        with self._lock:
            self._pending[ours] = theirs
        ours.add_done_callback(self._forget)
        self._client.loop.add_callback(_settle, theirs, ours)
        return ours

    def _forget(self, ours):
        with self._lock:
            theirs = self._pending.pop(ours, None)
        if ours.cancelled() and theirs is not None and not theirs.done():
            self._client.loop.add_callback(functools.partial(theirs.cancel, asynchronous=True))

    def fail_pending(self, reason):
        """Fail every future that is not done with `RuntimeError(reason)`."""
        with self._lock:
            pending = list(self._pending)
        for ours in pending:
            _finish(ours, error=RuntimeError(reason))

    def shutdown(self, wait=True, *, cancel_futures=False):
        """Take no more work; wait for, or cancel, what was submitted."""
        self._shut = True
        with self._lock:
            pending = list(self._pending)
        if cancel_futures:
            for ours in pending:
                ours.cancel()
        if wait:
            concurrent.futures.wait(pending)


async def _settle(theirs, ours):
    """Carry the outcome of Dask's future over to ours."""
    outcome = await theirs._result(raiseit=False)
    if theirs.status == "finished":
        _finish(ours, outcome)
    elif theirs.status == "cancelled":
        _finish(ours, error=RuntimeError("the cluster dropped this work: it was cancelled, or the scheduler is gone"))
    else:
        kind, error, traceback = outcome
        _finish(ours, error=_explained(error).with_traceback(traceback))


def _finish(ours, result=None, error=None):
    """Settle the future `ours` unless it already is: closing, cancelling and finishing may race."""
    try:
        if error is None:
            ours.set_result(result)
        else:
            ours.set_exception(error)
    except concurrent.futures.InvalidStateError:
        return


def _explained(error):
    from distributed.scheduler import KilledWorker

    if not isinstance(error, KilledWorker):
        return error
    return RuntimeError(
        f"{error.last_worker.name} died, the last of {error.allowed_failures + 1} tasks' processes to do so while running "
        f"{error.task}; the function itself may end its process. See cluster.log({error.last_worker.name!r})."
    )
