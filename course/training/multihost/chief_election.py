"""Who becomes chief: among the worker roles that want to be, the one to which the scheduler gives the chief's lease.

The scheduler gives a free lease to the candidate of the lowest task number that has asked lately, and the lease ends
when its holder no longer asks. Each new chief has a higher term, by which shards refuse what an older one still sends.
"""

import logging
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from course.training.records import Deposed

if TYPE_CHECKING:
    from course.cluster.cluster import Cluster

#: Between two questions of a candidate for the chief's lease, or of the chief.
CHIEF_ASKS_EVERY = 0.3

_LOG = logging.getLogger(__name__)


class ChiefLease:
    """Within a `with`, `task` is a candidate for chief of the training on `cluster`.

    A thread asks for the lease and renews it. It is frozen with its process, so a frozen chief loses the lease; a chief
    whose disk is slow keeps it.
    """

    def __init__(self, cluster: "Cluster", task: str):
        self._task, self._lease = task, cluster.lease("chief", task)
        self._ended, self._answered = threading.Event(), time.monotonic()
        self._thread = threading.Thread(target=self._renew, name="chief's lease", daemon=True)

    @property
    def mine(self) -> bool:
        """Whether this process is the chief now, by its own clock."""
        return self._lease.mine

    @property
    def term(self) -> int:
        """The lease's term: higher with every new chief."""
        return self._lease.term

    def check(self) -> None:
        """Raise Deposed unless this process is the chief."""
        if not self.mine:
            if self._lease.holder not in (self._task, None):
                raise Deposed(
                    f"this process is not the chief any more; {self._lease.holder} goes on with the training."
                )
            silence = time.monotonic() - self._answered
            raise Deposed(f"nothing heard from the scheduler for {silence:.0f} s, and nobody may be chief without it.")

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
        was_mine = False
        while not self._ended.wait(CHIEF_ASKS_EVERY):
            # silent or gone: the lease runs out by this process's clock, and the role notices for itself
            with suppress(OSError, RuntimeError):
                self._lease.renew()
                self._answered = time.monotonic()
            if self.mine != was_mine:
                was_mine = self.mine
                transition = "has the chief's lease, of" if was_mine else "has lost the chief's lease, after"
                _LOG.info("%s %s term %d", self._task, transition, self.term)
