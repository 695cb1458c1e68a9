"""The part of a recorder that runs in each task: it notes the transfers and what the task's functions note."""

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from distributed import Worker, get_worker
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.metrics import time

from course.cluster.tape.record import GRADIENT, RANK_STEP

#: Between two times that a task sends on what it has noted for a tape; what it noted since is lost when it is killed.
TAPE_FLUSHED_EVERY = 0.25


class Notes:
    """What the functions of this process note for a tape, until it is sent on; usable from any thread."""

    def __init__(self) -> None:
        self.bars: deque[tuple[str, float, float, int, int]] = deque()
        #: The clock of the tape: seconds since 1970, as `time.time()`.
        self.clock: Callable[[], float] = time

    def bar(self, name: str, start: float, stop: float, number: int, nbytes: int = 0) -> None:
        """Note that this process did `name` from `start` to `stop`, seconds by `clock`.

        `number`: which step, or of which version of the parameters; `nbytes`: what it sent afterwards, in bytes.
        """
        self.bars.append((name, start, stop, number, nbytes))

    def gradient(self, start: float, version: int) -> None:
        """Note that this process computed a gradient at `version` from `start` until now, and sent it."""
        self.bar(GRADIENT, start, self.clock(), version)

    @contextmanager
    def reductions(self, distributed: Any, size: int) -> Iterator[None]:
        """Within the `with`, note what this rank of `size` does before each `distributed.all_reduce`.

        `distributed`: the module `torch.distributed`; its `all_reduce` is another one meanwhile. A rank of a ring sends
        2·(`size` − 1)/`size` times the bytes of the tensor (P. Patarasuk, X. Yuan, 2009).
        """
        plain, steps, since = distributed.all_reduce, itertools.count(), self.clock()

        def all_reduce(tensor: Any, *more: Any, **settings: Any) -> Any:
            nonlocal since
            self.bar(RANK_STEP, since, self.clock(), next(steps), 2 * (size - 1) * tensor.nbytes // size)
            try:
                return plain(tensor, *more, **settings)
            finally:
                since = self.clock()

        distributed.all_reduce = all_reduce
        try:
            yield
        finally:
            distributed.all_reduce = plain
            self.bar(RANK_STEP, since, self.clock(), next(steps))


def notes_here() -> Notes | None:
    """Return the `Notes` of the tape that records the task this function runs on; None where none does."""
    try:
        worker = get_worker()
    except ValueError:  # not on a task
        return None
    return next((plugin.notes for plugin in worker.plugins.values() if isinstance(plugin, TapeOnWorker)), None)


class TapeOnWorker(WorkerPlugin):
    """Sends a task's transfers and `Notes` to the scheduler's plugin called `name`, four times a second."""

    def __init__(self, name: str):
        self.name = name

    async def setup(self, worker: Worker) -> None:
        """Begin, on `worker`: its log keeps the last thousand transfers, so each is noted as it is written there."""
        self.notes, self._moves, self._sending = Notes(), deque(), asyncio.Lock()
        self._worker, self._log = worker, worker.transfer_outgoing_log
        worker.transfer_outgoing_log = _Tee(self._log, self._moves)
        self._beating = asyncio.create_task(self._beat())

    async def teardown(self, worker: Worker) -> None:
        """End: what is not sent by now is lost."""
        self._beating.cancel()
        if isinstance(worker.transfer_outgoing_log, _Tee):
            worker.transfer_outgoing_log = deque(worker.transfer_outgoing_log, self._log.maxlen)

    async def flush(self) -> None:
        """Send all that was noted; on return the scheduler has it."""
        async with self._sending:
            delay, moves = self._worker.scheduler_delay, _taken(self._moves)
            bars = [(name, start + delay, stop + delay, *rest) for name, start, stop, *rest in _taken(self.notes.bars)]
            if bars or moves:
                tell = getattr(self._worker.scheduler, self.name)
                await tell(worker=self._worker.address, bars=bars, moves=moves)

    async def _beat(self):
        while True:
            await asyncio.sleep(TAPE_FLUSHED_EVERY)
            try:
                await self.flush()
            except Exception:  # the scheduler is away (Dask: CommClosedError), or its plugin gone (any of its errors)
                return  # what this process does is not noted any longer


async def flush(name: str, dask_worker: Worker | None = None) -> None:
    """On a task: have the plugin `name` send what it has."""
    plugin = dask_worker.plugins.get(name) if dask_worker else None
    if isinstance(plugin, TapeOnWorker):
        await plugin.flush()


class _Tee(deque):
    """A worker's log of transfers whose entries are noted as well."""

    def __init__(self, log: deque, moves: deque):
        super().__init__(log, log.maxlen)
        self._moves = moves

    def append(self, entry: dict[str, Any]) -> None:
        super().append(entry)
        self._moves.append((entry["who"] or "", entry["start"], entry["stop"], entry["total"]))


def _taken(rows):
    """Return what stands in the deque `rows`, and take it out; others may add meanwhile."""
    return [rows.popleft() for _ in range(len(rows))]
