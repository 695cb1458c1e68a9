"""A training to practise failures on: it runs for some seconds while tasks are killed or frozen.

Its record has the events that hooks get, and the actions on its tasks, on one clock.
"""

import tempfile
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from course.training.driver.train import train
from course.training.hooks.base import Hook, Session
from course.training.hooks.every import SaveCheckpoint
from course.training.problems.paced import paced, slow
from course.training.problems.problem import Problem
from course.training.records import RECORD, Event, Step, TrainingError

if TYPE_CHECKING:
    from course.cluster.cluster import Cluster

#: action -> what the event is called
ACTIONS = {"kill": "killed", "freeze": "frozen", "thaw": "thawed", "slow": "slowed", "quick": "quick again"}
_PACE = 0.004  # seconds a batch: a few hundred updates a second, which leave the notebook its core
_SLOW = 0.050  # seconds that a batch takes longer on a slowed worker
_EVERY = 2.0  # seconds between two checkpoints: what the loss of a parameter server can cost at most
_AFTERWARDS = 2.0  # seconds of training after a restore that are worth seeing
_APPLIED = Step._fields.index("applied")  # the place in a row
_LOOK = 0.05  # seconds between two looks at the plan


@dataclass
class RehearsalRecord:
    """Applied gradients (undone ones too), events in order, and why the training ended ("" while it runs)."""

    rows: list = field(default_factory=list)
    events: list = field(default_factory=list)
    ended: str = ""

    @property
    def history(self) -> np.ndarray:
        """The gradients as an array of `RECORD`."""
        return np.array(self.rows[:], dtype=RECORD)

    def add(self, event: Event) -> None:
        """Add an `Event`, which may come a moment late, at its place."""
        self.events = sorted([*self.events, event], key=lambda event: event.seconds)


class Rehearsal(Hook):
    """One training of `problem` on `cluster` for `seconds`; `record` grows while `run()` runs, in any thread.

    `plan`: `(second, action, task)`, done by itself; `act(action, task)` does one at once. `settings` go to `train`.
    """

    shows_progress = True

    def __init__(
        self,
        cluster: "Cluster",
        problem: Problem,
        seconds: float,
        plan: Iterable[tuple[float, str, str]] = (),
        **settings: Any,
    ):
        self.record = RehearsalRecord()
        self._cluster, self._problem, self._seconds, self._settings = cluster, problem, seconds, settings
        self._plan = sorted(plan)
        self._begun = time.perf_counter()  # second 0: moved when the first update tells its time
        self._session: Session | None = None
        self._over = threading.Event()

    def run(self) -> RehearsalRecord:
        """Train, do what the plan says, and return the record; a training that can't go on says so in `ended`."""
        following = threading.Thread(target=self._follow_plan, name="rehearsal", daemon=True)
        following.start()
        try:
            with tempfile.TemporaryDirectory(prefix="course-rehearsal-") as folder:
                problem, hooks = paced(self._problem, _PACE), [SaveCheckpoint(seconds=_EVERY), self]
                more = dict(hooks=hooks, checkpoint_dir=folder, **self._settings)
                self.record.ended = train(problem, self._cluster, total_steps=10**9, **more).stopped_by or ""
        except TrainingError as error:
            self.record.ended = str(error)
        finally:
            self._over.set()
            following.join()
        return self.record

    def act(self, action: str, task: str) -> None:
        """Do one of ACTIONS to `task` at once, and write it down; raises ValueError for a task that isn't there."""
        do = {
            "kill": self._cluster.kill,
            "freeze": self._cluster.freeze,
            "thaw": self._cluster.thaw,
            "slow": lambda task: slow(self._cluster, task, _SLOW),
            "quick": lambda task: slow(self._cluster, task, 0),
        }[action]
        seconds = self.seconds
        do(task)
        self.record.add(Event(seconds, ACTIONS[action], task, self._session.step if self._session else 0))

    def stop(self, reason: str) -> None:
        """Ask for the end of the training."""
        if self._session is not None:
            self._session.request_stop(reason)

    @property
    def seconds(self) -> float:
        """Seconds since the training's start, on its own clock."""
        return time.perf_counter() - self._begun

    def begin(self, session: Session) -> None:
        """Keep the session, to stop by."""
        self._session = session

    def after_run(self, session: Session, step: Step) -> None:
        """Write the step into the record; the first one sets the clock."""
        if not self.record.rows:
            self._begun = time.perf_counter() - step.applied
        self.record.rows.append(tuple(step))

    def event(self, session: Session, event: Event) -> None:
        """Write the event into the record."""
        self.record.add(event)

    def _follow_plan(self):
        """Act when it is time, also while no update tells of any, and end the training."""
        while not self._over.wait(_LOOK):
            while self.record.rows and self._plan and self._plan[0][0] <= self.seconds:
                _, action, task = self._plan.pop(0)
                try:
                    self.act(action, task)
                except (OSError, RuntimeError, ValueError) as error:  # a thread has no caller: the record says it
                    self.stop(f"the plan could not {action} {task}: {error}")
            if self._is_time_over():
                self.stop(f"{self._seconds:g} seconds are over")

    def _is_time_over(self):
        """Whether the seconds have passed; a recovery, and a look at what it gave, come first.

        A parameter server's recovery begins when it is killed, not when the training notices.
        """
        recoveries = [event for event in self.record.events if _is_of_recovery(event)]
        if not self.record.rows or (recoveries and not self._is_recovered(recoveries[-1])):
            return False
        return self.seconds > max([self._seconds, *(event.seconds + _AFTERWARDS for event in recoveries)])

    def _is_recovered(self, last):
        """Whether the `last` event of a recovery is its end, and an update has come after it."""
        return last.what == "restored" and self.record.rows[-1][_APPLIED] > last.seconds


def _is_of_recovery(event):
    return event.what in ("ps lost", "restored") or (event.what == "killed" and event.task.startswith("/job:ps/"))
