"""Large requests are read in a process of their own, so that the loop of all others goes on meanwhile."""

import asyncio
import json
import logging
import os
from collections.abc import Mapping

from modelserver.compute.pipe import Kind, Message
from modelserver.deadlines import KILLED_WORKER_ENDS, WORKERS_CLOSE
from modelserver.front.worker_process import WorkerLost, WorkerProcess, until
from modelserver.protocol.errors import Refused
from modelserver.protocol.request import InferRequest
from modelserver.versions.signature import Signature

_log = logging.getLogger(__name__)


class Reader:
    """A process that reads requests; it starts with the first one, and again with the next after it ended.

    `seconds`: a request that is not read by then is refused.
    """

    def __init__(self, seconds: float):
        self._seconds, self._starting = seconds, asyncio.Lock()
        self._process: WorkerProcess | None = None

    async def read(
        self, body: bytes | bytearray, header_size: int | None, signatures: Mapping[str, Signature], largest: int
    ) -> InferRequest:
        """Return the request in `body`, as `read_request` does; raises Refused, with 503 if it can't be read now."""
        order = {"signatures": {name: signature.as_json() for name, signature in signatures.items()}}
        head = json.dumps({**order, "header_size": header_size, "largest": largest}).encode()
        try:
            async with asyncio.timeout(self._seconds):
                process = await self._started()
                answer = await process.ask(Message(Kind.READ, rows=len(head)), head, body)
        except (TimeoutError, WorkerLost, OSError) as error:
            why = f"in {self._seconds:g} s" if isinstance(error, TimeoutError) else f"now: {error}"
            raise Refused(503, f"the request can't be read {why}. Send it again.", {"Retry-After": "1"}) from None
        if answer.kind == Kind.REFUSED:
            raise Refused(*json.loads(bytes(answer.data)))
        return _request(json.loads(bytes(answer.data[: answer.rows])), answer.data[answer.rows :])

    async def close(self) -> None:
        """End the process."""
        if (process := self._process) is not None:
            process.close()
            await until(lambda: process.lost, WORKERS_CLOSE)
            await self._ended()

    async def _started(self):
        async with self._starting:
            if self._process is not None and self._process.lost:
                await self._ended()
            if self._process is None:
                process = WorkerProcess(lambda *_: None, _log_end, "modelserver.compute.reader")
                await process.start({"owner": os.getpid()})
                self._process = process
        return self._process

    async def _ended(self):
        process, self._process = self._process, None
        process.kill("the server ended")
        await until(lambda: process.transport.get_returncode() is not None, KILLED_WORKER_ENDS)
        process.transport.close()


def _log_end(process):
    _log.info("the reader %d ended; the next large request starts another", process.pid)


def _request(about, data):
    inputs, at = [], 0
    for size in about["sizes"]:
        inputs.append(data[at : at + size])
        at += size
    outputs = tuple((place, binary) for place, binary in about["outputs"])
    return InferRequest(about["id"], about["rows"], tuple(inputs), outputs, about["signature"])
