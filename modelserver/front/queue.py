"""The one queue: requests in the order of their arrival, taken out as batches."""

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Collection
from typing import Any

from modelserver.protocol.errors import Refused, wrong
from modelserver.protocol.request import InferRequest

_numbers = itertools.count(1)


class Pending:
    """A request that waits for its answer: for which `program`, in the queue since `arrived` (monotonic seconds).

    Its deadline runs from `since` on; None: from its arrival.
    `answer`: a future of `(data, offset)`: the batch's outputs, and this request's first row in it.
    """

    __slots__ = ("program", "request", "answer", "arrived", "since")

    def __init__(self, program: int, request: InferRequest, answer: asyncio.Future, since: float | None = None):
        self.program, self.request, self.answer, self.arrived = program, request, answer, time.monotonic()
        self.since = self.arrived if since is None else since


class Batch:
    """Requests that run together: their `rows` in all, how many workers it was given to (`attempts`)."""

    __slots__ = ("job", "program", "pending", "rows", "attempts")

    def __init__(self, program: int, pending: list[Pending]):
        self.job, self.program, self.pending = next(_numbers) & 0xFFFFFFFF, program, pending
        self.rows, self.attempts = sum(waiting.request.rows for waiting in pending), 0

    def is_over(self) -> bool:
        """Whether nobody waits for it any more."""
        return all(waiting.answer.done() for waiting in self.pending)

    def data(self) -> list[Any]:
        """Return the batch's inputs as buffers in order: all rows of the first input, then all of the next one."""
        if len(self.pending) == 1:
            return list(self.pending[0].request.inputs)
        return list(
            itertools.chain.from_iterable(zip(*(waiting.request.inputs for waiting in self.pending), strict=True))
        )


class RequestQueue:
    """Holds at most `limit` requests and `limit_bytes` bytes of inputs; one more request gets 429.

    A batch has requests for one program: those at the head of the queue, `largest` rows at most. Batches that were
    lost with their worker come first, as they were.
    """

    def __init__(self, limit: int, limit_bytes: int, largest: int):
        self._limit, self._limit_bytes, self._largest = limit, limit_bytes, largest
        self._waiting: dict[int, deque[Pending]] = {}
        self._again: deque[Batch] = deque()
        self.length = self.bytes = 0

    @property
    def again(self) -> int:
        """How many batches wait for a second worker."""
        return len(self._again)

    def put(self, pending: Pending) -> None:
        """Add a request at the end; raises Refused: 429 when the queue is full, 400 when no batch could hold it."""
        if not 1 <= pending.request.rows <= self._largest:  # it would never be taken, nor would those behind it
            raise wrong(f"{pending.request.rows} rows; a request has from 1 to {self._largest}: send it in parts.")
        size = sum(map(len, pending.request.inputs))
        if self.length >= self._limit or self.bytes + size > self._limit_bytes:
            raise Refused(
                429,
                f"the queue is full: {self.length} requests, {self.bytes} bytes (at most {self._limit}, "
                f"{self._limit_bytes}). Send it again in a second, or less often; nothing of it was computed.",
                {"Retry-After": "1"},
            )
        self._waiting.setdefault(pending.program, deque()).append(pending)
        self.length += 1
        self.bytes += size

    def put_again(self, batch: Batch) -> None:
        """Put a batch back that no worker answered; it goes first. When all callers are gone, forget it."""
        if not batch.is_over():
            self._again.append(batch)

    def take(self, programs: Collection[int]) -> Batch | None:
        """Return the next batch for a worker that has these `programs` loaded; None where there is none."""
        for batch in list(self._again):
            if batch.is_over() or batch.program in programs:
                self._again.remove(batch)
                if not batch.is_over():
                    return batch
        heads = [(waiting[0].arrived, program) for program, waiting in self._waiting.items() if program in programs]
        if not heads:
            return None
        _, program = min(heads)
        chosen = self._chosen(self._waiting[program])
        if not self._waiting[program]:
            del self._waiting[program]
        return Batch(program, chosen) if chosen else self.take(programs)

    def forget_gone(self) -> None:
        """Give up the places of requests whose callers are gone."""
        for program, waiting in list(self._waiting.items()):
            still_waiting = deque(pending for pending in waiting if not pending.answer.done())
            self.length -= len(waiting) - len(still_waiting)
            self.bytes -= sum(
                len(part) for pending in waiting if pending.answer.done() for part in pending.request.inputs
            )
            if still_waiting:
                self._waiting[program] = still_waiting
            else:
                del self._waiting[program]

    def waiting(self) -> list[Pending]:
        """Return all that wait, for a first worker or a second."""
        batches = [pending for batch in self._again for pending in batch.pending]
        return batches + [pending for deque_ in self._waiting.values() for pending in deque_]

    def drain(self) -> list[Pending]:
        """Take everything out, and return it."""
        waiting = self.waiting()
        self._again.clear()
        self._waiting.clear()
        self.length = self.bytes = 0
        return waiting

    def _chosen(self, waiting):
        rows, chosen = 0, []
        while waiting and rows + waiting[0].request.rows <= self._largest:
            pending = waiting.popleft()
            self.length -= 1
            self.bytes -= sum(map(len, pending.request.inputs))
            if not pending.answer.done():  # its caller is gone
                rows += pending.request.rows
                chosen.append(pending)
        return chosen
