"""Starts and ends recording in all processes of a cluster: the engine behind `cluster.record()`."""

import asyncio
import platform
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from typing import Any, NamedTuple

from distributed import Client

from course.cluster.tape.clocks import seconds_ahead
from course.cluster.tape.columns import TICK
from course.cluster.tape.on_scheduler import TapeOnScheduler
from course.cluster.tape.on_worker import TapeOnWorker, flush
from course.cluster.tape.record import Record
from course.cluster.tape.record_of_notes import record_of_notes

#: For all processes of a cluster to begin to record: some may be busy.
TAPE_STARTS = 10.0
#: … and to end: one that is frozen answers nothing, and what it has not sent by then is left out.
TAPE_ENDS = 6.0

_LIMIT = 5000


class TrainingNotes(NamedTuple):
    """What the driver of a training knows of it.

    `ps`, `workers`: their tasks; `zero`: when all workers were there; `nbytes`: of a gradient, and of the parameters;
    `rows`: (step, worker, version, arrived, applied); `events`: (when, what, task, words). Times as `time.time()`'s.
    """

    ps: Sequence[str]
    workers: Sequence[str]
    zero: float
    nbytes: int
    rows: list[tuple[int, int, int, float, float]]
    events: list[tuple[float, str, str, str]]


class Recorder:
    """Records the cluster that `client` is connected to, from its making to `stop`; at most 5,000 rows of a kind.

    Raises TimeoutError when the processes don't answer, RuntimeError where the scheduler can't load this package.
    """

    def __init__(self, client: Client):
        self._client, self._limit, self._name = client, _LIMIT, f"course-tape-{uuid.uuid4().hex}"
        self._sent: dict[str, tuple[float, int]] = {}
        self._trainings: list[TrainingNotes] = []
        self._events: list[tuple[float, str, str]] = []
        self._date = date.today().isoformat()
        self._ahead, self._how = _wait(
            client, _started(client, self._name, self._limit), TAPE_STARTS, "cluster.record()"
        )

    def sent(self, key: str, arguments: Sequence[Any]) -> None:
        """Note that this process sends the task `key` its `arguments`; arrays, tensors and bytes are counted."""
        if nbytes := sum(map(_size, arguments)):
            if len(self._sent) < self._limit:
                self._sent[key] = time.time(), nbytes

    def happened(self, action: str, task: str) -> None:
        """Note that this process did `action` to the process of `task`."""
        self._events.append((time.time(), action, task))

    def trained(self, notes: TrainingNotes) -> None:
        """Note a training that this process drove."""
        self._trainings.append(notes)

    def stop(self) -> Record:
        """End recording; return the `Record`. OSError when the scheduler doesn't answer."""
        notes = _wait(self._client, _ended(self._client, self._name, list(self._sent)), TAPE_ENDS, "tape.close()")

        def tick(seconds: float) -> int:
            return round((seconds + self._ahead - notes["zero"]) / TICK)

        sent = [
            (place, tick(at), nbytes) for place, (at, nbytes) in zip(notes["sent"], self._sent.values(), strict=True)
        ]
        events = [(tick(at), action, task) for at, action, task in self._events]
        record = record_of_notes(notes, sent, events, self._trainings, tick, self._limit)
        from course.devices.device_list import cpu_model  # it loads torch, which a cluster's start doesn't wait for

        machine = f"{cpu_model()}, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
        clocks = dict.fromkeys(record.lanes, self._how)
        return Record(**{**vars(record), "machine": machine, "date": self._date, "clocks": clocks})


def _size(value):
    if isinstance(value, (bytes, bytearray)):
        return len(value)
    nbytes = getattr(value, "nbytes", 0)
    return nbytes if isinstance(nbytes, int) else 0


def _wait(client, work, seconds, where):
    future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, seconds), client.loop.asyncio_loop)
    try:
        return future.result()
    except TimeoutError:
        raise TimeoutError(f"{where}: the cluster's processes did not answer within {seconds:g} s.") from None
    except BaseException:
        future.cancel()
        raise


async def _started(client, name, limit):
    """Begin in all processes; return by how many seconds the scheduler's clock is ahead, and how that is known."""
    try:
        await client.register_plugin(TapeOnScheduler(name, limit), name=name)
        await client.register_plugin(TapeOnWorker(name), name=name)
    except BaseException as error:
        with suppress(Exception):
            await client.run_on_scheduler(_end_on_scheduler, name, [])
        if isinstance(error, ImportError):
            raise RuntimeError(
                f"cluster.record(): a process of the cluster can't load this package ({error}). Install it there."
            ) from error
        raise
    return await seconds_ahead(client)


async def _ended(client, name, sent):
    """Have all processes send what they have, and end; return what the scheduler noted, as plain data."""
    with suppress(TimeoutError, OSError):  # a frozen task sends nothing; the others have by then
        await asyncio.wait_for(client.run(flush, name, on_error="ignore"), TAPE_ENDS / 3)
    with suppress(TimeoutError, OSError):
        await asyncio.wait_for(client.unregister_worker_plugin(name), TAPE_ENDS / 3)
    return await client.run_on_scheduler(_end_on_scheduler, name, sent)


def _end_on_scheduler(name, sent, dask_scheduler=None):
    """In the scheduler: end the plugin `name`, and return what it noted."""
    plugin = dask_scheduler.plugins.pop(name)
    plugin.end()
    return plugin.notes_taken(sent)
