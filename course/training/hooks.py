"""Hooks: code of yours that training calls at the start, around every step, and at the end; each may ask to stop."""

import math
from contextlib import ExitStack, contextmanager


class Session:
    """What a hook sees of the training: `.step` (the last one told), `.parameters()`, and `.request_stop(reason)`.

    `.limit` is the number of updates after which the store stops by itself; `begin` may lower it.
    """

    def __init__(self, limit, parameters):
        self.limit, self.step, self.stop_reason = limit, 0, None
        self._parameters = parameters

    def parameters(self):
        """Return copies of the present parameters: name to tensor."""
        return self._parameters()

    def request_stop(self, reason):
        """Ask for the end of training; the first reason given is kept."""
        self.stop_reason = self.stop_reason or reason


class Hook:
    """Does nothing: override what you need. Steps are told in order, in the process and thread that called `train`.

    Over a cluster the workers don't wait for hooks, so a step is told a moment after it was applied, and a stop asked
    for in `after_run` takes effect some steps later. `StopAtStep` is exact: the store itself counts.
    """

    def begin(self, session):
        """Called once, before any worker starts."""

    def before_run(self, session):
        """Called before each step is told; `session.step` is the one before."""

    def after_run(self, session, step):
        """Called with each applied `Step`: `.step`, `.worker`, `.version`, `.staleness`, `.loss`."""

    def refused(self, session, error):
        """Called when the store refused a gradient (NonFiniteError); if no hook then asks to stop, it is raised."""

    def end(self, session):
        """Called once at the end, after an error or an interrupt too."""


class StopAtStep(Hook):
    """Stop when the store has applied exactly `last_step` updates."""

    def __init__(self, last_step):
        if last_step < 0:
            raise ValueError(f"StopAtStep({last_step}): give a number of updates from 0 up.")
        self.last_step = last_step

    def begin(self, session):
        """Lower the limit at which the store stops."""
        session.limit = min(session.limit, self.last_step)


class StopOnNaN(Hook):
    """Stop quietly when a loss or a gradient is NaN or infinite; the reason names the tensor and the step."""

    def after_run(self, session, step):
        """Look at the loss."""
        if not math.isfinite(step.loss):
            session.request_stop(f"the loss is not finite at step {step.step}")

    def refused(self, session, error):
        """Take the store's refusal as the reason to stop."""
        session.request_stop(f"{error.tensor} is not finite at step {session.step + 1}")


@contextmanager
def begun(session, hooks):
    """Within the `with`, every hook has begun; afterwards each that was asked to begin has ended, whatever happened."""
    with ExitStack() as ends:
        for hook in hooks:
            ends.callback(hook.end, session)
            hook.begin(session)
        yield


def tell(session, hooks, step):
    """Tell the hooks of one applied step."""
    session.step = step.step
    for hook in hooks:
        hook.after_run(session, step)


def refuse(session, hooks, error):
    """Tell the hooks of a refused gradient; raise the error unless one of them asks to stop."""
    for hook in hooks:
        hook.refused(session, error)
    if session.stop_reason is None:
        raise error
