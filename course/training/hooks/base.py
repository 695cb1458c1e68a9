"""Hooks: code of yours that training calls at the start, around every step, and at the end; each may ask to stop.

All hooks run in the process and thread that called `train` (the notebook's, or the chief worker's), in the order given;
training goes on meanwhile. A hook of your own is a `Hook` with the methods that you need:

>>> from functools import partial
>>> import torch
>>> from course.training import linear_regression, train_in_turns
>>> class Halfway(Hook):
...     def after_run(self, session, step):
...         if step.loss < self.first / 2:
...             session.request_stop(f"half the first loss at step {step.step}")
...     def before_run(self, session):
...         if session.step == 0:
...             problem = session.problem
...             points = problem.x, problem.y
...             self.first = problem.loss(session.parameters(), points).item()
>>> sgd = partial(torch.optim.SGD, lr=0.02)
>>> train_in_turns(linear_regression(), optimizer=sgd, hooks=[Halfway()])
TrainingResult(async, 1 worker, 8 updates, stopped by: half the first loss at step 8)
"""

import logging
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from course.training.checkpoint.checkpoints import Checkpoints, CheckpointWarning
from course.training.checkpoint.manifest import CheckpointError
from course.training.checkpoint.snapshot import Snapshot
from course.training.problems.problem import Problem
from course.training.records import Event, NonFiniteError, Step
from modelserver.bucket import BucketPath

if TYPE_CHECKING:
    from course.cluster.cluster import Cluster

_LOG = logging.getLogger(__name__)

#: A parameter's name or "version"; a function of the parameters (name to tensor); a list or a dict of these.
Fetch = str | Callable[[dict[str, torch.Tensor]], Any]
Fetches = Fetch | Sequence[Fetch] | Mapping[str, Fetch]


