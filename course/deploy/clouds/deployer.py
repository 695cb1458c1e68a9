"""The interface of one of Dask's deployers to the rest of this room: its options, its start, its certain end."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Protocol

from course.cluster.routes import Routes
from course.deploy.clouds.cloud_options import CloudOptions


class Deployer(Protocol):
    """A cluster of one system: made for `(name, jobs, options)`. Its coroutines run in the cluster's event loop.

    Each of them raises DeployError with the next step, in at most 10 s where somebody doesn't answer. Modules that
    define one import their library inside of these functions: only users of that system have it.
    """

    #: What is imported to see whether the extra is there, and the class of its options.
    library: ClassVar[str]
    options: ClassVar[type[CloudOptions]]

    #: Where the scheduler is reached, Dask's `Security` or None, the dashboard's address or None; after `open`.
    address: str
    security: Any
    dashboard_link: str | None

    def __init__(self, name: str, jobs: Mapping[str, int], options: Any): ...

    @property
    def route(self) -> Routes | None:
        """Where this process finds what the workers announce; None: there."""

    async def prepare(self) -> None:
        """Look whether the cluster could start: credentials, quota, names. Nothing may be left where this raises."""

    def leftover(self) -> dict[str, Any] | None:
        """Return what `end` needs besides credentials, as JSON, after `prepare`; None where only time ends it."""

    async def open(self) -> None:
        """Start the scheduler and the workers; return when the scheduler can be reached. It may be cancelled."""

    async def waiting(self) -> str:
        """Return why workers aren't there yet, as the system says it, or ""; raise where they never will be."""

    async def reach(self, addresses: Iterable[str]) -> None:
        """Open ways for `route` to the workers at these addresses, and to what listens beside them."""

    async def log(self) -> str:
        """Return what scheduler and workers printed."""

    async def close(self) -> None:
        """End everything and see it gone; also after a start that failed or was cancelled, and a second time."""

    @staticmethod
    async def end(leftover: dict[str, Any]) -> None:
        """End a cluster whose client is gone, from another process; `leftover`: from the method of that name."""
