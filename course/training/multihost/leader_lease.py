"""Stand for chief, and know whether one is: a thread that asks the scheduler for the lease, and renews it."""

import threading

from course.training.driver.shard_client import TrainingError

_EVERY = 0.3  # seconds between two questions; the lease counts a candidate as live for 1 s, a holder for 3 s
_NAME = "chief"


class Deposed(TrainingError):
    """This process was the chief and is not any more: its lease ran out, or another has a later one."""


class Tenure:
    """Within a `with`, `task` is a candidate for chief of the training on `cluster`.

    The thread is frozen with its process, so a frozen chief loses the lease; a chief whose disk is slow keeps it.
    `mine`: whether this process is the chief now; `epoch`: rises with every new one.
    """

    def __init__(self, cluster, task):
        self._lease = cluster.lease(_NAME, task)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="chief's lease", daemon=True)

    @property
    def mine(self):
        return self._lease.mine

    @property
    def epoch(self):
        return self._lease.term

    def check(self):
        """Raise Deposed unless this process is the chief."""
        if not self.mine:
            raise Deposed("this process is not the chief any more; another goes on with the training.")

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        """Stand no more; the next candidate has the lease in a moment."""
        self._ended.set()
        self._thread.join()
        try:
            self._lease.release()
        except (OSError, RuntimeError):  # the scheduler is gone: there is no lease either
            return

    def _renew(self):
        while not self._ended.wait(_EVERY):
            try:
                self._lease.renew()
            except (OSError, RuntimeError):
                continue  # silent or gone: the lease runs out by our own clock, and the role notices for itself