class Session:
    """What a hook sees of the training.

    - `.step`: the last one that hooks got (smaller again after a lost parameter server was restored). `.limit`: after
      so many updates the store stops by itself; `begin` may lower it.
    - `.problem`, `.cluster` (None in turns), `.settings` (name to value: mode, workers, optimizer, seed, …),
      `.checkpoints` (a `Checkpoints`, or None), `.events` (list of `Event`), `.seconds()` since training began.
    """

    def __init__(
        self,
        limit: int,
        parameters: Callable[[], dict[str, torch.Tensor]],
        snapshot: Callable[[], Snapshot],
        snapshot_of: Callable[[int], Snapshot | None] | None = None,
        *,
        problem: Problem | None = None,
        cluster: "Cluster | None" = None,
        checkpoints: Checkpoints | None = None,
        settings: dict[str, Any] | None = None,
        seconds: Callable[[], float] | None = None,
    ):
        self.limit, self.step = limit, 0
        self.stop_reason: str | None = None
        self.problem, self.cluster, self.checkpoints = problem, cluster, checkpoints
        self.settings = dict(settings or {})
        self.events: list[Event] = []
        self.hooks: tuple[Hook, ...] = ()
        self._fetches: dict[int, Fetches | None] = {}  # hook's place among the hooks -> what its `before_run` wants
        started = time.perf_counter()
        self.seconds = seconds or (lambda: time.perf_counter() - started)
        self._parameters, self._snapshot = parameters, snapshot
        self._snapshot_of = snapshot_of or (lambda step: snapshot())  # in turns, the present one is the step's
        self._copy: Snapshot | None = None  # the one that `snapshot_of` returned last
        self._last: Snapshot | None = None
        # (incarnation, version) of the last checkpoint, and where it is
        self._saved: tuple[tuple[int, int], Path | BucketPath] | None = None
        self._unsaved: tuple[int, int] | None = None  # (incarnation, version) of the last one that could not be written

    def parameters(self) -> dict[str, torch.Tensor]:
        """Return copies of the present parameters: name to tensor."""
        if self._last is None:
            return self._parameters()
        return {name: value.clone() for name, value in self._last.parameters.items()}

    def snapshot(self) -> Snapshot:
        """Return the `Snapshot` of this moment, at one version over all parameter servers."""
        return self._snapshot() if self._last is None else self._last

    def snapshot_of(self, step: int) -> Snapshot | None:
        """Return the `Snapshot` of exactly `step`, of which hooks are told now; a hook orders it by `copies_every`.

        None where no copy was kept: no hook has ordered it, or it is from before this process became the chief.
        """
        if self._copy is None or self._copy.version != step:
            self._copy = self._snapshot_of(step)
        return self._copy

    def go_back(self, step: int) -> None:
        """Count from `step` again: later ones were lost with a parameter server. Called by the driver."""
        self.step, self._copy = step, None

    def save(self, reason: str = "", snapshot: Snapshot | None = None) -> Path | BucketPath | None:
        """Write a checkpoint and return its path; None, with a warning, when disk or store refuse: training goes on.

        None too where there is no `checkpoint_dir`. `snapshot`: what to save, by default that of this moment. A version
        that is saved already is not written again.
        """
        if self.checkpoints is None:
            return None
        snapshot = self.snapshot() if snapshot is None else snapshot
        key = (snapshot.incarnation, snapshot.version)
        if self._saved is not None and self._saved[0] == key:
            return self._saved[1]
        try:
            path = self.checkpoints.save(snapshot)
        except (OSError, CheckpointError) as error:
            others = "Older checkpoints stay; training" if self.checkpoints.folder.is_dir() else "Training"
            if key == self._unsaved:
                return None  # it is said already
            self._unsaved = key
            text = f"STEP {snapshot.version} IS NOT SAVED: {str(error).rstrip('.')}. {others} is not stopped."
            warnings.warn(text, CheckpointWarning, stacklevel=2)
            return None
        self._saved = key, path
        self.happened("checkpoint saved", step=snapshot.version, reason=reason)
        return path

    def finish(self, reason: str = "the end", error: BaseException | None = None) -> None:
        """Take the last snapshot and save it; hooks see it from now on, when the parameter servers may be gone.

        Called by the driver. `error`: what ended the training, if something did; what fails now is a note of it.
        """
        try:
            self._last = self.snapshot()
            self.save(reason)
        except Exception as second:  # the last save may fail by anything, a disk's or a lost shard's: a note of it then
            if error is None:
                raise
            error.add_note(f"The last state could not be kept: {type(second).__name__}: {second}")

    @property
    def finished(self) -> bool:
        """Whether training is over and its last snapshot is kept; not so when the parameter servers were lost."""
        return self._last is not None

    def happened(
        self, what: str, task: str = "", step: int | None = None, reason: str = "", seconds: float | None = None
    ) -> None:
        """Keep an `Event` of this kind and tell the hooks of it."""
        seconds = self.seconds() if seconds is None else seconds
        event = Event(seconds, what, task, self.step if step is None else step, reason)
        self.events.append(event)
        _LOG.info("step %d: %s%s%s", event.step, task and f"{task}: ", what, reason and f" ({reason})")
        for hook in self.hooks:
            hook.event(self, event)

    def validated(self, step: int, values: dict[str, float]) -> None:
        """Tell the hooks what a validation of the parameters at `step` has found: name to number."""
        for hook in self.hooks:
            hook.validated(self, step, values)

    def request_stop(self, reason: str) -> None:
        """Ask for the end of training; the first reason given is kept."""
        self.stop_reason = self.stop_reason or reason


