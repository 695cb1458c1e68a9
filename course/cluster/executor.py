"""A `concurrent.futures.Executor` on the cluster's tasks whose futures always come to an end.

(Those of Dask's own, `client.get_executor()`, wait for ever for a scheduler that is frozen or cut off.)
"""

import collections
import concurrent.futures
import functools
import itertools
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any

from dask.sizeof import sizeof
from dask.utils import funcname
from distributed import Client, Future
from distributed.core import clean_exception

from course.cluster.outcomes import finish, settle, settle_in_order
from course.cluster.task.return_values import CutShort, run_chunk_for_home, run_for_home

#: `executor.map` sends together what a list, a range, … gave in so long.
CALLS_SENT_EVERY = 0.05

_LARGE_MESSAGE = 1 << 26  # bytes of arguments, about; Dask would warn of a graph of 1 GB
_CANCELLED_TOGETHER = 50  # by one message, on which Dask's scheduler spends a time that grows with the square of this


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

    def add(self, futures: dict[concurrent.futures.Future, Future], where: str) -> None:
        """Hold Dask's future of each of `futures`, which the caller has, until that is done.

        RuntimeError when the cluster is closed.
        """
        with self._lock:
            self.check(where)  # again: `close` may have come since, and has failed its list already
            self._pending |= futures

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
            finish(future, error=RuntimeError(reason))


