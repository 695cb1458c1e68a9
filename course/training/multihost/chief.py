"""The chief's crew in the classic form: processes that were started by hand, any of which may become the chief."""

import dataclasses
import os
import socket
import time
from contextlib import contextmanager

from course.training.checkpoint.checkpoints import Checkpoints
from course.training.driver.shard_client import attach
from course.training.driver.worker_pool import WorkerPool
from course.training.multihost.status_board import Notice
from course.training.records.errors import Deposed

GRACE = 10.0  # seconds that shards wait for the next chief
_SEE_THE_END = 1.0  # seconds for the workers' loops to hear that training has ended


class ChiefPool(WorkerPool):
    """Opens the shards, or takes over those of the chief before; tells workers by the `board` where they are.

    `lease`: the lease; without it nothing is done any more. `worker_thread`: this process's own worker. `before`: the notice
    of the chief before, None for the first one. `folder`: of the checkpoints, None for none.
    """

    def __init__(self, cluster, plan, board, lease, worker_thread, before=None, folder=None):
        super().__init__(cluster, plan)
        self._board, self._lease, self._worker_thread, self._before = board, lease, worker_thread, before
        self.term, self.training = lease.term, cluster.session_target
        self._folder, self._addresses, self.took_over = folder, None, before is not None

    def folder(self):
        """Return the folder to save in. One with the checkpoints of another training, in which the chief before did
        not save (each saves on its own machine), would mix the two: it is refused with a ValueError.
        """
        if self.took_over and self._folder is not None and folder_id(self._folder) != self._before.folder:
            if Checkpoints(self._folder).all():
                raise ValueError(
                    f"this chief can't save in {self._folder}: on this machine it holds the checkpoints of another "
                    "training. Name a folder that is empty on every worker's machine."
                )
        return self._folder

    @contextmanager
    def opened(self, ps, settings, incarnation, snapshot):
        """Within the `with`, there are shards; yields the `ShardClient` with them. They are left to the next chief, if any."""
        self._lease.check()
        self.attached, before = self._before is not None, self._before
        if self.attached:
            self._before = None  # once: when those shards are lost, new ones are opened
            with _leaving(attach(self.cluster, before.addresses, self.term)) as client:
                yield client
            return
        settings = dataclasses.replace(settings, grace=GRACE)
        with super().opened(ps, settings, incarnation, snapshot) as client, _leaving(client):
            yield client

    @contextmanager
    def working(self, client):
        """Within the `with`, the workers know where to work: each process sees to its own loop."""
        self._addresses = client.addresses
        self._post("running", client.addresses)
        yield
        time.sleep(_SEE_THE_END)

    def check(self):
        """Raise Deposed when somebody else is chief, TrainingError when the scheduler is lost."""
        super().check()
        self._lease.check()
        self._worker_thread.follow(self._addresses)

    def end(self, phase, text):
        """Tell every role that training is "done" or has "failed"; they end."""
        self._post(phase, self._addresses, text)

    def _post(self, phase, addresses, text=""):
        self._lease.check()
        if not self._board.post(Notice(self.term, phase, addresses, text, self._folder and folder_id(self._folder))):
            raise Deposed("another process is the chief now, and goes on with the training.")


@contextmanager
def _leaving(client):
    """Within the `with`, talk; afterwards the shards end, unless it is only this chief that goes."""
    try:
        yield client
    except (Deposed, KeyboardInterrupt, SystemExit):
        client.leave()
        raise
    except BaseException:
        client.close()
        raise
    client.close()


def folder_id(folder):
    """Return what tells a folder from all others: the machine, the disk, and the folder's number on it."""
    os.makedirs(folder, exist_ok=True)
    status = os.stat(folder)
    return f"{socket.gethostname()}:{status.st_dev}:{status.st_ino}"