class Hook:
    """Does nothing: override what you need. Steps come in order, in the process and thread that called `train`.

    Over a cluster the workers don't wait for hooks, so a step comes a moment after it was applied, and a stop asked
    for in `after_run` takes effect some steps later. `StopAtStep` is exact: the store itself counts. An exception in a
    hook ends the training; the `end` of every hook that has begun is called, and the last state is saved.

    What a hook fetches is of the step that it is told of, exactly: the parameter servers keep a copy of each step that
    may be fetched until hooks were told of it. They keep at most 256 MiB (of all parameters, on all of them), or two
    copies; where hooks are behind by so much, or by 1,000 steps, training waits for them.
    """

    #: Whether it shows how training gets on; where no hook does, training itself says so after two seconds.
    shows_progress = False
    #: Copies are kept of the steps that are multiples of this. None: of no step or, for a hook with a `before_run`, of
    #: each, which takes time where the parameters are many.
    copies_every: int | None = None
    #: Whether these copies have the optimiser's state, as a checkpoint does.
    copies_optimizer = False

    def begin(self, session: Session) -> None:
        """Called once, before any worker starts."""

    def before_run(self, session: Session) -> Fetches | None:
        """Called before each step; `session.step` is the one before. What it returns is fetched.

        A parameter's name, "version", a function of the parameters, or a list or a dict of these; None for nothing.
        With `copies_every`, only a step that is a multiple of it can be fetched: ValueError for another.
        """
        return None

    def after_run(self, session: Session, step: Step) -> None:
        """Called with each applied `Step`: `.step`, `.worker`, `.version`, `.staleness`, `.loss`, and `.values`.

        Of a synchronous update there is one for each of its gradients, all of the same `step.step`.
        `step.values`: what this hook's `before_run` asked for, in the same form, at this very step; None where it asked
        for nothing, and at steps from before this process became the chief.
        """

    def event(self, session: Session, event: Event) -> None:
        """Called with each `Event`: a worker lost, a checkpoint saved, a restart from one, …"""

    def validated(self, session: Session, step: int, values: dict[str, float]) -> None:
        """Called with each result of a `Validate` hook: a dict of numbers, for the parameters at `step`."""

    def refused(self, session: Session, error: NonFiniteError) -> None:
        """Called when the store refused a gradient (NonFiniteError); if no hook then asks to stop, it is raised."""

    def finished(self, session: Session) -> None:
        """Called when training is over and its last parameters are there, before any hook's `end`."""

    def end(self, session: Session) -> None:
        """Called once at the end, after an error or an interrupt too."""


class StopAtStep(Hook):
    """Stop when the store has applied exactly `last_step` updates."""

    def __init__(self, last_step: int):
        if last_step < 0:
            raise ValueError(f"StopAtStep({last_step}): give a number of updates from 0 up.")
        self.last_step = last_step

    def begin(self, session: Session) -> None:
        """Lower the limit at which the store stops."""
        session.limit = min(session.limit, self.last_step)


class StopOnNaN(Hook):
    """Stop quietly when a loss or a gradient is NaN or infinite; the reason names the tensor and the step."""

    def after_run(self, session: Session, step: Step) -> None:
        """Look at the loss."""
        if not math.isfinite(step.loss):
            session.request_stop(f"the loss is not finite at step {step.step}")

    def refused(self, session: Session, error: NonFiniteError) -> None:
        """Take the store's refusal as the reason to stop."""
        session.request_stop(f"{error.tensor} is not finite at step {session.step + 1}")


@contextmanager
def begun(session: Session, hooks: Sequence[Hook]) -> Iterator[None]:
    """Within the `with`, every hook has begun; afterwards the `end` of each whose `begin` was called has been called.

    Ends come in reverse order. The first exception is raised; those that come after it stand in its notes.
    """
    session.hooks, begun_hooks, first = tuple(hooks), [], None
    try:
        for hook in hooks:
            begun_hooks.append(hook)
            hook.begin(session)
        yield
    except BaseException as error:  # an interrupt too: it is raised again below
        first = error
    last = [(hook, "finished") for hook in begun_hooks if session.finished]
    for hook, name in [*last, *((hook, "end") for hook in reversed(begun_hooks))]:
        try:
            getattr(hook, name)(session)
        except BaseException as error:
            if first is None:
                first = error
            else:
                first.add_note(f"{type(hook).__name__}.{name} then raised {type(error).__name__}: {error}")
    if first is not None:
        raise first


def refuse(session: Session, error: NonFiniteError) -> None:
    """Tell the hooks of a refused gradient; raise the error unless one of them asks to stop."""
    for hook in session.hooks:
        hook.refused(session, error)
    if session.stop_reason is None:
        raise error
