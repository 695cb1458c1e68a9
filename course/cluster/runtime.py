"""The base of a `Cluster`: `LocalRuntime` has its tasks' processes, `RemoteRuntime` only knows where they are."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from distributed import Client

from course.cluster.executor import OpenWork

if TYPE_CHECKING:
    from course.cluster.local_runtime.loop import LoopThread
    from course.cluster.routes import Routes


class Runtime(Protocol):
    """The tasks, the scheduler and the event loop behind a cluster; `Cluster` says more of what has the same name."""

    thread: "LoopThread"

    @property
    def tasks(self) -> list[str]:
        """The tasks' names."""

    @property
    def session_target(self) -> str:
        """The scheduler's address."""

    @property
    def dashboard_link(self) -> str | None:
        """Where Dask's dashboard answers; None when it is off."""

    @property
    def route(self) -> "Routes | None":
        """This process's own way to where tasks listen; None: straight."""

    def address(self, task: str) -> str:
        """Return where `task` listens, `host:port`."""

    def missing(self) -> list[str]:
        """Return the tasks that there should be and that are not there now."""

    def signal(self, task: str, method: str) -> None:
        """Do to the process of `task` what the method of `Cluster` by that name does: kill, freeze or thaw it."""

    def restart(self, tasks: list[str]) -> None:
        """End the processes of `tasks` and wait for their successors."""

    def log(self, task: str) -> str:
        """Return what `task` printed."""

    def watch(self, client: Client, work: OpenWork) -> Callable[[], object]:
        """Close `work` when it cannot end any more; return the function that ends this watch."""

    def close(self) -> None:
        """End what this has started."""