class ClusterExecutor(concurrent.futures.Executor):
    """Runs functions on a cluster's tasks; pinned where `cluster.at` surrounds `submit`, in the thread that calls it.

    A future waits as long as its function runs, and no longer than the cluster lives: when the cluster is closed or
    its scheduler lost, each future that is not done fails with a RuntimeError that says so. A task that dies is
    replaced and its functions run again, so a function may run more than once. `shutdown` leaves the cluster up.
    """

    def __init__(self, cluster: Any, client: Client, work: OpenWork):
        self._cluster = cluster  # stays alive with it: `local_cluster().executor` alone is enough to work with
        self._client: Any = client  # Any: its loop is None only before it has started
        self._work = work
        self._submitted: set[concurrent.futures.Future] = set()
        self._dropped: collections.deque[Future] = collections.deque()  # Dask's of those that were cancelled here
        self._dropping = False  # `_drop` is on its way
        self._shut = False

    def submit(self, fn: Callable, /, *args: Any, **kwargs: Any) -> concurrent.futures.Future:
        """Return a future of `fn(*args, **kwargs)`, which runs on a task; Dask futures among `args` become values.

        The future fails with a TypeError when `fn` returns a tensor that is on a GPU: return `tensor.cpu()`.
        """
        self._check("executor.submit")
        call = functools.partial(fn, **kwargs) if kwargs else fn
        key = f"{funcname(fn)}-{uuid.uuid4()}"  # the error of a killed task shows it
        self._note([key], [[*args, *kwargs.values()]])
        with self._cluster.logged():
            dask_future = self._client.submit(run_for_home, call, *args, key=key, pure=False)
        future: concurrent.futures.Future = concurrent.futures.Future()
        self._hold({future: dask_future}, "executor.submit")
        self._client.loop.add_callback(settle, dask_future, future)
        return future

    def map(
        self, fn: Callable, *iterables: Iterable, timeout: float | None = None, chunksize: int = 1, **newer: Any
    ) -> Iterator:
        """Return an iterator of `fn(*args)` for all `args` in `zip(*iterables)`, in this order; all begin at once.

        `chunksize`: so many calls go to a task together and run there one after the other. A call of less than
        a millisecond takes less time than its messages: chunks make such calls ten times faster. A call that fails
        raises at its place, and the rest is cancelled; so do results that are asked for more than `timeout` seconds
        after this (TimeoutError). ValueError for a chunksize below 1. `newer`: what Python's own `Executor.map` takes
        besides.
        """
        if newer:  # Python 3.14's buffersize=: calls begin as their results are taken
            return super().map(fn, *iterables, timeout=timeout, chunksize=chunksize, **newer)
        if chunksize < 1:
            raise ValueError(f"executor.map(chunksize={chunksize!r}): give a whole number from 1 up.")
        deadline = None if timeout is None else time.monotonic() + timeout
        futures: list[concurrent.futures.Future] = []
        for chunks in _batches(iterables, chunksize):
            futures += self._submit_chunks(fn, chunks, chunksize == 1)
        return _in_order(futures, deadline, chunksize == 1)

    def _submit_chunks(self, fn, chunks, alone):
        """Submit each of `chunks` as one call, all in one message; return their futures.

        `alone`: there is one call in each, which then goes as it is: lists in lists take their time on every way.
        """
        self._check("executor.map")
        first = f"{funcname(fn)}-{uuid.uuid4()}"
        keys = [f"{first}-{index}" for index in range(len(chunks))]
        call, columns = (
            (run_for_home, zip(*(args for (args,) in chunks), strict=True)) if alone else (run_chunk_for_home, [chunks])
        )
        self._note(keys, [[argument for args in chunk for argument in args] for chunk in chunks])
        # `fn` as an argument: a partial takes twice as long to pickle and to read, and each call is pickled by itself
        with self._cluster.logged():
            dask_futures = self._client.map(call, [fn] * len(chunks), *columns, key=keys, pure=False)
        futures = {concurrent.futures.Future(): dask_future for dask_future in dask_futures}
        self._hold(futures, "executor.map")
        self._client.loop.add_callback(settle_in_order, self._client, list(futures.items()))
        return list(futures)

    def _note(self, keys, arguments):
        """Tell the tape of the cluster, where there is one, what is sent to each task."""
        if (recorder := self._cluster.recorder) is not None:
            for key, its in zip(keys, arguments, strict=True):
                recorder.sent(key, its)

    def _check(self, where):
        if self._shut:
            raise RuntimeError(f"{where}: this executor is shut down; take cluster.executor again")
        self._work.check(where)

    def _hold(self, futures, where):
        self._work.add(futures, where)
        self._submitted |= futures.keys()
        for future in futures:
            future.add_done_callback(self._forget)

    def _forget(self, future):
        self._submitted.discard(future)
        dask_future = self._work.remove(future)
        if future.cancelled() and dask_future is not None:
            self._dropped.append(dask_future)
            self._wake()

    def _wake(self):
        """Have `_drop` run soon, once for all that are cancelled until then: after an interrupt they are thousands.

        Each wake-up of the client's thread lets go of Python's lock, and may wait 5 ms for it.
        """
        if self._dropping:
            return
        try:
            self._dropping = True
            self._client.loop.add_callback(self._drop)
        except BaseException:  # an interrupt; the next one that is cancelled wakes it
            self._dropping = False
            raise

    async def _drop(self):
        """Cancel Dask's futures of those that were cancelled here; in the client's thread."""
        self._dropping = False  # first: what is cancelled from now on may not be seen below
        while self._dropped:
            together = min(len(self._dropped), _CANCELLED_TOGETHER)
            await self._client._cancel([self._dropped.popleft() for _ in range(together)])

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more work; wait for what was submitted, or cancel it."""
        self._shut = True
        submitted = set(self._submitted)
        if cancel_futures:
            for future in submitted:
                future.cancel()
        if wait:
            concurrent.futures.wait(submitted)


def _batches(iterables, chunksize):
    """Yield lists of chunks of `zip(*iterables)` that go out together, for a message costs as much as a small call.

    What an iterator gives goes out at once: it may take long for the next item, or wait for what became of this one.
    """
    calls, batch, size, began = zip(*iterables, strict=False), [], 0, time.monotonic()
    whole = all(isinstance(iterable, (Sized, itertools.repeat)) for iterable in iterables)
    while chunk := list(itertools.islice(calls, chunksize)):
        batch.append(chunk)
        size += sizeof(chunk)
        if not whole or size > _LARGE_MESSAGE or time.monotonic() - began > CALLS_SENT_EVERY:
            yield batch
            batch, size, began = [], 0, time.monotonic()
    if batch:
        yield batch


def _in_order(futures, deadline, alone):
    """Yield the values of all chunks, as `Executor.map` does; whatever ends this cancels what is not done."""
    futures.reverse()
    try:
        while futures:
            futures[-1].result(None if deadline is None else deadline - time.monotonic())
            value = futures.pop().result()
            yield from [value] if alone else _values(value)
    finally:
        for future in futures:
            future.cancel()


def _values(chunk):
    if not isinstance(chunk, CutShort):
        yield from chunk
        return
    yield from chunk.values
    _, error, traceback = clean_exception(chunk.error, chunk.traceback)
    raise error.with_traceback(traceback)
