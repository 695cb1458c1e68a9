"""What the two widgets that train share: processes that start with the first training and end with the widget."""

import threading
from typing import TYPE_CHECKING, Any

import traitlets

from course.training import linear_regression
from course.widgets.explorer import Explorer

if TYPE_CHECKING:
    from course.cluster import Cluster


class TrainingExplorer(Explorer):
    """Trains a line, the `problem`, on a parameter server and three workers, in processes of the widget's own."""

    background = True
    mode = traitlets.Enum(["async", "sync"], "async").tag(state=True)

    def __init__(self, **state: object) -> None:
        self.problem = linear_regression()
        self._closed, self._starting = False, threading.Lock()
        self._cluster: Cluster | None = None
        super().__init__(**state)

    def rules(self) -> Any:
        """Return the choice of `mode`."""
        return self.choice(
            "mode", [("asynchronous: nobody waits", "async"), ("synchronous: everybody waits", "sync")], "rule"
        )

    def cluster(self) -> "Cluster":
        """Return the `Cluster`, started by the first call, in any thread; raises RuntimeError once closed."""
        from course.cluster import local_cluster

        with self._starting:
            if self._closed:
                raise RuntimeError(f"{type(self).__name__}: it is closed; make a new one.")
            if self._cluster is None:
                self._cluster = local_cluster(ps=1, worker=3)
            return self._cluster

    def close(self) -> None:
        """Stop training, end the processes (those that are just starting too), and remove the widget. Idempotent."""
        super().close()
        with self._starting:
            self._closed = True
            if self._cluster is not None:
                self._cluster.close()
