"""One compute worker as the front process sees it: a process, two pipes, what it has loaded, what it is busy with."""

import asyncio
import itertools
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from modelserver.compute.pipe import Kind, Message, Parser, packed
from modelserver.deadlines import VERSION_LOADS
from modelserver.front.queue import Batch

_jobs = itertools.count(1)


class WorkerLost(Exception):
    """The worker ended, or was ended, before it answered."""


class NotLoaded(Exception):
    """The worker could not load the version; the text is its own."""


class WorkerProcess(asyncio.SubprocessProtocol):
    """Starts with `start()`. `answered(worker, message)` gets what it says to a batch, `lost(worker)` its end, once."""

    def __init__(self, answered: Callable[..., None], lost: Callable[..., None]):
        self._answered, self._on_lost = answered, lost
        self._parser = Parser(self._take)
        self._loading: dict[int, asyncio.Future] = {}
        self.started: asyncio.Future = asyncio.get_running_loop().create_future()
        self.programs: set[int] = set()
        self.batch: Batch | None = None
        self.busy_since = 0.0
        self.lost = False
        self.born = time.monotonic()
        self.why = ""

    async def start(self, settings: dict[str, Any]) -> None:
        """Start the process; it says by the future `started` that it can load. `settings`: as its `main` takes them."""
        command = [sys.executable, "-m", "modelserver.compute.worker", json.dumps(settings)]
        alone = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        here = str(Path(__file__).parents[2])  # a checkout that isn't installed
        path = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH", ""))))
        self.transport, _ = await asyncio.get_running_loop().subprocess_exec(
            lambda: self,
            *command,
            stderr=None,
            start_new_session=True,  # Ctrl-C is for the front process, which drains first
            env={**os.environ, **alone, "PYTHONPATH": path},
        )
        self._stdin: Any = self.transport.get_pipe_transport(0)

    @property
    def pid(self) -> int:
        """The process's id."""
        return self.transport.get_pid()

    def run(self, batch: Batch) -> None:
        """Send a batch; `answered` gets its answer."""
        self.batch, self.busy_since = batch, time.monotonic()
        batch.attempts += 1
        message = Message(Kind.RUN, batch.job, batch.program, batch.rows)
        self._stdin.write(packed(message, *batch.data()))

    async def load(self, program: int, folder: Path, signature: str, judged_by: Path | None = None) -> dict[str, Any]:
        """Load a version's `signature` as `program`; return how its answers compare, as `compute.program.load` does.

        Raises NotLoaded, or WorkerLost.
        """
        job, answer = next(_jobs), asyncio.get_running_loop().create_future()
        self._loading[job] = answer
        order = {"folder": str(folder), "signature": signature, "judged_by": judged_by and str(judged_by)}
        self._stdin.write(packed(Message(Kind.LOAD, job, program, data=json.dumps(order).encode())))
        try:
            async with asyncio.timeout(VERSION_LOADS):
                comparison = await answer
        except TimeoutError:
            self.kill(f"it did not load {folder} in {VERSION_LOADS:g} s")
            raise WorkerLost(self.why) from None
        finally:
            self._loading.pop(job, None)
        self.programs.add(program)
        return comparison

    def unload(self, program: int) -> None:
        """Forget a program; no batch of it comes any more."""
        if program in self.programs and not self.lost:
            self.programs.discard(program)
            self._stdin.write(packed(Message(Kind.UNLOAD, program=program)))

    def kill(self, why: str) -> None:
        """End the process now."""
        self.why = self.why or why
        if self.transport.get_returncode() is None:
            self.transport.kill()

    def close(self) -> None:
        """Close its input: it ends when it has read so."""
        self._stdin.close()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Take what it wrote (asyncio's name)."""
        if not self.lost:
            self._parser.feed(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Take it for lost when it can't be heard or told anything more (asyncio's name)."""
        self._end()

    def process_exited(self) -> None:
        """Take it for lost (asyncio's name)."""
        self._end()

    def _end(self):
        if self.lost:
            return
        self.lost = True
        self.kill("it closed its pipes")
        for future in (self.started, *self._loading.values()):
            if not future.done():
                future.set_exception(WorkerLost(self.why or "it ended"))
                future.exception()  # nobody may wait for it any more
        self._on_lost(self)

    def _take(self, message):
        if message.kind == Kind.STARTED:
            if not self.started.done():
                self.started.set_result(None)
        elif message.kind in (Kind.LOADED, Kind.NOT_LOADED):
            answer = self._loading.get(message.job)
            if answer is None or answer.done():
                return
            if message.kind == Kind.LOADED:
                answer.set_result(json.loads(bytes(message.data)))
            else:
                answer.set_exception(NotLoaded(bytes(message.data).decode(errors="replace")))
        elif self.batch is not None and message.job == self.batch.job:
            self._answered(self, message)
