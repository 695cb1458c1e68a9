"""One training with a fault in it: struck at its step, judged at its end."""

import time
import warnings

from course.training import Hook, train
from course.training.hooks.every import SaveCheckpoint
from tests.slow.faults.counting import SGD_1, Counting
from tests.slow.faults.outcome import complaints

_PAUSE = 0.004  # seconds a gradient takes: a fault then falls between steps as often as into one
_GO_ON = ("KeyboardInterrupt", "ZeroDivisionError")  # after these a second call of `train` must end the training


class Watch(Hook):
    """Strikes once, at `step`, and measures from then on the longest time between two steps told."""

    def __init__(self, step, strike):
        self._step, self._strike, self.struck, self.standstill = step, strike, None, None

    def after_run(self, session, step):
        clock = time.monotonic()
        if self.struck is not None:
            self.standstill, self._last = max(self.standstill or 0.0, clock - self._last), clock
        elif step.step >= self._step:
            self.struck = self._last = time.monotonic()
            self._strike(session)


def tried(stage, strike, more=0):
    """Train with the fault in it; return (end, notes, complaints, standstill), as `outcome_of` takes them.

    `more`: numbers in each row beyond the problem's own.
    """
    plan = stage.plan
    watch = Watch(plan.step, lambda session: strike(stage, session))
    notes, result, name = [], None, ""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = _trained(stage, [watch], more)
            stage.over()
        except SystemExit:  # the suite itself is to end
            raise
        except BaseException as error:
            name = type(error).__name__
            notes.append(f"{name}: {error}")
            if name not in plan.kind.errors:
                return "wrong", notes, [f"not an end of {plan.kind.name}"], watch.standstill
        stage.over()
        if result is None and name in _GO_ON:
            result = _trained(stage, [], more)
    notes += stage.notes + [str(warning.message).split("\n")[0] for warning in warned]
    if result is None:
        return "clear error", notes, [], watch.standstill
    wrong = [*complaints(result, plan.steps), *(complaint for check in stage.checks for complaint in check())]
    if watch.struck is None:
        wrong.append("the fault never struck")
    notes += [f"{event.task} lost: {event.reason}" for event in result.events if event.what == "ps lost"]
    notes.append(f"{result.version} steps, {result.incarnations} incarnations")
    return "wrong" if wrong else "right answer", notes, wrong, watch.standstill


def _trained(stage, hooks, more):
    plan = stage.plan
    return train(
        Counting(plan.workers, _PAUSE, more),
        stage.cluster,
        optimizer=SGD_1,
        mode=plan.mode,
        workers=plan.workers,
        aggregate=plan.aggregate,
        total_steps=plan.steps,
        hooks=[*hooks, SaveCheckpoint(steps=max(5, plan.steps // 12))],
        checkpoint_dir=stage.folder,
        seed=plan.seed,
    )
