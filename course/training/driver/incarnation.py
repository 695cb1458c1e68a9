"""One incarnation, from its shards' opening to the training's end or a shard's loss: follow it, and know its state."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from course.deadlines import DRIVER_POLLS_EVERY
from course.training.checkpoint.snapshot import Snapshot
from course.training.driver.history import History
from course.training.driver.shard_client import ShardClient
from course.training.driver.worker_pool import WorkerPool
from course.training.hooks.base import Hook, Session, refuse, tell
from course.training.records.errors import NonFiniteError, TrainingError
from course.training.records.result import Step


def follow(client: ShardClient, session: Session, hooks: Sequence[Hook], history: History, pool: WorkerPool) -> None:
    """Read steps and tell the hooks until training ends. Raises ShardLost, or what the end calls for (see `train`)."""
    workers = pool.plan.workers
    while True:
        pool.check()
        history.read(client)
        events, rows = history.untold()
        for seconds, what, worker, step, reason in events:
            session.happened(what, workers[worker], step, reason, seconds)
        for row in rows if hooks else ():
            for hook in hooks:
                hook.before_run(session)
            tell(session, hooks, Step(*row.item()))
            if session.stop_reason is not None:
                break
        status, ended = history.status, history.status["ended"]
        if ended and (len(rows) == 0 or session.stop_reason is not None):
            _raise_for(ended, status, session, hooks, workers)
            return
        if session.stop_reason is not None:
            client.stop()
        elif not ended:
            time.sleep(DRIVER_POLLS_EVERY)


def _raise_for(ended, status, session, hooks, workers):
    """Raise what the end of the training calls for."""
    if ended["why"] == "not finite":
        refuse(session, hooks, NonFiniteError(ended["text"], ended["version"]))
    elif ended["why"] == "lost":
        lost = "; ".join(f"{workers[int(worker)]}: {reason}" for worker, reason in sorted(status["lost"].items()))
        raise TrainingError(
            f"training stands still at step {status['version']}, {ended['text']}: {lost}. Start the workers again (a "
            "local cluster does so by itself), then call train again."
        )
    elif ended["why"] in ("error", "closed"):
        raise TrainingError(f"training ended at step {status['version']}: {ended['text'] or 'the server closed'}.")


class LatestState:
    """Parameters and snapshots while shards come and go: of the present shards, else what was known last.

    `parameters`: name to tensor, the first ones. `start`: the `Snapshot` that training goes on from, or None.
    """

    def __init__(self, parameters: dict[str, torch.Tensor], start: Snapshot | None, history: History):
        self._client: ShardClient | None = None
        self._snapshot, self._history = start, history
        self._last = start.parameters if start else parameters

    @contextmanager
    def showing(self, client: ShardClient) -> Iterator[None]:
        """Within the `with`, ask the client's shards."""
        self._client = client
        try:
            yield
        finally:
            self._client = None

    def parameters(self) -> dict[str, torch.Tensor]:
        """Return copies of the present parameters: name to tensor. Raises ShardLost."""
        if self._client is not None:
            self._last = self._client.parameters()
        return {name: value.detach().clone() for name, value in self._last.items()}

    def snapshot(self) -> Snapshot | None:
        """Return the `Snapshot` of this moment, None when there never was one. Raises ShardLost."""
        if self._client is not None:
            self._snapshot = self._client.snapshot()
            self._history.read(self._client)  # the records of all that is in the snapshot, while they can be had
            self._last = self._snapshot.parameters
        return self._snapshot
