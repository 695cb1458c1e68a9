"""All compute workers: who gets the next batch, and what becomes of the batch of one that is lost."""

import asyncio
import itertools
import logging
import os
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from modelserver.compute.pipe import Kind, Message
from modelserver.deadlines import (
    KILLED_WORKER_ENDS,
    SERVING_LOOKS_EVERY,
    SERVING_STARTS,
    WORKER_STARTS_AGAIN,
    WORKER_STARTS_AGAIN_MOST,
    WORKERS_CLOSE,
)
from modelserver.front.metrics import Metrics
from modelserver.front.queue import Batch, Pending, RequestQueue
from modelserver.front.worker_process import Programs, WorkerLost, WorkerProcess, until
from modelserver.protocol.errors import Refused
from modelserver.protocol.request import InferRequest

_log = logging.getLogger(__name__)
#: A batch that so many workers had begun when they ended is not given to another.
_ATTEMPTS = 2
#: What a worker could not load it tries again after WORKER_STARTS_AGAIN_MOST, and twice as long each time, up to this.
_LOADS_AGAIN_MOST = 60.0


class Pool:
    """`count` workers behind one `queue`. `model_seconds`: a batch that takes longer ends its worker.

    `deadline`: seconds after which a request that has no answer is refused. `worker`: their settings, as
    `compute.worker.main` takes them; `owner` is this process.

    The batcher: whenever a worker is idle it gets, at the end of the same turn of the event loop, whatever is queued
    by then, as many rows as a batch has at most. It never waits for more.
    """

    def __init__(
        self,
        count: int,
        worker: dict[str, Any],
        model_seconds: float,
        deadline: float,
        queue: RequestQueue,
        metrics: Metrics,
    ):
        self._count, self._settings = count, {"owner": os.getpid(), **worker}
        self._queue, self._metrics, self._model_seconds, self._deadline = queue, metrics, model_seconds, deadline
        self._workers: list[WorkerProcess] = []
        self._idle: list[WorkerProcess] = []
        self._programs = Programs()
        self._tasks: set[asyncio.Task] = set()
        self._soon, self._closing, self._failures = False, False, 0
        self._available = asyncio.Event()
        self._next_program = itertools.count(1)
        self._loop = asyncio.get_running_loop()

    def start(self) -> None:
        """Start the workers; they are there some time later."""
        for _ in range(self._count):
            self._spawn(0.0)
        self._keep(self._watch())

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers that can answer."""
        return [worker.pid for worker in self._up()]

    def serves(self, programs: Collection[int]) -> bool:
        """Whether a worker that can answer has all these programs."""
        return any(worker.programs.issuperset(programs) for worker in self._up())

    def submit(self, program: int, request: InferRequest, since: float | None = None) -> asyncio.Future:
        """Queue a request; the future gives `(data, rows, offset)` of its batch's outputs.

        `since`: when its deadline began to run; None: now. Raises Refused: 429 where the queue is full, 503 where
        workers can answer and none of them has the program. The future raises Refused: 500 when the model
        failed at it, or its batch ended two workers; 503 at its deadline.
        """
        if not any(program in worker.programs for worker in self._workers) and self._up():
            raise Refused(503, "no worker could load this version: see the server's log.", {"Retry-After": "1"})
        answer = self._loop.create_future()
        self._queue.put(Pending(program, request, answer, since))
        self._dispatch_soon()
        return answer

    def forget_gone(self) -> None:
        """Take the requests out of the queue whose callers are gone."""
        self._queue.forget_gone()

    async def judge(self, folder: Path, signature: str, judged_by: Path | None) -> tuple[int, dict[str, Any]]:
        """Load a version's `signature` in one worker; return (its program's number, how its answers compare).

        `share` gives it to the others, `unload` forgets it. Raises NotLoaded; WorkerLost when it ended two workers;
        TimeoutError where none is there, or those that were had ended already.
        """
        program = next(self._next_program)
        for attempt in range(_ATTEMPTS):
            worker = await self._any_worker()
            try:
                return program, await worker.load(program, folder, signature, judged_by)
            except WorkerLost as lost:
                if attempt and not lost.begun:
                    raise TimeoutError from None
                if attempt:
                    raise WorkerLost(f"{_ATTEMPTS} workers ended while they loaded {folder}: {lost}") from None
        raise AssertionError

    async def share(self, program: int, folder: Path, signature: str) -> None:
        """Load a judged program in all other workers, one after the other, and in those that start later."""
        self._programs.add(program, folder, signature)
        while True:
            missing = [w for w in self._up() if program not in w.programs]
            if not missing and any(program in worker.programs for worker in self._up()):
                return
            worker = missing[0] if missing else await self._any_worker()
            with suppress(WorkerLost):
                await self._programs.load(worker, program)

    def unload(self, program: int) -> None:
        """Forget a program in all workers."""
        self._programs.remove(program)
        for worker in self._workers:
            if worker.started.done() and not worker.lost:
                worker.unload(program)

    async def close(self) -> None:
        """End all workers; what waits still gets 503."""
        self._closing = True
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        batches = [worker.batch for worker in self._workers if worker.batch]
        for pending in self._queue.drain() + [pending for batch in batches for pending in batch.pending]:
            self._refuse(pending, Refused(503, "the server is ending; send it to another, or again when it is back."))
        for worker in self._workers:
            worker.close()
        await until(lambda: all(worker.lost for worker in self._workers), WORKERS_CLOSE)
        for worker in self._workers:
            worker.kill("the server ended")
        await until(lambda: all(w.transport.get_returncode() is not None for w in self._workers), KILLED_WORKER_ENDS)
        for worker in self._workers:
            worker.transport.close()

    # --- batches -----------------------------------------------------------------------------------------------------

    def _dispatch_soon(self):
        if not self._soon and self._idle:
            self._soon = True
            self._loop.call_soon(self._dispatch)

    def _dispatch(self):
        self._soon = False
        for worker in list(self._idle):
            batch = self._queue.take(worker.programs)
            if batch is not None:
                self._idle.remove(worker)
                self._metrics.batch_begins(batch)
                worker.run(batch)

    def _answered(self, worker: WorkerProcess, message: Message) -> None:
        batch, worker.batch = worker.batch, None
        assert batch is not None
        self._metrics.batch_ends(batch, time.monotonic() - worker.busy_since)
        self._idle.append(worker)
        if message.kind == Kind.ANSWER:
            offset = 0
            for pending in batch.pending:
                if not pending.answer.done():
                    pending.answer.set_result((message.data, batch.rows, offset))
                offset += pending.request.rows
        else:
            self._failed(batch, bytes(message.data).decode(errors="replace"))
        if self._queue.length or self._queue.again:
            self._dispatch_soon()

    def _failed(self, batch: Batch, why: str) -> None:
        """The model raised an error: each request is tried alone, so one caller's input costs no other the answer."""
        if len(batch.pending) > 1:
            for pending in batch.pending:
                self._queue.put_again(Batch(batch.program, [pending]))
            return
        _log.warning("the model failed: %s", why)
        self._refuse(batch.pending[0], Refused(500, f"the model failed at these inputs: {why}"))

    def _lost(self, worker: WorkerProcess) -> None:
        if worker in self._idle:
            self._idle.remove(worker)
        if self._closing:
            return
        self._workers.remove(worker)
        self._keep(self._reaped(worker))
        self._metrics.workers_lost += 1
        batch, worker.batch = worker.batch, None
        if batch is not None:
            batch.attempts += worker.began(batch)
        code = worker.transport.get_returncode()
        _log.warning("worker %d ended (%s); %s", worker.pid, worker.why or f"status {code}", "another is started")
        if batch is not None and batch.attempts < _ATTEMPTS:
            self._queue.put_again(batch)
            self._dispatch_soon()
        elif batch is not None:
            text = f"the model ended or hung two workers at the batch with this request ({worker.why or 'it ended'})."
            for pending in batch.pending:
                self._refuse(
                    pending, Refused(500, f"{text} Try it alone; if it does so again, its inputs are the reason.")
                )
        lived = time.monotonic() - worker.born
        self._failures = 0 if lived > WORKER_STARTS_AGAIN_MOST and worker.programs else self._failures + 1
        again = WORKER_STARTS_AGAIN * 2 ** min(self._failures - 2, 10) if self._failures > 1 else 0.0
        self._spawn(min(again, WORKER_STARTS_AGAIN_MOST))

    @staticmethod
    def _refuse(pending: Pending, refusal: Refused) -> None:
        if not pending.answer.done():
            pending.answer.set_exception(refusal)

    # --- workers -----------------------------------------------------------------------------------------------------

    def _spawn(self, delay: float) -> None:
        self._keep(self._brought_up(delay))

    async def _brought_up(self, delay):
        """Start one worker and load in it whatever the others have; only then it gets batches."""
        await asyncio.sleep(delay)
        worker = WorkerProcess(self._answered, self._lost)
        try:
            await worker.start(self._settings)
        except OSError as error:  # no memory, or too many processes
            _log.error("no worker can be started: %s", error)
            return self._spawn(WORKER_STARTS_AGAIN_MOST)
        self._workers.append(worker)
        with suppress(WorkerLost):
            try:
                async with asyncio.timeout(SERVING_STARTS):
                    await worker.started
            except TimeoutError:
                return worker.kill(f"it did not start in {SERVING_STARTS:g} s")
            missing = await self._programs.load_missing(worker)
            if worker.lost:  # it would get a batch, and be lost but once
                return
            self._idle.append(worker)
            self._available.set()
            _log.info("worker %d answers", worker.pid)
            self._dispatch_soon()
            again = WORKER_STARTS_AGAIN_MOST
            while missing:  # a disk that is back, or a folder that was moved away for a while
                await asyncio.sleep(again)
                again = min(2 * again, _LOADS_AGAIN_MOST)
                missing = await self._programs.load_missing(worker, missing)
                self._dispatch_soon()

    async def _any_worker(self):
        async with asyncio.timeout(SERVING_STARTS):
            while not self._up():
                self._available.clear()
                await self._available.wait()
        return self._up()[0]

    def _up(self):
        return [w for w in self._workers if not w.lost and (w.batch is not None or w in self._idle)]

    async def _watch(self):
        while True:
            await asyncio.sleep(SERVING_LOOKS_EVERY)
            looked_at = time.monotonic()
            for worker in list(self._workers):
                if worker.batch is not None and looked_at - worker.busy_since > self._model_seconds:
                    worker.hung = True
                    worker.kill(f"a batch took longer than {self._model_seconds:g} s")
            self._refuse_late(looked_at - self._deadline)

    def _refuse_late(self, since):
        """Refuse what has waited since then and has no answer, be it in the queue or with a worker."""
        batches = [worker.batch for worker in self._workers if worker.batch is not None]
        waiting = [*self._queue.waiting(), *(pending for batch in batches for pending in batch.pending)]
        late = [pending for pending in waiting if pending.since < since and not pending.answer.done()]
        for pending in late:
            text = f"no answer in {self._deadline:g} s; {len(self.pids)} workers answer, {self._queue.length} requests"
            self._refuse(pending, Refused(503, f"{text} wait. Send it again, or less often.", {"Retry-After": "1"}))
        if late:
            self._queue.forget_gone()

    async def _reaped(self, worker):
        await until(lambda: worker.transport.get_returncode() is not None, KILLED_WORKER_ENDS)
        worker.transport.close()

    def _keep(self, work):
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
