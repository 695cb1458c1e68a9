"""The processes behind a widget that trains: they start with the first training and end with the widget."""

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from course.cluster import Cluster


class Processes:
    """A parameter server and three workers, for the widget called `owner`; usable from several threads."""

    def __init__(self, owner: str) -> None:
        self._owner, self._closed, self._starting = owner, False, threading.Lock()
        self._cluster: Cluster | None = None

    def cluster(self) -> "Cluster":
        """Return the `Cluster`, started by the first call; raises RuntimeError once closed."""
        from course.cluster import local_cluster

        with self._starting:
            if self._closed:
                raise RuntimeError(f"{self._owner}: it is closed; make a new one.")
            if self._cluster is None:
                self._cluster = local_cluster(ps=1, worker=3)
            return self._cluster

    def close(self) -> None:
        """End the processes, those that are just starting too. Idempotent."""
        with self._starting:
            self._closed = True
            if self._cluster is not None:
                self._cluster.close()
