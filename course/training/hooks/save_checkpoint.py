"""The hook that saves checkpoints, every so many seconds or steps, in the folder that `train` was given."""

import time
from collections.abc import Iterable

from course.training.checkpoint.checkpoints import Checkpoints
from course.training.hooks.base import Hook, Session
from course.training.records.result import Step

USUAL_SECONDS = 10.0  # what the loss of a parameter server costs at most, where nothing else is asked for


class SaveCheckpoint(Hook):
    """Save every `seconds`, or every `steps` updates (exactly one of them), in the folder `train(checkpoint_dir=…)`.

    `train` itself saves at the start and at the end. Parameter servers stop for one copy in memory; the writing is
    done here, and workers don't wait for it. Over a cluster the newest version is saved, a little past the step told.
    """

    def __init__(self, seconds: float | None = None, steps: int | None = None):
        if (seconds is None) == (steps is None) or not (seconds or steps or 0) > 0:
            raise ValueError(
                f"SaveCheckpoint(seconds={seconds}, steps={steps}): give one of them, above 0, such as "
                "SaveCheckpoint(seconds=10) or SaveCheckpoint(steps=1000)."
            )
        self.seconds, self.steps = seconds, steps
        self._next_time = 0.0
        self._done: int | None = None  # the last multiple of `steps` that was reached, in `steps`

    def begin(self, session: Session) -> None:
        """Start counting; raises ValueError where there is no folder to save in."""
        if session.checkpoints is None:
            raise ValueError(f"{self!r}: there is no folder to save in. Give train(checkpoint_dir='checkpoints') too.")
        self._next_time, self._done = time.monotonic() + (self.seconds or 0.0), None

    def after_run(self, session: Session, step: Step) -> None:
        """Save when it is time to."""
        if self.steps:
            # the first step told, or the first one after a restart from a checkpoint, may be any number
            if self._done is None or step.step <= self._done * self.steps:
                self._done = (step.step - 1) // self.steps
            if step.step // self.steps > self._done:
                self._done = step.step // self.steps
                session.save(f"every {self.steps} steps")
        elif self.seconds and time.monotonic() >= self._next_time:
            session.save(f"every {self.seconds:g} s")
            # counted from here: a slow disk must not take all the time
            self._next_time = time.monotonic() + self.seconds

    def __repr__(self):
        return f"SaveCheckpoint(seconds={self.seconds})" if self.seconds else f"SaveCheckpoint(steps={self.steps})"


def with_saving(hooks: Iterable[Hook], checkpoints: Checkpoints | None) -> list[Hook]:
    """Return the hooks as a list, with a `SaveCheckpoint` where there are checkpoints and none was asked for."""
    asked = checkpoints is None or any(isinstance(hook, SaveCheckpoint) for hook in hooks)
    return [*hooks] if asked else [*hooks, SaveCheckpoint(seconds=USUAL_SECONDS)]
