"""On a task: run a function with its PyTorch operations placed on the device that its pin names, and logged.

Both stand in the name of the executor that Dask's annotations ask for: `/gpu:0`, `@LOG` or `/gpu:0@LOG`.
"""

import sys
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import ExitStack, contextmanager
from dataclasses import astuple
from typing import Any

import dask
from distributed import Client, Worker

#: A function's first ops go home to a log; one that loops for hours has millions.
OPS_SENT_HOME = 10_000

_hearing: weakref.WeakSet[Client] = weakref.WeakSet()  # clients that take ops for the logs of this process
_logs: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()  # id -> PlacementLog


@contextmanager
def logged(client: Client) -> Iterator[None]:
    """Within the `with`, the placement log that this thread has entered gathers the ops of what it submits.

    Dask sends a function's events before its result, so they are there when that is.
    """
    module = sys.modules.get("course.devices.log")  # where it isn't loaded no log is entered
    log = module.entered_log() if module is not None else None
    if log is None:
        yield
        return
    if client not in _hearing:
        client.subscribe_topic(_topic(client.id), _hear)
        _hearing.add(client)
    _logs[id(log)] = log
    device = dask.get_annotations().get("executor", "").partition("@")[0]
    with dask.annotate(executor=f"{device}@{client.id} {id(log)} {int(log.timed)}"):
        yield


def _topic(client_id):
    return f"course-ops-{client_id}"


def _hear(event):
    """Take Dask's event, (time, (id of a log, fields of each `OpRecord`)), in the client's thread."""
    from course.devices.record import OpRecord

    log_id, rows = event[1]
    if (log := _logs.get(log_id)) is not None:
        log.gather(OpRecord(*row) for row in rows)


class PlacingThreadPoolExecutor(Executor):
    """Hands functions to `pool`, each inside `course.devices.place(device)` and a log: modes are per thread.

    (Dask keeps a function's context, `get_worker` among it, only for executors with "ThreadPoolExecutor" in the name.)
    `device`: "" for none. `log`: "" for none, or the words of `logged`; then `worker` sends the ops.
    """

    def __init__(self, worker: Worker, pool: Executor, device: str, log: str):
        self._worker, self._pool, self._device, self._log = worker, pool, device, log

    def submit(self, fn: Callable, /, *args: Any, **kwargs: Any) -> Future:
        """Return a future of `fn(*args, **kwargs)`, which runs in the pool with its operations placed and logged."""
        return self._pool.submit(self._run, fn, args, kwargs)

    def shutdown(self, wait: bool = True, **settings: Any) -> None:
        """Do nothing: the pool is the worker's, which closes it."""

    def _run(self, fn, args, kwargs):
        from course.devices import log_placement, place

        with ExitStack() as entered:
            if self._log:
                client_id, log_id, timed = self._log.split(" ")
                log = log_placement(bool(int(timed)))
                entered.callback(self._send_home, log, client_id, int(log_id))
                entered.enter_context(log)
            if self._device:
                entered.enter_context(place(self._device))
            return fn(*args, **kwargs)

    def _send_home(self, log, client_id, log_id):
        if rows := [astuple(record.on(self._worker.name)) for record in log[:OPS_SENT_HOME]]:
            self._worker.log_event(_topic(client_id), (log_id, rows))


class Executors(dict[str, Executor]):
    """A Dask worker's executors by name, where every device's name is one more, made when first asked for."""

    def __init__(self, worker: Worker, executors: dict[str, Executor]):
        super().__init__(executors)
        self._worker = worker

    def __missing__(self, name):
        device, _, log = name.partition("@")
        if not (device.startswith("/") or (log and not device)):
            raise KeyError(name)
        executor = PlacingThreadPoolExecutor(self._worker, self["default"], device, log)
        return executor if log else self.setdefault(name, executor)
