"""What every deployed cluster opens and must close: an event loop, an entry in the ledger, a caretaker."""

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Any

from course.cluster.local_runtime.loop import LoopThread
from course.cluster.routes import Routes
from course.deploy.killed_client import Caretaker
from course.deploy.launcher import DeployError
from course.deploy.ledger import Entry

_LOG = logging.getLogger(__name__)


class Deployment:
    """The part of a runtime that is the same for every system; `say` gets lines for the reader.

    `thread`: runs the event loop of the cluster; None before the start.
    """

    #: What follows the error of a cluster that could not be ended.
    _still_there: str
    route: Routes | None = None

    def __init__(self, entry: Entry, say: Callable[..., None]):
        self._entry, self._say = entry, say
        self.kind, self.tasks = entry.kind, list(entry.tasks)
        self.thread: Any = None
        self._starting: Any = None  # the coroutine that starts it, in the loop
        self._undone = False  # whether something of it could not be ended
        self._opened = ExitStack()

    def _open_loop(self):
        self.thread = LoopThread()
        self._opened.callback(self.thread.stop)

    def _write_down(self, leftovers: Iterable[Sequence[str]], seconds: dict[str, float]) -> None:
        """Put the cluster into the ledger, and a caretaker beside it, before there is anything to forget.

        `leftovers`: the commands that end what a killed client leaves; `seconds`: see `killed_client`.
        """
        commands = [list(command) for command in leftovers]
        self._entry = dataclasses.replace(self._entry, leftovers=tuple(map(tuple, commands)))
        self._opened.callback(self._entry.remove)
        self._entry.write()
        caretaker = Caretaker(str(self._entry.folder), commands, seconds)
        self._opened.callback(lambda: caretaker.dismiss(done=not self._undone))

    def close(self) -> None:
        """End the tasks, the scheduler and the loop; take the entry from the ledger. May be called again."""
        with self._opened:
            if self.thread and self.thread.is_alive():
                self._close()

    def _close(self):
        self.thread.run(self._stop)

    async def _stop(self):
        if self._starting and not self._starting.done():  # an interrupt got deploy() while it waited
            self._starting.cancel()
            await asyncio.wait([self._starting])
        try:
            await self._end()
        except DeployError as error:
            self._undone = True
            _LOG.warning("%s could not be ended: %s", self._entry.name, error)
            self._say(f"{self._entry.name} is closed, and {self._still_there.format(error=error)}")
        else:
            _LOG.info("%s on %s is closed", self._entry.name, self.kind)

    async def _end(self):
        """End what runs elsewhere; DeployError where it may run on."""
        raise NotImplementedError
