"""A hook that does something at a step of a training."""

from course.training import Hook


class At(Hook):
    """Calls `action` once, when the step `step` has been told."""

    def __init__(self, step, action):
        self._step, self._action = step, action

    def after_run(self, session, step):
        if step.step >= self._step and self._action is not None:
            action, self._action = self._action, None
            action()
