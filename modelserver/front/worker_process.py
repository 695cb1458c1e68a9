"""One compute worker as the front process sees it: a process, two pipes, what it has loaded, what it is busy with.

And what every worker is to have loaded; a program that can't be loaded takes no other with it.
"""

import asyncio
import itertools
import json
import logging
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from modelserver.compute.pipe import Kind, Message, Parser, packed
from modelserver.compute.worker import BEGUN_BYTES
from modelserver.deadlines import VERSION_LOADS
from modelserver.front.queue import Batch

_jobs = itertools.count(1)
_log = logging.getLogger(__name__)
#: A program that so many workers had begun to load when they ended is given to no other.
_ATTEMPTS = 2


class WorkerLost(Exception):
    """The worker ended, or was ended, before it answered; `begun`: it had begun to do what it was asked for."""

    def __init__(self, text: str, begun: bool = True):
        super().__init__(text)
        self.begun = begun


class NotLoaded(Exception):
    """The worker could not load the version; the text is its own."""


class WorkerProcess(asyncio.SubprocessProtocol):
    """Starts with `start()`. `answered(worker, message)` gets what it says to a batch, `lost(worker)` its end, once.

    Then `begun` has the numbers of the last batch and load that it began; None where the system has no such file.
    """

    def __init__(
        self, answered: Callable[..., None], lost: Callable[..., None], module: str = "modelserver.compute.worker"
    ):
        self._answered, self._on_lost, self._module = answered, lost, module
        self._parser = Parser(self._take)
        self._asked: dict[int, asyncio.Future[Message]] = {}
        self.started: asyncio.Future = asyncio.get_running_loop().create_future()
        self.programs: set[int] = set()
        self.batch: Batch | None = None
        self.busy_since = 0.0
        self.lost = self.hung = False
        self.born = time.monotonic()
        self.why = ""
        self.begun: tuple[int, int] | None = None

    async def start(self, settings: dict[str, Any]) -> None:
        """Start the process; it says by the future `started` that it can load. `settings`: as its `main` takes them."""
        self._marks = tempfile.TemporaryFile(buffering=0) if os.name == "posix" else None
        begun = None if self._marks is None else self._marks.fileno()
        command = [sys.executable, "-m", self._module, json.dumps({**settings, "begun": begun})]
        alone = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        here = str(Path(__file__).parents[2])  # a checkout that isn't installed
        path = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH", ""))))
        try:
            self.transport, _ = await asyncio.get_running_loop().subprocess_exec(
                lambda: self,
                *command,
                stderr=None,
                pass_fds=() if begun is None else (begun,),
                start_new_session=True,  # Ctrl-C is for the front process, which drains first
                env={**os.environ, **alone, "PYTHONPATH": path},
            )
        except OSError:
            if self._marks is not None:
                self._marks.close()
            raise
        self._stdin: Any = self.transport.get_pipe_transport(0)

    @property
    def pid(self) -> int:
        """The process's id."""
        return self.transport.get_pid()

    def run(self, batch: Batch) -> None:
        """Send a batch; `answered` gets its answer."""
        self.batch, self.busy_since = batch, time.monotonic()
        message = Message(Kind.RUN, batch.job, batch.program, batch.rows)
        self._stdin.write(packed(message, *batch.data()))

    async def load(self, program: int, folder: Path, signature: str, judged_by: Path | None = None) -> dict[str, Any]:
        """Load a version's `signature` as `program`; return how its answers compare, as `compute.program.load` does.

        Raises NotLoaded, or WorkerLost.
        """
        order = {"folder": str(folder), "signature": signature, "judged_by": judged_by and str(judged_by)}
        try:
            async with asyncio.timeout(VERSION_LOADS):
                answer = await self.ask(Message(Kind.LOAD, program=program), json.dumps(order).encode())
        except TimeoutError:
            self.kill(f"it did not load {folder} in {VERSION_LOADS:g} s")
            raise WorkerLost(self.why) from None
        if answer.kind == Kind.NOT_LOADED:
            raise NotLoaded(bytes(answer.data).decode(errors="replace"))
        self.programs.add(program)
        return json.loads(bytes(answer.data))

    async def ask(self, message: Message, *parts: Any) -> Message:
        """Send `message`, with a number of its own, and the buffers `parts`; return the answer. Raises WorkerLost."""
        if self.lost:
            raise WorkerLost(self.why or "it ended", begun=False)
        job, answer = next(_jobs), asyncio.get_running_loop().create_future()
        self._asked[job] = answer
        self._stdin.write(packed(replace(message, job=job), *parts))
        try:
            return await answer
        finally:
            self._asked.pop(job, None)

    def unload(self, program: int) -> None:
        """Forget a program; no batch of it comes any more."""
        if program in self.programs and not self.lost:
            self.programs.discard(program)
            self._stdin.write(packed(Message(Kind.UNLOAD, program=program)))

    def began(self, batch: Batch) -> bool:
        """Whether a lost worker had begun with `batch`, or was ended since it did nothing with it for too long."""
        return self.hung or self.begun is None or self.begun[0] == batch.job

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
        if self._marks is not None:
            with self._marks:
                marks = os.pread(self._marks.fileno(), 2 * BEGUN_BYTES, 0).ljust(2 * BEGUN_BYTES, b"\0")
            batch, load = (int.from_bytes(marks[at : at + BEGUN_BYTES], "little") for at in (0, BEGUN_BYTES))
            self.begun = batch, load
        for job, future in ((0, self.started), *self._asked.items()):
            if not future.done():
                future.set_exception(WorkerLost(self.why or "it ended", self.begun is None or self.begun[1] == job))
                future.exception()  # nobody may wait for it any more
        self._on_lost(self)

    def _take(self, message):
        if message.kind == Kind.STARTED:
            if not self.started.done():
                self.started.set_result(None)
        elif message.kind in (Kind.LOADED, Kind.NOT_LOADED, Kind.REQUEST, Kind.REFUSED):
            answer = self._asked.get(message.job)
            if answer is not None and not answer.done():
                answer.set_result(message)
        elif self.batch is not None and message.job == self.batch.job:
            self._answered(self, message)


