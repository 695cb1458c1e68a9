"""The interface of a system that starts and ends tasks elsewhere, a batch system or SSH, for the keeper."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from course.deploy.task_order import Order
from course.signals import held_back

#: Seconds for a closed cluster's jobs to leave the queue.
DEPLOYED_TASKS_END = 10.0


@dataclass(frozen=True)
class State:
    """Where a task's job is: `stage` "waiting", "running" or "ended"; `reason`: why it waits, or how it ended.

    `by_itself`: whether it ended so; not where it was cancelled, or its node failed. `never`: whether what it waits for
    can't come by waiting.
    """

    stage: str
    reason: str = ""
    by_itself: bool = True
    never: bool = False


class DeployError(RuntimeError):
    """A cluster can't be started, or a task can't; the message says why and what to do."""


def load(kind: str, module: str) -> ModuleType:
    """Import and return `module`, which needs the extra of `kind`; ImportError with the line that brings it."""
    try:
        with held_back():  # an interrupt finds the import done, or not begun
            return import_module(module)
    except ImportError as error:
        raise ImportError(f"deploy({kind!r}): {error}. `python -m pip install 'course[{kind}]'` brings it") from error


class Launcher(Protocol):
    """Starts tasks elsewhere: made for a cluster's entry in the ledger, a folder for logs, and options by job.

    Its coroutines run in the cluster's event loop; each raises DeployError.
    """

    def order(self, name: str, scheduler: str, certificate: Any) -> Order:
        """Return the order of the task `name`."""

    async def check(self, orders: Iterable[Order]) -> None:
        """Raise DeployError where these tasks could never start here: before anything is."""

    async def launch(self, order: Order) -> Any:
        """Start a task, or put its job into a queue; return its handle."""

    async def states(self, handles: Iterable[Any]) -> dict[Any, State]:
        """Return where the jobs of these handles are."""

    async def signal(self, handle: Any, name: str, pid: int | None) -> None:
        """Send the signal `name` ("KILL", "STOP", "CONT") to the task's process, `pid` where it has joined."""

    async def end(self, handles: Iterable[Any]) -> None:
        """End these jobs, whatever they do."""

    async def close(self) -> None:
        """End every job of this cluster, and all that this has open."""

    def logs(self, order: Order) -> list[Path]:
        """Return the files that the task and its predecessors wrote, the oldest first."""

    def leftovers(self) -> list[list[str]]:
        """Return the commands that end what a killed client leaves."""
