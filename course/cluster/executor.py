"""A `concurrent.futures.Executor` on the cluster's tasks whose futures always come to an end.

(Those of Dask's own, `client.get_executor()`, wait for ever for a scheduler that is frozen or cut off.)
"""

import concurrent.futures
import functools
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dask.utils import funcname
from distributed import Client, Future
from distributed.scheduler import KilledWorker, NoValidWorkerError

from course.cluster.task.return_values import run_for_home

_ENDED = ("finished", "error", "cancelled")


class OpenWork:
    """What has been submitted and is not done, and why nothing more can be (`closed`, None while the cluster lives)."""

    def __init__(self):
        self.closed: str | None = None
        # future -> Dask's: Dask cancels a future that nothing refers to
        self._pending: dict[concurrent.futures.Future, Future] = {}
        self._lock = threading.Lock()

    def check(self, where: str) -> None:
        """Raise RuntimeError when the cluster is closed or lost."""
        if self.closed:
            raise RuntimeError(f"{where}: {self.closed}")

    def add(self, future: concurrent.futures.Future, dask_future: Future) -> None:
        """Hold `dask_future` until `future`, which the caller has, is done; RuntimeError when the cluster is closed."""
        with self._lock:
            self.check("executor.submit")  # again: `close` may have come since, and has failed its list already
            self._pending[future] = dask_future

    def remove(self, future: concurrent.futures.Future) -> Future | None:
        """Let go of the Dask future behind `future` and return it; None when it went before."""
        with self._lock:
            return self._pending.pop(future, None)

    def close(self, reason: str) -> None:
        """Take no more work, and fail every future that is not done, with `RuntimeError(reason)`."""
        with self._lock:
            self.closed = self.closed or reason
            pending = list(self._pending)
        for future in pending:
            _finish(future, error=RuntimeError(reason))


class ClusterExecutor(concurrent.futures.Executor):
    """Runs functions on a cluster's tasks; pinned where `cluster.at` surrounds `submit`, in the thread that calls it.

    A future waits as long as its function runs, and no longer than the cluster lives: when the cluster is closed or
    its scheduler lost, each future that is not done fails with a RuntimeError that says so. A task that dies is
    replaced and its functions run again, so a function may run more than once. `shutdown` leaves the cluster up.
    """

    def __init__(self, cluster: object, client: Client, work: OpenWork):
        self._cluster = cluster  # stays alive with it: `local_cluster().executor` alone is enough to work with
        self._client: Any = client  # Any: its loop is None only before it has started
        self._work = work
        self._submitted: set[concurrent.futures.Future] = set()
        self._shut = False

    def submit(self, fn: Callable, /, *args: Any, **kwargs: Any) -> concurrent.futures.Future:
        """Return a future of `fn(*args, **kwargs)`, which runs on a task; Dask futures among `args` become values.

        The future fails with a TypeError when `fn` returns a tensor that is on a GPU: return `tensor.cpu()`.
        """
        if self._shut:
            raise RuntimeError("executor.submit: this executor is shut down; take cluster.executor again")
        self._work.check("executor.submit")
        call = functools.partial(fn, **kwargs) if kwargs else fn
        key = f"{funcname(fn)}-{uuid.uuid4()}"  # the error of a killed task shows it
        dask_future = self._client.submit(run_for_home, call, *args, key=key, pure=False)
        future: concurrent.futures.Future = concurrent.futures.Future()
        self._work.add(future, dask_future)
        self._submitted.add(future)
        future.add_done_callback(self._forget)
        self._client.loop.add_callback(_settle, dask_future, future)
        return future

    def _forget(self, future):
        self._submitted.discard(future)
        dask_future = self._work.remove(future)
        if future.cancelled() and dask_future is not None:
            self._client.loop.add_callback(self._client._cancel, [dask_future])

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more work; wait for what was submitted, or cancel it."""
        self._shut = True
        submitted = set(self._submitted)
        if cancel_futures:
            for future in submitted:
                future.cancel()
        if wait:
            concurrent.futures.wait(submitted)


async def _settle(dask_future, future):
    """Carry the outcome of Dask's future over to the caller's, whatever becomes of its task as it is fetched."""
    try:
        while dask_future.status not in _ENDED:
            await dask_future._state.wait()  # a task that dies as its end is told sets it back
        # how it ended is read now: its task may die after it has handed over the result
        state, outcome = dask_future.status, await dask_future._result(raiseit=False)
    except BaseException as problem:  # lost before it was fetched, and when computed again it was not to be had
        state = "cancelled" if dask_future.status == "cancelled" else "error"
        outcome = type(problem), problem, problem.__traceback__
    if state == "finished":
        _finish(future, outcome)
    elif state == "cancelled":
        _finish(future, error=RuntimeError("this work was cancelled, or the connection to the scheduler was lost"))
    else:
        _, error, traceback = outcome
        _finish(future, error=_explained(error).with_traceback(traceback))


def _finish(future, result=None, error=None):
    """Settle the future `future` unless it already is: finishing, cancelling and closing may race."""
    with suppress(concurrent.futures.InvalidStateError):
        future.set_result(result) if error is None else future.set_exception(error)


def _explained(error):
    """Return Dask's "KilledWorker" and "NoValidWorker" as errors that say what happened; any other error as it is."""
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
