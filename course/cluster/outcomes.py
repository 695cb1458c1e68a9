"""How the outcome of a Dask future becomes that of the future which the caller of an executor has."""

import asyncio
import collections
import concurrent.futures
import math
import time
from contextlib import suppress
from typing import Any

from distributed import Future
from distributed.scheduler import KilledWorker, NoValidWorkerError

#: Seconds between two fetches of the results of what has ended, unless all has ended.
RESULTS_FETCHED_EVERY = 0.05
_TIMES = 30  # a pause is as many times as long as the fetch before it,
_LONGEST = 0.5  # and of no more seconds: a large result must not keep the next small one
_ENDED = ("finished", "error", "cancelled")


async def settle_in_order(client: Any, pairs: list[tuple[concurrent.futures.Future, Future]]) -> None:
    """Settle each of `pairs` (the caller's future, Dask's), fetching together what has ended meanwhile.

    A fetch costs as much as several small calls, so those that have ended in a pause share the next one, and the next
    pause is so long that all fetches take a small part of the time.
    """
    waiting, again = collections.deque(pairs), -math.inf
    while waiting:
        await _end(waiting[0][1])
        if not all(dask_future.status in _ENDED for _, dask_future in waiting):
            await _pause(again - time.monotonic(), waiting)
        began, ended = time.monotonic(), []
        while waiting and waiting[0][1].status in _ENDED:
            ended.append(waiting.popleft())
        await _settle_together(client, ended)
        took = time.monotonic() - began
        again = began + max(RESULTS_FETCHED_EVERY, min(_TIMES * took, _LONGEST))


async def _pause(seconds, waiting):
    """Wait for some to end, at most `seconds`; when the last to begin has ended, wait a moment for all others."""
    last = waiting[-1][1]
    with suppress(TimeoutError):
        if last.status not in _ENDED:
            await asyncio.wait_for(_end(last), seconds)
        async with asyncio.timeout(min(seconds, RESULTS_FETCHED_EVERY)):
            for _, dask_future in waiting:
                await _end(dask_future)


async def _settle_together(client, pairs):
    finished = {future: dask_future for future, dask_future in pairs if dask_future.status == "finished"}
    try:
        values = await client._gather(list(finished.values()))
    except (Exception, SystemExit, KeyboardInterrupt):  # Dask: KilledWorker, CancelledError; pickle: a result's any
        finished, values = {}, []  # then each for itself
    for future, value in zip(finished, values, strict=True):
        finish(future, value)
    for future, dask_future in pairs:
        if future not in finished:
            await settle(dask_future, future)


async def _end(dask_future):
    while dask_future.status not in _ENDED:
        await dask_future._state.wait()  # a task that dies as its end is told sets it back


class ProcessesDied(RuntimeError):
    """A function is given up, since so many processes (`deaths`), one after the other, died while they ran it."""

    def __init__(self, words: str, deaths: int):
        super().__init__(words)
        self.deaths = deaths


async def settle(dask_future: Future, future: concurrent.futures.Future) -> None:
    """Carry the outcome of Dask's future over to the caller's, whatever becomes of its task as it is fetched."""
    try:
        await _end(dask_future)
        # how it ended is read now: its task may die after it has handed over the result
        state, outcome = dask_future.status, await dask_future._result(raiseit=False)
    except BaseException as problem:  # lost before it was fetched, and when computed again it was not to be had
        state = "cancelled" if dask_future.status == "cancelled" else "error"
        outcome = type(problem), problem, problem.__traceback__
    if state == "finished":
        finish(future, outcome)
    elif state == "cancelled":
        finish(future, error=RuntimeError("this work was cancelled, or the connection to the scheduler was lost"))
    else:
        _, error, traceback = outcome
        finish(future, error=_explained(error).with_traceback(traceback))


def finish(future: concurrent.futures.Future, result: Any = None, error: BaseException | None = None) -> None:
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
    return ProcessesDied(
        f"{name} died while it ran {error.task}, as {error.allowed_failures} processes did before it, so the function "
        f"is given up: it may end its own process. cluster.log({name!r}) has the last words.",
        error.allowed_failures + 1,
    )
