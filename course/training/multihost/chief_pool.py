"""The chief at work, where roles are started by hand: it opens the shards, or takes over those of the chief before."""

import dataclasses
import logging
import os
import socket
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, closing, contextmanager
from typing import TYPE_CHECKING, Any

from course.training.checkpoint.checkpoints import Checkpoints
from course.training.checkpoint.snapshot import Snapshot
from course.training.driver.shard_client import ShardClient, context_of
from course.training.driver.training_plan import TrainingPlan
from course.training.driver.worker_pool import WorkerPool
from course.training.multihost.chief_election import ChiefLease
from course.training.multihost.status_board import Notice, SchedulerLost, StatusBoard
from course.training.multihost.worker_thread import WorkerThread
from course.training.records import Deposed, Route, TrainingSettings
from modelserver.bucket import is_address

#: Shards whose chief is lost wait so long for the next one.
CHIEF_SUCCESSOR = 10.0
#: For the workers' loops to hear from their shards that training has ended, before the chief closes these.
END_HEARD = 1.0

if TYPE_CHECKING:
    from course.cluster.cluster import Cluster

_LOG = logging.getLogger(__name__)


class ChiefPool(WorkerPool):
    """Opens the shards, or takes over those of the chief before; tells workers by the `board` where they are.

    `lease`: without it nothing is done any more. `worker_thread`: this process's own worker. `before`: the notice of
    the chief before, None for the first one. `folder`: of the checkpoints, None for none. `grace`: seconds that shards
    wait for the next chief. `route`: this process's way to shards and ps tasks. `training`: what tells this one from
    others, the same for every chief; by default where this process finds the scheduler.
    """

    def __init__(
        self,
        cluster: "Cluster",
        plan: TrainingPlan,
        board: StatusBoard,
        lease: ChiefLease,
        worker_thread: WorkerThread,
        before: Notice | None = None,
        folder: str | None = None,
        grace: float = CHIEF_SUCCESSOR,
        route: Route | None = None,
        training: str | None = None,
    ):
        super().__init__(cluster, plan, route=route)
        self._board, self._lease, self._worker_thread = board, lease, worker_thread
        self._before: Any = before  # None once its shards were taken over
        self.term, self.training = lease.term, training or cluster.session_target
        self._folder, self._grace, self.took_over = folder, grace, before is not None

    def folder(self) -> str | None:
        """Return the folder to save in; ValueError for one with checkpoints of which the chief before wrote none."""
        if self._before is not None and self._folder is not None and folder_id(self._folder) != self._before.folder:
            if Checkpoints(self._folder).all():
                raise ValueError(
                    f"this chief can't save in {self._folder}: on this machine it holds the checkpoints of another "
                    "training. Name a folder that is empty on every worker's machine."
                )
        return self._folder

    @contextmanager
    def shards_opened(
        self, ps: Sequence[str], settings: TrainingSettings, incarnation: int, snapshot: Snapshot | None
    ) -> Iterator[ShardClient]:
        """As `WorkerPool.shards_opened`, or of the chief before; the next one inherits them. Raises Deposed too."""
        self._lease.check()
        before = self._before.addresses if self._before is not None else None
        self.attached, self._before = before is not None, None  # once: when those shards are lost, new ones are opened
        if before is not None:
            _LOG.info("the chief of term %d takes over incarnation %d's shards", self.term, before.incarnation)
            context = context_of(self.cluster.client.security, "client")
            opened: AbstractContextManager[ShardClient] = closing(ShardClient(before, context, self.term, self.route))
        else:
            settings = dataclasses.replace(settings, grace=self._grace)
            opened = super().shards_opened(ps, settings, incarnation, snapshot)
        with _lost_as_deposed(), opened as client:
            try:
                yield client
            except (Deposed, SchedulerLost, KeyboardInterrupt, SystemExit):
                client.leave()  # it is only this chief that goes: the shards stay
                raise

    @contextmanager
    def workers_running(self, client: ShardClient) -> Iterator[None]:
        """Within the `with`, the workers know where to work: each process sees to its own loop."""
        self._addresses = client.addresses
        self.post("running")
        yield
        time.sleep(END_HEARD)

    def check(self) -> None:
        """Raise Deposed when another process is chief, or may be, since the scheduler is lost."""
        self._lease.check()
        super().check()
        if self._addresses is not None:
            self._worker_thread.follow(self._addresses)

    def post(self, phase: str, text: str = "") -> None:
        """Tell every role that training is "running", or "done" or has "failed": they end, then. Raises Deposed."""
        self._lease.check()
        notice = Notice(self.term, phase, self._addresses, text, self._folder and folder_id(self._folder))
        with _lost_as_deposed():
            posted = self._board.post(notice)
        if not posted:
            raise Deposed("another process is the chief now, and goes on with the training.")


@contextmanager
def _lost_as_deposed():
    """Raise Deposed where the scheduler is lost within the `with`: another process may be chief soon."""
    try:
        yield
    except (SchedulerLost, CancelledError) as error:  # Dask cancels what waits for a scheduler that is lost
        raise Deposed(f"the scheduler is lost ({error}), and nobody may be chief without it.") from error


def folder_id(folder: str) -> str:
    """Return what tells a folder, made where it is missing, from all others: machine, disk, and its number there.

    A store's address is the same from every machine.
    """
    if is_address(folder):
        return folder
    os.makedirs(folder, exist_ok=True)
    status = os.stat(folder)
    return f"{socket.gethostname()}:{status.st_dev}:{status.st_ino}"
