"""Be a candidate for chief, and know whether one is it: a thread asks the scheduler for the lease, and renews it."""

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from course.deadlines import CHIEF_ASKS_EVERY
from course.training.records.errors import Deposed

if TYPE_CHECKING:
    from course.cluster.cluster import Cluster

_NAME = "chief"


class LeaderLease:
    """Within a `with`, `task` is a candidate for chief of the training on `cluster`.

    The thread is frozen with its process, so a frozen chief loses the lease; a chief whose disk is slow keeps it.
    """

    def __init__(self, cluster: "Cluster", task: str):
        self._lease = cluster.lease(_NAME, task)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="chief's lease", daemon=True)

    @property
    def mine(self) -> bool:
        """Whether this process is the chief now, by its own clock."""
        return self._lease.mine

    @property
    def term(self) -> int:
        """The lease's generation: higher with every new chief."""
        return self._lease.term

    def check(self) -> None:
        """Raise Deposed unless this process is the chief."""
        if not self.mine:
            raise Deposed("this process is not the chief any more; another goes on with the training.")

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        """Be a candidate no more; the next one has the lease in a moment."""
        self._ended.set()
        self._thread.join()
        with suppress(OSError, RuntimeError):  # the scheduler is gone: there is no lease either
            self._lease.release()

    def _renew(self):
        while not self._ended.wait(CHIEF_ASKS_EVERY):
            # silent or gone: the lease runs out by this process's clock, and the role notices for itself
            with suppress(OSError, RuntimeError):
                self._lease.renew()
