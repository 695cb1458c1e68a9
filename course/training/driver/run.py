"""What happens when a parameter server dies: one call of `train`, over as many incarnations as it takes.

A lost ps task costs the updates since the last checkpoint: the next incarnation starts there, on ps tasks that answer.
One that gets notice, as a batch system gives before it kills, costs none: the driver takes a snapshot first.
"""

import dataclasses
import logging
import time
from collections.abc import Sequence
from contextlib import suppress

from course.cluster.tape.recorder import TrainingNotes
from course.training.checkpoint.folder_lock import LockedCheckpoints
from course.training.checkpoint.snapshot import Snapshot
from course.training.driver.history import History
from course.training.driver.worker_pool import WorkerPool
from course.training.hooks.base import Hook, Session, begun, refuse
from course.training.hooks.fetches import ask, orders, tell
from course.training.hooks.progress import late_line
from course.training.records import Deposed, NonFiniteError, ShardLeaves, ShardLost, Step, TrainingError, TrainingResult
from course.training.server.driver_service import END_AWAITED

#: Between two polls of shard 0 by the driver.
DRIVER_POLLS_EVERY = 0.02

_LOG = logging.getLogger(__name__)
TRIES = 5  # incarnations in a row that get no further than one before them, after which training is given up


class Run:
    """The training of a plan by `pool` (see `WorkerPool`), reported to `hooks`.

    `start`: the `Snapshot` to go on from, None for the problem's first parameters.
    """

    def __init__(
        self, pool: WorkerPool, hooks: Sequence[Hook], checkpoints: LockedCheckpoints | None, start: Snapshot | None
    ):
        self._plan, self._pool, self._hooks, self._checkpoints = pool.plan, pool, hooks, checkpoints
        parameters = pool.plan.problem.initial()
        self._nbytes = sum(value.nbytes for value in parameters.values())
        self._history = History(parameters, start)
        self._session = self._new_session()
        self._start, self._opened, self._incarnation = start, 0, -1
        self._furthest, self._fruitless = -1, 0
        self._first = start.incarnation if start else None  # the lowest one whose checkpoints are this training's

    def result(self) -> TrainingResult:
        """Train to the end; return the `TrainingResult`, or raise what the end calls for (see `train`)."""
        with begun(self._session, self._hooks), late_line(self._hooks) as self._line:
            settings = dataclasses.replace(self._plan.settings, limit=self._session.limit)
            try:
                while True:
                    try:
                        return self._live(settings)
                    except ShardLost as lost:
                        self._recover(lost)
            finally:
                if (recorder := self._pool.cluster.recorder) is not None:
                    recorder.trained(self._notes())

    def _live(self, settings):
        """One incarnation: open the shards, have the workers work, follow them to the end of training or of a shard."""
        self._opened, ps = self._opened + 1, self._pool.ps_present()
        number = self._next_incarnation()
        if not ps:
            raise TrainingError(
                f"none of {', '.join(self._plan.ps)} answers. Start one again, then call train again: it goes on from "
                "the newest checkpoint, where a checkpoint_dir is given."
            )
        with self._pool.shards_opened(ps, settings, number, self._start) as client, self._history.of(client):
            client.order_copies(orders(self._hooks), self._nbytes)
            self._incarnation = client.addresses.incarnation
            placement = ", ".join(f"{name} in {task}" for name, task in client.addresses.placement.items())
            _LOG.info("incarnation %d: the parameters are kept so: %s", self._incarnation, placement)
            self._note_start(client)
            try:
                with self._pool.workers_running(client):
                    _follow(client, self._session, self._history, self._pool, self._line)
                self._session.finish()
                parameters = self._session.parameters()
                with suppress(ShardLost):  # all that matters is here
                    self._history.read()  # again: the workers have said their last counts since
                return self._result(self._history.status, parameters, client.addresses.placement)
            except (ShardLost, Deposed):
                raise
            except BaseException as error:
                self._session.finish("an error ended the training", error)
                raise

    def _next_incarnation(self):
        """Return a number above those of all incarnations before, in this call and in the checkpoints."""
        number = self._incarnation + 1
        try:
            return max(number, self._checkpoints.next_incarnation() if self._checkpoints else 0)
        except OSError:  # a store that is lost is no reason to end; those that this call knows are below
            if number == 0:
                raise
            return number

    def _note_start(self, client):
        """Tell where training goes on from; save the version that it starts with, before any worker changes it."""
        if self._pool.attached:
            self._start, self._first = None, self._incarnation
            self._session.happened("chief took over", reason=f"incarnation {self._incarnation}")
            self._session.save("another chief")
        elif self._start is not None:
            self._session.happened("restored", client.addresses.tasks[0], reason=f"incarnation {self._incarnation}")
        elif self._checkpoints is not None:
            try:
                self._checkpoints.save(client.snapshot())
                self._first = self._incarnation
            except OSError as error:
                folder, reason = str(self._checkpoints.folder), str(error).rstrip(".")
                raise ValueError(
                    f"train(checkpoint_dir={folder!r}): the first checkpoint can't be written: {reason}. Name a folder "
                    "of yours on a disk with space, or a bucket that you may write to."
                ) from error

    def _recover(self, lost):
        """Make ready for another incarnation after the loss of a ps, or raise why there can't be one."""
        self._pool.check()
        self._session.happened("ps lost", lost.task, self._history.version, lost.reason)  # with all that was saved
        if isinstance(lost, ShardLeaves):
            return self._go_on_from(lost.snapshot)
        if self._checkpoints is None:
            raise lost
        self._count_fruitless(lost)
        try:
            newest = self._newest()
        except OSError as error:
            raise TrainingError(
                f"{lost.task}, the parameter server, is lost: {lost.reason}. The checkpoints can't be "
                f"read: {str(error).rstrip('.')}. Call train again when they can: it goes on from the newest."
            ) from lost
        if newest is None and (self._history.version > 0 or self._pool.took_over):
            folder = self._checkpoints.folder
            why = f"No checkpoint in {folder} can be read" if folder.is_dir() else f"The folder {folder} was removed"
            raise TrainingError(
                f"{lost.task}, the parameter server, is lost: {lost.reason}. {why}, so training can't go on. To start "
                "anew, call train with resume=False, or another folder."
            ) from lost
        self._go_on_from(newest)  # None: lost before anything was applied, so nothing is lost by starting over

    def _go_on_from(self, snapshot):
        self._start = snapshot
        self._history.roll_back(snapshot.version if snapshot else 0)
        self._session.go_back(self._history.version)

    def _newest(self):
        """Return the newest checkpoint of this training, None where it has none; those of others don't count."""
        if self._first is None:
            return self._start  # lost before the first save: begin as before
        newest = self._checkpoints.latest()
        return None if newest is None or newest.incarnation < self._first else newest

    def _count_fruitless(self, lost):
        self._fruitless = 0 if self._history.version > self._furthest else self._fruitless + 1
        self._furthest = max(self._furthest, self._history.version)
        if self._fruitless >= TRIES:
            raise TrainingError(
                f"{lost.task}, the parameter server, is lost: {lost.reason}. It is the {self._fruitless}th time in a "
                f"row that training got no further than step {self._furthest}; cluster.log({lost.task!r}) may say why. "
                f"What was reached is in {self._checkpoints.folder}."
            ) from lost

    def _new_session(self):
        plan = self._plan
        optimizer, placement = getattr(plan.optimizer, "func", plan.optimizer).__name__, plan.settings.placement
        session = Session(
            plan.settings.limit,
            self._history.parameters,
            self._history.snapshot,
            self._history.snapshot_of,
            problem=plan.problem,
            cluster=self._pool.cluster,
            checkpoints=self._checkpoints,
            settings={
                **vars(plan.settings),
                "placement": getattr(placement, "__name__", placement),
                "optimizer": optimizer,
                "ps": len(plan.ps),
                "device": plan.device,
            },
            seconds=self._history.elapsed,
        )
        session.step = self._history.version
        return session

    def _notes(self):
        """Return the updates and events for the cluster's tape; those that the loss of a ps undid are left out."""
        plan, zero = self._plan, time.time() - self._history.elapsed()  # a history counts from the training's start
        updates = [
            (step, worker, version, zero + arrived, zero + applied)
            for step, worker, version, _, arrived, applied in self._history.records.tolist()
        ]
        events = [(zero + event.seconds, event.what, event.task, event.reason) for event in self._session.events]
        return TrainingNotes(plan.ps, plan.workers, zero, self._nbytes, updates, events)

    def _result(self, status, parameters, placement):
        by_worker = ("dropped", "lost", "sent", "acknowledged", "applied")
        return TrainingResult(
            self._plan.settings.mode,
            len(self._plan.workers),
            parameters,
            status["version"],
            self._history.records,
            self._history.seconds,
            stopped_by=self._session.stop_reason,
            incarnations=self._opened,
            events=self._session.events,
            degraded=status["degraded"],
            restored_from=self._start.version if self._start else None,
            devices=self._pool.devices,
            placement=placement,
            problem=self._plan.problem,
            # JSON made words of the workers' numbers
            **{name: {int(worker): value for worker, value in status[name].items()} for name in by_worker},
        )


