"""Hooks that do something every so many steps or seconds: save a checkpoint, or ask how good the parameters are."""

import time
from collections.abc import Iterable

from course.training.checkpoint.checkpoints import Checkpoints
from course.training.hooks.base import Hook, Session
from course.training.problems.problem import Problem, shown
from course.training.records import Step

USUAL_SECONDS = 10.0  # what the loss of a parameter server costs at most, where nothing else is asked for


class SaveCheckpoint(Hook):
    """Save every `seconds`, or every `steps` updates (exactly one of them), in the folder `train(checkpoint_dir=…)`.

    `train` itself saves at the start and at the end. Parameter servers stop for one copy in memory; the writing is
    done here. By `seconds`, the newest version is saved; by `steps`, exactly the multiples of it, as long as the copies
    can wait for the disk (see `Hook`): then training waits too.
    """

    copies_optimizer = True

    def __init__(self, seconds: float | None = None, steps: int | None = None):
        if (seconds is None) == (steps is None) or not (seconds or steps or 0) > 0:
            raise ValueError(
                f"SaveCheckpoint(seconds={seconds}, steps={steps}): give one of them, above 0, such as "
                "SaveCheckpoint(seconds=10) or SaveCheckpoint(steps=1000)."
            )
        self.seconds, self.steps, self._next_time = seconds, steps, 0.0
        self.copies_every = steps

    def begin(self, session: Session) -> None:
        """Start counting; raises ValueError where there is no folder to save in."""
        if session.checkpoints is None:
            raise ValueError(f"{self!r}: there is no folder to save in. Give train(checkpoint_dir='checkpoints') too.")
        self._next_time, self._multiples = time.monotonic() + (self.seconds or 0.0), _Multiples(self.steps)

    def after_run(self, session: Session, step: Step) -> None:
        """Save when it is time to."""
        if self.steps:
            if self._multiples.another(step.step) and (snapshot := session.snapshot_of(step.step)) is not None:
                session.save(f"every {self.steps} steps", snapshot)
        elif self.seconds and time.monotonic() >= self._next_time:
            session.save(f"every {self.seconds:g} s")
            # counted from here: a slow disk must not take all the time
            self._next_time = time.monotonic() + self.seconds

    def __repr__(self):
        return f"SaveCheckpoint(seconds={self.seconds})" if self.seconds else f"SaveCheckpoint(steps={self.steps})"


def with_saving(hooks: Iterable[Hook], checkpoints: Checkpoints | None) -> list[Hook]:
    """Return the hooks as a list, with a `SaveCheckpoint` where there are checkpoints and none was asked for."""
    if checkpoints is None or any(isinstance(hook, SaveCheckpoint) for hook in hooks):
        return [*hooks]
    return [*hooks, SaveCheckpoint(seconds=USUAL_SECONDS)]


def check_validation(problem: Problem | None, hooks: Iterable[Hook]) -> None:
    """Raise ValueError where one of `hooks` is to validate a `problem` that can't be: before anything starts."""
    for hook in hooks:
        if isinstance(hook, Validate) and not callable(getattr(problem, "validate", None)):
            raise ValueError(
                f"Validate(): {shown(problem)} has no validate(parameters). Give the problem one that returns "
                'a dict of numbers, such as {"accuracy": 0.9}, or leave the hook out.'
            )


class Validate(Hook):
    """Call `problem.validate(parameters) -> {name: number}` every `every` updates and at the end.

    `.results`: a list of `(step, {name: number})`, where `step` is the version of the parameters that were looked at:
    exactly the multiples of `every`, and the last. `show`: print each result in one line. It runs in the process that
    called `train`, on a copy; training goes on for up to 1,000 updates past the next one (see `Hook`).

    >>> from functools import partial
    >>> import torch
    >>> from course.training import linear_regression, train_in_turns
    >>> class Held(type(linear_regression())):
    ...     def validate(self, parameters):
    ...         return {"error": abs(parameters["slope"].item() - 2)}
    >>> line = linear_regression()
    >>> held = Held(line.x, line.y, 2.0, 10.0, 20)
    >>> sgd = partial(torch.optim.SGD, lr=0.02)
    >>> result = train_in_turns(held, optimizer=sgd, total_steps=500, hooks=[Validate(every=200, show=True)])
    step 200: error 0.124
    step 400: error 0.00138
    step 500: error 0.00855
    """

    def __init__(self, every: int = 1000, show: bool = False):
        if every < 1:
            raise ValueError(f"Validate(every={every}): give a number of updates from 1 up.")
        self.every = self.copies_every = every
        self.show = show
        self.results: list[tuple[int, dict[str, float]]] = []

    def begin(self, session: Session) -> None:
        """Start anew; raises as `check_validation`."""
        check_validation(session.problem, [self])
        self.results, self._multiples = [], _Multiples(self.every)

    def after_run(self, session: Session, step: Step) -> None:
        """Validate when a multiple of `every` has been reached."""
        if self._multiples.another(step.step) and (snapshot := session.snapshot_of(step.step)) is not None:
            self._validate(session, snapshot)

    def finished(self, session: Session) -> None:
        """Validate the last parameters."""
        if not self.results or self.results[-1][0] != session.snapshot().version:
            self._validate(session, session.snapshot())

    def _validate(self, session, snapshot):
        values = {name: float(value) for name, value in session.problem.validate(snapshot.parameters).items()}
        self.results.append((snapshot.version, values))
        session.validated(snapshot.version, values)
        if self.show:
            print(f"step {snapshot.version}: " + ", ".join(f"{name} {value:.3g}" for name, value in values.items()))


class _Multiples:
    """Tells when a training has reached another multiple of `every` updates."""

    def __init__(self, every):
        self._every, self._last = every, None

    def another(self, step):
        # the first step, or the first one after a restart from a checkpoint, may be any number
        before = step - 1 if self._last is None or step < self._last else self._last
        self._last = step
        return step // self._every > before // self._every