class Programs:
    """Programs by their numbers: of which folder each is, and of which signature."""

    def __init__(self) -> None:
        self._all: dict[int, tuple[Path, str]] = {}
        self._ended: Counter[int] = Counter()  # workers, while they loaded it

    def add(self, program: int, folder: Path, signature: str) -> None:
        """Have every worker load `program` from now on."""
        self._all[program] = folder, signature

    def remove(self, program: int) -> None:
        """Have no worker load it any more; nothing happens where none did."""
        self._all.pop(program, None)
        self._ended.pop(program, None)

    async def load(self, worker: WorkerProcess, program: int) -> None:
        """Load it in `worker`; raises NotLoaded, which it does for one that two workers ended at, or WorkerLost."""
        folder, signature = self._all[program]
        if self._ended[program] >= _ATTEMPTS:
            raise NotLoaded(f"{_ATTEMPTS} workers ended while they loaded {folder}")
        try:
            await worker.load(program, folder, signature)
        except WorkerLost as lost:
            self._ended[program] += lost.begun
            raise
        self._ended.pop(program, None)

    async def load_missing(self, worker: WorkerProcess, known: frozenset[int] = frozenset()) -> frozenset[int]:
        """Load all that `worker` lacks; return what it could not load, which is logged unless it is in `known`.

        Raises WorkerLost.
        """
        missing: set[int] = set()
        while lacking := self._all.keys() - worker.programs - missing:
            program = min(lacking)
            try:
                await self.load(worker, program)
            except NotLoaded as error:
                missing.add(program)
                if program not in known:
                    _log.error("worker %d goes without what it can't load: %s", worker.pid, error)
        return frozenset(missing)


async def until(condition: Callable[[], bool], seconds: float) -> None:
    """Wait until `condition()` is true, but for so many `seconds` at most."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.01)
