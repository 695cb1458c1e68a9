"""The `Cluster` of a cloud: executor, client, map and reduce; the rest raises an error that says why it can't."""

from contextlib import AbstractContextManager, nullcontext
from typing import NoReturn

from course.cluster.cluster import Cluster


def lacks(where: str, kind: str) -> NoReturn:
    """Raise the RuntimeError of what a cluster by `deploy(kind)` can't do."""
    raise RuntimeError(
        f"{where}: the workers of deploy({kind!r}) are reached through their scheduler alone, without names. "
        "Use cluster.executor or cluster.client; deploy('slurm') and deploy('ssh') have named tasks"
    )


class CloudCluster(Cluster):
    """What a Dask deployer started: `executor`, `client`, `tasks` (a count, by names), `missing`, `log`, `close`.

    `at`, `spec`, `devices`, `lease`, `kill`, `freeze`, `thaw` and `restart` raise RuntimeError, and so does what stands
    on them: trainings and tunings. Otherwise as `Cluster`.
    """

    def at(self, place: str) -> NoReturn:
        """Raise RuntimeError: there are no tasks by name to pin work to."""
        self._work.check("cluster.at")
        lacks(f"cluster.at({place!r})", self.kind)

    def logged(self) -> AbstractContextManager[None]:
        """Do nothing: workers of Dask's own keep no logs of ops, and refuse what asks for one."""
        return nullcontext()

    def lease(self, name: str, task: str, seconds: float = 0.0) -> NoReturn:
        """Raise RuntimeError: a scheduler of Dask's own keeps no leases."""
        self._work.check("cluster.lease")
        lacks(f"cluster.lease({name!r})", self.kind)

    @property
    def kind(self) -> str:
        """The system that it is on, as `deploy` calls it."""
        return self._runtime.kind  # type: ignore[attr-defined]