def _follow(client, session, history, pool, line):
    """Read steps and tell the hooks until training ends. Raises ShardLost, or what the end calls for (see `train`)."""
    workers = pool.plan.workers
    while True:
        pool.check()
        line.look(history.version, session.limit)
        history.read(0.0 if session.hooks else END_AWAITED, session.step)
        events, rows = history.new()
        for seconds, kind, worker, step, reason in events:
            session.happened(kind, workers[worker], step, reason, seconds)
        for row in rows if session.hooks else ():
            step = Step(*row.item())
            session.step = step.step - 1  # of a synchronous update there is a row for each of its gradients
            ask(session)
            tell(session, step)
            if session.stop_reason is not None:
                break
        status, ended = history.status, history.status["ended"]
        if ended and (len(rows) == 0 or session.stop_reason is not None):
            _raise_for(ended, status, session, pool)
            return
        if session.stop_reason is not None:
            client.stop()
        elif client.leaving and not ended:
            client.stop()
            session.save("its parameter server is told to end")
            raise ShardLeaves(client.leaving, session.snapshot())
        elif not ended and session.hooks:
            time.sleep(DRIVER_POLLS_EVERY)


def _raise_for(ended, status, session, pool):
    """Raise what the end of the training calls for."""
    workers = pool.plan.workers
    output = f"\n{pool.last_output(ended['worker'])}" if "worker" in ended else ""
    if ended["why"] == "not finite":
        refuse(session, NonFiniteError(ended["text"], ended["version"]))
    elif ended["why"] == "lost":
        lost = "; ".join(f"{workers[int(worker)]}: {reason}" for worker, reason in sorted(status["lost"].items()))
        raise TrainingError(
            f"training stands still at step {status['version']}, {ended['text']}: {lost}. Start the workers again (a "
            "local cluster does so by itself), then call train again."
        )
    elif ended["why"] == "stuck":
        raise TrainingError(
            f"training gets no further than step {status['version']}: {workers[ended['worker']]} was {ended['text']}. "
            f"Something ends it each time, most often the problem's code or a lack of memory.{output}"
        )
    elif ended["why"] in ("error", "closed"):
        text = ended["text"].rstrip(".") or "the server closed"
        raise TrainingError(f"training ended at step {status['version']}: {text}.{output}")
